"""Exact tests of counts: p-values with a false-alarm rate that is computed and not approximated.

Every function here but the last returns a p-value: if the claim is true, it comes out at or below x with a chance of at
most x. Each is the p-value of an exact test of a count times the number of counts that were looked at, so it holds for
any number of draws. Draws may be integers of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats


def proportion(hits: int, runs: int, p: float) -> float:
    """Of the claim that each of `runs` independent runs is a hit with probability p."""
    return _both_sides(stats.binom.cdf(hits, runs, p), stats.binom.sf(hits - 1, runs, p))


def at_most(hits: int, runs: int, p: float) -> float:
    """Of the claim that each of `runs` independent runs is a hit with probability p or less."""
    return float(stats.binom.sf(hits - 1, runs, p))


def at_least(hits: int, runs: int, p: float) -> float:
    """Of the claim that each of `runs` independent runs is a hit with probability p or more."""
    return float(stats.binom.cdf(hits, runs, p))


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


def bounds_on(hits: int, runs: int, slack: float) -> tuple[float, float]:
    """Clopper and Pearson's bounds on a probability: each is wrong with a chance of at most `slack`."""
    low = float(stats.beta.ppf(slack, hits, runs - hits + 1)) if hits > 0 else 0.0
    high = float(stats.beta.ppf(1 - slack, hits + 1, runs - hits)) if hits < runs else 1.0
    return low, high


def _both_sides(lower: float, upper: float) -> float:
    return float(min(1.0, 2 * min(lower, upper)))
