"""One pay-off for two releases, or for one: an exponential of both with a common cap.

With u and v by how much two releases exceed (or fall short of) their reference points, the pay-off is F = exp(y) for
y = up u + down v well below the cap and e^cap well above it. A cap on each release by itself would have to know where
the two sums lie together; this one only asks how far they are apart.

Discrete Laplace noise Z on a grid is continuous Laplace noise L with its fractional parts thrown away: an exponential
law's whole and fractional part are independent, so L = Z + f with f independent of Z, of mean 0 and variance at most
step^2/6. The mean over f of exp(min(y + f's share, cap)) is a pay-off F whose mean over Z is therefore *exactly* that
of exp(min(y, cap)) over continuous noise,

    H(y) = E exp(min(y + up L + down L', cap)),

log-concave on the reals: H(y) <= H(0) exp(tangent y) with tangent = (log H)'(0), for all sums and any reference points.
By Jensen's and Scarf's inequalities log F is at least the smooth minimum that `log_payoff` computes, a little below
min(y, cap) near the kink, nothing elsewhere; so that is what is paid. Without a cap the exact discrete noise is used.
(docs/evidence-proof.md: noise)
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bestarm.release.curves import MOST_CAP
from bestarm.release.laws import PURE, Law, log_mgf
from bestarm.rules import rule

ALIKE: Final = 1e-6
"""Two steepnesses closer than this, relatively, are moved apart: their difference is divided by."""
ROUNDED_UP: Final = 1e-8
"""Added to log H(0), above the error that the division leaves."""

STEEPEST: Final = 40.0
"""`joint_of_slopes` looks for no steepness beyond this multiple of the slopes."""
ATTEMPTS: Final = 60
"""After so many, there is no such pay-off; it is found within ten or so."""
SAME_SLOPE: Final = 1e-10
"""Relative error of a slope. The tangent is then off by its square, at most, which `ROUNDED_UP` covers."""


class Joint(NamedTuple):
    """The pay-off of two releases (`down` = 0: of one)."""

    up: float
    down: float
    """Nats for each outcome unit by which the first release exceeds, and the second falls short."""
    cap: float
    """Infinite for none."""
    soft: float
    """Width of the smooth minimum."""
    cost: float
    """log H(0), rounded up; infinite if there is no mean."""
    tangent: float
    """The slopes of a bet are this share of `up` and `down`."""


@rule
def below_and_above(rate: float, cap: float) -> tuple[float, float]:
    """The integrals of exp(min(w, cap)) exp(-rate |w|), and of the part beyond the cap."""
    grown = math.exp((1.0 - rate) * cap)
    within = (grown - 1.0) / (1.0 - rate) if abs((1.0 - rate) * cap) > 1e-3 else series_near(1.0 - rate, cap)
    return 1.0 / (1.0 + rate) + within + grown / rate, grown / rate


@rule
def series_near(z: float, cap: float) -> float:
    """expm1(z cap)/z for small z cap."""
    q = z * cap
    return cap * (1.0 + q * (0.5 + q * (1.0 / 6.0 + q * (1.0 / 24.0 + q / 120.0))))


@rule(inline=False)
def joint(law: Law, up: float, down: float, cap: float) -> Joint:
    """The pay-off with these steepnesses and this cap (math.inf: none).

    Only Laplace noise has anything to gain from a cap: other laws get none.
    """
    if law.kind != PURE or cap == math.inf:
        if law.kind == PURE and max(up, down) >= law.budget:
            return Joint(up, down, math.inf, 0.0, math.inf, 1.0)
        return Joint(up, down, math.inf, 0.0, log_mgf(law, up) + log_mgf(law, down), 1.0)
    held = min(cap, MOST_CAP)
    fast = law.budget / up
    if down == 0.0:
        whole, tail = below_and_above(fast, held)
        whole *= 0.5 * fast
        tail *= 0.5 * fast
    else:
        if abs(up - down) < ALIKE * up:
            down = up * (1.0 + ALIKE)
            fast = law.budget / up
        slow = law.budget / down
        whole, tail = below_and_above(slow, held)
        whole_fast, tail_fast = below_and_above(fast, held)
        scale = 0.5 * fast * slow / ((fast + slow) * (fast - slow))
        whole = scale * (fast * whole - slow * whole_fast)
        tail = scale * (fast * tail - slow * tail_fast)
    soft = law.step * math.sqrt((up * up + down * down) / 6.0)
    return Joint(up, down, held, soft, math.log(whole) + ROUNDED_UP, 1.0 - tail / whole)


@rule(inline=False)
def joint_of_slopes(law: Law, up: float, down: float, cap: float) -> Joint:
    """The pay-off with this cap whose slopes are `up` and `down`; of infinite cost if there is none.

    The lower the cap, the steeper the pay-off has to be to have these slopes. Steepness and slope rise together.
    """
    if law.kind != PURE or cap == math.inf:
        return joint(law, up, down, cap)
    low = 1.0
    high = STEEPEST
    scale = low
    found = joint(law, up, down, cap)
    before = scale
    short_before = 0.0
    for attempt in range(ATTEMPTS):
        short = 1.0 - scale * found.tangent
        if abs(short) < SAME_SLOPE:
            return Joint(found.up, found.down, found.cap, found.soft, found.cost, 1.0 / scale)
        if short > 0.0:
            low = scale
        else:
            high = scale
        rise = (short_before - short) / (scale - before) if attempt > 0 and scale != before else 0.5
        before = scale
        short_before = short
        scale = scale + short / rise if rise > 0.0 else high
        if not low < scale < high:
            scale = 0.5 * (low + high)
        found = joint(law, scale * up, scale * down, cap)
    return Joint(up, down, cap, 0.0, math.inf, 1.0)


@rule
def log_payoff(pays: Joint, u: float, v: float) -> float:
    """A bound from below of log F, where the first release is u above and the second v below its reference point."""
    y = pays.up * u + pays.down * v
    if pays.cap == math.inf:
        return y
    # (x + y - sqrt((x-y)^2 + soft^2))/2, without cancellation
    off = abs(pays.cap - y)
    return min(pays.cap, y) - 0.5 * pays.soft * pays.soft / (off + math.hypot(off, pays.soft))
