"""One trial inside one transaction of a relational database.

What is known of the trial is not read again, and what changes is kept in memory until `flush` writes it out in a
handful of statements. Tables may be behind the log (`bestarm.storage.behind`): whoever reads sees them as the log has
them, with the rows that changed since laid over those of the tables.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from heapq import merge
from typing import Any

from bestarm.errors import OperationError
from bestarm.storage.behind import caught_up, for_all_to_know, joined_since, may_wait, over
from bestarm.storage.contract import Assignment, Book, Reading, Stage, Tally
from bestarm.storage.drafts import Drafting, Known, RowsByKey
from bestarm.storage.events import Event, arms_of, canonical
from bestarm.storage.sql_statements import (
    assignment_row,
    event_row,
    outcome_of,
    stage_change,
    stage_row,
    tally_row,
)
from bestarm.storage.sql_tables import Link, Tables, Writes


class SQLRows(Reading):
    """A trial inside one transaction: its tables, and over them what the log has since."""

    def __init__(self, link: Link, known: Known) -> None:
        self.name, self.design, self.key = known.name, known.design, known.key
        self.seq, self.head = known.seq, known.head
        self.public_seq, self.public_head = known.public_seq, known.public_head
        self._tables = Tables(link, known.row)
        self._written = known.people_written

    @abstractmethod
    def _since(self) -> RowsByKey:
        """The rows that differ from those in the tables."""

    def _people(self) -> RowsByKey:
        """The same where single people are asked for."""
        return self._since()

    def assignment(self, number: int) -> Assignment | None:
        found = self._people().assignments.get(number)
        return self._tables.assignment(number) if found is None else copy(found)

    def held_by(self, subject: str) -> list[Assignment]:
        since = self._people()
        return over(since.assignments, self._tables.held_by(subject), since.subjects.get(subject, ()))

    def held_by_any(self, subjects: Sequence[str]) -> list[Assignment]:
        since = self._people()
        above = [number for subject in subjects for number in since.subjects.get(subject, ())]
        return over(since.assignments, self._tables.held_by_any(subjects), above)

    def stage(self, number: int) -> Stage | None:
        found = self._since().stages.get(number)
        return self._tables.stage(number) if found is None else copy(found)

    def stage_at(self, position: int) -> Stage | None:
        found = self._tables.stage_at(position)
        return None if found is None else copy(self._since().stages.get(found.number, found))

    def tally(self, stage: int, arm: int) -> Tally | None:
        found = self._since().tallies.get((stage, arm))
        return self._tables.tally(stage, arm) if found is None else copy(found)

    def state(self) -> dict[str, bytes]:
        return self._tables.state()

    def events(self, after: int = 0) -> Iterator[Event]:
        return self._tables.events(after)

    def arms_since(self, after: int) -> list[int]:
        return arms_of(body for _, body in self._tables.assigned_since(after))

    def assignments(self) -> Iterator[Assignment]:
        return self._laid_over(self._tables.assignments())

    def open_in(self, stage: int) -> Iterator[Assignment]:
        found = self._laid_over(self._tables.open_in(stage))
        return (one for one in found if one.stage == stage and one.state == "open")

    def _laid_over(self, below: Iterator[Assignment]) -> Iterator[Assignment]:
        # What comes from the tables is by number; so is what they lack, or have otherwise.
        since = self._people().assignments
        kept = (one for one in below if one.number not in since)
        return merge(kept, (copy(since[number]) for number in sorted(since)), key=lambda one: one.number)

    def count_open(self, stage: int) -> int:
        # Whoever is in the tables and changed since has been told; of those whom they lack some are awaited.
        here = [one for one in self._people().assignments.values() if one.stage == stage]
        awaited = sum(one.state == "open" for one in here)
        return self._tables.count_open(stage) - sum(one.number <= self._written for one in here) + awaited

    def stages(self) -> Iterator[Stage]:
        since = self._since().stages
        return (copy(since.get(one.number, one)) for one in self._tables.stages())

    def tallies(self) -> Iterator[Tally]:
        since = self._since().tallies
        kept = (one for one in self._tables.tallies() if (one.stage, one.arm) not in since)
        return merge(kept, (copy(since[place]) for place in sorted(since)), key=lambda one: (one.stage, one.arm))


class SQLReading(SQLRows):
    """A trial that is only read; what the tables lack is read when it is first needed."""

    def __init__(self, link: Link, known: Known) -> None:
        super().__init__(link, known)
        self._known = known
        self._stages: dict[int, Stage | None] = {}

    @cached_property
    def _caught_up(self) -> tuple[Book, RowsByKey]:
        return caught_up(self._tables, self._known)

    def _since(self) -> RowsByKey:
        return self._caught_up[1]

    @property
    def book(self) -> Book:
        """The trial-wide numbers."""
        return self._caught_up[0]

    @book.setter
    def book(self, book: Book) -> None:
        raise OperationError("A trial that is only read cannot be changed.")

    def stage(self, number: int) -> Stage | None:
        if number not in self._stages:
            self._stages[number] = super().stage(number)
        return self._stages[number]


class SQLPublicReading(SQLReading):
    """A trial as everybody may see it: how many people there are is right, whose outcomes came in is not looked at."""

    @cached_property
    def _caught_up(self) -> tuple[Book, RowsByKey]:
        return joined_since(self._tables, self._known)

    def _people(self) -> RowsByKey:
        raise OperationError("Single people are not in what everybody may see.")


class SQLWriting(Drafting, SQLRows):
    """A trial held for writing; `flush` writes out what changed."""

    def __init__(self, link: Link, known: Known) -> None:
        Drafting.__init__(self, known)
        self._tables, self._written = Tables(link, known.row), known.people_written
        self._link, self._id = link, known.row
        self._opened_before = known.book.opened

    def _since(self) -> RowsByKey:
        return self.known.behind

    def _logged(self, event: Event) -> tuple[Any, ...]:
        # A bulk appends thousands. Rows of nothing but numbers and texts are no work for the garbage collector.
        return event_row(self._id, event)

    def _read_assignment(self, number: int) -> Assignment | None:
        return self._tables.assignment(number)

    def _read_held(self, subject: str) -> list[Assignment]:
        return self._tables.held_by(subject)

    def _read_stage(self, number: int) -> Stage | None:
        return self._tables.stage(number)

    def _read_stage_at(self, position: int) -> Stage | None:
        return self._tables.stage_at(position)

    def _read_tally(self, stage: int, arm: int) -> Tally | None:
        return self._tables.tally(stage, arm)

    def wrote(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.log or self.arrays or self.changed) or self.layout is not None

    def as_one_statement(self, was: tuple[int, int, str, int]) -> tuple[Any, ...] | None:
        """The parameters of the one statement that writes all of this block, if the trial is what it was; None if it
        takes more than one."""
        if len(self.log) != 1 or not may_wait(self):
            return None
        heads = (self.seq, self.head, self.public_seq, self.public_head)
        return (*heads, self._id, *was[1:3], *self.log[0])

    def flush(self) -> None:
        """Write what this block did: the log and its heads, and the tables, unless they may wait."""
        if not self.wrote():
            return
        texts, trial, known = self._link.statements, self._id, self.known
        writes: Writes = [(texts.add_event, self.log)]
        heads = (self.seq, self.head, self.public_seq, self.public_head)
        if may_wait(self):
            writes.append((texts.move_heads, [(*heads, trial)]))
        else:
            writes += self._rows()
            known.caught_up(self.seq, self.book.people, for_all_to_know(self))
            marks = (known.books_seq, known.joins_seq)
            writes.append((texts.change_trial, [(*heads, canonical(self.book.to_json()), *marks, trial)]))
        self._link.write(writes)

    def _rows(self) -> Writes:
        # Everything that the tables lack.
        texts, trial, behind = self._link.statements, self._id, self.known.behind
        writes: Writes = []
        last = self.known.people_written
        new, old, moved = [], [], []
        for n, one in behind.assignments.items():
            if n > last:
                new.append((trial, *assignment_row(one)))
                continue
            old.append((*outcome_of(one), trial, n))
            if n in self.handed_over:
                moved.append((one.subject, trial, n))
        last = self._opened_before
        born, turned, counted, altered = [], [], [], self.turned()
        for n, stage in behind.stages.items():
            if n > last:
                born.append((trial, *stage_row(stage)))
            elif n in altered:
                turned.append((*stage_change(stage), trial, n))
            else:
                counted.append((stage.people, stage.resolved, trial, n))
        writes += [(texts.add_assignment, new), (texts.change_assignment, old), (texts.hand_over, moved)]
        writes += [(texts.add_stage, born), (texts.change_stage, turned), (texts.count_stage, counted)]
        writes.append((texts.put_tally, [(trial, *tally_row(tally)) for tally in behind.tallies.values()]))
        if self.layout is not None:
            writes.append((texts.delete("state", "trial"), [(trial,)]))
        state = self.arrays if self.layout is None else self.layout
        writes.append((texts.put_state, [(trial, name, array) for name, array in state.items()]))
        return writes
