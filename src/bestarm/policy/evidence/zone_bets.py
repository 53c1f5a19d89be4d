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
from bestarm.policy.evidence.bets import factors, slope_of_rival
from bestarm.policy.evidence.pairs import Zone, ZoneConstants
from bestarm.policy.evidence.walks import INEXACT, log_mean, noise_in, place
from bestarm.policy.evidence.zone_plan import expected_gap, is_walk, level_between, variance_between
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import against_rival, valid_people
from bestarm.release.curves import curve_of_slope, log_value
from bestarm.release.laws import PURE
from bestarm.rules import rule

CHARGE: Final = 1e-9
"""Nats charged for every bet on products, and 1e-13 for every person in it, above the error of its logarithm."""
STEEPEST_WALK: Final = 6.0
"""Bets on walks are no steeper below their full payment, over the noise's budget."""
APART: Final = 0.04
"""Nor within this share of the noise's own steepness, where sums of two series would cancel."""


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
    down = slope_of_rival(up, ratio, pivot, constants.zone)
    if constants.law.kind == PURE and down > 0.98 * constants.law.budget:
        down = math.inf
    return Slopes(up, down, ratio, pivot, variance, gap)


@rule(inline=False)
def bounded(constants: ZoneConstants, slope: float, ratio: float) -> float:
    """A slope that the noise allows: it nears a share of the budget as it grows."""
    if constants.law.kind != PURE:
        return slope
    most = constants.tuning.steepest * constants.law.budget / ratio
    power = constants.tuning.blend
    return float(most * (1.0 + (most / slope) ** power) ** (-1.0 / power))


@rule(inline=False)
def log_sums(zone: Zone, constants: ZoneConstants, slot: int, a: int, b: int, values: FloatArray, need: float) -> float:
    """The logarithm of the bet on two sums, with slopes from memory and opening, and curves release by release."""
    tuning = constants.tuning
    law = constants.law
    slopes = slopes_for(zone, constants, slot, a, b)
    if not slopes.rival < 1e300:
        return 0.0
    k = factors(slopes.champion, slopes.rival, slopes.ratio, constants.zone)
    n_a = float(zone.stages.size[slot, a])
    n_b = float(zone.stages.size[slot, b])
    rival = against_rival(zone.stages, slot, b, float(values[b]))
    fixed = n_a * k.champion + n_b * k.rival - CHARGE - 1e-13 * (n_a + n_b + abs(values[a]) + abs(rival))
    if law.kind != PURE:
        up = curve_of_slope(law, slopes.champion, math.inf)
        down = curve_of_slope(law, slopes.rival, math.inf)
        return float(fixed + slopes.champion * values[a] - slopes.rival * rival - up.cost - down.cost)
    chance_a = math.sqrt(n_a * slopes.variance)
    chance_b = math.sqrt(n_b * slopes.variance)
    up = curve_of_slope(law, slopes.champion, tuning.grade_champion + tuning.wide * slopes.champion * chance_a)
    down = curve_of_slope(law, slopes.rival, tuning.grade_rival + tuning.wide * slopes.rival * chance_b)
    if not up.cost + down.cost < 1e300:
        return 0.0
    seen = zone.scratch.belief
    level_from_others(zone, constants, slot, a, b, values, slopes.gap, seen)
    high = n_a * seen.mean[a] + tuning.off * math.sqrt(constants.noise) + tuning.beyond * chance_a
    at_a = on_grid(law.step, high - up.cap / up.steep)
    won = log_value(up, values[a] - at_a) - up.cost + slopes.champion * at_a + fixed
    observe(seen, a, a, n_a, 0.0, values[a], n_a * slopes.variance + constants.noise)
    spread = math.sqrt(n_b * n_b * max(seen.covariance[b, b], 0.0) + n_b * slopes.variance + constants.noise)
    least = on_grid(law.step, n_b * seen.mean[b] - tuning.reach * spread + down.cap / down.steep)
    at_b = math.floor((down.cap - down.cost - need + won) / (slopes.rival * law.step)) * law.step
    at_b = max(at_b, least)
    return float(won + log_value(down, at_b - rival) - down.cost - slopes.rival * at_b)


@rule
def on_grid(step: float, value: float) -> float:
    """The nearest point of the release's grid."""
    return math.floor(value / step + 0.5) * step


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
def log_difference(zone: Zone, constants: ZoneConstants, slot: int, a: int, b: int, value: float, need: float) -> float:
    """The logarithm of the bet on one difference R_a - R_b, of equal slopes and a pivot at 1/2."""
    tuning = constants.tuning
    law = constants.law
    openings = zone.stages.openings
    belief = zone.pairs.belief
    planned = openings.planned[slot] * openings.weights[slot, a]
    gap = expected_gap(constants, belief, a, b)
    slope = bounded(constants, planned * (gap + constants.zone) / (0.5 * planned + constants.noise), 1.0)
    k = factors(slope, slope, openings.weights[slot, a] / openings.weights[slot, b], constants.zone)
    n_a = float(zone.stages.size[slot, a])
    n_b = float(zone.stages.size[slot, b])
    fixed = n_a * k.champion + n_b * k.rival - CHARGE - 1e-13 * (n_a + n_b + abs(value))
    if law.kind != PURE:
        return fixed + slope * value - curve_of_slope(law, slope, math.inf).cost
    chance = math.sqrt(0.25 * (n_a + n_b))
    shape = curve_of_slope(law, slope, tuning.grade_difference + tuning.wide * slope * chance)
    if not shape.cost < 1e300:
        return 0.0
    variance = variance_between(belief, a, b)
    spread = math.sqrt((n_a + n_b) * variance + constants.noise)
    level = level_between(belief, a, b, 1.0)
    middle = (n_a - n_b) * level + 0.5 * (n_a + n_b) * gap
    most = on_grid(law.step, middle + tuning.reach * spread - shape.cap / shape.steep)
    at = math.ceil((need - fixed - shape.cap + shape.cost) / (slope * law.step)) * law.step
    at = min(at, most)
    return log_value(shape, value - at) - shape.cost + slope * at + fixed
