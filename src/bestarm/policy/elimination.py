"""DP-SE: successive elimination in epochs (Sajed and Sheffet 2019), stopped when one arm is left.

All active arms get the same number of fresh people in an epoch; when each has been released, arms whose estimate is
too far below the best are dropped. The epoch's size is fixed before its first batch opens.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestarm.policy.algorithm import NOBODY, UNDECIDED
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import LARGEST_SIMULATED, FloatArray, IntArray, Record, new_record
from bestarm.rules import rule


class EliminationConstants(NamedTuple):
    """What DP-SE reads."""

    arms: int
    epsilon: float
    delta: float


class Elimination(NamedTuple):
    """What DP-SE remembers besides the record."""

    record: Record
    mean: FloatArray
    active: IntArray
    """1 for arms still in, 0 for dropped ones."""
    epoch: IntArray
    """One number: the current epoch e, from 1."""
    epoch_size: IntArray
    """One number: R_e, the size of every batch of the epoch."""


def elimination_constants(design: Numbers) -> EliminationConstants:
    """Constants of DP-SE."""
    return EliminationConstants(design.arms, design.budget, design.delta)


@rule
def size_of_epoch(epoch: int, active: int, constants: EliminationConstants) -> int:
    """R_e = floor(max(32 log(8|S|e^2/delta)/D^2, 8 log(4|S|e^2/delta)/(D epsilon)) + 1) with D = 2^-e."""
    gap = 2.0**-epoch
    by_chance = 32.0 * math.log(8.0 * active * epoch * epoch / constants.delta) / (gap * gap)
    by_noise = 8.0 * math.log(4.0 * active * epoch * epoch / constants.delta) / (gap * constants.epsilon)
    return int(min(math.floor(max(by_chance, by_noise) + 1.0), LARGEST_SIMULATED))


@rule
def slack_of_epoch(epoch: int, active: int, size: int, constants: EliminationConstants) -> float:
    """2(h_e + c_e): how far below the best an arm may be and stay."""
    by_chance = math.sqrt(math.log(8.0 * active * epoch * epoch / constants.delta) / (2.0 * size))
    by_noise = math.log(4.0 * active * epoch * epoch / constants.delta) / (size * constants.epsilon)
    return 2.0 * (by_chance + by_noise)


@rule(allocates=True)
def start_elimination(constants: EliminationConstants) -> Elimination:
    """Every arm active, epoch 1."""
    arms = constants.arms
    first_size = np.full(1, size_of_epoch(1, arms, constants))
    return Elimination(new_record(arms), np.zeros(arms), np.full(arms, 1), np.full(1, 1), first_size)


@rule
def size_in_epoch(state: Elimination, constants: EliminationConstants, arm: int) -> int:
    """The batching rule: every batch of an epoch has the epoch's size."""
    return int(state.epoch_size[0])


@rule
def fill_epoch(state: Elimination, constants: EliminationConstants, weights: FloatArray) -> int:
    """The sampling rule: the first active arm whose batch of this epoch has free places; nobody once all are full."""
    record = state.record
    for arm in range(constants.arms):
        unopened = record.opened[arm] < state.epoch[0]
        if state.active[arm] == 1 and (unopened or record.assigned[arm] < record.places[arm]):
            return arm
    return NOBODY


@rule
def end_epoch(state: Elimination, constants: EliminationConstants, arm: int) -> None:
    """After a release; with the epoch's last one, drop every arm that is too far below the best active one."""
    record = state.record
    state.mean[arm] = record.last_value[arm] / record.last_size[arm]
    epoch = int(state.epoch[0])
    active = 0
    best = -math.inf
    for a in range(constants.arms):
        if state.active[a] == 1:
            if record.released[a] < epoch:
                return
            active += 1
            best = max(best, state.mean[a])
    slack = slack_of_epoch(epoch, active, int(state.epoch_size[0]), constants)
    left = 0
    for a in range(constants.arms):
        if state.active[a] == 1:
            if best - state.mean[a] > slack:
                state.active[a] = 0
            else:
                left += 1
    state.epoch[0] = epoch + 1
    state.epoch_size[0] = size_of_epoch(epoch + 1, left, constants)


@rule
def last_one_left(state: Elimination, constants: EliminationConstants) -> int:
    """The stopping rule: over when one arm is left."""
    survivor = UNDECIDED
    for arm in range(constants.arms):
        if state.active[arm] == 1:
            if survivor != UNDECIDED:
                return UNDECIDED
            survivor = arm
    return survivor
