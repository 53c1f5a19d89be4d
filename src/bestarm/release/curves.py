"""What noise makes of a pay-off: the curves that bets on a release are made of.

A curve is F(u) = exp(min(steep u, cap)) on the grid of the release, a log-concave function. With noise Z, symmetric and
log-concave, G(u) = E F(u + Z) is log-concave too, and so lies below its tangents:

    G(u) <= G(0) exp(slope u)   for every slope between log G(1)/G(0) and log G(0)/G(-1), one step of the grid apart.

Whoever knows F, log G(0) and such a slope can bet on a release as if on the sum itself. Everything here is a sum of
geometric series, exact for discrete Laplace noise however small the budget and however fine the grid. For discrete
Gaussian noise E exp(steep Z) <= exp(steep^2 sigma^2 / 2) is used, which holds with a cap as well; without central noise
G is F. (docs/evidence-proof.md: noise)
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bestarm.release.laws import PURE, Law, log_mgf
from bestarm.rules import rule

MOST_CAP: Final = 600.0
"""Finite caps are at most this many nats, so that their exponentials are finite."""
STEEPEST: Final = 50.0
"""`curve_of_slope` looks for no steepness beyond this multiple of the budget."""
ATTEMPTS: Final = 60
"""After so many, `curve_of_slope` takes it that there is no such curve; it finds one within ten or so."""
EXACT: Final = 1e-14
"""Relative error of a slope; bets are charged more than that for it."""


class Curve(NamedTuple):
    """F(u) = exp(min(steep u, cap)), u in outcome units, and what a bet has to know of it."""

    steep: float
    cap: float
    cost: float
    """log G(0); infinite for a curve that has no mean, which makes every bet worthless."""
    slope: float
    """Of a tangent at 0, in nats per outcome unit."""


class Tangents(NamedTuple):
    """log G(0) and the range of slopes at 0."""

    cost: float
    least: float
    most: float


@rule
def series(terms: float, ratio: float) -> float:
    """The sum of e^(ratio j) over j = 0, ..., terms - 1."""
    if abs(terms * ratio) < 1e-9:
        return terms * (1.0 + 0.5 * (terms - 1.0) * ratio)
    return math.expm1(terms * ratio) / math.expm1(ratio)


@rule(inline=False)
def laplace_tangents(epsilon: float, step: float, steep: float, cap: float) -> Tangents:
    """Of a capped curve under discrete Laplace noise, P(Z = z step) = tanh(e/2) exp(-e |z|) with e = epsilon step.

    The differences of G are summed as such: as a difference of two sums they would drown in rounding on a fine grid.
    """
    e = epsilon * step
    a = steep * step
    kink = math.floor(cap / a)
    above = math.expm1(cap - a * kink)
    unit = math.tanh(0.5 * e)
    left = math.exp(-e - a) / -math.expm1(-e - a)
    beyond = math.exp(cap - e * (kink + 1.0)) / (1.0 + math.exp(-e))
    whole = unit * (left + series(kink + 1.0, a - e)) + beyond
    forth = unit * (math.expm1(a) * (left + series(kink, a - e)) + math.exp((a - e) * kink) * above)
    back = unit * (-math.expm1(-a) * (left + series(kink + 1.0, a - e)) + math.exp(a * kink - e * (kink + 1.0)) * above)
    return Tangents(math.log(whole), math.log1p(forth / whole) / step, -math.log1p(-back / whole) / step)


@rule
def tangents(law: Law, steep: float, cap: float) -> Tangents:
    """log G(0) and the slopes that a bet may use, for a curve under the law's noise."""
    if law.kind == PURE and cap < math.inf:
        return laplace_tangents(law.budget, law.step, steep, min(cap, MOST_CAP))
    if law.kind == PURE and steep >= law.budget:
        return Tangents(math.inf, steep, steep)
    return Tangents(log_mgf(law, steep), steep, steep)


@rule
def curve(law: Law, steep: float, cap: float) -> Curve:
    """The curve of this steepness and cap (positive; math.inf for none), with the slope in the middle of its range."""
    found = tangents(law, steep, cap)
    held = min(cap, MOST_CAP) if cap < math.inf else cap
    return Curve(steep, held, found.cost, 0.5 * (found.least + found.most))


@rule(inline=False)
def curve_of_slope(law: Law, slope: float, cap: float) -> Curve:
    """The curve with this cap among whose tangents is the slope; of infinite cost if there is none.

    The flatter a curve becomes at its cap, the steeper it has to be to have the slope at all. The logarithm of its
    slope is a concave function of the logarithm of its steepness or nearly so; secants find the steepness in a few
    steps, within bounds that close in.
    """
    if law.kind != PURE or cap == math.inf:
        return Curve(slope, cap, tangents(law, slope, cap).cost, slope)
    held = min(cap, MOST_CAP)
    if slope >= law.budget:  # one step of noise less is at most e^(budget step) less likely
        return Curve(slope, held, math.inf, slope)
    low = math.log(slope)
    high = math.log(min(STEEPEST * law.budget, MOST_CAP / law.step))
    at = low
    before = low
    short_before = 0.0
    for attempt in range(ATTEMPTS):
        found = laplace_tangents(law.budget, law.step, math.exp(at), held)
        if holds(found, slope):
            return Curve(math.exp(at), held, found.cost, slope)
        short = math.log(slope / (0.5 * (found.least + found.most)))
        if short > 0.0:
            low = at
        else:
            high = at
        rise = (short_before - short) / (at - before) if attempt > 0 and at != before else 1.0
        before = at
        short_before = short
        at = at + short / rise if rise > 0.0 else high
        if not low < at < high:
            at = 0.5 * (low + high)
    return Curve(slope, held, math.inf, slope)


@rule
def holds(found: Tangents, slope: float) -> bool:
    """Whether a slope is among the tangents', as far as floating point can tell."""
    return found.least * (1.0 - EXACT) <= slope <= found.most * (1.0 + EXACT)


@rule
def log_value(shape: Curve, u: float) -> float:
    """log F(u); u is a whole number of grid steps, in outcome units."""
    return min(shape.steep * u, shape.cap)
