"""How far noise goes: bounds, in exact arithmetic, on the chance that a draw leaves a range of integers.

Integers of a fixed size end somewhere. A sampler that stops at the end of its range ("saturates") hands out the end
itself plus the sum, and the sum can be read off; a database refuses the number. So every range that noise has to fit is
checked here before anything is drawn, and the chance that it does not fit is at most 2^-100.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

STORED_BITS: Final = 63
"""Stored integers, and OpenDP's, go from -2^63 to 2^63 - 1."""
NEVER: Final = 100
"""A chance of at most 2^-100 is taken to be none: a million draws a second see it once in 10^16 years."""


def laplace_bits_beyond(scale: Fraction, reach: int) -> int:
    """A k with P(|Z| >= reach) <= 2^-k, for discrete Laplace noise Z of this scale and reach >= 1.

    With q = e^(-1/scale), P(Z = z) = q^|z| (1 - q)/(1 + q); over |z| >= m this sums to 2 q^m/(1 + q) <= 2 e^(-m/scale).
    As ln 2 < 7/10, e^-x <= 2^(-10x/7) for x >= 0, and so k = 10m/(7 scale) - 1, rounded down.
    """
    return _floor(Fraction(10 * reach, 7) / scale) - 1


def gaussian_bits_beyond(variance: Fraction, reach: int) -> int:
    """A k with P(|Z| >= reach) <= 2^-k, for discrete Gaussian noise Z with this variance parameter and reach >= 1.

    Let s be the parameter and S(c) the sum over all integers z of e^(-(z - c)^2/(2s)). Completing the square,
    E e^(tZ) = e^(t^2 s/2) S(ts)/S(0). By Poisson's summation formula S(c) = sqrt(2 pi s) times the sum over k of
    e^(-2 pi^2 k^2 s) cos(2 pi k c), which is largest at c = 0. So E e^(tZ) <= e^(t^2 s/2), and Markov's inequality at
    t = m/s, on both sides, gives P(|Z| >= m) <= 2 e^(-m^2/(2s)). With ln 2 < 7/10, k = 5 m^2/(7s) - 1, rounded down.
    """
    return _floor(Fraction(5 * reach * reach, 7) / variance) - 1


def laplace_fits(scale: Fraction, reach: int) -> bool:
    """Whether |Z| >= reach has a chance of at most 2^-100."""
    return laplace_bits_beyond(scale, reach) >= NEVER


def gaussian_fits(variance: Fraction, reach: int) -> bool:
    """Whether |Z| >= reach has a chance of at most 2^-100."""
    return gaussian_bits_beyond(variance, reach) >= NEVER


def _floor(x: Fraction) -> int:
    return x.numerator // x.denominator
