"""Exact samplers: integers in, integers out, no floating point anywhere.

Every draw is made of uniform integers `below(n)`, so the law of the result is exactly the one stated, and not the
law that rounding makes of it. The constructions are those of Canonne, Kamath and Steinke (2020), written here from
their description. All parameters are Fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from typing import Final, TypeAlias

Below: TypeAlias = Callable[[int], int]
"""Draws a whole number uniformly from 0, ..., n - 1."""
Bits: TypeAlias = Callable[[int], int]
"""Draws n fair bits, as a whole number from 0 to 2^n - 1."""

WORD: Final = 64


def bernoulli(below: Below, p: Fraction) -> bool:
    """True with probability p, for 0 <= p <= 1."""
    return below(p.denominator) < p.numerator


def threshold_below(bits: Bits, p: Fraction) -> bool:
    """Whether a number U, uniform on [0, 1), is below p: true with probability p, for 0 <= p <= 1.

    `bits(n)` gives the next n binary digits of U, as a whole number. They are compared with those of p until they
    differ; nearly always the first 64 do. If p ends first, U is not below it.
    """
    rest = p
    while True:
        rest *= 1 << WORD
        digit = rest.numerator // rest.denominator
        drawn = bits(WORD)
        if drawn != digit:
            return drawn < digit
        rest -= digit
        if rest == 0:
            return False


def bernoulli_exp(below: Below, x: Fraction) -> bool:
    """True with probability e^-x, for x >= 0: whole units of x one by one, then the alternating series for the rest."""
    while x > 1:
        if not _bernoulli_exp_below_one(below, Fraction(1)):
            return False
        x -= 1
    return _bernoulli_exp_below_one(below, x)


def _bernoulli_exp_below_one(below: Below, x: Fraction) -> bool:
    # The first k with a failed toss of probability x/k is odd with probability e^-x.
    k = 1
    while below(x.denominator * k) < x.numerator:
        k += 1
    return k % 2 == 1


def bernoulli_logistic(below: Below, x: Fraction) -> bool:
    """True with probability e^x / (e^x + 1), for x >= 0: the truthful answer of randomised response."""
    while True:
        if below(2) == 1:
            return True
        if bernoulli_exp(below, x):
            return False


def geometric(below: Below, scale: Fraction) -> int:
    """k >= 0 with probability proportional to e^(-k/scale)."""
    t, s = scale.numerator, scale.denominator
    part = below(t)
    while not bernoulli_exp(below, Fraction(part, t)):
        part = below(t)
    whole = 0
    while bernoulli_exp(below, Fraction(1)):
        whole += 1
    return (part + t * whole) // s


def discrete_laplace(below: Below, scale: Fraction) -> int:
    """z with probability proportional to e^(-|z|/scale)."""
    while True:
        size = geometric(below, scale)
        negative = below(2) == 1
        if not (negative and size == 0):  # zero would come up twice
            return -size if negative else size


def polya(below: Below, scale: Fraction, part: Fraction) -> int:
    """k >= 0 with probability proportional to c_k e^(-k/scale), c_k = (r/1) ((r + 1)/2) ... ((r + k - 1)/k), r = part.

    A negative binomial with a fractional number of successes, 0 <= r <= 1: draws whose parts sum to 1 sum to a
    `geometric` one. By rejection: a geometric k is kept with probability c_k, a product of rational coins.
    """
    while part > 0:
        if not bernoulli_exp(below, 1 / scale):
            return 0
        if not bernoulli(below, part):
            continue  # k is 1 or more, and its first coin failed: nearly always, where the part is small
        k = 1 + geometric(below, scale)
        if all(bernoulli(below, (part + i - 1) / i) for i in range(2, k + 1)):
            return k
    return 0


def laplace_part(below: Below, scale: Fraction, part: Fraction) -> int:
    """A part of discrete Laplace noise: draws whose parts sum to 1 sum to `discrete_laplace`, which is the difference
    of two geometric numbers."""
    return polya(below, scale, part) - polya(below, scale, part)


def discrete_gaussian(below: Below, variance: Fraction) -> int:
    """z with probability proportional to e^(-z^2/(2 variance)), by rejection from a discrete Laplace."""
    width = isqrt(variance.numerator // variance.denominator) + 1
    while True:
        z = discrete_laplace(below, Fraction(width))
        off = abs(z) - variance / width
        if bernoulli_exp(below, off * off / (2 * variance)):
            return z
