"""What coin evidence remembers of the stages released so far: the only thing, beside a stage's opening, that the slopes
of a bet may look at.

Wealth counts bets; beliefs are normal laws of every arm's mean, on the scale of what is counted, and serve only to
choose bets and sizes. No error in a belief can harm the proof.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestarm.policy.record import FloatArray, IntArray
from bestarm.release.laws import Law, noise_variance
from bestarm.rules import rule


class Memory(NamedTuple):
    """Folded over the releases, in the order in which the stages opened."""

    wealth: FloatArray
    """log W_b of every arm."""
    out_since: FloatArray
    """People in all releases when an arm was struck out; 0 while it is in."""
    mean: FloatArray
    variance: FloatArray
    """Of the belief of each arm's mean."""
    tie: FloatArray
    """Covariance of two arms whose difference has been released; all others are taken to be independent."""
    tied: IntArray
    """These two arms."""
    people: FloatArray
    """On each arm, in all releases."""
    total: FloatArray
    counted: FloatArray
    """Released sums of each arm, added up, and the people in them; releases of a difference are left out."""
    wanted: FloatArray
    """How many people the next release should have, if its stage opened before the last one; else 0: as planned."""
    opened: IntArray
    """How many stages had opened at the last release: those after them were planned on the latest news."""


@rule(allocates=True)
def new_memory(arms: int, law: Law, spread: float) -> Memory:
    """Nothing released yet: any level, differences of about `spread`."""
    variance = (law.slope * spread) ** 2 + law.slope * law.slope * 0.09
    return Memory(
        np.zeros(arms),
        np.zeros(arms),
        np.full(arms, 0.5),
        np.full(arms, variance),
        np.zeros(1),
        np.full(2, -1),
        np.zeros(arms),
        np.zeros(arms),
        np.zeros(arms),
        np.zeros(1),
        np.zeros(1, np.int64),
    )


@rule
def is_in(memory: Memory, arm: int) -> bool:
    """Whether an arm is not struck out."""
    return bool(memory.out_since[arm] == 0.0)


@rule
def arms_in(memory: Memory) -> int:
    """How many arms are left."""
    left = 0
    for arm in range(memory.mean.size):
        if is_in(memory, arm):
            left += 1
    return left


@rule
def released_people(memory: Memory) -> float:
    """Everybody in all releases."""
    total = 0.0
    for arm in range(memory.people.size):
        total += memory.people[arm]
    return total


@rule
def best_but(memory: Memory, other: int) -> int:
    """The arm with the highest estimate among those that are left, apart from `other`; -1 if there is none."""
    best = -1
    for arm in range(memory.mean.size):
        if arm != other and is_in(memory, arm) and (best < 0 or memory.mean[arm] > memory.mean[best]):
            best = arm
    return best


@rule
def partner(memory: Memory, arm: int) -> int:
    """The arm whose mean is believed together with this one's; -1 for none."""
    if memory.tied[0] == arm:
        return int(memory.tied[1])
    return int(memory.tied[0]) if memory.tied[1] == arm else -1


@rule
def spread_between(memory: Memory, a: int, b: int) -> float:
    """Standard deviation of the belief of a difference."""
    tie = memory.tie[0] if partner(memory, a) == b else 0.0
    return math.sqrt(max(memory.variance[a] + memory.variance[b] - 2.0 * tie, 1e-24))


@rule
def lead(memory: Memory, a: int, b: int) -> float:
    """By how much a is believed to be better; beliefs may lie beyond 0 and 1, means do not."""
    return float(min(max(memory.mean[a], 0.0), 1.0) - min(max(memory.mean[b], 0.0), 1.0))


@rule
def outcome_variance(mean: float, people: float) -> float:
    """Of one outcome, from an estimate that so many people stand behind; never 0, since one more success may come."""
    m = min(max((mean * people + 1.0) / (people + 2.0), 1.0 / (people + 2.0)), 1.0 - 1.0 / (people + 2.0))
    return m * (1.0 - m)


@rule
def learn_sum(memory: Memory, law: Law, arm: int, size: float, value: float) -> None:
    """What an arm's own sum says of its mean."""
    if size <= 0.0:
        return
    total = memory.people[arm] + size
    level = memory.mean[arm] if memory.people[arm] > 0.0 else value / size
    error = (outcome_variance(level, total) * size + noise_variance(law)) / (size * size)
    total_variance = memory.variance[arm] + error
    surprise = (value / size - memory.mean[arm]) / total_variance
    other = partner(memory, arm)
    if other >= 0:
        memory.mean[other] += memory.tie[0] * surprise
        memory.variance[other] -= memory.tie[0] ** 2 / total_variance
        memory.tie[0] *= error / total_variance
    memory.mean[arm] += memory.variance[arm] * surprise
    memory.variance[arm] *= error / total_variance
    memory.people[arm] = total
    memory.total[arm] += value
    memory.counted[arm] += size


@rule
def learn_difference(memory: Memory, law: Law, a: int, b: int, sizes: tuple[float, float], value: float) -> None:
    """What the difference of two arms' sums says of their means."""
    if partner(memory, a) != b:
        memory.tied[0] = a
        memory.tied[1] = b
        memory.tie[0] = 0.0
    n_a, n_b = sizes
    both = memory.people[a] + memory.people[b] + n_a + n_b
    level = 0.5 * (memory.mean[a] + memory.mean[b])
    noise = (n_a + n_b) * outcome_variance(level, both) + noise_variance(law)
    with_a = n_a * memory.variance[a] - n_b * memory.tie[0]
    with_b = n_a * memory.tie[0] - n_b * memory.variance[b]
    spread = n_a * with_a - n_b * with_b + noise
    surprise = (value - n_a * memory.mean[a] + n_b * memory.mean[b]) / spread
    memory.mean[a] += with_a * surprise
    memory.mean[b] += with_b * surprise
    memory.variance[a] -= with_a * with_a / spread
    memory.variance[b] -= with_b * with_b / spread
    memory.tie[0] -= with_a * with_b / spread
    memory.people[a] += n_a
    memory.people[b] += n_b
