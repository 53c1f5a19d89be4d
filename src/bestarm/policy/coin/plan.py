"""How many people the next stage takes, and with what weights.

Sizes follow from the public record. They decide how many people a trial needs, never whether its verdict can be
trusted.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bestarm.policy.coin.constants import CoinConstants
from bestarm.policy.coin.memory import Memory, arms_in, best_but, is_in, lead, outcome_variance, spread_between
from bestarm.policy.coin.stake import Prospect, choose_bet
from bestarm.policy.record import FloatArray
from bestarm.release.laws import PURE
from bestarm.rules import rule

SIZES: Final = 9
"""Sizes that are tried out for a rival."""
HALVES: Final = 0.25
"""Variance that a person adds to half of what a bet on a difference is about: a coin, whatever the outcomes."""
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
def missing(constants: CoinConstants, memory: Memory, b: int) -> float:
    """Nats that a bet against b aims at: what is missing to the line, and some more."""
    return max(constants.threshold - memory.wealth[b], constants.tuning.least_aim) + constants.tuning.aim


@rule
def nats_per_pair(constants: CoinConstants, gap: float, variance: float) -> float:
    """What one person on either arm is worth where stages are large: d_eps for a small difference."""
    if constants.law.kind == PURE and gap > 2.0 * constants.law.budget * variance:
        return constants.law.budget * gap - constants.law.budget**2 * variance
    return gap * gap / (4.0 * variance)


class Offer(NamedTuple):
    """People on a rival, and as many on the leader, with what they should bring over what that many people could."""

    size: float
    yields: float


@rule(inline=False)
def best_offer(constants: CoinConstants, memory: Memory, leader: int, b: int, difference: bool) -> Offer:
    """The size that should bring most evidence for its number of people, on average over what is believed."""
    tuning = constants.tuning
    spread = spread_between(memory, leader, b)
    gap = lead(memory, leader, b)
    need = missing(constants, memory, b)
    pivot = pooled(memory, leader, b, 1.0)
    variance = outcome_variance(pivot, memory.people[leader] + memory.people[b])
    sampling = HALVES if difference else variance
    low = max(1.0, tuning.least_growth * memory.people[b])
    high = max(2.0, (tuning.growth - 1.0) * memory.people[b])
    best = Offer(high, -math.inf)
    for k in range(SIZES):
        size = low * (high / low) ** (k / (SIZES - 1.0))
        prospect = Prospect(size, size, 1.0, pivot, sampling, difference, need)
        brought = 0.0
        weights = 0.0
        for i in range(constants.few_gaps.size):
            alternative = gap + (constants.few_gaps[i] - tuning.planning_lean) * spread
            alternative = max(alternative, tuning.planning_gap * spread)
            rate = nats_per_pair(constants, alternative, variance)
            weight = rate**tuning.weight_of_rate
            found = choose_bet(constants, prospect, alternative, tuning.planning_rounds)
            weights += weight
            brought += weight * found.worth / (size * rate)
        if brought / weights > best.yields:
            best = Offer(size, brought / weights)
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
    top = 1.0
    for b in range(arms):
        size[b] = 0.0
        if b != leader and is_in(memory, b):
            offer = best_offer(constants, memory, leader, b, False)
            if arms_in(memory) == 2:
                other = best_offer(constants, memory, leader, b, True)
                difference = other.yields > offer.yields
                offer = other if difference else offer
            size[b] = offer.size
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
    total = 0.0
    for arm in range(arms):
        total += size[arm]
    return Course(min(float(math.ceil(total)), LARGEST), difference, leader)
