"""The public head and the public view change with what is public, and with nothing that happens to an outcome."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bestarm.errors import InputError
from bestarm.trial.moments import moment
from bestarm.trial.public import PublicView
from bestarm.trial.trial import Trial
from tests.trial.people import DAY, ChosenNoise, Clock

Step = Callable[[Trial, list[str], Clock], Any]


def slip(trial: Trial, ids: list[str], clock: Clock) -> None:
    with pytest.raises(InputError, match="different outcome"):
        trial.tell(ids[0], 0, "ward 1", guarded=True)


def refused(trial: Trial, ids: list[str], clock: Clock) -> None:
    with pytest.raises(InputError, match="binary outcome"):
        trial.tell(ids[1], 7)


CONFIDENTIAL: dict[str, Step] = {
    "told": lambda trial, ids, clock: trial.tell(ids[1], 1, "ward 1"),
    "several told": lambda trial, ids, clock: trial.tell_many([(ids[1], 1), (ids[2], 0)], "ward 1"),
    "told the same again": lambda trial, ids, clock: trial.tell(ids[0], 1, "ward 1"),
    "a slip": slip,
    "guessed": lambda trial, ids, clock: trial.tell(ids[0], 0, "ward 2", guarded=True),
    "corrected": lambda trial, ids, clock: trial.correct(ids[0], 0, "slip"),
    "withdrawn": lambda trial, ids, clock: trial.withdraw(ids[1], "moved away"),
    "withdrawn after its outcome": lambda trial, ids, clock: trial.withdraw(ids[0], "moved away"),
    "asked again": lambda trial, ids, clock: trial.ask("p-1"),
    "refused": refused,
}

PUBLIC: dict[str, Step] = {
    "assigned": lambda trial, ids, clock: trial.ask("p-9"),
    "paused": lambda trial, ids, clock: trial.pause("stock"),
    "ended": lambda trial, ids, clock: trial.end("harm"),
}


def begun(place: Path, **changes: Any) -> tuple[Trial, list[str], Clock]:
    """A trial of eight people whose stages are open, with one outcome."""
    clock = Clock()
    plan: dict[str, Any] = {"name": "t", "arms": ["a", "b"], "epsilon": 1, "delta": 0.1, "algorithm": "dp-se"}
    more: dict[str, Any] = {"outcomes": "binary", "noise": ChosenNoise(), "clock": clock}
    trial = Trial.create(place, **(plan | more | changes))
    ids = [str(asked.id) for asked in trial.ask_many([f"p-{n}" for n in range(8)])]
    clock.move(60)
    trial.tell(ids[0], 1, "ward 1")
    return trial, ids, clock


def seen(trial: Trial) -> tuple[int, str, PublicView]:
    with trial._store.reading("t") as reading:
        return reading.public_seq, reading.public_head, trial.view()


def length(trial: Trial) -> int:
    with trial._store.reading("t") as reading:
        return reading.seq


@pytest.mark.parametrize("algorithm", ["dp-se", "evidence"])
@pytest.mark.parametrize("follow_up", [None, "30d"])
@pytest.mark.parametrize("step", CONFIDENTIAL)
def test_what_happens_to_an_outcome_is_not_seen(
    tmp_path: Path, step: str, follow_up: str | None, algorithm: str
) -> None:
    trial, ids, clock = begun(tmp_path / "t.db", follow_up=follow_up, algorithm=algorithm)
    before, events = seen(trial), length(trial)
    clock.move(60)
    CONFIDENTIAL[step](trial, ids, clock)
    assert seen(trial) == before
    assert (length(trial) > events) == (step not in ("told the same again", "asked again", "refused"))
    assert trial.verify().ok


@pytest.mark.parametrize("follow_up", [None, "30d"])
@pytest.mark.parametrize("step", PUBLIC)
def test_what_is_public_is_seen(tmp_path: Path, step: str, follow_up: str | None) -> None:
    trial, ids, clock = begun(tmp_path / "t.db", follow_up=follow_up)
    count, head, view = seen(trial)
    PUBLIC[step](trial, ids, clock)
    now = seen(trial)
    assert now[0] == count + 1
    assert now[1] != head
    assert now[2] != view


def test_the_head_does_not_depend_on_outcomes_or_their_times(tmp_path: Path) -> None:
    heads = set()
    for run, (outcome, wait, look) in enumerate(((0, 0.5, 7.1), (1, 3.0, 8.6))):
        clock = Clock()
        plan: dict[str, Any] = {"name": "t", "arms": ["a", "b"], "epsilon": 1, "delta": 0.1, "algorithm": "uniform"}
        more: dict[str, Any] = {"follow_up": "7d", "allocation": "fixed", "clock": clock}
        # The noise hides the difference, so that the releases are the same.
        noise = ChosenNoise([0 if outcome else 2**20, 0])
        trial = Trial.create(tmp_path / f"{run}.db", noise=noise, **(plan | more))
        with trial._store.reading("t") as reading:
            created = reading.public_head
        ids = [str(asked.id) for asked in trial.ask_many(["p", "q"])]
        clock.move(wait * DAY)
        trial.tell(ids[0], outcome)
        clock.move((look - wait) * DAY)
        trial.advance()
        assert len(trial.view().releases) == 2
        with trial._store.reading("t") as reading:
            bodies = [(e.kind, e.body) for e in reading.events() if e.public_seq is not None][1:]
            assert reading.public_head != created
        heads.add(repr(bodies))
    assert len(heads) == 1


@pytest.mark.parametrize("follow_up", [None, "7d"])
def test_times_are_those_that_the_design_dictates(tmp_path: Path, follow_up: str | None) -> None:
    """Not when somebody's report, or look, happened to bring the release: when it was due, or the full hour."""
    clock = Clock()
    plan: dict[str, Any] = {"name": "t", "arms": ["a", "b"], "epsilon": 1, "delta": 0.1, "algorithm": "uniform"}
    trial = Trial.create(
        tmp_path / "t.db", follow_up=follow_up, allocation="fixed", clock=clock, noise=ChosenNoise(), **plan
    )
    began = clock.now
    assert began % 3600 == 0
    ids = [str(asked.id) for asked in trial.ask_many(["p", "q"])]
    clock.move(2 * 3600 + 37 * 60 + 11)
    trial.tell_many([(ids[0], 1), (ids[1], 0)])
    clock.move(9 * DAY)
    due = began + (2 * 3600 if follow_up is None else 7 * DAY)
    assert [release.at for release in trial.view().releases] == [due * 1e6] * 2
    with trial._store.reading("t") as reading:
        said = [event.body["time"] for event in reading.events() if event.kind == "released"]
    assert said == [moment(int(due * 1e6))] * 2
