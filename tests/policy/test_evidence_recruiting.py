"""Enrolment under Evidence Top Two never waits, however late outcomes come, and every batch finds its place."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bestarm.policy.algorithm import SEVERAL, UNDECIDED
from bestarm.policy.catalogue import CATALOGUE
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import assign, open_batch, release
from bestarm.release import pure_law


@pytest.mark.parametrize("delay", [0, 40, 400])
@pytest.mark.parametrize("seed", range(5))
def test_somebody_always_recruits(delay: int, seed: int) -> None:
    algorithm = CATALOGUE["evidence"]
    constants = algorithm.constants(Numbers(4, 0.05, pure_law(1.0)))
    state = algorithm.start(constants)
    record = state.record
    rng = np.random.default_rng(seed)
    means = np.array([0.2, 0.8, 0.5, 0.4])
    weights = np.zeros(4)
    full: list[tuple[int, int, int]] = []  # arm, size, the person who filled it
    for person in range(20_000):
        assert algorithm.recruit(state, constants, weights) == SEVERAL
        assert math.isclose(weights.sum(), 1)
        arm = int(rng.choice(4, p=weights))
        if record.assigned[arm] == record.places[arm]:
            size = algorithm.size(state, constants, arm)
            assert size >= 1
            open_batch(record, arm, size)
        assign(record, arm, 1)
        if record.assigned[arm] == record.places[arm]:
            full.append((arm, int(record.newest_size[arm]), person))
        while full and full[0][2] + delay <= person:
            arm, size, _ = full.pop(0)
            release(record, arm, size, float(rng.binomial(size, means[arm])))
            algorithm.released(state, constants, arm)
            if algorithm.over(state, constants) != UNDECIDED:
                break
        if algorithm.over(state, constants) != UNDECIDED:
            break
    assert algorithm.over(state, constants) == 1
    assert (record.opened - record.released <= 6).all(), "batches ahead grow with their arm, so few are open at a time"
