"""O'Brien and Fleming's design: constants as published, and probabilities as simulated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from bestarm.errors import InputError
from bestarm.theory.fixed import fixed_error, fixed_size_of_means
from bestarm.theory.group_sequential import crossing, group_sequential, obrien_fleming_constant
from tests.chance import CLEARLY, FALSE_ALARM, proportion

PUBLISHED = {
    (1, 0.05): 1.960,
    (2, 0.05): 1.977,
    (3, 0.05): 2.004,
    (4, 0.05): 2.024,
    (5, 0.05): 2.040,
    (10, 0.05): 2.087,
    (2, 0.01): 2.580,
    (4, 0.01): 2.609,
    (5, 0.01): 2.621,
    (5, 0.10): 1.751,
}
"""C_B(K, alpha) in Jennison and Turnbull (2000), Group sequential methods, Table 2.3."""


@pytest.mark.parametrize(("looks", "alpha"), PUBLISHED)
def test_constants_are_the_published_ones(looks: int, alpha: float) -> None:
    assert obrien_fleming_constant(looks, alpha) == pytest.approx(PUBLISHED[looks, alpha], abs=6e-4)


def test_one_look_is_the_plain_test() -> None:
    assert obrien_fleming_constant(1, 0.02) == pytest.approx(norm.isf(0.01), abs=1e-8)


@pytest.mark.parametrize("theta", [0.0, 0.6, 1.1])
def test_the_recursion_agrees_with_simulated_sums(theta: float) -> None:
    runs, looks, boundary = 200_000, 5, 2.04 * math.sqrt(5)
    sums = np.cumsum(np.random.default_rng(8).normal(theta, 1.0, (runs, looks)), axis=1)
    outside = np.abs(sums) >= boundary
    ended = outside.any(axis=1)
    first = outside.argmax(axis=1)
    found = crossing(looks, boundary, theta)
    for look in (1, 3, 4):
        up = int((ended & (first == look) & (sums[np.arange(runs), first] > 0)).sum())
        assert proportion(up, runs, found.above[look]) > FALSE_ALARM
        assert proportion(up, runs, found.above[look] + 0.02) < CLEARLY
    assert proportion(int((~ended & (sums[:, -1] < 0)).sum()), runs, found.behind) > FALSE_ALARM
    total = math.fsum(found.above) + math.fsum(found.below)
    assert proportion(int(ended.sum()), runs, total) > FALSE_ALARM


@pytest.mark.parametrize(("delta", "gap"), [(0.05, 0.1), (0.01, 0.05), (0.1, 0.1)])
def test_the_design_keeps_the_fixed_designs_promise_with_fewer_people(delta: float, gap: float) -> None:
    variances = (0.25 - gap**2 / 4, 0.25 - gap**2 / 4)
    found = group_sequential(variances, gap, delta)
    fixed = 2 * fixed_size_of_means(2, variances, gap, delta)
    assert found.expected < fixed < found.people * 1.02 + 10
    assert found.people < 1.25 * fixed + 10
    assert math.fsum(found.stops) == pytest.approx(1.0)
    each = found.people // 10
    assert crossing(5, found.constant * math.sqrt(5), gap * math.sqrt(each / sum(variances))).wrong <= delta
    fewer = gap * math.sqrt(0.97 * each / sum(variances)) - 0.05
    assert crossing(5, found.constant * math.sqrt(5), fewer).wrong > delta


def test_the_fixed_design_by_normal_laws_is_near_the_exact_one_for_yes_and_no() -> None:
    from bestarm.release.laws import no_privacy

    for arms, delta in ((2, 0.05), (5, 0.05), (5, 0.01)):
        people = fixed_size_of_means(arms, (0.24, 0.2475), 0.1, delta)
        assert fixed_error(arms, 0.45, 0.1, people, no_privacy()) == pytest.approx(delta, rel=0.25)


def test_bad_input_is_refused() -> None:
    for bad in ((0, 0.05), (5, 0.0), (5, 1.0)):
        with pytest.raises(InputError):
            obrien_fleming_constant(*bad)
    with pytest.raises(InputError):
        group_sequential((0.25, 0.25), 0.0, 0.05)
    with pytest.raises(InputError):
        fixed_size_of_means(2, (0.25, 0.25), 0.0, 0.05)
