"""What the two events that come in crowds change in the books: somebody was assigned, an outcome was told.

Written once for everybody: the fold of a live trial and of `verify` goes through here, and so does whoever reads books
that the log has gone beyond (`bestarm.storage.behind`).
"""

from __future__ import annotations

from typing import Any, Final

from bestarm.errors import OperationError
from bestarm.storage.contract import Assignment, Books, Stage, Tally

ASSIGNED: Final = "assigned"
TOLD: Final = "told"


def only_adds(kind: str, body: dict[str, Any]) -> bool:
    """Whether an event only adds to what is there: one of these two, and nobody takes another's place."""
    return kind == TOLD or (kind == ASSIGNED and body.get("replacing") is False)


def stage_of(books: Books, number: int) -> Stage:
    """A stage that has to be there."""
    stage = books.stage(number)
    if stage is None:
        raise OperationError(f"The books lack stage {number}; run verify.")
    return stage


def assignment_of(books: Books, number: int) -> Assignment:
    """An assignment that has to be there."""
    assignment = books.assignment(number)
    if assignment is None:
        raise OperationError(f"The books lack assignment {number}; run verify.")
    return assignment


def tally_of(books: Books, stage: int, arm: int) -> Tally:
    """An arm's people in a stage."""
    return books.tally(stage, arm) or Tally(stage, arm)


def enter_people(books: Books, stage: int, arm: int, count: int) -> Stage:
    """So many people more in an arm of a stage: what everybody may know of their assignment."""
    joined, tally = stage_of(books, stage), tally_of(books, stage, arm)
    joined.people += count
    tally.assigned += count
    books.book.people += count
    books.save_stage(joined)
    books.save_tally(tally)
    return joined


def enter_assigned(books: Books, at: int, body: dict[str, Any], secret: dict[str, Any]) -> Stage:
    """Somebody was assigned; the stage they are in. Of whoever is known from the public chain alone, the number stands
    for the subject."""
    number, arm, stage = body["assignment"], body["arm"], body["stage"]
    books.save_assignment(Assignment(number, secret.get("subject", str(number)), arm, stage, at))
    return enter_people(books, stage, arm, 1)


def enter_told(books: Books, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
    """An outcome was told in time."""
    assignment = assignment_of(books, body["assignment"])
    assignment.state, assignment.outcome = "told", secret["outcome"]
    assignment.told_by, assignment.told_at = body["by"], at
    resolve(books, assignment, secret["value"])


def resolve(books: Books, assignment: Assignment, value: int) -> None:
    """An assignment's integer is known, or another one than before."""
    stage, tally = stage_of(books, assignment.stage), tally_of(books, assignment.stage, assignment.arm)
    if assignment.value is None:
        stage.resolved += 1
        tally.resolved += 1
    tally.total += value - (assignment.value or 0)
    assignment.value = value
    books.save_assignment(assignment)
    books.save_stage(stage)
    books.save_tally(tally)
