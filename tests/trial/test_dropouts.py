"""People who withdraw, outcomes that are corrected, and trials that pause, fill up or end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bestarm.errors import InputError, OperationError
from bestarm.trial.trial import Trial
from tests.trial.people import DAY, ChosenNoise, Clock

ARMS = ["a", "b"]


def make(place: str | Path, **changes: Any) -> Trial:
    plan: dict[str, Any] = {"name": "t", "arms": ARMS, "epsilon": 1, "delta": 0.1, "algorithm": "uniform"}
    return Trial.create(place, **(plan | {"noise": ChosenNoise()} | changes))


def values(trial: Trial) -> list[tuple[str, float]]:
    return [(r["arms"][0], r["value"]) for r in trial.status()["releases"]]


def test_a_withdrawn_place_is_imputed(place: str) -> None:
    trial = make(place, withdrawal="impute:0.25")
    first, second = (str(a.id) for a in trial.ask_many(["x", "y"]))
    trial.tell(second, 1)
    assert trial.withdraw(first, "moved away") == "withdrawn"
    assert trial.withdraw(first) == "already withdrawn"
    assert values(trial) == [("a", 0.25), ("b", 1)]
    with pytest.raises(InputError, match="withdrawn"):
        trial.tell(first, 1)
    again = trial.ask("x")
    assert (again.id, again.withdrawn, again.told) == (first, True, False)
    assert trial.withdraw(second) == "late"
    assert values(trial) == [("a", 0.25), ("b", 1)]
    assert trial.verify().ok


def test_a_withdrawn_outcome_leaves_its_open_batch(place: str) -> None:
    trial = make(place)
    ids = [str(a.id) for a in trial.ask_many([f"p-{n}" for n in range(8)])]
    trial.tell_many([(who, 1) for who in ids[:5]])
    trial.withdraw(ids[4])
    trial.tell_many([(who, 1) for who in ids[5:]])
    assert values(trial)[-2:] == [("a", 1), ("b", 2)]
    assert trial.verify().ok


def test_a_withdrawn_place_is_refilled_when_the_design_replaces(place: str) -> None:
    trial = make(place, withdrawal="replace")
    ids = [str(a.id) for a in trial.ask_many([f"p-{n}" for n in range(5)])]
    trial.tell_many([(who, 1) for who in ids[1:]])
    trial.withdraw(ids[0])
    trial.withdraw(ids[3])
    assert values(trial) == []
    first, second = trial.ask_many(["new", "newer"])
    assert (first.arm, second.arm) == ("a", "b")
    trial.tell(str(second.id), 0)
    trial.tell(str(first.id), 0.5)
    assert values(trial) == [("a", 0.5), ("b", 1), ("a", 1), ("b", 0)]
    assert trial.view().assigned == [3, 2]
    assert trial.verify().ok


def test_imputed_constants_are_in_the_outcomes_own_units(sqlite_place: str) -> None:
    trial = make(sqlite_place, low=0, high=10, lower_is_better=True, withdrawal="impute:8")
    first, second = (str(a.id) for a in trial.ask_many(["x", "y"]))
    trial.withdraw(first)
    trial.tell(second, 3)
    assert [value for _, value in values(trial)] == [pytest.approx(8, abs=1e-4), pytest.approx(3, abs=1e-4)]
    means = [e["mean"] for e in trial.status()["estimates"]]
    assert means == [pytest.approx(8, abs=1e-4), pytest.approx(3, abs=1e-4)]
    assert make(sqlite_place, name="u", low=0, high=10, lower_is_better=True).design.withdrawal == "impute:10"
    assert trial.verify().ok


def test_corrections_count_until_the_batch_closes(place: str) -> None:
    trial = make(place)
    first, second = (str(a.id) for a in trial.ask_many(["x", "y"]))
    with pytest.raises(InputError, match="no outcome to correct"):
        trial.correct(second, 1, "slip")
    trial.tell(second, 0)
    with pytest.raises(InputError, match="reason"):
        trial.correct(second, 1, " ")
    # Twice, and away from 1 as well: what was there before has to be taken off.
    for outcome in (1, 0.5, 1):
        assert trial.correct(second, outcome, "misread", actor="nurse") == "corrected"
    trial.tell(first, 0)
    assert values(trial) == [("a", 0), ("b", 1)]
    assert trial.correct(second, 0, "misread again") == "late"
    assert trial.tell(second, 1) == "already recorded"
    assert values(trial) == [("a", 0), ("b", 1)]
    assert trial.verify().ok


def test_pausing_stops_enrolment_only(place: str) -> None:
    trial = make(place)
    asked = trial.ask("x")
    trial.pause("supplies ran out", actor="Dr Grey")
    assert trial.status()["state"] == "paused"
    assert trial.ask("x") == asked
    with pytest.raises(OperationError, match="paused"):
        trial.ask("y")
    with pytest.raises(InputError):
        trial.pause()
    assert trial.tell(str(asked.id), 1) == "recorded"
    assert values(trial) == [("a", 1)]
    trial.resume()
    assert trial.ask("y").arm == "b"
    with pytest.raises(InputError):
        trial.resume()
    assert trial.verify().ok


def test_ending_needs_a_reason_and_names_no_winner(place: str) -> None:
    trial = make(place)
    with pytest.raises(InputError, match="reason"):
        trial.end("")
    trial.end("harm", actor="board")
    verdict = trial.verdict
    assert verdict is not None
    assert (verdict.arm, verdict.by, verdict.reason) == (None, "ended", "harm")
    assert trial.ask("x").stopped
    assert trial.verify().ok


def test_the_largest_number_of_participants_ends_the_trial_without_a_verdict(place: str) -> None:
    trial = make(place, max_participants=5)
    ids = [str(a.id) for a in trial.ask_many([f"p-{n}" for n in range(5)])]
    assert trial.status()["state"] == "waiting"
    with pytest.raises(OperationError, match="All 5 participants"):
        trial.ask("one more")
    trial.tell_many([(who, 1) for who in ids[:4]])
    verdict = trial.verdict
    assert verdict is not None
    assert verdict.arm is None
    assert verdict.by == "participants"
    assert trial.tell(ids[4], 1) == "late"
    assert len(values(trial)) == 4
    assert trial.verify().ok


def test_contributions_share_the_budget(place: str) -> None:
    clock = Clock()
    trial = make(place, contributions=3, follow_up="7d", clock=clock)
    seen = []
    for _ in range(3):
        asked = trial.ask("x")
        assert trial.ask("x").id == asked.id
        seen.append(asked.id)
        trial.tell(str(asked.id), 1)
        assert trial.ask("x").id == asked.id
        clock.move(7 * DAY)
    assert len(set(seen)) == 3
    last = trial.ask("x")
    assert (last.id, last.told) == (seen[2], True)
    ledger = trial.ledger()
    assert ledger["releases"][0]["terms"]["epsilon"] == "1/3"
    assert ledger["releases"][0]["terms"]["scale"] == "3"
    assert ledger["epsilon_spent"] == 1
    assert "at most 3 stages" in ledger["why"]
    assert trial.verify().ok


@pytest.mark.parametrize("reported", [True, False])
def test_whether_somebody_joins_again_depends_on_the_clock_alone(place: str, reported: bool) -> None:
    clock = Clock()
    trial = make(place, contributions=2, follow_up="7d", clock=clock)
    first = trial.ask("x")
    if reported:
        trial.tell(str(first.id), 1)
    clock.move(6.9 * DAY)
    assert trial.ask("x").id == first.id
    clock.move(0.2 * DAY)
    assert trial.ask("x").id != first.id


def test_several_contributions_need_a_follow_up(place: str) -> None:
    with pytest.raises(InputError, match="needs a follow-up"):
        make(place, contributions=2)


def test_the_ledger_says_what_counts_for_a_missing_outcome(tmp_path: Path) -> None:
    for rule, words in (("impute:0", "counts as 0;"), ("against", "Nothing is assumed of who goes missing")):
        name = rule.partition(":")[0]
        trial = Trial.create(tmp_path / "t.db", name=name, arms=["a", "b"], epsilon=1, delta=0.1, withdrawal=rule)
        said = [one for one in trial.ledger()["assumptions"] if "missing" in one]
        assert len(said) == 1
        assert words in said[0]
