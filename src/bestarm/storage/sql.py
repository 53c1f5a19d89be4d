"""The store on a relational database: everything that SQLite and PostgreSQL have in common.

Inside a `writing` block rows are read at most once and changes are kept in memory; leaving the block writes them out
in a handful of statements and commits. How a writer gets its turn differs; see `sqlite` and `postgres`.
"""

from __future__ import annotations

import json
import os
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from bestarm.errors import InputError, OperationError
from bestarm.storage import schema
from bestarm.storage.contract import Assignment, Batch, Book, Reading, Store, Writing
from bestarm.storage.events import GENESIS, Event, canonical

_trials, _events, _assignments = schema.trials.c, schema.events.c, schema.assignments.c
_batches, _state = schema.batches.c, schema.state.c
_assignment_columns = [_assignments[f.name] for f in fields(Assignment)]
_batch_columns = [_batches[f.name] for f in fields(Batch)]

TRIAL = sa.select(schema.trials).where(_trials.name == sa.bindparam("name"))
ASSIGNMENT = sa.select(*_assignment_columns).where(
    _assignments.trial == sa.bindparam("trial"), _assignments.number == sa.bindparam("number")
)
HELD = sa.select(*_assignment_columns).where(
    _assignments.trial == sa.bindparam("trial"), _assignments.subject == sa.bindparam("subject")
)
BATCH = sa.select(*_batch_columns).where(
    _batches.trial == sa.bindparam("trial"),
    _batches.arm == sa.bindparam("arm"),
    _batches.index == sa.bindparam("index"),
)
BATCH_AT = sa.select(*_batch_columns).where(
    _batches.trial == sa.bindparam("trial"), _batches.position == sa.bindparam("position")
)
UPDATE_ASSIGNMENT = (
    sa.update(schema.assignments)
    .where(_assignments.trial == sa.bindparam("of_trial"), _assignments.number == sa.bindparam("of_number"))
    .values({name: sa.bindparam(name) for name in ("stage", "outcome", "value")})
)
_CHANGING = ("assigned", "resolved", "total", "position", "filled_at", "released_at", "release", "terms")
UPDATE_BATCH = (
    sa.update(schema.batches)
    .where(
        _batches.trial == sa.bindparam("of_trial"),
        _batches.arm == sa.bindparam("of_arm"),
        _batches.index == sa.bindparam("of_index"),
    )
    .values({name: sa.bindparam(name) for name in _CHANGING})
)
UPDATE_STATE = (
    sa.update(schema.state)
    .where(_state.trial == sa.bindparam("of_trial"), _state.array == sa.bindparam("of_array"))
    .values(bytes=sa.bindparam("new_bytes"))
)
UPDATE_TRIAL = (
    sa.update(schema.trials)
    .where(_trials.id == sa.bindparam("of_trial"))
    .values(seq=sa.bindparam("seq"), head=sa.bindparam("head"), book=sa.bindparam("book"))
)


class SQLReading(Reading):
    """A trial inside one transaction."""

    def __init__(self, connection: sa.Connection, row: Any) -> None:
        self._connection = connection
        self._id: int = row.id
        self.name = row.name
        self.design = json.loads(row.design)
        self.key = bytes(row.key)
        self.seq = row.seq
        self.head = row.head
        self.book = Book.from_json(json.loads(row.book))
        self._assignment_rows: dict[int, Assignment] = {}
        self._batch_rows: dict[tuple[int, int], Batch] = {}
        self._batch_positions: dict[int, Batch] = {}

    def _kept_assignment(self, row: Any) -> Assignment:
        # What was read (or changed) once in this block stays the one object for it.
        return self._assignment_rows.setdefault(row.number, Assignment(*row))

    def _kept_batch(self, row: Any) -> Batch:
        kept = self._batch_rows.setdefault((row.arm, row.index), Batch(*row))
        if kept.position is not None:
            self._batch_positions[kept.position] = kept
        return kept

    def assignment(self, number: int) -> Assignment | None:
        if number not in self._assignment_rows:
            row = self._connection.execute(ASSIGNMENT, {"trial": self._id, "number": number}).first()
            return None if row is None else self._kept_assignment(row)
        return self._assignment_rows[number]

    def held_by(self, subject: str) -> list[Assignment]:
        # Sorted here: asked for an order, SQLite walks through everybody in that order instead of using the index.
        rows = self._connection.execute(HELD, {"trial": self._id, "subject": subject}).all()
        return sorted((self._kept_assignment(row) for row in rows), key=lambda a: a.number)

    def batch(self, arm: int, index: int) -> Batch | None:
        if (arm, index) not in self._batch_rows:
            row = self._connection.execute(BATCH, {"trial": self._id, "arm": arm, "index": index}).first()
            return None if row is None else self._kept_batch(row)
        return self._batch_rows[arm, index]

    def batch_at(self, position: int) -> Batch | None:
        if position in self._batch_positions:
            return self._batch_positions[position]
        row = self._connection.execute(BATCH_AT, {"trial": self._id, "position": position}).first()
        return None if row is None else self._kept_batch(row)

    def save_assignment(self, assignment: Assignment) -> None:
        raise OperationError("A trial that is only read cannot be changed.")

    def save_batch(self, batch: Batch) -> None:
        raise OperationError("A trial that is only read cannot be changed.")

    def _rows(self, query: sa.Select[Any]) -> Any:
        # A thousand at a time, so that a long log need not fit into memory.
        return self._connection.execute(query.execution_options(yield_per=1000))

    def state(self) -> dict[str, bytes]:
        rows = self._connection.execute(sa.select(_state.array, _state.bytes).where(_state.trial == self._id))
        return {row.array: bytes(row.bytes) for row in rows}

    def events(self) -> Iterator[Event]:
        query = sa.select(schema.events).where(_events.trial == self._id).order_by(_events.seq)
        with self._rows(query) as rows:
            for row in rows:
                secret = None if row.secret is None else json.loads(row.secret)
                salt = None if row.salt is None else bytes(row.salt)
                yield Event(row.seq, row.at, row.actor, row.kind, json.loads(row.body), secret, salt, row.hash)

    def assignments(self) -> Iterator[Assignment]:
        query = sa.select(*_assignment_columns).where(_assignments.trial == self._id).order_by(_assignments.number)
        with self._rows(query) as rows:
            for row in rows:
                yield Assignment(*row)

    def batches(self) -> Iterator[Batch]:
        query = sa.select(*_batch_columns).where(_batches.trial == self._id).order_by(_batches.arm, _batches.index)
        with self._rows(query) as rows:
            for row in rows:
                yield Batch(*row)

    def releases(self) -> Iterator[Batch]:
        released = sa.and_(_batches.trial == self._id, _batches.release.is_not(None))
        query = sa.select(*_batch_columns).where(released).order_by(_batches.position)
        with self._rows(query) as rows:
            for row in rows:
                yield Batch(*row)


class SQLWriting(SQLReading, Writing):
    """A trial held for writing; `flush` writes out what changed."""

    def __init__(self, connection: sa.Connection, row: Any) -> None:
        super().__init__(connection, row)
        self._assigned_before = self.book.people
        self._new_batches: dict[tuple[int, int], Batch] = {}
        self._new_assignments: dict[int, Assignment] = {}
        self._new_by_subject: dict[str, list[Assignment]] = {}
        self._changed_batches: dict[tuple[int, int], Batch] = {}
        self._changed_assignments: dict[int, Assignment] = {}
        self._log: list[dict[str, Any]] = []
        self._arrays: dict[str, bytes] = {}

    def held_by(self, subject: str) -> list[Assignment]:
        return super().held_by(subject) + self._new_by_subject.get(subject, [])

    def save_assignment(self, assignment: Assignment) -> None:
        number = assignment.number
        if number > self._assigned_before and number not in self._new_assignments:
            self._new_assignments[number] = assignment
            self._new_by_subject.setdefault(assignment.subject, []).append(assignment)
        elif number not in self._new_assignments:
            self._changed_assignments[number] = assignment
        self._assignment_rows[number] = assignment

    def save_batch(self, batch: Batch) -> None:
        place = (batch.arm, batch.index)
        if place not in self._batch_rows:
            self._new_batches[place] = batch
        elif place not in self._new_batches:
            self._changed_batches[place] = batch
        self._batch_rows[place] = batch
        if batch.position is not None:
            self._batch_positions[batch.position] = batch

    def append(self, event: Event) -> None:
        if event.seq != self.seq + 1:
            raise OperationError(f"Event {event.seq} cannot follow event {self.seq}.")
        self.seq, self.head = event.seq, event.hash
        self._log.append(
            {
                "trial": self._id,
                "seq": event.seq,
                "at": event.at,
                "actor": event.actor,
                "kind": event.kind,
                "body": canonical(event.body),
                "secret": None if event.secret is None else canonical(event.secret),
                "salt": event.salt,
                "hash": event.hash,
            }
        )

    def save_state(self, arrays: dict[str, bytes]) -> None:
        self._arrays.update(arrays)

    def flush(self, created: bool) -> None:
        """Write everything that changed in this block."""
        run = self._connection.execute
        mine = {"trial": self._id}
        if self._log:
            run(sa.insert(schema.events), self._log)
        if self._new_batches:
            run(sa.insert(schema.batches), [mine | asdict(batch) for batch in self._new_batches.values()])
        if self._new_assignments:
            run(sa.insert(schema.assignments), [mine | asdict(a) for a in self._new_assignments.values()])
        if self._changed_batches:
            run(UPDATE_BATCH, [self._batch_change(batch) for batch in self._changed_batches.values()])
        if self._changed_assignments:
            run(UPDATE_ASSIGNMENT, [self._assignment_change(a) for a in self._changed_assignments.values()])
        if self._arrays and created:
            run(sa.insert(schema.state), [mine | {"array": n, "bytes": b} for n, b in self._arrays.items()])
        elif self._arrays:
            changes = [{"of_trial": self._id, "of_array": n, "new_bytes": b} for n, b in self._arrays.items()]
            run(UPDATE_STATE, changes)
        if self._log:
            book = canonical(self.book.to_json())
            run(UPDATE_TRIAL, {"of_trial": self._id, "seq": self.seq, "head": self.head, "book": book})

    def _batch_change(self, batch: Batch) -> dict[str, Any]:
        place = {"of_trial": self._id, "of_arm": batch.arm, "of_index": batch.index}
        return place | {name: getattr(batch, name) for name in _CHANGING}

    def _assignment_change(self, a: Assignment) -> dict[str, Any]:
        place = {"of_trial": self._id, "of_number": a.number}
        return place | {"stage": a.stage, "outcome": a.outcome, "value": a.value}


class SQLStore(Store):
    """A store on any database that SQLAlchemy reaches; its subclasses say how a writer gets its turn."""

    def __init__(self, engine: sa.Engine, place: str) -> None:
        self.engine = engine
        self._place = place
        weakref.finalize(self, _dispose, engine, os.getpid())

    @abstractmethod
    def _begin_writing(self) -> sa.Connection:
        """A connection inside a transaction that may write."""

    @abstractmethod
    def _begin_reading(self) -> sa.Connection:
        """A connection inside a transaction that sees one moment."""

    @abstractmethod
    def _locked_trial(self, connection: sa.Connection, name: str) -> Any:
        """The trial's row, nobody else writing that trial until the transaction ends."""

    @contextmanager
    def _block(self, begin: Callable[[], sa.Connection]) -> Iterator[sa.Connection]:
        # Commits when the block is left in peace; turns what the database says into our own errors.
        connection: sa.Connection | None = None
        try:
            connection = begin()
            yield connection
            connection.commit()
        except IntegrityError as error:
            raise OperationError(f"The store {self._place} refused a change: {_reason(error)}.") from error
        except SQLAlchemyError as error:
            raise OperationError(f"The store {self._place} could not be used: {_reason(error)}.") from error
        finally:
            if connection is not None:
                _let_go(connection)

    def names(self) -> list[str]:
        with self._block(self._begin_reading) as connection:
            return list(connection.execute(sa.select(_trials.name).order_by(_trials.name)).scalars())

    @contextmanager
    def add(self, name: str, design: dict[str, Any], key: bytes) -> Iterator[Writing]:
        with self._block(self._begin_writing) as connection:
            if connection.execute(TRIAL, {"name": name}).first() is not None:
                raise InputError(f"There is already a trial named {name!r} in {self._place}; choose another name.")
            values = {"name": name, "design": canonical(design), "key": key, "seq": 0, "head": GENESIS}
            try:
                connection.execute(sa.insert(schema.trials), values | {"book": canonical(Book().to_json())})
            except IntegrityError as error:
                raise InputError(f"There is already a trial named {name!r} in {self._place}.") from error
            writing = SQLWriting(connection, connection.execute(TRIAL, {"name": name}).one())
            yield writing
            writing.flush(created=True)

    @contextmanager
    def writing(self, name: str) -> Iterator[Writing]:
        with self._block(self._begin_writing) as connection:
            writing = SQLWriting(connection, self._found(self._locked_trial(connection, name), name))
            yield writing
            writing.flush(created=False)

    @contextmanager
    def reading(self, name: str) -> Iterator[Reading]:
        with self._block(self._begin_reading) as connection:
            yield SQLReading(connection, self._found(connection.execute(TRIAL, {"name": name}).first(), name))

    def _found(self, row: Any, name: str) -> Any:
        if row is None:
            raise InputError(f"There is no trial named {name!r} in {self._place}; `bestarm trial list` names them.")
        return row

    def close(self) -> None:
        self.engine.dispose()


def _dispose(engine: sa.Engine, process: int) -> None:
    # A process forked from ours must not say goodbye on connections that are still ours.
    engine.dispose(close=os.getpid() == process)


def _let_go(connection: sa.Connection) -> None:
    # A connection that broke cannot roll back; the database does so by itself.
    try:
        connection.close()
    except SQLAlchemyError:
        connection.invalidate()


def _reason(error: SQLAlchemyError) -> str:
    # The driver's own words only: the statement and its parameters may hold outcomes.
    cause = error.orig if isinstance(error, DBAPIError) else error
    return str(cause).strip().splitlines()[0].rstrip(".") if str(cause).strip() else type(error).__name__
