"""The statements of a store on a relational database, and how its rows become what the books hold.

They go straight to the driver: a request runs a fixed handful of them, and what a layer above would cost for each is
more than the database takes. The texts are the same for both databases but for the mark of a parameter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

from bestarm.errors import OperationError
from bestarm.storage.contract import Assignment, Book, Stage, Tally
from bestarm.storage.events import Event, canonical
from bestarm.storage.schema import LONGEST_LOG

HEADS: Final = ("seq", "head", "public_seq", "public_head")
BOOKS: Final = ("book", "books_seq", "joins_seq")
TRIAL_COLUMNS: Final = ("id", "name", "design", "key", *HEADS, *BOOKS)
EVENT_COLUMNS: Final = (
    *("seq", "at", "actor", "kind", "body", "secret"),
    *("salt", "hash", "public_seq", "public_hash"),
)
LARGEST: Final = 2**63
EVENT_TYPES: Final = {"id": "BIGINT", "seq": "BIGINT", "at": "BIGINT", "public_seq": "BIGINT", "salt": "BYTEA"}
"""Of the columns that are no text."""
ASSIGNMENT_COLUMNS: Final = tuple(f.name for f in fields(Assignment))
STAGE_COLUMNS: Final = tuple(f.name for f in fields(Stage))
TALLY_COLUMNS: Final = tuple(f.name for f in fields(Tally))
OUTCOME: Final = ("state", "outcome", "value", "told_by", "told_at")
"""What telling changes of an assignment."""
STAGE_CHANGES: Final = (
    *("extent", "people", "resolved", "size"),
    *("closed_at", "position", "released_at", "releases", "terms"),
)
TALLY_CHANGES: Final = ("assigned", "resolved", "total", "voided")

assignment_row = attrgetter(*ASSIGNMENT_COLUMNS)
"""An assignment as its columns."""
outcome_of = attrgetter(*OUTCOME)
"""What telling changes of an assignment, as its columns."""
tally_row = attrgetter(*TALLY_COLUMNS)
"""A tally as its columns."""


class Statements:
    """All statements, with `mark` where a parameter goes, `among` to test whether something is in a list that is one
    parameter, and `lock` at the end of what holds a trial for writing."""

    def __init__(self, mark: str, among: str, lock: str = "") -> None:
        self._mark = mark
        self.names = 'SELECT "name" FROM "trials" ORDER BY "name"'
        self.trial = self._select("trials", TRIAL_COLUMNS, ("name",))
        self.look = self._select("trials", ("id", "seq", "head", "books_seq"), ("name",))
        """The least that has to be read of a trial whose books are in memory."""
        self.hold = self.look + lock
        self.assignment = self._select("assignments", ASSIGNMENT_COLUMNS, ("trial", "number"))
        self.held = self._select("assignments", ASSIGNMENT_COLUMNS, ("trial", "subject"))
        self.held_by_any = self._select("assignments", ASSIGNMENT_COLUMNS, ("trial",)) + f' AND "subject" {among}'
        self.stage = self._select("stages", STAGE_COLUMNS, ("trial", "number"))
        self.stage_at = self._select("stages", STAGE_COLUMNS, ("trial", "position"))
        self.tally = self._select("tallies", TALLY_COLUMNS, ("trial", "stage", "arm"))
        self.state = self._select("state", ("array", "bytes"), ("trial",))
        between = f'"id" > {mark} AND "id" < {mark}'
        # An event that was put into another place has no number.
        number = f'CASE WHEN "id" - {mark} = "seq" THEN "seq" END'
        others = _listed(EVENT_COLUMNS[1:])
        self.events = f'SELECT {number}, {others} FROM "events" WHERE {between} ORDER BY "id"'
        self.assigned_since = (
            f'SELECT {number}, "body" FROM "events" WHERE {between} AND "kind" = \'assigned\' ORDER BY "id"'
        )
        self.delete_events = f'DELETE FROM "events" WHERE {between}'
        self.all_assignments = self._select("assignments", ASSIGNMENT_COLUMNS, ("trial",)) + ' ORDER BY "number"'
        self.open_in = (
            self._select("assignments", ASSIGNMENT_COLUMNS, ("trial", "stage"))
            + ' AND "state" = \'open\' ORDER BY "number"'
        )
        self.count_open = (
            f'SELECT COUNT(*) FROM "assignments" WHERE "trial" = {mark} AND "stage" = {mark} AND "state" = \'open\''
        )
        self.all_stages = self._select("stages", STAGE_COLUMNS, ("trial",)) + ' ORDER BY "number"'
        self.all_tallies = self._select("tallies", TALLY_COLUMNS, ("trial",)) + ' ORDER BY "stage", "arm"'
        self.add_trial = self._insert("trials", TRIAL_COLUMNS[1:])
        self.add_event = self._insert("events", ("id", *EVENT_COLUMNS))
        self.add_assignment = self._insert("assignments", ("trial", *ASSIGNMENT_COLUMNS))
        self.add_stage = self._insert("stages", ("trial", *STAGE_COLUMNS))
        self.put_state = self._put("state", ("trial", "array"), ("bytes",))
        self.put_tally = self._put("tallies", ("trial", "stage", "arm"), TALLY_CHANGES)
        self.change_trial = self._update("trials", HEADS + BOOKS, ("id",))
        self.move_heads = self._update("trials", HEADS, ("id",))
        """What changes of a trial whose books may wait."""
        moved = f'{self._update("trials", HEADS, ("id", "seq", "head"))} RETURNING "id"'
        columns = ("id", *EVENT_COLUMNS)
        values = ", ".join(f"CAST({mark} AS {EVENT_TYPES.get(name, 'TEXT')})" for name in columns)
        self.append = (
            f'WITH "moved" AS ({moved}) INSERT INTO "events" ({_listed(columns)}) SELECT {values} FROM "moved"'
        )
        """Both, for one event, if the trial's last event is still the one that is given; else nothing. In PostgreSQL's
        own words: elsewhere no block guesses (`bestarm.storage.guessing`)."""
        self.change_assignment = self._update("assignments", OUTCOME, ("trial", "number"))
        self.hand_over = self._update("assignments", ("subject",), ("trial", "number"))
        self.count_stage = self._update("stages", ("people", "resolved"), ("trial", "number"))
        """Apart from what else changes of a stage or an assignment, which stands in indexes."""
        self.change_stage = self._update("stages", STAGE_CHANGES, ("trial", "number"))

    def delete(self, table: str, column: str) -> str:
        """Delete a trial's rows from a table."""
        return f'DELETE FROM "{table}" WHERE {self._where((column,))}'

    def _where(self, names: Iterable[str]) -> str:
        return " AND ".join(f'"{name}" = {self._mark}' for name in names)

    def _select(self, table: str, columns: Iterable[str], where: Iterable[str]) -> str:
        return f'SELECT {_listed(columns)} FROM "{table}" WHERE {self._where(where)}'

    def _insert(self, table: str, columns: tuple[str, ...]) -> str:
        return f'INSERT INTO "{table}" ({_listed(columns)}) VALUES ({", ".join([self._mark] * len(columns))})'

    def _put(self, table: str, keys: tuple[str, ...], changes: tuple[str, ...]) -> str:
        changed = ", ".join(f'"{name}" = excluded."{name}"' for name in changes)
        return f"{self._insert(table, (*keys, *changes))} ON CONFLICT ({_listed(keys)}) DO UPDATE SET {changed}"

    def _update(self, table: str, changes: Iterable[str], where: Iterable[str]) -> str:
        changed = ", ".join(f'"{name}" = {self._mark}' for name in changes)
        return f'UPDATE "{table}" SET {changed} WHERE {self._where(where)}'


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def place_of(trial: int, seq: int) -> int:
    """Where a trial's event of this number stands in the table of all."""
    return trial * LONGEST_LOG + seq


def places_after(trial: int, seq: int) -> tuple[int, int, int]:
    """Where the trial's log begins, and between which places its events after this one stand. Of numbers that somebody
    made too large there are no events, and databases know no larger ones."""
    first, after, end = (
        min(max(place, -LARGEST), LARGEST - 1)
        for place in (place_of(trial, 0), place_of(trial, seq), place_of(trial + 1, 0))
    )
    return first, after, end


def event_row(trial: int, event: Event) -> tuple[Any, ...]:
    """An event of a trial as its place and its columns."""
    body, secret = event.written or event.texts()
    seq, public_seq = event.seq, event.public_seq
    what = (event.at, event.actor, event.kind, body, secret)
    return place_of(trial, seq), seq, *what, event.salt, event.hash, public_seq, event.public_hash


def stage_row(stage: Stage) -> tuple[Any, ...]:
    """A stage as its columns."""
    return tuple(_text(value) if isinstance(value, list | dict) else value for value in _stage_row(stage))


def stage_change(stage: Stage) -> tuple[Any, ...]:
    """What may change of a stage, as its columns."""
    *plain, releases, terms = _stage_changes(stage)
    return (*plain, _text(releases), _text(terms))


_stage_row = attrgetter(*STAGE_COLUMNS)
_stage_changes = attrgetter(*STAGE_CHANGES)


def _text(value: Any) -> str | None:
    return None if value is None else canonical(value)


def stage_from(row: Any) -> Stage:
    """A stage from its columns."""
    stage = Stage(*row)
    try:
        stage.difference = bool(stage.difference)
        stage.weights = json.loads(stage.weights)  # type: ignore[arg-type]  # text in its column
        stage.releases = None if stage.releases is None else json.loads(stage.releases)  # type: ignore[arg-type]
        stage.terms = None if stage.terms is None else json.loads(stage.terms)  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError) as error:
        raise OperationError(f"Stage {stage.number} in the books cannot be read: somebody changed it.") from error
    return stage


def book_from(text: str) -> Book:
    """The trial-wide numbers from their column."""
    try:
        return Book.from_json(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise OperationError("The trial's books cannot be read: somebody changed them; restore a backup.") from error


def data_from(text: str) -> dict[str, Any]:
    """What an event or a design holds. What somebody garbled is kept as it is, for `verify` to name."""
    try:
        data = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        data = None
    return data if isinstance(data, dict) else {"garbled": str(text)}


def event_from(row: Any) -> Event:
    """An event from its columns. SQLite keeps a value of any type in any column: what is of the wrong one becomes
    what no event holds, and `verify` names it."""
    seq, at, actor, kind, body, secret, salt, mark, public_seq, public_mark = row
    return Event(
        _whole(seq),
        _whole(at),
        str(actor),
        str(kind),
        data_from(body),
        None if secret is None else data_from(secret),
        bytes_from(salt),
        str(mark),
        None if public_seq is None else _whole(public_seq),
        None if public_mark is None else str(public_mark),
    )


def bytes_from(value: Any) -> bytes:
    """The bytes in a column; none, if it holds something else."""
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else b""


def _whole(value: Any) -> int:
    return value if type(value) is int else -1
