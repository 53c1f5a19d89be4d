"""The price of confusing the best arm with a rival, as a curve that can be inverted.

For the best arm 1 and a rival b, W_b(w_1, w_b) = inf over m of w_1 d(mu_1, m) + w_b d(mu_b, m) is what an allocation
earns against the closest world in which b is at least as good. It scales with (w_1, w_b), so all of it is known from
the curve W_b(1, r), and the point m where the infimum sits runs from mu_b (r infinite) to mu_1 (r = 0). We walk the
curve by the position of m, z = log((m - mu_b)/(mu_1 - m)), because along it everything is explicit: with d = d_eps,

    r = w_b/w_1 = g_1/g_b,   g_1 = min(mu_1 - m, reach above m),   g_b = min(m - mu_b, reach below m).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bestarm.theory.divergences import d_eps, entropy_excess, reach
from bestarm.theory.inputs import Floats

# m is then within 1e-260 of an end: nearer than any double needs, and no product below underflows.
FARTHEST = 600.0
_LONGEST_STEP = 6.0
_MOST_STEPS = 120


@dataclass(frozen=True)
class Points:
    """One point on each rival's curve."""

    z: Floats
    best_cost: Floats  # d(mu_1, m)
    rival_cost: Floats  # d(mu_b, m)
    ratio: Floats  # r = w_b / w_1
    value: Floats  # W_b(1, r)
    log_ratio_slope: Floats  # d log r / dz
    log_value_slope: Floats  # d log W_b(1, r) / dz
    exchange_slope: Floats  # d exchange / dz

    @property
    def exchange(self) -> Floats:
        """How many units of w_b one unit of w_1 saves while W_b stays the same: d(mu_1, m) / d(mu_b, m)."""
        return self.best_cost / self.rival_cost

    def needed(self, best_weight: float) -> Floats:
        """The w_b that makes W_b(best_weight, w_b) = 1, accurate to the square of the error in m."""
        return np.maximum((1.0 - best_weight * self.best_cost) / self.rival_cost, 0.0)


_Miss = Callable[[Points], tuple[Floats, Floats]]


class Curves:
    """The curves W_b(1, r) of all rivals of one best arm, under d_eps (`epsilon = inf`: under kl)."""

    def __init__(self, best: float, rivals: Floats, epsilon: float) -> None:
        self.best = best
        self.rivals = rivals
        self.gaps = best - rivals
        self.epsilon = epsilon
        self.highest = d_eps(best, rivals, epsilon)  # W_b(1, infinity)
        # Where every m has come up to the best mean. With a best mean of 1 and a finite epsilon that happens at r > 0:
        # from there on down to r = 0 the curve is a straight line, m stays, and `needed` does not change.
        self.end = self.at(np.full_like(rivals, FARTHEST))

    def at(self, z: Floats) -> Points:
        """The curves' points at positions z."""
        up_share, down_share = 1.0 / (1.0 + np.exp(-z)), 1.0 / (1.0 + np.exp(z))
        m = self.rivals * down_share + self.best * up_share
        one_minus_m = (1.0 - self.rivals) * down_share + (1.0 - self.best) * up_share
        down, up = self.gaps * down_share, self.gaps * up_share
        above, below = reach(m, one_minus_m, self.epsilon)
        best_gap, rival_gap = np.minimum(down, above), np.minimum(up, below)
        excess = entropy_excess(
            np.stack((best_gap / m, -best_gap / one_minus_m, -rival_gap / m, rival_gap / one_minus_m))
        )
        best_cost = m * excess[0] + one_minus_m * excess[1]
        rival_cost = m * excess[2] + one_minus_m * excess[3]
        if math.isfinite(self.epsilon):
            best_cost = best_cost + self.epsilon * (down - best_gap)
            rival_cost = rival_cost + self.epsilon * (up - rival_gap)
        ratio = best_gap / rival_gap
        value = best_cost + ratio * rival_cost
        speed = up * down_share  # dm/dz
        variance = m * one_minus_m
        bend = (one_minus_m - m) * speed / variance
        best_fall = np.where(best_gap < down, best_gap * speed / variance, up_share + bend)
        rival_rise = np.where(rival_gap < up, rival_gap * speed / variance, down_share - bend)
        log_ratio_slope = -(best_fall + rival_rise)
        return Points(
            z=z,
            best_cost=best_cost,
            rival_cost=rival_cost,
            ratio=ratio,
            value=value,
            log_ratio_slope=log_ratio_slope,
            # The envelope theorem: m is optimal, so only r moves the value.
            log_value_slope=ratio * log_ratio_slope * rival_cost / value,
            exchange_slope=-rival_gap * speed * value / (variance * rival_cost**2),
        )

    def at_value(self, value: float, start: Floats | None = None) -> Points:
        """The points where every curve has the given value (clipped to the curves' ends).

        Newton on log(highest/W - 1), which is z itself when d is quadratic, inside a shrinking bracket.
        """
        goal = _log_remainder(np.full_like(self.highest, value), self.highest)
        past_end = value <= self.end.value

        def miss(points: Points) -> tuple[Floats, Floats]:
            remainder = np.maximum(1.0 - points.value / self.highest, 1e-300)
            distance = goal - _log_remainder(points.value, self.highest)
            there = past_end | (np.abs(points.value - value) <= 2e-16 * value)
            return np.where(there, 0.0, distance), -points.log_value_slope / remainder

        start = self.near_value(value) if start is None else start
        return self._solve(miss, np.where(past_end, FARTHEST, start))

    def near_value(self, value: float) -> Floats:
        """Where the curves would have the given value if d were quadratic: a good place to start from."""
        scale = np.where(np.isfinite(self.highest), self.highest, 1.0)
        return _log_remainder(np.full_like(self.highest, value), self.highest) + np.log(scale)

    def at_rival_weight(self, weight: Floats) -> Points:
        """The points where W_b(w_1, weight_b) = 1 with w_1 = 1/W_b(1, r): weight_b = r / W_b(1, r)."""
        goal = np.log(weight)
        share = np.clip(1.0 / (self.highest * weight), 1e-6, 1.0 - 1e-6)  # where d is quadratic, exactly m's position
        start = np.log(share) - np.log1p(-share)
        past_end = weight <= self.end.ratio / self.end.value

        def miss(points: Points) -> tuple[Floats, Floats]:
            distance = np.log(points.ratio / points.value) - goal  # the weight falls as z rises
            return np.where(past_end, 0.0, distance), points.log_value_slope - points.log_ratio_slope

        return self._solve(miss, np.where(past_end, FARTHEST, start))

    def _solve(self, miss: _Miss, start: Floats) -> Points:
        """The points where `miss` (distance still to go, slope > 0) is zero: Newton for all arms at once.

        Once a root is enclosed, an arm whose steps stop shrinking by half bisects: some stretches are almost flat.
        """
        low, high = np.full_like(start, -np.inf), np.full_like(start, np.inf)
        z = np.clip(start, -FARTHEST, FARTHEST)
        previous = np.full_like(start, np.inf)
        points = self.at(z)
        for _ in range(_MOST_STEPS):
            distance, slope = miss(points)
            low, high = np.where(distance > 0.0, z, low), np.where(distance < 0.0, z, high)
            longest = _LONGEST_STEP + np.abs(z)
            step = np.clip(distance / np.maximum(slope, 1e-300), -longest, longest)
            poor = (2.0 * np.abs(step) > np.abs(previous)) | (z + step <= low) | (z + step >= high)
            step = np.where(poor & np.isfinite(high - low), 0.5 * (low + high) - z, step)
            step = np.where(distance == 0.0, 0.0, np.clip(z + step, -FARTHEST, FARTHEST) - z)
            if np.all(np.abs(step) <= 1e-10 * (1.0 + np.abs(z))):
                break
            z, previous = z + step, step
            points = self.at(z)
        return points


def _log_remainder(value: Floats, highest: Floats) -> Floats:
    """log(highest/value - 1), up to the constant log(highest), which may be infinite."""
    return np.log(np.maximum(1.0 - value / highest, 1e-300)) - np.log(value)
