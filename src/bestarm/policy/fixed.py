"""The fixed design as an algorithm: one batch of the same size for every arm, then the highest release.

What anybody can do without this package, so that everybody can compare. It rests on a guessed base rate: the size is
the smallest that keeps the promise if all arms but one have that rate and this one is better by the difference
(bestarm/theory/fixed.py). Where the guess is wrong the promise is, too; nothing in the trial would tell.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from bestarm.policy.algorithm import NOBODY, SEVERAL, UNDECIDED
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import FloatArray, Record, new_record
from bestarm.rules import rule
from bestarm.theory.fixed import fixed_size


class FixedConstants(NamedTuple):
    """What the rules read."""

    arms: int
    size: int
    """People of every arm."""


class Fixed(NamedTuple):
    """The record is all there is to remember."""

    record: Record


def fixed_constants(design: Numbers) -> FixedConstants:
    """The size, from the planned base rate and the smallest difference that matters; at least a group's, if any."""
    needed = fixed_size(design.arms, design.base, design.difference, design.delta, design.law)
    return FixedConstants(design.arms, max(needed, design.law.group))


@rule(allocates=True)
def start_fixed(constants: FixedConstants) -> Fixed:
    """Before the first person."""
    return Fixed(new_record(constants.arms))


@rule
def size_of_arm(state: Fixed, constants: FixedConstants, arm: int) -> int:
    """Every arm's only batch."""
    return constants.size


@rule
def recruit_evenly(state: Fixed, constants: FixedConstants, weights: FloatArray) -> int:
    """All arms with free places alike; nobody once every batch is full."""
    record = state.record
    free = 0
    for arm in range(constants.arms):
        weights[arm] = 0.0
        if record.assigned[arm] < constants.size:
            weights[arm] = 1.0
            free += 1
    if free == 0:
        return NOBODY
    for arm in range(constants.arms):
        weights[arm] /= free
    return SEVERAL


@rule
def nothing_to_learn(state: Fixed, constants: FixedConstants, arm: int) -> None:
    """The `released` rule: nothing follows from a single release."""


@rule
def highest(state: Fixed, constants: FixedConstants) -> int:
    """Over once every arm is released: the highest release; of equal ones the first, which the size allows for."""
    best = UNDECIDED
    most = -math.inf
    for arm in range(constants.arms):
        if state.record.released[arm] == 0:
            return UNDECIDED
        if state.record.last_value[arm] > most:
            most = state.record.last_value[arm]
            best = arm
    return best


def explain_fixed(state: Fixed, constants: FixedConstants, labels: list[str]) -> str:
    """The verdict's reason, or what is missing."""
    record = state.record
    best = highest(state, constants)
    if best == UNDECIDED:
        due = sum(1 for arm in range(constants.arms) if record.released[arm] == 0)
        return f"{due} of {constants.arms} arms have not been released yet; each takes {constants.size} people."
    value = record.last_value[best] / constants.size
    return f"{labels[best]} has the highest noisy mean, {value:.4g}, of {constants.size} people on every arm."
