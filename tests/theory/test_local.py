"""The local lower bound against a plain search over allocations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from bestarm.theory import kl_time
from bestarm.theory.local import local_lower_bound, squared_tv_time


def test_the_squared_time_is_the_best_over_all_allocations() -> None:
    means = (0.8, 0.6, 0.35)
    grid = np.linspace(0.01, 0.98, 98)
    best = 0.0
    for w, v in itertools.product(grid, grid):
        if w + v < 1:
            rest = 1 - w - v
            best = max(best, min((means[0] - m) ** 2 * w * x / (w + x) for m, x in ((means[1], v), (means[2], rest))))
    assert squared_tv_time(means) == pytest.approx(1 / best, rel=1e-2)


def test_the_bound_is_that_of_privacy_at_small_budgets_and_that_of_chance_at_large_ones() -> None:
    means = (0.95, 0.9, 0.9, 0.9, 0.5)
    nats = math.log(1 / (2.4 * 0.01))
    small = squared_tv_time(means) / (math.exp(0.2) * math.expm1(0.1) ** 2) * nats
    assert local_lower_bound(means, 0.1, 0.01) == pytest.approx(small)
    assert local_lower_bound(means, 8.0, 0.01) == pytest.approx(kl_time(means).time * nats)
    assert local_lower_bound(means, 200.0, 0.01) == pytest.approx(kl_time(means).time * nats)
    assert local_lower_bound(means, 1.0, 0.45) == 0
