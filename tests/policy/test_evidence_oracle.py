"""Evidence Top Two agrees with its naive oracle, release by release: cells, wealth, leader, sizes and verdict."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.catalogue import CATALOGUE
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import assign, open_batch, release
from bestarm.release import no_privacy, pure_law
from tests.naive.evidence import Model, Oracle


def compare(oracle: Oracle, state: object, threshold: float) -> None:
    cells = state.cells  # type: ignore[attr-defined]
    for b in range(oracle.arms):
        left = int(cells.left[b])
        assert left == len(oracle.cells[b])
        assert np.allclose(cells.low[b, :left], [c.low for c in oracle.cells[b]], atol=0)
        assert np.allclose(cells.high[b, :left], [c.high for c in oracle.cells[b]], atol=0)
        assert np.allclose(cells.wealth[b, :left], [c.wealth for c in oracle.cells[b]], atol=1e-6, rtol=1e-6)
        assert np.all(cells.wealth[b, :left] < threshold)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("epsilon", "tilted"), [(0.7, False), (4.0, False), (None, False), (0.7, True), (None, True)])
def test_every_release_is_weighed_as_the_oracle_does(epsilon: float | None, tilted: bool, seed: int) -> None:
    rng = np.random.default_rng([seed, 31])
    arms = int(rng.integers(2, 5))
    delta = float(rng.choice([0.01, 0.2]))
    means = rng.uniform(0.1, 0.9, arms)
    algorithm = CATALOGUE["evidence-tilted" if tilted else "evidence"]
    law = no_privacy() if epsilon is None else pure_law(epsilon)
    constants = algorithm.constants(Numbers(arms, delta, law))
    state = algorithm.start(constants)
    oracle = Oracle(Model(epsilon, tilted), arms, delta)
    weights = np.zeros(arms)
    for _ in range(14):
        algorithm.recruit(state, constants, weights)
        recruiting = {a for a in range(arms) if weights[a] > 0}
        assert recruiting == oracle.waiting
        arm = int(rng.choice(sorted(recruiting)))
        size = algorithm.size(state, constants, arm)
        assert size == pytest.approx(oracle.stage[arm], rel=1e-3, abs=1)
        open_batch(state.record, arm, size)
        assign(state.record, arm, size)
        noise = (
            0 if epsilon is None else int(rng.geometric(1 - math.exp(-epsilon)) - rng.geometric(1 - math.exp(-epsilon)))
        )
        value = int(rng.binomial(size, means[arm])) + noise
        release(state.record, arm, size, float(value))
        algorithm.released(state, constants, arm)
        oracle.take(arm, size, value)
        compare(oracle, state, constants.threshold)
        assert state.leader[0] == oracle.leader
        for a in range(arms):
            assert state.beliefs.mean[a] == pytest.approx(oracle.beliefs[a].mean, abs=1e-9)
        verdict = algorithm.over(state, constants)
        left = [b for b in range(arms) if oracle.cells[b]]
        assert (verdict != UNDECIDED) == (len(left) <= 1)
        if verdict != UNDECIDED:
            assert not left or left == [verdict]
            break
