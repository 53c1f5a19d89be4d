"""Every algorithm of the paper and of its follow-ups agrees with its naive oracle: the same arm for each person,
batches, releases, stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from bestarm.policy.algorithm import Algorithm, Batched
from bestarm.policy.catalogue import CATALOGUE
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import FloatArray, IntArray
from bestarm.release import Privacy, law_of
from bestarm.simulation.compiled import make_entry_point
from bestarm.simulation.driver import Run, driving
from tests.naive import paper, peers
from tests.naive.tape import Story, Tape

ORACLES: dict[str, Callable[..., Story]] = {
    "adap-tt": paper.adap_tt,
    "adap-tt-nonprivate": partial(paper.adap_tt, private=False),
    "adap-tt-published": paper.adap_tt_published,
    "ttucb": paper.ttucb,
    "ttucb-published": partial(paper.ttucb, published=True),
    "uniform": paper.uniform,
    "dp-se": paper.dp_se,
    "adap-tt-star": peers.adap_tt_star,
    "dp-tt": peers.dp_tt,
    "dp-tt-published": peers.dp_tt_published,
    "ctb-tt": paper.ttucb,
    "eb-tci": peers.eb_tci,
    "eb-tci-published": partial(peers.eb_tci, published=True),
    "lucb-private": peers.lucb_private,
}
NOISELESS = {"adap-tt-nonprivate", "ttucb", "ttucb-published", "ctb-tt", "eb-tci", "eb-tci-published"}
SLOW = {"adap-tt-star", "dp-tt", "dp-tt-published", "eb-tci", "eb-tci-published", "lucb-private", "ctb-tt"}
"""Oracles that search for every number they compare: a few hundred cases are enough."""


class TapeWorld(NamedTuple):
    """The tape as arrays, and a log of what was drawn from it."""

    sums: FloatArray
    """Sum of an arm's first n outcomes."""
    noise: FloatArray
    used: IntArray
    batches: IntArray
    log_arm: IntArray
    log_size: IntArray
    log_value: FloatArray
    logged: IntArray


def draw_from_tape(rng: np.random.Generator, world: TapeWorld, arm: int, size: int) -> float:
    value = world.sums[arm, world.used[arm] + size] - world.sums[arm, world.used[arm]]
    if world.noise.shape[1] > 0:
        value += world.noise[arm, world.batches[arm]]
    world.used[arm] += size
    world.batches[arm] += 1
    at = world.logged[0]
    world.log_arm[at], world.log_size[at], world.log_value[at] = arm, size, value
    world.logged[0] = at + 1
    return float(value)


@dataclass
class Case:
    arms: int
    epsilon: float
    delta: float
    cap: int
    outcomes: FloatArray
    noise: FloatArray
    seed: int

    def tape(self) -> Tape:
        return Tape(self.outcomes.tolist(), self.noise.tolist(), np.random.default_rng(self.seed))

    def world(self, noiseless: bool) -> TapeWorld:
        sums = np.concatenate([np.zeros((self.arms, 1)), np.cumsum(self.outcomes, axis=1)], axis=1)
        noise = self.noise[:, :0] if noiseless else self.noise
        counts = np.zeros(self.arms, np.int64)
        log = np.zeros(self.cap + 1, np.int64)
        return TapeWorld(sums, noise, counts, counts.copy(), log, log.copy(), log.astype(float), log[:1].copy())


def make_case(rng: np.random.Generator, cap: int, easy: bool = False) -> Case:
    arms = int(rng.integers(2, 7))
    epsilon = float(rng.choice([1.0, 3.0, 20.0] if easy else [0.05, 0.5, 1.0, 3.0, 20.0]))
    delta = float(rng.choice([0.01, 0.1, 0.5]))
    means = rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], size=arms) if rng.random() < 0.5 else rng.random(arms)
    if easy:
        means = np.minimum(means, 0.2)
        means[int(rng.integers(arms))] = 1.0
    outcomes = (rng.random((arms, cap + 1)) < means[:, None]).astype(float)
    noise = rng.laplace(0, 1 / epsilon, size=(arms, 40))
    return Case(arms, epsilon, delta, cap, outcomes, noise, int(rng.integers(2**31)))


def design_of(case: Case, algorithm: Algorithm) -> Numbers:
    return Numbers(case.arms, case.delta, law_of(Privacy.of(algorithm.privacy[0], case.epsilon), "grid"))


def oracle_story(case: Case, name: str) -> Story:
    if name in NOISELESS:
        case = Case(**{**vars(case), "noise": np.zeros_like(case.noise)})
    return ORACLES[name](case.arms, case.epsilon, case.delta, case.tape(), case.cap)


def check(case: Case, name: str, world: TapeWorld, result: tuple[int, int, int, int], per_arm: IntArray) -> Story:
    story = oracle_story(case, name)
    counted = sum(size for _, size, _ in story.releases)
    assert result == (len(story.arms), story.verdict, len(story.releases), len(story.arms) - counted)
    assert per_arm.tolist() == [story.arms.count(arm) for arm in range(case.arms)]
    count = world.logged[0]
    log = list(zip(world.log_arm[:count].tolist(), world.log_size[:count].tolist(), strict=True))
    assert log == [(arm, size) for arm, size, _ in story.releases]
    np.testing.assert_allclose(world.log_value[:count], [value for _, _, value in story.releases], rtol=1e-9, atol=1e-9)
    return story


@pytest.mark.parametrize("name", ORACLES)
def test_compiled_runs_agree_with_the_oracle(name: str) -> None:
    algorithm = CATALOGUE[name]
    run: Run = make_entry_point(algorithm, {"draw": draw_from_tape}, cached=False)
    rng = np.random.default_rng(20230)
    stopped = 0
    for index in range(220 if name in SLOW else 1100):
        easy = index % 11 == 0
        case = make_case(rng, cap=6000 if easy else int(rng.integers(2, 260)), easy=easy)
        world = case.world(name in NOISELESS)
        per_arm = np.zeros(case.arms, np.int64)
        constants = algorithm.constants(design_of(case, algorithm))
        result = run(np.random.default_rng(case.seed), world, constants, case.cap, per_arm)
        stopped += check(case, name, world, result, per_arm).verdict >= 0
    assert stopped >= 20, "too few cases stop to say anything about stopping"


@pytest.mark.parametrize("name", ORACLES)
def test_plain_runs_take_the_same_arm_for_every_person(name: str) -> None:
    algorithm = CATALOGUE[name]
    assert isinstance(algorithm, Batched)
    rng = np.random.default_rng(77)
    for _ in range(40):
        case = make_case(rng, cap=int(rng.integers(2, 200)))
        world = case.world(name in NOISELESS)
        per_arm = np.zeros(case.arms, np.int64)
        arms: list[int] = []

        def assigned(state: Any, constants: Any, arm: int, people: int, arms: list[int] = arms) -> None:
            arms.extend([arm] * int(people))
            algorithm.assigned(state, constants, arm, people)

        run = driving(replace(algorithm, assigned=assigned), {"draw": draw_from_tape})
        constants = algorithm.constants(design_of(case, algorithm))
        result = run(np.random.default_rng(case.seed), world, constants, case.cap, per_arm)
        story = check(case, name, world, result, per_arm)
        assert arms == story.arms
