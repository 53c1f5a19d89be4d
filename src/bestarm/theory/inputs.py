"""What the theory accepts: every check is one sentence that says what is wrong and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bestarm.errors import InputError

Floats = NDArray[np.float64]

SMALLEST_GAP = 1e-100
"""Times grow with the square of 1/gap; beyond this they leave the range of floating-point numbers."""


def checked_means(means: Sequence[float] | Floats) -> Floats:
    """The arms' means as an array: at least two, each a number in [0, 1]."""
    try:
        array = np.asarray(means, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"The means must be numbers between 0 and 1, got {means!r}.") from None
    if array.ndim != 1 or array.size < 2:
        raise InputError(f"At least two arms are needed to look for the best one, got {array.size}.")
    for arm, mean in enumerate(array.tolist()):
        if not 0.0 <= mean <= 1.0:
            raise InputError(f"The mean of arm {arm} is {mean:g}, but means must lie between 0 and 1.")
    return array


def checked_unique_best(means: Sequence[float] | Floats) -> Floats:
    """`checked_means`, with exactly one best arm.

    Under a tie a hair's breadth turns the answer, so every characteristic time is infinite.
    """
    array = checked_means(means)
    best = np.flatnonzero(array == array.max())
    if best.size > 1:
        arms = ", ".join(str(arm) for arm in best[:4].tolist()) + (", ..." if best.size > 4 else "")
        raise InputError(
            f"Arms {arms} tie for the best mean {array.max():g}: no number of outcomes can tell equal arms apart, "
            "so the bounds are infinite; exactly one arm must have the largest mean."
        )
    gap = float(array[best[0]] - np.delete(array, best[0]).max())
    if gap < SMALLEST_GAP:
        raise InputError(f"The best two means differ by {gap:g}, but a gap must be at least {SMALLEST_GAP:g} to count.")
    return array
