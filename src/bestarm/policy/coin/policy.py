"""Coin evidence as a staged policy: the fold and its three questions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.coin.bets import log_joint
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
from bestarm.policy.coin.plan import HALVES, missing, plan_stage, pooled
from bestarm.policy.coin.stake import Prospect, choose_bet
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import Openings, Stages, new_stages
from bestarm.rules import rule


class Scratch(NamedTuple):
    """Work space."""

    size: FloatArray
    gained: FloatArray


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
        Scratch(np.zeros(constants.arms), np.zeros(constants.arms)),
    )


@rule(inline=False)
def open_stage(state: Coin, constants: CoinConstants, slot: int) -> None:
    """Plan the next stage and write its opening."""
    size = state.scratch.size
    course = plan_stage(constants, state.memory, size)
    total = 0.0
    for arm in range(constants.arms):
        total += size[arm]
    openings = state.stages.openings
    for arm in range(constants.arms):
        openings.weights[slot, arm] = size[arm] / total
    openings.difference[slot] = 1 if course.difference else 0
    openings.champion[slot] = course.champion
    openings.planned[slot] = int(course.people)


@rule(inline=False)
def extent(state: Coin, constants: CoinConstants, people: int) -> int:
    """The size that the plan would now give a stage."""
    return int(plan_stage(constants, state.memory, state.scratch.size).people)


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
def prospect_of(constants: CoinConstants, memory: Memory, openings: Openings, slot: int, a: int, b: int) -> Prospect:
    """A stage as a bet of champion a against b sees it: from memory and opening alone."""
    planned = float(openings.planned[slot])
    ratio = openings.weights[slot, a] / openings.weights[slot, b]
    pivot = pooled(memory, a, b, ratio)
    people = memory.people[a] + memory.people[b]
    difference = openings.difference[slot] == 1
    return Prospect(
        planned * openings.weights[slot, a],
        planned * openings.weights[slot, b],
        ratio,
        pivot,
        HALVES if difference else outcome_variance(pivot, people),
        difference,
        missing(constants, memory, b),
    )


@rule(inline=False)
def log_gain(
    constants: CoinConstants, memory: Memory, stages: Stages, slot: int, a: int, b: int, values: FloatArray
) -> float:
    """The logarithm of the mixture of bets of champion a against b, on a release."""
    openings = stages.openings
    prospect = prospect_of(constants, memory, openings, slot, a, b)
    tuning = constants.tuning
    gap = lead(memory, a, b)
    spread = spread_between(memory, a, b)
    sizes = (float(stages.size[slot, a]), float(stages.size[slot, b]))
    won = 0.0
    for i in range(constants.gaps.size):
        alternative = max(gap + (constants.gaps[i] - tuning.lean) * spread, tuning.least_gap * spread)
        bet = choose_bet(constants, prospect, alternative, tuning.rounds).bet
        if prospect.difference:
            value = values[0] if openings.champion[slot] == a else -values[0]
            gain = log_joint(bet, prospect.pivot, sizes, (value, 0.0))
        else:
            gain = log_joint(bet, prospect.pivot, sizes, (values[a], values[b]))
        won += math.exp(min(gain, 600.0))
    return won / constants.gaps.size


@rule(inline=False)
def settle(state: Coin, constants: CoinConstants, slot: int, values: FloatArray) -> None:
    """Settle the bets of a release, then learn from it."""
    memory = state.memory
    stages = state.stages
    weights = stages.openings.weights
    gained = state.scratch.gained
    first = memory.people[best_but(memory, -1)] == 0.0
    leader = best_but(memory, -1)
    for b in range(constants.arms):
        gained[b] = 0.0
        if is_in(memory, b) and weights[slot, b] > 0.0:
            won = 0.0
            champions = 0
            for a in range(constants.arms):
                if a != b and is_in(memory, a) and weights[slot, a] > 0.0:
                    if first or a == (leader if b != leader else best_but(memory, leader)):
                        cash = constants.tuning.first_cash if first else cash_of(constants, memory, a, b)
                        won += cash + (1.0 - cash) * log_gain(constants, memory, stages, slot, a, b, values)
                        champions += 1
            if champions > 0:
                gained[b] = math.log(won / champions)
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
