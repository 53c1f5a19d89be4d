"""How far the leader is ahead of others, from public numbers alone: the weights and sizes of stages, their releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bestarm.design import Design
from bestarm.policy.differences import DifferenceInterval, StageRelease, difference_intervals, pair_interval


@dataclass(frozen=True)
class StageFigures:
    """A stage in public numbers: its weights, the people on each arm, and once it is released its values."""

    weights: Sequence[float]
    sizes: Sequence[int]
    champion: int
    difference: bool
    values: Sequence[float] | None
    """In [0, 1] units: a sum for each arm that may come up, or one difference; None until it is released."""
    voided: tuple[int, ...]
    """How many of each arm's people were voided; they count 0 in the values."""


@dataclass(frozen=True)
class Difference:
    """An interval for the mean of an arm less that of a rival, in the outcome's own units."""

    arm: int
    rival: int
    low: float
    high: float


def differences_of(design: Design, stages: Sequence[StageFigures], leader: int) -> list[Difference]:
    """The leader against every other arm; each interval misses with probability at most delta, at all times.

    Where arms are compared with control, every arm against it: such pairs are known beforehand and need no shares.
    """
    releases = [_release(stage, design.against) for stage in stages if stage.values is not None]
    if not releases:
        return []
    width = float(design.outcomes.width)
    alpha = float(design.delta)
    if design.control is None:
        intervals = difference_intervals(releases, leader, design.law, alpha)
    else:
        control = design.arms.index(design.control)
        intervals = [
            DifferenceInterval(arm, control, *pair_interval(releases, arm, control, design.law, alpha))
            for arm in range(len(design.arms))
            if arm != control
        ]
    found = []
    for interval in intervals:
        low, high = width * interval.low, width * interval.high
        if design.outcomes.lower_is_better:
            low, high = -high, -low
        found.append(Difference(interval.arm, interval.rival, low, high))
    return found


def _release(stage: StageFigures, against: bool) -> StageRelease:
    values = list(stage.values or ())
    only = stage.champion if against else -1
    if stage.difference:
        return StageRelease(stage.weights, stage.sizes, values, stage.champion, stage.voided, only)
    each = iter(values)
    sums = [next(each) if p > 0 else 0.0 for p in stage.weights]
    return StageRelease(stage.weights, stage.sizes, sums, voided=stage.voided, only=only)
