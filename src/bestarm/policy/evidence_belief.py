"""What is believed of an arm's mean, as weights on a few dozen points that gather where the mean seems to be.

Beliefs only decide which bets are placed and how large batches are. They are computed from earlier releases alone, so
no error in them can harm the proof; that is why interpolation and rough likelihoods are allowed here.
"""

from __future__ import annotations

import math
from typing import Final

from bestarm.policy.record import FloatArray
from bestarm.release.laws import Law, log_pmf, noise_variance, outcome_mean
from bestarm.rules import rule

POINTS: Final = 64
"""Points of an arm's belief."""
LOWEST: Final = 1e-7
"""Points stay this far from 0 and 1, where a single outcome could refute them."""
CORE: Final = 0.5
"""Within this many standard deviations of the mean, points are about equally spaced; beyond, ever farther apart."""
TYPICAL_VARIANCE: Final = 0.2
"""Variance of an outcome, where only its order of magnitude matters."""


@rule(inline=False)
def log_densities(law: Law, tilted: bool, n: float, r: float, point: FloatArray, arm: int, density: FloatArray) -> None:
    """How well each point explains a release, in logs: exactly for binary outcomes, by a normal law otherwise."""
    variance = n * TYPICAL_VARIANCE + noise_variance(law)
    for k in range(POINTS):
        if tilted:
            off = r - n * (law.slope * point[arm, k] + law.offset)
            density[k] = -0.5 * off * off / variance
        else:
            density[k] = log_pmf(law, n, point[arm, k], r)


@rule(inline=False)
def interval_around(point: FloatArray, arm: int, k: int) -> float:
    """The length that point k stands for."""
    left = point[arm, k - 1] if k > 0 else 0.0
    right = point[arm, k + 1] if k < POINTS - 1 else 1.0
    return float(0.5 * (right - left))


@rule(inline=False)
def highest_belief(belief: FloatArray, arm: int) -> float:
    """The largest log weight."""
    highest = belief[arm, 0]
    for k in range(1, POINTS):
        highest = max(highest, belief[arm, k])
    return float(highest)


@rule(inline=False)
def summarise(point: FloatArray, belief: FloatArray, arm: int) -> tuple[float, float]:
    """Mean and standard deviation of a belief."""
    top = highest_belief(belief, arm)
    mass = 0.0
    first = 0.0
    for k in range(POINTS):
        weight = math.exp(belief[arm, k] - top) * interval_around(point, arm, k)
        mass += weight
        first += weight * point[arm, k]
    mean = first / mass
    second = 0.0
    for k in range(POINTS):
        weight = math.exp(belief[arm, k] - top) * interval_around(point, arm, k)
        second += weight * (point[arm, k] - mean) ** 2
    return mean, math.sqrt(second / mass) + 1e-12


@rule(inline=False)
def gather(
    point: FloatArray, belief: FloatArray, arm: int, mean: float, spread: float, fresh: FloatArray, moved: FloatArray
) -> None:
    """Move an arm's points to where its belief is, interpolating log weights; `fresh` and `moved` are scratch."""
    core = CORE * spread
    reach = math.asinh(1.2 / core)
    j = 0
    for k in range(POINTS):
        u = (2 * k + 1 - POINTS) / POINTS
        x = min(max(mean + core * math.sinh(u * reach), LOWEST), 1.0 - LOWEST)
        while j < POINTS - 2 and point[arm, j + 1] < x:
            j += 1
        gap = point[arm, j + 1] - point[arm, j]
        share = min(max((x - point[arm, j]) / gap, 0.0), 1.0) if gap > 0.0 else 0.0
        fresh[k] = x
        moved[k] = belief[arm, j] * (1.0 - share) + belief[arm, j + 1] * share
    for k in range(POINTS):
        point[arm, k] = fresh[k]
        belief[arm, k] = moved[k]


@rule(inline=False)
def resolution(law: Law, n: float) -> float:
    """The difference in means that a batch of n can just about see."""
    return math.sqrt(TYPICAL_VARIANCE / n + 0.5 * noise_variance(law) / (n * n)) / law.slope


@rule(inline=False)
def plain_estimate(law: Law, n: float, r: float) -> float:
    """The mean of outcomes that a single release suggests, kept within [0, 1]."""
    return min(max(outcome_mean(law, r / n), 0.0), 1.0)
