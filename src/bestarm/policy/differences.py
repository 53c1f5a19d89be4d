"""Intervals for the difference of two arms, from coin bets, valid at all times (docs/evidence-proof.md).

"The leader is better than the rival by at most theta" is bet against with fair products over coins, as in the evidence:
slopes l_a, l_b > 0 chosen before a stage's release from earlier ones make

    exp(l_a R_a - l_b R_b - psi(l_a) - psi(l_b)) ((1+r)(B-1)/(r D))^{n_a} ((1+r) B (A-1)/D)^{n_b}

a bet, with A = e^{l_a}, B = e^{l_b}, r = p_a/p_b and D = AB - 1 + theta (A-1)(B-1); psi is the log-mgf of the noise.
Only D depends on theta, so all theta are tested at once. Equal shares go to a grid of slopes, since nobody knows which
will be right; theta is given up when their average has ever reached 2/alpha. Wealth falls as theta grows: what is left
has a lower end, and the upper end is that of the arms the other way round.

If the difference is the same for everybody, levels may drift as they like, and the interval misses it with probability
at most alpha. Otherwise it says less: its lower end exceeds the largest of all people's expected differences, or its
upper end falls below the smallest, with probability at most alpha/2 each. The leader is picked after looking, so each
of the other arms has a share of alpha: for every rival, the interval to whoever leads is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from bestarm.errors import InputError
from bestarm.policy.record import FloatArray
from bestarm.release.arrays import log_mgfs
from bestarm.release.laws import Law, bet_cap

SLOPES: Final = 14
"""How many slopes share the wealth."""
STEEPEST: Final = 1.0
"""The steepest slope, or this share of the largest that the noise allows; each next one is half of it."""
PART_OF_CAP: Final = 0.7
GRAIN: Final = 2.0**-40
"""Ends of intervals are multiples of this."""
MOST_STEPS: Final = 100
"""Newton's steps end long before; the bound only says that they end."""
PRIOR: Final = 20.0
"""The pivot is the pooled mean so far, with so many people at 1/2 and the variance of one noise on top."""


class StageRelease(NamedTuple):
    """A released stage, in public numbers."""

    weights: Sequence[float]
    """Each arm's probability."""
    sizes: Sequence[int]
    """People on each arm."""
    values: Sequence[float]
    """Each arm's noisy sum; of a difference, first the champion's sum less the other arm's."""
    champion: int = -1
    """For a difference its first arm; -1 if every arm has a sum of its own."""
    voided: Sequence[int] | None = None
    """People of each arm who were voided: each counts 0 in the values, and 1 where that is against the finding."""
    only: int = -1
    """The one arm that may be bet on, where missing outcomes count against its lead; -1 for any."""


class DifferenceInterval(NamedTuple):
    """How much better the arm is than the rival, with the rival's own right to be covered."""

    arm: int
    rival: int
    low: float
    high: float


class Bets(NamedTuple):
    """What each stage says of one ordered pair, stage by slope: log wealth is gain - people * log D."""

    gain: FloatArray
    people: FloatArray
    """On the two arms together, by stage."""
    both: FloatArray
    """AB - 1."""
    cross: FloatArray
    """(A - 1)(B - 1)."""


def difference_intervals(
    stages: Sequence[StageRelease], leader: int, law: Law, alpha: float
) -> list[DifferenceInterval]:
    """The leader against every other arm. For each of these alone it misses with probability at most alpha."""
    if not 0.0 < alpha < 1.0:
        raise InputError(f"The intervals' risk is {alpha:g}, but it has to lie strictly between 0 and 1.")
    arms = len(stages[0].weights) if stages else 0
    each = alpha / max(arms - 1, 1)
    return [
        DifferenceInterval(leader, rival, *pair_interval(stages, leader, rival, law, each))
        for rival in range(arms)
        if rival != leader
    ]


def pair_interval(stages: Sequence[StageRelease], a: int, b: int, law: Law, alpha: float) -> tuple[float, float]:
    """The interval for the mean of a less that of b, for two arms named beforehand."""
    line = math.log(2.0 / alpha)
    low = lower_end(pair_bets(stages, a, b, law), line, law)
    high = -lower_end(pair_bets(stages, b, a, law), line, law)
    # Both ends together are wrong with probability at most alpha; ends that cross are such a case.
    return (low, high) if low <= high else (0.5 * (low + high), 0.5 * (low + high))


def lower_end(bets: Bets, line: float, law: Law) -> float:
    """The largest difference that is given up, rounded down to a multiple of GRAIN; -1 if none is.

    The largest wealth so far falls with theta and is convex: tangents meet the line where theta is given up still, so
    Newton's steps from -1 come to the end from its own side.
    """
    theta = -1.0
    for _ in range(MOST_STEPS):
        most, slope = _wealth_and_slope(bets, theta * law.slope)
        if most < line or slope >= 0.0:
            break
        step = (most - line) / (-slope * law.slope)
        theta = min(theta + step, 1.0)
        if step < 0.01 * GRAIN or theta == 1.0:
            break
    return -1.0 if theta == -1.0 else max(-1.0, math.floor(theta / GRAIN) * GRAIN)


def _wealth_and_slope(bets: Bets, theta: float) -> tuple[float, float]:
    # `most_wealth` and its derivative.
    if bets.people.size == 0:
        return 0.0, 0.0
    wealth = log_wealth(bets, theta)
    averages = _averages(wealth)
    at = int(averages.argmax())
    shares = np.exp(wealth[at] - wealth[at].max())
    here = slice(0, at + 1)
    falls = (bets.people[here, None] * bets.cross[here] / (bets.both[here] + theta * bets.cross[here])).sum(axis=0)
    return max(0.0, float(averages[at])), -float(shares @ falls / shares.sum())


def most_wealth(bets: Bets, theta: float) -> float:
    """log of the largest average wealth so far against "a is better than b by at most theta"."""
    if bets.people.size == 0:
        return 0.0
    return max(0.0, float(_averages(log_wealth(bets, theta)).max()))


def _averages(wealth: FloatArray) -> FloatArray:
    most = wealth.max(axis=1)
    found: FloatArray = most + np.log(np.exp(wealth - most[:, None]).mean(axis=1))
    return found


def log_wealth(bets: Bets, theta: float) -> FloatArray:
    """The wealth of each slope after each stage."""
    stakes = bets.gain - bets.people[:, None] * np.log(bets.both + theta * bets.cross)
    total: FloatArray = np.cumsum(stakes, axis=0)
    return total


class _Seen(NamedTuple):
    """What a stage says of an ordered pair of arms, a row of numbers."""

    ratio: float
    """The probability of the first arm over that of the second."""
    pivot: float
    na: float
    nb: float
    difference: float
    """1 if the two have one release, their difference, else 0."""
    ra: float
    """The first arm's sum, or the difference."""
    rb: float
    """The second arm's sum, with those voided counted 1; for a difference their number alone."""


def pair_bets(stages: Sequence[StageRelease], a: int, b: int, law: Law) -> Bets:
    """Bets on a (the champion) against b for every stage that released something about both, in order.

    Slopes look at earlier stages only: at their pooled mean, as the pivot around which outcomes vary least.
    """
    rows: list[_Seen] = []
    total, count = 0.0, 0.0
    noises = 0
    for stage in stages:
        pa, pb = stage.weights[a], stage.weights[b]
        is_difference = stage.champion >= 0
        on_pair = pa > 0.0 and pb > 0.0 and (not is_difference or stage.champion in (a, b)) and stage.only in (-1, a)
        if on_pair:
            rows.append(_seen(stage, a, b, 0.5 if is_difference else pooled(total, count, noises, law)))
        if not is_difference:
            for arm in (a, b):
                if stage.weights[arm] > 0.0:
                    total += stage.values[arm]
                    count += stage.sizes[arm]
                    noises += 1
    if not rows:
        nothing = np.zeros((0, SLOPES))
        return Bets(nothing, np.zeros(0), nothing, nothing)
    seen = np.array(rows)
    la, lb = slopes(seen[:, [0]], seen[:, [1]], law)
    return Bets(*_gains(seen, la, lb, law))


def _seen(stage: StageRelease, a: int, b: int, pivot: float) -> _Seen:
    ratio, na, nb = stage.weights[a] / stage.weights[b], float(stage.sizes[a]), float(stage.sizes[b])
    voided = float(stage.voided[b]) if stage.voided is not None else 0.0
    if stage.champion >= 0:
        value = stage.values[0] if stage.champion == a else -stage.values[0]
        return _Seen(ratio, pivot, na, nb, 1.0, value, voided)
    return _Seen(ratio, pivot, na, nb, 0.0, stage.values[a], stage.values[b] + voided)


def pooled(total: float, count: float, noises: int, law: Law) -> float:
    """The mean of both arms over earlier stages, drawn to 1/2 while noise or small numbers dominate."""
    doubt = PRIOR + (math.sqrt(noises) * 4.0 / min(bet_cap(law), 4.0))
    return min(max((total + 0.5 * doubt) / (count + doubt), 0.02), 0.98)


def slopes(r: float | FloatArray, pivot: float | FloatArray, law: Law) -> tuple[FloatArray, FloatArray]:
    """Slopes with this pivot, each half as steep as the one before: X = t(1-c), Y = tc, times r on the other arm.

    Of columns of ratios and pivots a row for each.
    """
    top = np.minimum(STEEPEST, PART_OF_CAP * bet_cap(law) / np.maximum(r, 1.0))
    t = top * 2.0 ** -np.arange(SLOPES, dtype=np.float64)
    # Where the pivot is near 0 or 1, or weights differ, a factor may not fall below 1/2.
    t = np.minimum(t, 0.5 / np.maximum(pivot, r * (1.0 - pivot)))
    la = np.log1p(t * (1.0 - pivot)) - np.log1p(-t * pivot)
    lb = np.log1p(r * t * pivot) - np.log1p(-r * t * (1.0 - pivot))
    most = 0.95 * bet_cap(law)
    return np.minimum(la, most), np.minimum(lb, most)


def stage_bets(
    stage: StageRelease, a: int, b: int, la: FloatArray, lb: FloatArray, law: Law
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """One stage's gain without D, AB - 1 and (A - 1)(B - 1), for each slope."""
    gain, _, both, cross = _gains(np.array([_seen(stage, a, b, 0.5)]), la[None, :], lb[None, :], law)
    return gain[0], both[0], cross[0]


def _gains(
    seen: FloatArray, la: FloatArray, lb: FloatArray, law: Law
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    # Of rows as _Seen has them: the gains without D, the people, AB - 1 and (A - 1)(B - 1), stage by slope.
    r, _, na, nb, difference, ra, rb = (seen[:, [column]] for column in range(seen.shape[1]))
    apart = difference == 1.0
    lb = np.where(apart, la, lb)
    noises = log_mgfs(law, la) + np.where(apart, 0.0, log_mgfs(law, lb))
    up, down = np.expm1(la), np.expm1(lb)
    gain = la * ra - lb * rb - noises + na * np.log((1.0 + r) / r * down) + nb * (np.log((1.0 + r) * up) + lb)
    return gain, (na + nb)[:, 0], np.expm1(la + lb), up * down
