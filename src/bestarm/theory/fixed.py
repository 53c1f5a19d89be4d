"""The fixed design: what anybody can do who states the smallest difference that matters.

Equal numbers on every arm, one noisy sum per arm, the highest is recommended. Its size is the smallest n per arm that
errs with probability at most delta at the least favourable means: a base rate for all arms but one, that rate plus the
difference for it. (For a single rate all others may share, the error falls when any of them falls.) Two equal sums
count as an error, since nobody can tell which of the two arms comes first in a list.

The law of a sum is not approximated by a normal one: binomial and noise are convolved number by number (see `lattice`).
For windows of up to `lattice.FINEST` whole numbers the error is that of rounding, some 1e-10 of the probability; larger
designs are off by less than one person in a thousand.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.stats import norm

from bestarm.checks import DELTA
from bestarm.errors import InputError
from bestarm.release.laws import Law, counted_mean, noise_variance
from bestarm.theory.inputs import Floats
from bestarm.theory.lattice import at_least, lattice_of, law_on

BEYOND: Final = 25.0
"""The window is cut where what lies outside weighs e^-BEYOND of delta."""
NODES: Final = 96
"""Nodes of means over a normal law; their error is below 1e-9 of the probabilities that matter."""
LARGEST: Final = 2**50
"""No design is larger."""


def fixed_size(arms: int, base: float, difference: float, delta: float, law: Law) -> int:
    """The smallest number of people per arm with which the fixed design errs with probability at most delta."""
    low_mean, high_mean = _checked(arms, base, difference, law)
    DELTA.plainly(delta)
    risk = delta if delta < 1.0 - 1.0 / arms else 1.0 - 1.0 / arms
    enough = max(1, int(0.5 * _normal_size(arms, low_mean, high_mean, risk, law)))
    too_few = 0
    while fixed_error(arms, base, difference, enough, law) > delta:
        too_few, enough = enough, 2 * enough
        if enough > LARGEST:
            raise InputError(
                f"The fixed design would need more than {LARGEST} people per arm; state a larger difference."
            )
    if too_few == 0:
        while enough > 1 and fixed_error(arms, base, difference, enough // 2, law) <= delta:
            enough //= 2
        too_few = enough // 2
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if fixed_error(arms, base, difference, middle, law) <= delta:
            enough = middle
        else:
            too_few = middle
    return enough


def fixed_error(arms: int, base: float, difference: float, people: int, law: Law) -> float:
    """P(the best arm's release is not the highest) with so many people per arm, one arm better by the difference."""
    low_mean, high_mean = _checked(arms, base, difference, law)
    if people < 1:
        raise InputError(f"The fixed design has {people} people per arm, but it takes at least one.")
    # The window has to hold all but a vanishing share of the error itself, which is found as the window grows.
    reach = 40.0 + BEYOND
    error = _error(arms, low_mean, high_mean, people, law, reach)
    while error < math.exp(BEYOND - reach) and reach < 700.0:
        reach += 80.0
        error = _error(arms, low_mean, high_mean, people, law, reach)
    return error


def _checked(arms: int, base: float, difference: float, law: Law) -> tuple[float, float]:
    if arms < 2:
        raise InputError(f"At least two arms are needed to look for the best one, got {arms}.")
    if not 0.0 <= base < 1.0:
        raise InputError(f"The base rate is {base:g}, but it has to be at least 0 and less than 1.")
    if not 0.0 < difference <= 1.0 - base + 1e-12:
        raise InputError(
            f"The difference is {difference:g}, but it has to be positive and leave base + difference at most 1."
        )
    return counted_mean(law, base), counted_mean(law, min(base + difference, 1.0))


def _normal_size(arms: int, low_mean: float, high_mean: float, risk: float, law: Law) -> float:
    # Where to begin the search: each comparison as if normal, with its share of the risk.
    z = float(norm.isf(risk / (arms - 1))) if risk / (arms - 1) < 0.5 else 0.0
    gap = high_mean - low_mean
    spread = low_mean * (1.0 - low_mean) + high_mean * (1.0 - high_mean)
    b, c = z * z * spread, z * z * 2.0 * noise_variance(law)
    return (b + math.sqrt(b * b + 4.0 * gap * gap * c)) / (2.0 * gap * gap)


def _error(arms: int, low_mean: float, high_mean: float, people: int, law: Law, reach: float) -> float:
    lattice = lattice_of(people, low_mean, high_mean, law, 1, reach)
    rival = law_on(lattice, people, low_mean, law, 1)
    best = law_on(lattice, people, high_mean, law, 1)
    with np.errstate(divide="ignore"):
        some_rival = -np.expm1((arms - 1) * np.log1p(-at_least(lattice, rival)))
    return float(best @ some_rival)


def fixed_size_of_means(
    arms: int, variances: tuple[float, float], difference: float, delta: float, noise: float = 0.0
) -> int:
    """The same for outcomes on a scale, by normal laws (Bechhofer 1954): the smallest number of people per arm.

    `variances` of an outcome on the best arm and on the others, `noise` the variance that a release adds to a sum; all
    on the scale from 0 to 1.
    """
    DELTA.plainly(delta)
    if not 0.0 < difference <= 1.0:
        raise InputError(f"The difference is {difference:g}, but it has to be positive and at most 1.")

    def error(people: int) -> float:
        best, rival = (math.sqrt(people * variance + noise) for variance in variances)
        if best == rival == 0.0:
            return 0.0
        x, weights = _hermite()
        beaten = norm.cdf((people * difference + best * x) / max(rival, 1e-300)) ** (arms - 1)
        return float(1.0 - weights @ beaten)

    enough = 1
    while error(enough) > delta:
        enough *= 2
        if enough > LARGEST:
            raise InputError(
                f"The fixed design would need more than {LARGEST} people per arm; state a larger difference."
            )
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if error(middle) <= delta else (middle, enough)
    return enough


def _hermite() -> tuple[Floats, Floats]:
    # Nodes and weights for means over a standard normal law.
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes, weights / weights.sum()


def fixed_people(arms: int, base: float, difference: float, delta: float, law: Law) -> int:
    """People of the fixed design in all."""
    return arms * fixed_size(arms, base, difference, delta, law)
