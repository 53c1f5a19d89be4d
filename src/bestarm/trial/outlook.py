"""Takes from the books what is public, and only that: the way from a trial's state to its public view."""

from __future__ import annotations

import json
from typing import Final

from bestarm.storage.contract import Book, Reading
from bestarm.trial.answers import State, Verdict
from bestarm.trial.estimates import estimates_of
from bestarm.trial.fold import Fold, Rules
from bestarm.trial.public import PublicView, Released

STATES: Final[dict[str, State]] = {"open": "recruiting", "paused": "paused", "stopped": "stopped"}


def public_view(name: str, fold: Fold, reading: Reading) -> PublicView:
    """The public view of a trial at one moment."""
    rules = fold.rules
    releases = [
        Released(b.arm, b.index, b.size, (b.release or 0) / rules.grid, b.released_at or 0, json.loads(b.terms or "{}"))
        for b in reading.releases()
    ]
    weights = None if fold.book.stage != "open" else fold.recruiting()
    state = STATES[fold.book.stage]
    if state == "recruiting" and (weights is None or _full(fold)):
        state, weights = "waiting", None
    labels = list(rules.design.arms)
    standings = rules.algorithm.standings
    return PublicView(
        name=name,
        design=rules.design,
        state=state,
        recruiting={} if weights is None else {arm: float(w) for arm, w in enumerate(weights) if w > 0},
        assigned=[int(count) for count in fold.record.assigned],
        releases=releases,
        estimates=estimates_of(rules.design, releases),
        standings=[] if standings is None else standings(fold.state, rules.constants),
        explanation=rules.algorithm.explain(fold.state, rules.constants, labels),
        verdict=verdict_of(rules, fold.book),
        caveat=rules.algorithm.caveat,
    )


def _full(fold: Fold) -> bool:
    most = fold.rules.design.max_participants
    return most is not None and fold.book.people >= most and not fold.book.vacant


def verdict_of(rules: Rules, book: Book) -> Verdict | None:
    """The verdict in the books, if the trial has stopped."""
    if book.verdict is None:
        return None
    return Verdict(book.verdict["arm"], book.verdict["reason"], book.verdict["by"], rules.algorithm.caveat)
