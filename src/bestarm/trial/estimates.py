"""Each arm's mean and its confidence interval, from releases alone and for every algorithm alike."""

from __future__ import annotations

from collections.abc import Iterable

from bestarm.design import Design
from bestarm.policy.intervals import Batch, confidence_interval, estimate
from bestarm.trial.public import Estimate, Released


class GrowingEstimates:
    """Every arm's estimate in the outcome's own units; the intervals hold together, at all times, with 1 - delta.

    Releases are added as they are made, and only the arms that they are of are worked out anew.
    """

    def __init__(self, design: Design) -> None:
        arms = range(len(design.arms))
        self._design = design
        self._batches: list[list[Batch]] = [[] for _ in arms]
        self._known = [Estimate(arm, None, None, None) for arm in arms]
        self._news: set[int] = set()

    def add(self, releases: Iterable[Released]) -> None:
        """Go on with these releases."""
        for one in releases:
            arm, size = one.arms[0], one.sizes[0] - one.voided[0]
            if one.kind == "sum" and size > 0:  # whoever was voided counts 0 and says nothing of the arm
                self._batches[arm].append((size, one.value))
                self._news.add(arm)

    def now(self) -> list[Estimate]:
        """All of them, by arm."""
        design, units = self._design, self._design.outcomes.sum_in_units
        for arm in self._news:
            batches = self._batches[arm]
            interval = confidence_interval(design.law, batches, float(design.delta), arms=len(design.arms))
            low, high = sorted(units(end, 1) for end in interval)
            self._known[arm] = Estimate(arm, units(estimate(design.law, batches), 1), low, high)
        self._news.clear()
        return list(self._known)


def estimates_of(design: Design, releases: Iterable[Released]) -> list[Estimate]:
    """Every arm's estimate from these releases."""
    estimates = GrowingEstimates(design)
    estimates.add(releases)
    return estimates.now()
