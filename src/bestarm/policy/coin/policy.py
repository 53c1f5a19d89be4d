"""Coin evidence as a staged policy: the fold and its three questions."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.coin.bets import JointBet, log_joint
from bestarm.policy.coin.constants import CoinConstants
from bestarm.policy.coin.memory import (
    Memory,
    arms_in,
    best_but,
    is_in,
    lead,
    learn_difference,
    learn_sum,
    new_memory,
    outcome_variance,
    spread_between,
)
from bestarm.policy.coin.plan import HALVES, cash_of, needed, plan_stage, pooled
from bestarm.policy.coin.stake import Prospect, Views, choose_bet, focus, look
from bestarm.policy.record import FloatArray, IntArray
from bestarm.policy.stages import OPENED, RELEASED, Openings, Stages, new_stages
from bestarm.release.curves import MOST_CAP
from bestarm.rules import rule

MOST_CHAMPIONS: Final = 6
"""No more arms are bet on to be the best."""


class Scratch(NamedTuple):
    """Work space."""

    size: FloatArray
    gained: FloatArray
    champions: IntArray
    shares: FloatArray
    views: Views


class Stake(NamedTuple):
    """A bet, its reference point and the share of the wealth that is kept out of it."""

    bet: JointBet
    pivot: float
    cash: float


class Coin(NamedTuple):
    """The state."""

    stages: Stages
    memory: Memory
    scratch: Scratch


@rule(allocates=True)
def start_coin(constants: CoinConstants) -> Coin:
    """Before the first person."""
    return Coin(
        new_stages(constants.arms),
        new_memory(constants.arms, constants.law, constants.tuning.prior_spread),
        Scratch(
            np.zeros(constants.arms),
            np.zeros(constants.arms),
            np.zeros(MOST_CHAMPIONS, np.int64),
            np.zeros(MOST_CHAMPIONS),
            Views(np.zeros(constants.gaps.size), np.zeros(constants.gaps.size)),
        ),
    )


@rule(inline=False)
def open_stage(state: Coin, constants: CoinConstants, slot: int) -> None:
    """Plan the next stage and write its opening."""
    size = state.scratch.size
    course = plan_stage(constants, state.memory, state.scratch.views, size)
    total = 0.0
    for arm in range(constants.arms):
        total += size[arm]
    openings = state.stages.openings
    for arm in range(constants.arms):
        openings.weights[slot, arm] = size[arm] / total
    openings.difference[slot] = 1 if course.difference else 0
    openings.champion[slot] = course.champion
    pending = int(state.stages.progress[OPENED] - state.stages.progress[RELEASED])
    openings.planned[slot] = int(ahead_of_news(constants, course.people, enrolled(state.stages), pending))


@rule
def enrolled(stages: Stages) -> float:
    """People in all stages."""
    total = 0.0
    for arm in range(stages.assigned.size):
        total += stages.assigned[arm]
    return total


@rule
def ahead_of_news(constants: CoinConstants, planned: float, before: float, pending: int) -> float:
    """The size of a stage that opens while `pending` earlier ones, of `before` people in all, are not released yet.

    What they will say is not known, so it grows with what has been enrolled: the outcomes to come then reach every
    size that could be the right one, in stages few enough for their noise.
    """
    if pending == 0:
        return planned
    return max(planned, math.ceil(constants.tuning.ahead * before))


@rule(inline=False)
def extent(state: Coin, constants: CoinConstants, people: int) -> int:
    """The size that the plan would now give a stage."""
    planned = plan_stage(constants, state.memory, state.scratch.views, state.scratch.size).people
    pending = int(state.stages.progress[OPENED] - 1 - state.stages.progress[RELEASED])
    return int(ahead_of_news(constants, planned, enrolled(state.stages) - people, pending))


@rule
def prospect_of(
    constants: CoinConstants, memory: Memory, openings: Openings, slot: int, a: int, b: int, share: float
) -> Prospect:
    """A stage as a bet of champion a against b sees it: from memory and opening alone."""
    planned = float(openings.planned[slot])
    ratio = openings.weights[slot, a] / openings.weights[slot, b]
    pivot = pooled(memory, a, b, ratio)
    people = memory.people[a] + memory.people[b]
    difference = openings.difference[slot] == 1
    cash = cash_of(constants, memory, a, b)
    return Prospect(
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
    i: int,
    views: Views,
) -> Stake:
    """The i-th bet of champion a against b on a stage, and what it is placed with: chosen from earlier releases and
    from what was fixed when the stage opened. Coins, sizes and outcomes of the stage are out of reach."""
    prospect = prospect_of(constants, memory, openings, slot, a, b, share)
    variance = outcome_variance(prospect.pivot, memory.people[a] + memory.people[b])
    look(constants, memory, a, b, variance, 0.0, views)
    focus(constants, views, i)
    found = choose_bet(constants, prospect, views, constants.tuning.rounds)
    return Stake(found.bet, prospect.pivot, prospect.cash)


@rule
def payoff(placed: Stake, stages: Stages, slot: int, a: int, b: int, values: FloatArray) -> float:
    """What a stake of 1 has become."""
    sizes = (float(stages.size[slot, a]), float(stages.size[slot, b]))
    if stages.openings.difference[slot] == 1:
        value = values[0] if stages.openings.champion[slot] == a else -values[0]
        gain = log_joint(placed.bet, placed.pivot, sizes, (value, 0.0))
    else:
        gain = log_joint(placed.bet, placed.pivot, sizes, (values[a], values[b]))
    return placed.cash + (1.0 - placed.cash) * math.exp(min(gain, MOST_CAP))


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
    """The logarithm of what the bets against b have made of its wealth: a mixture over champions and differences."""
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
            for i in range(constants.gaps.size):
                placed = stake(
                    constants, state.memory, state.stages.openings, slot, a, b, share, i, scratch.views
                )
                won += share * payoff(placed, state.stages, slot, a, b, values) / constants.gaps.size
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
    for b in range(constants.arms):
        gained[b] = 0.0
        if is_in(memory, b) and weights[slot, b] > 0.0:
            gained[b] = log_gain(state, constants, slot, b, values)
    for b in range(constants.arms):
        memory.wealth[b] += gained[b]
    if stages.openings.difference[slot] == 1:
        a = int(stages.openings.champion[slot])
        for b in range(constants.arms):
            if b != a and weights[slot, b] > 0.0:
                sizes = (float(stages.size[slot, a]), float(stages.size[slot, b]))
                learn_difference(memory, constants.law, a, b, sizes, float(values[0]))
    else:
        if first and constants.tuning.pool > 0.0:
            seen = 0.0
            total = 0.0
            for arm in range(constants.arms):
                seen += stages.size[slot, arm]
                total += values[arm]
            for arm in range(constants.arms):
                memory.mean[arm] = min(max(total / seen, 0.0), 1.0)
                memory.variance[arm] = (constants.law.slope * constants.tuning.prior_spread) ** 2
        for arm in range(constants.arms):
            if weights[slot, arm] > 0.0:
                learn_sum(memory, constants.law, arm, float(stages.size[slot, arm]), float(values[arm]))
    strike_out(constants, memory)


@rule
def strike_out(constants: CoinConstants, memory: Memory) -> None:
    """Arms whose wealth reached the line are out."""
    total = 0.0
    for b in range(constants.arms):
        total += memory.people[b]
    for b in range(constants.arms):
        if is_in(memory, b):
            if memory.wealth[b] >= constants.threshold:
                memory.out_since[b] = total
        elif total >= constants.tuning.recall * memory.out_since[b] and arms_in(memory) > 1:
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
