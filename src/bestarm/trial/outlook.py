"""Takes from the books what is public, and only that: the way from a trial's state to its public view."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from bestarm.exact import text_of
from bestarm.policy.algorithm import Standing
from bestarm.policy.record import FloatArray
from bestarm.storage.contract import Assignment, Book, TrialState
from bestarm.trial.answers import Part, State, Verdict
from bestarm.trial.fold import Fold, Rules
from bestarm.trial.history import History
from bestarm.trial.public import PublicView, StageView

STATES: Final[dict[TrialState, State]] = {"open": "recruiting", "paused": "paused", "stopped": "stopped"}


def public_view(name: str, fold: Fold, history: History) -> PublicView:
    """The public view of a trial at one moment; `history` holds what is known of its releases, and gets the rest."""
    rules = fold.rules
    history.read(fold)
    weights = None if fold.book.state != "open" else fold.recruiting()
    state = STATES[fold.book.state]
    if state == "recruiting" and (weights is None or fold.full):
        state, weights = "waiting", None
    standings = [] if rules.algorithm.standings is None else rules.algorithm.standings(fold.state, rules.constants)
    return PublicView(
        name=name,
        design=rules.design,
        state=state,
        recruiting={} if weights is None else {arm: float(w) for arm, w in enumerate(weights) if w > 0},
        stage=None if weights is None else stage_now(fold, weights),
        assigned=fold.course.assigned,
        relabelled=fold.book.relabelled,
        withdrawn=withdrawn_publicly(fold),
        began=fold.book.began,
        releases=list(history.releases),
        estimates=history.estimates(fold),
        standings=standings,
        differences=history.differences(fold, leader_of(standings)) if standings and fold.course.foreseen else [],
        by_coins=fold.course.foreseen,
        coins=history.coins(fold),
        explanation=rules.explained(fold.state),
        verdict=verdict_of(rules, fold.book),
        caveat=rules.algorithm.caveat,
    )


def part_of(fold: Fold, assignment: Assignment) -> Part:
    """With distributed noise: how a person's outcome is to be sent."""
    stage = fold.expect_stage(assignment.stage)
    apart = stage.difference
    return Part(
        stage=stage.number,
        people=stage.planned,
        sums=1 if apart else len(stage.arms),
        place=0 if apart else stage.arms.index(assignment.arm),
        sign=-1 if apart and assignment.arm != stage.champion else 1,
        epsilon=text_of(fold.rules.design.per_outcome.budget or Fraction(0)),
    )


def withdrawn_publicly(fold: Fold) -> int | None:
    """How many places were left, where they are given to others; elsewhere nobody may know."""
    if fold.rules.design.withdrawal != "replace":
        return None
    refilled = fold.book.people - sum(fold.course.assigned)
    return refilled + len(fold.book.vacant)


def leader_of(standings: list[Standing]) -> int:
    """The arm whose rivals these are: the one that is not among them. Against control that is control."""
    rivals = {standing.rival for standing in standings}
    return next(arm for arm in range(len(rivals) + 1) if arm not in rivals)


def stage_now(fold: Fold, weights: FloatArray) -> StageView | None:
    """The stage that people join, for algorithms with coins."""
    if not fold.course.foreseen:
        return None
    number = next(iter(fold.book.filling.values()), None)
    people = 0 if number is None else fold.expect_stage(number).people
    shown = tuple(float(weight) for weight in weights)
    return StageView(fold.book.opened + 1 if number is None else number, shown, people, number is not None)


def verdict_of(rules: Rules, book: Book) -> Verdict | None:
    """The verdict in the books, if the trial has stopped."""
    if book.verdict is None:
        return None
    said = book.verdict
    return Verdict(said["arm"], said["reason"], said["by"], rules.algorithm.caveat, said["time"])
