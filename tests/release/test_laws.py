"""The laws of releases against brute force: probabilities, far tails, log-mgfs, order, and planted errors."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from scipy import stats

from bestarm.errors import InputError
from bestarm.release import (
    Law,
    bet_cap,
    counted_mean,
    has_pmf,
    local_law,
    log_mgf,
    log_outcome_mgf,
    log_pmf,
    no_privacy,
    noise_variance,
    outcome_mean,
    pure_law,
    zcdp_law,
)
from bestarm.release.binomial import tail_by_expansion, tail_by_fraction, tail_over_point
from bestarm.release.laws import log_binomial_laplace

LAWS = [pure_law(0.001), pure_law(0.1), pure_law(1.0), pure_law(10.0), no_privacy(), local_law(0.5), local_law(3.0)]
SIZES = (1, 2, 3, 17, 200, 3000)
MEANS = (0.0, 1e-9, 0.01, 0.3, 0.5, 0.9, 1 - 1e-6, 1.0)


def convolved(n: int, m: float, r: int, epsilon: float) -> float:
    """log P(Bin + Z = r), term by term."""
    k = np.arange(n + 1)
    noise = math.log(math.tanh(epsilon / 2)) - epsilon * np.abs(r - k)
    return float(np.logaddexp.reduce(stats.binom.logpmf(k, n, m) + noise))


def support(law: Law, n: int) -> np.ndarray:
    """Releases that carry all but e^-40 of the probability, whatever the mean."""
    reach = 0 if law.kind != 0 else math.ceil(45 / law.budget)
    return np.arange(-reach, n + reach + 1)


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("n", SIZES)
def test_pmf_is_the_convolution_also_in_the_far_tails(n: int, epsilon: float) -> None:
    for m in MEANS:
        spread = math.sqrt(n * m * (1 - m) + 0.1)
        near = [round(n * m + d * spread) for d in (-10, -3, -1, 0, 1, 2, 5, 40)]
        for r in {-5000, -3, -1, 0, 1, 2, n - 1, n, n + 1, n + 4000, *near}:
            expected = convolved(n, m, r, epsilon)
            assert log_pmf(pure_law(epsilon), n, m, r) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("m", [0.0, 0.02, 0.5, 0.97, 1.0])
def test_pmf_sums_to_one_with_the_right_mean_and_variance(law: Law, m: float) -> None:
    n = 12
    r = support(law, n)
    p = np.exp([log_pmf(law, n, m, float(x)) for x in r])
    mean = counted_mean(law, m)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert p @ r == pytest.approx(n * mean, abs=1e-8)
    variance = p @ (r - n * mean) ** 2
    assert variance == pytest.approx(n * mean * (1 - mean) + noise_variance(law), rel=1e-9, abs=1e-9)


def test_far_out_the_log_probability_falls_with_the_rate_of_the_noise() -> None:
    law = pure_law(0.5)
    assert log_pmf(law, 50, 0.3, 1e6 + 1) - log_pmf(law, 50, 0.3, 1e6) == pytest.approx(-0.5, abs=1e-6)
    assert log_pmf(law, 50, 0.3, -1e6 - 1) - log_pmf(law, 50, 0.3, -1e6) == pytest.approx(-0.5, abs=1e-6)
    # 0.9 of 10^12 at mean 1/2: the binomial's large deviation, since noise of rate 10 reaches no farther by itself.
    deviation = 0.9 * math.log(0.9 / 0.5) + 0.1 * math.log(0.1 / 0.5)
    assert log_pmf(pure_law(10.0), 1e12, 0.5, 0.9e12) == pytest.approx(-1e12 * deviation, rel=1e-9)


def test_large_batches_agree_with_the_normal_law_smoothed_by_laplace_noise() -> None:
    n, m, epsilon = 1e12, 0.37, 1e-6
    s = math.sqrt(n * m * (1 - m))
    for z in (-2.0, 0.0, 0.7, 3.0):
        r = round(n * m + z * (s + 1 / epsilon))
        grid = np.linspace(-12, 12, 400_001)
        density = np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi) * np.exp(-epsilon * np.abs(r - n * m - s * grid))
        expected = math.log(epsilon / 2 * float(np.sum(density)) * (grid[1] - grid[0]))
        assert log_pmf(pure_law(epsilon), n, m, r) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("n", "p"), [(3000, 0.45), (5000, 0.3), (10_000, 0.88), (100_000, 0.05), (1_000_000, 0.5)])
def test_tail_ratios_to_twelve_digits(n: int, p: float) -> None:
    getcontext().prec = 40
    for distance in (0.0, 0.3, 1.0, 1.9, 2.5, 6.0):
        k = math.ceil((n + 1) * p + distance * math.sqrt(n * p * (1 - p)))
        odds, term, total, j = Decimal(p) / (1 - Decimal(p)), Decimal(1), Decimal(1), k
        while term > total * Decimal(10) ** -25:
            term *= Decimal(n - j) / Decimal(j + 1) * odds
            total += term
            j += 1
        assert tail_over_point(n, k, p, 1 - p) == pytest.approx(float(total), rel=1e-12)
        assert tail_by_fraction(n, k, p, 1 - p) == pytest.approx(float(total), rel=2e-12)
        if distance < 2:
            assert tail_by_expansion(n, k, p, 1 - p) == pytest.approx(float(total), rel=1e-11)


@pytest.mark.parametrize("law", LAWS)
def test_likelihood_ratios_are_monotone(law: Law) -> None:
    n = 9
    r = support(law, n)[:: max(1, len(support(law, n)) // 400)]
    for low, high in [(0.01, 0.02), (0.3, 0.31), (0.2, 0.8), (0.9, 0.999)]:
        ratio = np.array([log_pmf(law, n, high, float(x)) - log_pmf(law, n, low, float(x)) for x in r])
        assert np.all(np.diff(ratio) >= -1e-11)


@pytest.mark.parametrize("law", LAWS)
def test_log_likelihood_is_concave_in_the_mean(law: Law) -> None:
    n, m = 11, np.linspace(0.001, 0.999, 999)
    for r in (0, 1, 5, 11) if law.kind else (-30, 0, 1, 5, 11, 40):
        values = np.array([log_pmf(law, n, x, r) for x in m])
        assert np.max(np.diff(values, 2)) <= 1e-10


@pytest.mark.parametrize("epsilon", [0.01, 0.7, 10.0])
@pytest.mark.parametrize("bits", [0, 3])
def test_log_mgf_of_discrete_laplace_noise(epsilon: float, bits: int) -> None:
    law = pure_law(epsilon, bits)
    z = np.arange(-(2**bits) * math.ceil(800 / epsilon), 2**bits * math.ceil(800 / epsilon) + 1)
    log_probability = math.log(math.tanh(epsilon * law.step / 2)) - epsilon * law.step * np.abs(z)
    for share in (0.0, 0.01, 0.5, 0.9):
        bet = share * bet_cap(law)
        expected = math.log(np.sum(np.exp(log_probability + bet * law.step * z)))
        assert log_mgf(law, bet) == pytest.approx(expected, rel=1e-8, abs=1e-10)
        assert log_mgf(law, -bet) == pytest.approx(log_mgf(law, bet), rel=1e-12)


@pytest.mark.parametrize("rho", [0.001, 0.5, 20.0])
@pytest.mark.parametrize("bits", [0, 2])
def test_log_mgf_of_discrete_gaussian_noise_is_bounded(rho: float, bits: int) -> None:
    law = zcdp_law(rho, bits)
    sigma = math.sqrt(noise_variance(law)) / law.step
    z = np.arange(-math.ceil(60 * sigma + 60), math.ceil(60 * sigma + 60) + 1)
    weight = np.exp(-(z**2) / (2 * sigma**2))
    assert np.sum(weight * (law.step * z) ** 2) / np.sum(weight) <= noise_variance(law) * (1 + 1e-12)
    for deviations in (0.01, 0.5, 3.0, 20.0):
        bet = deviations / math.sqrt(noise_variance(law))
        exact = math.log(np.sum(np.exp(-(z**2) / (2 * sigma**2) + bet * law.step * z)) / np.sum(weight))
        assert exact <= log_mgf(law, bet) * (1 + 1e-12) + 1e-12


def test_outcome_mgf_is_exact_for_coins_and_bounds_everything_else() -> None:
    rng = np.random.default_rng(5)
    for m in (0.0, 1e-12, 0.2, 0.8, 1 - 1e-12, 1.0):
        for bet in (-40.0, -3.0, -1e-9, 0.0, 1e-9, 2.0, 35.0):
            expected = max(bet, 0) + math.log((1 - m) * math.exp(min(-bet, 0)) + m * math.exp(min(bet, 0)))
            assert log_outcome_mgf(m, bet) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    for _ in range(100):
        outcomes = rng.beta(rng.uniform(0.1, 5), rng.uniform(0.1, 5), size=50)
        for bet in (-5.0, -0.3, 0.3, 5.0):
            assert math.log(np.mean(np.exp(bet * outcomes))) <= log_outcome_mgf(float(outcomes.mean()), bet) + 1e-12


def test_randomised_response_moves_means_and_back() -> None:
    law = local_law(math.log(3))
    assert counted_mean(law, 0.0) == pytest.approx(0.25)
    assert counted_mean(law, 1.0) == pytest.approx(0.75)
    assert outcome_mean(law, counted_mean(law, 0.37)) == pytest.approx(0.37)
    assert math.exp(log_pmf(law, 1, 1.0, 1)) / math.exp(log_pmf(law, 1, 0.0, 1)) == pytest.approx(3)


def test_pure_noise_keeps_its_promise_exactly() -> None:
    for epsilon in (0.01, 1.0, 5.0):
        for r in range(-20, 20):
            moved = log_binomial_laplace(1, 0.0, r, epsilon) - log_binomial_laplace(1, 1.0, r, epsilon)
            assert abs(moved) <= epsilon * (1 + 1e-12)


def test_which_laws_have_probabilities_in_closed_form() -> None:
    assert all(has_pmf(law) for law in LAWS)
    assert not has_pmf(zcdp_law(0.3))
    assert not has_pmf(pure_law(2.0, 20))


@pytest.mark.parametrize("budget", [0.0, -1.0, math.nan, math.inf])
def test_impossible_budgets_are_refused(budget: float) -> None:
    for make in (pure_law, local_law, zcdp_law):
        with pytest.raises(InputError):
            make(budget)
    with pytest.raises(InputError):
        pure_law(1.0, 41)
