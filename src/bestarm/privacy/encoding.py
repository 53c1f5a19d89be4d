"""From an outcome as it was reported to the whole number that enters a batch.

An outcome that was read exactly and mapped to [0, 1] (`Outcomes`) becomes an integer: 0/1 as it is, by a coin of that
probability, or on a grid of 2^-20 with stochastic rounding. Coins keep the mean exactly; they are the person's own
and never tossed again (`coins`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from bestarm.privacy.coins import Coins
from bestarm.release.models import grid_of


@dataclass(frozen=True)
class Encoder:
    """Turns outcomes in [0, 1] into integers from 0 to `grid`; local and shuffled privacy flip the integer here."""

    encoding: str
    local_epsilon: Fraction | None = None
    flip: Fraction | None = None
    """With which probability a bit is flipped, under shuffled privacy."""

    @cached_property
    def grid(self) -> int:
        """How many integer steps make one outcome of 1."""
        return grid_of(self.encoding)

    def encode(self, outcome: Fraction, coins: Coins) -> int:
        """The integer of an outcome that is already in [0, 1], by the coins of the person whose outcome it is."""
        bound, parts = outcome.as_integer_ratio()
        if parts == 1:  # it falls on the grid
            value = bound * self.grid
        else:
            steps = outcome * self.grid
            whole = math.floor(steps)
            rest = steps - whole
            value = whole + (1 if rest > 0 and coins.coin(rest) else 0)
        if self.local_epsilon is not None and not coins.truthful(self.local_epsilon):
            return self.grid - value
        if self.flip is not None and coins.flips(self.flip):
            return self.grid - value
        return value
