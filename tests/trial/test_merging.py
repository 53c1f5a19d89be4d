"""Stages that go on in the next one, in a live trial: everybody in one release, rechecked from log and export alone."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bestarm.errors import InputError
from bestarm.storage.events import GENESIS, chained_publicly
from bestarm.trial.exchange import CHAIN
from bestarm.trial.identity import assignment_id
from bestarm.trial.trial import Trial
from bestarm.trial.verify_public import verify_public
from tests.trial.people import DAY, ChosenNoise, Clock, arms_from

MEANS = {"a": 0.45, "b": 0.5, "c": 0.5}
A_DAY = 30
FOLLOW_UP = 7


def made(place: str | Path, clock: Clock, **changes: Any) -> Trial:
    plan: dict[str, Any] = {"name": "t", "arms": list(MEANS), "epsilon": 1, "delta": "0.01", "outcomes": "binary"}
    plan |= {"noise": ChosenNoise(), "follow_up": f"{FOLLOW_UP}d", "clock": clock}
    return Trial.create(place, **(plan | changes))


def late(place: str | Path, clock: Clock, days: int = 16, **changes: Any) -> Trial:
    """Thirty people a day whose outcomes count after a week; one in ten never reports."""
    trial = made(place, clock, **changes)
    rng = random.Random(1)
    for _ in range(days):
        for _ in range(A_DAY):
            asked = trial.ask(f"p-{rng.random()}")
            if asked.id is not None and asked.arm is not None and rng.random() < 0.9:
                trial.tell(asked.id, int(rng.random() < MEANS[asked.arm]))
            clock.move(DAY / A_DAY)
    trial.advance()
    return trial


def chain(trial: Trial) -> list[tuple[str, dict[str, Any]]]:
    with trial._store.reading("t") as reading:
        return [(event.kind, event.body) for event in reading.events() if event.public_seq is not None]


def bodies(trial: Trial, kind: str) -> list[dict[str, Any]]:
    return [body for what, body in chain(trial) if what == kind]


def test_everybody_is_in_one_release_and_all_of_it_can_be_rechecked(place: str, tmp_path: Path) -> None:
    clock = Clock()
    trial = late(place, clock)
    merged, released = bodies(trial, "merged"), bodies(trial, "released")
    assert len(merged) >= 3
    assert all(body["into"] == body["stage"] + 1 for body in merged)
    gone = {body["stage"] for body in merged}
    assert not gone & {body["stage"] for body in released}
    last = released[-1]["stage"]
    enrolled = [body for body in bodies(trial, "assigned") if body["stage"] <= last]
    assert sum(sum(body["sizes"]) for body in released) == len(enrolled)
    status = trial.status()
    assert [line["stage"] for line in status["releases"]] == sorted(line["stage"] for line in status["releases"])
    assert status["sample_ratio"]["ok"]
    assert status["epsilon_spent"] == 1
    trial.export_public(tmp_path)
    found = verify_public(tmp_path)
    assert (found.ok, found.listed) == (True, ())
    assert trial.verify().listed == ()
    trial.close()
    again = Trial.open(place, name="t", clock=clock)
    assert again.status() == status
    again.close()


def test_sums_are_those_of_all_people_in_them(sqlite_place: str) -> None:
    trial = late(sqlite_place, Clock(), withdrawal="impute:1")
    with trial._store.reading("t") as reading:
        people = list(reading.assignments())
    into = {body["stage"]: body["into"] for body in bodies(trial, "merged")}

    def ends_in(stage: int) -> int:
        return ends_in(into[stage]) if stage in into else stage

    grid = trial.view().design.grid
    for body in bodies(trial, "released"):
        inside = [one for one in people if ends_in(one.stage) == body["stage"]]
        for place, arm in enumerate(sorted({one.arm for one in inside})):
            counted = [1 if one.outcome is None else int(one.outcome) for one in inside if one.arm == arm]
            assert body["values"][place] == grid * sum(counted)  # the noise is nought here
            assert body["sizes"][place] == len(counted)


def test_noise_is_drawn_once_for_what_is_released_together(sqlite_place: str) -> None:
    noise = ChosenNoise()
    trial = late(sqlite_place, Clock(), noise=noise)
    assert noise.draws == sum(len(body["values"]) for body in bodies(trial, "released"))


def test_what_comes_after_a_persons_stage_went_on_is_late(sqlite_place: str) -> None:
    trial = late(sqlite_place, Clock())
    gone = {body["stage"] for body in bodies(trial, "merged")}
    with trial._store.reading("t") as reading:
        people = [one for one in reading.assignments() if one.stage in gone]
    told, silent = (
        assignment_id(trial._key, next(one.number for one in people if (one.outcome is None) is missing))
        for missing in (False, True)
    )
    before = chain(trial)
    assert trial.tell(silent, 1) == "late"
    assert trial.correct(told, 0, "slip") == "late"
    with pytest.raises(InputError, match="too late to void"):
        trial.void(silent, f"p-{random.Random(1).random()}", "twice")  # who came first
    assert chain(trial) == before
    assert trial.verify().ok


def test_whoever_reports_early_or_late_changes_nothing_that_is_public(tmp_path: Path, monkeypatch: Any) -> None:
    chains = []
    for days in (0, 6):
        arms_from(monkeypatch, "the same coins")
        clock, rng = Clock(), random.Random(2)
        trial = made(tmp_path / f"{days}.db", clock)
        waiting: list[tuple[float, str, int]] = []
        for _ in range(14 * A_DAY):
            asked = trial.ask(f"p-{rng.random()}")
            assert asked.id is not None
            assert asked.arm is not None
            waiting.append((clock.now + days * DAY, asked.id, int(rng.random() < MEANS[asked.arm])))
            while waiting and waiting[0][0] <= clock.now:
                trial.tell(waiting[0][1], waiting.pop(0)[2])
            clock.move(DAY / A_DAY)
        chains.append([(kind, body) for kind, body in chain(trial) if kind != "created"])
        assert bodies(trial, "merged")
    assert chains[0] == chains[1]


Line = dict[str, Any]


def into_another(lines: list[Line], at: int) -> None:
    lines[at]["body"]["into"] += 1


def as_a_release(lines: list[Line], at: int) -> None:
    body = lines[at]["body"]
    sizes = [0, 0, 0]
    for line in lines[:at]:
        if line["kind"] == "assigned" and line["body"]["stage"] == body["stage"]:
            sizes[line["body"]["arm"]] += 1
    model = next(line["body"] for line in lines if line["kind"] == "released")
    lines[at] = {
        "kind": "released",
        "body": model | {"stage": body["stage"], "sizes": sizes, "voided": [0, 0, 0], "time": body["time"]},
    }


def too_soon(lines: list[Line], at: int) -> None:
    lines[at]["body"]["time"] = lines[at - 1]["body"]["time"]


def left_out(lines: list[Line], at: int) -> None:
    del lines[at]


def a_release_made_a_merging(lines: list[Line], at: int) -> None:
    place = next(n for n, line in enumerate(lines) if line["kind"] == "released")
    stage, time = (lines[place]["body"][name] for name in ("stage", "time"))
    lines[place] = {"kind": "merged", "body": {"stage": stage, "into": stage + 1, "time": time}}


@pytest.mark.parametrize(
    ("forge", "says"),
    [
        (into_another, "another stage's turn, or it goes on in another one"),
        (as_a_release, "the trial had to be merged|had to be merged with the next one"),
        (too_soon, "No stage was to be released yet|was not made when it was due"),
        (left_out, "the trial had to be merged"),
        (a_release_made_a_merging, "the trial had to be released|had to be released by itself"),
    ],
)
def test_a_forged_merging_is_named(tmp_path: Path, forge: Callable[[list[Line], int], None], says: str) -> None:
    late(tmp_path / "t.db", Clock()).export_public(tmp_path / "out")
    path = tmp_path / "out" / CHAIN
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    forge(lines, next(at for at, line in enumerate(lines) if line["kind"] == "merged"))
    head, kept = GENESIS, []
    for seq, line in enumerate(lines, 1):
        head = chained_publicly(head, seq, line["kind"], line["body"])
        kept.append(json.dumps(line | {"seq": seq, "hash": head}))
    path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    found = verify_public(tmp_path / "out")
    assert not found.ok
    assert re.search(says, " ".join(misfit.problem for misfit in found.listed))


def test_who_was_voided_withdrew_or_was_relabelled_goes_on_with_the_others(sqlite_place: str, tmp_path: Path) -> None:
    clock = Clock()
    trial = late(sqlite_place, clock, days=9, withdrawal="against")
    done = []
    for number in range(6 * A_DAY):
        asked = trial.ask(f"q-{number}")
        assert asked.id is not None
        if number % 10 == 0 and number:
            trial.void(asked.id, "q-1", "entered twice")
            done.append(asked.id)
        elif number % 10 == 1 and number > 1:
            trial.relabel(asked.id, f"r-{number}", "mistyped")
        elif number % 10 == 2:
            trial.withdraw(asked.id, "moved away")
        else:
            trial.tell(asked.id, number % 2)
        clock.move(DAY / A_DAY)
    clock.move((FOLLOW_UP + 1) * DAY)
    trial.advance()
    gone = {body["stage"] for body in bodies(trial, "merged")}
    with trial._store.reading("t") as reading:
        voided = [one for one in reading.assignments() if one.state == "voided"]
        last = bodies(trial, "released")[-1]["stage"]
    assert len(voided) == len(done)
    assert any(one.stage in gone for one in voided)
    assert sum(sum(body["voided"]) for body in bodies(trial, "released")) == sum(one.stage <= last for one in voided)
    assert trial.verify().listed == ()
    trial.export_public(tmp_path)
    assert verify_public(tmp_path).listed == ()
