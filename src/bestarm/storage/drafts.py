"""What a writing block has in hand: rows that are known, and what takes a part of it back that failed.

Whoever asks for a row gets the very one that is known, and what they save is what the store's tables lack. If the block
fails, all that is known of the trial is forgotten. A part that may fail by itself notes what it touches, each row as it
was, and puts all of it back when it fails, and with it the events it appended. So several requests share one
transaction, and one that is refused does not undo its neighbours.
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
Key = TypeVar("Key", int, str, tuple[int, int])

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

    def exchange(self, others: RowsByKey) -> None:
        """Take these rows in the place of those of the same keys, where there are any."""
        self.assignments.update((n, row) for n, row in others.assignments.items() if n in self.assignments)
        self.stages.update((n, row) for n, row in others.stages.items() if n in self.stages)
        self.tallies.update((place, row) for place, row in others.tallies.items() if place in self.tallies)

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
    """A part of a block that may fail by itself: everything is put back then."""

    __slots__ = ("_arrays", "_block", "_book", "_changed", "_events", "_heads", "_layout", "_others", "_undo")

    def __init__(self, block: Drafting) -> None:
        self._block = block

    def __enter__(self) -> None:
        block = self._block
        self._heads = (block.seq, block.head, block.public_seq, block.public_head)
        self._events, self._others, self._book = len(block.log), block.others, block.book.copied()
        self._arrays, self._layout = dict(block.arrays), None if block.layout is None else dict(block.layout)
        self._changed = block.changed
        self._undo = block.undo = Undo(block.known)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        block = self._block
        block.undo = None
        if error is None:
            return
        self._undo.put_back()
        block.seq, block.head, block.public_seq, block.public_head = self._heads
        del block.log[self._events :]
        block.others, block.changed = self._others, self._changed
        block.book, block.arrays, block.layout = self._book, self._arrays, self._layout
        block.subjects.clear()


class Undo:
    """What is known of a trial, as it was before a part of a block touched it."""

    __slots__ = ("_known", "entered", "rows")

    def __init__(self, known: Known) -> None:
        self._known = known
        self.rows = RowsByKey()
        """Copies of the rows that were handed out; new rows, which need none, as they are."""
        self.entered: list[tuple[dict[Any, Any], Any, Any]] = []
        """What stood in which dictionary under which key before something was entered there: None if nothing did."""

    def put_back(self) -> None:
        """Let everything be as it was."""
        for where, key, before in reversed(self.entered):
            if before is None:
                del where[key]
            else:
                where[key] = before
        for rows in (self._known.rows, self._known.behind):
            rows.exchange(self.rows)


class Drafting(Writing):
    """A trial held for writing. Its subclasses read rows that are not known yet, and write what changed."""

    def __init__(self, known: Known) -> None:
        self.name, self.design, self.key = known.name, known.design, known.key
        self.seq, self.head = known.seq, known.head
        self.public_seq, self.public_head = known.public_seq, known.public_head
        self.book = known.book
        self.people_before = known.book.people
        self.known = known
        self.undo: Undo | None = None
        """Inside a part that may fail: what takes it back."""
        self.changed = False
        """Whether any row was saved."""
        self.subjects: dict[int, str] = {}
        """Whose the assignments are that were handed out or saved, as far as it is noted."""
        self.handed_over: set[int] = set()
        """Assignments that are new here, or got another subject."""
        self.courses: dict[int, tuple[Any, ...]] = {}
        """Of stages that were handed out: all but how many people and outcomes they have, as it was at first."""
        self.log: list[Any] = []
        """The events of this block, each as the store keeps it."""
        self.others = 0
        """How many of them do more than add to what is there."""
        self.arrays: dict[str, bytes] = {}
        self.layout: dict[str, bytes] | None = None
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
        rows = self.known.rows.assignments
        row = rows.get(number)
        if row is None:
            row = self._read_assignment(number)
            if row is None:
                return None
            rows[number] = row
        if self.undo is not None and number not in self.undo.rows.assignments:
            self.undo.rows.assignments[number] = twin(row)
        self.subjects.setdefault(number, row.subject)
        return row

    def held_by(self, subject: str) -> list[Assignment]:
        foreseen = self._foreseen.get(subject)
        if foreseen is None:
            foreseen = self._read_held(subject)
        got = self.known.behind.subjects.get(subject, ())
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
        row = self.known.rows.stages.get(number) or self._entered(self._read_stage(number))
        if row is None:
            return None
        if self.undo is not None and number not in self.undo.rows.stages:
            self.undo.rows.stages[number] = twin(row)
        if number not in self.courses:
            self.courses[number] = _course_of(row)
        return row

    def stage_at(self, position: int) -> Stage | None:
        number = self.known.rows.positions.get(position)
        if number is None:
            found = self._entered(self._read_stage_at(position))
            number = None if found is None else found.number
        return None if number is None else self.stage(number)

    def _entered(self, found: Stage | None) -> Stage | None:
        # A stage as the store has it is known from here on, unless it was known already.
        if found is None:
            return None
        row = self.known.rows.stages.setdefault(found.number, found)
        if row.position is not None:
            self.known.rows.positions[row.position] = row.number
        return row

    def tally(self, stage: int, arm: int) -> Tally | None:
        place, rows = (stage, arm), self.known.rows.tallies
        row = rows.get(place)
        if row is None:
            row = self._read_tally(stage, arm)
            if row is None:
                return None
            rows[place] = row
        if self.undo is not None and place not in self.undo.rows.tallies:
            self.undo.rows.tallies[place] = twin(row)
        return row

    def save_assignment(self, assignment: Assignment) -> None:
        number, subject, known = assignment.number, assignment.subject, self.known
        if self.subjects.get(number) != subject:
            self.subjects[number] = subject
            self.handed_over.add(number)
            self._put(known.behind.subjects, subject, (*known.behind.subjects.get(subject, ()), number))
        if known.behind.assignments.get(number) is not assignment:
            if self.undo is not None and number not in known.rows.assignments:
                self.undo.rows.assignments[number] = assignment
            self._put(known.rows.assignments, number, assignment)
            self._put(known.behind.assignments, number, assignment)
        self.changed = True

    def save_stage(self, stage: Stage) -> None:
        number, known = stage.number, self.known
        self.courses.setdefault(number, ())
        if stage.position is not None:
            self._put(known.rows.positions, stage.position, number)
        if known.behind.stages.get(number) is not stage:
            self._put(known.rows.stages, number, stage)
            self._put(known.behind.stages, number, stage)
        self.changed = True

    def save_tally(self, tally: Tally) -> None:
        place, known = (tally.stage, tally.arm), self.known
        if known.behind.tallies.get(place) is not tally:
            self._put(known.rows.tallies, place, tally)
            self._put(known.behind.tallies, place, tally)
        self.changed = True

    def _put(self, where: dict[Key, Any], key: Key, value: object) -> None:
        if self.undo is not None:
            self.undo.entered.append((where, key, where.get(key)))
        where[key] = value

    def turned(self) -> set[int]:
        """Stages that are new here, or of which more changed than how many people and outcomes they have."""
        stages = self.known.rows.stages
        return {n for n, course in self.courses.items() if n in stages and _course_of(stages[n]) != course}

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

    def settled(self) -> Known:
        """The trial as this block leaves it, for the next one."""
        known = self.known
        known.seq, known.head = self.seq, self.head
        known.public_seq, known.public_head = self.public_seq, self.public_head
        known.book = self.book
        known.trim()
        return known
