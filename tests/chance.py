"""Statistical tests that do not cry wolf: each has a false-alarm rate that is computed, and below 1e-6.

The tests are the exact ones of `bestarm.privacy.counts`, and two like them: if a claim is true, its p-value comes out
at or below x with a chance of at most x. So `assert p > FALSE_ALARM` fails by chance at most once in ten million runs,
and `assert p < CLEARLY` shows that a planted defect would be seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import numpy as np
from scipy import stats
from scipy.special import rel_entr

from bestarm.privacy.counts import at_least, at_most, fits, proportion

__all__ = ["CLEARLY", "FALSE_ALARM", "at_least", "at_most", "fits", "fits_weights", "mean_is", "proportion", "same_law"]

FALSE_ALARM: Final = 1e-7
"""The chance at which a true claim fails; below 1e-6 for each test function that makes at most ten such claims."""
CLEARLY: Final = 1e-9
"""A planted defect has to be rejected at least this clearly."""


def fits_weights(draws: Sequence[int], first: int, weights: Sequence[float]) -> float:
    """Of the claim that the draws are independent, `first`, `first + 1`, ... coming up in proportion to the weights."""
    total = math.fsum(weights)
    below = dict(enumerate(accumulate(weight / total for weight in weights), first + 1))
    cuts = [cut for cut, chance in below.items() if 1e-4 < chance < 1 - 1e-4]
    return fits(draws, cuts, below.__getitem__)


def mean_is(total: float, count: int, mean: float) -> float:
    """Of the claim that `total` is a sum of `count` independent values between 0 and 1, each with this mean.

    Hoeffding's inequality in its first form (1963, Theorem 1): the average is at x or beyond, on either side of the
    mean, with a chance of at most e^(-count kl(x, mean)), whatever the laws.
    """
    average = min(1.0, max(0.0, total / count))
    divergence = float(rel_entr(average, mean) + rel_entr(1 - average, 1 - mean))
    return min(1.0, 2 * math.exp(-count * divergence))


def same_law(one: Sequence[float], other: Sequence[float], cuts: int = 15) -> float:
    """Of the claim that two samples of independent draws have the same law.

    Cuts the pooled sample into equal parts. Given the pool, which of its members are in the first sample is a matter
    of chance alone, so the number of its members below a cut is hypergeometric, whatever the law and its ties are.
    """
    pool = np.sort(np.array([*one, *other], dtype=object))
    first = np.sort(np.array(one, dtype=object))
    places = [pool[len(pool) * part // (cuts + 1)] for part in range(1, cuts + 1)]
    below, of_first = (
        np.array([int(np.searchsorted(values, cut, side="left")) for cut in places]) for values in (pool, first)
    )
    law = len(pool), below, len(first)
    smaller = np.minimum(stats.hypergeom.cdf(of_first, *law), stats.hypergeom.sf(of_first - 1, *law))
    return min(1.0, 2 * cuts * float(smaller.min()))
