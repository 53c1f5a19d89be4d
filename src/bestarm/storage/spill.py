"""Books for replaying a long log in little memory: what is not at hand lies in a temporary database of SQLite's own.

Only the assignments that were in use last are objects; the others are rows of a database that has no name, is readable
by nobody else, and is gone with the connection or the process (https://sqlite.org/inmemorydb.html, "temporary
databases"). Stages and tallies are few, and stay in memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain
from operator import attrgetter
from typing import Any, Final

from bestarm.storage.contract import Assignment
from bestarm.storage.memory import MemoryBooks

AT_HAND: Final = 20_000
"""Assignments that are kept as objects."""

UNFIT: Final = (sqlite3.Error, OverflowError, UnicodeError)
"""What a database says to values of a garbled log."""

_COLUMNS: Final = tuple(field.name for field in fields(Assignment))
_row = attrgetter(*_COLUMNS)
_LISTED: Final = ", ".join(f'"{name}"' for name in _COLUMNS)
_MARKS: Final = ", ".join("?" * len(_COLUMNS))


class SpillingBooks(MemoryBooks):
    """Books whose assignments need not fit into memory; `close` lets go of those that lie elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self._elsewhere = sqlite3.connect("", isolation_level=None)
        for pragma in ("journal_mode=OFF", "synchronous=OFF"):
            self._elsewhere.execute(f"PRAGMA {pragma}")
        self._elsewhere.execute(f"CREATE TABLE rows ({_LISTED}, PRIMARY KEY (number)) WITHOUT ROWID")
        self._elsewhere.execute("CREATE INDEX by_subject ON rows (subject)")

    def assignment(self, number: int) -> Assignment | None:
        found = self.assignments.get(number)
        if found is None:
            rows = self._fetched(f"SELECT {_LISTED} FROM rows WHERE number = ?", number)
            if not rows:
                return None
            found = self.assignments[number] = Assignment(*rows[0])
        return found

    def held_by(self, subject: str) -> list[Assignment]:
        # An assignment may have got another subject since it was put away.
        away = self._fetched("SELECT number FROM rows WHERE subject = ?", subject)
        numbers = {number for (number,) in away} | self._by_subject.get(subject, set())
        held = (self.assignment(number) for number in sorted(numbers))
        return [one for one in held if one is not None and one.subject == subject]

    def save_assignment(self, assignment: Assignment) -> None:
        super().save_assignment(assignment)
        if len(self.assignments) > AT_HAND:
            self.put_away()

    def put_away(self) -> None:
        """Let no assignment stay in memory, but for those of a garbled log that no database would take."""
        strange = {}
        self._elsewhere.execute("BEGIN")
        for number, one in self.assignments.items():
            try:
                self._elsewhere.execute(f"INSERT OR REPLACE INTO rows VALUES ({_MARKS})", _row(one))
            except UNFIT:
                strange[number] = one
        self._elsewhere.execute("COMMIT")
        self.assignments.clear()
        self._by_subject.clear()
        for one in strange.values():
            super().save_assignment(one)

    def all_assignments(self) -> Iterator[Assignment]:
        """All of them by number."""
        self.put_away()
        away = (Assignment(*row) for row in self._elsewhere.execute(f"SELECT {_LISTED} FROM rows ORDER BY number"))
        return chain(away, self.assignments.values())

    def _fetched(self, statement: str, key: object) -> list[tuple[Any, ...]]:
        try:
            return self._elsewhere.execute(statement, (key,)).fetchall()
        except UNFIT:  # no row has such a key
            return []

    def close(self) -> None:
        """Let go of the temporary database."""
        self._elsewhere.close()
