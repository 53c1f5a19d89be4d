"""The laws of releases: what noise a batch sum gets under each privacy model, and what the evidence may know of it.

A release is R = (sum of n outcomes) + Z, in outcome units. Under the pure and the zCDP model Z is central noise on the
grid of 2^-bits; under the local and the shuffled model every single outcome was flipped at random before it was
counted, and without privacy there is no Z. The evidence uses only what this module states: the log-mgf of Z, the
probability of a release when outcomes are binary, the largest bet, and the variance. Nothing here draws noise.
What they are needed for: docs/evidence-proof.md.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bestarm.checks import EPSILON, RHO
from bestarm.errors import InputError
from bestarm.release.binomial import log_point, tail_over_point
from bestarm.rules import rule

PURE: Final = 0
NONE: Final = 1
LOCAL: Final = 2
ZCDP: Final = 3
SHUFFLE: Final = 4

NEGLIGIBLE: Final = 40.0
"""A term smaller than another by this many nats does not change their sum in floating point."""


class Law(NamedTuple):
    """One privacy model with its budget, as numbers that compiled code can take."""

    kind: int
    """PURE, NONE, LOCAL, ZCDP or SHUFFLE."""
    budget: float
    """epsilon of the pure, the local and the shuffled model, rho of zCDP, infinite without privacy."""
    step: float
    """The grid of outcomes and central noise, 2^-bits; 1 for binary and binarised outcomes."""
    slope: float
    """What a true mean contributes to the mean of what is counted: slope m + offset. (1, 0) unless bits are flipped."""
    offset: float
    group: int = 1
    """The fewest people whose outcomes may be released together; more than 1 in the shuffled model alone."""


def pure_law(epsilon: float, bits: int = 0) -> Law:
    """Discrete Laplace noise of scale 1/epsilon on the grid of 2^-bits: each release is epsilon-DP."""
    return Law(PURE, EPSILON.plainly(epsilon), 2.0 ** -_bits(bits), 1.0, 0.0)


def no_privacy(bits: int = 0) -> Law:
    """The exact sum of outcomes on the grid of 2^-bits is released."""
    return Law(NONE, math.inf, 2.0 ** -_bits(bits), 1.0, 0.0)


def local_law(epsilon: float) -> Law:
    """Randomised response: a binary outcome is reported truthfully with probability e^eps / (e^eps + 1)."""
    truthful = 1.0 / (1.0 + math.exp(-EPSILON.plainly(epsilon)))
    return Law(LOCAL, epsilon, 1.0, 2.0 * truthful - 1.0, 1.0 - truthful)


def zcdp_law(rho: float, bits: int = 0) -> Law:
    """Discrete Gaussian noise with parameter sigma^2 = 1/(2 rho) on the grid of 2^-bits: each release is rho-zCDP."""
    return Law(ZCDP, RHO.plainly(rho), 2.0 ** -_bits(bits), 1.0, 0.0)


def shuffle_law(epsilon: float, flip: float, group: int) -> Law:
    """Every bit flipped with this probability, sums over at least so many people (bestarm/release/shuffle.py)."""
    return Law(SHUFFLE, EPSILON.plainly(epsilon), 1.0, 1.0 - 2.0 * flip, flip, group)


@rule(inline=False)
def randomised(law: Law) -> bool:
    """Whether every single outcome is flipped at random before it is counted, so that no outcome itself is kept."""
    return law.kind == LOCAL or law.kind == SHUFFLE


def _bits(bits: int) -> int:
    if not 0 <= bits <= 40:
        raise InputError(f"The grid has {bits} bits, but it takes a whole number from 0 to 40.")
    return bits


@rule(inline=False)
def has_pmf(law: Law) -> bool:
    """Whether the probability of a release has a closed form here, as the likelihood form of the evidence needs."""
    return law.kind != ZCDP and law.step == 1.0


@rule(inline=False)
def counted_mean(law: Law, m: float) -> float:
    """The mean of what is counted when outcomes have mean m: m itself, unless bits are flipped."""
    return law.slope * m + law.offset


@rule(inline=False)
def outcome_mean(law: Law, counted: float) -> float:
    """The inverse of `counted_mean`: from what was counted to the outcomes' own scale."""
    return (counted - law.offset) / law.slope


@rule(inline=False)
def noise_variance(law: Law) -> float:
    """Variance of Z (for the discrete Gaussian, its upper bound sigma^2)."""
    if law.kind == PURE:
        q = math.exp(-law.budget * law.step)
        return law.step * law.step * 2.0 * q / ((1.0 - q) * (1.0 - q))
    if law.kind == ZCDP:
        return 0.5 / law.budget
    return 0.0


@rule(inline=False)
def bet_cap(law: Law) -> float:
    """The log-mgf of Z is finite for |l| below this."""
    if law.kind == PURE:
        return law.budget
    return math.inf


@rule(inline=False)
def log_mgf(law: Law, l: float) -> float:  # noqa: E741 (the symbol of the specification)
    """psi(l) = log E exp(l Z): exact for discrete Laplace, the bound sigma^2 l^2 / 2 for discrete Gaussian noise."""
    if law.kind == PURE:
        step = law.step
        top = -math.expm1(-law.budget * step)
        up = -math.expm1((l - law.budget) * step)
        down = -math.expm1((-l - law.budget) * step)
        return 2.0 * math.log(top) - math.log(up) - math.log(down)
    if law.kind == ZCDP:
        return 0.25 * l * l / law.budget
    return 0.0


@rule(inline=False)
def log_outcome_mgf(m: float, l: float) -> float:  # noqa: E741
    """h_m(l) = log(1 - m + m e^l), which bounds the log-mgf of any outcome in [0, 1] with mean m."""
    if l > 30.0:
        return l + math.log(m + (1.0 - m) * math.exp(-l)) if m > 0.0 else 0.0
    if l < 0.0 and m > 0.5:
        return l + math.log1p((1.0 - m) * math.expm1(-l)) if l > -30.0 else math.log(1.0 - m + m * math.exp(l))
    return math.log1p(m * math.expm1(l))


@rule(inline=False)
def log_pmf(law: Law, n: float, m: float, r: float) -> float:
    """log P(R = r) for a batch of n binary outcomes with mean m; r is a whole number. Needs `has_pmf`."""
    if law.kind == PURE:
        return log_binomial_laplace(n, m, r, law.budget)
    return log_binomial(n, counted_mean(law, m), r)


@rule(inline=False)
def log_binomial(n: float, m: float, r: float) -> float:
    """log P(Bin(n, m) = r), for any r and 0 <= m <= 1."""
    if r < 0.0 or r > n:
        return -math.inf
    if m <= 0.0:
        return 0.0 if r == 0.0 else -math.inf
    if m >= 1.0:
        return 0.0 if r == n else -math.inf
    return log_point(n, r, m, 1.0 - m)


@rule(inline=False)
def log_binomial_laplace(n: float, m: float, r: float, epsilon: float) -> float:
    """log P(Bin(n, m) + Z = r), Z discrete Laplace: the closed form of docs/evidence-proof.md, in logs.

    The counts k <= r and the counts k > r are summed apart. Each sum is a binomial tail under a tilted mean; at least
    one of the two tails begins beyond its mean, where it is the point probability at r times a moderate ratio.
    """
    log_normaliser = math.log(math.tanh(0.5 * epsilon))
    if m <= 0.0:
        return log_normaliser - epsilon * abs(r)
    if m >= 1.0:
        return log_normaliser - epsilon * abs(r - n)
    mc = 1.0 - m
    if r < 0.0:
        return log_normaliser + log_whole_side(n, mc, n - r, epsilon)
    if r >= n:
        return log_normaliser + log_whole_side(n, m, r, epsilon)
    shrink = math.exp(-epsilon)
    at = log_point(n, r, m, mc)
    after = at + math.log((n - r) * m / ((r + 1.0) * mc)) - epsilon
    tilted = m + mc * shrink
    p, pc = m / tilted, mc * shrink / tilted
    if r > n * p:
        below = log_whole_side(n, m, r, epsilon) + math.log1p(-tail_beyond(n, r + 1.0, p, pc))
        if after + math.log(n) < below - NEGLIGIBLE:
            return log_normaliser + below
    else:
        below = at + math.log(tail_over_point(n, n - r, pc, p))
    tilted = mc + m * shrink
    p, pc = m * shrink / tilted, mc / tilted
    if r + 1.0 < n * p:
        above = log_whole_side(n, mc, n - r, epsilon) + math.log1p(-tail_beyond(n, n - r, pc, p))
        if at + math.log(n) < above - NEGLIGIBLE:
            return log_normaliser + above
    else:
        above = after + math.log(tail_over_point(n, r + 1.0, p, pc))
    larger = max(below, above)
    return log_normaliser + larger + math.log1p(math.exp(min(below, above) - larger))


@rule(inline=False)
def log_whole_side(n: float, m: float, r: float, epsilon: float) -> float:
    """log E exp(epsilon (Bin(n, m) - r)): one side of the noise summed over all counts."""
    return n * log_outcome_mgf(m, epsilon) - epsilon * r


@rule(inline=False)
def tail_beyond(n: float, k: float, p: float, pc: float) -> float:
    """P(Bin(n, p) >= k) for a k above the mean."""
    at = log_point(n, k, p, pc)
    if at + math.log(n) < -NEGLIGIBLE:
        return 0.0
    return math.exp(at) * tail_over_point(n, k, p, pc)
