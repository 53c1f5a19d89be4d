"""Live trials of an algorithm with coins: the same as simulated, never foreseeable, released in order, late or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bestarm.errors import InputError
from bestarm.policy.algorithm import UNDECIDED, Staged
from bestarm.policy.catalogue import CATALOGUE
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import Stages
from bestarm.privacy.coins import PersonalCoins
from bestarm.simulation.driver import driving
from bestarm.storage.memory import MemoryBooks
from bestarm.trial.desk import Desk
from bestarm.trial.fold import Fold, Rules
from bestarm.trial.policy_state import named_arrays, to_bytes
from bestarm.trial.trial import Trial
from bestarm.trial.verify_public import verify_public
from tests.simulation.worlds import Timed, timed
from tests.trial.people import DAY, ChosenNoise, Clock, ScriptedDoor
from tests.trial.test_same_as_simulated import rules_for

MEANS = {"a": 0.15, "b": 0.85, "c": 0.2}
COINS = partial(PersonalCoins, b"k" * 32, "staged")


def simulated(rules: Rules, seed: int, most: int) -> dict[str, Any]:
    """A run of the simulator's own loop: arms in order, stages with their sizes and values, verdict, people."""
    algorithm = rules.algorithm
    assert isinstance(algorithm, Staged)
    arms: list[int] = []
    stages: list[tuple[list[float], list[int], list[int]]] = []
    rates = list(MEANS.values())

    def count(rng: np.random.Generator, world: Timed, arm: int, people: int, at: float) -> float:
        arms.append(arm)
        return float(rng.binomial(people, rates[arm]))

    def blur(rng: np.random.Generator, world: Timed) -> float:
        return float(round(rng.laplace()))

    def settle(state: Any, constants: Any, slot: int, values: FloatArray) -> None:
        record: Stages = state.stages
        weights = record.openings.weights[slot]
        shown = values[:1] if record.openings.difference[slot] else values[weights > 0]
        stages.append((weights.tolist(), record.size[slot].tolist(), [int(value) for value in shown]))
        algorithm.settle(state, constants, slot, values)

    run = driving(replace(algorithm, settle=settle), {"count": count, "blur": blur})
    world = timed(longest_step=1)  # one person at a time, so that the order of arms is known
    people, verdict, _, _ = run(np.random.default_rng(seed), world, rules.constants, most, np.zeros(3, np.int64))
    return {"arms": arms, "stages": stages, "verdict": verdict, "people": people}


@pytest.mark.parametrize("seed", range(3))
def test_same_coins_and_releases_in_same_decisions_out(seed: int) -> None:
    rules = rules_for("evidence")
    story = simulated(rules, seed, 4000)
    coming, log = iter(story["arms"]), []

    def pick(weights: Sequence[float]) -> int:
        assert np.count_nonzero(weights) >= 2
        return int(next(coming))

    def keep(kind: str, at: int, actor: str, body: dict[str, Any], secret: Any) -> None:
        log.append((kind, body))

    books = MemoryBooks()
    door = ScriptedDoor([value for *_, values in story["stages"] for value in values])
    desk = Desk(Fold(rules, books, rules.fresh_state()), door, keep, 0, COINS, pick)
    for person in range(story["people"]):
        assignment = desk.ask(str(person), "me")
        assert assignment is not None
        desk.tell(assignment.number, Fraction(0), "me")
    weights = {body["stage"]: body["weights"] for kind, body in log if kind == "opened"}
    live = [(weights[body["stage"]], body["sizes"], body["values"]) for kind, body in log if kind == "released"]
    assert live == [(w, [n for n, p in zip(sizes, w, strict=True) if p > 0], v) for w, sizes, v in story["stages"]]
    assert story["verdict"] != UNDECIDED
    assert books.book.verdict is not None
    assert books.book.verdict["arm"] == rules.design.arms[story["verdict"]]


def make(place: str | Path, **changes: Any) -> Trial:
    plan: dict[str, Any] = {"name": "t", "arms": list(MEANS), "epsilon": 2, "delta": 0.1, "outcomes": "binary"}
    return Trial.create(place, **(plan | {"noise": ChosenNoise()} | changes))


def enrol(trial: Trial, people: int, rng: np.random.Generator, first: int = 0) -> int:
    """Ask and tell; how many were enrolled until the trial stopped."""
    for number in range(people):
        asked = trial.ask(f"p-{first + number}")
        if asked.id is None or asked.arm is None:
            return number
        trial.tell(asked.id, int(rng.random() < MEANS[asked.arm]))
    return people


def test_a_trial_runs_to_its_verdict_and_can_be_rechecked(place: str, tmp_path: Path) -> None:
    trial = make(place)
    taken = enrol(trial, 3000, np.random.default_rng(1))
    assert trial.verdict is not None
    assert trial.verdict.arm == "b"
    assert trial.verify().ok
    trial.export_public(tmp_path)
    found = verify_public(tmp_path)
    assert (found.ok, found.problem) == (True, None)
    with trial._store.reading("t") as reading:
        assert found.head == reading.public_head
        assert reading.book.people == taken


def test_nobody_can_foresee_the_next_arm(sqlite_place: str) -> None:
    trial = make(sqlite_place)
    rng = np.random.default_rng(2)
    for number in range(400):
        status = trial.status()
        if status["verdict"] is not None:
            break
        weights = status["stage"]["weights"]
        assert len(weights) >= 2
        assert sum(weights.values()) == 1
        assert list(weights) == status["recruiting"]
        enrol(trial, 1, rng, number)
    assert number > 10


def test_with_a_follow_up_enrolment_goes_on_and_stages_are_released_in_order(sqlite_place: str) -> None:
    clock = Clock()
    trial = make(sqlite_place, follow_up="7d", clock=clock)
    rng = np.random.default_rng(3)
    number, pending = 0, 0
    while trial.verdict is None and number < 4000:
        number += enrol(trial, 10, rng, number)
        clock.move(DAY)
        with trial._store.reading("t") as reading:
            pending = max(pending, reading.book.opened - reading.book.released)
    assert trial.verdict is not None
    assert trial.verdict.arm == "b"
    assert pending >= 2
    released = [line["stage"] for line in trial.status()["releases"]]
    assert released == sorted(released)
    assert trial.verify().ok


def test_what_a_stage_opens_with_is_public_and_nothing_else_is_remembered_of_planning(sqlite_place: str) -> None:
    rules = rules_for("evidence")
    state = rules.fresh_state()
    before = to_bytes(state)
    assert isinstance(rules.algorithm, Staged)
    rules.algorithm.open_stage(state, rules.constants, 5)
    changed = {name for name, array in named_arrays(state) if array.tobytes() != before[name]}
    assert changed <= {f"stages.openings.{part}" for part in ("weights", "difference", "champion", "planned")}
    assert not state.stages.openings.weights[:5].any()


@pytest.mark.parametrize(
    ("changes", "says"), [({"withdrawal": "replace"}, "replaced"), ({"allocation": "fixed"}, "coins")]
)
def test_designs_that_coins_cannot_keep_are_refused(sqlite_place: str, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        make(sqlite_place, **changes)


def test_at_the_largest_number_of_participants_the_open_stage_closes(sqlite_place: str) -> None:
    # Everybody answers alike, so that the evidence ends the trial with probability below delta.
    trial = make(sqlite_place, max_participants=40, delta="1e-9", noise=None)
    asked = [trial.ask(f"p-{person}") for person in range(40)]
    trial.tell_many([(str(one.id), 1) for one in asked])
    assert trial.verdict is not None
    assert trial.verdict.by == "participants"
    assert sum(sum(line["sizes"]) for line in trial.status()["releases"]) == 40
    assert trial.verify().ok


def test_the_default_is_an_algorithm_with_coins() -> None:
    assert isinstance(CATALOGUE["evidence"], Staged)
    assert CATALOGUE["evidence"].identity == "evidence@2"


def test_status_says_whether_coins_fell_as_announced_and_how_far_the_leader_is_ahead(sqlite_place: str) -> None:
    trial = make(sqlite_place, low=0, high=10, outcomes="unit", lower_is_better=True)
    assert trial.status()["sample_ratio"] is None
    rng = np.random.default_rng(5)
    for number in range(3000):
        asked = trial.ask(f"p-{number}")
        if asked.id is None or asked.arm is None:
            break
        trial.tell(asked.id, 10 * int(rng.random() < MEANS[asked.arm]))
    status = trial.status()
    assert status["verdict"]["arm"] == "a"
    assert status["sample_ratio"]["ok"]
    assert [(d["arm"], d["rival"]) for d in status["differences"]] == [("a", "b"), ("a", "c")]
    low, high = status["differences"][0]["low"], status["differences"][0]["high"]
    assert low < high
    assert low + high < 0, "less is better here, so the leader's mean is the smaller one"


def test_a_broken_coin_is_noticed(sqlite_place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.randbits", lambda bits: 0)  # the coin always falls on the first arm that may come up
    trial = make(sqlite_place)
    enrol(trial, 60, np.random.default_rng(6))
    assert not trial.status()["sample_ratio"]["ok"]
