"""The design as rules read it: plain numbers in floating point."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bestarm.release.laws import Law
from bestarm.theory.ladder import Ladder


@dataclass(frozen=True)
class Numbers:
    """What an algorithm's constants are computed from. `Design.numbers` makes it.

    `law` is the law of the releases, which holds everything that is known of the privacy model; `difference` is the
    smallest difference between two arms' means that matters, on the scale from 0 to 1; `base` is the planned mean of
    all arms but the best, which only the fixed design needs, and NaN without one; `beta` is the leader's share in
    Top Two sampling and `s` the exponent of the paper's thresholds; `against` says that missing outcomes are counted
    against the finding, 0 on a stage's champion and 1 on its rivals; `ladder` are the stages and lines of a hard end.
    `control` is the arm that the others are compared with, -1 for none: the difference is then negative for
    non-inferiority, and `delta_none` is the risk to answer "none" although an arm is better by the difference.
    """

    arms: int
    delta: float
    law: Law
    difference: float = 0.0
    base: float = math.nan
    beta: float = 0.5
    s: float = 2.0
    against: bool = False
    control: int = -1
    delta_none: float = math.nan
    ladder: Ladder | None = None

    @property
    def budget(self) -> float:
        """What one outcome may cost: epsilon, or rho of zCDP; infinite without privacy."""
        return self.law.budget
