"""How many people the next stage takes, and with what weights.

Sizes follow from the public record. They decide how many people a trial needs, never whether its verdict can be
trusted.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bestarm.policy.coin.constants import CoinConstants
from bestarm.policy.coin.memory import Memory, arms_in, best_but, is_in, outcome_variance, spread_between
from bestarm.policy.coin.stake import Prospect, choose_bet
from bestarm.policy.record import FloatArray
from bestarm.release.laws import PURE
from bestarm.rules import rule

SIZES: Final = 9
"""Sizes that are tried out for a rival."""
LARGEST: Final = 2.0**40
"""No stage has more people."""


class Course(NamedTuple):
    """A stage as planned: people for each arm stand in an array beside it."""

    people: float
    difference: bool
    champion: int


@rule
def pooled(memory: Memory, a: int, b: int, ratio: float) -> float:
    """The pivot: what outcomes are on average under the hypothesis, kept away from 0 and 1 by what is not known yet."""
    m: float = (memory.mean[a] + ratio * memory.mean[b]) / (1.0 + ratio)
    edge: float = 1.0 / (memory.people[a] + memory.people[b] + 2.0)
    return min(max(m, edge), 1.0 - edge)


@rule
def nats_per_pair(constants: CoinConstants, gap: float, variance: float) -> float:
    """What one person on either arm is worth where stages are large: d_eps for a small difference."""
    if constants.law.kind == PURE and gap > 2.0 * constants.law.budget * variance:
        return constants.law.budget * gap - constants.law.budget**2 * variance
    return gap * gap / (4.0 * variance)


@rule
def size_for(constants: CoinConstants, memory: Memory, leader: int, b: int, difference: bool) -> float:
    """People on the rival, and as many on the leader, that should bring most evidence for their number."""
    tuning = constants.tuning
    spread = spread_between(memory, leader, b)
    gap = memory.mean[leader] - memory.mean[b]
    need = max(constants.threshold - memory.wealth[b], 0.05) + tuning.aim
    pivot = pooled(memory, leader, b, 1.0)
    sampling = outcome_variance(pivot, memory.people[leader] + memory.people[b])
    low = max(1.0, tuning.least_growth * memory.people[b])
    high = max(2.0, (tuning.growth - 1.0) * memory.people[b])
    best: float = high
    most = -1e300
    for k in range(SIZES):
        size = low * (high / low) ** (k / (SIZES - 1.0))
        prospect = Prospect(size, size, 1.0, pivot, sampling, difference, need)
        brought = 0.0
        weights = 0.0
        for i in range(constants.few_gaps.size):
            alternative = max(
                gap + (constants.few_gaps[i] - tuning.planning_lean) * spread, tuning.planning_gap * spread
            )
            rate = nats_per_pair(constants, alternative, sampling)
            weight = rate**tuning.weight_of_rate
            weights += weight
            brought += (
                weight * choose_bet(constants, prospect, alternative, tuning.planning_rounds).worth / (size * rate)
            )
        if brought / weights > most:
            most = brought / weights
            best = size
    return best


@rule
def first_size(constants: CoinConstants) -> float:
    """People on each arm in the first stage."""
    tuning = constants.tuning
    size = max(tuning.first_people, tuning.first_noises * math.sqrt(constants.noise))
    return float(math.ceil(size / constants.law.slope**2))


@rule(inline=False)
def plan_stage(constants: CoinConstants, memory: Memory, size: FloatArray) -> Course:
    """Writes the people that each arm should get into `size`."""
    arms = constants.arms
    leader = best_but(memory, -1)
    if memory.people[leader] == 0.0:
        for arm in range(arms):
            size[arm] = first_size(constants)
        return Course(arms * first_size(constants), False, leader)
    tuning = constants.tuning
    difference = False
    for _ in range(2):
        top = 1.0
        for b in range(arms):
            size[b] = 0.0
            if b != leader and is_in(memory, b):
                size[b] = size_for(constants, memory, leader, b, difference)
                top = max(top, size[b])
        sampling = outcome_variance(memory.mean[leader], memory.people[leader])
        dominance = constants.noise / (constants.noise + top * sampling)
        power = tuning.power_chance + (tuning.power_noise - tuning.power_chance) * dominance
        norm = 0.0
        for b in range(arms):
            if size[b] > 0.0:
                size[b] = max(size[b], tuning.cover * top)
                norm += (size[b] / top) ** power
        size[leader] = top * norm ** (1.0 / power)
        if difference or arms_in(memory) != 2 or constants.noise <= tuning.difference * top * sampling:
            break
        difference = True
    total = 0.0
    for arm in range(arms):
        total += size[arm]
    return Course(min(float(math.ceil(total)), LARGEST), difference, leader)
