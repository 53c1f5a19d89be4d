"""What the rules of coin evidence read, computed once from the design."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np

from bestarm.policy.evidence.tuning import Tuning
from bestarm.policy.record import FloatArray
from bestarm.release.laws import Law, noise_variance
from bestarm.rules import rule

POINTS: Final = 24
"""Equally likely points that stand for the law of a release when a bet's worth is reckoned."""
GAPS: Final = 7
"""Equally likely differences of two arms that stand for a belief when a bet is chosen."""


class CoinConstants(NamedTuple):
    """Numbers and fixed tables."""

    arms: int
    law: Law
    threshold: float
    """log(1/delta)."""
    noise: float
    """Variance of a release's noise."""
    normal: FloatArray
    laplace: FloatArray
    """Points of a normal and of a Laplace law of variance 1."""
    gaps: FloatArray
    """Points of a normal law, for differences of two arms."""
    tuning: Tuning
    against: bool
    """Missing outcomes count against the lead of a stage's champion, so nobody else is bet on in that stage."""


def coin_constants(
    arms: int, law: Law, delta: float, tuning: Tuning | None = None, against: bool = False
) -> CoinConstants:
    """For a law of releases and a risk."""
    middles = [(i + 0.5) / POINTS for i in range(POINTS)]
    return CoinConstants(
        arms,
        law,
        math.log(1.0 / delta),
        noise_variance(law),
        np.array([NormalDist().inv_cdf(u) for u in middles]),
        np.array([math.copysign(math.log(2 * min(u, 1 - u)), u - 0.5) * math.sqrt(0.5) for u in middles]),
        np.array([NormalDist().inv_cdf((i + 0.5) / GAPS) for i in range(GAPS)]),
        tuning or Tuning(),
        against,
    )


@rule
def first_size(constants: CoinConstants) -> float:
    """People on each arm in the first stage."""
    tuning = constants.tuning
    size = max(tuning.first_people, tuning.first_noises * math.sqrt(constants.noise))
    # Bounded, so that how many people a trial takes before it is far out does not grow with log(1/delta) (Theorem 5).
    grown = min(max(constants.threshold / tuning.first_nats, 1.0), tuning.first_most)
    return float(math.ceil(size * grown / constants.law.slope**2))
