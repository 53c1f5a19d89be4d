"""Exact tests of counts: p-values with a false-alarm rate that is computed and not approximated.

Every function here but the last returns a p-value: if the claim is true, it comes out at or below x with a chance of at
most x. Each is the p-value of an exact test of a count (binomial, or hypergeometric for two samples) times the number
of counts that were looked at, so it holds for any number of draws. Draws may be integers of any size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats
from scipy.special import rel_entr


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
    widths = np.clip(np.diff(np.concatenate(([0.0], chances, [1.0]))), 0.0, 1.0)
    hits, p = np.concatenate((counts, between)), np.concatenate((chances, widths))
    smaller = np.minimum(stats.binom.cdf(hits, runs, p), stats.binom.sf(hits - 1, runs, p))
    return min(1.0, 2 * len(hits) * float(smaller.min()))


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


def bounds_on(hits: int, runs: int, slack: float) -> tuple[float, float]:
    """Clopper and Pearson's bounds on a probability: each is wrong with a chance of at most `slack`."""
    low = float(stats.beta.ppf(slack, hits, runs - hits + 1)) if hits > 0 else 0.0
    high = float(stats.beta.ppf(1 - slack, hits + 1, runs - hits)) if hits < runs else 1.0
    return low, high


def _both_sides(lower: float, upper: float) -> float:
    return float(min(1.0, 2 * min(lower, upper)))
