"""Each arm's mean and its confidence interval, from releases alone and for every algorithm alike."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from bestarm.policy.evidence_intervals import confidence_interval, estimate
from bestarm.privacy.encoding import GRID_BITS, ON_GRID
from bestarm.release.laws import Law, local_law, no_privacy, pure_law, zcdp_law
from bestarm.trial.design import TrialDesign
from bestarm.trial.public import Estimate, Released, in_outcome_units


def estimates_of(design: TrialDesign, releases: list[Released]) -> list[Estimate]:
    """Every arm's estimate in the outcome's own units; the intervals hold together, at all times, with 1 - delta."""
    units = in_outcome_units(design)
    found = []
    for arm in range(len(design.arms)):
        batches = tuple((r.sizes[0], r.value) for r in releases if r.kind == "sum" and r.arms[0] == arm and r.sizes[0] > 0)
        if not batches:
            found.append(Estimate(arm, None, None, None))
            continue
        ends = sorted(units(end, 1) for end in _interval(design, batches))
        found.append(Estimate(arm, units(estimate(law_of(design), batches), 1), ends[0], ends[1]))
    return found


@lru_cache(maxsize=256)
def _interval(design: TrialDesign, batches: tuple[tuple[int, float], ...]) -> tuple[float, float]:
    # Kept, because many people may look at a trial between two releases.
    tilted = True if design.encoding == ON_GRID else None
    return confidence_interval(
        law_of(design), batches, float(Fraction(design.delta)), arms=len(design.arms), tilted=tilted
    )


def law_of(design: TrialDesign) -> Law:
    """The law of the design's releases."""
    bits = GRID_BITS if design.encoding == ON_GRID else 0
    budget = 0.0 if design.budget is None else float(design.budget)
    if design.privacy == "pure":
        return pure_law(budget, bits)
    if design.privacy == "zcdp":
        return zcdp_law(budget, bits)
    return local_law(budget) if design.privacy == "local" else no_privacy()
