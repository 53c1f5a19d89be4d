"""When simulated people come in, and when their outcomes are known.

Everything is reckoned on the *count*: how many people are expected to have come by a day. At a constant rate person i
(from 0) comes when the count is i; in a Poisson stream the gaps between people are exponential on this scale, whatever
the rate does meanwhile. So a run can go from one event to the next, however many people come in between.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from bestarm.rules import rule

NEVER: Final = math.inf
SAME: Final = 1e-9
"""Counts that differ by less than this share are the same: somebody who comes when a release is due comes after it."""


class Clock(NamedTuple):
    """How people come in, and how long their outcomes take; times are days."""

    rate: float = 1.0
    """People a day, once enrolment is in full swing. Where no clock is kept, a person is a day."""
    ramp: float = 0.0
    """Days in which enrolment grows evenly from nothing to its rate."""
    poisson: bool = False
    """Whether people come by chance rather than evenly."""
    follow_up: float = 0.0
    """Days from an assignment until its outcome is known."""


@rule
def count_by(clock: Clock, day: float) -> float:
    """How many people are expected by this day."""
    if day < clock.ramp:
        return 0.5 * clock.rate * day * day / clock.ramp
    return clock.rate * (day - 0.5 * clock.ramp)


@rule
def day_of(clock: Clock, count: float) -> float:
    """On which day so many people are expected: the inverse of `count_by`."""
    if count < 0.5 * clock.rate * clock.ramp:
        return math.sqrt(2.0 * count * clock.ramp / clock.rate)
    return count / clock.rate + 0.5 * clock.ramp


@rule
def due_after(clock: Clock, count: float) -> float:
    """The count at which the outcome of somebody who comes now is known."""
    if clock.follow_up == 0.0:
        return count
    if clock.ramp == 0.0:  # free of the rounding errors of going to days and back
        return count + clock.rate * clock.follow_up
    return count_by(clock, day_of(clock, count) + clock.follow_up)


@rule
def next_after(rng: np.random.Generator, clock: Clock, count: float) -> float:
    """When somebody comes next, at this count or after it."""
    if clock.poisson:
        return count + rng.standard_exponential()
    return math.ceil(count - SAME * (1.0 + count))


@rule
def is_before(count: float, due: float) -> bool:
    """Whether somebody who comes at this count comes before what is due."""
    return count < due - SAME * (1.0 + count)


@rule
def come(rng: np.random.Generator, clock: Clock, first: float, due: float, most: int) -> tuple[int, float, float]:
    """How many of the next `most` people come before something is due, the first of them at count `first`, before it;
    when the last of them comes (the due count, where a Poisson stream is cut short); when the next one comes.

    The people between the first and the last of a Poisson stream are spread evenly and independently, given both, and
    what comes after `due` does not depend on what came before.
    """
    last = first
    if most > 1:
        last += rng.standard_gamma(float(most - 1)) if clock.poisson else most - 1
    if is_before(last, due):
        return most, last, last + (rng.standard_exponential() if clock.poisson else 1.0)
    if clock.poisson:
        people = 1 + (rng.binomial(most - 2, (due - first) / (last - first)) if most > 2 else 0)
        return people, due, due + rng.standard_exponential()
    people = int(next_after(rng, clock, due) - first)
    return people, first + people - 1, first + people
