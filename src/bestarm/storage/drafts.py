"""What a writing block has in hand: rows that are known, drafts of those that change, and the parts that may fail.

Whoever asks for a row gets a draft, a copy of what is known. When a part of the block has succeeded its drafts become
what is known, and what the store's tables lack; when it fails they are forgotten, and with them the events it appended.
So several requests share one transaction, and one that is refused does not undo its neighbours. If the block itself
fails, all that is known of the trial is forgotten.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Final, TypeVar

from bestarm.storage.contract import Assignment, Book, Stage, Tally, Writing
from bestarm.storage.effects import only_adds
from bestarm.storage.events import Event

Row = TypeVar("Row", Assignment, Stage, Tally)

MOST_KEPT: Final = 20_000
"""Rows of a kind that stay known between blocks; beyond that all of them are read anew when they are needed."""


_course_of = attrgetter("extent", "size", "closed_at", "position", "released_at", "releases", "terms")


_fields_of: Final[dict[type, Callable[[Any], tuple[Any, ...]]]] = {
    kind: attrgetter(*(field.name for field in fields(kind))) for kind in (Assignment, Stage, Tally)
}


def twin(row: Row) -> Row:
    """A copy of a row: the dataclass's own fields, nothing deeper (lists in a row are replaced, never changed)."""
    kind = type(row)
    return kind(*_fields_of[kind](row))


class RowsByKey:
    """Rows by their keys."""

    __slots__ = ("assignments", "positions", "stages", "subjects", "tallies")

    def __init__(self) -> None:
        self.assignments: dict[int, Assignment] = {}
        self.stages: dict[int, Stage] = {}
        self.positions: dict[int, int] = {}
        """The number of the stage at each place in the order of release."""
        self.tallies: dict[tuple[int, int], Tally] = {}
        self.subjects: dict[str, tuple[int, ...]] = {}
        """Assignments that a subject got by these rows; it may have lost one since."""

    def enter(self, other: RowsByKey) -> None:
        """Take over these rows, but not whose they are."""
        self.assignments.update(other.assignments)
        self.tallies.update(other.tallies)
        self.stages.update(other.stages)
        if other.positions:
            self.positions.update(other.positions)

    def enter_all(self, other: RowsByKey) -> None:
        """Take over these rows, and whose they are."""
        self.enter(other)
        for subject, numbers in other.subjects.items():
            self.subjects[subject] = self.subjects.get(subject, ()) + numbers


@dataclass
class Known:
    """A trial as of one event, in memory: right for as long as the store says that this is the last event."""

    row: int
    """The store's own number of the trial."""
    name: str
    design: dict[str, Any]
    key: bytes
    seq: int
    head: str
    public_seq: int
    public_head: str
    book: Book
    books_seq: int = 0
    """The event that the rows in the store stand at."""
    joins_seq: int = 0
    """The last one at which they were written for a reason that everybody may know."""
    people_written: int = 0
    """Assignments among those rows."""
    behind: RowsByKey = field(default_factory=RowsByKey)
    """Rows that differ from those in the store, or are not there: events since have changed them."""
    rows: RowsByKey = field(default_factory=RowsByKey)
    """All rows that are known; those that the store lacks are always among them."""
    alone: bool = False
    """Whether the last block found that nobody else had written."""

    def marks(self) -> tuple[int, int, str, int]:
        """What the store has to say of the trial for this to be right."""
        return self.row, self.seq, self.head, self.books_seq

    def caught_up(self, seq: int, people: int, for_all_to_know: bool) -> None:
        """The store's rows stand at this event from here on."""
        self.books_seq, self.people_written = seq, people
        if for_all_to_know:
            self.joins_seq = seq
        self.behind = RowsByKey()

    def trim(self) -> None:
        """Forget rows, if there are many: nothing in memory grows with the trial."""
        rows = self.rows
        if max(len(rows.assignments), len(rows.tallies), len(rows.stages)) > MOST_KEPT:
            self.rows = RowsByKey()
            self.rows.enter(self.behind)


class Attempt(AbstractContextManager[None]):
    """A part of a block that may fail by itself: what it changed is forgotten then."""

    __slots__ = ("_arrays", "_block", "_book", "_events", "_heads", "_layout", "_others")

    def __init__(self, block: Drafting) -> None:
        self._block = block

    def __enter__(self) -> None:
        block = self._block
        block.accept()
        self._heads = (block.seq, block.head, block.public_seq, block.public_head)
        self._events, self._others, self._book = len(block.log), block.others, block.book.copied()
        self._arrays, self._layout = dict(block.arrays), None if block.layout is None else dict(block.layout)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        block = self._block
        if error is None:
            block.accept()
            return
        block.seq, block.head, block.public_seq, block.public_head = self._heads
        del block.log[self._events :]
        block.others = self._others
        block.book, block.arrays, block.layout = self._book, self._arrays, self._layout
        block.forget()


class Drafting(Writing):
    """A trial held for writing. Its subclasses read rows that are not known yet, and write what changed."""

    def __init__(self, known: Known) -> None:
        self.name, self.design, self.key = known.name, known.design, known.key
        self.seq, self.head = known.seq, known.head
        self.public_seq, self.public_head = known.public_seq, known.public_head
        self.book = known.book
        self.people_before = known.book.people
        self.known = known
        self.changed = False
        """Whether a part that succeeded has changed any row."""
        self.handed_over: set[int] = set()
        """Assignments that are new here, or got another subject."""
        self.turned: set[int] = set()
        """Stages that are new here, or of which more changed than how many people and outcomes they have."""
        self.log: list[Any] = []
        """The events of this block, each as the store keeps it."""
        self.others = 0
        """How many of them do more than add to what is there."""
        self.arrays: dict[str, bytes] = {}
        self.layout: dict[str, bytes] | None = None
        self._drafts = RowsByKey()
        self._saved = RowsByKey()
        self._unaccepted = False
        """Whether anything was saved since the last part that succeeded."""
        self._foreseen: dict[str, Sequence[Assignment]] = {}
        """Of subjects that were looked for at once: their assignments as the store has them."""

    @abstractmethod
    def _logged(self, event: Event) -> Any:
        """The event as the store keeps it."""

    @abstractmethod
    def _read_assignment(self, number: int) -> Assignment | None:
        """The assignment as the store has it."""

    @abstractmethod
    def _read_held(self, subject: str) -> list[Assignment]:
        """The subject's assignments as the store has them."""

    @abstractmethod
    def _read_stage(self, number: int) -> Stage | None:
        """The stage as the store has it."""

    @abstractmethod
    def _read_stage_at(self, position: int) -> Stage | None:
        """The stage at that place in the order of release, as the store has it."""

    @abstractmethod
    def _read_tally(self, stage: int, arm: int) -> Tally | None:
        """The tally as the store has it."""

    def assignment(self, number: int) -> Assignment | None:
        draft = self._drafts.assignments.get(number)
        if draft is None:
            rows = self.known.rows.assignments
            known = rows.get(number) or self._read_assignment(number)
            if known is None:
                return None
            rows[number] = known
            draft = self._drafts.assignments[number] = twin(known)
        return draft

    def held_by(self, subject: str) -> list[Assignment]:
        foreseen = self._foreseen.get(subject)
        if foreseen is None:
            foreseen = self._read_held(subject)
        got = self.known.behind.subjects.get(subject, ()) + self._saved.subjects.get(subject, ())
        if not (foreseen or got):
            return []
        numbers, known = set(got), self.known.rows.assignments
        for one in foreseen:
            known.setdefault(one.number, one)
            numbers.add(one.number)
        held = (self.assignment(number) for number in sorted(numbers))
        return [one for one in held if one is not None and one.subject == subject]

    def foresee(self, subjects: Sequence[str]) -> None:
        self._foreseen = dict.fromkeys(subjects, ())
        for one in self.held_by_any(subjects):
            self._foreseen[one.subject] = (*self._foreseen[one.subject], one)

    def stage(self, number: int) -> Stage | None:
        draft = self._drafts.stages.get(number)
        if draft is None:
            known = self.known.rows.stages.get(number) or self._read_stage(number)
            draft = None if known is None else self._drafted_stage(known)
        return draft

    def stage_at(self, position: int) -> Stage | None:
        number = self._drafts.positions.get(position, self.known.rows.positions.get(position))
        if number is not None:
            return self.stage(number)
        found = self._read_stage_at(position)
        return None if found is None else self._drafted_stage(found)

    def _drafted_stage(self, found: Stage) -> Stage:
        known = self.known.rows.stages.setdefault(found.number, found)
        if known.position is not None:
            self.known.rows.positions[known.position] = known.number
        return self._drafts.stages.setdefault(found.number, twin(known))

    def tally(self, stage: int, arm: int) -> Tally | None:
        place = (stage, arm)
        draft = self._drafts.tallies.get(place)
        if draft is None:
            rows = self.known.rows.tallies
            known = rows.get(place) or self._read_tally(stage, arm)
            if known is None:
                return None
            rows[place] = known
            draft = self._drafts.tallies[place] = twin(known)
        return draft

    def save_assignment(self, assignment: Assignment) -> None:
        number = assignment.number
        known = self.known.rows.assignments.get(number)
        if known is None or known.subject != assignment.subject:
            self.handed_over.add(number)
            got = self._saved.subjects
            got[assignment.subject] = (*got.get(assignment.subject, ()), number)
        self._drafts.assignments[number] = self._saved.assignments[number] = assignment
        self._unaccepted = True

    def save_stage(self, stage: Stage) -> None:
        self._drafts.stages[stage.number] = self._saved.stages[stage.number] = stage
        if stage.position is not None:
            self._drafts.positions[stage.position] = self._saved.positions[stage.position] = stage.number
        self._unaccepted = True

    def save_tally(self, tally: Tally) -> None:
        place = (tally.stage, tally.arm)
        self._drafts.tallies[place] = self._saved.tallies[place] = tally
        self._unaccepted = True

    def _enter(self, event: Event) -> None:
        self.log.append(self._logged(event))
        if not only_adds(event.kind, event.body):
            self.others += 1

    def save_state(self, arrays: dict[str, bytes]) -> None:
        if self.layout is not None:
            self.layout.update(arrays)
        else:
            self.arrays.update(arrays)

    def replace_state(self, arrays: dict[str, bytes]) -> None:
        self.layout = dict(arrays)

    def attempt(self) -> AbstractContextManager[None]:
        return Attempt(self)

    def accept(self) -> None:
        """Let what was saved so far stand, and hand out fresh drafts from here on."""
        self.stand()
        self.forget()

    def stand(self) -> None:
        """Let what was saved so far stand: it is known, and the store's tables lack it."""
        if self._unaccepted:
            saved, rows = self._saved, self.known.rows
            for number, stage in saved.stages.items():
                known = rows.stages.get(number)
                if known is None or _course_of(known) != _course_of(stage):
                    self.turned.add(number)
            rows.enter(saved)
            self.known.behind.enter_all(saved)
            self.changed, self._unaccepted = True, False

    def forget(self) -> None:
        """Let nothing stand of what was saved since the last part that succeeded."""
        self._drafts, self._saved, self._unaccepted = RowsByKey(), RowsByKey(), False

    def settled(self) -> Known:
        """The trial as this block leaves it, for the next one."""
        known = self.known
        known.seq, known.head = self.seq, self.head
        known.public_seq, known.public_head = self.public_seq, self.public_head
        known.book = self.book
        known.trim()
        return known
