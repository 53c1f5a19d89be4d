"""How many people the next stage takes when arms are compared with control, and with what weights.

While the candidate looks better than control by more than halfway to the upper line, the stage is about it: control,
the candidate, and whoever may still be ahead of it. Otherwise it is about "none": control, and every arm that has not
been given up. Sizes follow from the public record; they decide how many people a trial needs, never whether its verdict
can be trusted.
"""

from __future__ import annotations

from typing import Final

from bestarm.policy.evidence.belief import spread_between
from bestarm.policy.evidence.control import ControlConstants
from bestarm.policy.evidence.pairs import Pairs, Zone
from bestarm.policy.evidence.zone import SET_APART
from bestarm.policy.evidence.zone_plan import ZonePlan, balance, plan_first, plan_of, rival_size
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import OPENED, PENDING, RELEASED, newest_slot
from bestarm.rules import rule

NEAR: Final = 1.0
"""Arms whose estimate is at most so many standard deviations behind the candidate's stay beside it."""


@rule
def looks_better(constants: ControlConstants, pairs: Pairs) -> bool:
    """Whether the candidate is likelier to be found better than control than to be given up."""
    mean = pairs.belief.mean
    return bool(mean[pairs.leader[0]] - mean[constants.arm] > constants.middle)


@rule
def champion_of(constants: ControlConstants, pairs: Pairs) -> int:
    """The arm whose lead the next stage is about."""
    return int(pairs.leader[0]) if looks_better(constants, pairs) else constants.arm


@rule
def is_tried(constants: ControlConstants, pairs: Pairs, a: int) -> bool:
    """Whether an arm other than control is in the next stage."""
    if a == constants.arm or pairs.out[constants.arm, a] == 1:
        return False
    leader = int(pairs.leader[0])
    if a == leader or not looks_better(constants, pairs):
        return True
    behind = pairs.belief.mean[leader] - pairs.belief.mean[a]
    return bool(behind <= NEAR * spread_between(pairs.belief, leader, a))


@rule
def size_against(
    constants: ControlConstants, pairs: Pairs, a: int, better: bool, difference: bool
) -> tuple[float, bool]:
    """People on an arm, and whether the bets on it will be walks."""
    if better:
        return rival_size(constants.better, pairs, a, constants.arm, difference)
    return rival_size(constants.none, pairs, constants.arm, a, difference)


@rule(inline=False)
def plan_control(constants: ControlConstants, pairs: Pairs, size: FloatArray) -> ZonePlan:
    """Writes the people that each arm should get into `size`."""
    paired = constants.better
    control = constants.arm
    if pairs.belief.people[control] == 0.0:
        return plan_first(constants.first, size)
    better = looks_better(constants, pairs)
    difference = False
    for _ in range(2):
        tried = 0
        walks = 0
        for a in range(paired.arms):
            size[a] = 0.0
            if is_tried(constants, pairs, a):
                # Whoever is tried beside the candidate may turn out to be it, and is no use with fewer people.
                of = int(pairs.leader[0]) if better else a
                size[a], walk = size_against(constants, pairs, of, better, difference)
                tried += 1
                walks += 1 if walk else 0
        suits = balance(paired, pairs.belief, control, size, walks == tried)
        if difference or tried != 1 or not suits:
            break
        difference = True
    return plan_of(paired, size, difference)


@rule(inline=False)
def open_control(zone: Zone, constants: ControlConstants, slot: int) -> None:
    """Plan the next stage and write its opening."""
    size = zone.scratch.size
    course = plan_control(constants, zone.pairs, size)
    if zone.stages.progress[OPENED] - zone.stages.progress[RELEASED] >= PENDING - 1:
        # The stage in the last place may be extended until news comes, so there must be no bet on a walk in it: these
        # are placed on arms of equal weights only, and control is in every pair.
        size[constants.arm] *= SET_APART
    total = 0.0
    for arm in range(constants.better.arms):
        total += size[arm]
    openings = zone.stages.openings
    for arm in range(constants.better.arms):
        openings.weights[slot, arm] = size[arm] / total
    openings.difference[slot] = 1 if course.difference else 0
    openings.champion[slot] = champion_of(constants, zone.pairs)
    openings.planned[slot] = int(course.people)


@rule(inline=False)
def extent_control(zone: Zone, constants: ControlConstants, people: int) -> int:
    """The open stage's size, fixed when it opened if a bet on a walk may come of it; else as the plan would have it."""
    slot = newest_slot(zone.stages)
    weights = zone.stages.openings.weights
    for a in range(constants.better.arms):
        apart = abs(weights[slot, a] - weights[slot, constants.arm])
        if a != constants.arm and weights[slot, a] > 0.0 and apart <= 1e-5 * weights[slot, a]:
            return int(zone.stages.openings.planned[slot])
    return int(plan_control(constants, zone.pairs, zone.scratch.size).people)
