"""When it is over: generalised likelihood ratio (GLR) tests against the thresholds of the paper and its code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import FloatArray, Record
from bestarm.policy.sampling import TopTwo, first_release_missing, highest, people_counted
from bestarm.policy.thresholds import MAX_PHASES, c_gauss, c_phases, laplace_logs
from bestarm.rules import rule


class GLRConstants(NamedTuple):
    """What the GLR rules and the sampling rules of the paper read."""

    arms: int
    epsilon: float
    delta: float
    beta: float
    c_phases: FloatArray
    """2 C_G for phases k1, k2; at delta/2 for the private rule. A single entry for rules without phases."""
    laplace_logs: FloatArray
    """log(2 K k^s zeta(s)/delta) for phase k."""


Threshold: TypeAlias = Callable[[Record, GLRConstants, int, int], float]


class HasMean(Protocol):
    """A state with an estimated mean for each arm."""

    @property
    def record(self) -> Record: ...
    @property
    def mean(self) -> FloatArray: ...


def private_glr_constants(design: Numbers) -> GLRConstants:
    """Constants of `private_glr`."""
    table = c_phases(design.arms, design.delta / 2, design.s)
    logs = laplace_logs(design.arms, design.delta, design.s)
    return GLRConstants(design.arms, design.budget, design.delta, design.beta, table, logs)


def phase_glr_constants(design: Numbers) -> GLRConstants:
    """Constants of `phase_glr`."""
    table = c_phases(design.arms, design.delta, design.s)
    return GLRConstants(design.arms, math.inf, design.delta, design.beta, table, table[0])


def ttucb_constants(design: Numbers) -> GLRConstants:
    """Constants of `ttucb_glr`: there are no phases, and so one C_G for all."""
    table = 2 * c_gauss(np.full((1, 1), math.log((design.arms - 1) / design.delta) / 2))
    return GLRConstants(design.arms, math.inf, design.delta, design.beta, table, table[0])


def published_constants(design: Numbers) -> GLRConstants:
    """Constants of the published variants, whose thresholds use no C_G."""
    nothing = np.zeros((1, 1))
    return GLRConstants(design.arms, design.budget, design.delta, design.beta, nothing, nothing[0])


@rule
def statistic(gap: float, n: float, m: float) -> float:
    """gap^2 / (1/n + 1/m) for a positive gap, 0 otherwise: twice the Gaussian GLR of two means."""
    return gap * gap * (float(n) * m / (float(n) + m)) if gap > 0 else 0.0


@rule
def count_cost(n: float, m: float) -> float:
    """2 log(4 + log n) + 2 log(4 + log m): what thresholds charge for looking at every count."""
    return 2.0 * math.log(4.0 + math.log(n)) + 2.0 * math.log(4.0 + math.log(m))


@rule
def private_threshold(record: Record, constants: GLRConstants, a: int, b: int) -> float:
    """c_{eps,k_a,k_b}(Ñ_a, Ñ_b, delta), eq. private_threshold."""
    n = record.last_size[a]
    m = record.last_size[b]
    k1 = min(record.released[a], MAX_PHASES)
    k2 = min(record.released[b], MAX_PHASES)
    shared = 2.0 * (constants.c_phases[k1, k2] + count_cost(n, m))
    of_a = (constants.laplace_logs[k1] / constants.epsilon) ** 2 / n
    of_b = (constants.laplace_logs[k2] / constants.epsilon) ** 2 / m
    return float(shared + of_a + of_b)


@rule
def phase_threshold(record: Record, constants: GLRConstants, a: int, b: int) -> float:
    """c_{k_a k_b}(Ñ_a, Ñ_b, delta), the threshold without privacy."""
    k1 = min(record.released[a], MAX_PHASES)
    k2 = min(record.released[b], MAX_PHASES)
    return float(constants.c_phases[k1, k2] + count_cost(record.last_size[a], record.last_size[b]))


@rule
def published_threshold(record: Record, constants: GLRConstants, a: int, b: int) -> float:
    """The released code's threshold, which has no proof."""
    n = record.last_size[a]
    m = record.last_size[b]
    risk = math.log(1.0 / constants.delta)
    counts = math.log(1.0 + math.log(n)) + math.log(1.0 + math.log(m))
    return float(risk + counts + (1.0 / n + 1.0 / m) * (risk / constants.epsilon) ** 2)


@rule
def beats_everyone(state: HasMean, constants: GLRConstants, candidate: int, threshold: Threshold) -> bool:
    """Whether the candidate's statistic against every other arm reaches twice its threshold."""
    record = state.record
    for b in range(constants.arms):
        if b != candidate:
            gap = state.mean[candidate] - state.mean[b]
            reached = statistic(gap, record.last_size[candidate], record.last_size[b])
            if reached < 2.0 * threshold(record, constants, candidate, b):
                return False
    return True


@rule
def private_glr(state: HasMean, constants: GLRConstants) -> int:
    """Algorithm 2, lines 10-12: the best estimate wins when it beats every other by the private threshold."""
    if first_release_missing(state.record):
        return UNDECIDED
    best = highest(state.mean)
    return best if beats_everyone(state, constants, best, private_threshold) else UNDECIDED


@rule
def phase_glr(state: HasMean, constants: GLRConstants) -> int:
    """The stopping rule of non-private AdaP-TT."""
    if first_release_missing(state.record):
        return UNDECIDED
    best = highest(state.mean)
    return best if beats_everyone(state, constants, best, phase_threshold) else UNDECIDED


@rule
def published_glr(state: TopTwo, constants: GLRConstants) -> int:
    """The released AdaP-TT's rule: the leader is the candidate, half the statistic against a heuristic threshold."""
    leader = int(state.leader[0])
    if leader < 0:
        return UNDECIDED
    return leader if beats_everyone(state, constants, leader, published_threshold) else UNDECIDED


@rule
def ttucb_glr(state: TopTwo, constants: GLRConstants) -> int:
    """TTUCB's rule, asked with every outcome.

    Compares with the part of the threshold that does not grow first: logarithms are taken only near the end.
    """
    if state.leader[0] < 0:
        return UNDECIDED
    counted = state.record.counted
    best = highest(state.mean)
    base = constants.c_phases[0, 0]
    least = 2.0 * (base + 4.0 * math.log(4.0))
    for b in range(constants.arms):
        if b != best:
            reached = statistic(state.mean[best] - state.mean[b], counted[best], counted[b])
            if reached < least or reached < 2.0 * (base + count_cost(counted[best], counted[b])):
                return UNDECIDED
    return best


@rule
def published_ttucb_glr(state: TopTwo, constants: GLRConstants) -> int:
    """The released TTUCB's rule: half the statistic against log((1 + log n)/delta), n people so far."""
    leader = int(state.leader[0])
    if leader < 0:
        return UNDECIDED
    counted = state.record.counted
    risk = math.log(1.0 / constants.delta)
    growth = -1.0
    for b in range(constants.arms):
        if b != leader:
            reached = statistic(state.mean[leader] - state.mean[b], counted[leader], counted[b])
            if reached < 2.0 * risk:
                return UNDECIDED
            if growth < 0:
                growth = math.log(1.0 + math.log(people_counted(state.record)))
            if reached < 2.0 * (risk + growth):
                return UNDECIDED
    return leader
