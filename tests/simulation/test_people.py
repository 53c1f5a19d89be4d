"""Simulated people draw from the laws they claim: each test accepts the right law and rejects one 10% off."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bestarm.errors import InputError
from bestarm.instance import Bernoulli, Beta, Empirical, Instance, RewardLaw, TruncatedNormal
from bestarm.release import GRID, local_law, no_privacy, pure_law, zcdp_law
from bestarm.simulation.people import (
    DISCRETE_GAUSSIAN,
    DISCRETE_LAPLACE,
    LAPLACE,
    NO_NOISE,
    RANDOMISED_RESPONSE,
    SimulatedNoise,
    discrete_gaussian,
    discrete_laplace,
    draw_noise,
    draw_release,
    draw_sum,
    noise_of,
    people_of,
    world_of,
)
from tests.chance import CLEARLY, FALSE_ALARM, fits, fits_weights, mean_is

DRAWS = 20_000


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_discrete_laplace_has_its_law_and_no_other(epsilon: float) -> None:
    rng = np.random.default_rng(5)
    draws = [int(discrete_laplace(rng, epsilon)) for _ in range(4 * DRAWS)]
    z = np.arange(-200, 201)
    assert fits_weights(draws, -200, list(np.exp(-epsilon * abs(z)))) > FALSE_ALARM
    assert fits_weights(draws, -200, list(np.exp(-1.1 * epsilon * abs(z)))) < CLEARLY


@pytest.mark.parametrize("sigma", [0.8, 3.0, 12.5])
def test_discrete_gaussian_has_its_law_and_no_other(sigma: float) -> None:
    rng = np.random.default_rng(6)
    draws = [int(discrete_gaussian(rng, sigma)) for _ in range(DRAWS)]
    z = np.arange(-200, 201)
    assert fits_weights(draws, -200, list(np.exp(-(z**2) / (2 * sigma**2)))) > FALSE_ALARM
    assert fits_weights(draws, -200, list(np.exp(-(z**2) / (2 * (1.1 * sigma) ** 2)))) < CLEARLY


def test_continuous_laplace_has_the_scale_of_its_budget() -> None:
    rng = np.random.default_rng(7)
    draws = [draw_noise(rng, SimulatedNoise(LAPLACE, 1 / 0.4, 1)) for _ in range(DRAWS)]
    cuts = [round(2.5 * x * 2**20) for x in np.linspace(-6, 6, 25)]
    steps = [round(draw * 2**20) for draw in draws]
    assert fits(steps, cuts, lambda cut: float(stats.laplace.cdf(cut / 2**20, scale=2.5))) > FALSE_ALARM
    assert fits(steps, cuts, lambda cut: float(stats.laplace.cdf(cut / 2**20, scale=2.75))) < CLEARLY


def test_randomised_response_flips_with_the_right_probability() -> None:
    rng = np.random.default_rng(8)
    people = people_of(Instance.bernoulli([0.2, 0.9]), binarised=False)
    truth = math.e / (1 + math.e)
    world = world_of(people, SimulatedNoise(RANDOMISED_RESPONSE, truth, 1))
    draws = [int(draw_release(rng, world, 0, 30)) for _ in range(DRAWS)]
    counts = np.arange(31)
    right, wrong = 0.2 * truth + 0.8 * (1 - truth), 0.2 * truth + 0.8 * (1 - truth) * 1.1
    assert fits_weights(draws, 0, list(stats.binom(30, right).pmf(counts))) > FALSE_ALARM
    assert fits_weights(draws, 0, list(stats.binom(30, wrong).pmf(counts))) < CLEARLY


@pytest.mark.parametrize("grid", [1, GRID])
@pytest.mark.parametrize(
    "law", [Bernoulli(0.3), Beta(2.0, 5.0), TruncatedNormal(0.8, 0.4), Empirical([0.0, 0.25, 0.25, 1.0, 0.7])]
)
def test_sums_have_the_mean_of_their_law(law: RewardLaw, grid: int) -> None:
    rng = np.random.default_rng(9)
    people = people_of(Instance((law, Bernoulli(0.5))), binarised=False)
    sums = np.array([draw_sum(rng, people, 0, 25, grid) for _ in range(4000)])
    assert mean_is(float(sums.sum()), 25 * sums.size, law.mean) > FALSE_ALARM
    assert mean_is(float(sums.sum()), 25 * sums.size, 0.9 * law.mean) < CLEARLY
    if grid == GRID:
        np.testing.assert_array_equal(sums * GRID, np.round(sums * GRID))


@pytest.mark.parametrize("mean", [0.0, 1.0])
@pytest.mark.parametrize("size", [1, 2, 1000, 10**9])
def test_certain_outcomes_are_certain(mean: float, size: int) -> None:
    people = people_of(Instance.bernoulli([mean, 0.5]), binarised=False)
    assert draw_sum(np.random.default_rng(1), people, 0, size, 1) == mean * size


def law_of_sum(tenths: list[int], people: int) -> list[float]:
    """The chances of 0, 1, 2, ... tenths as the sum of so many independent draws from a sample."""
    one = np.bincount(tenths, minlength=11) / len(tenths)
    found = np.ones(1)
    for _ in range(people):
        found = np.convolve(found, one)
    return [float(chance) for chance in found]


def test_empirical_sums_have_the_law_of_sums_from_the_sample() -> None:
    tenths = [0, 1, 1, 9, 10, 10]
    people = people_of(Instance((Empirical([x / 10 for x in tenths]), Bernoulli(0.5))), binarised=False)
    rng = np.random.default_rng(2)
    sums = [round(10 * draw_sum(rng, people, 0, 40, 1)) for _ in range(DRAWS)]
    assert fits_weights(sums, 0, law_of_sum(tenths, 40)) > FALSE_ALARM
    assert fits_weights(sums, 0, law_of_sum([0, 1, 1, 10, 9, 4, 10, 1, 6, 10], 40)) < CLEARLY


def test_each_privacy_model_gets_its_noise() -> None:
    assert noise_of(pure_law(0.5, 20), continuous=True) == SimulatedNoise(LAPLACE, 2.0, 1)
    assert noise_of(pure_law(0.5)) == SimulatedNoise(DISCRETE_LAPLACE, 0.5, 1)
    assert noise_of(pure_law(0.5, 20)) == SimulatedNoise(DISCRETE_LAPLACE, 0.5 / GRID, GRID)
    assert noise_of(zcdp_law(0.125, 20), continuous=True) == SimulatedNoise(DISCRETE_GAUSSIAN, 2.0 * GRID, GRID)
    assert noise_of(no_privacy()) == SimulatedNoise(NO_NOISE, 0.0, 1)
    assert noise_of(no_privacy(20), continuous=True) == SimulatedNoise(NO_NOISE, 0.0, GRID)
    assert noise_of(local_law(math.log(3))).scale == pytest.approx(0.75)
    assert noise_of(local_law(1.0))._replace(scale=0.0) == SimulatedNoise(RANDOMISED_RESPONSE, 0.0, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Bernoulli(1.2),
        lambda: Bernoulli(math.nan),
        lambda: Beta(0.0, 1.0),
        lambda: TruncatedNormal(50.0, 1.0),
        lambda: TruncatedNormal(0.5, -1.0),
        lambda: Empirical([]),
        lambda: Empirical([0.5, 1.5]),
        lambda: Instance.bernoulli([0.5]),
    ],
)
def test_impossible_laws_are_refused_in_one_sentence(make: object) -> None:
    with pytest.raises(InputError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value).count("\n") == 0
    assert str(caught.value).endswith(".")
