"""The theory against slow, obvious computations: forty digits, dual certificates, cutting planes."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.theory import d_eps, kl, kl_time, private_time, refined_time, tv, tv_time
from tests.naive import theory as naive

# A hundred digits resolve kl(m + 1e-28, m) for m down to 1e-12, for m = 1e-60 not.
UNIT = st.one_of(st.floats(1e-12, 1), st.sampled_from([0.0, 1.0, 0.5, 1e-6, 1 - 1e-6]))
EPSILON = st.floats(-6, 6).map(lambda power: 10.0**power)

AWKWARD = [
    [1.0, 0.0],
    [1.0, 0.5, 0.0],
    [0.0, 1e-6],
    [1.0, 1.0 - 1e-6, 0.2],
    [0.5, 0.5 + 1e-6, 0.5, 0.5],
    [0.5, 0.5 + 1e-6, 0.0, 1e-3],
    [1e-3, 0.0, 0.0, 0.0],
    [0.999, 1.0, 0.999, 0.999],
    [1.0, 0.38753314318191523, 0.3088531360059408],
    [0.95, 0.9, 0.9, 0.9, 0.5],
]
BUDGETS = [1e-6, 0.05, 0.3, 7.0, 1e6]


@settings(deadline=None)
@given(x=UNIT, m=UNIT, epsilon=EPSILON)
def test_divergences_to_twelve_digits(x: float, m: float, epsilon: float) -> None:
    exact = naive.d_eps(epsilon, digits=100)(Decimal(x), Decimal(m))
    assert float(d_eps(x, m, epsilon)) == pytest.approx(float(exact), rel=1e-12, abs=1e-300)
    assert float(kl(x, m)) == pytest.approx(float(naive.kl(Decimal(x), Decimal(m), digits=100)), rel=1e-12, abs=1e-300)
    assert float(tv(x, m)) == abs(x - m)


def test_divergence_as_an_infimum_over_what_privacy_hides() -> None:
    z = np.linspace(0.0, 1.0, 200_001)
    for x, m, epsilon in [(0.9, 0.2, 0.5), (0.1, 0.7, 1.0), (1.0, 0.4, 0.1), (0.0, 0.4, 3.0), (0.45, 0.4, 1.0)]:
        by_definition = float(np.min(kl(z, m) + epsilon * np.abs(x - z)))
        assert float(d_eps(x, m, epsilon)) == pytest.approx(by_definition, rel=1e-6)


def slack(means: list[float], epsilon: float) -> float:
    """How far the dual certificate may be off: weights rounded to doubles fix m only up to 1e-16/(epsilon gap)."""
    best, second = sorted(means)[:-3:-1]
    return 1e-9 + 1e-14 / (epsilon * (best - second))


@pytest.mark.parametrize("means", AWKWARD, ids=str)
def test_kl_time_is_certified_optimal(means: list[float]) -> None:
    found = kl_time(means)
    low, high = naive.certified_interval(means, found.weights, naive.kl)
    assert high == pytest.approx(found.time, rel=1e-9)
    assert low == pytest.approx(found.time, rel=1e-9)


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("means", AWKWARD, ids=str)
def test_refined_time_is_certified_optimal(means: list[float], epsilon: float) -> None:
    found = refined_time(means, epsilon)
    low, high = naive.certified_interval(means, found.weights, naive.d_eps(epsilon))
    assert high == pytest.approx(found.time, rel=1e-9)
    assert low == pytest.approx(found.time, rel=slack(means, epsilon))


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("means", AWKWARD, ids=str)
def test_private_time_is_what_its_weights_earn(means: list[float], epsilon: float) -> None:
    found = private_time(means, epsilon)
    assert 1.0 / naive.private_value(means, found.weights, epsilon) == pytest.approx(found.time, rel=1e-9)


@pytest.mark.parametrize("times_meeting_point", [0.3, 0.8, 0.99, 1.02, 1.3, 3.0])
@pytest.mark.parametrize(
    "means", [[0.95, 0.9, 0.9, 0.5], [0.0, 0.25, 0.75, 1.0], [0.36, 0.024], [0.119, 0.377]], ids=str
)
def test_private_time_against_cutting_planes(means: list[float], times_meeting_point: float) -> None:
    epsilon = times_meeting_point * tv_time(means).time / (6 * kl_time(means).time)
    brute = 1.0 / naive.kelley(means, naive.kl, epsilon)
    assert private_time(means, epsilon).time == pytest.approx(brute, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.4, 3.0])
@pytest.mark.parametrize("means", [[0.95, 0.9, 0.9, 0.5], [0.0, 0.25, 0.75, 1.0]], ids=str)
def test_refined_time_against_cutting_planes(means: list[float], epsilon: float) -> None:
    brute = 1.0 / naive.kelley(means, naive.d_eps(epsilon))
    assert refined_time(means, epsilon).time == pytest.approx(brute, rel=1e-6)


@settings(max_examples=12, deadline=None)
@given(
    means=st.lists(UNIT, min_size=2, max_size=5).filter(lambda m: sorted(m)[-1] - sorted(m)[-2] >= 1e-6),
    epsilon=EPSILON,
)
def test_random_problems_are_certified_optimal(means: list[float], epsilon: float) -> None:
    found = refined_time(means, epsilon)
    low, high = naive.certified_interval(means, found.weights, naive.d_eps(epsilon))
    assert high == pytest.approx(found.time, rel=1e-8)
    assert low == pytest.approx(found.time, rel=slack(means, epsilon) + 1e-8)


def test_a_thousand_arms_are_certified_optimal() -> None:
    rng = np.random.default_rng(5)
    means = np.append(rng.uniform(0.0, 0.9, 999), 0.9 + 1e-4)
    for epsilon in (1e-6, 0.05, 1e6):
        found = refined_time(means, epsilon)
        # Forty digits for a thousand arms take a while: the rivals that matter most and a sample of the others.
        chosen = np.unique(np.append(np.argsort(means)[-6:], rng.integers(0, 1000, 10)))
        picked, weights = means[chosen], np.array(found.weights)[chosen]
        earned = naive.pair_costs(picked.tolist(), weights.tolist(), naive.d_eps(epsilon))
        for value, _, _ in earned:
            assert float(value) * found.time == pytest.approx(1.0, rel=1e-8)
        assert sum(found.weights) == pytest.approx(1.0, abs=1e-12)
