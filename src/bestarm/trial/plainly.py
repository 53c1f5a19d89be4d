"""What comes in crowds is nearly always plain: somebody new joins an open stage that stays open, or the outcome is told
of somebody whose stage is open.

Whoever asks the desk (`bestarm.trial.desk`) is asked about everything that may be the matter, several times over. Here
are the few questions that show that nothing is. If so the desk lets the same event happen as it would have in the end,
nothing is owed afterwards, and nothing can be refused half-way, so that nothing needs to be undone. Else nothing has
been done, and the desk decides. Nothing is defined here: what is plain is a matter of speed alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice

from bestarm.errors import BestArmError
from bestarm.storage.contract import Assignment
from bestarm.trial.desk import Desk, choosing


def joined(desk: Desk, subjects: Sequence[str], actor: str, start: int = 0) -> list[Assignment]:
    """New assignments for these subjects from number `start` on, for as many as plainly get one."""
    fold = desk.fold
    book, books, design = fold.book, fold.books, fold.rules.design
    if book.state != "open" or book.vacant or not book.filling or design.distributed or not fold.course.foreseen:
        return []
    stage = books.stage(next(iter(book.filling.values())))
    if stage is None:
        return []
    room = stage.extent - stage.people  # the last one closes the stage, and more may follow from that
    if design.max_participants is not None:
        room = min(room, design.max_participants - book.people)
    if room <= 1:
        return []
    choose = choosing(fold, stage.weights, desk.pick)  # the policy's, as they were when the stage opened
    found = []
    for subject in islice(subjects, start, start + room - 1):
        if books.held_by(subject):
            break
        found.append(desk.enrol(subject, actor, choose(), stage.number, replacing=False))
    return found


def told(desk: Desk, number: int, outcome: Fraction, actor: str) -> str | None:
    """Record an outcome: "recorded"; None, and nothing done, if it is not plain that this can be."""
    fold = desk.fold
    assignment = fold.books.assignment(number)
    if assignment is None or assignment.state != "open" or fold.rules.design.distributed:
        return None
    stage = fold.books.stage(assignment.stage)
    if stage is None or stage.size is not None or fold.overdue(assignment, desk.at):
        return None
    try:
        kept = desk.kept_of(number, outcome)
    except BestArmError:  # the desk will say it, in a part of the block that can be undone
        return None
    desk.record(number, kept, actor)
    return "recorded"
