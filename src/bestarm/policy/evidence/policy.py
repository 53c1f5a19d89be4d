"""Coin evidence as a staged policy: the fold and its three questions."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.evidence.bets import JointBet, log_joint
from bestarm.policy.evidence.constants import CoinConstants
from bestarm.policy.evidence.far import is_far, with_plain
from bestarm.policy.evidence.memory import (
    Memory,
    arms_in,
    best_but,
    is_in,
    lead,
    learn_difference,
    learn_sum,
    new_memory,
    outcome_variance,
    released_people,
    spread_between,
)
from bestarm.policy.evidence.plan import (
    HALVES,
    LARGEST,
    Offers,
    cash_of,
    needed,
    no_offers,
    people_again,
    plan_stage,
    pooled,
    wanted_people,
)
from bestarm.policy.evidence.stake import Prospect, choose_bet, look, plain_prospect, reshape
from bestarm.policy.record import FloatArray, IntArray
from bestarm.policy.stages import (
    CLOSED,
    OPENED,
    PENDING,
    RELEASED,
    Openings,
    Stages,
    against_rival,
    difference_for,
    in_stage,
    new_stages,
    newest_slot,
    oldest_slot,
    valid_people,
    waiting_stages,
)
from bestarm.release.curves import MOST_CAP
from bestarm.rules import rule

MOST_CHAMPIONS: Final = 6
"""No more arms are bet on to be the best."""


class ArmScratch(NamedTuple):
    """Work space."""

    size: FloatArray
    enrolled: FloatArray
    gained: FloatArray
    champions: IntArray
    shares: FloatArray
    gaps: FloatArray
    offers: Offers


class Stake(NamedTuple):
    """A bet and what it was chosen for, the share of the wealth that is kept out of it included."""

    bet: JointBet
    prospect: Prospect


class Coin(NamedTuple):
    """The state."""

    stages: Stages
    memory: Memory
    scratch: ArmScratch


@rule(allocates=True)
def start_coin(constants: CoinConstants) -> Coin:
    """Before the first person."""
    return Coin(
        new_stages(constants.arms),
        new_memory(constants.arms, constants.law, constants.tuning.first_spread),
        ArmScratch(
            np.zeros(constants.arms),
            np.zeros(constants.arms),
            np.zeros(constants.arms),
            np.zeros(MOST_CHAMPIONS, np.int64),
            np.zeros(MOST_CHAMPIONS),
            np.zeros(constants.gaps.size),
            no_offers(constants.arms, constants.gaps.size),
        ),
    )


@rule(inline=False)
def open_stage(state: Coin, constants: CoinConstants, slot: int) -> None:
    """Plan the next stage and write its opening."""
    size = state.scratch.size
    count_enrolled(state)
    if is_without_news(state, constants):
        open_again(state, constants, slot)
        return
    waiting = waiting_stages(state.stages)
    course = plan_stage(constants, state.memory, state.scratch.enrolled, waiting, state.scratch.offers, size)
    total = 0.0
    for arm in range(constants.arms):
        total += size[arm]
    openings = state.stages.openings
    for arm in range(constants.arms):
        openings.weights[slot, arm] = size[arm] / total
    openings.difference[slot] = 1 if course.difference else 0
    openings.champion[slot] = course.champion
    openings.planned[slot] = int(course.people)


@rule
def is_without_news(state: Coin, constants: CoinConstants) -> bool:
    """Whether nothing was released since the newest stage opened, nor will be before the next one does."""
    everybody = 0.0
    for arm in range(constants.arms):
        everybody += state.scratch.enrolled[arm]
    after_news = 0 < state.memory.opened[0] < state.stages.progress[OPENED]
    return bool(after_news and not is_far(constants, everybody))


@rule
def open_again(state: Coin, constants: CoinConstants, slot: int) -> None:
    """Write an opening like that of the newest stage: all but its size follows from what was released."""
    openings = state.stages.openings
    newest = newest_slot(state.stages)
    for arm in range(constants.arms):
        openings.weights[slot, arm] = openings.weights[newest, arm]
    openings.difference[slot] = openings.difference[newest]
    openings.champion[slot] = openings.champion[newest]
    waiting = waiting_stages(state.stages)
    people = people_again(constants, state.memory, openings.weights[newest], state.scratch.enrolled, waiting)
    openings.planned[slot] = int(min(people, LARGEST))


@rule(inline=False)
def extent(state: Coin, constants: CoinConstants, people: int) -> int:
    """The size that the plan would now give a stage, but not more than it was planned for: its weights, its form and
    its bets were meant for that, and a stage that opens afresh has better ones."""
    scratch = state.scratch
    count_enrolled(state)
    waiting = waiting_stages(state.stages)
    people_now = plan_stage(constants, state.memory, scratch.enrolled, waiting, scratch.offers, scratch.size).people
    return int(min(people_now, float(state.stages.openings.planned[newest_slot(state.stages)])))


@rule
def count_enrolled(state: Coin) -> None:
    """People on each arm in all stages but the open one: those in releases, without whoever was voided, and those whose
    outcomes are awaited."""
    stages = state.stages
    for arm in range(stages.assigned.size):
        state.scratch.enrolled[arm] = state.memory.people[arm]
        for number in range(int(stages.progress[RELEASED]), int(stages.progress[CLOSED])):
            state.scratch.enrolled[arm] += stages.size[number % PENDING, arm]


@rule
def prospect_of(
    constants: CoinConstants, memory: Memory, openings: Openings, slot: int, a: int, b: int, share: float
) -> Prospect:
    """A stage as a bet of champion a against b sees it: from memory and opening alone."""
    planned = memory.wanted[0] if memory.wanted[0] > 0.0 else float(openings.planned[slot])
    ratio = openings.weights[slot, a] / openings.weights[slot, b]
    pivot = pooled(memory, a, b, ratio)
    people = memory.people[a] + memory.people[b]
    difference = openings.difference[slot] == 1
    cash = cash_of(constants, memory, a, b)
    return plain_prospect(
        planned * openings.weights[slot, a],
        planned * openings.weights[slot, b],
        ratio,
        pivot,
        HALVES if difference else outcome_variance(pivot, people),
        difference,
        cash,
        needed(constants, memory, b, cash) - math.log(share),
    )


@rule(inline=False)
def stake(
    constants: CoinConstants,
    memory: Memory,
    openings: Openings,
    slot: int,
    a: int,
    b: int,
    share: float,
    gaps: FloatArray,
) -> Stake:
    """The bet of champion a against b on a stage, and what it is placed with: chosen from earlier releases and from
    what was fixed when the stage opened. Coins, sizes and outcomes of the stage are out of reach."""
    prospect = prospect_of(constants, memory, openings, slot, a, b, share)
    look(constants, memory, a, b, gaps)
    found = choose_bet(constants, prospect, gaps, constants.tuning.rounds)
    return Stake(found.bet, prospect)


@rule
def fitted(constants: CoinConstants, placed: Stake, sizes: tuple[float, float], gaps: FloatArray) -> JointBet:
    """The bet in the shape that suits the sizes. Its slopes, and all else that was staked, are as they were."""
    planned = placed.prospect.champions + placed.prospect.rivals
    if abs(sizes[0] + sizes[1] - planned) <= constants.tuning.unlike * planned:
        return placed.bet
    before = placed.prospect
    now = plain_prospect(
        sizes[0], sizes[1], before.ratio, before.pivot, before.sampling, before.difference, before.cash, before.need
    )
    return reshape(constants, now, gaps, placed.bet)


@rule
def payoff(
    constants: CoinConstants,
    placed: Stake,
    stages: Stages,
    slot: int,
    a: int,
    b: int,
    values: FloatArray,
    gaps: FloatArray,
) -> float:
    """What a stake of 1 has become."""
    sizes = (float(stages.size[slot, a]), float(stages.size[slot, b]))
    bet = fitted(constants, placed, sizes, gaps)
    pivot = placed.prospect.pivot
    cash = placed.prospect.cash
    if stages.openings.difference[slot] == 1:
        gain = log_joint(bet, pivot, sizes, (difference_for(stages, slot, a, b, float(values[0])), 0.0))
    else:
        gain = log_joint(bet, pivot, sizes, (values[a], against_rival(stages, slot, b, float(values[b]))))
    return cash + (1.0 - cash) * math.exp(min(gain, MOST_CAP))


@rule
def contend(constants: CoinConstants, memory: Memory, champions: IntArray, shares: FloatArray) -> None:
    """The arms with the highest estimates, best first, and how far each is to be trusted to be the best: the less the
    more standard deviations it is behind. Places that are not needed stay at -1."""
    for k in range(champions.size):
        champions[k] = -1
        for arm in range(constants.arms):
            better = champions[k] < 0 or memory.mean[arm] > memory.mean[champions[k]]
            if is_in(memory, arm) and better and not is_among(arm, champions, k):
                champions[k] = arm
        a = int(champions[k])
        if a >= 0:
            best = int(champions[0])
            behind = lead(memory, best, a) / spread_between(memory, best, a) if k > 0 else 0.0
            shares[k] = math.exp(-constants.tuning.trust * behind)


@rule
def is_among(arm: int, champions: IntArray, count: int) -> bool:
    """Whether an arm is one of the first so many."""
    for k in range(count):  # noqa: SIM110 (compiled)
        if champions[k] == arm:
            return True
    return False


@rule(inline=False)
def log_gain(state: Coin, constants: CoinConstants, slot: int, b: int, values: FloatArray) -> float:
    """The logarithm of what the bets against b have made of its wealth: a mixture over champions."""
    scratch = state.scratch
    weights = state.stages.openings.weights
    total = 0.0
    for k in range(scratch.champions.size):
        a = int(scratch.champions[k])
        if a >= 0 and a != b and weights[slot, a] > 0.0:
            if total > 0.0 and scratch.shares[k] < constants.tuning.least_share * total:
                break
            total += scratch.shares[k]
    won = 0.0
    staked = 0.0
    for k in range(scratch.champions.size):
        a = int(scratch.champions[k])
        if a >= 0 and a != b and weights[slot, a] > 0.0 and staked < total:
            staked += scratch.shares[k]
            share = scratch.shares[k] / total
            placed = stake(constants, state.memory, state.stages.openings, slot, a, b, share, scratch.gaps)
            won += share * payoff(constants, placed, state.stages, slot, a, b, values, scratch.gaps)
    return math.log(won) if won > 0.0 else 0.0


@rule(inline=False)
def settle(state: Coin, constants: CoinConstants, slot: int, values: FloatArray) -> None:
    """Settle the bets of a release, then learn from it."""
    memory = state.memory
    stages = state.stages
    weights = stages.openings.weights
    gained = state.scratch.gained
    first = memory.people[best_but(memory, -1)] == 0.0
    contend(constants, memory, state.scratch.champions, state.scratch.shares)
    if constants.against:
        state.scratch.champions[:] = -1
        state.scratch.champions[0] = stages.openings.champion[slot]
    for b in range(constants.arms):
        gained[b] = 0.0
        if is_in(memory, b) and weights[slot, b] > 0.0:
            gained[b] = with_plain(
                constants, memory, stages, slot, b, values, log_gain(state, constants, slot, b, values)
            )
    for b in range(constants.arms):
        memory.wealth[b] += gained[b]
    if stages.openings.difference[slot] == 1:
        a = int(stages.openings.champion[slot])
        for b in range(constants.arms):
            if b != a and weights[slot, b] > 0.0:
                sizes = (valid_people(stages, slot, a), valid_people(stages, slot, b))
                learn_difference(memory, constants.law, a, b, sizes, float(values[0]))
    else:
        if first:
            expect_alike(constants, memory, stages, slot, values)
        for arm in range(constants.arms):
            if weights[slot, arm] > 0.0:
                learn_sum(memory, constants.law, arm, valid_people(stages, slot, arm), float(values[arm]))
    strike_out(constants, memory)
    memory.opened[0] = stages.progress[OPENED]
    memory.wanted[0] = 0.0
    if stages.progress[OPENED] > stages.progress[RELEASED] + 1:
        after = (slot + 1) % PENDING
        memory.wanted[0] = wanted_people(constants, memory, stages.openings, after, state.scratch.offers)


@rule(inline=False)
def merges(state: Coin, constants: CoinConstants) -> bool:
    """Whether the oldest stage goes on in the next one: alone it is much smaller than a release should be by now.

    Its own people are met with the same bets either way; with which bets those of the next stage are met depends on
    what was known before any of their coins was tossed.
    """
    people = in_stage(state.stages, oldest_slot(state.stages))
    return bool(people < constants.tuning.merge_until * state.memory.wanted[0])


@rule
def expect_alike(constants: CoinConstants, memory: Memory, stages: Stages, slot: int, values: FloatArray) -> None:
    """What is believed of the arms before their first sums are learnt: all at the level of these, and as different
    from each other as the sums are beyond their errors, but not less than a little."""
    seen = 0.0
    total = 0.0
    for arm in range(constants.arms):
        seen += valid_people(stages, slot, arm)
        total += values[arm]
    level = min(max(total / max(seen, 1.0), 0.0), 1.0)
    sampling = outcome_variance(level, seen)
    apart = 0.0
    for arm in range(constants.arms):
        size = max(valid_people(stages, slot, arm), 1.0)
        apart += (values[arm] / size - level) ** 2 - (sampling * size + constants.noise) / (size * size)
    least = (constants.law.slope * constants.tuning.prior_spread) ** 2
    for arm in range(constants.arms):
        memory.mean[arm] = level
        memory.variance[arm] = max(least, apart / (constants.arms - 1.0))


@rule
def strike_out(constants: CoinConstants, memory: Memory) -> None:
    """Arms whose wealth reached the line are out. While the trial goes on, each gets a second look once people have
    multiplied since: should the best be among them, the others may be tied."""
    total = released_people(memory)
    for b in range(constants.arms):
        if is_in(memory, b) and memory.wealth[b] >= constants.threshold:
            memory.out_since[b] = total
    if arms_in(memory) > 1:
        for b in range(constants.arms):
            if not is_in(memory, b) and total >= constants.tuning.recall * memory.out_since[b]:
                memory.out_since[b] = 0.0
                memory.wealth[b] = constants.threshold - constants.tuning.recall_nats


@rule
def over(state: Coin, constants: CoinConstants) -> int:
    """The last arm that is in; should a release have struck out all at once, the one with the highest estimate."""
    left = UNDECIDED
    best = 0
    for arm in range(constants.arms):
        if state.memory.mean[arm] > state.memory.mean[best]:
            best = arm
        if is_in(state.memory, arm):
            if left != UNDECIDED:
                return UNDECIDED
            left = arm
    return left if left != UNDECIDED else best
