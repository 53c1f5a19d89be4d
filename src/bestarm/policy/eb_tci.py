"""EB-TCI: Top Two sampling without privacy, for comparison (Jourdan et al. 2022).

The arm with the best mean leads; the challenger has the least Bernoulli transportation cost plus log N. The heuristic
variant stops on that cost at log((1 + log n)/delta). Proven is the Gaussian form of the test, with outcomes in [0, 1]
counted with their own sigma = 1/2: 2 gap^2/(1/n + 1/m) against 2 C_G(log((K - 1)/delta)/2) + 4 log(4 + log((n + m)/2)).
Like every empirical-best leader it can starve: a best arm that began with failures is sampled as a challenger only,
with the logarithm of the others' people.
"""

from __future__ import annotations

import math

import numpy as np

from bestarm.policy.algorithm import UNDECIDED, Standing
from bestarm.policy.dp_tt import Accumulating, AccumulatingConstants, plain_statistic
from bestarm.policy.explain import HEURISTIC, WAITING, explain_closest
from bestarm.policy.numbers import Numbers
from bestarm.policy.sampling import people_counted
from bestarm.policy.stopping import statistic
from bestarm.policy.thresholds import c_gauss
from bestarm.rules import rule


def eb_tci_constants(design: Numbers) -> AccumulatingConstants:
    """The constants of EB-TCI: an infinite budget, and one C_G for all."""
    base = 2 * c_gauss(np.full((1, 1), math.log((design.arms - 1) / design.delta) / 2))
    return AccumulatingConstants(design.arms, math.inf, design.delta, design.beta, 0.0, base)


@rule
def gaussian_needed(state: Accumulating, constants: AccumulatingConstants, a: int, b: int) -> float:
    """2 C_G(log((K - 1)/delta)/2) + 4 log(4 + log((n + m)/2))."""
    people = float(state.record.counted[a] + state.record.counted[b])
    return float(constants.needed[0, 0]) + 4.0 * math.log(4.0 + math.log(0.5 * people))


@rule
def gaussian_statistic(state: Accumulating, constants: AccumulatingConstants, a: int, b: int) -> float:
    """gap^2 / (2 sigma^2 (1/n + 1/m)) with sigma = 1/2."""
    counted = state.record.counted
    return 2.0 * statistic(state.mean[a] - state.mean[b], float(counted[a]), float(counted[b]))


@rule
def eb_tci_glr(state: Accumulating, constants: AccumulatingConstants) -> int:
    """The proven stopping rule. The part of the threshold that does not grow is asked first."""
    leader = int(state.leader[0])
    if leader < 0:
        return UNDECIDED
    for b in range(constants.arms):
        if b != leader:
            reached = gaussian_statistic(state, constants, leader, b)
            if reached < constants.needed[0, 0] or reached < gaussian_needed(state, constants, leader, b):
                return UNDECIDED
    return leader


@rule
def eb_tci_published_glr(state: Accumulating, constants: AccumulatingConstants) -> int:
    """The heuristic stopping rule: the Bernoulli cost against log((1 + log n)/delta), n people so far."""
    leader = int(state.leader[0])
    if leader < 0:
        return UNDECIDED
    needed = math.log((1.0 + math.log(people_counted(state.record))) / constants.delta)
    for b in range(constants.arms):
        if b != leader and plain_statistic(state, constants, leader, b) < needed:
            return UNDECIDED
    return leader


def eb_tci_standings(state: Accumulating, constants: AccumulatingConstants) -> list[Standing]:
    """For reports: the proven rule's statistic and threshold against every rival."""
    leader = int(state.leader[0])
    return [
        Standing(b, gaussian_statistic(state, constants, leader, b), gaussian_needed(state, constants, leader, b))
        for b in range(constants.arms)
        if leader >= 0 and b != leader
    ]


def eb_tci_published_standings(state: Accumulating, constants: AccumulatingConstants) -> list[Standing]:
    """For reports: the heuristic rule's statistic and threshold against every rival."""
    leader = int(state.leader[0])
    if leader < 0:
        return []
    needed = math.log((1.0 + math.log(people_counted(state.record))) / constants.delta)
    rivals = [b for b in range(constants.arms) if b != leader]
    return [Standing(b, plain_statistic(state, constants, leader, b), needed) for b in rivals]


def explain_eb_tci(state: Accumulating, constants: AccumulatingConstants, labels: list[str]) -> str:
    """The closest rival under the proven threshold, in words and numbers."""
    standings = eb_tci_standings(state, constants)
    return explain_closest(labels, int(state.leader[0]), standings) if standings else WAITING


def explain_eb_tci_published(state: Accumulating, constants: AccumulatingConstants, labels: list[str]) -> str:
    """The closest rival under the heuristic threshold, and that nothing is proven about it."""
    standings = eb_tci_published_standings(state, constants)
    return f"{explain_closest(labels, int(state.leader[0]), standings)} {HEURISTIC}" if standings else WAITING
