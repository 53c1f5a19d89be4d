"""Coin evidence with a stated smallest difference, as a staged policy: the fold and its three questions.

The accounts are those of `pairs`, sizes come from `zone_plan`, bets from `zone_bets`.
"""

from __future__ import annotations

import math
from typing import Final

from bestarm.policy.evidence.belief import learn_difference, learn_sum
from bestarm.policy.evidence.pairs import Zone, ZoneConstants, allot, choose_leader, strike_out
from bestarm.policy.evidence.zone_bets import bet_on_difference_of, bet_on_sums_of, bets_on_walk, log_walk
from bestarm.policy.evidence.zone_plan import plan_zone
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import OPENED, PENDING, RELEASED, against_rival, difference_for, valid_people
from bestarm.rules import rule

SET_APART: Final = 1.05
"""What makes two weights differ enough not to be taken for equal."""


@rule(inline=False)
def open_zone(zone: Zone, constants: ZoneConstants, slot: int) -> None:
    """Plan the next stage and write its opening."""
    size = zone.scratch.size
    course = plan_zone(constants, zone.pairs, size)
    if zone.stages.progress[OPENED] - zone.stages.progress[RELEASED] >= PENDING - 1:
        # The stage in the last place may be extended until news comes. A walk needs a size that is fixed from the
        # beginning, so there must be none: it is bet on for arms of equal weights only.
        size[zone.pairs.leader[0]] *= SET_APART
    total = 0.0
    for arm in range(constants.arms):
        total += size[arm]
    openings = zone.stages.openings
    for arm in range(constants.arms):
        openings.weights[slot, arm] = size[arm] / total
    openings.difference[slot] = 1 if course.difference else 0
    openings.champion[slot] = zone.pairs.leader[0]
    openings.planned[slot] = int(course.people)


@rule(inline=False)
def extent_zone(zone: Zone, constants: ZoneConstants, people: int) -> int:
    """The open stage's size, fixed when it opened if a bet on a walk may come of it; else as the plan would have it."""
    slot = (int(zone.stages.progress[OPENED]) - 1) % PENDING
    openings = zone.stages.openings
    for a in range(constants.arms):
        for b in range(a):
            if openings.weights[slot, a] > 0.0 and openings.weights[slot, b] > 0.0:
                apart = abs(openings.weights[slot, a] - openings.weights[slot, b])
                if apart <= 1e-5 * openings.weights[slot, a]:
                    return int(openings.planned[slot])
    return int(plan_zone(constants, zone.pairs, zone.scratch.size).people)


@rule(inline=False)
def takes_part(zone: Zone, constants: ZoneConstants, slot: int, a: int, b: int) -> bool:
    """Whether a champion bets on this stage against a rival: both in it, not out, and the champion not far behind."""
    weights = zone.stages.openings.weights
    pairs = zone.pairs
    if a == b or weights[slot, a] == 0.0 or weights[slot, b] == 0.0 or pairs.out[a, b] == 1:
        return False
    if constants.against and a != zone.stages.openings.champion[slot]:
        return False
    if constants.arms == 2 or pairs.belief.people[a] == 0.0:
        return True
    leader = zone.stages.openings.champion[slot]
    return bool(pairs.belief.mean[a] >= pairs.belief.mean[leader] - constants.tuning.far * constants.zone)


@rule
def cash_of(constants: ZoneConstants, wealth: float) -> float:
    """The share of an account that is not staked: more of it the more was lost, so that losses are bounded."""
    tuning = constants.tuning
    kept = math.exp(min(-tuning.deepest - wealth - math.log(constants.arms - 1.0), 0.0))
    return max(tuning.cash, min(tuning.most_cash, kept))


@rule(inline=False)
def log_gain(zone: Zone, constants: ZoneConstants, slot: int, a: int, b: int, values: FloatArray) -> float:
    """What an account wins, with the share of it that is kept in cash."""
    openings = zone.stages.openings
    cash = cash_of(constants, zone.pairs.wealth[a, b])
    need = constants.threshold - zone.pairs.wealth[a, b]
    need = need + math.log((1.0 - cash * math.exp(-need)) / (1.0 - cash)) + 1e-9
    is_difference = openings.difference[slot] == 1
    value = values[a] - against_rival(zone.stages, slot, b, float(values[b]))
    if is_difference:
        value = difference_for(zone.stages, slot, a, b, float(values[0]))
    if bets_on_walk(zone, constants, slot, a, b):
        gain = log_walk(zone, constants, slot, a, b, value, need)
    elif is_difference:
        gain = bet_on_difference_of(zone, constants, slot, a, b, value, need)
    else:
        gain = bet_on_sums_of(zone, constants, slot, a, b, values, need)
    return math.log(cash + (1.0 - cash) * math.exp(min(gain, 600.0)))


@rule(inline=False)
def settle_zone(zone: Zone, constants: ZoneConstants, slot: int, values: FloatArray) -> None:
    """Settle the bets of a release, then learn from it."""
    arms = constants.arms
    pairs = zone.pairs
    stages = zone.stages
    gained = zone.scratch.gained
    for a in range(arms):
        for b in range(arms):
            gained[a, b] = 0.0
            if takes_part(zone, constants, slot, a, b):
                gained[a, b] = log_gain(zone, constants, slot, a, b, values)
    for a in range(arms):
        for b in range(arms):
            pairs.wealth[a, b] += gained[a, b]
    leader = int(stages.openings.champion[slot])
    for arm in range(arms):
        if stages.openings.weights[slot, arm] > 0.0:
            size = valid_people(stages, slot, arm)
            if stages.openings.difference[slot] == 0:
                learn_sum(pairs.belief, constants.law, arm, size, float(values[arm]))
            elif arm != leader:
                sizes = (valid_people(stages, slot, leader), size)
                learn_difference(pairs.belief, constants.law, leader, arm, sizes, float(values[0]))
    if pairs.cash[0] > 0.0:
        allot(pairs, zone.scratch.share)
    strike_out(constants, pairs)
    choose_leader(constants, pairs)
