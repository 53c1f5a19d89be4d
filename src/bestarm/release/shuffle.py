"""Shuffled privacy: everybody's bit is flipped with probability f, and only the sum over n people is ever seen.

What that promises a person is exact. If k of the n - 1 others have a 1, the sum of their answers is T = Bin(k, 1 - f) +
Bin(n - 1 - k, f), and the promise is (eps, delta) with

    delta = max over k, both ways, of the hockey-stick divergence at e^eps between T + Bern(1 - f) and T + Bern(f).

Exchanging 0 and 1 turns one way at k into the other at n - 1 - k, so one way over all k is both. The worst k is not
always 0. More flipping never promises less: it is a random function of what was seen. One message each cannot give a
pure promise short of local privacy, f = 1/(1 + e^eps), where delta is 0. Nothing here draws anything.
(docs/guarantee.md)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

FloatArray: TypeAlias = NDArray[np.float64]

DIGITS: Final = 6
"""A flip probability is rounded up to so many decimals: a number that can be written down, and is tossed exactly."""
LARGEST_GROUP: Final = 20_000
SMALLEST_GROUP: Final = 2
ROUNDING: Final = 1e-9
"""Relative error of a delta as computed here; it is added, so that a promise errs on the safe side."""
NEGLIGIBLE: Final = 1e-30
"""Probabilities below this are left out, and their sum is added to delta."""
MOST_BUDGET: Final = 30.0
"""A promise with this epsilon is one with any larger, whose exponential need not be a number."""
COARSE: Final = 48
"""How many k are tried before the worst is looked for around the worst of them."""


def delta_of(people: int, flip: float, epsilon: float, others: int) -> float:
    """The hockey-stick divergence at e^eps, one way, when `others` of the n - 1 others have a 1."""
    t = _convolved(_binomial(others, 1.0 - flip), _binomial(people - 1 - others, flip))
    one, zero = np.convolve(t, (flip, 1.0 - flip)), np.convolve(t, (1.0 - flip, flip))
    return float(np.maximum(one - math.exp(epsilon) * zero, 0.0).sum())


def worst_delta(people: int, flip: float, epsilon: float) -> float:
    """The exact delta that a sum over so many people promises with this eps: over all k, and so both ways."""
    epsilon = min(epsilon, MOST_BUDGET)
    return _safely(max(delta_of(people, flip, epsilon, k) for k in range(people)), people)


@lru_cache(maxsize=64)
def flip_for(people: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The smallest flip probability that makes a sum over n people (eps, delta)-private, rounded up to six decimals.

    Halving with the likely worst k alone; the answer is then checked against every k, and raised until it holds.
    """
    budget, allowed = min(float(epsilon), MOST_BUDGET), float(delta)
    low, high = 0, math.ceil(10**DIGITS / (1.0 + math.exp(budget)))
    while low + 1 < high:
        middle = (low + high) // 2
        if _likely_worst(people, middle / 10**DIGITS, budget) <= allowed:
            high = middle
        else:
            low = middle
    while high < 10**DIGITS // 2 and worst_delta(people, high / 10**DIGITS, budget) > allowed:
        high += 1
    return Fraction(high, 10**DIGITS)


def _likely_worst(people: int, flip: float, epsilon: float) -> float:
    def worst_of(candidates: Iterable[int]) -> tuple[float, int]:
        return max((delta_of(people, flip, epsilon, k), k) for k in candidates)

    step = max(1, (people - 1) // COARSE)
    value, at = worst_of({*range(0, people, step), people - 1})
    while step > 1:
        step = max(1, step // 4)
        near = (at + i * step for i in range(-4, 5))
        found, k = worst_of(k for k in near if 0 <= k < people)
        value, at = max((value, at), (found, k))
    return _safely(value, people)


def _safely(delta: float, people: int) -> float:
    return delta * (1.0 + ROUNDING) + people * NEGLIGIBLE


def _binomial(n: int, p: float) -> FloatArray:
    """P(Bin(n, p) = i) for i = 0, ..., n; zero where it is negligible."""
    if n == 0 or p <= 0.0 or p >= 1.0:
        certain = np.zeros(n + 1)
        certain[n if p >= 1.0 else 0] = 1.0
        return certain
    i = np.arange(n + 1)
    logs = gammaln(n + 1) - gammaln(i + 1) - gammaln(n - i + 1) + i * math.log(p) + (n - i) * math.log1p(-p)
    found: FloatArray = np.where(logs > math.log(NEGLIGIBLE), np.exp(logs), 0.0)
    return found


def _convolved(a: FloatArray, b: FloatArray) -> FloatArray:
    """The law of a sum, over the stretch where both laws are not negligible; where it begins does not matter."""
    return np.convolve(_stretch(a), _stretch(b))


def _stretch(pmf: FloatArray) -> FloatArray:
    there = np.flatnonzero(pmf)
    return pmf[there[0] : there[-1] + 1]
