"""A release is drawn once and kept, whatever becomes of the request in whose course it was drawn.

Were a refused request to take a release back, asking again and again would draw it again and again: the trial would get
many chances to stop, and whoever watches the refusals would learn of many releases for the price of one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bestarm.errors import InputError, OperationError
from bestarm.trial.trial import Trial
from tests.trial.people import DAY, ChosenNoise, Clock


def make(place: str, **changes: Any) -> tuple[Trial, ChosenNoise, Clock]:
    noise, clock = ChosenNoise(), Clock()
    plan: dict[str, Any] = {"name": "t", "arms": ["a", "b"], "epsilon": 100, "delta": 0.4, "algorithm": "dp-se"}
    plan |= {"outcomes": "binary", "follow_up": "7d", "noise": noise, "clock": clock}
    return Trial.create(place, **(plan | changes)), noise, clock


def test_a_request_refused_because_of_a_release_does_not_take_it_back(place: str) -> None:
    trial, noise, clock = make(place)
    size = int(trial._rules.fresh_state().epoch_size[0])
    trial.ask_many([f"p-{n}" for n in range(size)])
    clock.move(DAY)
    trial.ask_many([f"q-{n}" for n in range(size)])
    clock.move(6.5 * DAY)  # the first batch is due, the second is not: nobody recruits
    for n in range(5):
        with pytest.raises(OperationError, match="No arm recruits now"):
            trial.ask(f"new {n}")
    with pytest.raises(OperationError, match="No arm recruits now"):
        trial.ask_many(["x", "y"])
    assert noise.draws == len(trial.status()["releases"]) == 1
    clock.move(DAY)
    with pytest.raises(InputError):
        trial.tell("nobody", 1)
    with pytest.raises(InputError):
        trial.tell("1-0000", 1)
    assert trial.status()["state"] == "recruiting"
    assert noise.draws == len(trial.status()["releases"]) == 2
    assert trial.verify().ok


def test_outcomes_refused_together_draw_nothing(sqlite_place: str, tmp_path: Path) -> None:
    trial, noise, _ = make(sqlite_place, algorithm="uniform", follow_up=None)
    ids = [str(a.id) for a in trial.ask_many(["x", "y", "z"])]
    file = tmp_path / "in.csv"
    for last in (f"{ids[2]},7", "9-ffff,1", f"{ids[0]},0"):
        file.write_text(f"assignment,outcome\n{ids[0]},1\n{ids[1]},1\n{last}\n")
        with pytest.raises(InputError) as refused:
            trial.tell_csv(file)
        assert all(answer.status is None for answer in refused.value.answers)  # type: ignore[attr-defined]
        with pytest.raises(InputError):
            trial.tell_many([(ids[0], 1), (ids[1], 1), tuple(last.split(","))])
    assert noise.draws == 0
    assert trial.tell_many([(ids[0], 1), (ids[1], 1), (ids[0], 1)]) == ["recorded", "recorded", "already recorded"]
    assert noise.draws == len(trial.status()["releases"]) == 2
