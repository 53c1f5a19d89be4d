"""What was released, in public numbers, and what follows from it alone: read once and worked out once a release.

A release never changes, so a look at a trial costs the same after a thousand of them as after ten: whoever looks again
reads the stages that were released since, and only then are intervals worked out anew. Whoever looks for the first time
reads all of them, in two statements.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any, Final, TypeAlias

from bestarm.design import Design
from bestarm.policy.sample_ratio import CoinWatch, SampleRatio, StageCounts
from bestarm.storage.contract import Reading, Stage, Tally
from bestarm.trial.comparisons import Difference, StageFigures, differences_of
from bestarm.trial.estimates import GrowingEstimates
from bestarm.trial.fold import Fold
from bestarm.trial.public import Estimate, Released, release_of

SEVERAL: Final = 20
"""More stages than this are read at once."""
Tallies: TypeAlias = Mapping[int, Tally]
"""The people of a stage, by arm."""


class History:
    """The released stages of one trial, in the order of their release."""

    def __init__(self) -> None:
        self.releases: list[Released] = []
        self._plain: list[dict[str, Any]] = []
        self._copied: tuple[int, bytes] = (0, pickle.dumps([]))
        """So many of them, in a form of which copies are quickly made."""
        self._figures: list[StageFigures] = []
        self._last: tuple[int, list[int] | None] | None = None
        self._coins = CoinWatch()
        self._estimates: GrowingEstimates | None = None
        self._differences: tuple[int, list[Difference]] | None = None

    def agrees(self, fold: Fold) -> bool:
        """Whether these books go on from what is known here; a store that was set back does not."""
        known = len(self._figures)
        if known > fold.book.released:
            return False
        last = fold.books.stage_at(known - 1) if known else None
        return self._last == (None if last is None else (last.number, last.releases))

    def read(self, fold: Fold) -> None:
        """Read the stages that were released since."""
        for stage, tallies in released_since(fold, len(self._figures)):
            figures = figures_of(fold, stage, tallies)
            found = released(fold, stage, figures)
            self.releases += found
            self._figures.append(figures)
            self._last = (stage.number, stage.releases)
            self._estimates = self._estimates or GrowingEstimates(fold.rules.design)
            self._estimates.add(found)
            self._differences = None
            if fold.course.foreseen:
                self._coins.add(StageCounts(figures.weights, figures.sizes))

    def plain(self, design: Design, count: int) -> list[dict[str, Any]]:
        """The first releases as plain data, which is the caller's own."""
        if self._copied[0] != count:
            self._plain += [release_of(design, one).to_json() for one in self.releases[len(self._plain) :]]
            self._copied = (count, pickle.dumps(self._plain[:count], pickle.HIGHEST_PROTOCOL))
        found: list[dict[str, Any]] = pickle.loads(self._copied[1])
        return found

    def estimates(self, fold: Fold) -> list[Estimate]:
        """Every arm's mean and its interval."""
        self._estimates = self._estimates or GrowingEstimates(fold.rules.design)
        return self._estimates.now()

    def differences(self, fold: Fold, leader: int) -> list[Difference]:
        """The leader against every other arm."""
        if self._differences is None or self._differences[0] != leader:
            self._differences = (leader, differences_of(fold.rules.design, self._figures, leader))
        return self._differences[1]

    def coins(self, fold: Fold) -> SampleRatio | None:
        """Whether the coins fell as announced, in all stages up to now; None for algorithms without coins."""
        if not fold.course.foreseen or not fold.book.opened:
            return None
        watch = copy(self._coins)
        for number in range(len(self._figures) + 1, fold.book.opened + 1):  # stages are released as they opened
            stage = fold.expect_stage(number)
            watch.add(StageCounts(stage.weights, fold.sizes(stage)))
        return watch.result()


def released_since(fold: Fold, first: int) -> Iterator[tuple[Stage, Tallies]]:
    """The stages from this place in the order of release on, each with its arms' people. Many are read at once."""
    last, books = fold.book.released, fold.books
    if last - first <= SEVERAL or not isinstance(books, Reading):
        for position in range(first, last):
            stage = fold.stage_at(position)
            yield stage, {arm: fold.tally_of(stage.number, arm) for arm in stage.arms}
        return
    tallies: dict[int, dict[int, Tally]] = {}
    for tally in books.tallies():
        tallies.setdefault(tally.stage, {})[tally.arm] = tally
    stages = {stage.position: stage for stage in books.stages()}
    for position in range(first, last):
        stage = stages.get(position) or fold.stage_at(position)  # which says what is wrong
        yield stage, tallies.get(stage.number, {})


def figures_of(fold: Fold, stage: Stage, tallies: Tallies) -> StageFigures:
    """A released stage in public numbers."""
    # A stage whose people went on in the next one has nothing released of its own.
    values = [value / fold.rules.grid for value in stage.releases] if stage.releases else None
    sizes, voids = [0] * len(stage.weights), [0] * len(stage.weights)
    for arm, tally in tallies.items():
        if 0 <= arm < len(sizes) and stage.weights[arm] > 0:  # somebody may have changed the books
            sizes[arm], voids[arm] = tally.assigned, tally.voided
    return StageFigures(stage.weights, sizes, stage.champion, stage.difference, values, tuple(voids))


def released(fold: Fold, stage: Stage, figures: StageFigures) -> list[Released]:
    """What was released of a stage: the noisy sum of each arm, or one noisy difference."""
    at, terms = stage.released_at or 0, stage.terms or {}
    values, sizes, voids = figures.values, figures.sizes, figures.voided
    if values is None:
        return []
    if stage.difference:
        arms = (stage.champion, *(arm for arm in stage.arms if arm != stage.champion))
        pair, voided = tuple(sizes[arm] for arm in arms), tuple(voids[arm] for arm in arms)
        return [Released(stage.number, "difference", arms, pair, voided, values[0], at, terms)]
    return [
        Released(stage.number, "sum", (arm,), (sizes[arm],), (voids[arm],), value, at, terms)
        for arm, value in zip(stage.arms, values, strict=True)
    ]
