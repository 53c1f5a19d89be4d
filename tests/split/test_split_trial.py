"""A trial whose outcomes go in halves to two stores: what it releases, what it refuses, and what the stores hold."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bestarm as ba
from bestarm.cli import main
from bestarm.distributed import Halves, SplitTrial
from bestarm.storage import open_store
from bestarm.trial.trial import Trial
from bestarm.trial.verify_public import verify_public
from tests.trial.people import DAY, Clock, arms_from

KEY = bytes(range(32))
PLAN: dict[str, Any] = {
    "name": "t",
    "arms": ["a", "b"],
    "epsilon": "1",
    "delta": "0.1",
    "outcomes": "binary",
    "distributed": True,
}


@pytest.fixture(autouse=True)
def arms_by_a_seed(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """As in the trial's own tests."""
    arms_from(monkeypatch, request.node.name)


def begin(folder: Path, clock: Callable[[], float] | None = None, **given: Any) -> tuple[SplitTrial, Halves, Halves]:
    timed: dict[str, Any] = {} if clock is None else {"clock": clock}
    trial = Trial.create(folder / "one.db", **PLAN | given | timed)
    one = Halves(open_store(str(folder / "one.db")), "t")
    other = Halves(open_store(str(folder / "other.db"), create=True), "t")
    return SplitTrial(trial, (one, other), KEY), one, other


def stage_of(split: SplitTrial, outcome: Callable[[str], int]) -> list[str]:
    """Fill the open stage; everybody's assignment."""
    ids: list[str] = []
    while split.trial.gathering() is None:
        asked = split.ask(f"p{len(ids)}")
        assert asked.id is not None
        assert asked.arm is not None
        assert split.tell(asked, outcome(asked.arm)) == "recorded"
        ids.append(asked.id)
    return ids


def test_a_trial_ends_without_a_store_that_knows_an_outcome(tmp_path: Path) -> None:
    split, _, _ = begin(tmp_path)
    trial, rng = split.trial, random.Random(1)
    assert isinstance(trial, Trial)
    for number in range(600):
        asked = split.ask(f"p{number}")
        if asked.id is None or asked.arm is None:
            break
        split.tell(asked, int(rng.random() < {"a": 0.95, "b": 0.1}[asked.arm]))
        split.gather()
    assert trial.verdict is not None
    assert trial.verdict.arm == "a"
    assert trial.verify().ok
    trial.export_public(tmp_path / "public")
    assert verify_public(tmp_path / "public").ok
    ledger = trial.ledger()
    assert ledger["promised"] == "1-differential privacy, noise from everybody"
    assert "1.27 if half do" in ledger["why"]
    assert {release["terms"]["mechanism"] for release in ledger["releases"]} == {"distributed discrete Laplace"}
    assert no_outcome_in(tmp_path / "one.db")
    assert no_outcome_in(tmp_path / "other.db")


def no_outcome_in(store: Path) -> bool:
    """Nothing but uniform halves: no outcome, no integer made of one, no exact sum, in the books or in the log."""
    with sqlite3.connect(store) as rows:
        told = rows.execute("SELECT outcome, value FROM assignments").fetchall()
        totals = rows.execute("SELECT total FROM tallies").fetchall()
        secrets = [json.loads(text) for (text,) in rows.execute("SELECT secret FROM events WHERE secret IS NOT NULL")]
        halves = [json.loads(text) for (text,) in rows.execute("SELECT half FROM halves")]
        assert halves
        assert all(number > 10**6 for half in halves for number in half), "none is a small number by itself"
        known = {"subject", "people", "sums", "missing", "value", "reason"}
        assert all(set(secret) <= known for secret in secrets)
        return all(outcome is None and value in (None, 0) for outcome, value in told) and set(totals) <= {(0,)}


def test_what_is_released_is_the_sum_with_everybodys_noise(tmp_path: Path) -> None:
    # The same people with the same key, all failing and all succeeding: the noise cancels, and the sizes are left.
    sums = []
    for outcome in (0, 1):
        folder = tmp_path / str(outcome)
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            arms_from(patch, "same")
            split, _, _ = begin(folder)
            stage_of(split, lambda arm, outcome=outcome: outcome)  # type: ignore[misc]
            gathered = split.gather()
        assert gathered is not None
        assert gathered.released
        assert gathered.contributors == gathered.planned
        assert isinstance(split.trial, Trial)
        sums.append(split.trial.status()["releases"])
    difference = [
        (one["value"] - nought["value"], one["kind"], one["sizes"]) for nought, one in zip(*sums, strict=True)
    ]
    for value, kind, sizes in difference:
        assert value == (sizes[0] - sizes[1] if kind == "difference" else sizes[0])


def test_nobody_is_left_out_before_they_are_due(tmp_path: Path) -> None:
    split, _one, _other = begin(tmp_path)
    trial = split.trial
    asked = [split.ask(f"p{n}") for n in range(60)]
    due = trial.gathering()
    assert due is not None
    here = [one for one in asked if one.part is not None and one.part.stage == due.stage]
    for person in here[1:]:
        split.tell(person, 1)
    waits = split.gather()
    assert waits is not None
    assert not waits.released
    assert waits.missing == 1
    assert here[0].id is not None
    with pytest.raises(ba.InputError, match="missing"):
        trial.gather(due.stage, [one.id for one in here[1:] if one.id], [0] * 2)
    trial.withdraw(here[0].id, "moved away")
    released = split.gather()
    assert released is not None
    assert released.released
    assert released.contributors == len(here) - 1
    with pytest.raises(ba.InputError, match="added up"):
        split.tell(here[0], 1)
    assert isinstance(trial, Trial)
    assert trial.verify().ok


def test_with_a_follow_up_the_servers_add_the_rest_when_it_is_due(tmp_path: Path) -> None:
    clock = Clock()
    split, _, _ = begin(tmp_path, clock, follow_up="2d")
    trial = split.trial
    assert isinstance(trial, Trial)
    asked = [split.ask(f"p{n}") for n in range(60)]
    first = [one for one in asked if one.part is not None and one.part.stage == 1]
    enough = first[: len(first) * 2 // 3]
    for person in enough:
        split.tell(person, 1)
    assert split.gather() is None, "not due yet"
    clock.move(3 * DAY)
    released = split.gather()
    assert released is not None
    assert released.released
    assert (released.contributors, released.missing) == (len(enough), len(first) - len(enough))
    assert trial.verify().ok
    trial.export_public(tmp_path / "public")
    assert verify_public(tmp_path / "public").ok


def test_a_stage_of_which_fewer_than_half_send_waits(tmp_path: Path) -> None:
    clock = Clock()
    split, one, _ = begin(tmp_path, clock, follow_up="2d")
    asked = [split.ask(f"p{n}") for n in range(60)]
    first = [person for person in asked if person.part is not None and person.part.stage == 1]
    few = first[: len(first) // 2 - 1]
    for person in few:
        split.tell(person, 1)
    clock.move(3 * DAY)
    waits = split.gather()
    assert waits is not None
    assert not waits.released
    ids = [person.id for person in few if person.id]
    with pytest.raises(ba.InputError, match="at least half"):
        one.add_up(1, ids)
    with pytest.raises(ba.InputError, match="too few"):
        split.trial.gather(1, ids, [0] * (few[0].part.sums if few[0].part else 0))


def test_a_server_adds_a_stage_up_once(tmp_path: Path) -> None:
    split, one, other = begin(tmp_path)
    ids = stage_of(split, lambda arm: 1)
    sums = one.add_up(1, ids)
    assert one.add_up(1, list(reversed(ids))) == sums, "asked again, the same, with the same noise"
    with pytest.raises(ba.InputError, match="other people"):
        one.add_up(1, ids[1:])
    with pytest.raises(ba.InputError, match="Not everybody"):
        other.add_up(1, [*ids, "999-aaaa"])
    assert split.gather() is not None
    assert one.held(1).summed == tuple(sorted(ids))


def test_halves_that_cannot_be(tmp_path: Path) -> None:
    split, one, _ = begin(tmp_path)
    asked = split.ask("p")
    assert split.tell(asked, 1) == "recorded"
    assert split.tell(asked, 1) == "already recorded"
    with pytest.raises(ba.InputError, match="cannot be changed"):
        split.tell(asked, 0)
    for people, epsilon, half in ((0, "1", [1]), (5, "0", [1]), (5, "1", []), (5, "1", [-1]), (5, "1", [2**62])):
        with pytest.raises(ba.InputError, match="half is made of"):
            one.put("9-aaaa", 1, people, epsilon, half)
    one.put("9-aaaa", 7, 2, "1", [5])
    one.put("8-aaaa", 7, 3, "1", [5])
    with pytest.raises(ba.InputError, match="different things"):
        one.add_up(7, ["9-aaaa", "8-aaaa"])


def test_a_store_is_told_nothing(tmp_path: Path) -> None:
    split, _, _ = begin(tmp_path)
    trial = split.trial
    assert isinstance(trial, Trial)
    asked = split.ask("p")
    assert asked.id is not None
    with pytest.raises(ba.InputError, match="in halves"):
        trial.tell(asked.id, 1)
    with pytest.raises(ba.InputError, match="in halves"):
        trial.correct(asked.id, 1, "slip")
    split.ask("q")
    with pytest.raises(ba.InputError, match="nothing is voided"):
        trial.void(split.ask("q").id or "", "p", "twice")
    with pytest.raises(ba.InputError, match="not this stage"):
        trial.gather(1, [asked.id], [0])


def test_verify_notices_a_release_that_the_halves_do_not_sum_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split, _, _ = begin(tmp_path)
    trial = split.trial
    assert isinstance(trial, Trial)
    stage_of(split, lambda arm: 1)
    monkeypatch.setattr("bestarm.privacy.mechanism.Mechanism.release", lambda self, total: total + 1)
    assert split.gather() is not None
    checked = trial.verify()
    assert not checked.ok
    assert "gathered halves" in (checked.problem or "")


def test_designs_that_cannot_be(tmp_path: Path) -> None:
    for given, words in (
        ({"privacy": "zcdp", "rho": "1"}, "belongs to the privacy model pure"),
        ({"contributions": 2, "follow_up": "1d"}, "contributes once"),
        ({"withdrawal": "replace"}, "nobody is replaced|nobody can be replaced"),
        ({"algorithm": "dp-se"}, "whole-numbered"),
    ):
        with pytest.raises(ba.InputError, match=words):
            ba.Design.make(**{k: v for k, v in PLAN.items() if k != "name"} | given)
    design = ba.Design.make(**{k: v for k, v in PLAN.items() if k != "name"} | {"outcomes": "unit"})
    assert design.encoding == "coin"
    assert ba.Design.from_json(design.to_json()) == design
    central = Trial.create(tmp_path / "c.db", **PLAN | {"distributed": False})
    assert "noise" not in central.design.to_json()
    with pytest.raises(ba.InputError, match="centrally"):
        SplitTrial(central, (None, None), KEY)  # type: ignore[arg-type]


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create = ["trial", "create", str(tmp_path / "t.db"), "--name", "t", "--arms", "a,b", "--epsilon", "1"]
    create += ["--delta", "0.1", "--json"]
    assert main([*create, "--noise", "everybody"]) == 2
    assert "central, distributed" in capsys.readouterr().err
    assert not (tmp_path / "t.db").exists()
    assert main([*create, "--noise", "distributed"]) == 0
    assert json.loads(capsys.readouterr().out)["design"]["noise"] == "distributed"
    assert main(["trial", "ask", str(tmp_path / "t.db"), "--name", "t", "--subject", "p", "--json"]) == 0
    asked = json.loads(capsys.readouterr().out)
    assert asked["part"]["people"] >= asked["part"]["sums"] >= 1
    told = ["trial", "tell", str(tmp_path / "t.db"), "--name", "t", "--assignment", asked["assignment"]]
    assert main([*told, "--outcome", "1"]) == 2
    assert "in halves" in capsys.readouterr().err
