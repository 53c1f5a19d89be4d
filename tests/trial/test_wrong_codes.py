"""The wrong code at the desk: the phantom that is looked up first, the relabelled, the duplicate. Nobody picks arms."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bestarm.errors import InputError
from bestarm.storage.contract import Stage
from bestarm.storage.events import PUBLIC_KINDS
from bestarm.trial.course import Outturn, StagedCourse
from bestarm.trial.identity import Participant
from bestarm.trial.trial import Trial
from bestarm.trial.verify_public import verify_public
from tests.trial.people import DAY, ChosenNoise, Clock

PLAN: dict[str, Any] = {"name": "t", "arms": ["a", "b"], "epsilon": 1, "delta": 0.1, "outcomes": "binary"}


def make(place: str | Path, **changes: Any) -> Trial:
    return Trial.create(place, **(PLAN | {"noise": ChosenNoise()} | changes))


def batched(place: str | Path, **changes: Any) -> Trial:
    """Batches of one arm each that double, arms in turn."""
    return make(place, **({"algorithm": "uniform", "allocation": "fixed"} | changes))


def test_one_person_however_the_code_is_written(place: str) -> None:
    trial = make(place)
    first = trial.ask("P-001")
    assert trial.ask(" p-001 ").id == trial.ask("Ｐ-００１").id == first.id
    assert trial.status()["assigned"] != {"a": 0, "b": 0}
    assert sum(trial.status()["assigned"].values()) == 1
    assert trial.verify().ok


def test_looking_up_enrols_nobody_and_names_near_codes(sqlite_place: str) -> None:
    trial = make(sqlite_place)
    trial.ask_many(["P-001", "P-002", "Q-77"])
    assert trial.look_up("p-0O1") == []
    assert trial.near("P-0O1")[0] == "p-001"
    assert trial.near("p-003") == ["p-001", "p-002"]
    assert trial.near("zebra") == []
    assert sum(trial.status()["assigned"].values()) == 3
    found = trial.look_up("p-002")
    assert len(found) == 1
    assert (found[0].told, found[0].withdrawn, found[0].voided) == (False, False, False)
    assert found == trial.look_up(assignment=found[0].id)
    with pytest.raises(InputError, match="one of the two"):
        trial.look_up()


def test_a_look_up_says_that_an_outcome_is_recorded_and_never_which(sqlite_place: str) -> None:
    said = set()
    for outcome in (0, 1):
        trial = make(f"{sqlite_place}{outcome}", clock=Clock())
        trial.ask("p-1")
        trial.tell(subject="P-1", outcome=outcome)
        found = trial.look_up("p-1")[0]
        assert found.told
        said.add(repr(vars(found) | {"id": "", "arm": ""}))
    assert len(said) == 1


def test_outcomes_corrections_and_withdrawals_by_code(place: str) -> None:
    trial = make(place)
    trial.ask_many(["p-1", "p-2", "p-3"])
    assert trial.tell(subject="P-1", outcome=1) == "recorded"
    assert trial.tell_many([(Participant("p-2"), 0)]) == ["recorded"]
    assert trial.correct(subject="p-1", outcome=0, reason="slip") == "corrected"
    assert trial.withdraw(subject=" P-3", reason="moved") == "withdrawn"
    assert trial.look_up("p-3")[0].withdrawn
    with pytest.raises(InputError, match="no participant of this code"):
        trial.tell(subject="p-9", outcome=1)
    with pytest.raises(InputError, match="one of the two"):
        trial.tell("1-aaaa", 1, subject="p-1")
    assert trial.verify().ok


def test_the_relabelled_keeps_assignment_and_arm(place: str, tmp_path: Path) -> None:
    trial = make(place)
    wrong = trial.ask("P-0O1")
    assert wrong.id is not None
    assert trial.relabel(wrong.id, "P-001", "the letter for the digit", "nurse") == "relabelled"
    assert trial.relabel(wrong.id, "p-001", "again") == "already so"
    right = trial.ask("p-001")
    assert (right.id, right.arm) == (wrong.id, wrong.arm)
    assert trial.look_up("p-0o1") == []
    trial.ask("P-0O1")  # the code is free again, for whoever really has it
    assert trial.status()["relabelled"] == 1
    assert sum(trial.status()["assigned"].values()) == 2
    assert trial.tell(subject="p-001", outcome=1) == "recorded"
    assert trial.verify().ok
    trial.export_public(tmp_path)
    assert verify_public(tmp_path).ok
    assert "letter" not in (tmp_path / "chain.jsonl").read_text()


def test_nobody_is_relabelled_to_somebody_who_is_there(sqlite_place: str) -> None:
    trial = make(sqlite_place)
    first, second = trial.ask("p-1"), trial.ask("p-2")
    with pytest.raises(InputError, match="void it as a duplicate"):
        trial.relabel(str(second.id), "p-1", "same person")
    with pytest.raises(InputError, match="reason"):
        trial.relabel(str(first.id), "p-9", " ")
    assert trial.status()["relabelled"] == 0


@pytest.mark.parametrize("follow_up", [None, "7d"])
def test_the_duplicate_is_voided_and_the_first_assignment_stands(
    place: str, tmp_path: Path, follow_up: str | None
) -> None:
    clock = Clock()
    trial = batched(place, follow_up=follow_up, clock=clock)
    first = trial.ask("p-001")
    twice = trial.ask("p-0o1")
    assert trial.void(str(twice.id), "P-001", "entered twice", "nurse") == "voided"
    assert trial.ask("p-001").id == first.id
    assert trial.look_up("p-0o1") == []
    assert trial.look_up(assignment=str(twice.id))[0].voided
    gone = str(twice.id)
    steps: list[Callable[[], str]] = [
        lambda: trial.tell(gone, 1),
        lambda: trial.withdraw(gone),
        lambda: trial.correct(gone, 1, "no"),
        lambda: trial.relabel(gone, "p-7", "no"),
        lambda: trial.void(gone, "p-001", "again"),
    ]
    for step in steps:
        with pytest.raises(InputError, match="voided"):
            step()
    assert twice.id not in {one.id for one in trial.open_assignments()}
    for number in range(40):
        asked = trial.ask(f"q-{number}")
        if asked.id is not None:
            trial.tell(asked.id, 1)
    trial.tell(str(first.id), 1)
    clock.move(8 * DAY)
    released = trial.status()["releases"]
    voids = [sum(line["voided"]) for line in released]
    assert sum(voids) == 1
    line = released[voids.index(1)]
    assert line["arms"] == [twice.arm]
    assert line["value"] == line["sizes"][0] - 1, "it keeps its place and counts as the worst outcome"
    assert trial.verify().ok
    trial.export_public(tmp_path)
    assert verify_public(tmp_path).ok


def test_of_two_assignments_the_first_stands_even_if_its_code_is_wrong(sqlite_place: str) -> None:
    trial = make(sqlite_place)
    phantom, later = trial.ask("p-0o1"), trial.ask("p-001")
    with pytest.raises(InputError, match="the first stands"):
        trial.void(str(phantom.id), "p-001", "mistyped")
    assert trial.void(str(later.id), "p-0o1", "entered twice") == "voided"
    assert trial.relabel(str(phantom.id), "p-001", "mistyped") == "relabelled"
    assert trial.ask("p-001").id == phantom.id
    assert trial.verify().ok


def test_what_cannot_be_voided(sqlite_place: str) -> None:
    trial = make(sqlite_place)
    first, second = trial.ask("p-1"), trial.ask("p-2")
    with pytest.raises(InputError, match="Nobody in the trial"):
        trial.void(str(second.id), "p-9", "why")
    with pytest.raises(InputError, match="held by that very code"):
        trial.void(str(first.id), "p-1", "why")
    trial.tell(str(second.id), 1)
    with pytest.raises(InputError, match="An outcome is recorded"):
        trial.void(str(second.id), "p-1", "why")


def test_with_a_follow_up_only_the_clock_decides_whether_a_void_counts(tmp_path: Path) -> None:
    seen = set()
    for run, told in enumerate(("never", "before", "after", "another")):
        clock = Clock()
        trial = batched(tmp_path / f"{run}.db", follow_up="7d", clock=clock)
        ids = [str(trial.ask(f"p-{number}").id) for number in range(8)]
        if told in ("before", "another"):
            trial.tell(ids[7], int(told == "before"))
        trial.void(ids[7], "p-0", "entered twice")
        if told == "after":
            with pytest.raises(InputError, match="voided"):
                trial.tell(ids[7], 1)
        trial.ask("p-7")
        clock.move(20 * DAY)
        with trial._store.reading("t") as reading:
            trial.advance()
        with trial._store.reading("t") as reading:
            public = [(e.kind, e.body) for e in reading.events() if e.kind in PUBLIC_KINDS][1:]
        assert trial.verify().ok
        seen.add(repr(public))
    assert len(seen) == 1


def test_voids_and_relabels_that_staff_could_not_have_made_are_found(sqlite_place: str) -> None:
    import sqlalchemy as sa

    trial = batched(sqlite_place)
    ids = [str(trial.ask(f"p-{number}").id) for number in range(4)]
    trial.void(ids[3], "p-0", "entered twice")
    trial.relabel(ids[2], "p-22", "mistyped")
    assert trial.verify().ok
    engine = sa.create_engine(f"sqlite:///{sqlite_place}")
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE tallies SET voided = 0"))
    found = trial.verify()
    assert not found.ok
    assert found.problem is not None
    assert "tallies" in found.problem
    engine.dispose()


@pytest.mark.parametrize("seed", range(4))
def test_an_operator_who_voids_whoever_looks_bad_gains_nothing(tmp_path: Path, seed: int) -> None:
    # Two trials with the same coins and outcomes: an honest one, and one in which everybody on arm a who looks bad is
    # voided as a duplicate. Arm a's released sum is never larger, its size is the same.
    rng = random.Random(seed)
    sums = []
    people = [(int(rng.random() < 0.4), int(rng.random() < 0.4)) for _ in range(40)]
    for honest in (True, False):
        trial = batched(tmp_path / f"{honest}.db")
        trial.tell(str(trial.ask("first").id), 1)
        for number, outcomes in enumerate(people):
            asked = trial.ask(f"p-{number}")
            assert asked.id is not None
            outcome = outcomes[trial.design.arms.index(str(asked.arm))]
            if not honest and asked.arm == "a" and outcome == 0:
                trial.void(asked.id, "first", "looks bad")
            else:
                trial.tell(asked.id, outcome)
        lines = [line for line in trial.status()["releases"] if line["arms"] == ["a"]]
        sums.append([(line["stage"], line["sizes"], line["value"]) for line in lines])
        assert trial.verify().ok
    assert len(sums[0]) >= 1
    for (stage, sizes, value), (stage_too, sizes_too, value_too) in zip(*sums, strict=True):
        assert (stage, sizes) == (stage_too, sizes_too)
        assert value_too <= value


@pytest.mark.parametrize("seed", range(3))
def test_voids_are_counted_against_the_finding_whoever_is_voided(
    sqlite_place: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With coins: the operator voids everybody who looks bad on the champion and everybody who looks good on its rivals.
    # What the policy is handed of the stage is, in every bet, at most what an honest operator would have handed it.
    handed: list[tuple[int, Outturn]] = []
    honest_way = StagedCourse.released

    def released(self: StagedCourse, stage: Stage, outturn: Outturn) -> None:
        handed.append((stage.champion, outturn))
        honest_way(self, stage, outturn)

    monkeypatch.setattr(StagedCourse, "released", released)
    for honest in (True, False):
        coins, rng = random.Random(seed), random.Random(seed + 100)
        monkeypatch.setattr("secrets.randbits", coins.getrandbits)
        trial = make(f"{sqlite_place}{honest}", arms=["a", "b", "c"], epsilon=3)
        trial.tell(str(trial.ask("first").id), 1)
        for number in range(200):
            looks_good = rng.random() < 0.5
            asked = trial.ask(f"p-{number}")
            with trial._store.reading("t") as reading:
                stage = reading.stage(1)
                assert stage is not None
                on_champion = asked.arm == trial.design.arms[stage.champion]
            if not honest and looks_good != on_champion:
                trial.void(str(asked.id), "first", "looks wrong")
            else:
                trial.tell(str(asked.id), int(looks_good))
            if trial.status()["releases"]:
                break
        assert trial.verify().ok
    (champion, fair), (same, foul) = handed[0], next(pair for pair in handed if sum(pair[1].voided))
    assert champion == same
    assert fair.sizes == foul.sizes
    assert sum(fair.voided) == 0 < sum(foul.voided)
    for arm in range(3):
        if arm == champion:
            assert foul.values[arm] <= fair.values[arm]
        else:
            assert foul.values[arm] + foul.voided[arm] >= fair.values[arm]
