"""One trial inside one transaction of a relational database.

Rows are read at most once, and changes are kept in memory until `flush` writes them out in a handful of statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from bestarm.storage import schema
from bestarm.storage.contract import Assignment, Reading, Stage, Tally, Writing
from bestarm.storage.events import Event, canonical
from bestarm.storage.sql_statements import (
    ALL_ASSIGNMENTS,
    ALL_EVENTS,
    ALL_STAGES,
    ALL_TALLIES,
    ASSIGNMENT,
    ASSIGNMENT_CHANGES,
    AT_ONCE,
    HELD,
    HELD_BY_ANY,
    STAGE,
    STAGE_AT,
    STAGE_CHANGES,
    STATE,
    TALLY,
    TALLY_CHANGES,
    UPDATE_ASSIGNMENT,
    UPDATE_STAGE,
    UPDATE_STATE,
    UPDATE_TALLY,
    UPDATE_TRIAL,
    book_from,
    bytes_from,
    data_from,
    event_from,
    stage_from,
    stage_row,
)


class SQLReading(Reading):
    """A trial inside one transaction."""

    def __init__(self, connection: sa.Connection, row: Any) -> None:
        self._connection = connection
        self._id: int = row.id
        self.name = row.name
        self.design = data_from(row.design)
        self.key = bytes_from(row.key)
        self.seq = row.seq
        self.head = row.head
        self.public_seq = row.public_seq
        self.public_head = row.public_head
        self.book = book_from(row.book)
        self._assignment_rows: dict[int, Assignment] = {}
        self._stage_rows: dict[int, Stage] = {}
        self._stage_positions: dict[int, Stage] = {}
        self._tally_rows: dict[tuple[int, int], Tally] = {}

    def _kept_assignment(self, row: Any) -> Assignment:
        # What was read (or changed) once in this block stays the one object for it.
        return self._assignment_rows.setdefault(row.number, Assignment(*row))

    def _kept_stage(self, row: Any) -> Stage:
        kept = self._stage_rows.setdefault(row.number, stage_from(row))
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
            rows = self._connection.execute(HELD_BY_ANY, {"trial": self._id, "subjects": some})
            found += [Assignment(*row) for row in rows]
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

    def _rows(self, query: sa.Select[Any]) -> Any:
        # A thousand at a time, so that a long log need not fit into memory.
        return self._connection.execute(query.execution_options(yield_per=1000), {"trial": self._id})

    def state(self) -> dict[str, bytes]:
        rows = self._connection.execute(STATE, {"trial": self._id})
        return {str(row.array): bytes_from(row.bytes) for row in rows}

    def events(self) -> Iterator[Event]:
        with self._rows(ALL_EVENTS) as rows:
            for row in rows:
                yield event_from(row)

    def assignments(self) -> Iterator[Assignment]:
        with self._rows(ALL_ASSIGNMENTS) as rows:
            for row in rows:
                yield Assignment(*row)

    def stages(self) -> Iterator[Stage]:
        with self._rows(ALL_STAGES) as rows:
            for row in rows:
                yield stage_from(row)

    def tallies(self) -> Iterator[Tally]:
        with self._rows(ALL_TALLIES) as rows:
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

    def _enter(self, event: Event) -> None:
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
            run(sa.insert(schema.stages), [mine | stage_row(stage) for stage in self._new_stages.values()])
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
            run(sa.delete(schema.state).where(schema.state.c.trial == self._id))
            run(sa.insert(schema.state), [mine | {"array": n, "bytes": b} for n, b in self._layout.items()])
        elif self._arrays:
            changes = [{"of_trial": self._id, "of_array": n, "new_bytes": b} for n, b in self._arrays.items()]
            run(UPDATE_STATE, changes)
        if self._log:
            heads = {"seq": self.seq, "head": self.head, "public_seq": self.public_seq, "public_head": self.public_head}
            run(UPDATE_TRIAL, {"of_trial": self._id, "book": canonical(self.book.to_json())} | heads)

    def _stage_change(self, stage: Stage) -> dict[str, Any]:
        row = stage_row(stage)
        place = {"of_trial": self._id, "of_number": stage.number}
        return place | {name: row[name] for name in STAGE_CHANGES}

    def _tally_change(self, tally: Tally) -> dict[str, Any]:
        place = {"of_trial": self._id, "of_stage": tally.stage, "of_arm": tally.arm}
        return place | {name: getattr(tally, name) for name in TALLY_CHANGES}

    def _assignment_change(self, a: Assignment) -> dict[str, Any]:
        place = {"of_trial": self._id, "of_number": a.number}
        return place | {name: getattr(a, name) for name in ASSIGNMENT_CHANGES}
