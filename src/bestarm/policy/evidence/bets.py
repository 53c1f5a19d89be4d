"""Bets of a champion against a rival, exactly fair under the noise that is drawn.

Hypothesis: every person would on average do at least as well on the rival b as on the champion a, by g or more if there
is a zone g. With p_a / p_b = r, a stage's people as one sees them without noise are worth

    exp(l_a S_a - l_b S_b + n_a k_a + n_b k_b),

whose mean is at most 1 for any slopes l_a, l_b > 0, whatever happens to the people over time: k_a and k_b are the
factors of an outcome of 0 on either arm. With noise, curves F take the place of the exponentials (`release.curves`):

    F_a(R_a - s_a) F_b(s_b - R_b) / (G_a(0) G_b(0)) exp(l_a s_a - l_b s_b + n_a k_a + n_b k_b),

for any reference points s on the grid of the release. A single release of the difference S_a - S_b has one curve and
equal slopes, and needs equal weights of the two arms to be of any use.

Slopes must not look at the stage's own coins, sizes or outcomes. Reference points and the curves themselves, with their
slopes fixed, may. (docs/evidence-proof.md: fair products, noise)
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bestarm.release.curves import Curve, log_value
from bestarm.release.joint import Joint, log_payoff
from bestarm.rules import rule

ROUNDING: Final = 1e-15
"""Charged for every person in a bet, above the error of the factors' logarithms."""
INEXACT: Final = 4e-14
"""Charged for every nat that enters a bet's logarithm, above the error of slopes and sums."""


class Factors(NamedTuple):
    """Logarithms of what an outcome of 0 is worth."""

    champion: float
    rival: float


class Bet(NamedTuple):
    """A bet on the two sums, or with the curve `up` alone on their difference."""

    up: Curve
    """Pays for a high sum of the champion."""
    down: Curve
    """Pays for a low sum of the rival."""
    factors: Factors


@rule
def factors(up: float, down: float, ratio: float, zone: float) -> Factors:
    """k_a = log (1+r)(B-1)/(r D_g) and k_b = log (1+r) B (A-1)/D_g, with A = e^up, B = e^down, D_g as below.

    D_g = AB - 1 - g (A-1)(B-1). `ratio` is p_a / p_b, positive; `zone` is g <= 1 on the scale of what is counted.
    """
    a = math.expm1(up)
    b = math.expm1(down)
    d = a + b + (1.0 - zone) * a * b
    # 1 - Y and 1 + rY' are close to 1 for small slopes; their distance from it is what has to be accurate.
    y = (ratio * a - b + (1.0 - zone) * ratio * a * b) / (ratio * d)
    ry = (ratio * a - b + (ratio + zone) * a * b) / d
    return Factors(math.log1p(-y), math.log1p(ry))


@rule
def slope_of_rival(up: float, ratio: float, pivot: float, zone: float) -> float:
    """The l_b that goes with l_a when the champion's pivot is c: best if c is what outcomes are on average.

    With c, t and r the factors of 1 and 0 are 1 + t(1-c), 1 - tc on the champion and 1 - rt(1-c-g), 1 + rt(c+g) on the
    rival. Infinite where there is no such bet.
    """
    a = math.expm1(up)
    t = ratio * a / (1.0 + pivot * a)
    lost = t * (1.0 - pivot - zone)
    if lost >= 1.0:
        return math.inf
    return math.log1p(t * (pivot + zone)) - math.log1p(-lost)


@rule
def bet_on_sums(up: Curve, down: Curve, ratio: float, zone: float) -> Bet:
    """The bet that two curves fix."""
    return Bet(up, down, factors(up.slope, down.slope, ratio, zone))


@rule
def on_grid(step: float, value: float) -> float:
    """The nearest point of the release's grid: where reference points have to lie."""
    return math.floor(value / step + 0.5) * step


@rule
def log_champion(bet: Bet, at: float, value: float) -> float:
    """The champion's part of a bet on two sums, with its reference point."""
    return log_value(bet.up, value - at) - bet.up.cost + bet.up.slope * at


@rule
def log_rival(bet: Bet, at: float, value: float) -> float:
    """The rival's part."""
    return log_value(bet.down, at - value) - bet.down.cost - bet.down.slope * at


@rule
def log_people(bet: Bet, sizes: tuple[float, float]) -> float:
    """What everybody's coin has cost."""
    return sizes[0] * bet.factors.champion + sizes[1] * bet.factors.rival


@rule
def log_sums(bet: Bet, at: tuple[float, float], sizes: tuple[float, float], values: tuple[float, float]) -> float:
    """The logarithm of a bet on two sums, champion first, with reference points on the grid; never above the true
    one."""
    nats = abs(values[0]) + abs(values[1]) + abs(at[0]) + abs(at[1]) + sizes[0] + sizes[1]
    charge = ROUNDING * (sizes[0] + sizes[1]) + INEXACT * (1.0 + (bet.up.steep + bet.down.steep) * nats)
    return log_champion(bet, at[0], values[0]) + log_rival(bet, at[1], values[1]) + log_people(bet, sizes) - charge


@rule
def log_difference(bet: Bet, at: float, sizes: tuple[float, float], value: float) -> float:
    """The logarithm of a bet on the difference of two sums, champion minus rival; never above the true one."""
    nats = 1.0 + 2.0 * bet.up.steep * (abs(value) + abs(at) + sizes[0] + sizes[1])
    return log_champion(bet, at, value) + log_people(bet, sizes) - ROUNDING * (sizes[0] + sizes[1]) - INEXACT * nats


class JointBet(NamedTuple):
    """A bet with one cap for both sums, or on their difference."""

    pays: Joint
    up: float
    down: float
    """The slopes l_a and l_b."""
    factors: Factors


@rule
def joint_on_sums(pays: Joint, ratio: float, zone: float) -> JointBet:
    """The bet that a joint pay-off of two sums fixes."""
    up = pays.tangent * pays.up
    down = pays.tangent * pays.down
    return JointBet(pays, up, down, factors(up, down, ratio, zone))


@rule
def joint_on_difference(pays: Joint, zone: float) -> JointBet:
    """The bet that a pay-off of one release (`pays.down` = 0) fixes on S_a - S_b, for arms of equal weights."""
    slope = pays.tangent * pays.up
    return JointBet(pays, slope, slope, factors(slope, slope, 1.0, zone))


@rule
def log_joint(bet: JointBet, pivot: float, sizes: tuple[float, float], values: tuple[float, float]) -> float:
    """The logarithm of a bet; never above the true one.

    `values` are the two sums, champion first, or the difference and 0. Reference points are what the sums should be
    with outcomes of mean `pivot`; they need not lie on the grid.
    """
    at_a = sizes[0] * pivot
    at_b = sizes[1] * pivot
    if bet.pays.down == 0.0:
        won = log_payoff(bet.pays, values[0] - at_a + at_b, 0.0)
    else:
        won = log_payoff(bet.pays, values[0] - at_a, at_b - values[1])
    tangent = bet.up * at_a - bet.down * at_b
    people = sizes[0] * bet.factors.champion + sizes[1] * bet.factors.rival
    nats = (bet.pays.up + bet.pays.down) * (abs(values[0]) + abs(values[1]) + sizes[0] + sizes[1])
    return won - bet.pays.cost + tangent + people - ROUNDING * (sizes[0] + sizes[1]) - INEXACT * (1.0 + nats)
