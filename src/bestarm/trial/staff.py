"""What staff see of their own work: who holds which assignment, whose outcomes are awaited, what holds a release up.

None of it is public: whether an outcome is recorded is confidential, and what it is nobody can look up at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice, takewhile
from typing import Final

from bestarm.codes import another_number, code_of, slips_of
from bestarm.storage.contract import Assignment, Reading, Stage
from bestarm.trial import identity
from bestarm.trial.answers import Gathering, HeldAssignment, HoldUp, OpenAssignment, StaffStatus
from bestarm.trial.fold import HOUR, Fold
from bestarm.trial.identity import Participant
from bestarm.trial.moments import moment

MOST_NEAR: Final = 5
"""Near matches that are named."""
MOST_NAMED: Final = 10
"""Assignments that are named where a release is held up."""
MOST_TRIED: Final = 10_000
"""Slips that are tried against the keyed hashes."""


@dataclass(frozen=True)
class Staff:
    """One trial for those who work on it, at one moment."""

    reading: Reading
    fold: Fold
    at: int

    def find(self, who: str | Participant) -> list[HeldAssignment]:
        """The assignments of a participant, or the one of an id; none if there is nobody such."""
        books, design = self.reading, self.fold.rules.design
        if isinstance(who, Participant):
            code = code_of(who.code, design.codes)
            return [self.held(one) for one in self.fold.held(identity.pseudonym(books.key, code))]
        found = books.assignment(identity.assignment_number(books.key, who))
        if found is None:
            raise identity.no_such_assignment()
        return [self.held(found)]

    def near(self, subject: object) -> list[str]:
        """Codes like this one that somebody in the trial has, the likeliest first: other numbers of a series last.

        Only keyed hashes of codes are kept, so the slips that people make are tried one by one.
        """
        key = self.reading.key
        code = code_of(subject, self.fold.rules.design.codes)
        tried = {identity.pseudonym(key, slip): slip for slip in islice(slips_of(code), MOST_TRIED)}
        known = {one.subject for one in self.reading.held_by_any(list(tried)) if one.state != "voided"}
        near = [slip for hashed, slip in tried.items() if hashed in known]
        return sorted(near, key=lambda slip: another_number(code, slip))[:MOST_NEAR]

    def held(self, assignment: Assignment) -> HeldAssignment:
        """An assignment as staff see it."""
        fold, state = self.fold, assignment.state
        return HeldAssignment(
            id=identity.assignment_id(self.reading.key, assignment.number),
            arm=fold.rules.design.arms[assignment.arm],
            stage=assignment.stage,
            assigned_at=moment(assignment.at),
            due_at=self._due_at(assignment),
            told=state in ("told", "late"),
            late=state == "late",
            withdrawn=state == "withdrawn",
            voided=state == "voided",
            changeable=state != "voided" and not fold.due(assignment, self.at),
            voidable=fold.may_void(assignment, self.at) is None,
        )

    def awaited(self) -> Iterator[OpenAssignment]:
        """Outcomes that are missing, the most urgent first: what holds a release up, then what is due first, which is
        what is oldest. Once its stage is released an outcome is awaited no more."""
        stages = list(self._unreleased())
        for waits in (True, False):
            numbers = [stage.number for stage in stages if self._waits(stage) is waits]
            for assignment in merge(*map(self.reading.open_in, numbers), key=lambda one: one.number):
                yield self._open(assignment, waits)

    def count(self) -> int:
        """How many outcomes are missing."""
        return sum(self.reading.count_open(stage.number) for stage in self._unreleased())

    def overdue(self) -> Iterator[OpenAssignment]:
        """Outcomes whose time is over: as the oldest come first, those before the first that is not."""
        return takewhile(lambda one: one.overdue, self.awaited())

    def status(self) -> StaffStatus:
        """What there is to do."""
        return StaffStatus(self.count(), tuple(one.id for one in self.overdue()), self.hold_up())

    def hold_up(self) -> HoldUp | None:
        """What the next release waits for; None if it waits for the clock, or for nobody. With distributed noise nobody
        here knows who has sent an outcome; whoever gathers does."""
        if self.fold.rules.design.distributed:
            return None
        book = self.fold.book
        if book.state == "stopped" or self.fold.rules.follow_up is not None or book.released >= book.closed:
            return None
        stage = self.fold.next_to_release()
        first = list(islice(self.reading.open_in(stage.number), MOST_NAMED))
        if not first:
            return None
        named = tuple(identity.assignment_id(self.reading.key, one.number) for one in first)
        days = (self.at - first[0].at) // (24 * HOUR)
        return HoldUp(stage.number, self.reading.count_open(stage.number), moment(first[0].at), named, days)

    def gathering(self) -> Gathering | None:
        """With distributed noise: the stage whose halves are to be added up next, and who may have sent any."""
        stage = self.fold.gatherable(self.at)
        if stage is None:
            return None
        here = self.reading.open_in(stage.number)
        ids = tuple(identity.assignment_id(self.reading.key, one.number) for one in here)
        return Gathering(stage.number, stage.planned, ids, due=self.fold.due_at(stage) is not None)

    def _unreleased(self) -> Iterator[Stage]:
        # Those that take people, and those that are closed and wait for their release.
        book = self.fold.book
        if book.state == "stopped":
            return
        yield from map(self.fold.expect_stage, sorted(set(book.filling.values())))
        yield from map(self.fold.stage_at, range(book.released, book.closed))

    def _waits(self, stage: Stage) -> bool:
        # Whether its release waits for outcomes: it takes nobody any more, and no clock runs.
        return self.fold.rules.follow_up is None and stage.size is not None

    def _open(self, one: Assignment, waits: bool) -> OpenAssignment:
        return OpenAssignment(
            id=identity.assignment_id(self.reading.key, one.number),
            arm=self.fold.rules.design.arms[one.arm],
            assigned_at=moment(one.at),
            due_at=self._due_at(one),
            stage=one.stage,
            holds_up=waits,
            overdue=self.fold.due(one, self.at),
        )

    def _due_at(self, one: Assignment) -> str | None:
        follow_up = self.fold.rules.follow_up
        return None if follow_up is None else moment(one.at + follow_up)
