"""Coin evidence with a stated smallest difference: fair bets, shares, the rule of the verdict, error rates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import binom

import bestarm as ba
from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.evidence import zone_bets
from bestarm.policy.evidence.belief import Belief, learn_sum, observe
from bestarm.policy.evidence.bets import factors
from bestarm.policy.evidence.pairs import (
    Zone,
    ZoneConstants,
    allot,
    new_pairs,
    new_scratch,
    recommended,
    zone_constants,
)
from bestarm.policy.evidence.zone import extent_zone, open_zone, settle_zone
from bestarm.policy.evidence.zone_bets import bet_on_difference_of, bet_on_sums_of, bets_on_walk, log_walk, slopes_for
from bestarm.policy.evidence.zone_plan import first_stake, plan_zone
from bestarm.policy.stages import enter_opening, enter_people, new_stages, round_weights
from bestarm.release.laws import Law, no_privacy, pure_law, zcdp_law


def zone_of(
    law: Law, weights: list[float], planned: int, difference: float = 0.1, is_difference: bool = False
) -> tuple[Zone, ZoneConstants]:
    """A trial whose next stage has these weights, after an earlier release."""
    constants = zone_constants(len(weights), law, 0.05, difference)
    zone = Zone(new_stages(len(weights)), new_pairs(constants, first_stake(constants)), new_scratch(constants))
    for arm in range(len(weights)):
        learn_sum(zone.pairs.belief, law, arm, 20.0, 9.0 + arm)
    openings = zone.stages.openings
    openings.weights[0, :] = weights
    openings.planned[0] = planned
    openings.difference[0] = 1 if is_difference else 0
    round_weights(openings, 0)
    enter_opening(zone.stages)
    return zone, constants


def laplace(epsilon: float, reach: int = 45) -> dict[int, float]:
    """Discrete Laplace probabilities."""
    weights = {z: math.exp(-epsilon * abs(z)) for z in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {z: w / total for z, w in weights.items()}


@pytest.mark.parametrize("need", [0.7, 4.0])
@pytest.mark.parametrize("sums", [(9, 2, 4), (3, 5, 4)])
def test_curves_release_by_release_are_paid_for(need: float, sums: tuple[int, int, int]) -> None:
    """Given all outcomes, the mean over the noises is what the slopes allow, although s_b looks at other releases."""
    law = pure_law(0.9)
    zone, constants = zone_of(law, [0.5, 0.3, 0.2], 60)
    sizes = (12, 7, 6)
    for arm, people in enumerate(sizes):
        enter_people(zone.stages, arm, people)
    slopes = slopes_for(zone, constants, 0, 0, 1)
    k = factors(slopes.champion, slopes.rival, slopes.ratio, constants.zone)
    allowed = slopes.champion * sums[0] - slopes.rival * sums[1] + sizes[0] * k.champion + sizes[1] * k.rival
    for third in (-3.0, 4.0, 11.0):
        mean = 0.0
        for x, v in laplace(0.9, 25).items():
            for y, w in laplace(0.9, 25).items():
                values = np.array([sums[0] + x, sums[1] + y, third])
                mean += v * w * math.exp(bet_on_sums_of(zone, constants, 0, 0, 1, values, need))
        assert mean <= math.exp(allowed) * (1 + 1e-9)
        assert mean > 0.05 * math.exp(allowed)


def test_difference_is_paid_for() -> None:
    """Its mean over the noise is concave in the difference of the sums, as a curve's below its tangent has to be."""
    law = pure_law(0.6)
    zone, constants = zone_of(law, [0.5, 0.5], 40, is_difference=True)
    enter_people(zone.stages, 0, 11)
    enter_people(zone.stages, 1, 9)
    means = [
        sum(
            w * math.exp(bet_on_difference_of(zone, constants, 0, 0, 1, float(d + z), 3.0))
            for z, w in laplace(0.6, 60).items()
        )
        for d in range(-9, 12)
    ]
    steps = np.diff(np.log(means)).tolist()
    assert all(x >= y - 1e-9 for x, y in itertools.pairwise(steps))


def adversary(people: int, pa: float, g: float, value: Callable[[int, int, int, int], float]) -> float:
    """sup of E value over all who pick every person's rates with b better by g, knowing everything so far."""

    @lru_cache(None)
    def v(i: int, na: int, sa: int, nb: int, sb: int) -> float:
        if i == people:
            return value(na, sa, nb, sb)
        best = 0.0
        for ma, mb in ((0.0, g), (1.0 - g, 1.0), (0.0, 1.0), (0.45, 0.45 + g)):
            w = pa * ((1 - ma) * v(i + 1, na + 1, sa, nb, sb) + ma * v(i + 1, na + 1, sa + 1, nb, sb))
            w += (1 - pa) * ((1 - mb) * v(i + 1, na, sa, nb + 1, sb) + mb * v(i + 1, na, sa, nb + 1, sb + 1))
            best = max(best, w)
        return best

    return v(0, 0, 0, 0, 0)


@pytest.mark.parametrize("kind", ["walk", "sums", "difference"])
@pytest.mark.parametrize("law", [pure_law(1.0), no_privacy(), zcdp_law(0.5)])
def test_the_policys_own_bets_against_the_adversary(kind: str, law: Law) -> None:
    """Sizes random, noise as it is drawn, rates picked one by one: the mean of what an account wins is at most 1."""
    people, g = (4 if kind == "sums" else 6), 0.2
    weights = [0.65, 0.35] if kind == "sums" else [0.5, 0.5]
    if law.kind == pure_law(1.0).kind:
        noise = laplace(1.0, 16)
    elif law.kind == zcdp_law(1.0).kind:
        noise = {z: math.exp(-0.5 * z * z) for z in range(-9, 10)}
        noise = {z: w / sum(noise.values()) for z, w in noise.items()}
    else:
        noise = {0: 1.0}
    zone, constants = zone_of(law, weights, people, g, kind == "difference")
    zone.pairs.wealth[:] = constants.threshold - 1.5
    if kind == "walk" and not bets_on_walk(zone, constants, 0, 0, 1):
        assert law.kind == zcdp_law(1.0).kind  # no closed form: products it is
        return

    def won(values: tuple[int, ...], x: int, y: int) -> float:
        if kind == "walk":
            return log_walk(zone, constants, 0, 0, 1, float(values[0] - values[1] + x - y), 1.5)
        if kind == "difference":
            return bet_on_difference_of(zone, constants, 0, 0, 1, float(values[0] - values[1] + x), 1.5)
        return bet_on_sums_of(zone, constants, 0, 0, 1, np.array([values[0] + x, values[1] + y], float), 1.5)

    def value(na: int, sa: int, nb: int, sb: int) -> float:
        zone.stages.size[0, :] = (na, nb)
        second = {0: 1.0} if kind == "difference" else noise
        return sum(v * w * math.exp(won((sa, sb), x, y)) for x, v in noise.items() for y, w in second.items())

    worst = adversary(people, zone.stages.openings.weights[0, 0], g, value)
    assert 0.5 < worst <= 1 + 1e-9


def test_planted_slopes_that_look_at_the_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same adversary makes money of slopes that depend on how the stage's own coins fell."""
    zone, constants = zone_of(no_privacy(), [0.65, 0.35], 5, 0.2)

    def value(na: int, sa: int, nb: int, sb: int) -> float:
        zone.stages.size[0, :] = (na, nb)
        return math.exp(bet_on_sums_of(zone, constants, 0, 0, 1, np.array([sa, sb], float), 1.5))

    assert adversary(5, zone.stages.openings.weights[0, 0], 0.2, value) <= 1 + 1e-9
    honest = slopes_for

    def looking(zone: Zone, constants: ZoneConstants, slot: int, a: int, b: int) -> zone_bets.Slopes:
        slopes = honest(zone, constants, slot, a, b)
        times = 2.5 if zone.stages.size[slot, a] > 3 else 0.2
        return slopes._replace(champion=times * slopes.champion, rival=times * slopes.rival)

    monkeypatch.setattr(zone_bets, "slopes_for", looking)
    assert adversary(5, zone.stages.openings.weights[0, 0], 0.2, value) > 1.005


@pytest.mark.parametrize("law", [pure_law(1.0), pure_law(0.01), no_privacy()])
@pytest.mark.parametrize("arms", [2, 3, 7])
def test_shares_sum_to_one_for_every_rival(law: Law, arms: int) -> None:
    """What is staked at first and what is allotted later: no rival is bet against with more than 1 in all."""
    constants = zone_constants(arms, law, 0.05, 0.05)
    pairs = new_pairs(constants, first_stake(constants))
    for arm in range(arms):
        learn_sum(pairs.belief, law, arm, 200.0, 80.0 + 9.0 * arm)
    if pairs.cash[0] > 0.0:
        allot(pairs, np.zeros(arms))
    for b in range(arms):
        total = sum(math.exp(pairs.wealth[a, b]) for a in range(arms) if a != b)
        assert total == pytest.approx(1.0, abs=1e-9)
    assert pairs.cash[0] == 0.0


def test_only_an_arm_with_no_rival_left_under_itself_is_recommended() -> None:
    """Being within the zone is not transitive: that an arm is the last one not out under others says nothing."""
    constants = zone_constants(3, pure_law(1.0), 0.05, 0.05)
    pairs = new_pairs(constants, 1.0)
    pairs.out[0, 2] = pairs.out[1, 0] = pairs.out[0, 1] = 0
    pairs.out[1, 2] = pairs.out[2, 0] = 1
    assert recommended(constants, pairs) == UNDECIDED
    pairs.out[2, 1] = 1
    assert recommended(constants, pairs) == 2
    pairs.out[1, 0] = 1
    pairs.belief.mean[1] = 0.9
    assert recommended(constants, pairs) == 1


def test_belief_is_a_normal_law() -> None:
    """Observing a sum or a difference is Gaussian conditioning, written out with matrices."""
    rng = np.random.default_rng(2)
    for a, b, x, y in ((1, 1, 2.0, 0.0), (0, 2, 3.0, -1.0), (3, 1, 0.5, -0.5)):
        root = rng.normal(size=(4, 4))
        covariance, mean = root @ root.T, rng.normal(size=4)
        belief = Belief(mean.copy(), covariance.copy(), np.zeros(4))
        observe(belief, a, b, x, y, 1.3, 0.7)
        h = np.zeros(4)
        h[a] += x
        h[b] += y
        gain = covariance @ h / (h @ covariance @ h + 0.7)
        np.testing.assert_allclose(belief.mean, mean + gain * (1.3 - h @ mean))
        np.testing.assert_allclose(belief.covariance, covariance - np.outer(gain, covariance @ h), atol=1e-12)


@pytest.mark.parametrize("law", [pure_law(1.0), pure_law(1e-3), pure_law(1.0, bits=20), zcdp_law(0.01), no_privacy()])
def test_every_plan_can_be_opened(law: Law) -> None:
    """Whatever releases say, the next stage has at least two arms, a size, and weights that sum to 1."""
    rng = np.random.default_rng(4)
    constants = zone_constants(4, law, 0.01, 0.03)
    zone = Zone(new_stages(4), new_pairs(constants, first_stake(constants)), new_scratch(constants))
    for _ in range(12):
        open_zone(zone, constants, 0)
        weights = zone.stages.openings.weights[0]
        assert weights.sum() == pytest.approx(1.0)
        assert (weights > 0).sum() >= 2
        assert zone.stages.openings.planned[0] >= 2
        round_weights(zone.stages.openings, 0)
        zone.stages.size[0, :] = rng.multinomial(zone.stages.openings.planned[0], weights)
        values = zone.stages.size[0] * rng.uniform(0, 1, 4)
        zone.stages.progress[:] = (1, 0, 0)
        assert extent_zone(zone, constants, 0) >= 1
        settle_zone(zone, constants, 0, np.floor(values))
        assert np.isfinite(zone.pairs.wealth).all()
        assert np.isfinite(zone.pairs.belief.mean).all()
        if recommended(constants, zone.pairs) != UNDECIDED:
            break
    assert plan_zone(constants, zone.pairs, np.zeros(4)).people >= 1


@pytest.mark.parametrize(
    ("means", "wrong"),
    [((0.5, 0.55), {0}), ((0.3, 0.3, 0.35), {0, 1}), ((0.6, 0.57, 0.54), {2})],
)
def test_error_rates_at_the_edge_of_the_zone(means: tuple[float, ...], wrong: set[int]) -> None:
    """At delta = .2 with means exactly g apart: wrong in at most .2 of 2,000 trials (false alarm below 1e-6)."""
    results = ba.simulate("evidence", means=list(means), difference=0.05, delta=0.2, epsilon=1.0, runs=2000, seed=6)
    summary = results.summary()
    assert summary.undecided == 0
    assert summary.error_rate * 2000 <= binom.isf(1e-6, 2000, 0.2)
    chosen = results.to_dataframe()["recommended"].to_numpy()
    assert np.isin(chosen, list(wrong)).sum() <= binom.isf(1e-6, 2000, 0.2)


@pytest.mark.parametrize(
    ("successes", "epsilon", "difference", "expected"),
    [((5.0, 2.0), 1.0, 0.03, False), ((98.0, 95.0), 1.0, 0.03, False), ((55.0, 50.0), 0.3, 0.05, True)],
)
def test_two_arms_are_released_as_a_difference_only_if_outcomes_vary_like_a_coin(
    successes: tuple[float, float], epsilon: float, difference: float, expected: bool
) -> None:
    """A bet on a difference pays for the variance of a coin; for rare outcomes that is more than a noise."""
    constants = zone_constants(2, pure_law(epsilon), 0.05, difference)
    pairs = new_pairs(constants, first_stake(constants))
    for arm in range(2):
        learn_sum(pairs.belief, constants.law, arm, 100.0, successes[arm])
    assert plan_zone(constants, pairs, np.zeros(2)).difference is expected


def test_the_rivals_slope_stays_well_below_the_noise_where_outcomes_are_rare() -> None:
    """A success of the rival costs far more than one of the champion wins; near the noise's own steepness the curve
    would cost more than the stage can bring."""
    law = pure_law(1.0)
    constants = zone_constants(2, law, 0.05, 0.03)
    zone = Zone(new_stages(2), new_pairs(constants, first_stake(constants)), new_scratch(constants))
    for arm, successes in enumerate((5.0, 2.0)):
        learn_sum(zone.pairs.belief, law, arm, 100.0, successes)
    zone.stages.openings.weights[0, :] = 0.5
    zone.stages.openings.planned[0] = 300
    slopes = slopes_for(zone, constants, 0, 0, 1)
    assert 0.0 < slopes.champion < slopes.rival <= constants.tuning.steepest_rare * law.budget * (1.0 + 1e-9)
