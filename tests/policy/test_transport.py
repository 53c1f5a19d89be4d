"""The cost under privacy against brute force, and the thresholds of the follow-ups: numbers, and a test of validity."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.policy.adap_tt_star import SIGMA, star_constants, star_cost, star_threshold, w_bar
from bestarm.policy.dp_tt import best_tilt, needed_for_phases, priced_cost, surprise
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import new_record, open_batch, release
from bestarm.policy.transport import divergence_above, meeting_point, transport_cost
from bestarm.release import pure_law
from bestarm.theory.divergences import d_eps
from tests.chance import FALSE_ALARM, at_most
from tests.naive import peers

GRID = np.linspace(1e-6, 1 - 1e-6, 20_001)
means = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.001, 0.999))
budgets = st.sampled_from([0.001, 0.03, 0.5, 2.0, 9.0])
people = st.integers(1, 10**6)


def kl(p: np.ndarray, q: float) -> np.ndarray:
    return np.asarray(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)))


@settings(max_examples=60, deadline=None)
@given(m=means, x=st.floats(0.001, 0.999), epsilon=budgets)
def test_the_divergence_is_the_least_of_moving_and_observing(m: float, x: float, epsilon: float) -> None:
    """d_eps(m, x) = inf over phi of eps |m - phi| + kl(phi, x), over a fine grid of phi."""
    phi = np.append(GRID, np.clip([m, x], 1e-12, 1 - 1e-12))
    brute = float(np.min(epsilon * np.abs(m - phi) + kl(phi, x)))
    ours = divergence_above(m, x, epsilon, math.exp(-epsilon)) if x >= m else math.nan
    mirrored = divergence_above(1 - m, 1 - x, epsilon, math.exp(-epsilon)) if x <= m else math.nan
    assert np.nanmax([ours, mirrored]) == pytest.approx(brute, rel=1e-3, abs=2e-7)
    assert np.nanmax([ours, mirrored]) == pytest.approx(float(d_eps(m, x, epsilon)), rel=1e-9, abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(m=means, below=means, n=people, k=people, epsilon=st.one_of(budgets, st.just(math.inf)))
def test_the_cost_is_the_least_over_all_meeting_points(m: float, below: float, n: int, k: int, epsilon: float) -> None:
    m, below = max(m, below), min(m, below)
    cost = transport_cost(m, n, below, k, epsilon, math.exp(-epsilon))
    if m == below:
        assert cost == 0
        return
    x = np.linspace(below, m, 4001)[1:-1]
    on_grid = n * d_eps(m, x, epsilon) + k * d_eps(below, x, epsilon)
    scale = max(float(np.min(on_grid)), 1e-9)
    assert cost <= float(np.min(on_grid)) + 1e-9 * scale
    # Where the grid's best point is not at an end, the least value is hardly below it: the objective is convex.
    if 5 < int(np.argmin(on_grid)) < 3990:
        assert cost >= float(np.min(on_grid)) - 1e-2 * scale
    meeting = meeting_point(m, n, below, k, math.exp(-epsilon))
    if below < meeting < m:
        there = float(n * d_eps(m, meeting, epsilon) + k * d_eps(below, meeting, epsilon))
        assert cost == pytest.approx(there, rel=1e-6, abs=1e-7)


def test_the_cost_is_symmetric_under_exchanging_success_and_failure() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        below, m = np.sort(rng.random(2))
        n, k = rng.integers(1, 10**5, 2)
        decay = math.exp(-0.2)
        there = transport_cost(m, n, below, k, 0.2, decay)
        mirrored = transport_cost(1 - below, k, 1 - m, n, 0.2, decay)
        assert there == pytest.approx(mirrored, rel=1e-7, abs=1e-9)
        assert there == pytest.approx(peers.transport(m, n, below, k, 0.2), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("x", [1.01, 1.5, 7.0, 300.0, 699.0, 701.0, 1e5])
def test_w_bar_solves_its_equation(x: float) -> None:
    y = float(w_bar(np.array(x)))
    assert y >= 1
    assert y - math.log(y) == pytest.approx(x, rel=1e-12)


def test_our_threshold_spends_delta_over_arms_and_phases() -> None:
    table = needed_for_phases(4, 0.05)[1:, 1:]
    risk = float(np.sum((1 + table) * np.exp(-table))) * 3
    assert 0.9 * 0.05 < risk <= 0.05


def test_the_noises_price_is_taken_off_and_never_more_than_off() -> None:
    rng = np.random.default_rng(11)
    for _ in range(200):
        below, m = np.sort(rng.random(2))
        n, n2 = 2.0 ** rng.integers(2, 18, 2)
        k, k2 = math.log2(n) + 1, math.log2(n2) + 1
        epsilon = float(rng.choice([0.01, 0.3, 2.0]))
        plain = transport_cost(m, n, below, n2, epsilon, math.exp(-epsilon))
        priced = priced_cost(m, n, k, below, n2, k2, epsilon)
        assert 0 <= priced <= plain * (1 + 1e-9)
        if index_of(n) % 4 == 0:
            assert priced == pytest.approx(peers.priced(m, n, k, below, n2, k2, epsilon), rel=1e-6, abs=1e-6)
    assert priced_cost(0.6, 2.0**30, 31, 0.4, 2.0**30, 31, 2.0) == pytest.approx(
        transport_cost(0.6, 2.0**30, 0.4, 2.0**30, 2.0, math.exp(-2.0)), rel=1e-4
    )


def index_of(n: float) -> int:
    """The phase of an arm with n people."""
    return round(math.log2(n)) + 1


def test_the_best_tilt_has_no_better_neighbour() -> None:
    for y, x, noises, epsilon in ((0.9, 0.5, 0.2, 0.3), (0.6, 0.5, 1e-3, 1.0), (0.2, 0.01, 1.0, 5.0)):
        tilts = np.linspace(0, epsilon, 20_002)[:-1]
        curve = tilts * y - np.log(1 - x + x * np.exp(tilts)) + noises * np.log(1 - (tilts / epsilon) ** 2)
        assert surprise(y, x, noises, epsilon) == pytest.approx(float(curve.max()), rel=1e-6)
        assert best_tilt(y, x, noises, epsilon) == pytest.approx(float(tilts[curve.argmax()]), abs=2e-4 * epsilon)


@pytest.mark.parametrize(("epsilon", "mean"), [(0.05, 0.5), (0.3, 0.9), (2.0, 0.2)])
def test_an_arms_surprise_exceeds_u_with_a_chance_of_at_most_e_to_minus_u(epsilon: float, mean: float) -> None:
    """The Chernoff bound behind our threshold, by draws: a claim that is tight within a small factor."""
    rng = np.random.default_rng(5)
    draws, phase, u = 20_000, 15, 1.0
    n = 2 ** (phase - 1)
    totals = rng.binomial(n, mean, draws) + rng.laplace(0, 1 / epsilon, (draws, phase)).sum(axis=1)
    beyond = sum(n * surprise(min(y, 1.0), mean, phase / n, epsilon) >= u for y in totals / n)
    assert at_most(beyond, draws, math.exp(-u)) > FALSE_ALARM
    assert at_most(beyond, draws, math.exp(-u) / 20) < FALSE_ALARM, "the test has no power"


@pytest.mark.parametrize("epsilon", [0.05, 0.4, 3.0])
def test_the_threshold_of_adap_tt_star_is_the_sum_of_its_parts(epsilon: float) -> None:
    constants = star_constants(Numbers(4, 0.03, pure_law(epsilon)))
    record = new_record(4)
    for arm, phases in ((0, 9), (2, 12)):
        for phase in range(1, phases + 1):
            size = 1 if phase == 1 else 2 ** (phase - 2)
            open_batch(record, arm, size)
            release(record, arm, size, 0.0)
    n, m = 2**7, 2**10
    for gap in (0.01, 0.1, 0.7, 1.3):
        naive = peers.star_threshold(n, m, gap, 4, epsilon, 0.03)
        assert star_threshold(record, constants, 0, 2, gap) == pytest.approx(naive, rel=1e-8)
    harmonic = 2 * SIGMA**2 * (1 / n + 1 / m)
    assert star_cost(0.1, n, m, epsilon) == pytest.approx(0.1 * min(0.1, 3 * epsilon) / harmonic)
    assert star_cost(-0.1, n, m, epsilon) == 0


def test_the_threshold_for_wide_gaps_covers_every_exponent() -> None:
    """As printed it is enough for s = 2; for larger s the union bound over phases may ask for more."""
    for s in (1.5, 2.0, 6.0):
        constants = star_constants(Numbers(2, 0.5, pure_law(1.0), s=s))
        assert (constants.far[1:] >= constants.noise[1:] * 3 / (2 * SIGMA**2) - 1e-9).all()
