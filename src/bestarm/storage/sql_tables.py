"""One trial's rows inside one transaction of a relational database, as its tables have them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from bestarm.storage.contract import Assignment, Stage, Tally
from bestarm.storage.events import Event
from bestarm.storage.sql_statements import Statements, bytes_from, data_from, event_from, places_after, stage_from

Writes = list[tuple[str, list[tuple[Any, ...]]]]
"""Statements, each with the parameters of all its rows."""


class Link(ABC):
    """A connection inside a transaction, as the driver has it."""

    def __init__(self, connection: Any, statements: Statements) -> None:
        self.connection = connection
        self.execute = connection.execute
        self.statements = statements
        self.held: tuple[int, int, str, int] | None = None
        """Of the trial that is held: the store's own number of it, number and hash of its last event, and the number
        of the one that its tables stand at."""

    def stream(self, statement: str, *parameters: Any) -> Iterator[tuple[Any, ...]]:
        """Rows one after the other, so that they need not fit into memory."""
        yield from self.execute(statement, parameters)

    @abstractmethod
    def listed(self, values: Sequence[str]) -> Any:
        """Several values as the one parameter of a statement."""

    @abstractmethod
    def begin(self, begin: str, hold: str | None) -> None:
        """Begin a transaction, which may hold the trial of this name."""

    @abstractmethod
    def commit(self) -> None:
        """End the transaction: everything in it is durable from here on."""

    @abstractmethod
    def write(self, writes: Writes) -> None:
        """Run these statements in order, at the latest when the transaction is committed."""


class Tables:
    """The rows of one trial."""

    __slots__ = ("_id", "_link", "_texts")

    def __init__(self, link: Link, number: int) -> None:
        self._link = link
        self._texts = link.statements
        self._id = number

    def _one(self, statement: str, *keys: Any) -> Any:
        return self._link.execute(statement, (self._id, *keys)).fetchone()

    def _all(self, statement: str, *keys: Any) -> Iterator[tuple[Any, ...]]:
        return self._link.stream(statement, self._id, *keys)

    def assignment(self, number: int) -> Assignment | None:
        """The assignment of that number."""
        row = self._one(self._texts.assignment, number)
        return None if row is None else Assignment(*row)

    def held_by(self, subject: str) -> list[Assignment]:
        """All assignments of a subject, in any order."""
        # Asked for an order, SQLite walks through everybody in that order instead of using the index.
        return [Assignment(*row) for row in self._link.execute(self._texts.held, (self._id, subject)).fetchall()]

    def held_by_any(self, subjects: Sequence[str]) -> list[Assignment]:
        """All assignments of any of these subjects, each once, in any order."""
        rows = self._link.execute(self._texts.held_by_any, (self._id, self._link.listed(subjects))).fetchall()
        return [Assignment(*row) for row in rows]

    def stage(self, number: int) -> Stage | None:
        """The stage of that number."""
        row = self._one(self._texts.stage, number)
        return None if row is None else stage_from(row)

    def stage_at(self, position: int) -> Stage | None:
        """The stage at that place in the order of release."""
        row = self._one(self._texts.stage_at, position)
        return None if row is None else stage_from(row)

    def tally(self, stage: int, arm: int) -> Tally | None:
        """An arm's people in a stage."""
        row = self._one(self._texts.tally, stage, arm)
        return None if row is None else Tally(*row)

    def state(self) -> dict[str, bytes]:
        """The bytes of each array of the policy's state."""
        rows = self._link.execute(self._texts.state, (self._id,))
        return {str(array): bytes_from(value) for array, value in rows}

    def events(self, after: int) -> Iterator[Event]:
        """The log from what follows the event of this number."""
        return map(event_from, self._link.stream(self._texts.events, *places_after(self._id, after)))

    def last_events(self, after: int) -> list[Event]:
        """The same for a few events, all at once: a stream takes longer to begin than they do."""
        return list(map(event_from, self._link.execute(self._texts.events, places_after(self._id, after)).fetchall()))

    def assigned_since(self, after: int) -> list[tuple[int, dict[str, Any]]]:
        """Number and body of each assignment's event after the event of this number; no other event is read."""
        rows = self._link.execute(self._texts.assigned_since, places_after(self._id, after)).fetchall()
        return [(seq, data_from(body)) for seq, body in rows]

    def assignments(self) -> Iterator[Assignment]:
        """All assignments by number."""
        return (Assignment(*row) for row in self._all(self._texts.all_assignments))

    def open_in(self, stage: int) -> Iterator[Assignment]:
        """The assignments of a stage whose outcomes are awaited, by number."""
        return (Assignment(*row) for row in self._all(self._texts.open_in, stage))

    def count_open(self, stage: int) -> int:
        """How many those are."""
        return int(self._one(self._texts.count_open, stage)[0])

    def stages(self) -> Iterator[Stage]:
        """All stages by number."""
        return map(stage_from, self._all(self._texts.all_stages))

    def tallies(self) -> Iterator[Tally]:
        """All tallies, by stage and arm."""
        return (Tally(*row) for row in self._all(self._texts.all_tallies))
