"""Defects planted in a mechanism, or in its source of noise: each turns an honest mechanism into a release function.

None can be seen in one release. The attack has to find every one of them.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Final, TypeAlias

from bestarm.privacy.mechanism import Mechanism
from bestarm.privacy.noise import SystemNoise
from bestarm.release.laws import PURE

Release: TypeAlias = Callable[[int], object]
Defect: TypeAlias = Callable[[Mechanism], Release]


def spread_of(mechanism: Mechanism) -> float:
    """The scale, or the standard deviation, of its noise in steps."""
    grid, budget = mechanism.encoder.grid, mechanism.budget
    assert budget is not None
    return float(grid / budget) if mechanism.law.kind == PURE else math.sqrt(grid**2 / (2 * budget))


def honest(mechanism: Mechanism) -> Release:
    """Nothing is wrong."""
    return mechanism.release


def narrower(by: str) -> Defect:
    """The noise is so many times as wide as it should be."""

    def planted(mechanism: Mechanism) -> Release:
        assert mechanism.budget is not None
        power = 1 if mechanism.law.kind == PURE else 2
        return replace(mechanism, budget=mechanism.budget / Fraction(by) ** power).release

    return planted


def reused_in_the_mechanism(mechanism: Mechanism) -> Release:
    """Every other release takes the noise of the one before it."""
    last: list[int] = []

    def release(total: int) -> int:
        if last:
            return total + last.pop()
        last.append(mechanism.release(total) - total)
        return total + last[0]

    return release


class Recycled(SystemNoise):
    """A source that draws twenty noises and hands them out again and again, in any order.

    Where noise is narrow it repeats itself anyway. There twenty draws show because the shares of the numbers that come
    up are multiples of 1/20, and those of the law are not.
    """

    def __init__(self) -> None:
        self._kept: dict[Fraction, list[int]] = {}

    def _one_of(self, parameter: Fraction, draw: Callable[[Fraction], int]) -> int:
        kept = self._kept.setdefault(parameter, [])
        if len(kept) < 20:
            kept.append(draw(parameter))
            return kept[-1]
        return secrets.choice(kept)

    def laplace(self, scale: Fraction) -> int:
        return self._one_of(scale, super().laplace)

    def gaussian(self, variance: Fraction) -> int:
        return self._one_of(variance, super().gaussian)


def reused_in_the_source(mechanism: Mechanism) -> Release:
    """The source hands out old noise."""
    return replace(mechanism, noise=Recycled()).release


def the_same_for_the_same_sum(mechanism: Mechanism) -> Release:
    """A sum that comes again gets the noise it had, every third time."""
    had: dict[int, int] = {}

    def release(total: int) -> int:
        if total in had and secrets.randbelow(3) == 0:
            return had[total]
        had[total] = mechanism.release(total)
        return had[total]

    return release


def of_the_parity_of_the_sum(mechanism: Mechanism) -> Release:
    """Noise is even on even sums, so that an even release of an odd sum never is."""

    def release(total: int) -> int:
        value = mechanism.release(total)
        return value if total % 2 else value - value % 2

    return release


def half_as_wide_if_odd(mechanism: Mechanism) -> Release:
    """Odd sums get half the noise."""
    half = narrower("0.5")(mechanism)
    return lambda total: half(total) if total % 2 else mechanism.release(total)


def clamped(laplace: float, gaussian: float) -> Defect:
    """Noise ends at so many scales, or standard deviations."""

    def planted(mechanism: Mechanism) -> Release:
        at = laplace if mechanism.law.kind == PURE else gaussian
        end = math.ceil(at * spread_of(mechanism))
        return lambda total: total + max(-end, min(end, mechanism.release(total) - total))

    return planted


def one_sided_above_a_sum(mechanism: Mechanism) -> Release:
    """Sums above a thousand outcomes only ever get more."""

    def release(total: int) -> int:
        noise = mechanism.release(total) - total
        return total + (abs(noise) if total > 1000 * mechanism.encoder.grid else noise)

    return release


def _continuous(mechanism: Mechanism) -> float:
    u = secrets.randbits(53) * 2.0**-53 - 0.5
    spread = spread_of(mechanism)
    if mechanism.law.kind == PURE:
        return -spread * math.copysign(math.log(max(1 - 2 * abs(u), 1e-300)), u)
    angle, v = secrets.randbits(53) * 2.0**-53, max(abs(u) * 2, 1e-300)
    return spread * math.sqrt(-2 * math.log(v)) * math.cos(2 * math.pi * angle)


def floating_point(mechanism: Mechanism) -> Release:
    """Continuous noise in floating point."""
    return lambda total: total + _continuous(mechanism)


def floating_point_rounded(mechanism: Mechanism) -> Release:
    """Continuous noise in floating point, rounded to whole numbers."""
    return lambda total: total + round(_continuous(mechanism))


DEFECTS: Final[dict[str, Defect]] = {
    "scale halved": narrower("0.5"),
    "scale 20% too small": narrower("0.8"),
    "noise reused in the mechanism": reused_in_the_mechanism,
    "noise reused in the source": reused_in_the_source,
    "the same noise for the same sum": the_same_for_the_same_sum,
    "noise of the sum's parity": of_the_parity_of_the_sum,
    "half as wide if odd": half_as_wide_if_odd,
    "clamped at 4 scales, 2 deviations": clamped(4.0, 2.0),
    "one-sided above a sum": one_sided_above_a_sum,
    "floating point": floating_point,
}
"""Seen at any scale. Rounded floating point is seen at small scales alone."""
