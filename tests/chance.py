"""Statistical tests that do not cry wolf: each has a false-alarm rate that is computed, and below 1e-6.

Every function here returns a p-value: if the claim is true, it comes out at or below x with a chance of at most x. That
is exact, by counting, not an approximation for many draws: each is the p-value of an exact test of a count (binomial,
or hypergeometric for two samples) times the number of counts that were looked at. So `assert p > FALSE_ALARM` fails by
chance at most once in ten million runs, and `assert p < CLEARLY` shows that a planted defect would be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

import numpy as np
from scipy import stats
from scipy.special import rel_entr

FALSE_ALARM: Final = 1e-7
"""The chance at which a true claim fails; below 1e-6 for each test function that makes at most ten such claims."""
CLEARLY: Final = 1e-9
"""A planted defect has to be rejected at least this clearly."""


def proportion(hits: int, runs: int, p: float) -> float:
    """Of the claim that each of `runs` independent runs is a hit with probability p."""
    return _both_sides(stats.binom.cdf(hits, runs, p), stats.binom.sf(hits - 1, runs, p))


def at_most(hits: int, runs: int, p: float) -> float:
    """Of the claim that each of `runs` independent runs is a hit with probability p or less."""
    return float(stats.binom.sf(hits - 1, runs, p))


def at_least(hits: int, runs: int, p: float) -> float:
    """Of the claim that each of `runs` independent runs is a hit with probability p or more."""
    return float(stats.binom.cdf(hits, runs, p))


def mean_is(total: float, count: int, mean: float) -> float:
    """Of the claim that `total` is a sum of `count` independent values between 0 and 1, each with this mean.

    Hoeffding's inequality in its first form (1963, Theorem 1): the average is at x or beyond, on either side of the
    mean, with a chance of at most e^(-count kl(x, mean)), whatever the laws.
    """
    average = min(1.0, max(0.0, total / count))
    divergence = float(rel_entr(average, mean) + rel_entr(1 - average, 1 - mean))
    return min(1.0, 2 * math.exp(-count * divergence))


def fits(draws: Sequence[int], cuts: Sequence[int], below: Callable[[int], float]) -> float:
    """Of the claim that the draws are independent with P(Z < cut) = below(cut) at every cut (in increasing order).

    Looks at how many fall below each cut, and between each two neighbouring ones: 2 len(cuts) + 1 counts.
    """
    values = np.sort(np.array(draws, dtype=object))
    counts = np.array([int(np.searchsorted(values, cut, side="left")) for cut in cuts])
    chances = np.array([below(cut) for cut in cuts])
    runs = len(draws)
    between = np.diff(np.concatenate(([0], counts, [runs])))
    widths = np.diff(np.concatenate(([0.0], chances, [1.0])))
    looked_at = [*zip(counts, chances, strict=True), *zip(between, widths, strict=True)]
    return min(1.0, len(looked_at) * min(proportion(int(hits), runs, float(p)) for hits, p in looked_at))


def fits_weights(draws: Sequence[int], first: int, weights: Sequence[float]) -> float:
    """Of the claim that the draws are independent, `first`, `first + 1`, ... coming up in proportion to the weights."""
    total = math.fsum(weights)
    below = dict(enumerate(accumulate(weight / total for weight in weights), first + 1))
    cuts = [cut for cut, chance in below.items() if 1e-4 < chance < 1 - 1e-4]
    return fits(draws, cuts, below.__getitem__)


def same_law(one: Sequence[float], other: Sequence[float], cuts: int = 15) -> float:
    """Of the claim that two samples of independent draws have the same law.

    Cuts the pooled sample into equal parts. Given the pool, which of its members are in the first sample is a matter
    of chance alone, so the number of its members below a cut is hypergeometric, whatever the law and its ties are.
    """
    pool = np.sort(np.array([*one, *other], dtype=object))
    first = np.sort(np.array(one, dtype=object))
    worst = 1.0
    for part in range(1, cuts + 1):
        cut = pool[len(pool) * part // (cuts + 1)]
        below, of_first = (int(np.searchsorted(values, cut, side="left")) for values in (pool, first))
        law = len(pool), below, len(first)
        p = _both_sides(stats.hypergeom.cdf(of_first, *law), stats.hypergeom.sf(of_first - 1, *law))
        worst = min(worst, p)
    return min(1.0, cuts * worst)


def _both_sides(lower: float, upper: float) -> float:
    return float(min(1.0, 2 * min(lower, upper)))
