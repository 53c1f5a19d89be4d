"""The promise of distributed noise at any part of it: against the probabilities themselves."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import bestarm as ba
from bestarm.release.distributed import LEAST_SHARE, against_a_server, promise_at

FAR = 4000


def part_of_laplace(epsilon: float, part: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """P(Z = z) for z = 0, 1, ..., up to a factor: the difference of two negative binomials, summed term by term."""
    k = np.arange(1, FAR)
    logs = np.concatenate([[0.0], np.cumsum(np.log((part + k - 1) / k) - epsilon)])
    weights = np.exp(logs)
    return np.array([float(weights[: FAR - z] @ weights[z:]) for z in range(60)])


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("part", [0.02, 0.3, 0.5, 0.75, 0.99, 1.0])
def test_the_worst_ratio_is_at_nought_and_is_what_is_promised(epsilon: float, part: float) -> None:
    chances = part_of_laplace(epsilon, part)
    ratios = np.log(chances[:-1] / chances[1:])
    assert np.all(np.diff(ratios) <= 1e-9), "log-convex: the ratio falls as one goes away from 0"
    assert promise_at(epsilon, part) == pytest.approx(ratios[0], rel=1e-8)


def test_all_of_the_noise_keeps_epsilon_and_less_of_it_promises_less() -> None:
    for epsilon in (1e-3, 0.1, 1.0, 10.0):
        assert promise_at(epsilon, 1.0) == pytest.approx(epsilon, rel=1e-9)
        promises = [promise_at(epsilon, part) for part in np.linspace(0.05, 1.0, 20)]
        assert all(a > b for a, b in itertools.pairwise(promises))
    assert promise_at(1.0, 0.0) == math.inf
    assert against_a_server(1.0, float(LEAST_SHARE)) == promise_at(1.0, 0.75) == pytest.approx(1.2742, abs=1e-4)
    with pytest.raises(ba.InputError, match="between 0 and 1"):
        promise_at(1.0, 1.5)
