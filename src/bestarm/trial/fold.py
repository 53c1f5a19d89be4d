"""The fold: how each event changes the books and the policy's state, and which event is owed next.

A live trial applies events as they happen; `verify` applies the same events again from the log. Both ask `owed`,
which names the event that has to come before anything else may: the release of a batch, or the end of the trial. It
depends on assignments, sizes and the clock, and on whether outcomes are there, never on what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from bestarm.errors import OperationError
from bestarm.policy.algorithm import SEVERAL, UNDECIDED
from bestarm.policy.record import FloatArray, Record, assign, open_batch, release
from bestarm.privacy.encoding import GRID, ON_GRID
from bestarm.storage.contract import Assignment, Batch, Book, Books
from bestarm.storage.events import canonical
from bestarm.trial.design import TrialDesign

MICROSECONDS: Final = 1_000_000
LARGEST_BATCH: Final = 2**40


@dataclass(frozen=True)
class Rules:
    """The design, its algorithm, and the algorithm's constants: everything that never changes."""

    design: TrialDesign
    algorithm: Any
    constants: Any

    @property
    def grid(self) -> int:
        """Integer steps in one outcome of 1."""
        return GRID if self.design.encoding == ON_GRID else 1

    @property
    def follow_up(self) -> int | None:
        """In microseconds."""
        seconds = self.design.follow_up
        return None if seconds is None else seconds * MICROSECONDS

    def fresh_state(self) -> Any:
        """The policy's state before the first person."""
        return self.algorithm.start(self.constants)


@dataclass(frozen=True)
class Owed:
    """An event that has to happen now: a batch's release, or the end of the trial."""

    kind: str
    batch: Batch | None = None
    arm: int | None = None
    """The recommended arm, when the evidence ends the trial; None when the participants ran out."""


class Fold:
    """One trial's books and policy state, changed by events and by nothing else."""

    def __init__(self, rules: Rules, books: Books, state: Any) -> None:
        self.rules = rules
        self.books = books
        self.state = state
        self._winner = UNDECIDED

    @property
    def book(self) -> Book:
        """The trial-wide numbers."""
        return self.books.book

    @property
    def record(self) -> Record:
        """The public record."""
        record: Record = self.state.record
        return record

    def recruiting(self) -> FloatArray | None:
        """Each arm's probability to get the next person; None while every arm waits for releases."""
        weights = np.zeros(len(self.rules.design.arms))
        answer = self.rules.algorithm.recruit(self.state, self.rules.constants, weights)
        if answer >= 0:
            weights[:] = 0.0
            weights[answer] = 1.0
        elif answer != SEVERAL:
            return None
        return weights

    def next_size(self, arm: int) -> int:
        """How many people the arm's next batch would hold."""
        size = int(self.rules.algorithm.size(self.state, self.rules.constants, arm))
        if not 1 <= size <= LARGEST_BATCH:
            raise OperationError(f"The algorithm {self.rules.algorithm.name} asked for a batch of {size} people.")
        return size

    def owed(self, at: int) -> Owed | None:
        """What has to happen at this time before anything else may."""
        book = self.book
        if book.stage == "stopped":
            return None
        if self._winner != UNDECIDED:
            return Owed("stopped", arm=self._winner)
        if book.released < book.filled:
            batch = self.expect_batch_at(book.released)
            if self.ready(batch, at):
                return Owed("released", batch)
            return None
        most = self.rules.design.max_participants
        if most is not None and book.people >= most and not book.vacant:
            return Owed("stopped")
        return None

    def ready(self, batch: Batch, at: int) -> bool:
        """Whether the batch whose turn it is may be released: by the clock alone, or once every outcome is known."""
        follow_up = self.rules.follow_up
        if follow_up is None:
            return batch.resolved == batch.size
        return batch.filled_at is not None and at >= batch.filled_at + follow_up

    def due(self, assignment: Assignment, at: int) -> bool:
        """Whether an outcome of this assignment comes too late to count."""
        follow_up = self.rules.follow_up
        if self.book.stage == "stopped" or self.batch_of(assignment).release is not None:
            return True
        return follow_up is not None and at >= assignment.at + follow_up

    def batch_of(self, assignment: Assignment) -> Batch:
        """The batch an assignment was made in."""
        return self.expect_batch(assignment.arm, assignment.batch)

    def expect_batch(self, arm: int, index: int) -> Batch:
        """A batch that has to be there."""
        batch = self.books.batch(arm, index)
        if batch is None:
            raise OperationError(f"The books lack batch {index} of arm {arm}; run verify.")
        return batch

    def expect_batch_at(self, position: int) -> Batch:
        """The batch with this turn, which has to be there."""
        batch = self.books.batch_at(position)
        if batch is None:
            raise OperationError(f"The books lack the batch whose turn is {position}; run verify.")
        return batch

    def expect_assignment(self, number: int) -> Assignment:
        """An assignment that has to be there."""
        assignment = self.books.assignment(number)
        if assignment is None:
            raise OperationError(f"The books lack assignment {number}; run verify.")
        return assignment

    def apply(self, kind: str, at: int, body: dict[str, Any], secret: dict[str, Any] | None) -> None:
        """Change the state as this event says. Whether the event was right is not asked here; see `verify`."""
        APPLY[kind](self, at, body, secret or {})
        self.book.at = at

    def _created(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        pass

    def _opened(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        open_batch(self.record, body["arm"], body["size"])
        self.books.save_batch(Batch(body["arm"], body["batch"], body["size"]))

    def _assigned(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        arm, index = body["arm"], body["batch"]
        batch = self.expect_batch(arm, index)
        if body["replacing"]:
            self.book.vacant.remove((arm, index))
        else:
            assign(self.record, arm, 1)
            self.rules.algorithm.assigned(self.state, self.rules.constants, arm, 1)
        batch.assigned += 1
        if batch.assigned == batch.size and batch.position is None:
            batch.position = self.book.filled
            batch.filled_at = at
            self.book.filled += 1
        self.books.save_assignment(Assignment(body["assignment"], body["subject"], arm, index, at))
        self.books.save_batch(batch)
        self.book.people += 1

    def _told(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        assignment = self.expect_assignment(body["assignment"])
        assignment.stage, assignment.outcome = "told", secret["outcome"]
        self._resolve(assignment, secret["value"])

    def _late(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        assignment = self.expect_assignment(body["assignment"])
        assignment.stage, assignment.outcome = "late", secret["outcome"]
        self.books.save_assignment(assignment)

    def _corrected(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        if body["used"]:
            assignment = self.expect_assignment(body["assignment"])
            assignment.outcome = secret["outcome"]
            self._resolve(assignment, secret["value"])

    def _withdrawn(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        assignment = self.expect_assignment(body["assignment"])
        rule = body["rule"]
        assignment.stage, assignment.outcome = "withdrawn", None
        if rule == "impute":
            self._resolve(assignment, secret["value"])
        elif rule == "replace":
            batch = self.batch_of(assignment)
            if assignment.value is not None:
                batch.resolved -= 1
                batch.total -= assignment.value
                assignment.value = None
            batch.assigned -= 1
            self.book.vacant.append((assignment.arm, assignment.batch))
            self.books.save_batch(batch)
        self.books.save_assignment(assignment)

    def _resolve(self, assignment: Assignment, value: int) -> None:
        batch = self.batch_of(assignment)
        if assignment.value is None:
            batch.resolved += 1
        batch.total += value - (assignment.value or 0)
        assignment.value = value
        self.books.save_assignment(assignment)
        self.books.save_batch(batch)

    def _released(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        arm = body["arm"]
        batch = self.expect_batch(arm, body["batch"])
        batch.resolved += secret.get("missing", 0)
        batch.total += secret.get("imputed", 0)
        batch.release, batch.released_at, batch.terms = body["value"], at, canonical(body["terms"])
        self.books.save_batch(batch)
        self.book.released += 1
        algorithm, constants = self.rules.algorithm, self.rules.constants
        release(self.record, arm, batch.size, body["value"] / self.rules.grid)
        algorithm.released(self.state, constants, arm)
        self._winner = int(algorithm.over(self.state, constants))

    def _stopped(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        self.book.stage = "stopped"
        self.book.verdict = body

    def _paused(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        self.book.stage = "paused"

    def _resumed(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        self.book.stage = "open"


APPLY: Final = {
    "created": Fold._created,
    "opened": Fold._opened,
    "assigned": Fold._assigned,
    "told": Fold._told,
    "late": Fold._late,
    "corrected": Fold._corrected,
    "withdrawn": Fold._withdrawn,
    "released": Fold._released,
    "stopped": Fold._stopped,
    "paused": Fold._paused,
    "resumed": Fold._resumed,
}
"""Every kind of event there is."""
