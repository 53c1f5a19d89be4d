"""Statistical tests that do not cry wolf: each has a false-alarm rate that is computed, and below 1e-6.

The tests are the exact ones of `bestarm.privacy.counts`: if a claim is true, its p-value comes out at or below x with a
chance of at most x. So `assert p > FALSE_ALARM` fails by chance at most once in ten million runs, and `assert p <
CLEARLY` shows that a planted defect would be seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from bestarm.privacy.counts import at_least, at_most, fits, mean_is, proportion, same_law

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
