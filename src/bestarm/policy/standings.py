"""How far the paper's tests have come against each rival, for reports. Never compiled; reads the record only."""

from __future__ import annotations

from bestarm.policy.algorithm import Standing
from bestarm.policy.record import IntArray, Record
from bestarm.policy.sampling import TopTwo, first_release_missing, highest
from bestarm.policy.stopping import (
    GLRConstants,
    HasMean,
    Threshold,
    count_cost,
    phase_threshold,
    private_threshold,
    published_threshold,
    statistic,
)


def private_glr_standings(state: HasMean, constants: GLRConstants) -> list[Standing]:
    """For `private_glr`."""
    return _standings(state, constants, private_threshold, state.record.last_size)


def phase_glr_standings(state: HasMean, constants: GLRConstants) -> list[Standing]:
    """For `phase_glr`."""
    return _standings(state, constants, phase_threshold, state.record.last_size)


def published_standings(state: HasMean, constants: GLRConstants) -> list[Standing]:
    """For `published_glr`, whose threshold has no proof."""
    return _standings(state, constants, published_threshold, state.record.last_size)


def ttucb_standings(state: TopTwo, constants: GLRConstants) -> list[Standing]:
    """For `ttucb_glr`, whose estimates use every outcome."""

    def threshold(record: Record, constants: GLRConstants, a: int, b: int) -> float:
        return float(constants.c_phases[0, 0]) + count_cost(record.counted[a], record.counted[b])

    return _standings(state, constants, threshold, state.record.counted)


def _standings(state: HasMean, constants: GLRConstants, threshold: Threshold, size: IntArray) -> list[Standing]:
    if first_release_missing(state.record):
        return []
    best = highest(state.mean)
    found = []
    for rival in range(constants.arms):
        if rival != best:
            reached = statistic(float(state.mean[best] - state.mean[rival]), float(size[best]), float(size[rival]))
            found.append(Standing(rival, reached, 2.0 * threshold(state.record, constants, best, rival)))
    return found
