"""Worlds with a clock and nothing else, for tests that draw outcomes themselves."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestarm.policy.record import FloatArray
from bestarm.simulation.clock import Clock
from bestarm.simulation.people import STEADY, Changes


class Timed(NamedTuple):
    """What a loop that goes by the clock reads of a world."""

    clock: Clock
    longest_step: int
    diary: FloatArray
    tally: FloatArray
    changes: Changes
    group: int = 1


def timed(
    clock: Clock | None = None,
    longest_step: int = 2**62,
    dates: int = 5000,
    imputed: float = 0.0,
    against: bool = False,
) -> Timed:
    """A world with an empty diary, in which this counts for a missing outcome."""
    changes = Changes(np.zeros(3), np.full(3, imputed), STEADY, 0.0, 1.0, np.zeros((1, 3)), against)
    return Timed(clock or Clock(), longest_step, np.full(1 + dates, math.nan), np.zeros((2, 3)), changes)


def late(outstanding: float, longest_step: int = 2**62) -> Timed:
    """Outcomes are known once so many more people have come."""
    return timed(Clock(follow_up=outstanding + 1.0), longest_step)
