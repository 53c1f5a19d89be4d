"""Intervals for a difference: exactly fair against an adversary, covering under drift, and about as short as can be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import binom, norm

from bestarm.errors import InputError
from bestarm.policy import differences
from bestarm.policy.differences import (
    StageRelease,
    difference_intervals,
    log_wealth,
    most_wealth,
    pair_bets,
    pair_interval,
    slopes,
    stage_bets,
)
from bestarm.release.laws import Law, local_law, no_privacy, pure_law, zcdp_law


def supremum(people: int, pa: float, pb: float, theta: float, value: Callable[[int, int, int, int], float]) -> float:
    """The most an adversary can make of E value who picks every person's means with mu_a - mu_b at most theta."""
    low, high = max(0.0, theta), min(1.0, 1.0 + theta)
    points = {(low, low - theta), (high, high - theta), (0.0, 1.0), (0.5 * (low + high), 0.5 * (low + high) - theta)}

    @lru_cache(None)
    def v(i: int, na: int, sa: int, nb: int, sb: int) -> float:
        if i == people:
            return value(na, sa, nb, sb)
        best = 0.0
        for ma, mb in points:
            w = pa * ((1 - ma) * v(i + 1, na + 1, sa, nb, sb) + ma * v(i + 1, na + 1, sa + 1, nb, sb))
            w += pb * ((1 - mb) * v(i + 1, na, sa, nb + 1, sb) + mb * v(i + 1, na, sa, nb + 1, sb + 1))
            best = max(best, w + (1 - pa - pb) * v(i + 1, na, sa, nb, sb))
        return best

    return v(0, 0, 0, 0, 0)


@pytest.mark.parametrize("theta", [-0.4, 0.0, 0.25])
@pytest.mark.parametrize(("pa", "pb"), [(0.5, 0.5), (0.2, 0.6), (0.6, 0.2)])
@pytest.mark.parametrize("pivot", [0.1, 0.5, 0.9])
def test_every_slope_is_fair(theta: float, pa: float, pb: float, pivot: float) -> None:
    """The mean of each bet is at most 1 for every adversary, whatever the weights and the pivot, at every theta."""
    law = no_privacy()
    la, lb = slopes(pa / pb, pivot, law)

    def means_of(chosen: Callable[[int, int], tuple[np.ndarray, np.ndarray]]) -> list[float]:
        def value(j: int) -> Callable[[int, int, int, int], float]:
            def one(na: int, sa: int, nb: int, sb: int) -> float:
                stage = StageRelease((pa, pb), (na, nb), (sa, sb))
                gain, both, cross = stage_bets(stage, 0, 1, *chosen(na, nb), law)
                return math.exp(gain[j] - (na + nb) * math.log(both[j] + theta * cross[j]))

            return one

        return [supremum(5, pa, pb, theta, value(j)) for j in (0, 3)]

    for mean in means_of(lambda na, nb: (la, lb)):
        assert 1 - 1e-9 <= mean <= 1 + 1e-9
    # Planted: slopes that look at the stage's own sizes.
    assert max(means_of(lambda na, nb: (la, lb) if na <= nb else (0.1 * la, 0.1 * lb))) > 1.001


@pytest.mark.parametrize("law", [pure_law(0.5), zcdp_law(0.2), local_law(1.0)])
def test_noise_is_paid_for(law: Law) -> None:
    """With the noise that is drawn, mean at most 1: two people of fixed outcomes, sums and difference."""
    if law.kind == pure_law(1.0).kind:
        noise = {z: math.exp(-0.5 * abs(z)) for z in range(-70, 71)}
    else:
        noise = {z: math.exp(-0.2 * z * z) for z in range(-40, 41)}
    if law.kind == local_law(1.0).kind:
        noise = {0: 1.0}
    total = sum(noise.values())
    la, lb = slopes(1.0, 0.3, law)

    def mean_of(make: Callable[[int, int], StageRelease]) -> float:
        mean = 0.0
        for x, v in noise.items():
            for y, w in noise.items():
                mean += v * w / total**2 * math.exp(stage_bets(make(x, y), 0, 1, la, lb, law)[0][1])
        return mean

    exact = math.exp(stage_bets(StageRelease((0.5, 0.5), (1, 1), (1, 1)), 0, 1, la, lb, no_privacy())[0][1])
    assert mean_of(lambda x, y: StageRelease((0.5, 0.5), (1, 1), (1 + x, 1 + y))) <= exact * (1 + 1e-9)
    same = math.exp(stage_bets(StageRelease((0.5, 0.5), (1, 1), (0.0,), 0), 0, 1, la, lb, no_privacy())[0][1])
    assert mean_of(lambda x, y: StageRelease((0.5, 0.5), (1, 1), (float(x),), 0)) <= same * (1 + 1e-9)


def trial(rng: np.random.Generator, law: Law, gaps: np.ndarray, stages: int, people: int) -> list[StageRelease]:
    """Stages of drifting levels and changing weights, each arm better than the last one by its gap; sums, and at the
    end differences of the first two."""
    made = []
    q = math.exp(-law.budget) if law.kind == pure_law(1.0).kind else 0.0
    for i in range(stages):
        level = 0.45 + 0.3 * math.sin(2.0 * i)
        last = i >= stages - 2
        weights = (
            np.array([0.5, 0.5] + [0.0] * (gaps.size - 2)) if last else 1.0 + 0.3 * np.cos(i + np.arange(gaps.size))
        )
        weights = weights / weights.sum()
        sizes = rng.multinomial(people, weights)
        means = level + gaps
        sums = rng.binomial(sizes, law.slope * means + law.offset).astype(float)
        noise = np.zeros(gaps.size)
        if q > 0:
            noise = (rng.geometric(1 - q, gaps.size) - rng.geometric(1 - q, gaps.size)).astype(float)
        if last:
            made.append(StageRelease(weights.tolist(), sizes.tolist(), [sums[0] - sums[1] + noise[0]], 0))
        else:
            made.append(StageRelease(weights.tolist(), sizes.tolist(), (sums + noise).tolist()))
    return made


@pytest.mark.parametrize("law", [pure_law(1.0), no_privacy(), local_law(2.0)])
def test_coverage_under_drift(law: Law) -> None:
    """Levels swing by .6, the differences stay: over 400 trials the interval to the leader misses no more than alpha.

    A miss at the rate alpha = .3 would have to be exceeded by chance: false alarm below 1e-7.
    """
    rng = np.random.default_rng(5)
    gaps, runs, missed = np.array([0.1, 0.05, 0.0]), 400, 0
    for _ in range(runs):
        for found in difference_intervals(trial(rng, law, gaps, 8, 150), int(rng.integers(3)), law, 0.3):
            truth = gaps[found.arm] - gaps[found.rival]
            if found.rival == 1 or (found.arm == 1 and found.rival == 0):
                missed += not found.low <= truth <= found.high
    assert missed <= binom.isf(1e-7, runs, 0.3)


def test_planted_drift_would_be_caught() -> None:
    """The same levels with bets that forget the weights (r = 1) miss far more often than alpha."""
    rng = np.random.default_rng(5)
    law, missed = no_privacy(), 0
    for _ in range(200):
        stages = []
        for _ in range(12):
            sizes = rng.multinomial(2000, [0.8, 0.2])
            sums = rng.binomial(sizes, [0.6, 0.6]).astype(float)
            stages.append(StageRelease((0.5, 0.5), sizes.tolist(), sums.tolist()))
        low, high = pair_interval(stages, 0, 1, law, 0.1)
        missed += not low <= 0.0 <= high
    assert missed > 150


@pytest.mark.parametrize(("law", "people"), [(pure_law(1.0), 20_000), (no_privacy(), 2_000), (pure_law(0.01), 200_000)])
def test_about_as_short_as_a_normal_interval(law: Law, people: int) -> None:
    """For a single look the textbook has z standard errors; looking at all times may cost about twice that."""
    rng = np.random.default_rng(3)
    level = 0.2
    widths = []
    for _ in range(10):
        stages = []
        for _ in range(4):
            sizes = rng.multinomial(people // 4, [0.5, 0.5])
            sums = rng.binomial(sizes, level).astype(float)
            if math.isfinite(law.budget):
                q = math.exp(-law.budget)
                sums += rng.geometric(1 - q, 2) - rng.geometric(1 - q, 2)
            stages.append(StageRelease((0.5, 0.5), sizes.tolist(), sums.tolist()))
        low, high = pair_interval(stages, 0, 1, law, 0.05)
        assert low < 0.0 < high or abs(low) < 0.05
        widths.append(high - low)
    noise = 2 / law.budget**2 if math.isfinite(law.budget) else 0.0
    deviation = math.sqrt(4 * level * (1 - level) / people + 8 * noise / (people / 2) ** 2)
    assert np.mean(widths) < 2.2 * 2 * norm.isf(0.025) * deviation


def test_wealth_falls_with_the_difference_and_is_kept() -> None:
    """What is given up stays given up; the wealth against a larger difference is smaller."""
    rng = np.random.default_rng(8)
    stages = trial(rng, pure_law(1.0), np.array([0.2, 0.0]), 8, 200)
    bets = pair_bets(stages, 0, 1, pure_law(1.0))
    wealth = [most_wealth(bets, theta) for theta in np.linspace(-0.9, 0.9, 19)]
    assert all(x >= y - 1e-12 for x, y in itertools.pairwise(wealth))
    ends = [pair_interval(stages[:i], 0, 1, pure_law(1.0), 0.2) for i in range(1, 9)]
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in itertools.pairwise(ends))
    assert log_wealth(bets, 0.0).shape == (8, differences.SLOPES)


def test_first_arms_are_exchangeable() -> None:
    """The interval of b against a is that of a against b upside down; a difference counts for its own pair only."""
    rng = np.random.default_rng(9)
    stages = trial(rng, pure_law(1.0), np.array([0.2, 0.1, 0.0]), 6, 300)
    low, high = pair_interval(stages, 0, 1, pure_law(1.0), 0.1)
    assert pair_interval(stages, 1, 0, pure_law(1.0), 0.1) == (-high, -low)
    assert pair_interval(stages, 0, 2, pure_law(1.0), 0.1) == pair_interval(stages[:4], 0, 2, pure_law(1.0), 0.1)


def test_edges() -> None:
    """Nothing released: nothing is known. A risk that is none is refused."""
    assert difference_intervals([], 0, pure_law(1.0), 0.05) == []
    assert pair_interval([StageRelease((1.0, 0.0), (5, 0), (3.0, 0.0))], 0, 1, pure_law(1.0), 0.05) == (-1.0, 1.0)
    with pytest.raises(InputError, match="strictly between"):
        difference_intervals([], 0, pure_law(1.0), 1.0)
