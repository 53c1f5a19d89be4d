"""DP-TT: Top Two sampling on sums that accumulate, noise by noise (the DP-TT poster, NeurIPS 2025).

An arm's batches double its people; each batch adds its sum and one Laplace noise of scale 1/epsilon to the arm's total,
and nothing is forgotten. Leader, challenger and statistic go by the transportation cost under privacy
(bestarm/policy/transport.py). All this was read off the poster, which prints its threshold approximately:
`dp_tt_published_glr` uses that approximation, a heuristic, and `dp_tt_glr` a threshold of our own, for the same
statistic with the noises' price taken off, which is proven (docs/algorithms.md):

    for an arm's total of n outcomes and k noises, y = total/n, and any x at least (at most) the arm's mean,
    I(y, x) = sup over 0 <= l < eps of l y - log(1 - x + x e^l) + (k/n) log(1 - l^2/eps^2)   (Chernoff)
    has P(n I >= u) <= e^-u; a wrong stop needs the sum of two such terms, of independent arms, above u, which has a
    probability of at most (1 + u) e^-u; delta is spent over K - 1 arms and over both phases, 1/(k(k + 1)) each.

**It can starve**: the leader is the arm with the best estimate, so a best arm whose first noises were far too low is
sampled only as a challenger, with the logarithm of the others' people; a few runs in a hundred take very long.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from bestarm.policy.adap_tt_star import w_bar
from bestarm.policy.algorithm import UNDECIDED, Standing
from bestarm.policy.explain import HEURISTIC, WAITING, explain_closest
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import FloatArray, IntArray, Record, new_record
from bestarm.policy.sampling import fewest_assigned, first_release_missing, highest, leader_is_due
from bestarm.policy.thresholds import MAX_PHASES
from bestarm.policy.transport import transport_cost
from bestarm.rules import rule

HALVINGS: Final = 52
"""Of an interval, by which the minimum and the supremum below are found to the precision of a double."""
ROUNDING: Final = 1e-9
"""The statistic has to exceed its threshold by more than its own rounding."""


class AccumulatingConstants(NamedTuple):
    """What the rules of DP-TT and EB-TCI read."""

    arms: int
    epsilon: float
    delta: float
    beta: float
    decay: float
    """e^-epsilon; 0 without privacy."""
    needed: FloatArray
    """Our threshold for each pair of phases."""


def needed_for_phases(arms: int, delta: float) -> FloatArray:
    """u with (1 + u) e^-u = delta / ((K - 1) k1 (k1 + 1) k2 (k2 + 1)), for phases from 0 (unused) to MAX_PHASES."""
    k = np.maximum(np.arange(MAX_PHASES + 1), 1).astype(float)
    spent = np.log(k * (k + 1))
    return w_bar(1.0 + math.log((arms - 1) / delta) + spent[:, None] + spent[None, :]) - 1.0


def accumulating_constants(design: Numbers) -> AccumulatingConstants:
    """The constants of DP-TT."""
    epsilon = design.budget
    table = needed_for_phases(design.arms, design.delta)
    return AccumulatingConstants(design.arms, epsilon, design.delta, design.beta, math.exp(-epsilon), table)


class Accumulating(NamedTuple):
    """What Top Two sampling on accumulated sums remembers; see `TopTwo`."""

    record: Record
    mean: FloatArray
    leader: IntArray
    led: IntArray
    led_pulls: IntArray
    scratch: FloatArray
    """For each arm a number that its cost as a challenger is not below. Costs grow with people, so one that was
    computed earlier will do until a release changes the means, and most need not be computed for every person."""


@rule(allocates=True)
def start_accumulating(constants: AccumulatingConstants) -> Accumulating:
    """Before the first person. No cost is below 0."""
    arms = constants.arms
    counts = np.zeros(arms, np.int64)
    return Accumulating(new_record(arms), np.zeros(arms), np.full(1, -1), counts, counts.copy(), np.zeros(arms))


@rule
def lead_accumulated(state: Accumulating, constants: AccumulatingConstants, arm: int) -> None:
    """An arm's estimate is its whole noisy total over its people, clipped to [0, 1]; the best estimate leads."""
    record = state.record
    state.mean[arm] = min(max(record.total[arm] / record.counted[arm], 0.0), 1.0)
    state.scratch[arm] = 0.0
    before = state.leader[0]
    if before >= 0 or not first_release_missing(record):
        state.leader[0] = highest(state.mean)
    if before != state.leader[0] or before == arm:
        for other in range(constants.arms):
            state.scratch[other] = 0.0


@rule
def challenger_cost(state: Accumulating, constants: AccumulatingConstants, leader: int, arm: int) -> float:
    """C(B, a) + log N_a, all people of an arm counted."""
    n, m = float(state.record.assigned[leader]), float(state.record.assigned[arm])
    cost = transport_cost(state.mean[leader], n, state.mean[arm], m, constants.epsilon, constants.decay)
    return cost + math.log(m)


@rule
def cost_challenger(state: Accumulating, constants: AccumulatingConstants, leader: int) -> int:
    """argmin over a of C(B, a) + log N_a.

    Begins with the arm whose cost is known to be least so far, and leaves out whoever cannot be below it: by more than
    rounding, so that the answer does not depend on which bounds happen to be kept.
    """
    bound = state.scratch
    likely = 0 if leader != 0 else 1
    for arm in range(constants.arms):
        if arm != leader and bound[arm] < bound[likely]:
            likely = arm
    bound[likely] = challenger_cost(state, constants, leader, likely)
    least = bound[likely]
    challenger = likely
    for arm in range(constants.arms):
        if arm != leader and arm != likely and bound[arm] * (1.0 - ROUNDING) <= least:
            bound[arm] = challenger_cost(state, constants, leader, arm)
            if bound[arm] < least or (bound[arm] == least and arm < challenger):
                least = bound[arm]
                challenger = arm
    return challenger


@rule
def accumulating_top_two(state: Accumulating, constants: AccumulatingConstants, weights: FloatArray) -> int:
    """Tracking between the leader and the challenger of least cost; everyone in turn before there is a leader."""
    leader = int(state.leader[0])
    if leader < 0:
        return fewest_assigned(state.record)
    if leader_is_due(state, constants):
        return leader
    return cost_challenger(state, constants, leader)


@rule
def best_tilt(y: float, x: float, noises: float, epsilon: float) -> float:
    """The l in [0, epsilon) at which l y - log(1 - x + x e^l) + noises log(1 - l^2/epsilon^2) is largest.

    Its derivative falls from y - x, which is positive, to minus infinity.
    """
    low = 0.0
    high = epsilon
    for _ in range(HALVINGS):
        tilt = 0.5 * (low + high)
        pull = y - x / (x + (1.0 - x) * math.exp(-tilt))
        if pull * (epsilon - tilt) * (epsilon + tilt) > 2.0 * noises * tilt:
            low = tilt
        else:
            high = tilt
    return low


@rule
def surprise(y: float, x: float, noises: float, epsilon: float) -> float:
    """I(y, x) for an estimate y above the mean x; `noises` is k/n. Any tilt gives a valid value; this is the best."""
    if y <= x:
        return 0.0
    tilt = best_tilt(y, x, noises, epsilon)
    mgf = tilt + math.log(x + (1.0 - x) * math.exp(-tilt)) if x > 0.0 else 0.0
    share = tilt / epsilon
    return max(tilt * y - mgf + noises * math.log1p(-share * share), 0.0)


@rule
def surprise_slope(y: float, x: float, noises: float, epsilon: float) -> float:
    """Minus the derivative of I(y, x) in x: (e^l - 1)/(1 - x + x e^l) at the best tilt l."""
    if y <= x:
        return 0.0
    fall = math.exp(-best_tilt(y, x, noises, epsilon))
    return (1.0 - fall) / (x + (1.0 - x) * fall)


@rule(inline=False)
def priced_cost(m: float, n: float, k: float, below: float, n_below: float, k_below: float, epsilon: float) -> float:
    """inf over x of n I(m, x) + n' I(1 - below, 1 - x): the transportation cost with the noises' price taken off.

    Each I is a supremum of convex functions of x, so the sum is convex and its derivative has one sign change.
    """
    if m <= below:
        return 0.0
    low = below
    high = m
    for _ in range(HALVINGS):
        x = 0.5 * (low + high)
        falls = n * surprise_slope(m, x, k / n, epsilon)
        rises = n_below * surprise_slope(1.0 - below, 1.0 - x, k_below / n_below, epsilon)
        if falls > rises:
            low = x
        else:
            high = x
    x = 0.5 * (low + high)
    return n * surprise(m, x, k / n, epsilon) + n_below * surprise(1.0 - below, 1.0 - x, k_below / n_below, epsilon)


@rule
def priced_statistic(state: Accumulating, constants: AccumulatingConstants, a: int, b: int) -> float:
    """`priced_cost` of two arms of a state."""
    record = state.record
    return priced_cost(
        state.mean[a],
        float(record.counted[a]),
        float(record.released[a]),
        state.mean[b],
        float(record.counted[b]),
        float(record.released[b]),
        constants.epsilon,
    )


@rule
def plain_statistic(state: Accumulating, constants: AccumulatingConstants, a: int, b: int) -> float:
    """The transportation cost of two arms' released people."""
    counted = state.record.counted
    return transport_cost(
        state.mean[a], float(counted[a]), state.mean[b], float(counted[b]), constants.epsilon, constants.decay
    )


@rule
def needed_by_us(state: Accumulating, constants: AccumulatingConstants, a: int, b: int) -> float:
    """Our threshold for this pair's phases."""
    released = state.record.released
    return float(constants.needed[min(released[a], MAX_PHASES), min(released[b], MAX_PHASES)])


@rule
def printed_share(n: float, constants: AccumulatingConstants) -> float:
    """c(n) = log(1/delta) + log(n) log(1 + epsilon n/log n), as printed on the poster; log(1/delta) for n = 1."""
    risk = -math.log(constants.delta)
    return risk + math.log(n) * math.log1p(constants.epsilon * n / math.log(n)) if n > 1.0 else risk


@rule
def dp_tt_glr(state: Accumulating, constants: AccumulatingConstants) -> int:
    """Our stopping rule. The cost with the noises' price in it is never below the other, and quicker: asked first."""
    leader = int(state.leader[0])
    if leader < 0:
        return UNDECIDED
    for b in range(constants.arms):
        if b != leader and plain_statistic(state, constants, leader, b) <= needed_by_us(state, constants, leader, b):
            return UNDECIDED
    for b in range(constants.arms):
        if b != leader:
            needed = needed_by_us(state, constants, leader, b)
            if priced_statistic(state, constants, leader, b) <= needed * (1.0 + ROUNDING):
                return UNDECIDED
    return leader


@rule
def dp_tt_published_glr(state: Accumulating, constants: AccumulatingConstants) -> int:
    """The poster's stopping rule with its printed threshold, c(n_a) + c(n_b); it has no proof in this form."""
    leader = int(state.leader[0])
    if leader < 0:
        return UNDECIDED
    counted = state.record.counted
    for b in range(constants.arms):
        if b != leader:
            needed = printed_share(float(counted[leader]), constants) + printed_share(float(counted[b]), constants)
            if plain_statistic(state, constants, leader, b) <= needed:
                return UNDECIDED
    return leader


def dp_tt_standings(state: Accumulating, constants: AccumulatingConstants) -> list[Standing]:
    """For reports: the statistic of our rule, and what it needs, against every rival."""
    leader = int(state.leader[0])
    rivals = [] if leader < 0 else [b for b in range(constants.arms) if b != leader]
    return [
        Standing(b, priced_statistic(state, constants, leader, b), needed_by_us(state, constants, leader, b))
        for b in rivals
    ]


def dp_tt_published_standings(state: Accumulating, constants: AccumulatingConstants) -> list[Standing]:
    """For reports: the poster's statistic and its printed threshold, against every rival."""
    leader = int(state.leader[0])
    counted = state.record.counted
    rivals = [] if leader < 0 else [b for b in range(constants.arms) if b != leader]
    return [
        Standing(
            b,
            plain_statistic(state, constants, leader, b),
            printed_share(float(counted[leader]), constants) + printed_share(float(counted[b]), constants),
        )
        for b in rivals
    ]


def explain_dp_tt(state: Accumulating, constants: AccumulatingConstants, labels: list[str]) -> str:
    """The closest rival under our threshold, in words and numbers."""
    standings = dp_tt_standings(state, constants)
    return explain_closest(labels, int(state.leader[0]), standings) if standings else WAITING


def explain_dp_tt_published(state: Accumulating, constants: AccumulatingConstants, labels: list[str]) -> str:
    """The closest rival under the printed threshold, and that nothing is proven about it."""
    standings = dp_tt_published_standings(state, constants)
    return f"{explain_closest(labels, int(state.leader[0]), standings)} {HEURISTIC}" if standings else WAITING
