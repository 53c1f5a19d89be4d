"""Distributed noise: everybody adds a part of it, and what is promised when only some of the parts are unknown.

The discrete Laplace noise of epsilon is the difference of two geometric numbers, and a geometric number is a sum of n
negative binomial ones with parameter 1/n (Polya's). So n people who each add the difference of two of these add, all
together, exactly the noise of the central model. Whoever knows some of the parts faces the rest: noise of part b < 1,
the difference of two negative binomials with parameter b. It is log-convex on either side of 0, so the largest ratio of
neighbouring probabilities is P(0)/P(1), and the promise is pure, with

    eps(b) = log P(0)/P(1) = eps + log [2F1(b, b; 1; q^2) / (b 2F1(b, b + 1; 2; q^2))],    q = e^-eps.

(docs/regimes.md: the noise of everybody.) Nothing here draws anything.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from scipy.special import hyp2f1

from bestarm.errors import InputError

CENTRAL: Final = "central"
DISTRIBUTED: Final = "distributed"
WHO_ADDS_NOISE: Final = (CENTRAL, DISTRIBUTED)

LEAST_SHARE: Final = Fraction(1, 2)
"""A stage is summed once at least this share of the people it was planned for have sent their halves."""


def promise_at(epsilon: float, part: float) -> float:
    """The pure epsilon that a sum promises against whoever knows all of its noise but this part; infinite at 0."""
    if not 0.0 <= part <= 1.0:
        raise InputError(f"The part of the noise is {part:g}; it has to lie between 0 and 1.")
    if part == 0.0:
        return math.inf
    square = math.exp(-2.0 * epsilon)
    at_zero, at_one = hyp2f1(part, part, 1.0, square), part * hyp2f1(part, part + 1.0, 2.0, square)
    return float(epsilon + math.log(at_zero / at_one))


def against_a_server(epsilon: float, share: float) -> float:
    """The promise against one of the two servers, if this share of the planned people sent their parts: of what is
    missing each server drew one half, and knows it."""
    return promise_at(epsilon, (1.0 + share) / 2.0)
