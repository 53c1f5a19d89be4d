"""No bet is better than fair under its null: expectations summed over every possible release, for both forms.

Also: planted errors in psi, in h, in the side of a cell and in the mixture are caught by the same sums.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from bestarm.policy import evidence_bets
from bestarm.policy.evidence_belief import POINTS, gather, log_densities, summarise
from bestarm.policy.evidence_bets import (
    information,
    kl,
    log_bet,
    log_mgf_slope,
    new_slip,
    point_reaching,
    write_slip,
)
from bestarm.policy.record import FloatArray
from bestarm.release import (
    Law,
    bet_cap,
    has_pmf,
    local_law,
    log_mgf,
    log_outcome_mgf,
    log_pmf,
    no_privacy,
    pure_law,
    zcdp_law,
)

LAWS = [pure_law(1.0), pure_law(3.0), pure_law(10.0), no_privacy(), local_law(1.0), zcdp_law(0.5), zcdp_law(20.0)]
FORMS = [(law, tilted) for law in LAWS for tilted in (False, True) if tilted or has_pmf(law)]


def belief_after(law: Law, tilted: bool, batches: list[tuple[int, float]]) -> tuple[FloatArray, FloatArray]:
    """What is believed of an arm after these releases."""
    point = ((np.arange(POINTS) + 0.5) / POINTS)[None, :].copy()
    belief = np.zeros((1, POINTS))
    scratch = np.zeros((3, POINTS))
    for n, r in batches:
        log_densities(law, tilted, n, r, point, 0, scratch[0])
        belief[0] += scratch[0]
        mean, spread = summarise(point, belief, 0)
        gather(point, belief, 0, mean, spread, scratch[1], scratch[2])
    return point, belief


def bet_on(
    law: Law, tilted: bool, batches: list[tuple[int, float]], n: int, m: float, need: float, trust: float, up: bool
) -> Callable[[float], float]:
    """The factor by which a release multiplies the wealth of a cell with edge m."""
    point, belief = belief_after(law, tilted, batches)
    density = np.zeros(POINTS)
    slip = new_slip()

    def factor(r: float) -> float:
        log_densities(law, tilted, n, r, point, 0, density)
        write_slip(slip, law, tilted, n, point, belief, density, 0, up)
        return math.exp(log_bet(slip, law, tilted, n, r if up else n - r, m if up else 1 - m, need, trust))

    return factor


def noise_of(law: Law) -> tuple[FloatArray, FloatArray]:
    """Values and probabilities of the noise, beyond where bets could still earn anything."""
    if law.kind == 0:
        z = np.arange(-math.ceil(40 / law.budget / law.step), math.ceil(40 / law.budget / law.step) + 1) * law.step
        p = np.exp(-law.budget * np.abs(z)) * math.tanh(law.budget * law.step / 2)
    elif law.kind == 3:
        sigma = math.sqrt(0.5 / law.budget)
        z = np.arange(-math.ceil((14 * sigma + 3) / law.step), math.ceil((14 * sigma + 3) / law.step) + 1) * law.step
        p = np.exp(-(z**2) / (2 * sigma**2))
        p /= p.sum()
    else:
        z, p = np.zeros(1), np.ones(1)
    return np.asarray(z, np.float64), np.asarray(p, np.float64)


def sum_of(n: int, values: FloatArray, probabilities: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
    """The law of a sum of n outcomes on a grid."""
    one = np.zeros(round(1 / step) + 1)
    for value, probability in zip(values, probabilities, strict=True):
        one[round(value / step)] += probability
    total = np.ones(1)
    for _ in range(n):
        total = np.convolve(total, one)
    return np.arange(total.size, dtype=np.float64) * step, total


def expected(law: Law, factor: Callable[[float], float], counts: FloatArray, chances: FloatArray) -> float:
    """The mean of a factor when the counted sum has this law and noise is added.

    Noise beyond e^-40 is cut off; for tilts close to the cap, where that matters, see the test on the tail below.
    """
    z, p = noise_of(law)
    releases = counts[:, None] + z[None, :]
    weights = chances[:, None] * p[None, :]
    distinct, inverse = np.unique(np.round(releases / law.step).astype(int), return_inverse=True)
    mass = np.bincount(inverse.ravel(), weights.ravel())
    return float(sum(w * factor(k * law.step) for k, w in zip(distinct, mass, strict=True) if w > 0))


@pytest.mark.parametrize(("law", "tilted"), FORMS)
@pytest.mark.parametrize("up", [True, False])
def test_no_bet_is_better_than_fair(law: Law, tilted: bool, up: bool) -> None:
    rng = np.random.default_rng(3)
    for n, m in itertools.product((1, 4, 30), (0.05, 0.5, 0.93)):
        history = [(20, float(rng.integers(0, 21))), (9, float(rng.integers(0, 10)))][: int(rng.integers(0, 3))]
        factor = bet_on(law, tilted, history, n, m, float(rng.uniform(0.1, 6)), float(rng.choice([0.3, 1.0])), up)
        for share in (1.0, 0.9, 0.3, 0.0):
            mu = share * m if up else 1 - share * (1 - m)
            counted = law.slope * mu + law.offset
            counts, chances = sum_of(n, np.array([0.0, 1.0]), np.array([1 - counted, counted]), 1.0)
            assert expected(law, factor, counts, chances) <= 1 + 1e-12


@pytest.mark.parametrize("law", [pure_law(1.5, 1), pure_law(8.0, 1), zcdp_law(0.5, 1), no_privacy()])
@pytest.mark.parametrize("up", [True, False])
def test_tilted_bets_hold_for_any_outcomes(law: Law, up: bool) -> None:
    rng = np.random.default_rng(4)
    law = law._replace(step=0.5)
    for n, m in itertools.product((1, 6), (0.2, 0.7)):
        history = [(12, float(rng.uniform(0, 12)))]
        factor = bet_on(law, True, history, n, m, 4.0, 1.0, up)
        for middle in (0.0, 0.3, 1.0):
            # Outcomes 0, 1/2, 1 with mean m: half of `middle` from either side.
            share = middle * min(m, 1 - m)
            chances = np.array([1 - m - share, 2 * share, m - share])
            assert expected(law, factor, *sum_of(n, np.array([0.0, 0.5, 1.0]), chances, 0.5)) <= 1 + 1e-12


def test_bets_with_tilts_close_to_the_cap_hold_to_the_end_of_the_tail() -> None:
    law, n, m = pure_law(2.0), 5, 0.4
    for tilt in (0.5 * bet_cap(law), 0.99 * bet_cap(law), 0.999 * bet_cap(law)):
        reach = math.ceil(60 / (law.budget - tilt))
        r = np.arange(-reach, n + reach + 1)
        logs = np.array([log_pmf(law, n, m, float(x)) for x in r])
        mean = np.sum(np.exp(logs + tilt * r - n * log_outcome_mgf(m, tilt) - log_mgf(law, tilt)))
        assert mean == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize(("law", "tilted"), FORMS)
def test_bets_win_when_the_null_is_false_and_rarely_lose_much(law: Law, tilted: bool) -> None:
    n, m = 60, 0.3
    z, _ = noise_of(law)
    r = 0.8 * law.slope * n + law.offset * n
    far = bet_on(law, tilted, [(60, r)], n, m, 5.0, 1.0, True)(round(r))
    assert math.log(far) > (1.0 if law.kind != 2 else 0.3)
    wrong = bet_on(law, tilted, [(60, r)], n, m, 5.0, 0.7, True)(min(float(z.min()), 0.0))
    assert math.log(wrong) >= math.log(0.3) - 1e-6


def sum_above_one(law: Law, tilted: bool) -> float:
    """How far the worst of a few expectations is above 1."""
    worst = 0.0
    for n, m, up in itertools.product((4, 12), (0.3, 0.8), (True, False)):
        factor = bet_on(law, tilted, [(20, 20 * m + (4 if up else -4))], n, m, 4.0, 1.0, up)
        counted = law.slope * m + law.offset
        counts, chances = sum_of(n, np.array([0.0, 1.0]), np.array([1 - counted, counted]), 1.0)
        worst = max(worst, expected(law, factor, counts, chances) - 1)
    return worst


def test_a_planted_error_in_psi_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum_above_one(pure_law(2.0), True) <= 1e-12
    monkeypatch.setattr(evidence_bets, "log_mgf", lambda law, tilt: 0.9 * log_mgf(law, tilt))
    assert sum_above_one(pure_law(2.0), True) > 1e-3


def test_a_planted_error_in_h_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_bets, "log_outcome_mgf", lambda m, tilt: 0.99 * log_outcome_mgf(m, tilt))
    assert sum_above_one(pure_law(2.0), True) > 1e-3


def test_a_planted_error_in_the_pmf_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_bets, "log_pmf", lambda law, n, m, r: log_pmf(law, n, m - 0.002, r))
    assert sum_above_one(pure_law(2.0), False) > 1e-3


def test_a_mixture_that_weighs_more_than_one_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    # The union over alternatives is paid by weights that sum to 1. Forgetting to divide by their sum must show.
    whole = evidence_bets.likelihood_bet
    monkeypatch.setattr(evidence_bets, "likelihood_bet", lambda *given: 1.01 * whole(*given))
    assert sum_above_one(pure_law(2.0), False) > 1e-3


def test_information_is_the_refined_divergence() -> None:
    law = pure_law(0.7)
    tilts = np.linspace(0, 0.7, 20_001)
    for m, p in [(0.2, 0.25), (0.2, 0.9), (0.9, 0.97), (0.0, 0.4), (0.5, 0.5), (0.6, 0.3)]:
        best = float(np.max(tilts * p - np.log(1 - m + m * np.exp(tilts)))) if p > m else 0.0
        assert information(law, p, m) == pytest.approx(best, abs=1e-8)
    assert information(no_privacy(), 0.9, 0.2) == pytest.approx(kl(0.9, 0.2))
    assert information(local_law(1.0), 0.9, 0.2) < kl(0.9, 0.2)


@pytest.mark.parametrize("law", LAWS)
def test_points_that_reach(law: Law) -> None:
    for m in (0.0, 1e-6, 0.3, 0.999):
        for nats in (1e-9, 1e-3, 0.1, 2.0):
            p = point_reaching(law, nats, m)
            assert m < p <= 1
            if p < 1 - 1e-8 and m > 0:
                assert information(law, p, m) == pytest.approx(nats, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("law", LAWS)
def test_slope_of_the_log_mgf(law: Law) -> None:
    for tilt in (0.01, 0.3, 0.8):
        step = 1e-6
        slope = (log_mgf(law, tilt + step) - log_mgf(law, tilt - step)) / (2 * step)
        assert log_mgf_slope(law, tilt) == pytest.approx(slope, rel=1e-6, abs=1e-9)
