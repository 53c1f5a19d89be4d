"""What must hold for every problem, whatever its numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.theory import (
    CharacteristicTime,
    bounds,
    d_eps,
    free_epsilon,
    gaussian_beta_time,
    kl,
    kl_time,
    private_time,
    refined_time,
    tv_time,
)

MEAN = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.floats(-6, 0).map(lambda power: 10.0**power),
    st.floats(-6, 0).map(lambda power: 1.0 - 10.0**power),
)


def has_clear_best(means: list[float]) -> bool:
    first, second = sorted(means)[:-3:-1]
    return first - second >= 1e-6


MEANS = st.lists(MEAN, min_size=2, max_size=12).filter(has_clear_best)
EPSILON = st.floats(-6, 6).map(lambda power: 10.0**power)
quick = settings(max_examples=100, deadline=None)


@quick
@given(means=MEANS, epsilon=EPSILON, factor=st.floats(1.0, 1e3))
def test_refined_time_falls_in_epsilon_and_stays_above_kl(means: list[float], epsilon: float, factor: float) -> None:
    strict, loose, free = refined_time(means, epsilon), refined_time(means, epsilon * factor), kl_time(means)
    assert strict.time >= loose.time * (1 - 1e-9)
    assert loose.time >= free.time * (1 - 1e-9)


@quick
@given(means=MEANS)
def test_refined_time_tends_to_kl(means: list[float]) -> None:
    # Once epsilon exceeds every difference of logits that the optimum meets, privacy costs nothing at all; a mean
    # of 0 or 1 has no logit and is only approached.
    gap = 2e-3 if {0.0, 1.0} & {min(means), max(means)} else 1e-9
    assert refined_time(means, 1e6).time == pytest.approx(kl_time(means).time, rel=gap)


@quick
@given(means=st.lists(st.floats(1e-3, 1 - 1e-3), min_size=2, max_size=8).filter(has_clear_best))
def test_privacy_is_free_in_the_refined_bound_exactly_from_its_free_epsilon_on(means: list[float]) -> None:
    free = free_epsilon(means)
    assert refined_time(means, free * (1 + 1e-9)).time == pytest.approx(kl_time(means).time, rel=1e-11)
    assert refined_time(means, free * 0.8).time > kl_time(means).time


def test_privacy_is_never_quite_free_where_an_arm_is_certain() -> None:
    assert free_epsilon([1.0, 0.5, 0.2]) == math.inf
    assert free_epsilon([0.9, 0.5, 0.0]) == math.inf


@quick
@given(means=MEANS, epsilon=EPSILON)
def test_theorem_2_dominates_its_corollary(means: list[float], epsilon: float) -> None:
    private, without, privacy = private_time(means, epsilon), kl_time(means), tv_time(means)
    larger = max(without.time, privacy.time / (6 * epsilon))
    assert larger * (1 - 1e-9) <= private.time
    # Both demands can be met one after the other.
    assert private.time <= (without.time + privacy.time / (6 * epsilon)) * (1 + 1e-9)


@quick
@given(means=MEANS, epsilon=EPSILON)
def test_the_refined_time_is_the_strongest(means: list[float], epsilon: float) -> None:
    refined = refined_time(means, epsilon).time
    assert refined >= private_time(means, epsilon).time * (1 - 1e-9)
    assert refined >= tv_time(means).time / epsilon * (1 - 1e-9)


@quick
@given(means=MEANS)
def test_pinsker_between_the_times(means: list[float]) -> None:
    assert tv_time(means).time >= math.sqrt(2 * kl_time(means).time) * (1 - 1e-9)


@quick
@given(means=MEANS)
def test_tv_time_at_most_arms_over_smallest_gap(means: list[float]) -> None:
    first, second = sorted(means)[:-3:-1]
    assert tv_time(means).time <= len(means) / (first - second) * (1 + 1e-9)


def all_times(means: list[float], epsilon: float) -> dict[str, CharacteristicTime]:
    return {
        "kl": kl_time(means),
        "tv": tv_time(means),
        "private": private_time(means, epsilon),
        "refined": refined_time(means, epsilon),
        "gaussian": gaussian_beta_time(means, 0.4),
    }


@quick
@given(means=MEANS, epsilon=EPSILON)
def test_allocations_lie_on_the_simplex(means: list[float], epsilon: float) -> None:
    for name, found in all_times(means, epsilon).items():
        assert min(found.weights) >= 0.0, name
        assert math.fsum(found.weights) == pytest.approx(1.0, abs=1e-12), name
        assert found.time > 0.0, name
    assert gaussian_beta_time(means, 0.4).weights[int(np.argmax(means))] == pytest.approx(0.4, rel=1e-10)


@quick
@given(means=MEANS, epsilon=EPSILON, data=st.data())
def test_permutation_equivariance(means: list[float], epsilon: float, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(means))))
    before, after = all_times(means, epsilon), all_times([means[arm] for arm in order], epsilon)
    for name in before:
        assert after[name].time == pytest.approx(before[name].time, rel=1e-12), name
        moved = [before[name].weights[arm] for arm in order]
        assert after[name].weights == pytest.approx(moved, rel=1e-9, abs=1e-15), name


@quick
@given(means=MEANS, epsilon=EPSILON)
def test_tied_rivals_get_equal_shares(means: list[float], epsilon: float) -> None:
    doubled = [*means, min(means)]
    for name, found in all_times(doubled, epsilon).items():
        assert found.weights[doubled.index(min(means))] == found.weights[-1], name


def earned(means: np.ndarray, weights: np.ndarray, epsilon: float, kind: str) -> float:
    """What weights earn in each game, with m on a fine grid around the minimum: quick, good to about 1e-10."""
    best = int(np.argmax(means))
    rivals = np.delete(means, best)[:, None]
    w_best, w = weights[best], np.delete(weights, best)[:, None]
    gaps = means[best] - rivals[:, 0]
    if kind == "tv":
        return float(np.min(np.minimum(w_best, w[:, 0]) * gaps))
    limit = epsilon if kind == "refined" else math.inf
    low, high = rivals.copy(), np.full_like(rivals, means[best])
    grid = np.linspace(0.0, 1.0, 33)[None, :]
    costs = np.zeros((len(rivals), 33))
    for _ in range(12):
        m = low + (high - low) * grid
        with np.errstate(invalid="ignore"):
            costs = w_best * d_eps(means[best], m, limit) + w * d_eps(rivals, m, limit)
        at = np.nanargmin(costs, axis=1)[:, None]
        left, right = np.maximum(at - 1, 0), np.minimum(at + 1, 32)
        low, high = np.take_along_axis(m, left, 1), np.take_along_axis(m, right, 1)
    value = float(np.nanmin(costs))
    if kind == "private":
        value = min(value, 6 * epsilon * float(np.min(np.minimum(w_best, w[:, 0]) * gaps)))
    return value


@settings(max_examples=25, deadline=None)
@given(
    means=st.lists(st.floats(0.02, 0.98), min_size=2, max_size=6).filter(
        lambda m: sorted(m)[-1] - sorted(m)[-2] >= 1e-3
    ),
    epsilon=st.floats(-3, 2).map(lambda power: 10.0**power),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_nearby_allocation_does_better(means: list[float], epsilon: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    array = np.array(means)
    for kind in ("kl", "tv", "private", "refined"):
        found = all_times(means, epsilon)[kind]
        weights = np.array(found.weights)
        assert earned(array, weights, epsilon, kind) == pytest.approx(1.0 / found.time, rel=1e-7)
        for size in (0.1, 1e-2, 1e-3):
            for _ in range(6):
                nearby = weights * np.exp(size * rng.standard_normal(len(means)))
                nearby /= nearby.sum()
                assert earned(array, nearby, epsilon, kind) <= (1 + 1e-7) / found.time, (kind, size)


@quick
@given(means=MEANS, epsilon=EPSILON, delta=st.floats(1e-12, 0.999))
def test_bounds_are_finite_and_ordered(means: list[float], epsilon: float, delta: float) -> None:
    found = bounds(means, epsilon, delta)
    assert 0.0 <= found.lower_bound_corollary <= found.lower_bound * (1 + 1e-9)
    assert math.isfinite(found.lower_bound_refined)
    assert found.lower_bound_refined >= 0.0
    assert found.upper_bound_rate >= 8 * found.t_kl_beta_gaussian * (1 - 1e-12)


def test_kl_is_infinite_where_the_second_law_excludes_the_first() -> None:
    assert float(kl(0.5, 0.0)) == math.inf
    assert float(kl(0.5, 1.0)) == math.inf
    assert float(kl(0.0, 0.0)) == float(kl(1.0, 1.0)) == 0.0
