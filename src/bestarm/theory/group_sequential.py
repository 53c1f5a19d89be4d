"""Two arms, looked at a few times: the group-sequential design of O'Brien and Fleming, without privacy.

After each of L looks at equal numbers of people the standardised difference Z_k is compared with C sqrt(L/k) (O'Brien
and Fleming 1979): on the scale of the sums S_k = Z_k sqrt(k) the boundary is the constant C sqrt(L). Increments of S
are independent, normal with variance 1 and mean theta, so crossing probabilities follow from a recursion over the
density inside the boundary (Armitage, McPherson and Rowe 1969), here by Gauss-Legendre quadrature.

As a design that must choose: stop at a look for the arm that is ahead beyond the boundary, and at the last look choose
whichever is ahead. The boundary is that of the two-sided test at level 2 delta, so that an early stop errs with
probability at most delta even if the arms are alike; the size is the smallest with which the choice is wrong with
probability at most delta at the smallest difference that matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from bestarm.checks import DELTA
from bestarm.errors import InputError
from bestarm.theory.inputs import Floats

LOOKS: Final = 5
NODES: Final = 200
"""Of the quadrature between the boundaries; constants come out to eight digits."""


@dataclass(frozen=True)
class Crossing:
    """What becomes of a design with a constant boundary on the sums."""

    above: tuple[float, ...]
    """P(the sum first leaves the boundaries at look k, upwards)."""
    below: tuple[float, ...]
    behind: float
    """P(it never leaves them, and is below 0 after the last look)."""

    @property
    def wrong(self) -> float:
        """P(the design chooses the arm that is worse), if the mean of the increments is positive."""
        return math.fsum(self.below) + self.behind


def crossing(looks: int, boundary: float, theta: float) -> Crossing:
    """Of sums of independent normal increments with mean theta and variance 1, stopped beyond +-boundary."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    # The halves apart, so that the density beyond 0 after the last look is integrated as smoothly as the rest.
    half = np.concatenate([0.5 * boundary * (nodes - 1.0), 0.5 * boundary * (nodes + 1.0)])
    mass = 0.5 * boundary * np.concatenate([weights, weights])
    above, below = [], []
    density: Floats = np.ones(1)
    at, share = np.zeros(1), np.ones(1)
    for _ in range(looks):
        above.append(float((share * density) @ ndtr(at + theta - boundary)))
        below.append(float((share * density) @ ndtr(-boundary - at - theta)))
        steps = half[:, None] - at[None, :] - theta
        density = np.exp(-0.5 * steps**2) @ (share * density) / math.sqrt(2.0 * math.pi)
        at, share = half, mass
    behind = float(share[:NODES] @ density[:NODES])
    return Crossing(tuple(above), tuple(below), behind)


@lru_cache(maxsize=64)
def obrien_fleming_constant(looks: int, alpha: float) -> float:
    """C with P(|Z_k| >= C sqrt(L/k) at some look) = alpha if the arms are alike; 2.040 for five looks at .05."""
    if looks < 1:
        raise InputError(f"{looks} looks asked for; a design looks at its data at least once.")
    if not 0.0 < alpha < 1.0:
        raise InputError(f"The level is {alpha:g}, but it has to lie between 0 and 1, both excluded.")

    def excess(constant: float) -> float:
        found = crossing(looks, constant * math.sqrt(looks), 0.0)
        return math.fsum(found.above) + math.fsum(found.below) - alpha

    return float(brentq(excess, 1e-3, 12.0, xtol=1e-10))


@dataclass(frozen=True)
class GroupSequential:
    """The design: its looks, the most people it may take, and those it takes on average at the difference."""

    looks: int
    constant: float
    people: int
    """If it goes on to its last look."""
    expected: float
    """On average, if the arms differ by just the smallest difference that matters."""
    stops: tuple[float, ...]
    """P(it ends at look k) there."""


def group_sequential(
    variances: tuple[float, float], difference: float, delta: float, delta_none: float | None = None, looks: int = LOOKS
) -> GroupSequential:
    """The design for two arms whose outcomes have these variances; everything on the scale from 0 to 1.

    With `delta_none` one of them is control, which is kept unless the sum leaves the boundaries upwards: the first
    promise is the test's level, and an arm that is better by the difference is missed with at most that probability.
    """
    DELTA.plainly(delta)
    if not 0.0 < difference <= 1.0:
        raise InputError(f"The difference is {difference:g}, but it has to be positive and at most 1.")
    constant = obrien_fleming_constant(looks, min(2.0 * delta, 0.999))
    boundary = constant * math.sqrt(looks)

    def excess(theta: float) -> float:
        found = crossing(looks, boundary, theta)
        return found.wrong - delta if delta_none is None else 1.0 - math.fsum(found.above) - delta_none

    theta = 0.0 if excess(0.0) <= 0.0 else float(brentq(excess, 0.0, 50.0, xtol=1e-9))
    spread = math.fsum(variances)
    each = max(1, math.ceil((theta / difference) ** 2 * spread))  # people per arm between two looks
    found = crossing(looks, boundary, difference * math.sqrt(each / spread) if spread > 0 else 50.0)
    stops = [a + b for a, b in zip(found.above, found.below, strict=True)]
    stops[-1] += max(0.0, 1.0 - math.fsum(stops))
    expected = 2.0 * each * math.fsum(k * p for k, p in enumerate(stops, start=1))
    return GroupSequential(looks, constant, 2 * each * looks, expected, tuple(stops))
