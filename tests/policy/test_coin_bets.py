"""Bets against the strongest opponent, against planted errors, and curves against sums over the noise."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import pytest

from bestarm.policy.evidence.bets import (
    Bet,
    JointBet,
    bet_on_sums,
    factors,
    joint_on_sums,
    log_difference,
    log_joint,
    log_sums,
    on_grid,
    slope_of_rival,
)
from bestarm.release.curves import EXACT, MOST_CAP, Curve, curve, curve_of_slope, log_value, tangents
from bestarm.release.joint import joint, joint_of_slopes
from bestarm.release.laws import PURE, ZCDP, Law, local_law, no_privacy, pure_law, zcdp_law
from tests.naive.adversary import Seen, Value, gauss, laplace, largest_mean, mean_of_curve

SLACK = 1e-11
NO_NOISE = [(0.0, 1.0)]
Noise = Sequence[tuple[float, float]]


def noise_of(law: Law) -> Noise:
    """The law's own noise, as pairs of value and probability."""
    if law.kind == PURE:
        return laplace(law.budget, law.step)
    return gauss(law.budget, law.step) if law.kind == ZCDP else NO_NOISE


def mean_on_sums(bet: Bet, law: Law, pivot: float) -> Value:
    """The project's bet on two sums, averaged over the noise of each."""
    noise = noise_of(law)
    up = mean_of_curve(noise, bet.up.steep, bet.up.cap)
    down = mean_of_curve(noise, bet.down.steep, bet.down.cap)

    def value(seen: Seen, people: int) -> float:
        a, b = float(seen.s_a), float(seen.s_b)
        at_a = math.floor(seen.n_a * pivot / law.step + 0.5) * law.step
        at_b = math.floor(seen.n_b * pivot / law.step + 0.5) * law.step
        plain = log_sums(bet, (at_a, at_b), (seen.n_a, seen.n_b), (a, b))
        plain -= log_value(bet.up, a - at_a) + log_value(bet.down, at_b - b)
        return math.exp(plain) * up(a - at_a) * down(at_b - b)

    return value


def mean_on_difference(bet: Bet, law: Law, pivot: float) -> Value:
    """The project's bet on a difference, averaged over its noise."""
    smooth = mean_of_curve(noise_of(law), bet.up.steep, bet.up.cap)

    def value(seen: Seen, people: int) -> float:
        d = float(seen.s_a - seen.s_b)
        at = math.floor((seen.n_a - seen.n_b) * pivot / law.step + 0.5) * law.step
        plain = log_difference(bet, at, (seen.n_a, seen.n_b), d) - log_value(bet.up, d - at)
        return math.exp(plain) * smooth(d - at)

    return value


@pytest.mark.parametrize(
    ("epsilon", "bits", "steep", "cap"),
    [
        (1, 0, 1.5, 3.3),
        (1, 0, 1.0, 4.0),
        (0.1, 0, 0.2, 3.0),
        (0.1, 0, 0.07, 5.0),
        (3, 0, 6.0, 1.5),
        (2, 2, 3.0, 0.2),
        (0.5, 0, 20.0, 0.7),
        (0.3, 1, 0.3, 12.0),
        (0.02, 0, 0.05, 9.0),
        (1, 0, 0.3, math.inf),
    ],
)
def test_tangents_are_those_of_the_sum_over_the_noise(epsilon: float, bits: int, steep: float, cap: float) -> None:
    law = pure_law(epsilon, bits)
    smooth = mean_of_curve(laplace(law.budget, law.step), steep, cap)
    found = tangents(law, steep, cap)
    assert found.cost == pytest.approx(math.log(smooth(0.0)), abs=1e-9)
    assert found.least == pytest.approx(math.log(smooth(law.step) / smooth(0.0)) / law.step, rel=1e-8)
    assert found.most == pytest.approx(math.log(smooth(0.0) / smooth(-law.step)) / law.step, rel=1e-8)
    assert found.least <= found.most * (1 + 1e-15)


def test_fine_grids_and_small_budgets_tend_to_continuous_noise() -> None:
    """With Laplace noise of scale 1 and F = exp(min(au, x)), G(0) and its slope are integrals."""
    for scale in (1e-3, 1.0, 30.0):
        for a, cap in ((0.4, 3.0), (1.7, 5.0), (2.5, 11.0)):
            k = cap / a
            whole = 0.5 / (1 + a) + 0.5 * math.expm1((a - 1) * k) / (a - 1) + 0.5 * math.exp(cap - k)
            slope = a * (1 - 0.5 * math.exp(cap - k) / whole)
            found = tangents(pure_law(scale, 40), a * scale, cap)
            assert found.cost == pytest.approx(math.log(whole), abs=1e-8)
            assert found.least / scale == pytest.approx(slope, rel=1e-8)
            assert found.most / scale == pytest.approx(slope, rel=1e-8)


@pytest.mark.parametrize("law", [pure_law(1.0), pure_law(0.01), pure_law(1e-3, 20), pure_law(10.0), pure_law(2.0, 3)])
def test_a_curve_is_found_for_every_slope_within_reach(law: Law) -> None:
    for steep, cap in itertools.product((0.05, 0.5, 1.0, 2.2), (0.3, 2.0, 5.0, 40.0)):
        asked = curve(law, steep * law.budget, cap).slope
        found = curve_of_slope(law, asked, cap)
        within = tangents(law, found.steep, cap)
        assert math.isfinite(found.cost)
        assert within.least * (1 - EXACT) <= asked <= within.most * (1 + EXACT)
        assert found.cost == within.cost
        assert found.slope == asked
    assert curve_of_slope(law, 1.2 * law.budget + 40, 0.5).cost == math.inf


def test_no_curve_is_steeper_than_the_noise_allows() -> None:
    assert curve(pure_law(1.0), 1.0, math.inf).cost == math.inf
    assert curve(pure_law(1.0), 0.999, math.inf).cost < 8
    assert curve(pure_law(0.1), 0.2, 1e9).cap == MOST_CAP


def test_factors_keep_to_the_products_they_stand_for() -> None:
    """(1+X, 1-Y) on the champion and (1-rX', 1+rY') on the rival, from t and c."""
    rng = random.Random(4)
    for _ in range(200):
        c, zone, r = rng.uniform(0.05, 0.8), rng.uniform(-0.1, 0.15), rng.uniform(0.3, 4)
        t = rng.random() * 0.95 / max(c, r * (1 - c - zone))
        up = math.log((1 + t * (1 - c)) / (1 - t * c))
        down = slope_of_rival(up, r, c, zone)
        assert down == pytest.approx(math.log((1 + r * t * (c + zone)) / (1 - r * t * (1 - c - zone))), rel=1e-9)
        k = factors(up, down, r, zone)
        assert k.champion == pytest.approx(math.log(1 - t * c), rel=1e-9)
        assert k.rival == pytest.approx(math.log(1 + r * t * (c + zone)), rel=1e-9)
    assert slope_of_rival(50.0, 3.0, 0.1, 0.0) == math.inf


def some_curves(law: Law, slope: float) -> list[Curve]:
    found = [curve_of_slope(law, slope, cap) for cap in (0.2, 1.0, 4.0, math.inf)]
    return [c for c in found if math.isfinite(c.cost)]


LAWS = [
    pure_law(0.3),
    pure_law(1.0),
    pure_law(2.5),
    pure_law(1.0, 1),
    zcdp_law(0.5),
    zcdp_law(4.0),
    no_privacy(),
    local_law(1.0),
]


def opponents_means(law: Law) -> dict[str, object]:
    """How the opponent's outcomes come to be counted."""
    steps = round(1 / law.step)
    return {
        "flip": law.offset,
        "outcomes": [Fraction(i, steps) for i in range(steps + 1)],
    }


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_no_opponent_makes_a_bet_worth_more_than_its_price(law: Law) -> None:
    """Slopes are fixed; curves, reference points and the form of the release go by the sizes; the stage may close."""
    rng = random.Random(7)
    worst = 0.0
    for _ in range(8):
        people = 3 if law.step < 1 else rng.choice([4, 5])
        p_a, p_b = rng.choice([(0.2, 0.5), (0.5, 0.5), (0.4, 0.25), (0.4, 0.4)])
        zone = law.slope * rng.choice([0.0, 0.0, 0.1, 0.3, -0.2])
        scale = min(law.budget, 2.0)
        up, down = (rng.uniform(0.05, 0.6) * scale for _ in range(2))
        r = p_a / p_b
        ups, downs = some_curves(law, up), some_curves(law, down)
        assert len(ups) >= 2
        assert len(downs) >= 2
        pivots = (rng.random(), rng.random())
        sums = [mean_on_sums(bet_on_sums(a, b, r, zone), law, c) for a in ups for b in downs for c in pivots]

        def chosen(seen: Seen, n: int, values: list[Value] = sums) -> float:
            return values[(seen.n_a + 3 * seen.n_b) % len(values)](seen, n)

        # A difference and two sums of equal slopes, by the sizes.
        middle = factors(up, up, r, zone)
        either = [mean_on_difference(Bet(a, a, middle), law, c) for a in ups for c in pivots]
        either += [mean_on_sums(Bet(a, b, middle), law, pivots[0]) for a in ups for b in ups]

        def form(seen: Seen, n: int, values: list[Value] = either) -> float:
            return values[(2 * seen.n_a + seen.n_b) % len(values)](seen, n)

        for value in (chosen, form):
            reached = largest_mean(value, people, p_a, p_b, zone / law.slope, True, **opponents_means(law))  # type: ignore[arg-type]
            worst = max(worst, reached)
    assert 0.5 < worst <= 1 + SLACK


def test_the_bound_is_reached() -> None:
    """A test that could not fail would prove nothing: uncapped, with a zone, the supremum is 1 but for rounding."""
    for zone in (0.0, 0.2):
        for law in (no_privacy(), pure_law(1.0)):
            shape = curve(law, 0.4, math.inf)
            value = mean_on_sums(bet_on_sums(shape, shape, 1.0, zone), law, 0.5)
            assert largest_mean(value, 4, 0.5, 0.5, zone) == pytest.approx(1.0, abs=1e-9)
    difference = bet_on_sums(curve(pure_law(0.7), 0.3, math.inf), curve(pure_law(0.7), 0.3, math.inf), 1.0, 0.1)
    reached = largest_mean(mean_on_difference(difference, pure_law(0.7), 0.0), 4, 0.5, 0.5, 0.1)
    assert reached == pytest.approx(1.0, abs=1e-9)


# Planted errors: each has to be found.

PLAIN = no_privacy()


def plain(up: float, down: float, ratio: float = 1.0, zone: float = 0.0) -> Value:
    bet = bet_on_sums(curve(PLAIN, up, math.inf), curve(PLAIN, down, math.inf), ratio, zone)
    return mean_on_sums(bet, PLAIN, 0.5)


ONE, FAST, SLOW = plain(0.4, 0.4), plain(1.2, 0.2), plain(0.2, 1.2)


def slopes_by_sizes(seen: Seen, n: int) -> float:
    return (FAST if seen.n_a < seen.n_b else SLOW)(seen, n)


def weights_by_sizes(seen: Seen, n: int) -> float:
    share = 0.9 if seen.n_a < seen.n_b else 0.1
    return share * FAST(seen, n) + (1 - share) * SLOW(seen, n)


def cash_by_sizes(seen: Seen, n: int) -> float:
    return ONE(seen, n) if seen.n_a <= seen.n_b else 1.0


def champion_by_sizes(seen: Seen, n: int) -> float:
    """Whoever has fewer people is called champion; under "equally good" both bets would be fair by themselves."""
    turned = Seen(seen.n_b, seen.s_b, seen.n_a, seen.s_a)
    return FAST(seen, n) if seen.n_a < seen.n_b else FAST(turned, n)


def cash_by_total(seen: Seen, n: int) -> float:
    return ONE(seen, n) if n < 4 else 1.0


def test_slopes_weights_and_cash_must_not_look_at_the_coins() -> None:
    assert largest_mean(slopes_by_sizes, 4, 0.5, 0.5) > 1.5
    assert largest_mean(slopes_by_sizes, 4, 0.5, 0.5, constant=0.5) > 1.01
    assert largest_mean(weights_by_sizes, 4, 0.5, 0.5) > 1.05
    assert largest_mean(cash_by_sizes, 4, 0.5, 0.5) > 1.01
    assert largest_mean(champion_by_sizes, 4, 0.5, 0.5, constant=0.5) > 1.01


def test_cash_must_not_look_at_a_total_that_the_coins_decided() -> None:
    assert largest_mean(cash_by_total, 4, 0.5, 0.5, may_close=True) > 1.01
    assert largest_mean(cash_by_total, 4, 0.5, 0.5, may_close=False) <= 1 + SLACK


def test_the_weights_of_the_arms_matter() -> None:
    assert largest_mean(plain(0.6, 0.6, ratio=1.0), 4, 0.4, 0.2) > 1.01
    assert largest_mean(plain(0.6, 0.6, ratio=2.0), 4, 0.4, 0.2) <= 1 + SLACK


def steep_difference(change: Callable[[Curve], Curve], offset: float = 0.0) -> float:
    """The supremum for a curve with a cap at epsilon = 3, of which one part was changed."""
    law = pure_law(3.0)
    shape = curve(law, 6.0, 1.5)
    shape = shape._replace(slope=tangents(law, 6.0, 1.5).least)
    smooth = mean_of_curve(laplace(3.0, 1.0), shape.steep, shape.cap)
    used = change(shape)
    k = factors(used.slope, used.slope, 1.0, 0.0)

    def value(seen: Seen, n: int) -> float:
        u = float(seen.s_a - seen.s_b) - offset
        tangent = used.slope * offset + seen.n_a * k.champion + seen.n_b * k.rival
        return smooth(u) * math.exp(tangent - used.cost)

    return largest_mean(value, 6, 0.5, 0.5)


def test_curves_need_their_cost_their_slope_and_points_of_the_grid() -> None:
    assert steep_difference(lambda c: c) <= 1 + SLACK
    assert steep_difference(lambda c: c, offset=0.5) > 1.01
    assert steep_difference(lambda c: c._replace(cost=0.0)) > 1.01
    assert steep_difference(lambda c: c._replace(slope=0.5 * c.slope)) > 1.01


def test_flipped_bits_narrow_the_zone() -> None:
    law = local_law(1.0)
    right = plain(0.3, 0.3, zone=law.slope * 0.1)
    wrong = plain(0.3, 0.3, zone=0.1)
    assert largest_mean(right, 4, 0.5, 0.5, 0.1, flip=law.offset) <= 1 + SLACK
    assert largest_mean(wrong, 4, 0.5, 0.5, 0.1, flip=law.offset) > 1.01


def test_what_the_assumption_rules_out_would_break_it() -> None:
    """An outcome that depends on a later coin, a first assignment voided for a second, and stages out of order."""
    t = 0.5
    coins = list(itertools.product((1, -1), repeat=2))
    later = sum((1 + t * z * (z * w)) * (1 + t * w) for z, w in coins) / 4
    assert later == pytest.approx(1 + t * t)
    voided = 0.25 * (1 - t) + 0.75 * (1 + t)
    assert voided == pytest.approx(1.25)
    # The second stage's bet on w is placed only where the first, released later, lost.
    ever = sum(max(second, (1 + z) * second) >= 2 for z, w in coins for second in [1.0 if z == 1 else 1.0 + w]) / 4
    assert ever == 0.75


def test_the_worth_of_a_bet_does_not_depend_on_how_small_everything_is() -> None:
    """Gap 1e-6: bets of 1e-6 on 1e13 people, where naive logarithms would be off by nats."""
    n, gap = 1e13, 1e-6
    law = pure_law(10.0)
    slope = 2 * gap
    bet = bet_on_sums(curve(law, slope, math.inf), curve(law, slope, math.inf), 1.0, 0.0)
    at = on_grid(law.step, 0.5 * n)
    won = log_sums(bet, (at, at), (n, n), (n * (0.5 + gap / 2), n * (0.5 - gap / 2)))
    assert won == pytest.approx(n * gap * gap, rel=0.02)


# One cap for two releases.


def joint_mean(bet: JointBet, law: Law, pivot: float) -> Value:
    """The project's joint bet, averaged over the noise term by term."""
    noise = noise_of(law)
    one_release = bet.pays.down == 0.0

    @cache
    def value(seen: Seen, people: int) -> float:
        sizes = (seen.n_a, seen.n_b)
        a, b = float(seen.s_a), float(seen.s_b)
        if one_release:
            return math.fsum(p * math.exp(log_joint(bet, pivot, sizes, (a - b + z, 0.0))) for z, p in noise)
        return math.fsum(
            p * q * math.exp(log_joint(bet, pivot, sizes, (a + z, b + y))) for z, p in noise for y, q in noise
        )

    return value


@pytest.mark.parametrize(
    ("law", "people"),
    [(pure_law(1.0), 4), (pure_law(2.5), 4), (pure_law(3.0, 1), 3), (no_privacy(), 5), (local_law(1.0), 4)],
    ids=str,
)
def test_no_opponent_beats_a_joint_bet_whatever_its_shape(law: Law, people: int) -> None:
    """Slopes are fixed; the cap, the reference point (off the grid, too) and the form go by the sizes."""
    rng = random.Random(3)
    worst = 0.0
    for p_a, p_b, zone in ((0.5, 0.5, 0.0), (0.4, 0.25, 0.1), (0.2, 0.5, 0.0)):
        zone *= law.slope
        scale = min(law.budget, 1.5)
        up, down = rng.uniform(0.1, 0.5) * scale, rng.uniform(0.1, 0.5) * scale
        k = factors(up, down, p_a / p_b, zone)
        shapes = [joint_of_slopes(law, up, down, cap) for cap in (0.5, 2.0, 6.0, math.inf)]
        bets = [JointBet(pays, up, down, k) for pays in shapes if math.isfinite(pays.cost)]
        assert len(bets) >= 2
        values = [joint_mean(bet, law, c) for bet in bets for c in (0.3, 0.8)]

        def chosen(seen: Seen, n: int, values: list[Value] = values) -> float:
            return values[(seen.n_a + 3 * seen.n_b) % len(values)](seen, n)

        reached = largest_mean(chosen, people, p_a, p_b, zone / law.slope, True, **opponents_means(law))  # type: ignore[arg-type]
        worst = max(worst, reached)
        one = [joint_of_slopes(law, up, 0.0, cap) for cap in (0.5, 2.0, math.inf)]
        equal = factors(up, up, 1.0, zone)
        single = [joint_mean(JointBet(pays, up, up, equal), law, 0.6) for pays in one if math.isfinite(pays.cost)]

        def form(seen: Seen, n: int, values: list[Value] = single) -> float:
            return values[(2 * seen.n_a + seen.n_b) % len(values)](seen, n)

        reached = largest_mean(form, people, 0.5, 0.5, zone / law.slope, True, **opponents_means(law))  # type: ignore[arg-type]
        worst = max(worst, reached)
    assert 0.5 < worst <= 1 + SLACK


def test_a_joint_cap_is_not_to_be_had_for_nothing() -> None:
    """Without its cost, and with slopes that are not its own, a joint bet can be beaten."""
    law = pure_law(2.0)
    pays = joint(law, 2.4, 3.0, 3.0)
    bet = joint_on_sums(pays, 1.0, 0.0)
    assert largest_mean(joint_mean(bet, law, 0.5), 4, 0.5, 0.5) <= 1 + SLACK
    free = bet._replace(pays=pays._replace(cost=0.0))
    assert largest_mean(joint_mean(free, law, 0.5), 4, 0.5, 0.5) > 1.01
    flat = bet._replace(up=0.1 * bet.up, down=0.1 * bet.down, factors=factors(0.1 * bet.up, 0.1 * bet.down, 1.0, 0.0))
    assert largest_mean(joint_mean(flat, law, 0.0), 4, 0.5, 0.5) > 1.01


@pytest.mark.parametrize(
    ("epsilon", "up", "down", "cap"),
    [(1.0, 0.7, 0.9, 3.0), (1.0, 1.5, 1.5, 5.0), (0.3, 0.5, 0.2, 2.0), (2.0, 3.0, 0.0, 4.0), (1e-3, 1e-3, 2e-3, 8.0)],
)
def test_the_cost_of_a_joint_cap_is_that_of_continuous_noise(
    epsilon: float, up: float, down: float, cap: float
) -> None:
    """H(0) and its slope, by adding up the density of up L + down L' on a fine grid."""
    a, b = epsilon / up, epsilon / down if down > 0 else 0.0
    step = 1e-4
    points = [(i + 0.5) * step for i in range(int(60 * max(1, 1 / a) / step))]

    def density(w: float) -> float:
        if down == 0:
            return 0.5 * a * math.exp(-a * w)
        if abs(a - b) < 1e-9:
            return 0.25 * a * (1 + a * w) * math.exp(-a * w)
        return a * b / (2 * (a * a - b * b)) * (a * math.exp(-b * w) - b * math.exp(-a * w))

    def mean(shift: float) -> float:
        return step * math.fsum(
            density(w) * (math.exp(min(w + shift, cap)) + math.exp(min(shift - w, cap))) for w in points
        )

    found = joint(pure_law(epsilon), up, down, cap)
    assert found.cost == pytest.approx(math.log(mean(0.0)), abs=2e-6)
    assert found.tangent == pytest.approx((math.log(mean(1e-3)) - math.log(mean(-1e-3))) / 2e-3, abs=1e-5)


def test_a_joint_pay_off_is_found_for_slopes_within_reach() -> None:
    for law in (pure_law(1.0), pure_law(0.01), pure_law(1.0, 20)):
        for up, down, cap in ((0.2, 0.3, 4.0), (0.7, 0.6, 12.0), (0.5, 0.0, 3.0), (0.02, 0.03, 1.0)):
            found = joint_of_slopes(law, up * law.budget, down * law.budget, cap)
            assert math.isfinite(found.cost)
            assert found.tangent * found.up == pytest.approx(up * law.budget, rel=1e-5)
            direct = joint(law, found.up, found.down, cap)
            assert direct.tangent == pytest.approx(found.tangent, rel=1e-9)
            assert direct.cost == pytest.approx(found.cost, abs=1e-12)
        assert joint_of_slopes(law, 3.0 * law.budget, 3.0 * law.budget, 5.0).cost == math.inf
