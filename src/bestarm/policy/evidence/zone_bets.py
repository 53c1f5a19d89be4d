"""Bets of a champion against a rival that may be better by the zone.

Slopes, and the choice between a walk and a product, come from memory and opening alone. Where bets are products of two
curves, the releases of a stage are looked at one after the other: given everything but the noises of a and b, the mean
of F_a(R_a - s_a) F_b(s_b - R_b) e^(l_a s_a - l_b s_b) / (G_a(0) G_b(0)) is at most e^(l_a S_a - l_b S_b) whatever the
reference points and the curves of these slopes. So s_a may look at the other arms' releases of the same stage, which
tell the level, and s_b at the champion's as well: it is placed so that the full payment just ends the matter.
(docs/evidence-proof.md: noise, a walk)
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bestarm.policy.evidence.belief import Belief, copy_belief, learn_sum, observe, variance_of_outcome
from bestarm.policy.evidence.bets import (
    bet_on_sums,
    log_champion,
    log_difference,
    log_people,
    log_sums,
    on_grid,
    slope_of_rival,
)
from bestarm.policy.evidence.pairs import Zone, ZoneConstants
from bestarm.policy.evidence.walks import INEXACT, log_mean, noise_in, place
from bestarm.policy.evidence.zone_plan import expected_gap, is_walk, level_between, variance_between
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import against_rival, valid_people
from bestarm.release.curves import curve_of_slope
from bestarm.release.laws import PURE
from bestarm.rules import rule

CHARGE: Final = 1e-9
"""Nats charged for every bet on products, above the error of its curves' slopes."""
STEEPEST_WALK: Final = 6.0
"""Bets on walks are no steeper below their full payment, over the noise's budget."""
APART: Final = 0.04
"""Nor within this share of the noise's own steepness, where sums of two series would cancel."""


MOST_LOST: Final = 0.9
"""The share of a stake that a single outcome may cost."""


class Slopes(NamedTuple):
    """What must not look at the stage: chosen from memory and opening."""

    champion: float
    rival: float
    ratio: float
    """Of the two arms' weights."""
    pivot: float
    variance: float
    """Of an outcome, as expected."""
    gap: float
    """The difference that is bet on."""


@rule(inline=False)
def bets_on_walk(zone: Zone, constants: ZoneConstants, slot: int, a: int, b: int) -> bool:
    """Whether the bet on this pair is a walk: equal weights, up to their rounding, and outcomes that vary enough."""
    openings = zone.stages.openings
    p_a = openings.weights[slot, a]
    if abs(p_a - openings.weights[slot, b]) > 1e-5 * p_a:
        return False
    return is_walk(constants, openings.planned[slot] * p_a, variance_between(zone.pairs.belief, a, b))


@rule(inline=False)
def log_walk(zone: Zone, constants: ZoneConstants, slot: int, a: int, b: int, value: float, need: float) -> float:
    """The logarithm of the bet on a walk: `value` is R_a - R_b, released as such or made of two sums.

    May look at n_a + n_b, since the stage's size was fixed when it opened.
    """
    tuning = constants.tuning
    openings = zone.stages.openings
    p_a = openings.weights[slot, a]
    p_b = openings.weights[slot, b]
    up = (1.0 - constants.zone) * max(p_a, p_b) / (p_a + p_b)
    n_b = float(zone.stages.size[slot, b])
    people = zone.stages.size[slot, a] + n_b
    noise = noise_in(constants.law, openings.difference[slot] == 1)
    gap = expected_gap(constants, zone.pairs.belief, a, b)
    blur = noise.number * constants.noise
    variance = 0.25 * people + blur
    if variance <= 0.0:
        return 0.0
    steep = tuning.walk_steep * 0.5 * people * (gap + constants.zone) / variance
    if noise.number > 0:
        steep = min(steep, STEEPEST_WALK * noise.epsilon)
        if abs(steep - noise.epsilon) < APART * noise.epsilon:
            steep = (1.0 + APART) * noise.epsilon
    jump = tuning.jump_chance + (tuning.jump_noise - tuning.jump_chance) * blur / variance
    kept = math.exp(-jump)
    at = math.floor(0.5 * people * (1.0 + gap) + tuning.walk_reach * math.sqrt(variance))
    won = -log_mean(noise, people, up, steep, kept, at, need) - INEXACT
    if won > need:
        at = place(noise, people, up, steep, kept, need, at)
        won = need
    below = value + n_b - at
    return won if below >= 0.0 else won + steep * below - jump


@rule(inline=False)
def slopes_for(zone: Zone, constants: ZoneConstants, slot: int, a: int, b: int) -> Slopes:
    """The slopes that should win most on a pair of sums; infinite for the rival where there is no such bet."""
    openings = zone.stages.openings
    belief = zone.pairs.belief
    ratio = openings.weights[slot, a] / openings.weights[slot, b]
    planned = openings.planned[slot] * openings.weights[slot, a]
    level = level_between(belief, a, b, ratio)
    edge = 0.2 / (belief.people[a] + belief.people[b] + 2.0)
    pivot = min(max(level - 0.5 * constants.zone, edge), 1.0 - constants.zone - edge)
    variance = variance_of_outcome(pivot + 0.5 * constants.zone, belief.people[a] + belief.people[b])
    gap = expected_gap(constants, belief, a, b)
    spread = planned * variance * (1.0 + ratio) + constants.noise * (1.0 + ratio * ratio)
    up = bounded(constants, planned * (gap + constants.zone) / spread, max(1.0, ratio))
    up = min(up, steepest_of_rare(constants, pivot, gap, ratio))
    down = slope_of_rival(up, ratio, pivot, constants.zone)
    if constants.law.kind == PURE and down > 0.98 * constants.law.budget:
        down = math.inf
    return Slopes(up, down, ratio, pivot, variance, gap)


@rule
def steepest_of_rare(constants: ZoneConstants, pivot: float, gap: float, ratio: float) -> float:
    """The steepest slope of the champion that rare outcomes, or nearly certain ones, warrant.

    A bet of this pivot is just fair under the rates `pivot` and `pivot + zone`; those that are bet on lie nearer to
    each other by gap and zone together. A success of the rival, or a failure of the champion, should cost no more
    than in that likelihood ratio: where the difference is of the size of the rates themselves, the slope of a normal
    law would stake more than there is. And the rival's slope, too, has to be one that the noise allows.
    """
    zone = constants.zone
    half = 0.5 * (gap + zone)
    on_rival = min(half / (pivot + zone), MOST_LOST) / (1.0 - pivot - zone)
    if constants.law.kind == PURE:
        b = math.expm1(constants.tuning.steepest_rare * constants.law.budget)
        on_rival = min(on_rival, b / (1.0 + b * (1.0 - pivot - zone)))
    t = min(on_rival / ratio, min(half / (1.0 - pivot), MOST_LOST) / pivot)
    return math.log1p(t / (1.0 - pivot * t))


@rule(inline=False)
def bounded(constants: ZoneConstants, slope: float, ratio: float) -> float:
    """A slope that the noise allows: it nears a share of the budget as it grows."""
    if constants.law.kind != PURE:
        return slope
    most = constants.tuning.steepest * constants.law.budget / ratio
    power = constants.tuning.blend
    return float(most * (1.0 + (most / slope) ** power) ** (-1.0 / power))


@rule(inline=False)
def bet_on_sums_of(
    zone: Zone, constants: ZoneConstants, slot: int, a: int, b: int, values: FloatArray, need: float
) -> float:
    """The logarithm of the bet on two sums, with slopes from memory and opening, and curves release by release."""
    tuning = constants.tuning
    law = constants.law
    slopes = slopes_for(zone, constants, slot, a, b)
    if not slopes.rival < 1e300:
        return 0.0
    sizes = (float(zone.stages.size[slot, a]), float(zone.stages.size[slot, b]))
    sums = (float(values[a]), against_rival(zone.stages, slot, b, float(values[b])))
    if law.kind != PURE:
        plain = (curve_of_slope(law, slopes.champion, math.inf), curve_of_slope(law, slopes.rival, math.inf))
        return log_sums(bet_on_sums(plain[0], plain[1], slopes.ratio, constants.zone), (0.0, 0.0), sizes, sums) - CHARGE
    chance_a = math.sqrt(sizes[0] * slopes.variance)
    chance_b = math.sqrt(sizes[1] * slopes.variance)
    up = curve_of_slope(law, slopes.champion, tuning.grade_champion + tuning.wide * slopes.champion * chance_a)
    down = curve_of_slope(law, slopes.rival, tuning.grade_rival + tuning.wide * slopes.rival * chance_b)
    if not up.cost + down.cost < 1e300:
        return 0.0
    bet = bet_on_sums(up, down, slopes.ratio, constants.zone)
    seen = zone.scratch.belief
    level_from_others(zone, constants, slot, a, b, values, slopes.gap, seen)
    high = sizes[0] * seen.mean[a] + tuning.off * math.sqrt(constants.noise) + tuning.beyond * chance_a
    at_a = on_grid(law.step, high - up.cap / up.steep)
    # With the slopes fixed, the rival's reference point may look at what the champion's sum has won.
    won = log_champion(bet, at_a, sums[0]) + log_people(bet, sizes) - CHARGE
    observe(seen, a, a, sizes[0], 0.0, sums[0], sizes[0] * slopes.variance + constants.noise)
    spread = math.sqrt(
        sizes[1] * sizes[1] * max(seen.covariance[b, b], 0.0) + sizes[1] * slopes.variance + constants.noise
    )
    least = on_grid(law.step, sizes[1] * seen.mean[b] - tuning.reach * spread + down.cap / down.steep)
    at_b = math.floor((down.cap - down.cost - need + won) / (slopes.rival * law.step)) * law.step
    return log_sums(bet, (at_a, max(at_b, least)), sizes, sums) - CHARGE


@rule(inline=False)
def level_from_others(
    zone: Zone, constants: ZoneConstants, slot: int, a: int, b: int, values: FloatArray, gap: float, seen: Belief
) -> None:
    """What should be expected of a and b, given the stage's other releases, if they differ by `gap`."""
    copy_belief(zone.pairs.belief, seen)
    for c in range(constants.arms):
        if c != a and c != b and zone.stages.openings.weights[slot, c] > 0.0:
            learn_sum(seen, constants.law, c, valid_people(zone.stages, slot, c), values[c])
    observe(seen, a, b, 1.0, -1.0, gap, 0.0)


@rule(inline=False)
def bet_on_difference_of(
    zone: Zone, constants: ZoneConstants, slot: int, a: int, b: int, value: float, need: float
) -> float:
    """The logarithm of the bet on one difference R_a - R_b, of equal slopes and a pivot at 1/2."""
    tuning = constants.tuning
    law = constants.law
    openings = zone.stages.openings
    belief = zone.pairs.belief
    planned = openings.planned[slot] * openings.weights[slot, a]
    gap = expected_gap(constants, belief, a, b)
    slope = bounded(constants, planned * (gap + constants.zone) / (0.5 * planned + constants.noise), 1.0)
    ratio = openings.weights[slot, a] / openings.weights[slot, b]
    sizes = (float(zone.stages.size[slot, a]), float(zone.stages.size[slot, b]))
    people = sizes[0] + sizes[1]
    if law.kind != PURE:
        plain = curve_of_slope(law, slope, math.inf)
        return log_difference(bet_on_sums(plain, plain, ratio, constants.zone), 0.0, sizes, value) - CHARGE
    shape = curve_of_slope(law, slope, tuning.grade_difference + tuning.wide * slope * math.sqrt(0.25 * people))
    if not shape.cost < 1e300:
        return 0.0
    bet = bet_on_sums(shape, shape, ratio, constants.zone)
    spread = math.sqrt(people * variance_between(belief, a, b) + constants.noise)
    level = level_between(belief, a, b, 1.0)
    middle = (sizes[0] - sizes[1]) * level + 0.5 * people * gap
    most = on_grid(law.step, middle + tuning.reach * spread - shape.cap / shape.steep)
    fixed = log_people(bet, sizes) - CHARGE
    at = math.ceil((need - fixed - shape.cap + shape.cost) / (slope * law.step)) * law.step
    return log_difference(bet, min(at, most), sizes, value) - CHARGE
