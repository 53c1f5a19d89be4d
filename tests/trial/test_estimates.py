"""Intervals hold the truth as often as they promise, shrink with data, and agree with the formula written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.release import laws
from bestarm.release.laws import Law
from bestarm.simulation.people import discrete_gaussian, discrete_laplace
from bestarm.trial.estimates import (
    REST,
    TARGETS,
    bet,
    by_size,
    evidence_above,
    evidence_below,
    interval,
    pooled_mean,
)

GRID = 2**20
SIZES = (1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def releases(law: Law, mean: float, rng: np.random.Generator) -> list[tuple[int, float]]:
    """Noisy sums of binary outcomes with this mean."""
    found = []
    for size in SIZES:
        total = float(rng.binomial(size, laws.counted_mean(law, mean)))
        if law.kind == laws.PURE:
            total += discrete_laplace(rng, law.budget * law.step) * law.step
        elif law.kind == laws.ZCDP:
            total += discrete_gaussian(rng, math.sqrt(0.5 / law.budget) / law.step) * law.step
        found.append((size, total))
    return found


LAWS = [laws.pure_law(0.2), laws.pure_law(1, 20), laws.zcdp_law(0.1), laws.local_law(1), laws.no_privacy()]


def test_weights_sum_to_one() -> None:
    assert sum(1 / ((i + 1) * (i + 2)) for i in range(len(TARGETS))) + REST == pytest.approx(1)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.kind} {law.step}")
@pytest.mark.parametrize("mean", [0.05, 0.6])
def test_intervals_hold_the_truth_at_every_time(law: Law, mean: float) -> None:
    rng = np.random.default_rng(5)
    alpha, runs, misses = 0.2, 60, 0
    for _ in range(runs):
        batches = releases(law, mean, rng)
        seen = [interval(law, by_size(batches[: k + 1]), math.log(2 / alpha)) for k in range(4, len(batches), 3)]
        misses += any(not low <= mean <= high for low, high in seen)
    assert misses <= alpha * runs


def test_intervals_shrink_and_would_exclude_a_wrong_mean() -> None:
    rng = np.random.default_rng(6)
    law = laws.pure_law(1)
    low, high = interval(law, by_size(releases(law, 0.6, rng)), math.log(2 / 0.05))
    few = interval(law, by_size(releases(law, 0.6, rng)[:4]), math.log(2 / 0.05))
    assert high - low < 0.2 < few[1] - few[0]
    assert high < 0.75
    assert low > 0.45


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([1, 3, 10, 200]), st.floats(-20, 220)), min_size=1, max_size=6),
    st.floats(0.01, 0.99),
)
def test_grouped_evidence_is_the_formula(batches: list[tuple[int, float]], m: float) -> None:
    law = laws.pure_law(0.5)
    up, down = REST, REST
    for place, target in enumerate(TARGETS):
        weight = 1 / ((place + 1) * (place + 2))
        stakes = [bet(law, size, target) for size, _ in batches]
        above = below = 0.0
        for (size, value), stake in zip(batches, stakes, strict=True):
            above += stake * value - size * math.log(1 - m + m * math.exp(stake)) - laws.log_mgf(law, stake)
            below += -stake * value - size * math.log(1 - m + m * math.exp(-stake)) - laws.log_mgf(law, stake)
        up += weight * math.exp(min(above, 600))
        down += weight * math.exp(min(below, 600))
    groups = by_size(batches)
    if max(up, down) < 1e250:
        assert evidence_above(law, groups, m) == pytest.approx(math.log(up), abs=1e-6)
        assert evidence_below(law, groups, m) == pytest.approx(math.log(down), abs=1e-6)


def test_bets_stay_within_their_bounds_and_are_best_there() -> None:
    for law in LAWS:
        for size in (1, 50, 10_000):
            for target in (6.0, 0.5, 0.01):
                stake = bet(law, size, target)
                assert 0 <= stake < min(target, laws.bet_cap(law)) + 1e-12

                def gain(l: float, size: int = size, target: float = target, law: Law = law) -> float:  # noqa: E741
                    return size * (l * target - l * l / 2) / 4 - laws.log_mgf(law, l)

                others = np.linspace(0, min(target, laws.bet_cap(law)) * 0.999, 50)
                assert gain(stake) >= max(gain(float(other)) for other in others) - 1e-6


def test_the_pooled_mean_trusts_large_batches() -> None:
    assert pooled_mean(laws.pure_law(0.1), by_size([(1, 30.0), (10_000, 4_000.0)])) == pytest.approx(0.4, abs=0.01)
    assert pooled_mean(laws.no_privacy(), by_size([(1, 1.0), (1, 0.0), (2, 1.0)])) == pytest.approx(0.5)
    local = laws.local_law(1)
    assert pooled_mean(local, by_size([(1000, 1000 * laws.counted_mean(local, 0.3))])) == pytest.approx(0.3)
