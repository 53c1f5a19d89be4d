"""Cells: where the best arm's mean may still be, if a given arm is the best.

For every arm b there is a hypothesis "b is the best, and its mean lies in this cell" for each of finitely many cells
that cover [0, 1]. A cell [low, high] has wealth: the product of bets that are at best fair under its hypothesis, which
says that another arm's mean is at most `high` and that b's own is at least `low`. A cell whose wealth has reached
1/delta is struck out; an arm with no cell left is out. Because a bet for a cell holds for every mean in it, no minimum
over means has to be searched for: it is the smallest wealth in a finite list.

A cell may be cut at any time between releases, and both parts inherit its wealth; neighbours may be joined and keep the
smaller wealth. Both are decided from the record.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from bestarm.policy.record import FloatArray, IntArray
from bestarm.rules import rule

MOST_CELLS: Final = 240
"""Cells that an arm can have at one time."""
FINENESS: Final = 0.025
"""Width of cells between the two arms' means, as a share of the distance between the means."""
COARSENING: Final = 0.1
"""How much wider a cell may be for each unit that it lies away from there."""
NARROWEST: Final = 1e-13
"""Cells are not cut below this width."""


class Cells(NamedTuple):
    """The cells that are left of each arm, ordered, arm by cell."""

    low: FloatArray
    high: FloatArray
    wealth: FloatArray
    """Logarithm of the wealth."""
    left: IntArray
    """How many there are."""


@rule(allocates=True)
def new_cells(arms: int, indifference: float) -> Cells:
    """One cell an arm. With an indifference zone, a best mean below its width cannot be missed by that much."""
    low = np.full((arms, MOST_CELLS), indifference)
    return Cells(low, np.ones((arms, MOST_CELLS)), np.zeros((arms, MOST_CELLS)), np.ones(arms, np.int64))


@rule(inline=False)
def widest(low: float, high: float, lower: float, upper: float, blur: float) -> float:
    """How wide a cell may be, when the means that matter are `lower` and `upper` and known up to `blur`."""
    bottom = min(lower, upper)
    top = max(lower, upper)
    away = max(0.0, max(low - top, bottom - high))
    return FINENESS * max(top - bottom, blur) + COARSENING * away


@rule(inline=False)
def cut(cells: Cells, arm: int, lower: float, upper: float, blur: float) -> None:
    """Cut an arm's cells in halves until they are narrow enough, as far as there is room."""
    if cells.left[arm] > MOST_CELLS // 2:
        join(cells, arm, lower, upper, blur)
    i = 0
    while i < cells.left[arm]:
        low = cells.low[arm, i]
        high = cells.high[arm, i]
        allowed = max(widest(low, high, lower, upper, blur), NARROWEST)
        if high - low > allowed and cells.left[arm] < MOST_CELLS:
            for j in range(cells.left[arm], i, -1):
                cells.low[arm, j] = cells.low[arm, j - 1]
                cells.high[arm, j] = cells.high[arm, j - 1]
                cells.wealth[arm, j] = cells.wealth[arm, j - 1]
            middle = 0.5 * (low + high)
            cells.high[arm, i] = middle
            cells.low[arm, i + 1] = middle
            cells.left[arm] += 1
        else:
            i += 1


@rule(inline=False)
def join(cells: Cells, arm: int, lower: float, upper: float, blur: float) -> None:
    """Join neighbours that are narrower than they need to be; together they keep the smaller wealth."""
    kept = 0
    for i in range(1, cells.left[arm]):
        low = cells.low[arm, kept]
        high = cells.high[arm, i]
        if cells.high[arm, kept] == cells.low[arm, i] and high - low <= 0.5 * widest(low, high, lower, upper, blur):
            cells.high[arm, kept] = high
            cells.wealth[arm, kept] = min(cells.wealth[arm, kept], cells.wealth[arm, i])
        else:
            kept += 1
            cells.low[arm, kept] = cells.low[arm, i]
            cells.high[arm, kept] = high
            cells.wealth[arm, kept] = cells.wealth[arm, i]
    cells.left[arm] = min(kept + 1, cells.left[arm])


@rule(inline=False)
def strike_out(cells: Cells, arm: int, threshold: float) -> None:
    """Drop the cells of an arm whose wealth has reached the threshold."""
    kept = 0
    for i in range(cells.left[arm]):
        if cells.wealth[arm, i] < threshold:
            cells.low[arm, kept] = cells.low[arm, i]
            cells.high[arm, kept] = cells.high[arm, i]
            cells.wealth[arm, kept] = cells.wealth[arm, i]
            kept += 1
    cells.left[arm] = kept


@rule(inline=False)
def least_wealth(cells: Cells, arm: int, otherwise: float) -> float:
    """The smallest log wealth among an arm's cells: the evidence against it; `otherwise` when none is left."""
    least = otherwise
    for i in range(cells.left[arm]):
        least = min(least, cells.wealth[arm, i])
    return least


@rule(inline=False)
def restart(cells: Cells, arm: int, indifference: float, wealth: float) -> None:
    """One cell again, with this log wealth."""
    cells.low[arm, 0] = indifference
    cells.high[arm, 0] = 1.0
    cells.wealth[arm, 0] = wealth
    cells.left[arm] = 1
