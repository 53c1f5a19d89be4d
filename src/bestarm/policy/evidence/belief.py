"""A normal belief of all arms' means, level and differences apart, that serves to choose bets and sizes.

No error in a belief can harm the proof: fairness never depends on it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestarm.policy.record import FloatArray
from bestarm.release.laws import Law, noise_variance
from bestarm.rules import rule

LEVEL_VARIANCE = 0.09
"""Of the level that all arms share, before the first release."""


class Belief(NamedTuple):
    """On the scale of what is counted."""

    mean: FloatArray
    covariance: FloatArray
    people: FloatArray
    """On each arm, in all releases."""


@rule(allocates=True)
def new_belief(arms: int, law: Law, spread: float) -> Belief:
    """Any level, and arms that differ from it by about `spread`."""
    covariance = np.full((arms, arms), LEVEL_VARIANCE * law.slope * law.slope)
    for arm in range(arms):
        covariance[arm, arm] += spread * spread
    return Belief(np.full(arms, 0.5), covariance, np.zeros(arms))


@rule(inline=False)
def copy_belief(source: Belief, target: Belief) -> None:
    """Make the target say what the source says."""
    for i in range(source.mean.size):
        target.mean[i] = source.mean[i]
        target.people[i] = source.people[i]
        for j in range(source.mean.size):
            target.covariance[i, j] = source.covariance[i, j]


@rule(inline=False)
def spread_between(belief: Belief, a: int, b: int) -> float:
    """Standard deviation of a difference."""
    c = belief.covariance
    return math.sqrt(max(c[a, a] + c[b, b] - 2.0 * c[a, b], 1e-24))


@rule(inline=False)
def variance_of_outcome(mean: float, people: float) -> float:
    """Of one outcome, from an estimate that so many people stand behind; never 0, since one more success may come."""
    m = min(max((mean * people + 1.0) / (people + 2.0), 1.0 / (people + 2.0)), 1.0 - 1.0 / (people + 2.0))
    return m * (1.0 - m)


@rule(inline=False)
def observe(belief: Belief, a: int, b: int, of_a: float, of_b: float, value: float, error: float) -> None:
    """of_a mean_a + of_b mean_b was seen to be `value`, with this variance of the error (Kalman)."""
    c = belief.covariance
    arms = belief.mean.size
    spread = error
    spread += of_a * (of_a * c[a, a] + of_b * c[b, a]) + of_b * (of_a * c[a, b] + of_b * c[b, b])
    if spread <= 0.0:
        return
    surprise = (value - of_a * belief.mean[a] - of_b * belief.mean[b]) / spread
    # The gains of all arms are needed before any covariance changes; they are linear in two columns.
    aa, ab, bb = c[a, a], c[a, b], c[b, b]
    for i in range(arms):
        belief.mean[i] += (of_a * c[i, a] + of_b * c[i, b]) * surprise
    for i in range(arms):
        if i != a and i != b:
            gain = (of_a * c[i, a] + of_b * c[i, b]) / spread
            for j in range(arms):
                if j != a and j != b:
                    c[i, j] -= gain * (of_a * c[a, j] + of_b * c[b, j])
    with_a = of_a * aa + of_b * ab
    with_b = of_a * ab + of_b * bb
    for i in range(arms):
        if i != a and i != b:
            gain = (of_a * c[i, a] + of_b * c[i, b]) / spread
            c[i, a] -= gain * with_a
            c[a, i] = c[i, a]
            if b != a:
                c[i, b] -= gain * with_b
                c[b, i] = c[i, b]
    c[a, a] = aa - with_a * with_a / spread
    if b != a:
        c[b, b] = bb - with_b * with_b / spread
        c[a, b] = ab - with_a * with_b / spread
        c[b, a] = c[a, b]


@rule(inline=False)
def learn_sum(belief: Belief, law: Law, arm: int, size: float, value: float) -> None:
    """What an arm's own sum says."""
    if size <= 0.0:
        return
    total = belief.people[arm] + size
    level = belief.mean[arm] if belief.people[arm] > 0.0 else value / size
    error = variance_of_outcome(level, total) * size + noise_variance(law)
    observe(belief, arm, arm, size, 0.0, value, error)
    belief.people[arm] = total


@rule(inline=False)
def learn_difference(belief: Belief, law: Law, a: int, b: int, sizes: tuple[float, float], value: float) -> None:
    """What the difference of two arms' sums says."""
    both = belief.people[a] + belief.people[b] + sizes[0] + sizes[1]
    level = 0.5 * (belief.mean[a] + belief.mean[b])
    error = variance_of_outcome(level, both) * (sizes[0] + sizes[1]) + noise_variance(law)
    observe(belief, a, b, sizes[0], -sizes[1], value, error)
    belief.people[a] += sizes[0]
    belief.people[b] += sizes[1]
