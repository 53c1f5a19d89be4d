"""Evidence Top Two: a sequential test by betting, with as few and as well placed releases as possible.

The state is the public record, the cells with their wealth, a belief for every arm and the stage in progress. The cells
of an arm b are bet against in two ways: with b's own releases, that its mean is lower, and with those of its champion
(the best of the others), that the champion's mean is higher. Wealth of 1/delta in every cell of every other arm ends
the trial. See docs/evidence-proof.md for why at most a share delta of trials errs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestarm.errors import InputError
from bestarm.policy.algorithm import SEVERAL, UNDECIDED, Design
from bestarm.policy.evidence_belief import POINTS, gather, log_densities, summarise
from bestarm.policy.evidence_bets import Slip, log_bet, new_slip, write_slip
from bestarm.policy.evidence_cells import Cells, cut, least_wealth, new_cells, restart, strike_out
from bestarm.policy.evidence_plan import Plan, first_batch, new_plan, plan_stage
from bestarm.policy.record import FloatArray, IntArray, Record, new_record
from bestarm.release.laws import Law, local_law, no_privacy, pure_law, zcdp_law
from bestarm.rules import rule

AHEAD = 1.0
"""A batch that opens before its stage holds this share of the people that its arm has: small ones are poor value."""
GRID_BITS = 20
"""Outcomes that are not binary are rounded at random to multiples of 2^-20 before central noise is added."""

RECALL = 6.0
"""An arm that is out gets a second look each time the leader's total has grown by this factor."""
RECALL_NEED = 2.3
"""Nats that strike it out again. An arm that was struck out by mistake has used up the risk; ten to one it stays in."""


class EvidenceConstants(NamedTuple):
    """What the rules read."""

    arms: int
    law: Law
    tilted: bool
    threshold: float
    """log(1/delta)."""
    indifference: float
    first: int
    """Size of every arm's first batch."""


class Beliefs(NamedTuple):
    """What is believed of every arm, and scratch to work with it."""

    point: FloatArray
    weight: FloatArray
    """Logarithms, arm by point."""
    mean: FloatArray
    spread: FloatArray
    density: FloatArray
    fresh: FloatArray
    moved: FloatArray


class Evidence(NamedTuple):
    """The state."""

    record: Record
    cells: Cells
    beliefs: Beliefs
    plan: Plan
    slip: Slip
    leader: IntArray
    """The arm with the highest estimate among those that are left; -1 before the first release."""
    floor: FloatArray
    """With an indifference zone: the log wealth that every cell of an arm may hand on to a new champion."""
    out_since: IntArray
    """Outcomes of the leader when an arm was found to be out; 0 while it is in."""
    champion: IntArray
    """Whose releases speak against each arm, as of the last release; -1 for nobody's."""
    trust: FloatArray
    """The share of an arm's wealth that is staked on its champion, as of the last release."""


def law_of(design: Design, tilted: bool) -> Law:
    """The law of releases that the design promises."""
    bits = 0 if design.binary or not tilted else GRID_BITS
    if design.privacy == "pure":
        return pure_law(design.epsilon, bits)
    if design.privacy == "local":
        return local_law(design.epsilon)
    if design.privacy == "zcdp":
        if design.rho is None:
            raise InputError("The privacy model zcdp needs --rho, a positive number.")
        return zcdp_law(design.rho, bits)
    return no_privacy()


def evidence_constants(design: Design) -> EvidenceConstants:
    """Likelihood form wherever what is counted is binary and its law is known in closed form, else tilted form."""
    return _constants(design, design.privacy == "zcdp" or not (design.binary or design.privacy == "local"))


def tilted_constants(design: Design) -> EvidenceConstants:
    """Tilted form whatever the outcomes."""
    return _constants(design, True)


def likelihood_constants(design: Design) -> EvidenceConstants:
    """Likelihood form; outcomes that are not binary become so by a coin."""
    return _constants(design, False)


def _constants(design: Design, tilted: bool) -> EvidenceConstants:
    law = law_of(design, tilted)
    threshold = math.log(1.0 / design.delta)
    return EvidenceConstants(design.arms, law, tilted, threshold, float(design.indifference), first_batch(law))


@rule(allocates=True)
def start_evidence(constants: EvidenceConstants) -> Evidence:
    """Nothing released yet; a flat belief for every arm."""
    arms = constants.arms
    point = np.zeros((arms, POINTS))
    for arm in range(arms):
        for k in range(POINTS):
            point[arm, k] = (k + 0.5) / POINTS
    scratch = np.zeros(POINTS), np.zeros(POINTS), np.zeros(POINTS)
    weight = np.zeros((arms, POINTS))
    beliefs = Beliefs(point, weight, np.full(arms, 0.5), np.full(arms, 0.29), scratch[0], scratch[1], scratch[2])
    cells = new_cells(arms, constants.indifference)
    plan = new_plan(arms, constants.first)
    return Evidence(
        new_record(arms, 0),
        cells,
        beliefs,
        plan,
        new_slip(),
        np.full(1, -1),
        np.zeros(arms),
        np.zeros(arms, np.int64),
        np.full(arms, -1),
        np.zeros(arms),
    )


@rule(inline=False)
def size_of_stage(state: Evidence, constants: EvidenceConstants, arm: int) -> int:
    """The size that the stage's plan foresees; a batch that opens ahead of its stage is a share of what the arm has."""
    if state.record.opened[arm] < state.plan.due[arm]:
        return int(state.plan.size[arm])
    return math.ceil(AHEAD * float(state.record.places[arm]))


@rule(inline=False)
def recruit_side_by_side(state: Evidence, constants: EvidenceConstants, weights: FloatArray) -> int:
    """Every arm whose batch of this stage has free places, in proportion to the batches' sizes.

    Once all of these are taken and outcomes are still due, as happens in a live trial only, the stage's arms go on to
    fill batches ahead of the next stage: enrolment never waits.
    """
    record = state.record
    plan = state.plan
    total = 0.0
    for arm in range(constants.arms):
        weights[arm] = 0.0
        free = record.opened[arm] < plan.due[arm] or record.assigned[arm] < record.places[arm]
        if takes_part(state, arm) and record.released[arm] < plan.due[arm] and free:
            weights[arm] = plan.size[arm]
            total += weights[arm]
    if total == 0.0:
        for arm in range(constants.arms):
            if takes_part(state, arm):
                weights[arm] = plan.size[arm]
                total += weights[arm]
    for arm in range(constants.arms):
        weights[arm] /= total
    return SEVERAL


@rule(inline=False)
def takes_part(state: Evidence, arm: int) -> bool:
    """Whether the arm is still in and has a batch in this stage."""
    return bool(state.plan.size[arm] > 0 and state.cells.left[arm] > 0)


@rule(inline=False)
def only_one_left(state: Evidence, constants: EvidenceConstants) -> int:
    """The last arm that is not out; the leader, should a release have struck out all at once."""
    left = UNDECIDED
    for arm in range(constants.arms):
        if state.cells.left[arm] > 0:
            if left != UNDECIDED:
                return UNDECIDED
            left = arm
    return left if left != UNDECIDED else int(state.leader[0])


@rule(inline=False)
def weigh_release(state: Evidence, constants: EvidenceConstants, arm: int) -> None:
    """Settle the bets on a release, learn from it, and plan the next stage when this one is complete."""
    record = state.record
    beliefs = state.beliefs
    n = float(record.last_size[arm])
    r = float(record.last_value[arm])
    choose_champions(state, constants)
    log_densities(constants.law, constants.tilted, n, r, beliefs.point, arm, beliefs.density)
    for up in (True, False):
        write_slip(
            state.slip,
            constants.law,
            constants.tilted,
            n,
            beliefs.point,
            beliefs.weight,
            beliefs.density,
            arm,
            up,
        )
        for b in range(constants.arms):
            if state.champion[b] >= 0 and (state.champion[b] == arm if up else b == arm):
                settle(state, constants, b, n, r, up)
    for k in range(POINTS):
        beliefs.weight[arm, k] += beliefs.density[k]
    mean, spread = summarise(beliefs.point, beliefs.weight, arm)
    beliefs.mean[arm] = mean
    beliefs.spread[arm] = spread
    gather(beliefs.point, beliefs.weight, arm, mean, spread, beliefs.fresh, beliefs.moved)
    follow(state, constants)
    if only_one_left(state, constants) == UNDECIDED and stage_is_complete(state, constants):
        begin_stage(state, constants)


@rule(inline=False)
def choose_champions(state: Evidence, constants: EvidenceConstants) -> None:
    """Fix champions and stakes for all arms before any bet is settled: they must not depend on the release."""
    for b in range(constants.arms):
        state.champion[b] = champion_of(state, constants, b) if state.cells.left[b] > 0 else -1
        state.trust[b] = trust_in(state, constants, int(state.champion[b]), b) if state.champion[b] >= 0 else 0.0


@rule(inline=False)
def champion_of(state: Evidence, constants: EvidenceConstants, b: int) -> int:
    """The arm whose releases speak against b being the best: the leader, or for the leader the next best; or -1."""
    leader = int(state.leader[0])
    if leader >= 0 and leader != b:
        return leader
    champion = -1
    if constants.indifference == 0.0:
        for a in range(constants.arms):
            better = champion < 0 or state.beliefs.mean[a] > state.beliefs.mean[champion]
            if a != b and state.cells.left[a] > 0 and better:
                champion = a
    return champion


@rule(inline=False)
def trust_in(state: Evidence, constants: EvidenceConstants, champion: int, b: int) -> float:
    """About how likely the champion is the best of all arms but b: the share of the wealth that is staked on it."""
    beliefs = state.beliefs
    trust = 1.0
    for a in range(constants.arms):
        if a != b and a != champion and state.cells.left[a] > 0:
            spread = math.sqrt(beliefs.spread[champion] ** 2 + beliefs.spread[a] ** 2)
            lead = (beliefs.mean[champion] - beliefs.mean[a] + constants.indifference) / spread
            trust /= 1.0 + math.exp(min(-lead, 500.0))
    return trust


@rule(inline=False)
def settle(state: Evidence, constants: EvidenceConstants, b: int, n: float, r: float, up: bool) -> None:
    """Multiply the wealth of b's cells by the bets on a release of its champion (`up`) or of b itself."""
    cells = state.cells
    beliefs = state.beliefs
    gamma = constants.indifference
    champion = state.champion[b]
    trust = state.trust[b] if up else 1.0
    blur = beliefs.spread[champion] + beliefs.spread[b]
    cut(cells, b, beliefs.mean[b], beliefs.mean[champion] + gamma, blur)
    for i in range(cells.left[b]):
        need = constants.threshold - cells.wealth[b, i]
        if up:
            null = cells.high[b, i] - gamma
            won = log_bet(state.slip, constants.law, constants.tilted, n, r, null, need, trust)
        else:
            null = 1.0 - cells.low[b, i]
            won = log_bet(state.slip, constants.law, constants.tilted, n, n - r, null, need, trust)
        cells.wealth[b, i] += won
    strike_out(cells, b, constants.threshold)


@rule(inline=False)
def follow(state: Evidence, constants: EvidenceConstants) -> None:
    """Let the arm with the highest estimate lead, among those that are left.

    With an indifference zone, what was shown about one leader says nothing about another: a lead must be clear to
    change hands, and then every cell starts again with what it can hand on.
    """
    beliefs = state.beliefs
    before = int(state.leader[0])
    best = -1
    for a in range(constants.arms):
        better = best < 0 or beliefs.mean[a] > beliefs.mean[best]
        if state.cells.left[a] > 0 and state.record.released[a] > 0 and better:
            best = a
    if best < 0:
        return
    if constants.indifference == 0.0 or before < 0:
        state.leader[0] = best
    elif best != before and beliefs.mean[best] > beliefs.mean[before] + 0.5 * constants.indifference:
        state.leader[0] = best
        for b in range(constants.arms):
            state.floor[b] = least_wealth(state.cells, b, state.floor[b])
            restart(state.cells, b, constants.indifference, state.floor[b])


@rule(inline=False)
def stage_is_complete(state: Evidence, constants: EvidenceConstants) -> bool:
    """Whether every batch of the stage that still matters has been released."""
    for arm in range(constants.arms):
        if takes_part(state, arm) and state.record.released[arm] < state.plan.due[arm]:
            return False
    return True


@rule(inline=False)
def begin_stage(state: Evidence, constants: EvidenceConstants) -> None:
    """Plan the batches of the next stage."""
    leader = int(state.leader[0])
    beliefs = state.beliefs
    recall(state, constants)
    for b in range(constants.arms):
        if b != leader and state.cells.left[b] > 0:
            blur = beliefs.spread[leader] + beliefs.spread[b]
            cut(state.cells, b, beliefs.mean[b], beliefs.mean[leader] + constants.indifference, blur)
    plan_stage(
        state.plan,
        state.cells,
        constants.law,
        constants.tilted,
        constants.threshold,
        constants.indifference,
        leader,
        beliefs.mean,
        beliefs.spread,
        state.record.counted,
    )
    for arm in range(constants.arms):
        if state.plan.size[arm] > 0:
            state.plan.due[arm] = state.record.released[arm] + 1


@rule(inline=False)
def recall(state: Evidence, constants: EvidenceConstants) -> None:
    """Look again at arms that have been out for long.

    Should the best arm have been struck out by bad luck and the others be equally good, nothing else would ever end the
    trial. Coming back costs nothing in proof: the risk is that the best arm is *ever* struck out.
    """
    counted = state.record.counted[state.leader[0]]
    for b in range(constants.arms):
        if state.cells.left[b] > 0:
            state.out_since[b] = 0
        elif state.out_since[b] == 0:
            state.out_since[b] = counted
        elif counted >= RECALL * state.out_since[b]:
            restart(state.cells, b, constants.indifference, constants.threshold - RECALL_NEED)
