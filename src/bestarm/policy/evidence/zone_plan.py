"""How many people the next stage takes when the smallest difference that matters is stated, and with what weights.

The stated difference is the design alternative from the first person on: what should end the trial at once is known
but for the level of the arms, so nothing is tried out first where noise dominates. Sizes follow from the public record.
They decide how many people a trial needs, never whether its verdict can be trusted.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bestarm.policy.evidence.belief import Belief, spread_between, variance_of_outcome
from bestarm.policy.evidence.pairs import Pairs, ZoneConstants
from bestarm.policy.record import FloatArray
from bestarm.release.laws import PURE, ZCDP
from bestarm.rules import rule

LARGEST: Final = 2.0**40
"""No stage has more people."""
COIN: Final = 0.25
"""Variance of a fair coin."""
LONGEST_WALK: Final = 1e6
"""Walks are summed person by person; larger stages bet on products."""


class ZonePlan(NamedTuple):
    """A stage as planned: people for each arm stand in an array beside it."""

    people: float
    difference: bool


@rule(inline=False)
def expected_gap(constants: ZoneConstants, belief: Belief, a: int, b: int) -> float:
    """The lead of a over b that is bet on and planned for: the stated one, unless it is clearly larger or smaller.

    Between arms that are about equal either may be recommended, but only bets on small differences get there.
    """
    tuning = constants.tuning
    gap = belief.mean[a] - belief.mean[b]
    spread = spread_between(belief, a, b)
    most = max(gap + tuning.hope * spread, constants.least)
    return float(min(max(gap - tuning.doubt * spread, constants.aim), most))


@rule(inline=False)
def level_between(belief: Belief, a: int, b: int, ratio: float) -> float:
    """What outcomes of two arms are on average, kept away from 0 and 1 by what is not known yet."""
    m = (belief.mean[a] + ratio * belief.mean[b]) / (1.0 + ratio)
    edge = 1.0 / (belief.people[a] + belief.people[b] + 2.0)
    return float(min(max(m, edge), 1.0 - edge))


@rule(inline=False)
def variance_between(belief: Belief, a: int, b: int) -> float:
    """Variance of an outcome of two arms; before anything is known that of a fair coin."""
    people = belief.people[a] + belief.people[b]
    return variance_of_outcome(level_between(belief, a, b, 1.0), people) if people > 0.0 else 0.25


@rule(inline=False)
def is_walk(constants: ZoneConstants, people: float, variance: float) -> bool:
    """Whether a walk is about as good as a product for so many people on an arm whose outcomes vary so much."""
    if constants.law.kind == ZCDP or constants.law.step < 1.0 or people > LONGEST_WALK:
        return False
    noise = constants.noise / max(people, 1.0)
    return bool(variance + noise > constants.tuning.walk_worth * (0.25 + noise))


@rule(inline=False)
def decisive_size(constants: ZoneConstants, need: float, gap: float, variance: float, difference: bool) -> float:
    """People on either arm that should bring so many nats at once."""
    apart = gap + constants.zone
    by_chance = need * 4.0 * variance / (apart * apart)
    if constants.law.kind == PURE:
        extra = constants.tuning.extra * (0.5 if difference else 1.0)
        return by_chance + (need + extra) / (constants.law.budget * apart)
    return 0.5 * by_chance + math.sqrt(by_chance * (0.25 * by_chance + constants.noise / variance))


@rule
def share_of_noise(constants: ZoneConstants, people: float, variance: float) -> float:
    """How much of a sum's variance is noise."""
    return constants.noise / (constants.noise + people * variance)


@rule
def suits_difference(constants: ZoneConstants, people: float, variance: float) -> bool:
    """Whether two arms, of so many people each whose outcomes vary so much, are better released as a difference.

    That saves a noise, where noise matters. But a bet on a difference has its pivot at 1/2 and pays for the variance of
    a coin, whatever the outcomes' own: more than is saved, where these are rare (docs/evidence-proof.md: noise).
    """
    matters = constants.noise > constants.tuning.difference * people * variance
    return bool(matters and constants.noise > 2.0 * people * max(COIN - variance, 0.0))


@rule
def first_variance(constants: ZoneConstants) -> float:
    """The least that outcomes of the best two arms might vary: rates of 0 and of the zone, and a little."""
    return 0.5 * constants.zone * (1.0 - constants.zone) + constants.tuning.least_variance


@rule
def is_first_difference(constants: ZoneConstants, people: float) -> bool:
    """Whether the first stage is released as a difference: of two arms, where noise matters."""
    return constants.arms == 2 and constants.noise > constants.tuning.difference * people * 0.25


@rule(inline=False)
def first_size(constants: ZoneConstants) -> float:
    """People on each arm in the first stage. Where sampling matters it is small, since the level is not known."""
    tuning = constants.tuning
    need = constants.threshold + math.log(constants.arms - 1.0)
    whole = decisive_size(constants, need, constants.zone, first_variance(constants), False)
    if is_first_difference(constants, whole):
        whole = decisive_size(constants, need, constants.zone, first_variance(constants), True)
    noisy = share_of_noise(constants, whole, first_variance(constants))
    size = (tuning.first_chance + (tuning.first_noise - tuning.first_chance) * noisy) * whole
    return math.ceil(max(tuning.fewest, size))


@rule
def first_stake(constants: ZoneConstants) -> float:
    """The share of the wealth that is staked on the first stage: all of it for two arms, or where noise dominates."""
    noisy = share_of_noise(constants, first_size(constants), first_variance(constants))
    staked = min(max(constants.tuning.staked * noisy, 0.05), 1.0)
    return 1.0 if constants.arms == 2 or staked > constants.tuning.all_staked else staked


@rule(inline=False)
def rival_size(constants: ZoneConstants, pairs: Pairs, leader: int, b: int, difference: bool) -> tuple[float, bool]:
    """People on a rival, and whether the bet on it will be a walk."""
    tuning = constants.tuning
    gap = expected_gap(constants, pairs.belief, leader, b)
    variance = variance_between(pairs.belief, leader, b)
    need = max(constants.threshold - pairs.wealth[leader, b], tuning.least_need)
    walk = is_walk(constants, decisive_size(constants, constants.threshold, gap, variance, difference), variance)
    if difference or walk:
        variance = 0.25
    whole = decisive_size(constants, need, gap, variance, difference)
    noisy = share_of_noise(constants, whole, variance)
    share = tuning.product_chance + (tuning.product_noise - tuning.product_chance) * noisy
    if walk:
        share = tuning.walk_chance + (tuning.walk_noise - tuning.walk_chance) * noisy
    return max(tuning.later * share * whole, 2.0), walk


@rule(inline=False)
def plan_first(constants: ZoneConstants, size: FloatArray) -> ZonePlan:
    """The first stage: everybody alike."""
    for arm in range(constants.arms):
        size[arm] = first_size(constants)
    return ZonePlan(min(constants.arms * size[0], LARGEST), is_first_difference(constants, size[0]))


@rule(inline=False)
def balance(constants: ZoneConstants, belief: Belief, champion: int, size: FloatArray, equal: bool) -> bool:
    """Gives the champion the people that its rivals' sizes call for; all the same where walks need equal weights.

    Returns whether a stage of two arms should be released as a difference.
    """
    tuning = constants.tuning
    top = 1.0
    for b in range(constants.arms):
        top = max(top, size[b])
    variance = variance_of_outcome(belief.mean[champion], belief.people[champion])
    noisy = share_of_noise(constants, top, variance)
    power = tuning.power_chance + (tuning.power_noise - tuning.power_chance) * noisy
    norm = 0.0
    for b in range(constants.arms):
        if size[b] > 0.0:
            size[b] = top if equal else max(size[b], tuning.cover * top)
            norm += (size[b] / top) ** power
    size[champion] = top if equal else top * norm ** (1.0 / power)
    return suits_difference(constants, top, variance)


@rule(inline=False)
def plan_of(constants: ZoneConstants, size: FloatArray, difference: bool) -> ZonePlan:
    """A stage of these sizes."""
    total = 0.0
    for arm in range(constants.arms):
        total += size[arm]
    return ZonePlan(min(math.ceil(total), LARGEST), difference)


@rule(inline=False)
def plan_zone(constants: ZoneConstants, pairs: Pairs, size: FloatArray) -> ZonePlan:
    """Writes the people that each arm should get into `size`: the leader, and all that are not out under it."""
    leader = int(pairs.leader[0])
    if pairs.belief.people[leader] == 0.0:
        return plan_first(constants, size)
    difference = False
    for _ in range(2):
        rivals = 0
        walks = 0
        for b in range(constants.arms):
            size[b] = 0.0
            if b != leader and pairs.out[leader, b] == 0:
                size[b], walk = rival_size(constants, pairs, leader, b, difference)
                rivals += 1
                walks += 1 if walk else 0
        suits = balance(constants, pairs.belief, leader, size, walks == rivals)
        if difference or rivals != 1 or not suits:
            break
        difference = True
    return plan_of(constants, size, difference)
