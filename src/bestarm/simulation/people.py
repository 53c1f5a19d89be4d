"""Simulated people: draws the exact sum of a batch's outcomes, and the seeded noise that turns it into a release.

Seeded noise is for simulation alone. A batch's sum of 0/1 outcomes is one binomial draw, whatever its size.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from bestarm.errors import InputError
from bestarm.instance import Bernoulli, Beta, Empirical, Instance, RewardLaw, Sampled, TruncatedNormal
from bestarm.policy.record import FloatArray, IntArray
from bestarm.release.laws import NONE, ZCDP, Law, noise_variance, randomised
from bestarm.rules import rule
from bestarm.simulation.clock import Clock, day_of

BERNOULLI, BETA, TRUNCATED_NORMAL, EMPIRICAL = range(4)
NO_NOISE, LAPLACE, DISCRETE_LAPLACE, DISCRETE_GAUSSIAN, RANDOMISED_RESPONSE = range(5)

TRENDS: Final = ("linear", "step", "bump", "season")
STEADY, LINEAR, STEP, BUMP, SEASON, RECORDED = range(6)
WAVES: Final = 4
"""How many waves a season makes over the expected length of a trial."""
PIECES: Final = 200
"""Over the expected length of a trial a trend is followed in so many steps."""


MOST_DATES: Final = 128
"""So many releases of a run are noted with their dates."""


class People(NamedTuple):
    """The reward laws of all arms as plain arrays, so that compiled code can draw from them."""

    kind: IntArray
    mean: FloatArray
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
    group: int = 1
    """The fewest people of a sum that may be released."""


class Changes(NamedTuple):
    """What becomes of outcomes besides their laws."""

    missing: FloatArray
    """For each arm the share of outcomes that never come."""
    imputed: FloatArray
    """For each arm what counts for these, in [0, 1]."""
    trend: int
    size: float
    length: float
    """Days over which the trend runs its course."""
    levels: FloatArray
    """Recorded: every arm's mean in each of several equal parts of that time, part by arm."""
    against: bool = False
    """Whether 0 counts for a missing outcome on the champion of the open stage and 1 on its rivals."""


class World(NamedTuple):
    """Everything releases are drawn from, how people come in, and where a run notes when it did what."""

    people: People
    noise: SimulatedNoise
    clock: Clock
    changes: Changes
    longest_step: int
    """People that may be drawn together; fewer where means change over time."""
    diary: FloatArray
    """The day on which the run ended, then those of its first releases."""
    tally: FloatArray
    """All releases of each arm's own sums, added up, and the people in them."""
    group: int
    """The fewest people of a sum that may be released."""


def world_of(
    people: People,
    noise: SimulatedNoise,
    clock: Clock | None = None,
    changes: Changes | None = None,
    expected: float = 1.0,
) -> World:
    """The world of one run; `expected` is how many people a trial takes, for trends to run their course."""
    moves = changes is not None and changes.trend != STEADY
    return World(
        people,
        noise,
        clock or Clock(),
        changes
        or Changes(
            np.zeros(people.kind.size), np.zeros(people.kind.size), STEADY, 0.0, 1.0, np.zeros((1, people.kind.size))
        ),
        max(1, int(expected / PIECES)) if moves else 2**62,
        np.full(1 + MOST_DATES, math.nan),
        np.zeros((2, people.kind.size)),
        noise.group,
    )


def people_of(instance: Instance, binarised: bool) -> People:
    """The arrays of an instance; `binarised` outcomes are coins of that probability, so only the means matter."""
    laws: list[RewardLaw] = [Bernoulli(mean) for mean in instance.means] if binarised else list(instance.laws)
    arms = len(laws)
    kind, begin, end = np.zeros(arms, np.int64), np.zeros(arms, np.int64), np.zeros(arms, np.int64)
    mean, first, second = np.array(instance.means), np.zeros(arms), np.zeros(arms)
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
    return People(kind, mean, first, second, np.array(values, float), np.array(share, float), begin, end)


def noise_of(law: Law, continuous: bool = False) -> SimulatedNoise:
    """Noise of the law of releases, on its grid; where proofs are on continuous noise, pure noise is drawn as such."""
    grid = round(1.0 / law.step)
    if law.kind == NONE:
        return SimulatedNoise(NO_NOISE, 0.0, grid)
    if randomised(law):
        return SimulatedNoise(RANDOMISED_RESPONSE, law.slope + law.offset, 1, law.group)
    if law.kind == ZCDP:
        return SimulatedNoise(DISCRETE_GAUSSIAN, grid * math.sqrt(noise_variance(law)), grid)
    if continuous:
        return SimulatedNoise(LAPLACE, 1 / law.budget, 1)
    return SimulatedNoise(DISCRETE_LAPLACE, law.budget / grid, grid)


@rule
def draw_release(rng: np.random.Generator, world: World, arm: int, size: int) -> float:
    """One release: the sum of `size` new outcomes of the arm, made private."""
    return draw_counted(rng, world, arm, size, 0.0) + draw_noise(rng, world.noise)


@rule
def draw_counted(rng: np.random.Generator, world: World, arm: int, size: int, at: float) -> float:
    """The sum of what is counted of `size` new people of the arm, around the count `at`: before any central noise."""
    gone = draw_missing(rng, world, arm, size)
    mean = moved_mean(world, arm, at)
    left = size - gone
    if world.noise.kind == RANDOMISED_RESPONSE:
        total = draw_bits(rng, world.noise, mean, left)
    elif world.people.kind[arm] == BERNOULLI:
        total = float(rng.binomial(left, mean)) if left != 1 else (1.0 if rng.random() < mean else 0.0)
    else:
        shifted = draw_shifted(rng, world, arm, left, mean)
        total = draw_sum(rng, world.people, arm, left - shifted, world.noise.grid)
        if mean > world.people.mean[arm]:
            total += shifted
    return total + draw_imputed(rng, world, arm, gone)


@rule
def moved_mean(world: World, arm: int, at: float) -> float:
    """The arm's mean around the count `at`: the trend is added, and the sum clipped to [0, 1]."""
    mean = float(world.people.mean[arm])
    changes = world.changes
    if changes.trend == STEADY:
        return mean
    t = day_of(world.clock, at) / changes.length
    if changes.trend == RECORDED:
        parts = changes.levels.shape[0]
        return float(changes.levels[min(int(t * parts), parts - 1), arm])
    course = min(t, 1.0)
    level = 0.0
    if changes.trend == LINEAR:
        level = course
    elif changes.trend == STEP:
        level = 1.0 if course > 0.5 else 0.0
    elif changes.trend == BUMP:
        level = 4.0 * course * (1.0 - course)
    else:
        level = math.sin(2.0 * math.pi * WAVES * t)
    return min(max(mean + changes.size * level, 0.0), 1.0)


@rule
def draw_missing(rng: np.random.Generator, world: World, arm: int, size: int) -> int:
    """How many outcomes of so many never come."""
    share = float(world.changes.missing[arm])
    return rng.binomial(size, share) if share > 0.0 else 0


@rule
def count_against(world: World, champion: int) -> None:
    """From here on missing outcomes count against this arm's lead, if that is the design's rule."""
    if world.changes.against:
        for arm in range(world.changes.imputed.size):
            world.changes.imputed[arm] = 0.0 if arm == champion else 1.0


@rule
def draw_imputed(rng: np.random.Generator, world: World, arm: int, gone: int) -> float:
    """What is counted for so many missing outcomes: the design's constant, encoded as outcomes are."""
    if gone == 0:
        return 0.0
    imputed, grid = float(world.changes.imputed[arm]), world.noise.grid
    if world.noise.kind == RANDOMISED_RESPONSE:
        return draw_bits(rng, world.noise, imputed, gone)
    if world.noise.kind == LAPLACE:
        return gone * imputed
    whole = math.floor(imputed * grid)
    rest = imputed * grid - whole
    up = rng.binomial(gone, rest) if rest > 0.0 else 0
    return (gone * whole + up) / grid


@rule
def draw_bits(rng: np.random.Generator, noise: SimulatedNoise, mean: float, size: int) -> float:
    """A sum of bits of this mean, each flipped by its own coin."""
    return float(rng.binomial(size, mean * noise.scale + (1.0 - mean) * (1.0 - noise.scale)))


@rule
def draw_shifted(rng: np.random.Generator, world: World, arm: int, size: int, mean: float) -> int:
    """How many outcomes of so many a trend turns into 1, where the mean has risen, or into 0, where it has fallen.

    A law that is not one of bits keeps its shape for all others, and its mean is then exactly the moved one.
    """
    own = float(world.people.mean[arm])
    if mean == own or size == 0:
        return 0
    return rng.binomial(size, (mean - own) / (1.0 - own) if mean > own else (own - mean) / own)


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
