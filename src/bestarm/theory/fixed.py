"""The fixed design: what anybody can do who states the smallest difference that matters.

Equal numbers on every arm, one noisy sum per arm, the highest is recommended. Its size is the smallest n per arm that
errs with probability at most delta at the least favourable means: a base rate for all arms but one, that rate plus the
difference for it. (For a single rate all others may share, the error falls when any of them falls.) Two equal sums
count as an error, since nobody can tell which of the two arms comes first in a list.

The law of a sum is not approximated by a normal one: binomial and noise are convolved number by number. As long as the
window holds at most `FINEST` whole numbers the error is that of rounding, some 1e-10 of the probability. Larger
designs are sampled on a coarser lattice of at least `PER_DEVIATION` points in a standard deviation, which moves n by
less than one in a thousand.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.signal import lfilter
from scipy.stats import binom, norm

from bestarm.errors import InputError
from bestarm.release.laws import PURE, ZCDP, Law, counted_mean, noise_variance
from bestarm.theory.inputs import Floats, checked_delta

FINEST: Final = 2**15
"""Up to so many whole numbers in the window, every one is taken."""
PER_DEVIATION: Final = 20.0
"""Lattice points in a standard deviation of the release, at least."""
PER_BINOMIAL: Final = 4.0
"""Lattice points in a standard deviation of its binomial part, at least."""
BEYOND: Final = 25.0
"""The window is cut where what lies outside weighs e^-BEYOND of delta."""
LARGEST: Final = 2**50
"""No design is larger."""


def fixed_size(arms: int, base: float, difference: float, delta: float, law: Law) -> int:
    """The smallest number of people per arm with which the fixed design errs with probability at most delta."""
    low_mean, high_mean = _checked(arms, base, difference, law)
    checked_delta(delta)
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
    variances = [people * m * (1.0 - m) for m in (low_mean, high_mean)]
    width = math.sqrt(2.0 * max(variances) * reach) + reach
    width = min(width, float(people)) + _noise_reach(law, reach)
    begin = math.floor(people * low_mean - width)
    end = math.ceil(people * high_mean + width)
    narrow = min(v for v in variances if v > 0.0) if max(variances) > 0.0 else 0.0
    step = 1
    if end - begin > FINEST and narrow > 0.0:
        spread = math.sqrt(narrow + noise_variance(law)) / PER_DEVIATION
        step = max(1, int(min(math.sqrt(narrow) / PER_BINOMIAL, spread)))
    lattice = np.arange(begin, end + step, step, dtype=np.float64)
    rival = _release_law(lattice, people, low_mean, law, step, reach)
    best = _release_law(lattice, people, high_mean, law, step, reach)
    above = np.cumsum(rival[::-1])[::-1] - rival
    # P(a rival's release is at least x): on a coarse lattice half a cell to either side of x, plus half a number.
    at_least = np.minimum(above + rival * (0.5 + 0.5 / step), 1.0)
    with np.errstate(divide="ignore"):
        some_rival = -np.expm1((arms - 1) * np.log1p(-at_least))
    return float(best @ some_rival)


def _noise_reach(law: Law, reach: float) -> float:
    if law.kind == PURE:
        return reach / law.budget
    return math.sqrt(2.0 * reach * noise_variance(law)) + 1.0


def _release_law(lattice: Floats, people: int, mean: float, law: Law, step: int, reach: float) -> Floats:
    """P(R = x) on the lattice for a sum of binary outcomes of this mean and its noise; on a coarse one, per cell."""
    exact: Floats = binom.pmf(lattice, people, mean) * step
    if law.kind == PURE:
        return _smooth_laplace(exact, law, step)
    if law.kind == ZCDP:
        return _smooth_gaussian(exact, law, step, reach)
    return exact


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


def fixed_people(arms: int, base: float, difference: float, delta: float, law: Law) -> int:
    """People of the fixed design in all."""
    return arms * fixed_size(arms, base, difference, delta, law)
