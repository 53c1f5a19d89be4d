"""Estimates from releases alone."""

from __future__ import annotations

from bestarm.trial.design import TrialDesign
from bestarm.trial.public import Estimate, Released, in_outcome_units


def estimates_of(design: TrialDesign, releases: list[Released]) -> list[Estimate]:
    """Every arm's pooled mean."""
    units = in_outcome_units(design)
    found = []
    for arm in range(len(design.arms)):
        mine = [r for r in releases if r.arm == arm]
        people = sum(r.size for r in mine)
        mean = units(sum(r.value for r in mine) / people, 1) if people else None
        found.append(Estimate(arm, mean, None, None))
    return found
