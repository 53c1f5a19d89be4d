"""How many people the next stage takes, and with what weights.

Sizes follow from the public record. They decide how many people a trial needs, never whether its verdict can be
trusted.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from bestarm.policy.evidence.constants import CoinConstants, first_size
from bestarm.policy.evidence.far import far_size, is_far
from bestarm.policy.evidence.memory import (
    Memory,
    arms_in,
    best_but,
    is_in,
    lead,
    outcome_variance,
    released_people,
    spread_between,
)
from bestarm.policy.evidence.stake import choose_bet, look, plain_prospect
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import Openings
from bestarm.rules import rule

SIZES: Final = 15
"""Sizes that are tried out for a rival."""
HALVES: Final = 0.25
"""Variance that a person adds to half of what a bet on a difference is about: a coin, whatever the outcomes."""
LARGEST: Final = 2.0**40
"""No stage has more people."""


class StagePlan(NamedTuple):
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
def cash_of(constants: CoinConstants, memory: Memory, a: int, b: int) -> float:
    """The share of an arm's wealth that is not staked on its champion: more of it the less the champion is ahead, and
    the more was lost before, so that losses are bounded."""
    tuning = constants.tuning
    kept = math.exp(min(-tuning.deepest - memory.wealth[b], 0.0))
    ahead = max(lead(memory, a, b) / spread_between(memory, a, b), 0.0)
    doubt = tuning.doubt * math.exp(-ahead / tuning.doubt_lead)
    return max(tuning.cash, doubt, min(tuning.most_cash, kept))


@rule
def needed(constants: CoinConstants, memory: Memory, b: int, cash: float) -> float:
    """Nats that a bet has to bring for b's wealth to reach the line, when a share of it is not staked."""
    short: float = max(constants.threshold - memory.wealth[b], constants.tuning.least_aim)
    # log(1 + (e^short - 1)/(1 - cash)), also where e^short is beyond any number that can be written down
    return short + math.log(math.exp(-short) - math.expm1(-short) / (1.0 - cash)) + constants.tuning.aim


class Offer(NamedTuple):
    """People on a rival, and as many on the leader, with what they should bring over what that many people could."""

    size: float
    yields: float


class Offers(NamedTuple):
    """Offers that were worked out, by form of the release and rival, and what they follow from: after a release up to
    three questions are about the same ones. Work space, not state."""

    size: FloatArray
    """0 where an offer is not known."""
    yields: FloatArray
    beliefs: FloatArray
    """Wealth, mean, variance and people of every arm that these offers follow from, ..."""
    others: FloatArray
    """... the leader, and which beliefs are tied, and how."""
    gaps: FloatArray


@rule(allocates=True)
def no_offers(arms: int, gaps: int) -> Offers:
    """None is known."""
    return Offers(np.zeros((2, arms)), np.zeros((2, arms)), np.zeros((4, arms)), np.full(4, -1.0), np.zeros(gaps))


@rule(inline=False)
def keep_to(offers: Offers, memory: Memory, leader: int) -> None:
    """Forget offers that follow from another memory."""
    others = offers.others
    same = others[0] == leader and others[1] == memory.tied[0] and others[2] == memory.tied[1]
    same = same and others[3] == memory.tie[0]
    others[0] = leader
    others[1] = memory.tied[0]
    others[2] = memory.tied[1]
    others[3] = memory.tie[0]
    kept = offers.beliefs
    for b in range(memory.mean.size):
        known = kept[0, b] == memory.wealth[b] and kept[1, b] == memory.mean[b]
        same = same and known and kept[2, b] == memory.variance[b] and kept[3, b] == memory.people[b]
        kept[0, b] = memory.wealth[b]
        kept[1, b] = memory.mean[b]
        kept[2, b] = memory.variance[b]
        kept[3, b] = memory.people[b]
    if not same:
        for b in range(memory.mean.size):
            offers.size[0, b] = 0.0
            offers.size[1, b] = 0.0


@rule
def offer_of(constants: CoinConstants, memory: Memory, offers: Offers, leader: int, b: int, difference: bool) -> Offer:
    """The best offer, as it is known or worked out now."""
    form = 1 if difference else 0
    if offers.size[form, b] == 0.0:
        found = best_offer(constants, memory, offers.gaps, leader, b, difference)
        offers.size[form, b] = found.size
        offers.yields[form, b] = found.yields
    return Offer(float(offers.size[form, b]), float(offers.yields[form, b]))


@rule(inline=False)
def best_offer(
    constants: CoinConstants, memory: Memory, gaps: FloatArray, leader: int, b: int, difference: bool
) -> Offer:
    """The size that should bring most evidence for its number of people, on average over what is believed."""
    tuning = constants.tuning
    cash = cash_of(constants, memory, leader, b)
    need = needed(constants, memory, b, cash)
    pivot = pooled(memory, leader, b, 1.0)
    variance = outcome_variance(pivot, memory.people[leader] + memory.people[b])
    look(constants, memory, leader, b, gaps)
    sampling = HALVES if difference else variance
    low = max(1.0, tuning.least_growth * memory.people[b])
    high = max(2.0 * low, (tuning.growth - 1.0) * memory.people[b])
    best = Offer(high, -math.inf)
    for k in range(SIZES):
        size = low * (high / low) ** (k / (SIZES - 1.0))
        prospect = plain_prospect(size, size, 1.0, pivot, sampling, difference, cash, need)
        yields = choose_bet(constants, prospect, gaps, tuning.planning_rounds).worth / size
        if yields > best.yields:
            best = Offer(size, yields)
    return best


@rule
def blind_size(constants: CoinConstants, enrolled: float, variance: float, waiting: int) -> float:
    """The least people on an arm while outcomes of others are awaited, in so many stages: few, since stages that turn
    out to be too small are merged, but more the less room there is for further stages."""
    tuning = constants.tuning
    more = math.pow(2.0, max((waiting - tuning.blind_stages) / tuning.blind_double, 0.0))
    return max(
        min(constants.noise / variance / tuning.blind_noise, tuning.blind_most * enrolled),
        tuning.blind_least * more * enrolled,
        tuning.first_people,
    )


@rule
def while_awaited(
    constants: CoinConstants, memory: Memory, size: float, enrolled: float, arm: int, waiting: int
) -> float:
    """By what to multiply a stage's sizes if outcomes of some of those `enrolled` on its largest arm are awaited.

    These will bring evidence of their own and are taken off. How arms compare stays as it is, so that weights follow
    what is known.
    """
    awaited: float = enrolled - memory.people[arm]
    if awaited <= 0.0:
        return 1.0
    variance = outcome_variance(memory.mean[arm], memory.people[arm])
    least = blind_size(constants, enrolled, variance, waiting)
    return max(size - awaited, least) / size


@rule(inline=False)
def plan_stage(
    constants: CoinConstants, memory: Memory, enrolled: FloatArray, waiting: int, offers: Offers, size: FloatArray
) -> StagePlan:
    """Writes the weights of all arms, or the people that each should get, into `size`. `waiting` stages have closed."""
    arms = constants.arms
    leader = best_but(memory, -1)
    tuning = constants.tuning
    everybody = 0.0
    for arm in range(arms):
        everybody += enrolled[arm]
    if is_far(constants, everybody):
        for arm in range(arms):
            size[arm] = 1.0 if is_in(memory, arm) else 0.0
        return StagePlan(min(far_size(constants, everybody), LARGEST), False, leader)
    if memory.people[leader] == 0.0:
        each = max(first_size(constants), blind_size(constants, everybody / arms, HALVES, waiting))
        for arm in range(arms):
            size[arm] = each
        return StagePlan(float(math.ceil(each * arms)), False, leader)
    difference = False
    keep_to(offers, memory, leader)
    top = 1.0
    largest = leader
    for b in range(arms):
        size[b] = 0.0
        if b != leader and is_in(memory, b):
            offer = offer_of(constants, memory, offers, leader, b, False)
            if arms_in(memory) == 2:
                other = offer_of(constants, memory, offers, leader, b, True)
                difference = other.yields > offer.yields
                offer = other if difference else offer
            size[b] = offer.size
            if size[b] > top:
                top = size[b]
                largest = b
    sampling = outcome_variance(memory.mean[leader], memory.people[leader])
    dominance = constants.noise / (constants.noise + top * sampling)
    power = tuning.power_chance + (tuning.power_noise - tuning.power_chance) * dominance
    norm = 0.0
    for b in range(arms):
        if size[b] > 0.0:
            size[b] = max(size[b], tuning.cover * top)
            norm += (size[b] / top) ** power
    size[leader] = top * norm ** (1.0 / power)
    scale = while_awaited(constants, memory, top, enrolled[largest], largest, waiting)
    total = 0.0
    for arm in range(arms):
        size[arm] *= scale
        total += size[arm]
    return StagePlan(min(float(math.ceil(total)), LARGEST), difference, leader)


@rule
def people_again(
    constants: CoinConstants, memory: Memory, weights: FloatArray, enrolled: FloatArray, waiting: int
) -> float:
    """The people of a stage that opens with these weights, like the one before it, since there was no news. That one
    had what `plan_stage` asks for beyond those who are awaited; all there is to add is the least."""
    leader = best_but(memory, -1)
    largest = -1
    for arm in range(constants.arms):
        if arm != leader and weights[arm] > 0.0 and (largest < 0 or weights[arm] > weights[largest]):
            largest = arm
    variance = outcome_variance(memory.mean[largest], memory.people[largest])
    return float(math.ceil(blind_size(constants, enrolled[largest], variance, waiting) / weights[largest]))


@rule(inline=False)
def wanted_people(constants: CoinConstants, memory: Memory, openings: Openings, slot: int, offers: Offers) -> float:
    """How many people should be released next, of those in the stage at `slot` and in others of its weights.

    A stage that opened while outcomes were awaited was planned on older news than there is when its turn comes: bets
    are chosen for what would be planned now, and it is merged with the next one if it is much smaller. It follows from
    earlier releases and the opening alone.
    """
    leader = best_but(memory, -1)
    most = 0.0
    if not is_far(constants, released_people(memory)):
        keep_to(offers, memory, leader)
        for b in range(constants.arms):
            if b != leader and is_in(memory, b) and openings.weights[slot, b] > 0.0:
                offer = offer_of(constants, memory, offers, leader, b, openings.difference[slot] == 1)
                most = max(most, offer.size / openings.weights[slot, b])
    return most
