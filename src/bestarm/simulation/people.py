"""Simulated people: draws the exact sum of a batch's outcomes, and the seeded noise that turns it into a release.

Seeded noise is for simulation alone. A batch's sum of 0/1 outcomes is one binomial draw, whatever its size.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestarm.errors import InputError
from bestarm.instance import Bernoulli, Beta, Empirical, Instance, RewardLaw, Sampled, TruncatedNormal
from bestarm.policy.record import FloatArray, IntArray
from bestarm.release.laws import LOCAL, NONE, ZCDP, Law, noise_variance
from bestarm.rules import rule

BERNOULLI, BETA, TRUNCATED_NORMAL, EMPIRICAL = range(4)
NO_NOISE, LAPLACE, DISCRETE_LAPLACE, DISCRETE_GAUSSIAN, RANDOMISED_RESPONSE = range(5)


class People(NamedTuple):
    """The reward laws of all arms as plain arrays, so that compiled code can draw from them."""

    kind: IntArray
    first: FloatArray
    """Bernoulli: the mean. Beta: a. Truncated normal: location."""
    second: FloatArray
    """Beta: b. Truncated normal: scale."""
    values: FloatArray
    """Empirical: the distinct outcomes of all such arms, arm after arm."""
    share: FloatArray
    """Empirical: the share of each value among itself and the arm's later ones."""
    begin: IntArray
    end: IntArray
    """Empirical: where the arm's values lie."""


class SimulatedNoise(NamedTuple):
    """How a batch's sum is made private."""

    kind: int
    scale: float
    """Laplace: 1/epsilon. Discrete Laplace: epsilon. Discrete Gaussian: sigma. Randomised response: P(truth)."""
    grid: int
    """Integer noise lives on multiples of 1/grid."""


class World(NamedTuple):
    """Everything releases are drawn from, and how people come in."""

    people: People
    noise: SimulatedNoise
    outstanding: int = 0
    """How many people are enrolled while an outcome is awaited; 0 if outcomes are known at once."""
    longest_step: int = 2**62
    """People that may be drawn together; fewer where means change over time."""


def people_of(instance: Instance, binarised: bool) -> People:
    """The arrays of an instance; `binarised` outcomes are coins of that probability, so only the means matter."""
    laws: list[RewardLaw] = [Bernoulli(mean) for mean in instance.means] if binarised else list(instance.laws)
    arms = len(laws)
    kind, begin, end = np.zeros(arms, np.int64), np.zeros(arms, np.int64), np.zeros(arms, np.int64)
    first, second = np.zeros(arms), np.zeros(arms)
    values: list[float] = []
    share: list[float] = []
    for arm, law in enumerate(laws):
        begin[arm] = len(values)
        if isinstance(law, Bernoulli):
            kind[arm], first[arm] = BERNOULLI, law.mean
        elif isinstance(law, Beta):
            kind[arm], first[arm], second[arm] = BETA, law.a, law.b
        elif isinstance(law, TruncatedNormal):
            kind[arm], first[arm], second[arm] = TRUNCATED_NORMAL, law.location, law.scale
        elif isinstance(law, Empirical):
            kind[arm] = EMPIRICAL
            distinct, counts = np.unique(np.array(law.sample), return_counts=True)
            values.extend(distinct.tolist())
            share.extend((counts / np.cumsum(counts[::-1])[::-1]).tolist())
        elif not isinstance(law, Sampled):
            raise InputError(
                f"The simulator cannot draw from {law!r}; use Bernoulli, Beta, TruncatedNormal, Empirical or Sampled."
            )
        end[arm] = len(values)
    return People(kind, first, second, np.array(values, float), np.array(share, float), begin, end)


def noise_of(law: Law, continuous: bool = False) -> SimulatedNoise:
    """Noise of the law of releases, on its grid; where proofs are on continuous noise, pure noise is drawn as such."""
    grid = round(1.0 / law.step)
    if law.kind == NONE:
        return SimulatedNoise(NO_NOISE, 0.0, grid)
    if law.kind == LOCAL:
        return SimulatedNoise(RANDOMISED_RESPONSE, law.slope + law.offset, 1)
    if law.kind == ZCDP:
        return SimulatedNoise(DISCRETE_GAUSSIAN, grid * math.sqrt(noise_variance(law)), grid)
    if continuous:
        return SimulatedNoise(LAPLACE, 1 / law.budget, 1)
    return SimulatedNoise(DISCRETE_LAPLACE, law.budget / grid, grid)


@rule
def draw_release(rng: np.random.Generator, world: World, arm: int, size: int) -> float:
    """One release: the sum of `size` new outcomes of the arm, made private."""
    return draw_counted(rng, world, arm, size, 0) + draw_noise(rng, world.noise)


@rule
def draw_counted(rng: np.random.Generator, world: World, arm: int, size: int, at: int) -> float:
    """The sum of what is counted of `size` new people of the arm, after `at` people: before any central noise."""
    people, noise = world.people, world.noise
    if noise.kind == RANDOMISED_RESPONSE:
        truth = noise.scale
        return float(rng.binomial(size, people.first[arm] * truth + (1.0 - people.first[arm]) * (1.0 - truth)))
    return draw_sum(rng, people, arm, size, noise.grid)


@rule
def draw_blur(rng: np.random.Generator, world: World) -> float:
    """The central noise of one release."""
    return draw_noise(rng, world.noise)


@rule
def draw_sum(rng: np.random.Generator, people: People, arm: int, size: int, grid: int) -> float:
    """The sum of `size` new outcomes of the arm; on a grid, each outcome is rounded at random without bias."""
    kind = people.kind[arm]
    if kind == BERNOULLI:
        if size == 1:
            return 1.0 if rng.random() < people.first[arm] else 0.0
        return float(rng.binomial(size, people.first[arm]))
    if kind == EMPIRICAL:
        return _sum_of_sample(rng, people, arm, size, grid)
    total = 0.0
    for _ in range(size):
        if kind == BETA:
            outcome = rng.beta(people.first[arm], people.second[arm])
        else:
            outcome = rng.normal(people.first[arm], people.second[arm])
            while outcome < 0.0 or outcome > 1.0:
                outcome = rng.normal(people.first[arm], people.second[arm])
        total += round_at_random(rng, outcome, grid)
    return total


@rule
def _sum_of_sample(rng: np.random.Generator, people: People, arm: int, size: int, grid: int) -> float:
    # How often each distinct value comes up is multinomial: one binomial a value, not one draw a person.
    total = 0.0
    left = size
    for i in range(people.begin[arm], people.end[arm]):
        times = left if i == people.end[arm] - 1 else rng.binomial(left, people.share[i])
        whole = math.floor(people.values[i] * grid)
        up = rng.binomial(times, people.values[i] * grid - whole) if grid > 1 else 0
        exact = times * whole + up if grid > 1 else times * people.values[i]
        total += exact / grid if grid > 1 else exact
        left -= times
        if left == 0:
            break
    return total


@rule
def round_at_random(rng: np.random.Generator, outcome: float, grid: int) -> float:
    """The outcome itself without a grid; else one of its two neighbours on the grid, with the right mean."""
    if grid == 1:
        return outcome
    return math.floor(outcome * grid + rng.random()) / grid


@rule
def draw_noise(rng: np.random.Generator, noise: SimulatedNoise) -> float:
    """Seeded noise for one release, in outcome units."""
    if noise.kind == NO_NOISE or noise.kind == RANDOMISED_RESPONSE:
        return 0.0
    if noise.kind == LAPLACE:
        return rng.laplace(0.0, noise.scale)
    if noise.kind == DISCRETE_LAPLACE:
        return discrete_laplace(rng, noise.scale) / noise.grid
    return discrete_gaussian(rng, noise.scale) / noise.grid


@rule
def discrete_laplace(rng: np.random.Generator, rate: float) -> int:
    """P(z) proportional to e^(-rate |z|): the difference of two geometric counts."""
    stop = -math.expm1(-rate)
    return rng.geometric(stop) - rng.geometric(stop)


@rule
def discrete_gaussian(rng: np.random.Generator, sigma: float) -> int:
    """P(z) proportional to e^(-z^2/(2 sigma^2)), by rejection from a discrete Laplace (Canonne et al. 2020)."""
    width = math.floor(sigma) + 1
    while True:
        z = discrete_laplace(rng, 1.0 / width)
        off = abs(z) - sigma * sigma / width
        if rng.random() < math.exp(-off * off / (2.0 * sigma * sigma)):
            return z
