"""lab version"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.coin.bets import factors, slope_of_rival
from bestarm.policy.coin.walks import log_mean, noise_in, place
from bestarm.policy.coin.belief import (
    Belief,
    copy_belief,
    learn_difference,
    learn_sum,
    new_belief,
    observe,
    spread_between,
    variance_of_outcome,
)
from bestarm.policy.record import FloatArray, IntArray
from bestarm.policy.stages import Openings, Stages, new_stages
from bestarm.release.curves import curve_of_slope, log_value
from bestarm.release.laws import PURE, ZCDP, Law, noise_variance
from bestarm.rules import rule


class ZoneTuning(NamedTuple):
    spread: float = 1.0
    steep: float = 0.85
    power: float = 2.0
    grade_a: float = 2.5
    grade_b: float = 1.0
    off_a: float = 0.0
    lim: float = 1.5
    cash: float = 0.03
    shrink: float = 0.5
    kx: float = 1.0
    k0: float = 0.35
    k1: float = 1.0
    kp: float = 1.0
    more: float = 1.0
    first: float = 1.0
    first_v: float = 0.01
    lead2: float = 2.0
    lead8: float = 8.0
    cover: float = 0.6
    stick: float = 0.1
    difference: float = 0.5
    later: float = 1.0
    phi: float = 1.0
    grade_d: float = 1.0
    wide: float = 4.0
    beyond: float = 2.0
    walk_worth: float = 0.8
    w_steep: float = 1.0
    w_lim: float = 1.0
    wk0: float = 0.35
    wk1: float = 1.0
    least: float = 1.0
    jump0: float = 0.3
    jump1: float = 1.5
    fk: float = 1.0


class ZoneConstants(NamedTuple):
    arms: int
    law: Law
    threshold: float
    zone: float
    noise: float
    tuning: ZoneTuning


class Scratch(NamedTuple):
    size: FloatArray
    gained: FloatArray
    belief: Belief
    share: FloatArray


class Zone(NamedTuple):
    stages: Stages
    belief: Belief
    wealth: FloatArray
    out: IntArray
    cash: FloatArray
    leader: IntArray
    scratch: Scratch


def zone_constants(arms: int, law: Law, delta: float, zone: float, tuning: ZoneTuning | None = None) -> ZoneConstants:
    return ZoneConstants(arms, law, math.log(1.0 / delta), zone * law.slope, noise_variance(law), tuning or ZoneTuning())


@rule(allocates=True)
def start_zone(constants: ZoneConstants) -> Zone:
    arms = constants.arms
    spread = constants.tuning.spread * constants.zone
    state = Zone(
        new_stages(arms),
        new_belief(arms, constants.law, spread),
        np.zeros((arms, arms)),
        np.zeros((arms, arms), np.int64),
        np.zeros(1),
        np.zeros(1, np.int64),
        Scratch(np.zeros(arms), np.zeros((arms, arms)), new_belief(arms, constants.law, spread), np.zeros(arms)),
    )
    staked = 1.0
    if arms > 2:
        n = first_size(constants)
        rho = constants.noise / (constants.noise + n * first_variance(constants))
        staked = min(max(constants.tuning.phi * rho, 0.05), 1.0)
        if staked > 0.8:
            staked = 1.0
    state.cash[0] = 1.0 - staked
    for a in range(arms):
        for b in range(arms):
            state.wealth[a, b] = math.log(staked / (arms - 1.0))
    return state


@rule
def first_variance(constants: ZoneConstants) -> float:
    return 0.5 * constants.zone * (1.0 - constants.zone) + constants.tuning.first_v


@rule
def full_size(constants: ZoneConstants, need: float, gap: float, variance: float, difference: bool) -> float:
    apart = gap + constants.zone
    by_chance = need * 4.0 * variance / (apart * apart)
    if constants.law.kind == PURE:
        more = constants.tuning.more * (0.5 if difference else 1.0)
        return by_chance + constants.tuning.kx * (need + more) / (constants.law.budget * apart)
    return 0.5 * by_chance + math.sqrt(0.25 * by_chance * by_chance + by_chance * constants.noise / variance)


@rule
def stage_size(
    constants: ZoneConstants, need: float, gap: float, variance: float, difference: bool, walk: bool
) -> float:
    t = constants.tuning
    n = full_size(constants, need, gap, variance, difference)
    rho = constants.noise / (constants.noise + n * variance)
    if walk:
        return (t.wk0 + (t.wk1 - t.wk0) * rho**t.kp) * n
    return (t.k0 + (t.k1 - t.k0) * rho**t.kp) * n


@rule
def walks(constants: ZoneConstants, people: float, variance: float) -> bool:
    """Whether a walk is as good as a product."""
    if constants.law.kind == ZCDP or constants.law.step < 1.0 or people > 1e6:
        return False
    noise = constants.noise / max(people, 1.0)
    return variance + noise > constants.tuning.walk_worth * (0.25 + noise)


@rule
def first_size(constants: ZoneConstants) -> float:
    need = constants.threshold + math.log(max(constants.arms - 1.0, 1.0))
    t = constants.tuning
    n = full_size(constants, need, constants.zone, first_variance(constants), False)
    rho = constants.noise / (constants.noise + n * first_variance(constants))
    return max(8.0, (t.first + (t.fk - t.first) * rho**t.kp) * n)


@rule
def pivot_of(constants: ZoneConstants, belief: Belief, a: int, b: int, ratio: float) -> float:
    m = (belief.mean[a] + ratio * belief.mean[b]) / (1.0 + ratio)
    edge = 1.0 / (belief.people[a] + belief.people[b] + 2.0)
    c = min(max(m, edge), 1.0 - edge) - 0.5 * constants.zone
    return min(max(c, 0.2 * edge), 1.0 - constants.zone - 0.2 * edge)


@rule
def expected_gap(constants: ZoneConstants, belief: Belief, a: int, b: int) -> float:
    gap = belief.mean[a] - belief.mean[b] - constants.tuning.shrink * spread_between(belief, a, b)
    return max(gap, constants.zone)


@rule(inline=False)
def plan_zone(state: Zone, constants: ZoneConstants, size: FloatArray) -> bool:
    t = constants.tuning
    arms = constants.arms
    belief = state.belief
    leader = int(state.leader[0])
    if belief.people[leader] == 0.0:
        for arm in range(arms):
            size[arm] = first_size(constants)
        return arms == 2 and constants.noise > t.difference * size[0] * 0.25
    difference = False
    for _ in range(2):
        top = 1.0
        left = 0
        all_walk = True
        for b in range(arms):
            size[b] = 0.0
            if b != leader and state.out[leader, b] == 0:
                left += 1
                gap = expected_gap(constants, belief, leader, b)
                c = pivot_of(constants, belief, leader, b, 1.0) + 0.5 * constants.zone
                v = variance_of_outcome(c, belief.people[leader] + belief.people[b])
                walk = walks(constants, full_size(constants, constants.threshold, gap, v, difference), v)
                all_walk = all_walk and walk
                if difference or walk:
                    v = 0.25
                need = max(constants.threshold - state.wealth[leader, b], t.least)
                size[b] = max(t.later * stage_size(constants, need, gap, v, difference, walk), 2.0)
                top = max(top, size[b])
        v = variance_of_outcome(belief.mean[leader], belief.people[leader])
        rho = constants.noise / (constants.noise + top * v)
        q = t.lead2 + (t.lead8 - t.lead2) * rho
        norm = 0.0
        for b in range(arms):
            if size[b] > 0.0:
                size[b] = max(size[b], t.cover * top)
                norm += (size[b] / top) ** q
        size[leader] = top * norm ** (1.0 / q)
        if all_walk:
            for b in range(arms):
                if size[b] > 0.0:
                    size[b] = top
            size[leader] = top
        if difference or left != 1 or constants.noise <= t.difference * top * v:
            break
        difference = True
    return difference


@rule(inline=False)
def open_zone(state: Zone, constants: ZoneConstants, slot: int) -> None:
    size = state.scratch.size
    difference = plan_zone(state, constants, size)
    total = 0.0
    for arm in range(constants.arms):
        total += size[arm]
    openings = state.stages.openings
    for arm in range(constants.arms):
        openings.weights[slot, arm] = size[arm] / total
    openings.difference[slot] = 1 if difference else 0
    openings.champion[slot] = state.leader[0]
    openings.planned[slot] = int(math.ceil(total))


@rule(inline=False)
def extent_zone(state: Zone, constants: ZoneConstants, people: int) -> int:
    plan_zone(state, constants, state.scratch.size)
    total = 0.0
    for arm in range(constants.arms):
        total += state.scratch.size[arm]
    return int(math.ceil(total))


@rule(inline=False)
def gain_on_sums(
    state: Zone, constants: ZoneConstants, slot: int, a: int, b: int, values: FloatArray, need: float
) -> float:
    t = constants.tuning
    law = constants.law
    openings = state.stages.openings
    belief = state.belief
    ratio = openings.weights[slot, a] / openings.weights[slot, b]
    planned = openings.planned[slot] * openings.weights[slot, a]
    pivot = pivot_of(constants, belief, a, b, ratio)
    mid = pivot + 0.5 * constants.zone
    v = variance_of_outcome(mid, belief.people[a] + belief.people[b])
    gap = expected_gap(constants, belief, a, b)
    up = planned * (gap + constants.zone) / (planned * v * (1.0 + ratio) + constants.noise * (1.0 + ratio * ratio))
    capped = law.kind == PURE
    if capped:
        most = t.steep * law.budget / max(1.0, ratio)
        up = (up**-t.power + most**-t.power) ** (-1.0 / t.power)
    down = slope_of_rival(up, ratio, pivot, constants.zone)
    if not down < 1e300:
        return 0.0
    if capped and down > 0.98 * law.budget:
        return 0.0
    k = factors(up, down, ratio, constants.zone)
    n_a = float(state.stages.size[slot, a])
    n_b = float(state.stages.size[slot, b])
    fixed = n_a * k.champion + n_b * k.rival
    seen = state.scratch.belief
    copy_belief(belief, seen)
    for c in range(constants.arms):
        if c != a and c != b and openings.weights[slot, c] > 0.0:
            learn_sum(seen, law, c, float(state.stages.size[slot, c]), values[c])
    observe(seen, a, b, 1.0, -1.0, gap, 0.0)
    chance_a = math.sqrt(n_a * v)
    chance_b = math.sqrt(n_b * v)
    high = curve_of_slope(law, up, t.grade_a + t.wide * up * chance_a if capped else math.inf)
    low = curve_of_slope(law, down, t.grade_b + t.wide * down * chance_b if capped else math.inf)
    if not high.cost + low.cost < 1e300:
        return 0.0
    if not capped:
        return up * values[a] - high.cost - down * values[b] - low.cost + fixed - 1e-9
    sd = math.sqrt(n_a * n_a * max(seen.covariance[a, a], 0.0) + n_a * v + constants.noise)
    at = math.floor(n_a * seen.mean[a] + t.off_a * math.sqrt(constants.noise) + t.beyond * chance_a - high.cap / high.steep + 0.5)
    won = log_value(high, values[a] - at) - high.cost + up * at + fixed
    observe(seen, a, a, n_a, 0.0, values[a], n_a * v + constants.noise)
    sd = math.sqrt(n_b * n_b * max(seen.covariance[b, b], 0.0) + n_b * v + constants.noise)
    missing = need - won
    at = math.floor((low.cap - low.cost - missing) / down)
    least = math.floor(n_b * seen.mean[b] - t.lim * sd + low.cap / low.steep + 0.5)
    at = max(at, least)
    return won + log_value(low, at - values[b]) - low.cost - down * at - 1e-9


@rule(inline=False)
def gain_on_difference(
    state: Zone, constants: ZoneConstants, slot: int, a: int, b: int, value: float, need: float
) -> float:
    t = constants.tuning
    law = constants.law
    openings = state.stages.openings
    belief = state.belief
    planned = openings.planned[slot] * openings.weights[slot, a]
    gap = expected_gap(constants, belief, a, b)
    up = planned * (gap + constants.zone) / (planned * 0.5 + constants.noise)
    capped = law.kind == PURE
    if capped:
        most = t.steep * law.budget
        up = (up**-t.power + most**-t.power) ** (-1.0 / t.power)
    k = factors(up, up, 1.0, constants.zone)
    n_a = float(state.stages.size[slot, a])
    n_b = float(state.stages.size[slot, b])
    fixed = n_a * k.champion + n_b * k.rival
    chance = math.sqrt((n_a + n_b) * 0.25)
    high = curve_of_slope(law, up, t.grade_d + t.wide * up * chance if capped else math.inf)
    if not high.cost < 1e300:
        return 0.0
    if not capped:
        return up * value - high.cost + fixed - 1e-9
    seen = state.scratch.belief
    copy_belief(belief, seen)
    observe(seen, a, b, 1.0, -1.0, gap, 0.0)
    v = variance_of_outcome(seen.mean[a], belief.people[a] + belief.people[b])
    sd = math.sqrt((n_a + n_b) * v + constants.noise)
    middle = n_a * seen.mean[a] - n_b * seen.mean[b]
    at = math.ceil((need - fixed - high.cap + high.cost) / up)
    most_at = math.floor(middle + t.lim * sd - high.cap / high.steep + 0.5)
    at = min(at, most_at)
    return log_value(high, value - at) - high.cost + up * at + fixed - 1e-9


@rule(inline=False)
def gain_on_walk(
    state: Zone, constants: ZoneConstants, slot: int, a: int, b: int, value: float, need: float
) -> float:
    t = constants.tuning
    openings = state.stages.openings
    zone = constants.zone
    p_a = openings.weights[slot, a]
    p_b = openings.weights[slot, b]
    up = (1.0 - zone) * max(p_a, p_b) / (p_a + p_b)
    n_a = float(state.stages.size[slot, a])
    n_b = float(state.stages.size[slot, b])
    people = n_a + n_b
    is_difference = openings.difference[slot] == 1
    noise = noise_in(constants.law, is_difference)
    blur = noise.number * constants.noise
    gap = expected_gap(constants, state.belief, a, b)
    variance = 0.25 * people + blur
    steep = t.w_steep * 0.5 * people * (gap + zone) / variance
    if noise.number > 0:
        e = noise.epsilon
        steep = min(steep, 6.0 * e)
        if abs(steep - e) < 0.04 * e:
            steep = 1.04 * e
    middle = 0.5 * people * (1.0 + gap)
    most_at = math.floor(middle + t.w_lim * math.sqrt(variance))
    reach = need + 30.0
    rho = blur / variance
    jump = t.jump0 + (t.jump1 - t.jump0) * rho
    kept = math.exp(-jump)
    won = -log_mean(noise, people, up, steep, kept, most_at, reach)
    at = most_at
    if won > need:
        at = place(noise, people, up, steep, kept, need, reach)
        won = need + 1e-7
    below = value + n_b - at
    return won - 1e-7 + (0.0 if below >= 0.0 else steep * below - jump)


@rule(inline=False)
def settle_zone(state: Zone, constants: ZoneConstants, slot: int, values: FloatArray) -> None:
    t = constants.tuning
    arms = constants.arms
    openings = state.stages.openings
    weights = openings.weights
    leader = int(openings.champion[slot])
    belief = state.belief
    is_difference = openings.difference[slot] == 1
    gained = state.scratch.gained
    for a in range(arms):
        for b in range(arms):
            gained[a, b] = 0.0
            if a != b and weights[slot, a] > 0.0 and weights[slot, b] > 0.0 and state.out[a, b] == 0:
                if a != leader and arms > 2 and belief.people[a] > 0.0:
                    if belief.mean[a] < belief.mean[leader] - 2.0 * constants.zone:
                        continue
                need = constants.threshold - state.wealth[a, b]
                need = math.log((math.exp(need) - t.cash) / (1.0 - t.cash)) + 1e-8
                p_a, p_b = weights[slot, a], weights[slot, b]
                planned = openings.planned[slot] * p_a
                m = min(max(0.5 * (belief.mean[a] + belief.mean[b]), 0.0), 1.0)
                v = variance_of_outcome(m, belief.people[a] + belief.people[b])
                if belief.people[a] == 0.0:
                    v = 0.25
                if abs(p_a - p_b) < 1e-5 * p_a and walks(constants, planned, v):
                    value = values[a] - values[b]
                    if is_difference:
                        value = values[0] if a == leader else -values[0]
                    gain = gain_on_walk(state, constants, slot, a, b, value, need)
                elif is_difference:
                    value = values[0] if a == leader else -values[0]
                    gain = gain_on_difference(state, constants, slot, a, b, value, need)
                else:
                    gain = gain_on_sums(state, constants, slot, a, b, values, need)
                gained[a, b] = math.log(t.cash + (1.0 - t.cash) * math.exp(min(gain, 600.0)))
    for a in range(arms):
        for b in range(arms):
            if a != b:
                state.wealth[a, b] += gained[a, b]
    if is_difference:
        for b in range(arms):
            if b != leader and weights[slot, b] > 0.0:
                sizes = (float(state.stages.size[slot, leader]), float(state.stages.size[slot, b]))
                learn_difference(belief, constants.law, leader, b, sizes, float(values[0]))
    else:
        for arm in range(arms):
            if weights[slot, arm] > 0.0:
                learn_sum(belief, constants.law, arm, float(state.stages.size[slot, arm]), float(values[arm]))
    if state.cash[0] > 0.0:
        allot(state, constants)
    for a in range(arms):
        for b in range(arms):
            if state.wealth[a, b] >= constants.threshold:
                state.out[a, b] = 1
    new = leader
    best = -1e300
    for a in range(arms):
        m = belief.mean[a] + (t.stick * constants.zone if a == leader else 0.0)
        if m > best:
            best = m
            new = a
    state.leader[0] = new


@rule(inline=False)
def allot(state: Zone, constants: ZoneConstants) -> None:
    """The cash goes to champions in proportion to how likely each is best: roughly, by a product of pairwise odds."""
    arms = constants.arms
    share = state.scratch.share
    belief = state.belief
    total = 0.0
    for a in range(arms):
        likely = 1.0
        for b in range(arms):
            if b != a:
                z = (belief.mean[a] - belief.mean[b]) / spread_between(belief, a, b)
                likely *= 0.5 * math.erfc(-z * math.sqrt(0.5))
        share[a] = likely
        total += likely
    for a in range(arms):
        share[a] = 0.75 * share[a] / total + 0.25 / arms
    for b in range(arms):
        for a in range(arms):
            if a != b:
                added = state.cash[0] * share[a] / (1.0 - share[b])
                state.wealth[a, b] = math.log(math.exp(state.wealth[a, b]) + added)
    state.cash[0] = 0.0


@rule
def over_zone(state: Zone, constants: ZoneConstants) -> int:
    arms = constants.arms
    best = UNDECIDED
    for a in range(arms):
        all_out = True
        for b in range(arms):
            if b != a and state.out[a, b] == 0:
                all_out = False
        if all_out and (best == UNDECIDED or state.belief.mean[a] > state.belief.mean[best]):
            best = a
    return best
