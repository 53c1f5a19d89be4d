"""The samplers have exactly the laws they state, and the tests would notice a scale that is 10% off."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from bestarm.privacy import samplers
from bestarm.privacy.noise import (
    LiveNoise,
    OpenDPNoise,
    SeededNoise,
    SystemNoise,
    smallest_double_from,
    smallest_root_from,
)

DRAWS = 20_000
ACCEPT = 1e-6
"""A right law fails a test this rarely."""
REJECT = 1e-9
"""A law 10% off is rejected at least this clearly."""


def sources() -> list[LiveNoise]:
    pytest.importorskip("opendp", reason="OpenDP is an extra")
    return [SystemNoise(), OpenDPNoise()]


def fit(draws: list[int], log_weight: Callable[[int], float], reach: int) -> float:
    """The p-value of a chi-square test of the draws against weights on -reach..reach, tails pooled."""
    support = np.arange(-reach * 8, reach * 8 + 1)
    weights = np.exp([log_weight(int(z)) for z in support])
    weights /= weights.sum()
    inside = np.abs(support) <= reach
    expected = np.append(weights[inside], weights[~inside].sum()) * len(draws)
    counts = Counter(z if abs(z) <= reach else None for z in draws)
    observed = np.array([counts[int(z)] for z in support[inside]] + [counts[None]])
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize("source", sources(), ids=lambda source: type(source).__name__)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(10, 3)])
def test_laplace_noise_fits_its_law_and_no_other(source: LiveNoise, scale: Fraction) -> None:
    draws = [source.laplace(scale) for _ in range(DRAWS)]
    reach = math.ceil(5 * scale)
    assert fit(draws, lambda z: -abs(z) / float(scale), reach) > ACCEPT
    for wrong in (0.9, 1.1):
        assert fit(draws, lambda z, wrong=wrong: -abs(z) / (wrong * float(scale)), reach) < REJECT  # type: ignore[misc]


@pytest.mark.parametrize("source", sources(), ids=lambda source: type(source).__name__)
@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(50, 3)])
def test_gaussian_noise_fits_its_law_and_no_other(source: LiveNoise, variance: Fraction) -> None:
    draws = [source.gaussian(variance) for _ in range(DRAWS)]
    reach = math.ceil(3 * math.sqrt(variance))
    assert fit(draws, lambda z: -z * z / (2 * float(variance)), reach) > ACCEPT
    for wrong in (0.9, 1.1):
        off = wrong**2 * float(variance)
        assert fit(draws, lambda z, off=off: -z * z / (2 * off), reach) < REJECT  # type: ignore[misc]


def test_large_scales_agree_with_opendp() -> None:
    scale = Fraction(2**20) / Fraction("0.1")
    ours, theirs = ([abs(source.laplace(scale)) for _ in range(8000)] for source in sources())
    assert stats.ks_2samp(ours, theirs).pvalue > ACCEPT
    wider = [z * 1.3 for z in theirs]
    assert stats.ks_2samp(ours, wider).pvalue < REJECT


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_coins_of_exponential_and_logistic_probability(x: Fraction) -> None:
    below = SeededNoise(3)._below
    heads = sum(samplers.bernoulli_exp(below, x) for _ in range(DRAWS))
    assert stats.binomtest(heads, DRAWS, math.exp(-x)).pvalue > ACCEPT
    truths = sum(samplers.bernoulli_logistic(below, x) for _ in range(DRAWS))
    assert stats.binomtest(truths, DRAWS, 1 / (1 + math.exp(-x))).pvalue > ACCEPT


@pytest.mark.parametrize("text", ["0.1", "3", "0.3333333", "1e-7", "12345.678"])
def test_opendp_never_gets_a_scale_below_the_exact_one(text: str) -> None:
    exact = 1 / Fraction(text)
    double = smallest_double_from(exact)
    assert Fraction(double) >= exact > Fraction(math.nextafter(double, 0))
    root = smallest_root_from(exact)
    assert Fraction(root) ** 2 >= exact > Fraction(math.nextafter(root, 0)) ** 2
    noise = OpenDPNoise()
    assert noise.laplace_scale_used(exact) == Fraction(double)
    assert noise.gaussian_variance_used(exact) == Fraction(root) ** 2


def test_seeded_noise_repeats_itself() -> None:
    first, second = SeededNoise(5), SeededNoise(5)
    assert [first.laplace(Fraction(9)) for _ in range(20)] == [second.laplace(Fraction(9)) for _ in range(20)]
