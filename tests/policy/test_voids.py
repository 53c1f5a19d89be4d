"""People who were voided, and missing outcomes that count against the finding: no opponent gains by either."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest

from bestarm.design import Design
from bestarm.errors import InputError
from bestarm.policy.catalogue import CATALOGUE
from bestarm.policy.evidence import policy, zone, zone_bets
from bestarm.policy.evidence.constants import CoinConstants, coin_constants
from bestarm.policy.evidence.pairs import Zone, new_pairs, new_scratch, zone_constants
from bestarm.policy.numbers import Numbers
from bestarm.policy.stages import (
    Stages,
    against_rival,
    enter_closing,
    enter_opening,
    enter_people,
    enter_release,
    new_stages,
)
from bestarm.release.laws import Law, no_privacy, pure_law
from tests.naive.adversary import laplace

PEOPLE = 4
SLACK = 1e-9
Counts = tuple[int, int, int, int, int, int]
"""On champion and rival: people, successes, voids."""


def write(stages: Stages, counts: Counts, difference: bool) -> None:
    """One stage of two arms, 0 the champion, with these people."""
    openings = stages.openings
    openings.weights[0] = 0.5
    openings.difference[0] = difference
    openings.champion[0] = 0
    openings.planned[0] = PEOPLE
    n_a, _, v_a, n_b, _, v_b = counts
    stages.size[0] = n_a, n_b
    stages.voided[0] = v_a, v_b


@cache
def placed(law: Law, difference: bool) -> tuple[policy.Coin, CoinConstants, policy.Stake]:
    """The policy's own bet of the champion against the rival; before the stage, so for all its coins and outcomes."""
    constants = coin_constants(2, law, 0.1)
    state = policy.start_coin(constants)
    state.memory.mean[:] = 0.6, 0.4
    state.memory.people[:] = 10.0
    write(state.stages, (0, 0, 0, 0, 0, 0), difference)
    bet = policy.stake(constants, state.memory, state.stages.openings, 0, 0, 1, 1.0, state.scratch.gaps)
    return state, constants, bet


def without_zone(law: Law, counts: Counts, difference: bool, values: tuple[float, float]) -> float:
    """What that bet pays."""
    state, constants, bet = placed(law, difference)
    write(state.stages, counts, difference)
    given = np.array([values[0] - values[1], 0.0] if difference else values)
    return policy.payoff(constants, bet, state.stages, 0, 0, 1, given, state.scratch.gaps)


def with_zone(law: Law, counts: Counts, difference: bool, values: tuple[float, float]) -> float:
    """The same of the account of a champion with a stated difference of 0.1."""
    constants = zone_constants(2, law, 0.1, 0.1)
    held = Zone(new_stages(2), new_pairs(constants, 1.0), new_scratch(constants))
    write(held.stages, counts, difference)
    given = np.array([values[0] - values[1], 0.0] if difference else values)
    return math.exp(zone.log_gain(held, constants, 0, 0, 1, given))


def largest(law: Law, difference: bool, stated: bool) -> float:
    """The largest mean that an opponent can drive the bet to, who knows every coin before deciding whom to void."""
    pays, g = (with_zone, 0.1) if stated else (without_zone, 0.0)
    noise = laplace(law.budget, 1.0) if law.budget < math.inf else [(0.0, 1.0)]
    noise = [(z, p) for z, p in noise if abs(z) <= 4]

    @cache
    def value(counts: Counts) -> float:
        _, s_a, _, _, s_b, _ = counts
        if difference:
            return sum(p * pays(law, counts, True, (s_a + z, s_b)) for z, p in noise)
        return sum(p * q * pays(law, counts, False, (s_a + z, s_b + y)) for (z, p), (y, q) in product(noise, noise))

    def step(counts: Counts, on_b: bool, success: int, void: int) -> Counts:
        n_a, s_a, v_a, n_b, s_b, v_b = counts
        if on_b:
            return n_a, s_a, v_a, n_b + 1, s_b + success, v_b + void
        return n_a + 1, s_a + success, v_a + void, n_b, s_b, v_b

    @cache
    def worth(counts: Counts, enrolled: int) -> float:
        if enrolled == PEOPLE:
            return value(counts)

        def on(arm: int, success: int) -> float:
            stays = worth(step(counts, bool(arm), success, 0), enrolled + 1)
            return max(stays, worth(step(counts, bool(arm), 0, 1), enrolled + 1))

        def of(a: int, b: int) -> float:
            return 0.5 * (on(0, a) + on(1, b))

        mixed = [(1 - g) * of(x, x) + g * of(0, 1) for x in (0, 1)]
        return max(*mixed, of(0, 1))

    return worth((0, 0, 0, 0, 0, 0), 0)


@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize("difference", [False, True])
def test_nobody_gains_by_voiding_whom_they_like(difference: bool, stated: bool) -> None:
    assert largest(no_privacy(), difference, stated) <= 1 + SLACK
    if difference:  # with one noise there is little to sum over
        assert largest(pure_law(1.5), difference, stated) <= 1 + SLACK


@pytest.mark.parametrize("stated", [False, True])
def test_counted_as_failures_on_both_arms_voids_would_be_worth_something(
    stated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (policy, zone, zone_bets):
        if hasattr(module, "against_rival"):
            monkeypatch.setattr(module, "against_rival", lambda stages, slot, rival, value: value)
    assert largest(no_privacy(), False, stated) > 1.02


def test_a_void_counts_for_the_rival_only_where_it_is_one() -> None:
    stages = new_stages(3)
    stages.voided[0] = 0, 2, 0
    assert against_rival(stages, 0, 1, 5.0) == 7.0
    assert against_rival(stages, 0, 0, 5.0) == 5.0


@pytest.mark.parametrize("difference", [0.0, 0.1])
def test_only_the_champion_is_bet_on_where_missing_outcomes_count_against_it(difference: float) -> None:
    algorithm = CATALOGUE["evidence"]
    for against in (False, True):
        constants = algorithm.constants(Numbers(3, 0.1, pure_law(1.0), difference, against=against))
        state = algorithm.start(constants)
        openings = state.stages.openings
        algorithm.rules["open_stage"](state, constants, 0)
        champion = int(openings.champion[0])
        rivals = [arm for arm in range(3) if arm != champion]
        state.stages.size[0] = 40
        values = np.full(3, 30.0)
        values[champion] = 5.0  # whoever leads the plan does badly, so that others would like to bet against it
        algorithm.rules["settle"](state, constants, 0, values)
        scratch = state.scratch
        won = scratch.paired.gained[rivals] if difference else scratch.single.gained[champion]
        assert np.any(won != 0.0) != against


def test_algorithms_without_a_champion_refuse() -> None:
    with pytest.raises(InputError, match="no champion of a stage"):
        Design.make(arms=2, delta=0.1, epsilon=1, algorithm="adap-tt", withdrawal="against")
    assert Design.make(arms=2, delta=0.1, epsilon=1, withdrawal="against").against


def test_whoever_was_voided_is_not_awaited() -> None:
    constants = coin_constants(2, pure_law(1.0), 0.1)
    state = policy.start_coin(constants)
    stages = state.stages
    for stage, people in enumerate((20, 30)):
        policy.open_stage(state, constants, stage)
        enter_opening(stages)
        for arm in (0, 1):
            enter_people(stages, arm, people)
        enter_closing(stages)
    stages.voided[0] = 3, 0
    policy.settle(state, constants, 0, np.array([10.0, 8.0]))
    enter_release(stages)
    policy.count_enrolled(state)
    assert state.scratch.enrolled.tolist() == [17 + 30, 20 + 30]
    policy.settle(state, constants, 1, np.array([15.0, 14.0]))
    enter_release(stages)
    policy.count_enrolled(state)
    assert state.scratch.enrolled.tolist() == state.memory.people.tolist() == [47, 50]
