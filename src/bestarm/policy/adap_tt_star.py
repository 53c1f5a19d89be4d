"""AdaP-TT*: the authors' second version of AdaP-TT (Azize et al. 2024), proven.

Batches, forgetting, leader and tracking are those of AdaP-TT. Another cost takes the place of the squared gap, in the
challenger and in the stopping rule: a gap beyond 3 epsilon counts linearly. Outcomes in [0, 1] count with their own
sigma = 1/2. The threshold is a union bound over three events of probability delta/3 each: the pair of means, each
single mean, each noise. (docs/algorithms.md)
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from scipy.special import lambertw, zeta

from bestarm.policy.algorithm import UNDECIDED, Standing
from bestarm.policy.explain import WAITING, explain_closest
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import FloatArray, Record
from bestarm.policy.sampling import TopTwo, fewest_assigned, first_release_missing, highest, leader_is_due
from bestarm.policy.stopping import HasMean, count_cost
from bestarm.policy.thresholds import MAX_PHASES, c_phases
from bestarm.rules import rule

SIGMA: Final = 0.5
"""Outcomes in [0, 1] are sub-Gaussian with this deviation (Hoeffding)."""


class StarConstants(NamedTuple):
    """What AdaP-TT* reads. The tables have an entry for every phase, from 0 (unused) to MAX_PHASES."""

    arms: int
    epsilon: float
    delta: float
    beta: float
    pair: FloatArray
    """2 C_G of both phases at delta/3."""
    mean: FloatArray
    """h: how far one arm's own mean may stray, n (deviation)^2 / (2 sigma^2)."""
    noise: FloatArray
    """log(3 K zeta(s) k^s/delta): how far one noise may stray, in units of its scale 1/epsilon."""
    far: FloatArray
    """The noise's part of the threshold for gaps beyond 3 epsilon."""


def phase_of_size(n: FloatArray) -> FloatArray:
    """k(n) = log2 n + 2, by which the authors count the batch of n people."""
    return np.log2(n) + 2.0


def w_bar(x: FloatArray) -> FloatArray:
    """The larger y with y - log y = x, for x >= 1: -W_{-1}(-e^-x)."""
    # From x = 700 on e^-x is no double any more; y = x + log y is then found in a few steps.
    near = -np.real(lambertw(-np.exp(-np.minimum(x, 700.0)), -1))
    far = x + np.log(np.maximum(x, 1.0))
    for _ in range(20):
        far = x + np.log(far)
    return np.where(x < 700.0, near, far)


def star_constants(design: Numbers) -> StarConstants:
    """The tables for every phase; the batch of phase k has max(1, 2^(k - 2)) people."""
    sizes = 2.0 ** np.maximum(np.arange(MAX_PHASES + 1) - 2, 0)
    k = phase_of_size(sizes)
    logs = np.log(3 * design.arms * zeta(design.s) * k**design.s / design.delta)
    mean = w_bar(2 * logs + 4 * np.log(4 + np.log(sizes)) + 0.5) / 2
    pair = c_phases(design.arms, design.delta / 3, design.s)
    as_counted = np.maximum(np.arange(MAX_PHASES + 1), 2)
    # As printed, log(3 K zeta k/delta) with a factor of 2; for s > 2 the proof asks for k^s, which may be more.
    printed = np.log(3 * design.arms * zeta(design.s) * k / design.delta)
    far = np.maximum(printed, logs / 2) * 3 / SIGMA**2
    return StarConstants(
        design.arms, design.budget, design.delta, design.beta, pair[np.ix_(as_counted, as_counted)], mean, logs, far
    )


@rule
def star_cost(gap: float, n: float, m: float, epsilon: float) -> float:
    """W = gap min(3 epsilon, gap) / (2 sigma^2 (1/n + 1/m)) for a positive gap, 0 otherwise."""
    if gap <= 0.0:
        return 0.0
    return gap * min(3.0 * epsilon, gap) * (n * m / (n + m)) / (2.0 * SIGMA * SIGMA)


@rule
def star_threshold(record: Record, constants: StarConstants, a: int, b: int, gap: float) -> float:
    """What the cost has to exceed, for a gap below 3 epsilon and for a larger one."""
    k1 = min(record.released[a], MAX_PHASES)
    k2 = min(record.released[b], MAX_PHASES)
    n = float(record.last_size[a])
    m = float(record.last_size[b])
    if gap < 3.0 * constants.epsilon:
        scale = 1.0 / (constants.epsilon * SIGMA)
        first = constants.noise[k1] * scale
        second = constants.noise[k2] * scale
        crossed = math.sqrt(constants.mean[k1] / n) * first + math.sqrt(constants.mean[k2] / m) * second
        squares = 0.5 * (first * first / n + second * second / m)
        return float(constants.pair[k1, k2] + count_cost(n, m) + squares + math.sqrt(2.0) * crossed)
    drift = math.sqrt(n * constants.mean[k1]) + math.sqrt(m * constants.mean[k2])
    noise = max(constants.far[k1], constants.far[k2])
    return float(noise + 3.0 * constants.epsilon / (math.sqrt(2.0) * SIGMA) * drift)


@rule
def star_top_two(state: TopTwo, constants: StarConstants, weights: FloatArray) -> int:
    """AdaP-TT's tracking with the challenger of least cost W, all people of an arm counted."""
    leader = int(state.leader[0])
    if leader < 0:
        return fewest_assigned(state.record)
    if leader_is_due(state, constants):
        return leader
    challenger = -1
    least = math.inf
    n = float(state.record.assigned[leader])
    for arm in range(constants.arms):
        if arm != leader:
            gap = state.mean[leader] - state.mean[arm]
            cost = star_cost(gap, n, float(state.record.assigned[arm]), constants.epsilon)
            if cost < least:
                least = cost
                challenger = arm
    return challenger


@rule
def star_glr(state: HasMean, constants: StarConstants) -> int:
    """The stopping rule: the best estimate's cost against every other arm exceeds its threshold."""
    record = state.record
    if first_release_missing(record):
        return UNDECIDED
    best = highest(state.mean)
    for b in range(constants.arms):
        if b != best:
            gap = state.mean[best] - state.mean[b]
            cost = star_cost(gap, float(record.last_size[best]), float(record.last_size[b]), constants.epsilon)
            if cost <= star_threshold(record, constants, best, b, gap):
                return UNDECIDED
    return best


def star_standings(state: HasMean, constants: StarConstants) -> list[Standing]:
    """For reports: cost and threshold against every rival."""
    record = state.record
    if first_release_missing(record):
        return []
    best = highest(state.mean)
    found = []
    for rival in range(constants.arms):
        if rival != best:
            gap = float(state.mean[best] - state.mean[rival])
            cost = star_cost(gap, float(record.last_size[best]), float(record.last_size[rival]), constants.epsilon)
            found.append(Standing(rival, cost, float(star_threshold(record, constants, best, rival, gap))))
    return found


def explain_star(state: HasMean, constants: StarConstants, labels: list[str]) -> str:
    """The closest rival, in words and numbers."""
    standings = star_standings(state, constants)
    return explain_closest(labels, highest(state.mean), standings) if standings else WAITING
