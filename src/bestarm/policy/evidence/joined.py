"""Coin evidence: one algorithm, with or without a stated smallest difference, or against control.

Without one an arm has one account, against being the best (`policy`); with one, an account for every champion
(`zone`); against control, one each way (`control`). With a hard end, stages and lines are the design's own
(`hard_end`). Everything else is shared: stages, coins, fair bets, and the order in which releases enter.
"""

from __future__ import annotations

from typing import NamedTuple

from bestarm.policy.evidence import hard_end as ending
from bestarm.policy.evidence import policy as single
from bestarm.policy.evidence import zone as paired
from bestarm.policy.evidence.constants import CoinConstants, coin_constants
from bestarm.policy.evidence.control import ControlConstants, control_constants, found, open_accounts, settle_control
from bestarm.policy.evidence.control_plan import extent_control, open_control
from bestarm.policy.evidence.hard_end import Climb, LadderConstants, Leads, has_end, ladder_constants, new_leads
from bestarm.policy.evidence.memory import Memory
from bestarm.policy.evidence.pairs import (
    Pairs,
    PairScratch,
    Zone,
    ZoneConstants,
    new_pairs,
    new_scratch,
    recommended,
    zone_constants,
)
from bestarm.policy.evidence.policy import ArmScratch, Coin
from bestarm.policy.evidence.zone_plan import first_stake
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import Stages
from bestarm.rules import rule


class EvidenceConstants(NamedTuple):
    """What the rules read."""

    single: CoinConstants
    paired: ZoneConstants
    control: ControlConstants
    ladder: LadderConstants


class EvidenceScratch(NamedTuple):
    """Work space."""

    single: ArmScratch
    paired: PairScratch


class Evidence(NamedTuple):
    """The state; of memory, pairs and leads one is used."""

    stages: Stages
    memory: Memory
    pairs: Pairs
    leads: Leads
    scratch: EvidenceScratch


def evidence_constants(design: Numbers) -> EvidenceConstants:
    """For a design."""
    arms, law, against = design.arms, design.law, design.against
    risks = (design.delta, design.delta_none)
    return EvidenceConstants(
        coin_constants(arms, law, design.delta, against=against),
        zone_constants(arms, law, design.delta, max(design.difference, 0.0), against=against),
        control_constants(arms, law, risks, design.difference, design.control, against),
        ladder_constants(design.arms, design.ladder),
    )


@rule(allocates=True)
def start_evidence(constants: EvidenceConstants) -> Evidence:
    """Before the first person."""
    coin = single.start_coin(constants.single)
    staked = first_stake(constants.paired) if constants.paired.zone > 0.0 else 1.0
    pairs = new_pairs(constants.paired, staked)
    if constants.control.arm >= 0:
        staked = first_stake(constants.control.first)
        pairs = new_pairs(constants.control.first, staked)
        open_accounts(constants.control, pairs, staked)
    scratch = EvidenceScratch(coin.scratch, new_scratch(constants.paired))
    leads = new_leads(constants.single.arms)
    return Evidence(coin.stages, coin.memory, pairs, leads, scratch)


@rule
def of_arms(state: Evidence) -> Coin:
    """The state as the rules without a stated difference see it."""
    return Coin(state.stages, state.memory, state.scratch.single)


@rule
def of_pairs(state: Evidence) -> Zone:
    """The state as the rules with a stated difference see it."""
    return Zone(state.stages, state.pairs, state.scratch.paired)


@rule
def of_leads(state: Evidence) -> Climb:
    """The state as the rules with a hard end see it."""
    return Climb(state.stages, state.leads)


@rule(inline=False)
def open_stage(state: Evidence, constants: EvidenceConstants, slot: int) -> None:
    """Plan the next stage and write its opening."""
    if constants.control.arm >= 0:
        open_control(of_pairs(state), constants.control, slot)
    elif has_end(constants.ladder):
        ending.open_rung(of_leads(state), constants.ladder, slot)
    elif constants.paired.zone > 0.0:
        paired.open_zone(of_pairs(state), constants.paired, slot)
    else:
        single.open_stage(of_arms(state), constants.single, slot)


@rule(inline=False)
def extent(state: Evidence, constants: EvidenceConstants, people: int) -> int:
    """At which size the open stage closes."""
    if constants.control.arm >= 0:
        return extent_control(of_pairs(state), constants.control, people)
    if has_end(constants.ladder):
        return ending.extent_of_rung(of_leads(state))
    if constants.paired.zone > 0.0:
        return paired.extent_zone(of_pairs(state), constants.paired, people)
    return single.extent(of_arms(state), constants.single, people)


@rule(inline=False)
def settle(state: Evidence, constants: EvidenceConstants, slot: int, values: FloatArray) -> None:
    """Settle the bets of a release, then learn from it."""
    if constants.control.arm >= 0:
        settle_control(of_pairs(state), constants.control, slot, values)
    elif has_end(constants.ladder):
        ending.settle_rung(of_leads(state), constants.ladder, slot, values)
    elif constants.paired.zone > 0.0:
        paired.settle_zone(of_pairs(state), constants.paired, slot, values)
    else:
        single.settle(of_arms(state), constants.single, slot, values)


@rule(inline=False)
def merges(state: Evidence, constants: EvidenceConstants) -> bool:
    """Whether the oldest stage waits for the next one. Where a difference is stated, each is released by itself: walks
    are over a number of people that is fixed when their stage opens."""
    if constants.control.arm >= 0 or has_end(constants.ladder) or constants.paired.zone > 0.0:
        return False
    return single.merges(of_arms(state), constants.single)


@rule(inline=False)
def over(state: Evidence, constants: EvidenceConstants) -> int:
    """The recommended arm, or UNDECIDED; control for "none"."""
    if constants.control.arm >= 0:
        return found(constants.control, state.pairs)
    if has_end(constants.ladder):
        return ending.highest(of_leads(state), constants.ladder)
    if constants.paired.zone > 0.0:
        return recommended(constants.paired, state.pairs)
    return single.over(of_arms(state), constants.single)
