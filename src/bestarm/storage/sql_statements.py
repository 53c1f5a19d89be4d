"""The statements of a store on a relational database, and how its rows become what the books hold."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa

from bestarm.errors import OperationError
from bestarm.storage import schema
from bestarm.storage.contract import Assignment, Book, Stage, Tally
from bestarm.storage.events import Event, canonical

_trials, _events, _assignments = schema.trials.c, schema.events.c, schema.assignments.c
_stages, _tallies, _state = schema.stages.c, schema.tallies.c, schema.state.c
ASSIGNMENT_COLUMNS = [_assignments[f.name] for f in fields(Assignment)]
STAGE_COLUMNS = [_stages[f.name] for f in fields(Stage)]
TALLY_COLUMNS = [_tallies[f.name] for f in fields(Tally)]

TRIAL = sa.select(schema.trials).where(_trials.name == sa.bindparam("name"))
ASSIGNMENT = sa.select(*ASSIGNMENT_COLUMNS).where(
    _assignments.trial == sa.bindparam("trial"), _assignments.number == sa.bindparam("number")
)
HELD = sa.select(*ASSIGNMENT_COLUMNS).where(
    _assignments.trial == sa.bindparam("trial"), _assignments.subject == sa.bindparam("subject")
)
HELD_BY_ANY = sa.select(*ASSIGNMENT_COLUMNS).where(
    _assignments.trial == sa.bindparam("trial"), _assignments.subject.in_(sa.bindparam("subjects", expanding=True))
)
AT_ONCE = 500
"""Subjects that are looked for in one statement."""
STAGE = sa.select(*STAGE_COLUMNS).where(
    _stages.trial == sa.bindparam("trial"), _stages.number == sa.bindparam("number")
)
STAGE_AT = sa.select(*STAGE_COLUMNS).where(
    _stages.trial == sa.bindparam("trial"), _stages.position == sa.bindparam("position")
)
TALLY = sa.select(*TALLY_COLUMNS).where(
    _tallies.trial == sa.bindparam("trial"),
    _tallies.stage == sa.bindparam("stage"),
    _tallies.arm == sa.bindparam("arm"),
)
NAMES = sa.select(_trials.name).order_by(_trials.name)
STATE = sa.select(_state.array, _state.bytes).where(_state.trial == sa.bindparam("trial"))
ALL_EVENTS = sa.select(schema.events).where(_events.trial == sa.bindparam("trial")).order_by(_events.seq)
ALL_ASSIGNMENTS = (
    sa.select(*ASSIGNMENT_COLUMNS).where(_assignments.trial == sa.bindparam("trial")).order_by(_assignments.number)
)
ALL_STAGES = sa.select(*STAGE_COLUMNS).where(_stages.trial == sa.bindparam("trial")).order_by(_stages.number)
ALL_TALLIES = (
    sa.select(*TALLY_COLUMNS).where(_tallies.trial == sa.bindparam("trial")).order_by(_tallies.stage, _tallies.arm)
)
ASSIGNMENT_CHANGES = ("subject", "state", "outcome", "value", "told_by", "told_at")
UPDATE_ASSIGNMENT = (
    sa.update(schema.assignments)
    .where(_assignments.trial == sa.bindparam("of_trial"), _assignments.number == sa.bindparam("of_number"))
    .values({name: sa.bindparam(name) for name in ASSIGNMENT_CHANGES})
)
STAGE_CHANGES = (
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
    .values({name: sa.bindparam(name) for name in STAGE_CHANGES})
)
TALLY_CHANGES = ("assigned", "resolved", "total", "voided")
UPDATE_TALLY = (
    sa.update(schema.tallies)
    .where(
        _tallies.trial == sa.bindparam("of_trial"),
        _tallies.stage == sa.bindparam("of_stage"),
        _tallies.arm == sa.bindparam("of_arm"),
    )
    .values({name: sa.bindparam(name) for name in TALLY_CHANGES})
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


def stage_row(stage: Stage) -> dict[str, Any]:
    """A stage as its columns."""
    row = asdict(stage)
    for name in ("weights", "releases", "terms"):
        row[name] = None if row[name] is None else canonical(row[name])
    return row


def stage_from(row: Any) -> Stage:
    """A stage from its columns."""
    stage = Stage(*row)
    try:
        stage.weights = json.loads(row.weights)
        stage.releases = None if row.releases is None else json.loads(row.releases)
        stage.terms = None if row.terms is None else json.loads(row.terms)
    except (ValueError, TypeError, RecursionError) as error:
        raise OperationError(f"Stage {row.number} in the books cannot be read: somebody changed it.") from error
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
    return Event(
        _whole(row.seq),
        _whole(row.at),
        str(row.actor),
        str(row.kind),
        data_from(row.body),
        None if row.secret is None else data_from(row.secret),
        bytes_from(row.salt),
        str(row.hash),
        None if row.public_seq is None else _whole(row.public_seq),
        None if row.public_hash is None else str(row.public_hash),
    )


def bytes_from(value: Any) -> bytes:
    """The bytes in a column; none, if it holds something else."""
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else b""


def _whole(value: Any) -> int:
    return value if type(value) is int else -1
