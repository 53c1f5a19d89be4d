"""The store on a relational database: everything that SQLite and PostgreSQL have in common.

Inside a `writing` block rows are read at most once and changes are kept in memory; leaving the block writes them out
in a handful of statements and commits. How a writer gets its turn differs; see `sqlite` and `postgres`.
"""

from __future__ import annotations

import json
import os
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from bestarm.errors import InputError, OperationError
from bestarm.storage import schema
from bestarm.storage.contract import Assignment, Book, Reading, Stage, Store, Tally, Writing
from bestarm.storage.events import GENESIS, Event, canonical

_trials, _events, _assignments = schema.trials.c, schema.events.c, schema.assignments.c
_stages, _tallies, _state = schema.stages.c, schema.tallies.c, schema.state.c
_assignment_columns = [_assignments[f.name] for f in fields(Assignment)]
_stage_columns = [_stages[f.name] for f in fields(Stage)]
_tally_columns = [_tallies[f.name] for f in fields(Tally)]

AT_ONCE = 500
"""Subjects that are looked for in one statement."""

TRIAL = sa.select(schema.trials).where(_trials.name == sa.bindparam("name"))
ASSIGNMENT = sa.select(*_assignment_columns).where(
    _assignments.trial == sa.bindparam("trial"), _assignments.number == sa.bindparam("number")
)
HELD = sa.select(*_assignment_columns).where(
    _assignments.trial == sa.bindparam("trial"), _assignments.subject == sa.bindparam("subject")
)
STAGE = sa.select(*_stage_columns).where(
    _stages.trial == sa.bindparam("trial"), _stages.number == sa.bindparam("number")
)
STAGE_AT = sa.select(*_stage_columns).where(
    _stages.trial == sa.bindparam("trial"), _stages.position == sa.bindparam("position")
)
TALLY = sa.select(*_tally_columns).where(
    _tallies.trial == sa.bindparam("trial"),
    _tallies.stage == sa.bindparam("stage"),
    _tallies.arm == sa.bindparam("arm"),
)
_ASSIGNMENT_CHANGES = ("subject", "state", "outcome", "value", "told_by", "told_at")
UPDATE_ASSIGNMENT = (
    sa.update(schema.assignments)
    .where(_assignments.trial == sa.bindparam("of_trial"), _assignments.number == sa.bindparam("of_number"))
    .values({name: sa.bindparam(name) for name in _ASSIGNMENT_CHANGES})
)
_STAGE_CHANGES = (
    "extent",
    "people",
    "resolved",
    "size",
    "closed_at",
    "position",
    "released_at",
    "releases",
    "terms",
)
UPDATE_STAGE = (
    sa.update(schema.stages)
    .where(_stages.trial == sa.bindparam("of_trial"), _stages.number == sa.bindparam("of_number"))
    .values({name: sa.bindparam(name) for name in _STAGE_CHANGES})
)
_TALLY_CHANGES = ("assigned", "resolved", "total", "voided")
UPDATE_TALLY = (
    sa.update(schema.tallies)
    .where(
        _tallies.trial == sa.bindparam("of_trial"),
        _tallies.stage == sa.bindparam("of_stage"),
        _tallies.arm == sa.bindparam("of_arm"),
    )
    .values({name: sa.bindparam(name) for name in _TALLY_CHANGES})
)
UPDATE_STATE = (
    sa.update(schema.state)
    .where(_state.trial == sa.bindparam("of_trial"), _state.array == sa.bindparam("of_array"))
    .values(bytes=sa.bindparam("new_bytes"))
)
UPDATE_TRIAL = (
    sa.update(schema.trials)
    .where(_trials.id == sa.bindparam("of_trial"))
    .values({name: sa.bindparam(name) for name in ("seq", "head", "public_seq", "public_head", "book")})
)


def _stage_row(stage: Stage) -> dict[str, Any]:
    """A stage as its columns."""
    row = asdict(stage)
    for name in ("weights", "releases", "terms"):
        row[name] = None if row[name] is None else canonical(row[name])
    return row


def _stage_from(row: Any) -> Stage:
    """A stage from its columns."""
    stage = Stage(*row)
    try:
        stage.weights = json.loads(row.weights)
        stage.releases = None if row.releases is None else json.loads(row.releases)
        stage.terms = None if row.terms is None else json.loads(row.terms)
    except (ValueError, RecursionError) as error:
        raise OperationError(f"Stage {row.number} in the books cannot be read: somebody changed it.") from error
    return stage


class SQLReading(Reading):
    """A trial inside one transaction."""

    def __init__(self, connection: sa.Connection, row: Any) -> None:
        self._connection = connection
        self._id: int = row.id
        self.name = row.name
        self.design = _read(row.design)
        self.key = bytes(row.key)
        self.seq = row.seq
        self.head = row.head
        self.public_seq = row.public_seq
        self.public_head = row.public_head
        self.book = _book_from(row.book)
        self._assignment_rows: dict[int, Assignment] = {}
        self._stage_rows: dict[int, Stage] = {}
        self._stage_positions: dict[int, Stage] = {}
        self._tally_rows: dict[tuple[int, int], Tally] = {}

    def _kept_assignment(self, row: Any) -> Assignment:
        # What was read (or changed) once in this block stays the one object for it.
        return self._assignment_rows.setdefault(row.number, Assignment(*row))

    def _kept_stage(self, row: Any) -> Stage:
        kept = self._stage_rows.setdefault(row.number, _stage_from(row))
        if kept.position is not None:
            self._stage_positions[kept.position] = kept
        return kept

    def assignment(self, number: int) -> Assignment | None:
        if number not in self._assignment_rows:
            row = self._connection.execute(ASSIGNMENT, {"trial": self._id, "number": number}).first()
            return None if row is None else self._kept_assignment(row)
        return self._assignment_rows[number]

    def held_by(self, subject: str) -> list[Assignment]:
        # Sorted here: asked for an order, SQLite walks through everybody in that order instead of using the index.
        rows = self._connection.execute(HELD, {"trial": self._id, "subject": subject}).all()
        held = sorted((self._kept_assignment(row) for row in rows), key=lambda a: a.number)
        return [assignment for assignment in held if assignment.subject == subject]

    def held_by_any(self, subjects: Sequence[str]) -> list[Assignment]:
        found: list[Assignment] = []
        for start in range(0, len(subjects), AT_ONCE):
            some = list(subjects[start : start + AT_ONCE])
            query = sa.select(*_assignment_columns).where(
                _assignments.trial == self._id, _assignments.subject.in_(some)
            )
            found += [Assignment(*row) for row in self._connection.execute(query)]
        return sorted(found, key=lambda a: a.number)

    def stage(self, number: int) -> Stage | None:
        if number not in self._stage_rows:
            row = self._connection.execute(STAGE, {"trial": self._id, "number": number}).first()
            return None if row is None else self._kept_stage(row)
        return self._stage_rows[number]

    def stage_at(self, position: int) -> Stage | None:
        if position in self._stage_positions:
            return self._stage_positions[position]
        row = self._connection.execute(STAGE_AT, {"trial": self._id, "position": position}).first()
        return None if row is None else self._kept_stage(row)

    def tally(self, stage: int, arm: int) -> Tally | None:
        if (stage, arm) not in self._tally_rows:
            row = self._connection.execute(TALLY, {"trial": self._id, "stage": stage, "arm": arm}).first()
            return None if row is None else self._tally_rows.setdefault((stage, arm), Tally(*row))
        return self._tally_rows[stage, arm]

    def save_assignment(self, assignment: Assignment) -> None:
        raise OperationError("A trial that is only read cannot be changed.")

    def save_stage(self, stage: Stage) -> None:
        raise OperationError("A trial that is only read cannot be changed.")

    def save_tally(self, tally: Tally) -> None:
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
                yield Event(
                    row.seq,
                    row.at,
                    row.actor,
                    row.kind,
                    _read(row.body),
                    None if row.secret is None else _read(row.secret),
                    bytes(row.salt),
                    row.hash,
                    row.public_seq,
                    row.public_hash,
                )

    def assignments(self) -> Iterator[Assignment]:
        query = sa.select(*_assignment_columns).where(_assignments.trial == self._id).order_by(_assignments.number)
        with self._rows(query) as rows:
            for row in rows:
                yield Assignment(*row)

    def stages(self) -> Iterator[Stage]:
        query = sa.select(*_stage_columns).where(_stages.trial == self._id).order_by(_stages.number)
        with self._rows(query) as rows:
            for row in rows:
                yield _stage_from(row)

    def tallies(self) -> Iterator[Tally]:
        query = sa.select(*_tally_columns).where(_tallies.trial == self._id).order_by(_tallies.stage, _tallies.arm)
        with self._rows(query) as rows:
            for row in rows:
                yield Tally(*row)


class SQLWriting(SQLReading, Writing):
    """A trial held for writing; `flush` writes out what changed."""

    def __init__(self, connection: sa.Connection, row: Any) -> None:
        super().__init__(connection, row)
        self._assigned_before = self.book.people
        self._opened_before = self.book.opened
        self._new_stages: dict[int, Stage] = {}
        self._new_tallies: dict[tuple[int, int], Tally] = {}
        self._new_assignments: dict[int, Assignment] = {}
        self._saved_by_subject: dict[str, dict[int, Assignment]] = {}
        self._changed_stages: dict[int, Stage] = {}
        self._changed_tallies: dict[tuple[int, int], Tally] = {}
        self._changed_assignments: dict[int, Assignment] = {}
        self._log: list[dict[str, Any]] = []
        self._arrays: dict[str, bytes] = {}
        self._layout: dict[str, bytes] | None = None

    def held_by(self, subject: str) -> list[Assignment]:
        # On disk, or of this block: new, or given to this subject in it.
        here = self._saved_by_subject.get(subject, {})
        found = {a.number: a for a in (*super().held_by(subject), *here.values()) if a.subject == subject}
        return [found[number] for number in sorted(found)]

    def save_assignment(self, assignment: Assignment) -> None:
        number = assignment.number
        if number > self._assigned_before:
            self._new_assignments[number] = assignment
        else:
            self._changed_assignments[number] = assignment
        self._saved_by_subject.setdefault(assignment.subject, {})[number] = assignment
        self._assignment_rows[number] = assignment

    def save_stage(self, stage: Stage) -> None:
        number = stage.number
        if number > self._opened_before:
            self._new_stages[number] = stage
        else:
            self._changed_stages[number] = stage
        self._stage_rows[number] = stage
        if stage.position is not None:
            self._stage_positions[stage.position] = stage

    def save_tally(self, tally: Tally) -> None:
        place = (tally.stage, tally.arm)
        if self.tally(*place) is None:
            self._new_tallies[place] = tally
        elif place not in self._new_tallies:
            self._changed_tallies[place] = tally
        self._tally_rows[place] = tally

    def append(self, event: Event) -> None:
        if event.seq != self.seq + 1:
            raise OperationError(f"Event {event.seq} cannot follow event {self.seq}.")
        self.seq, self.head = event.seq, event.hash
        if event.public_seq is not None and event.public_hash is not None:
            if event.public_seq != self.public_seq + 1:
                raise OperationError(f"Public event {event.public_seq} cannot follow {self.public_seq}.")
            self.public_seq, self.public_head = event.public_seq, event.public_hash
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
                "public_seq": event.public_seq,
                "public_hash": event.public_hash,
            }
        )

    def save_state(self, arrays: dict[str, bytes]) -> None:
        if self._layout is not None:
            self._layout.update(arrays)
        else:
            self._arrays.update(arrays)

    def replace_state(self, arrays: dict[str, bytes]) -> None:
        self._layout = dict(arrays)

    def flush(self) -> None:
        """Write everything that changed in this block."""
        run = self._connection.execute
        mine = {"trial": self._id}
        if self._log:
            run(sa.insert(schema.events), self._log)
        if self._new_stages:
            run(sa.insert(schema.stages), [mine | _stage_row(stage) for stage in self._new_stages.values()])
        if self._new_tallies:
            run(sa.insert(schema.tallies), [mine | asdict(tally) for tally in self._new_tallies.values()])
        if self._new_assignments:
            run(sa.insert(schema.assignments), [mine | asdict(a) for a in self._new_assignments.values()])
        if self._changed_stages:
            run(UPDATE_STAGE, [self._stage_change(stage) for stage in self._changed_stages.values()])
        if self._changed_tallies:
            run(UPDATE_TALLY, [self._tally_change(tally) for tally in self._changed_tallies.values()])
        if self._changed_assignments:
            run(UPDATE_ASSIGNMENT, [self._assignment_change(a) for a in self._changed_assignments.values()])
        if self._layout is not None:
            run(sa.delete(schema.state).where(_state.trial == self._id))
            run(sa.insert(schema.state), [mine | {"array": n, "bytes": b} for n, b in self._layout.items()])
        elif self._arrays:
            changes = [{"of_trial": self._id, "of_array": n, "new_bytes": b} for n, b in self._arrays.items()]
            run(UPDATE_STATE, changes)
        if self._log:
            heads = {"seq": self.seq, "head": self.head, "public_seq": self.public_seq, "public_head": self.public_head}
            run(UPDATE_TRIAL, {"of_trial": self._id, "book": canonical(self.book.to_json())} | heads)

    def _stage_change(self, stage: Stage) -> dict[str, Any]:
        row = _stage_row(stage)
        place = {"of_trial": self._id, "of_number": stage.number}
        return place | {name: row[name] for name in _STAGE_CHANGES}

    def _tally_change(self, tally: Tally) -> dict[str, Any]:
        place = {"of_trial": self._id, "of_stage": tally.stage, "of_arm": tally.arm}
        return place | {name: getattr(tally, name) for name in _TALLY_CHANGES}

    def _assignment_change(self, a: Assignment) -> dict[str, Any]:
        place = {"of_trial": self._id, "of_number": a.number}
        return place | {name: getattr(a, name) for name in _ASSIGNMENT_CHANGES}


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
            values |= {"public_seq": 0, "public_head": GENESIS}
            try:
                connection.execute(sa.insert(schema.trials), values | {"book": canonical(Book().to_json())})
            except IntegrityError as error:
                raise InputError(f"There is already a trial named {name!r} in {self._place}.") from error
            writing = SQLWriting(connection, connection.execute(TRIAL, {"name": name}).one())
            yield writing
            writing.flush()

    def remove(self, name: str) -> None:
        with self._block(self._begin_writing) as connection:
            row = self._found(self._locked_trial(connection, name), name)
            if _book_from(row.book).people:
                raise InputError(f"The trial {name!r} has enrolled people; a trial with people in it is kept.")
            for table in (schema.state, schema.tallies, schema.stages, schema.assignments, schema.events):
                connection.execute(sa.delete(table).where(table.c.trial == row.id))
            connection.execute(sa.delete(schema.trials).where(_trials.id == row.id))

    @contextmanager
    def writing(self, name: str) -> Iterator[Writing]:
        with self._block(self._begin_writing) as connection:
            writing = SQLWriting(connection, self._found(self._locked_trial(connection, name), name))
            yield writing
            writing.flush()

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


def _book_from(text: str) -> Book:
    try:
        return Book.from_json(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise OperationError("The trial's books cannot be read: somebody changed them; restore a backup.") from error


def _read(text: str) -> dict[str, Any]:
    # What somebody garbled is kept as it is, for `verify` to name.
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {"garbled": text}
    return data if isinstance(data, dict) else {"garbled": text}


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
