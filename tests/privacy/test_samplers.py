"""The samplers have exactly the laws they state, and the tests would notice a scale that is 15% off."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from bestarm.privacy import samplers
from bestarm.privacy.noise import (
    LiveNoise,
    OpenDPNoise,
    SeededNoise,
    smallest_double_from,
    smallest_root_from,
)
from tests.chance import CLEARLY, FALSE_ALARM, fits_weights, proportion, same_law
from tests.privacy.sources import every_source, needs_opendp, sources

DRAWS = 20_000
"""Enough to reject a law 15% off `CLEARLY`, with a chance below 1e-6 not to."""
REACH = 300
"""Farther than any draw of these tests goes: at the widest law, 90 scales."""


@every_source
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(10, 3)])
def test_laplace_noise_fits_its_law_and_no_other(source: LiveNoise, scale: Fraction) -> None:
    draws = [source.laplace(scale) for _ in range(DRAWS)]
    z = np.arange(-REACH, REACH + 1)
    assert fits_weights(draws, -REACH, list(np.exp(-abs(z) / float(scale)))) > FALSE_ALARM
    for wrong in (0.85, 1.15):
        assert fits_weights(draws, -REACH, list(np.exp(-abs(z) / (wrong * float(scale))))) < CLEARLY


@every_source
@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(50, 3)])
def test_gaussian_noise_fits_its_law_and_no_other(source: LiveNoise, variance: Fraction) -> None:
    draws = [source.gaussian(variance) for _ in range(DRAWS)]
    z = np.arange(-REACH, REACH + 1)
    assert fits_weights(draws, -REACH, list(np.exp(-z * z / (2 * float(variance))))) > FALSE_ALARM
    for wrong in (0.85, 1.15):
        assert fits_weights(draws, -REACH, list(np.exp(-z * z / (2 * wrong**2 * float(variance))))) < CLEARLY


@needs_opendp
def test_large_scales_agree_with_opendp() -> None:
    scale = Fraction(2**20) / Fraction("0.1")
    ours, theirs = ([abs(source.laplace(scale)) for _ in range(8000)] for source in sources())
    assert same_law(ours, theirs) > FALSE_ALARM
    assert same_law(ours, [z * 1.3 for z in theirs]) < CLEARLY


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_coins_of_exponential_and_logistic_probability(x: Fraction) -> None:
    below = SeededNoise(3)._below
    heads = sum(samplers.bernoulli_exp(below, x) for _ in range(DRAWS))
    assert proportion(heads, DRAWS, math.exp(-x)) > FALSE_ALARM
    truths = sum(samplers.bernoulli_logistic(below, x) for _ in range(DRAWS))
    assert proportion(truths, DRAWS, 1 / (1 + math.exp(-x))) > FALSE_ALARM


@needs_opendp
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
