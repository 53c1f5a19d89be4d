"""One trial inside one transaction of a relational database.

What is known of the trial is not read again, and what changes is kept in memory until `flush` writes it out in a
handful of statements.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from bestarm.storage.contract import Assignment, Reading, Stage, Tally
from bestarm.storage.drafts import Drafting, Known
from bestarm.storage.events import Event, arms_of, canonical
from bestarm.storage.sql_statements import (
    AT_ONCE,
    Statements,
    assignment_row,
    bytes_from,
    data_from,
    event_from,
    event_row,
    outcome_of,
    stage_change,
    stage_from,
    stage_row,
    tally_row,
)

Writes = list[tuple[str, list[tuple[Any, ...]]]]
"""Statements, each with the parameters of all its rows."""


class Link(ABC):
    """A connection inside a transaction, as the driver has it."""

    def __init__(self, connection: Any, statements: Statements) -> None:
        self.connection = connection
        self.execute = connection.execute
        self.statements = statements
        self.held: tuple[int, int, str] | None = None
        """Of the trial that is held: the store's own number of it, and number and hash of its last event."""

    def stream(self, statement: str, *parameters: Any) -> Iterator[tuple[Any, ...]]:
        """Rows one after the other, so that they need not fit into memory."""
        yield from self.execute(statement, parameters)

    @abstractmethod
    def begin(self, begin: str, hold: str | None) -> None:
        """Begin a transaction, which may hold the trial of this name."""

    @abstractmethod
    def commit(self) -> None:
        """End the transaction: everything in it is durable from here on."""

    @abstractmethod
    def write(self, writes: Writes) -> None:
        """Run these statements in order, at the latest when the transaction is committed."""


class SQLReading(Reading):
    """A trial inside one transaction."""

    def __init__(self, link: Link, known: Known) -> None:
        self.name, self.design, self.key = known.name, known.design, known.key
        self.seq, self.head = known.seq, known.head
        self.public_seq, self.public_head = known.public_seq, known.public_head
        self.book = known.book
        self._link = link
        self._id = known.row
        self._stages: dict[int, Stage] = {}

    def _one(self, statement: str, *keys: Any) -> Any:
        return self._link.execute(statement, (self._id, *keys)).fetchone()

    def assignment(self, number: int) -> Assignment | None:
        row = self._one(self._link.statements.assignment, number)
        return None if row is None else Assignment(*row)

    def held_by(self, subject: str) -> list[Assignment]:
        # Sorted here: asked for an order, SQLite walks through everybody in that order instead of using the index.
        rows = self._link.execute(self._link.statements.held, (self._id, subject)).fetchall()
        return sorted((Assignment(*row) for row in rows), key=lambda a: a.number)

    def held_by_any(self, subjects: Sequence[str]) -> list[Assignment]:
        found: dict[int, Assignment] = {}
        for start in range(0, len(subjects), AT_ONCE):
            some = list(subjects[start : start + AT_ONCE])
            some += [some[-1]] * (AT_ONCE - len(some))
            for row in self._link.execute(self._link.statements.held_by_any, (self._id, *some)):
                found[row[0]] = Assignment(*row)
        return [found[number] for number in sorted(found)]

    def stage(self, number: int) -> Stage | None:
        if number not in self._stages:
            row = self._one(self._link.statements.stage, number)
            if row is None:
                return None
            self._stages[number] = stage_from(row)
        return self._stages[number]

    def stage_at(self, position: int) -> Stage | None:
        row = self._one(self._link.statements.stage_at, position)
        return None if row is None else stage_from(row)

    def tally(self, stage: int, arm: int) -> Tally | None:
        row = self._one(self._link.statements.tally, stage, arm)
        return None if row is None else Tally(*row)

    def state(self) -> dict[str, bytes]:
        rows = self._link.execute(self._link.statements.state, (self._id,))
        return {str(array): bytes_from(value) for array, value in rows}

    def events(self, after: int = 0) -> Iterator[Event]:
        return map(event_from, self._link.stream(self._link.statements.events, self._id, after))

    def arms_since(self, after: int) -> list[int]:
        rows = self._link.stream(self._link.statements.assigned_since, self._id, after)
        return arms_of(data_from(body) for (body,) in rows)

    def assignments(self) -> Iterator[Assignment]:
        return (Assignment(*row) for row in self._link.stream(self._link.statements.all_assignments, self._id))

    def open_in(self, stage: int) -> Iterator[Assignment]:
        return (Assignment(*row) for row in self._link.stream(self._link.statements.open_in, self._id, stage))

    def count_open(self, stage: int) -> int:
        return int(self._link.execute(self._link.statements.count_open, (self._id, stage)).fetchone()[0])

    def stages(self) -> Iterator[Stage]:
        return map(stage_from, self._link.stream(self._link.statements.all_stages, self._id))

    def tallies(self) -> Iterator[Tally]:
        return (Tally(*row) for row in self._link.stream(self._link.statements.all_tallies, self._id))


class SQLWriting(Drafting, SQLReading):
    """A trial held for writing; `flush` writes out what changed."""

    def __init__(self, link: Link, known: Known) -> None:
        SQLReading.__init__(self, link, known)
        Drafting.__init__(self, known)
        self._assigned_before = known.book.people
        self._opened_before = known.book.opened

    def _read_assignment(self, number: int) -> Assignment | None:
        return SQLReading.assignment(self, number)

    def _read_held(self, subject: str) -> list[Assignment]:
        return SQLReading.held_by(self, subject)

    def _read_stage(self, number: int) -> Stage | None:
        row = self._one(self._link.statements.stage, number)
        return None if row is None else stage_from(row)

    def _read_stage_at(self, position: int) -> Stage | None:
        return SQLReading.stage_at(self, position)

    def _read_tally(self, stage: int, arm: int) -> Tally | None:
        return SQLReading.tally(self, stage, arm)

    def flush(self) -> None:
        """Write everything that changed in this block."""
        self.accept()
        texts, changed, trial = self._link.statements, self.changed, self._id
        writes: Writes = []

        if self.log:
            writes.append((texts.add_event, [(trial, *event_row(event)) for event in self.log]))
        last = self._assigned_before
        new, old, moved = [], [], []
        for n, one in changed.assignments.items():
            if n > last:
                new.append((trial, *assignment_row(one)))
                continue
            old.append((*outcome_of(one), trial, n))
            if n in self.handed_over:
                moved.append((one.subject, trial, n))
        last = self._opened_before
        born, turned, counted = [], [], []
        for n, stage in changed.stages.items():
            if n > last:
                born.append((trial, *stage_row(stage)))
            elif n in self.turned:
                turned.append((*stage_change(stage), trial, n))
            else:
                counted.append((stage.people, stage.resolved, trial, n))
        writes += [(texts.add_assignment, new), (texts.change_assignment, old), (texts.hand_over, moved)]
        writes += [(texts.add_stage, born), (texts.change_stage, turned), (texts.count_stage, counted)]
        if changed.tallies:
            writes.append((texts.put_tally, [(trial, *tally_row(tally)) for tally in changed.tallies.values()]))
        if self.layout is not None:
            writes.append((texts.delete("state", "trial"), [(trial,)]))
            writes.append((texts.put_state, [(trial, name, array) for name, array in self.layout.items()]))
        elif self.arrays:
            writes.append((texts.put_state, [(trial, name, array) for name, array in self.arrays.items()]))
        if self.log:
            heads = (self.seq, self.head, self.public_seq, self.public_head)
            writes.append((texts.change_trial, [(*heads, canonical(self.book.to_json()), trial)]))
        self._link.write(writes)
