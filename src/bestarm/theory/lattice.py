"""The law of a noisy sum of binary outcomes, number by number.

Binomial and noise are convolved on the whole numbers of a window that holds all but e^-reach. Sums of positive terms
only, so far tails keep their relative precision. Where the window would hold more than `FINEST` numbers, every so
manieth is taken, at least `PER_DEVIATION` in a standard deviation: densities are smooth on that scale, and what is left
of the error is that of the rectangle at the edge of a tail.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.stats import binom

from bestarm.release.laws import PURE, ZCDP, Law, noise_variance
from bestarm.theory.inputs import Floats

FINEST: Final = 2**15
"""Up to so many whole numbers in the window, every one is taken."""
PER_DEVIATION: Final = 20.0
"""Lattice points in a standard deviation of the release, at least."""
PER_BINOMIAL: Final = 4.0
"""Lattice points in a standard deviation of its binomial part, at least."""


class Lattice(NamedTuple):
    """The numbers on which laws are computed."""

    at: Floats
    step: int
    reach: float
    """What lies outside weighs about e^-reach."""


def lattice_of(people: int, low_mean: float, high_mean: float, law: Law, noises: int, reach: float) -> Lattice:
    """A window for sums of binary outcomes with either mean, and so many noises on top."""
    variances = [people * m * (1.0 - m) for m in (low_mean, high_mean)]
    width = min(math.sqrt(2.0 * max(variances) * reach) + reach, float(people)) + noise_reach(law, noises, reach)
    begin = math.floor(people * low_mean - width)
    end = math.ceil(people * high_mean + width)
    narrow = min((v for v in variances if v > 0.0), default=0.0)
    step = 1
    if end - begin > FINEST and narrow > 0.0:
        spread = math.sqrt(narrow + noises * noise_variance(law)) / PER_DEVIATION
        step = max(1, int(min(math.sqrt(narrow) / PER_BINOMIAL, spread)))
    return Lattice(np.arange(begin, end + step, step, dtype=np.float64), step, reach)


def noise_reach(law: Law, noises: int, reach: float) -> float:
    """How far the sum of so many noises goes, but for e^-reach."""
    if law.kind == PURE:
        # Chernoff at half the budget: each noise costs less than log 2.
        return reach / law.budget if noises == 1 else 2.0 * (reach + noises * math.log(2.0)) / law.budget
    return math.sqrt(2.0 * reach * noises * noise_variance(law)) + 1.0


def law_on(lattice: Lattice, people: int, mean: float, law: Law, noises: int) -> Floats:
    """P(sum of binary outcomes of this mean + noises = x) on the lattice; on a coarse one, per cell."""
    return with_noise(binom.pmf(lattice.at, people, mean) * lattice.step, law, noises, lattice.step, lattice.reach)


def with_noise(exact: Floats, law: Law, noises: int, step: int, reach: float) -> Floats:
    """A law on a lattice after so many independent noises were added."""
    for _ in range(noises):
        if law.kind == PURE:
            exact = _smooth_laplace(exact, law, step)
        elif law.kind == ZCDP:
            exact = _smooth_gaussian(exact, law, step, reach)
    return exact


def at_least(lattice: Lattice, probabilities: Floats) -> Floats:
    """P(X >= x): on a coarse lattice half a cell beyond x counts, and half a number before it."""
    beyond = np.cumsum(probabilities[::-1])[::-1] - probabilities
    tail: Floats = np.minimum(beyond + probabilities * (0.5 + 0.5 / lattice.step), 1.0)
    return tail


def _smooth_laplace(exact: Floats, law: Law, step: int) -> Floats:
    # Two-sided geometric noise is a running sum from the left and one from the right: exact, and of positive terms.
    # On a coarse lattice its parameter is the one that gives the noise its own variance: 2 q step^2 / (1 - q)^2.
    q = math.exp(-law.budget)
    if step > 1:
        ratio = step * step / noise_variance(law)
        q = 1.0 + ratio - math.sqrt(ratio * (2.0 + ratio))
    upward = lfilter([1.0], [1.0, -q], exact)
    downward = lfilter([1.0], [1.0, -q], exact[::-1])[::-1]
    smooth: Floats = (1.0 - q) / (1.0 + q) * (upward + downward - exact)
    return smooth


def _smooth_gaussian(exact: Floats, law: Law, step: int, reach: float) -> Floats:
    variance = noise_variance(law) / (step * step)
    if step > 1 and variance < 1.0:
        kernel = np.array([0.5 * variance, 1.0 - variance, 0.5 * variance])
    else:
        half = math.ceil(math.sqrt(2.0 * variance * reach)) + 1
        kernel = np.exp(-0.5 * np.arange(-half, half + 1, dtype=np.float64) ** 2 / variance)
        kernel /= kernel.sum()
    inside = np.flatnonzero(exact > 0.0)
    whole = np.convolve(exact[inside[0] : inside[-1] + 1], kernel)
    # `whole` begins half a kernel to the left of the first count that can occur.
    smooth = np.zeros_like(exact)
    first = int(inside[0]) - kernel.size // 2
    begin, end = max(first, 0), min(first + whole.size, exact.size)
    smooth[begin:end] = whole[begin - first : end - first]
    return smooth
