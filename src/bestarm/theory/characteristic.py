"""Characteristic times: how many outcomes one nat of evidence costs, and the allocation that pays least.

Each is 1/T = sup over w in the simplex of min over rivals b of W_b(w_1, w_b). Because W_b scales with w, T is also
the smallest total of weights that earn W_b(w_1, w_b) >= 1 against every rival. Fix w_1; then every rival needs its
own w_b and no more, and T is the minimum of one convex function of w_1,

    T = min over w_1 of w_1 + sum over b of needed_b(w_1),

at the point where one more unit of w_1 saves exactly one unit over all rivals together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bestarm.checks import BETA, EPSILON
from bestarm.theory.divergences import tv
from bestarm.theory.inputs import Floats, checked_unique_best
from bestarm.theory.transport import FARTHEST, Curves, Points

_MOST_STEPS = 200


@dataclass(frozen=True)
class CharacteristicTime:
    """Outcomes per nat of evidence, and the optimal share of each arm in the arms' own order."""

    time: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class _Field:
    """The arms as the theory sees them: the best mean, and the distinct rival means with their multiplicities."""

    best_arm: int
    best: float
    rivals: Floats  # ascending, so the hardest rival comes last
    counts: Floats
    group: NDArray[np.intp]  # of every rival arm, in the arms' own order

    @classmethod
    def of(cls, means: Floats) -> _Field:
        best_arm = int(np.argmax(means))
        # A mean of 1e-100 and a mean of 0 have the same times to a hundred digits; the former only overflows.
        others = np.delete(np.where(means < 1e-100, 0.0, means), best_arm)
        rivals, group, counts = np.unique(others, return_inverse=True, return_counts=True)
        return cls(best_arm, float(means[best_arm]), rivals, counts.astype(np.float64), group)

    @cached_property
    def gaps(self) -> Floats:
        return tv(self.best, self.rivals)

    def characteristic_time(self, best_weight: float, rival_weights: Floats) -> CharacteristicTime:
        """From unnormalised weights that earn exactly one nat: their total is the time, their shares the allocation."""
        total = best_weight + float(self.counts @ rival_weights)
        shares = np.insert(rival_weights[self.group] / total, self.best_arm, best_weight / total)
        return CharacteristicTime(total, tuple(shares.tolist()))


def kl_time(means: Sequence[float] | Floats) -> CharacteristicTime:
    """T*_KL: what any strategy needs, private or not."""
    return _unconstrained(_Field.of(checked_unique_best(means)), math.inf)


def refined_time(means: Sequence[float] | Floats, epsilon: float) -> CharacteristicTime:
    """T_eps of the refined bound: the same with d_eps in place of kl."""
    return _unconstrained(_Field.of(checked_unique_best(means)), EPSILON.plainly(epsilon))


def tv_time(means: Sequence[float] | Floats) -> CharacteristicTime:
    """T*_TV = 1/D_min + sum over rivals of 1/D_a, with weights proportional to these terms."""
    field = _Field.of(checked_unique_best(means))
    return field.characteristic_time(float(1.0 / field.gaps[-1]), 1.0 / field.gaps)


def private_time(means: Sequence[float] | Floats, epsilon: float) -> CharacteristicTime:
    """T*(nu; eps) of Theorem 2.

    The infimum over alternatives of a minimum is the minimum of the two infima, and inf over m of
    w_1 |mu_1 - m| + w_b |mu_b - m| = min(w_1, w_b) D_b. So Theorem 2 is the kl problem with a floor under every
    weight: 6 eps D_b w_b >= 1 and 6 eps D_min w_1 >= 1.
    """
    field = _Field.of(checked_unique_best(means))
    floors = 1.0 / (6.0 * EPSILON.plainly(epsilon) * field.gaps)
    with np.errstate(all="ignore"):  # the ends of the curves are approached, and clipped, on purpose
        curves = Curves(field.best, field.rivals, math.inf)
        best_weight, points = _cheapest_above_floors(curves, field.counts, floors)
        return field.characteristic_time(best_weight, np.maximum(points.needed(best_weight), floors))


def free_epsilon(means: Sequence[float] | Floats) -> float:
    """The smallest epsilon with T_eps = T*_KL: from here on the refined bound sees no price of privacy.

    d_eps is kl where the two laws' log-odds differ by at most epsilon, so it is the largest difference of log-odds
    between an arm and the world that confuses it with the best (or the best with it) at the kl optimum.
    """
    field = _Field.of(checked_unique_best(means))
    with np.errstate(all="ignore"):
        curves = Curves(field.best, field.rivals, math.inf)
        _, points = _cheapest(curves, field.counts)
        up_share, down_share = 1.0 / (1.0 + np.exp(-points.z)), 1.0 / (1.0 + np.exp(points.z))
        m = field.rivals * down_share + field.best * up_share
        one_minus_m = (1.0 - field.rivals) * down_share + (1.0 - field.best) * up_share
        best_above_m = np.log1p(field.gaps * down_share / (m * (1.0 - field.best)))
        m_above_rival = np.log1p(field.gaps * up_share / (field.rivals * one_minus_m))
    return float(max(best_above_m.max(), m_above_rival.max()))


def gaussian_beta_time(means: Sequence[float] | Floats, beta: float = 0.5) -> CharacteristicTime:
    """T*_{KL,beta} for unit-variance Gaussian arms: 2/T = max over w with w_1 = beta of min D_a^2/(1/beta + 1/w_a).

    At the optimum all terms are equal; in units t of their largest possible value beta D_min^2 this reads
    sum over rivals of t/(D_a^2/D_min^2 - t) = (1 - beta)/beta, whose left side rises in t from 0 to infinity.
    """
    field = _Field.of(checked_unique_best(means))
    beta = BETA.plainly(beta)
    hardest = field.gaps[-1]
    # D_a^2/D_min^2 - 1, as a product so that nearly equal gaps keep their digits.
    surplus = (field.gaps - hardest) * (field.gaps + hardest) / hardest**2

    def ratios(z: float) -> Floats:
        t, remainder = 1.0 / (1.0 + math.exp(-z)), 1.0 / (1.0 + math.exp(z))
        shares: Floats = t / (surplus + remainder)
        return shares

    goal = math.log1p(-beta) - math.log(beta)
    # The hardest rival's own term is e^z and no term is larger.
    low, high = goal - math.log(float(field.counts.sum())), goal
    for _ in range(60):
        z = 0.5 * (low + high)
        low, high = (z, high) if math.log(float(field.counts @ ratios(z))) < goal else (low, z)
    z = high
    rival_weights = beta * ratios(z)
    time = 2.0 * (1.0 + math.exp(-z)) / (beta * float(hardest) ** 2)
    shares = field.characteristic_time(beta, rival_weights).weights
    return CharacteristicTime(time, shares)


def _unconstrained(field: _Field, epsilon: float) -> CharacteristicTime:
    with np.errstate(all="ignore"):  # the ends of the curves are approached, and clipped, on purpose
        curves = Curves(field.best, field.rivals, epsilon)
        best_weight, points = _cheapest(curves, field.counts)
        return field.characteristic_time(best_weight, points.needed(best_weight))


def _cheapest(curves: Curves, counts: Floats) -> tuple[float, Points]:
    """The w_1 where a further unit saves one unit over all rivals (`counts` 0 leaves a rival out of the sum).

    The search runs over the hardest rival's position z, on which w_1 = 1/W depends monotonically: for small epsilon
    the whole decision hides in the last digits of w_1 but is spread out in z. Newton on the log of the savings,
    inside a bracket; between steps all other rivals move along their tangents.
    """
    low, high = -FARTHEST, FARTHEST
    position = 0.5 * math.log(float(counts @ (curves.gaps[-1] / curves.gaps) ** 4))
    value = float(curves.at(np.full_like(counts, position)).value[-1])
    start = curves.near_value(value)
    start[-1] = position
    points = curves.at_value(value, start)
    for _ in range(_MOST_STEPS):
        savings = float(counts @ points.exchange)
        # A rival at the end of its curve neither moves nor saves anything any more.
        moving = points.z < FARTHEST
        tangents = np.divide(1.0, points.log_value_slope, out=np.zeros_like(points.z), where=moving)
        per_log_value = float(counts @ (points.exchange_slope * tangents))
        slope = per_log_value * float(points.log_value_slope[-1])
        distance = math.log(savings) if savings > 0.0 else -math.inf
        low, high = (position, high) if distance > 0.0 else (low, position)
        step = distance * savings / max(-slope, 1e-300) if math.isfinite(distance) else -FARTHEST
        if abs(step) <= 1e-11 * (1.0 + abs(position)) or high - low <= 1e-13 * (1.0 + abs(position)):
            break
        step = min(max(step, -6.0), 6.0)
        position = position + step if low < position + step < high else 0.5 * (low + high)
        start = points.z.copy()
        start[-1] = position
        new_value = float(curves.at(start).value[-1])
        start[:-1] += (math.log(new_value / value) * tangents)[:-1]
        value = new_value
        points = curves.at_value(value, start)
    return 1.0 / value, points


def _cheapest_above_floors(curves: Curves, counts: Floats, floors: Floats) -> tuple[float, Points]:
    """The same with needed_b(w_1) replaced by max(needed_b(w_1), floor_b), and w_1 not below the hardest floor.

    A rival saves nothing once it rests on its floor, so the savings jump down at the w_1 where that happens. Find
    the jump that crosses 1, or the smooth piece between two jumps on which 1 is reached.
    """
    lowest = float(floors[-1])
    jumps = 1.0 / curves.at_rival_weight(floors).value

    def savings(best_weight: float, saving: NDArray[np.bool_]) -> float:
        return float((counts * saving) @ curves.at_value(1.0 / best_weight).exchange)

    if lowest > 1.0 / curves.highest[-1] and savings(lowest, jumps > lowest) <= 1.0:
        return lowest, curves.at_value(1.0 / lowest)
    ahead = np.unique(jumps[jumps > lowest])
    first, last = 0, ahead.size - 1  # beyond the last jump nothing saves anything
    while first < last:
        middle = (first + last) // 2
        if savings(float(ahead[middle]), jumps > ahead[middle]) <= 1.0:
            last = middle
        else:
            first = middle + 1
    jump = float(ahead[first])
    if savings(jump, jumps >= jump) >= 1.0:
        return jump, curves.at_value(1.0 / jump)
    return _cheapest(curves, counts * (jumps >= jump))
