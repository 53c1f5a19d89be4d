"""Each arm's mean and its confidence interval, from releases alone and for every algorithm alike."""

from __future__ import annotations

from functools import lru_cache

from bestarm.design import Design
from bestarm.policy.intervals import confidence_interval, estimate
from bestarm.trial.public import Estimate, Released


def estimates_of(design: Design, releases: list[Released]) -> list[Estimate]:
    """Every arm's estimate in the outcome's own units; the intervals hold together, at all times, with 1 - delta."""
    units = design.outcomes.sum_in_units
    found = []
    for arm in range(len(design.arms)):
        batches = tuple(
            (r.sizes[0] - r.voided[0], r.value)  # whoever was voided counts 0 and says nothing of the arm
            for r in releases
            if r.kind == "sum" and r.arms[0] == arm and r.sizes[0] > r.voided[0]
        )
        if not batches:
            found.append(Estimate(arm, None, None, None))
            continue
        ends = sorted(units(end, 1) for end in _interval(design, batches))
        found.append(Estimate(arm, units(estimate(design.law, batches), 1), ends[0], ends[1]))
    return found


@lru_cache(maxsize=256)
def _interval(design: Design, batches: tuple[tuple[int, float], ...]) -> tuple[float, float]:
    # Kept, because many people may look at a trial between two releases.
    return confidence_interval(design.law, batches, float(design.delta), arms=len(design.arms))
