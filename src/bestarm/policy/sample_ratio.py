"""Did the coins fall as they should? A check of the people on each arm against the weights, valid at all times.

Arms are public, so it costs no privacy. Against fair coins it bets that one arm comes too often or too seldom: that its
odds are multiplied by t in every stage. Such a coin falls on the arm with probability t p / (1 - p + t p), and the
likelihood ratio against the stage's weights after n of N people on the arm is t^n (1 - p + t p)^-N. The average over
all arms and a grid of t is a martingale from person to person if every coin is fair, however weights change from stage
to stage and whenever one looks. By Ville's inequality it ever exceeds 1/x with probability at most x: the largest value
so far turned upside down is an anytime p-value.

An alarm says that assignments do not follow the announced weights (a broken generator, people enrolled outside, arms
entered by hand), not which verdict would be right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from bestarm.errors import InputError
from bestarm.policy.record import FloatArray

ALARM: Final = 0.001
"""A p-value of at most this is an alarm: one trial in a thousand whose coins are fair ever has one."""

LOG_TILTS: Final = tuple(sign * 2.0**-j for j in range(-1, 10) for sign in (1.0, -1.0))
"""Logarithms of the factors t on an arm's odds: from e^2 down to 1.002, and their inverses."""


class StageCounts(NamedTuple):
    """One stage's weights and the people its coins sent to each arm so far."""

    weights: Sequence[float]
    people: Sequence[int]


class SampleRatio(NamedTuple):
    """The outcome of the check."""

    p_value: float
    """At most x with probability at most x, at whatever times one looks."""
    ok: bool
    """False is an alarm."""


class CoinWatch:
    """The check as it stands after some stages, in the order in which they opened; a copy of it can go on by itself."""

    def __init__(self) -> None:
        self._wealth: FloatArray | None = None
        self._worst = 0.0
        self._impossible = False

    def add(self, stage: StageCounts) -> None:
        """Go on with the next stage; the last ones may still be open."""
        weights, people = _checked(stage)
        wealth = np.zeros((weights.size, len(LOG_TILTS))) if self._wealth is None else self._wealth
        if weights.size != wealth.shape[0]:
            raise InputError(f"A stage has {weights.size} arms, but those before it have {wealth.shape[0]}.")
        if np.any(people[weights == 0.0] > 0):
            self._impossible = True
        else:
            self._wealth = wealth + stage_evidence(weights, people)
            self._worst = max(self._worst, average(self._wealth))

    def result(self, alarm: float = ALARM) -> SampleRatio:
        """The outcome: the worst moment among the ends of stages and now, so that an alarm is not forgotten."""
        if self._impossible:
            return SampleRatio(0.0, ok=False)
        p_value = math.exp(-self._worst)
        return SampleRatio(p_value, ok=p_value > alarm)


def sample_ratio(stages: Sequence[StageCounts], alarm: float = ALARM) -> SampleRatio:
    """Check all stages in the order in which they opened; the last ones may still be open."""
    watch = CoinWatch()
    for stage in stages:
        watch.add(stage)
    return watch.result(alarm)


def stage_evidence(weights: FloatArray, people: FloatArray) -> FloatArray:
    """Nats that one stage brings to every bet: arm by tilt."""
    log_t = np.array(LOG_TILTS)
    total = float(people.sum())
    won: FloatArray = people[:, None] * log_t - total * np.log1p(weights[:, None] * np.expm1(log_t))
    return won


def average(wealth: FloatArray) -> float:
    """log of the mean of all bets' wealth, equal shares."""
    most = float(wealth.max())
    return most + math.log(float(np.exp(wealth - most).mean()))


def _checked(stage: StageCounts) -> tuple[FloatArray, FloatArray]:
    weights = np.asarray(stage.weights, dtype=np.float64)
    people = np.asarray(stage.people, dtype=np.float64)
    if weights.ndim != 1 or weights.shape != people.shape or weights.size == 0:
        raise InputError("A stage needs one weight and one number of people for every arm.")
    if not (np.all(weights >= 0.0) and abs(float(weights.sum()) - 1.0) < 1e-9):
        raise InputError("The weights of a stage have to be at least 0 and to sum to 1.")
    if not (np.all(people >= 0.0) and np.all(people == np.floor(people))):
        raise InputError("The number of people on an arm has to be a whole number, at least 0.")
    return weights, people
