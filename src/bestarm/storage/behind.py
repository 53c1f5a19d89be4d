"""Books behind the log: what each commit writes is the log, and the tables that cache its fold follow in parcels.

An event that only adds to what is there (somebody joined an open stage, an outcome was told) changes a handful
of rows in tables. To write them with every commit takes longer than the event itself, and nobody needs it: the log is
the truth, and what the tables lack is a few events. So a block of nothing but plain events writes those events and the
trial's heads; everything else (a stage opens, closes or is released, somebody withdraws, ...) writes all tables, with
what they lacked before. `trials.books_seq` is the event that the tables stand at: in the same transaction as the rows,
so that whoever sees one sees the other. A process that dies between two parcels leaves tables that are behind, never
wrong, and whoever reads next enters the events since (`caught_up`) into its own memory. Readers write nothing.

**Nothing public depends on when outcomes come in.** Tables are written when the number of people passes a multiple of
EVERY; outcomes alone have them written after MOST events. That second moment must not show: whoever looks from outside
counts those who joined since `trials.joins_seq`, the last event at which tables were written for a public reason, and
leaves out those whom the tables have already (`joined_since`). The rows that are read, the statements and the steps are
the same, whatever outcomes did to the tables; events that tell outcomes are not read at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Final, TypeVar

from bestarm.errors import OperationError
from bestarm.storage.contract import Assignment, Book, Stage, Tally
from bestarm.storage.drafts import Drafting, Known, Row, RowsByKey, twin
from bestarm.storage.effects import ASSIGNED, enter_assigned, enter_people, enter_told, only_adds
from bestarm.storage.events import Event
from bestarm.storage.memory import MemoryBooks
from bestarm.storage.sql_tables import Tables

Key = TypeVar("Key", int, tuple[int, int])

EVERY: Final = 32
"""Whenever the number of people passes a multiple of this, tables are written."""
MOST: Final = 64
"""Events by which tables may be behind at most."""
GARBLED: Final = (LookupError, TypeError, ValueError, AttributeError)
"""What events may raise that somebody changed."""


def may_wait(block: Drafting) -> bool:
    """Whether the tables need not follow what a block did yet."""
    soon = block.seq - block.known.books_seq <= MOST and bool(block.log)
    return soon and not (block.others or passed(block) or turned(block))


def turned(block: Drafting) -> bool:
    """Whether a stage's course or the policy's snapshot changed, which everybody may know."""
    return bool(block.arrays or block.turned()) or block.layout is not None


def passed(block: Drafting) -> bool:
    """Whether the number of people passed a multiple of EVERY."""
    return block.book.people // EVERY != block.people_before // EVERY


def for_all_to_know(block: Drafting) -> bool:
    """Whether tables that are written now are written for a reason that has nothing to do with outcomes."""
    return turned(block) or passed(block)


class Since(MemoryBooks):
    """The rows that events change, each taken from memory or from the tables when it is first needed."""

    def __init__(self, tables: Tables, book: Book, memory: RowsByKey | None = None) -> None:
        super().__init__()
        self.book = book.copied()
        self._tables = tables
        self._memory = memory or RowsByKey()

    def assignment(self, number: int) -> Assignment | None:
        found = _found(self.assignments, self._memory.assignments, number)
        return found or self._tables.assignment(number)

    def stage(self, number: int) -> Stage | None:
        return _found(self.stages, self._memory.stages, number) or self._tables.stage(number)

    def tally(self, stage: int, arm: int) -> Tally | None:
        found = _found(self.tallies, self._memory.tallies, (stage, arm))
        return found or self._tables.tally(stage, arm)

    def rows(self) -> RowsByKey:
        """Those that changed."""
        found = RowsByKey()
        found.assignments, found.stages, found.tallies = self.assignments, self.stages, self.tallies
        for number, one in self.assignments.items():
            found.subjects[one.subject] = (*found.subjects.get(one.subject, ()), number)
        return found


def _found(here: dict[Key, Row], memory: dict[Key, Row], key: Key) -> Row | None:
    row = here.get(key)
    if row is None and (known := memory.get(key)) is not None:
        row = twin(known)
    return row


def caught_up(tables: Tables, known: Known) -> tuple[Book, RowsByKey]:
    """The trial-wide numbers as the log has them, and the rows that differ from those in the tables."""
    _must_be_whole(known)
    since = Since(tables, known.book)
    if known.seq == known.books_seq:
        return since.book, RowsByKey()
    events = tables.last_events(known.books_seq)
    if [event.seq for event in events] != list(range(known.books_seq + 1, known.seq + 1)):
        raise OperationError(f"The log lacks events after event {known.books_seq}; run verify.")
    for event in events:
        _enter(since, event)
    return since.book, since.rows()


def follow(tables: Tables, known: Known, marks: tuple[int, int, str, int]) -> bool:
    """Let memory that is behind the store go on with what others wrote, if the store stands at `marks` and its tables
    have not moved: then all that happened since is plain. Whether that could be done; memory is of no use if not."""
    row, seq, head, books_seq = marks
    if (row, books_seq) != (known.row, known.books_seq) or not known.seq < seq <= books_seq + MOST:
        return False
    events = tables.last_events(known.seq - 1)
    if not events or events[0].hash != known.head or events[-1].hash != head:
        return False
    if [event.seq for event in events] != list(range(known.seq, seq + 1)):
        return False
    since = Since(tables, known.book, known.rows)
    try:
        for event in events[1:]:
            _enter(since, event)
    except OperationError:
        return False
    known.book, changed = since.book, since.rows()
    known.behind.enter_all(changed)
    known.rows.enter(changed)
    known.seq, known.head = seq, head
    for event in events[1:]:
        if event.public_seq is not None and event.public_hash is not None:
            known.public_seq, known.public_head = event.public_seq, event.public_hash
    known.alone = False
    return True


def _enter(books: Since, event: Event) -> None:
    try:
        if not only_adds(event.kind, event.body):
            raise OperationError(f"The books lack event {event.seq}, which they must not lack; run verify.")
        enter = enter_assigned if event.kind == ASSIGNED else enter_told
        enter(books, event.at, event.body, event.secret or {})
    except GARBLED as error:
        raise OperationError(f"Event {event.seq} cannot be entered into the books; run verify.") from error
    books.book.at = event.at


def joined_since(tables: Tables, known: Known) -> tuple[Book, RowsByKey]:
    """The same in everything public: how many people there are, in all, in each stage and in each of its arms."""
    _must_be_whole(known)
    since, counted = Since(tables, known.book), dict[tuple[int, int], int]()
    try:
        for seq, body in tables.assigned_since(known.joins_seq):
            place = (body["stage"], body["arm"])
            counted[place] = counted.get(place, 0) + (seq > known.books_seq)
        for (stage, arm), count in counted.items():
            enter_people(since, stage, arm, count)
    except GARBLED as error:
        raise OperationError("Events cannot be entered into the books; run verify.") from error
    return since.book, since.rows()


def _must_be_whole(known: Known) -> None:
    marks = (known.joins_seq, known.books_seq, known.seq)
    if any(type(mark) is not int for mark in marks) or list(marks) != sorted(marks):
        raise OperationError("The trial's books say that they stand where they cannot; run verify.")


def over(rows: dict[int, Assignment], below: Sequence[Assignment], above: Iterable[int]) -> list[Assignment]:
    """Assignments from the tables by number, each as the log has it, and with them those that the tables lack."""
    numbers = {one.number: one for one in below} | {number: rows[number] for number in above}
    return [copy(rows.get(number, numbers[number])) for number in sorted(numbers)]
