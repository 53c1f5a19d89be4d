"""The fixed design against control: equal numbers on every arm, one noisy sum per arm, compared once with control.

An arm is called better if its sum exceeds control's by t or more. Sizes are the smallest n per arm for which some t
keeps both promises: the K - 1 arms together are called better wrongly with probability at most delta, by Bonferroni's
bound, where their mean is at the lower of two lines; an arm at the upper line is missed with probability at most
delta_none. Lines are leads over control: 0 and the smallest difference that matters, which is negative for
non-inferiority. Laws of sums of binary outcomes are convolved number by number (see `lattice`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from scipy.signal import fftconvolve
from scipy.stats import norm

from bestarm.checks import DELTA, DELTA_NONE
from bestarm.errors import InputError
from bestarm.release.laws import Law, counted_mean
from bestarm.theory.fixed import LARGEST
from bestarm.theory.inputs import Floats
from bestarm.theory.lattice import Lattice, lattice_of, law_on

REACH: Final = 40.0
"""Windows are cut where what lies outside weighs e^-REACH."""


def fixed_control_size(arms: int, base: float, difference: float, risks: tuple[float, float], law: Law) -> int:
    """The smallest number of people per arm, if control has the rate `base`; `risks` are delta and delta_none."""
    low, high = (min(max(base + line, 0.0), 1.0) for line in lines(difference))
    means = tuple(counted_mean(law, mean) for mean in (base, low, high))

    def keeps(people: int) -> bool:
        return _keeps(arms, means, risks, people, law)

    return _smallest(keeps, risks)


def fixed_control_size_of_means(
    arms: int, variances: tuple[float, float], difference: float, risks: tuple[float, float], noise: float = 0.0
) -> int:
    """The same for outcomes on a scale, by normal laws. `variances` of an outcome on an arm and on control, `noise` the
    variance that a release adds to a sum; all on the scale from 0 to 1."""
    reach = float(norm.isf(risks[0] / (arms - 1)) + norm.isf(risks[1]))

    def keeps(people: int) -> bool:
        spread = math.sqrt(people * math.fsum(variances) + 2.0 * noise)
        return people * abs(difference) >= reach * spread

    return _smallest(keeps, risks)


def lines(difference: float) -> tuple[float, float]:
    """The lower and the upper line."""
    return min(difference, 0.0), max(difference, 0.0)


def _smallest(keeps: Callable[[int], bool], risks: tuple[float, float]) -> int:
    DELTA.plainly(risks[0])
    DELTA_NONE.plainly(risks[1])
    enough = 1
    while not keeps(enough):
        enough *= 2
        if enough > LARGEST:
            raise InputError(
                f"The fixed design would need more than {LARGEST} people per arm; state a larger difference."
            )
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if keeps(middle) else (middle, enough)
    return enough


def _keeps(arms: int, means: tuple[float, ...], risks: tuple[float, float], people: int, law: Law) -> bool:
    control, low, high = means
    lattice = lattice_of(people, min(means), max(means), law, 1, REACH)
    of_control = law_on(lattice, people, control, law, 1)
    wrong = _lead_at_least(lattice, law_on(lattice, people, low, law, 1), of_control)
    found = _lead_at_least(lattice, law_on(lattice, people, high, law, 1), of_control)
    # The smallest lead that keeps the first promise gives the most of the second.
    allowed = np.flatnonzero((arms - 1) * wrong <= risks[0])
    return bool(allowed.size > 0 and 1.0 - found[allowed[0]] <= risks[1])


def _lead_at_least(lattice: Lattice, arm: Floats, control: Floats) -> Floats:
    """P(arm's sum - control's sum >= t) for every t that two sums in the window can be apart, in steps of it."""
    lead = np.maximum(fftconvolve(arm, control[::-1]), 0.0)
    tail: Floats = np.cumsum(lead[::-1])[::-1] - lead
    return np.minimum(tail + lead * (0.5 + 0.5 / lattice.step), 1.0)
