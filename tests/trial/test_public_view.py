"""What is public follows from releases and public constants: outcomes leave no other trace in it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from bestarm.privacy.noise import SystemNoise
from bestarm.trial.trial import Trial
from tests.chance import CLEARLY, FALSE_ALARM, proportion
from tests.trial.people import ChosenNoise, Clock

ARMS = ["a", "b", "c"]
STEP = 2**20


def run(place: Path, outcomes: list[int], noise: list[int]) -> Trial:
    trial = Trial.create(
        place,
        name="t",
        arms=ARMS,
        epsilon="0.5",
        delta=0.1,
        algorithm="uniform",
        noise=ChosenNoise(noise),
        clock=Clock(),
    )
    asked = trial.ask_many([f"p-{n}" for n in range(len(outcomes))])
    trial.tell_many([(str(a.id), outcome) for a, outcome in zip(asked, outcomes, strict=True)])
    return trial


def test_the_same_releases_look_the_same_whatever_the_outcomes(tmp_path: Path) -> None:
    one = run(tmp_path / "one.db", [0, 1, 1, 0, 0, 1], [0, 0, 0, 0, 0, 0])
    other = run(tmp_path / "two.db", [1, 0, 1, 1, 1, 0], [-STEP, STEP, 0, -STEP, -STEP, STEP])
    assert json.dumps(one.status()) == json.dumps(other.status())
    assert json.dumps(one.ledger()) == json.dumps(other.ledger())
    assert one.view() == other.view()


def test_outcomes_still_waiting_leave_no_trace(tmp_path: Path) -> None:
    silent, told = (Trial.create(tmp_path / f"{n}.db", name="t", arms=ARMS, epsilon=1, delta=0.1, algorithm="uniform",
                                 clock=Clock()) for n in "ab")  # fmt: skip
    for trial in (silent, told):
        trial.ask_many(["x", "y", "z"])
    told.tell_many([(a.id, 1) for a in told.open_assignments()[1:]])
    assert silent.view() == told.view()


def test_the_ledger_counts_a_person_once(tmp_path: Path) -> None:
    trial = run(tmp_path / "one.db", [0, 1] * 15, [])
    ledger = trial.ledger()
    assert len(ledger["releases"]) > 5
    assert ledger["epsilon_spent"] == 0.5
    assert "not the sum over releases" in ledger["why"]
    assert {line["terms"]["epsilon"] for line in ledger["releases"]} == {"0.5"}
    assert {line["terms"]["scale"] for line in ledger["releases"]} == {"2"}
    assert any("When an outcome arrives" in said for said in ledger["assumptions"])
    empty = Trial.create(tmp_path / "two.db", name="t", arms=ARMS, epsilon=1, delta=0.1, algorithm="uniform")
    assert empty.ledger()["epsilon_spent"] == 0


@pytest.mark.parametrize("model", ["local", "zcdp", "none"])
def test_other_privacy_models(tmp_path: Path, model: str) -> None:
    from dataclasses import replace

    from bestarm.policy.catalogue import CATALOGUE

    own = replace(CATALOGUE["uniform"], name="own", privacy=("pure", "local", "zcdp", "none"))
    plan: dict[str, Any] = {"name": "t", "arms": ARMS, "epsilon": 1, "rho": "0.5", "delta": 0.1, "algorithm": own}
    trial = Trial.create(tmp_path / "one.db", **plan, privacy=model, noise=SystemNoise())
    asked = trial.ask_many([f"p-{n}" for n in range(300)])
    trial.tell_many([(str(a.id), 1) for a in asked])
    ledger = trial.ledger()
    sums = sum(line["value"] for line in ledger["releases"]), sum(sum(line["sizes"]) for line in ledger["releases"])
    if model == "none":
        assert sums[0] == sums[1]
        assert ledger["promised"] == "no privacy"
    elif model == "zcdp":
        assert ledger["rho_spent"] == "0.5"
        assert ledger["releases"][0]["terms"]["variance"] == "1"
        # On the grid, noise that adds up to nothing has a chance below 1e-6; beyond 50, eleven deviations, below 1e-20.
        assert 0 < abs(sums[0] - sums[1]) < 50
    else:
        assert proportion(round(sums[0]), sums[1], 1 / (1 + math.exp(-1))) > FALSE_ALARM
        assert proportion(round(sums[0]), sums[1], 0.99) < CLEARLY
        with trial._store.reading("t") as reading:
            assert all(a.outcome is None for a in reading.assignments())
            told = [event.secret for event in reading.events() if event.kind == "told"]
            assert {secret["outcome"] for secret in told if secret} == {None}
        assert trial.tell(str(asked[0].id), 0) == "already recorded"
        with pytest.raises(ValueError, match="cannot be corrected"):
            trial.correct(str(asked[0].id), 0, "slip")
    assert trial.verify().ok
