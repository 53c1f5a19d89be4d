"""Same releases in, same decisions out: the live desk and the simulator's driver fold a policy alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from bestarm.design import Design, resolve
from bestarm.policy.algorithm import SEVERAL, UNDECIDED, Algorithm, Batched
from bestarm.policy.catalogue import CATALOGUE, uniform
from bestarm.policy.record import FloatArray
from bestarm.privacy.coins import PersonalCoins
from bestarm.simulation import driver
from bestarm.storage.memory import MemoryBooks
from bestarm.trial.desk import Desk
from bestarm.trial.fold import Fold, Rules
from bestarm.trial.trial import Trial
from tests.trial.people import ScriptedDoor

COINS = partial(PersonalCoins, b"k" * 32, "t")
MOST = 3000
MEANS = (0.3, 0.8, 0.35)


def rules_for(algorithm: str | Algorithm, **changes: Any) -> Rules:
    plan: dict[str, Any] = {"arms": ["a", "b", "c"], "epsilon": 1, "delta": "0.1", "outcomes": "binary"}
    return Rules.of(Design.make(algorithm=algorithm, **(plan | changes)), resolve(algorithm))


def simulated(rules: Rules, seed: int) -> tuple[list[int], list[tuple[int, int, int]], int, int]:
    """A run of the simulator's own driver: arms in order, releases (arm, size, steps), people, verdict."""
    algorithm = rules.algorithm
    assert isinstance(algorithm, Batched)
    arms: list[int] = []
    releases: list[tuple[int, int, int]] = []

    def assigned(state: Any, constants: Any, arm: int, people: int) -> None:
        arms.extend([arm] * int(people))
        algorithm.assigned(state, constants, arm, people)

    def draw(rng: np.random.Generator, world: None, arm: int, size: int) -> float:
        steps = round((rng.binomial(size, MEANS[arm]) + rng.laplace()) * rules.grid)
        releases.append((arm, int(size), steps))
        return steps / rules.grid

    run = driver.driving(replace(algorithm, assigned=assigned), {"draw": draw})
    people, verdict, _, _ = run(np.random.default_rng(seed), None, rules.constants, MOST, np.zeros(3, np.int64))
    return arms, releases, people, verdict


BATCHED = [name for name, one in CATALOGUE.items() if isinstance(one, Batched)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", BATCHED)
def test_same_releases_in_same_decisions_out(name: str, seed: int) -> None:
    planned = {"difference": "0.4", "base": "0.35"} if CATALOGUE[name].needs_base else {}
    rules = rules_for(CATALOGUE[name], **planned)
    arms, releases, people, verdict = simulated(rules, seed)
    coming = iter(arms)
    books, log = MemoryBooks(), []

    def keep(kind: str, at: int, actor: str, body: dict[str, Any], secret: Any) -> None:
        log.append((kind, body))

    def pick(weights: Sequence[float]) -> int:
        arm = next(coming)
        assert weights[arm] > 0
        return arm

    door = ScriptedDoor([steps for _, _, steps in releases])
    desk = Desk(Fold(rules, books, rules.fresh_state()), door, keep, 0, COINS, pick)
    for person in range(people):
        before = desk.fold.recruiting()
        assert before is not None
        assignment = desk.ask(str(person), "me")
        assert assignment is not None
        if np.count_nonzero(before) == 1:
            assert assignment.arm == next(coming)
        desk.tell(assignment.number, Fraction(0), "me")
    arm_of = {b["stage"]: b["champion"] for kind, b in log if kind == "opened"}
    live = [(arm_of[b["stage"]], b["sizes"][0], b["values"][0]) for kind, b in log if kind == "released"]
    assert live == releases
    assert len(arms) == people
    stopped = books.book.verdict
    if verdict == UNDECIDED:
        assert stopped is None
    else:
        assert stopped is not None
        assert stopped["arm"] == rules.design.arms[verdict]


def test_an_algorithm_of_ones_own_runs_live(sqlite_place: str) -> None:
    def last_arm(state: Any, constants: Any, weights: FloatArray) -> int:
        return int(weights.size) - 1 if state.record.assigned.min() > 0 else int(state.record.assigned.argmin())

    own = replace(uniform(), name="mine", recruit=last_arm)
    trial = Trial.create(sqlite_place, name="t", arms=["a", "b"], epsilon=1, delta=0.1, algorithm=own)
    assert [trial.ask(f"p-{n}").arm for n in range(5)] == ["a", "b", "b", "b", "b"]
    again = Trial.open(sqlite_place, name="t", algorithm=own)
    assert again.ask("p-9").arm == "b"
    assert again.verify().ok
    named = "bestarm.policy.catalogue:CATALOGUE"
    with pytest.raises(ValueError, match="not an Algorithm"):
        Trial.create(sqlite_place, name="u", arms=["a", "b"], epsilon=1, delta=0.1, algorithm=named)
    with pytest.raises(ValueError, match="no algorithm 'mine'"):
        Trial.open(sqlite_place, name="t")


def test_allocation_is_unpredictable_or_in_fixed_order(sqlite_place: str) -> None:
    def side_by_side(state: Any, constants: Any, weights: FloatArray) -> int:
        weights[:] = (0.5, 0.0, 0.5)
        return SEVERAL

    own = replace(uniform(), name="mine", recruit=side_by_side)

    def arms_of(allocation: str) -> str:
        plan: dict[str, Any] = {"arms": ["a", "b", "c"], "epsilon": 1, "delta": 0.1, "algorithm": own}
        trial = Trial.create(sqlite_place, name=allocation, allocation=allocation, **plan)
        asked = trial.ask_many([f"p-{n}" for n in range(90)])
        assert trial.verify().ok
        return "".join(str(a.arm) for a in asked)

    assert arms_of("fixed") == "ac" * 45
    drawn = arms_of("random")
    assert set(drawn) == {"a", "c"}
    # Of 2^90 sequences of two letters 2 F(91) < 1e19 lack a run of three: below 1e-8.
    assert "aaa" in drawn or "ccc" in drawn
