"""A store in one SQLite file: the default, for one machine.

The write-ahead log lets readers and the writer work side by side; `synchronous=FULL` makes a commit wait for the disk,
so that a release somebody saw is never lost. `BEGIN IMMEDIATE` gives each writer its turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from bestarm.errors import InputError, OperationError
from bestarm.files import claim_private
from bestarm.storage.events import canonical
from bestarm.storage.keys import keys_beside
from bestarm.storage.migrate import bring_up_to_date
from bestarm.storage.sql import SQLStore
from bestarm.storage.sql_statements import Statements
from bestarm.storage.sql_tables import Link, Writes

PATIENCE = 30.0
"""Seconds a writer waits for its turn."""
SHORT_WAL, LONG_WAL, LARGE = 1_000, 4_000, 40_000
"""Pages of the write-ahead log after which it is copied into the file: SQLite's own number, and the one for a file that
has so many pages when it is opened. People come to an index in random order, so a thousand of them in a large file
change a page each, and every bulk call would be followed by a copy."""


class SQLiteLink(Link):
    """A connection to a file, whose writer runs all its statements with one cursor."""

    def __init__(self, connection: Any, statements: Statements) -> None:
        super().__init__(connection, statements)
        self._cursor = connection.cursor()

    def listed(self, values: Sequence[str]) -> Any:
        return canonical(list(values))

    def begin(self, begin: str, hold: str | None) -> None:
        run = self._cursor.execute
        run(begin)
        self.held = None if hold is None else run(self.statements.hold, (hold,)).fetchone()

    def commit(self) -> None:
        self._cursor.execute("COMMIT")

    def write(self, writes: Writes) -> None:
        run = self._cursor.execute
        for statement, rows in writes:
            if len(rows) == 1:
                run(statement, rows[0])
            elif rows:
                self._cursor.executemany(statement, rows)


class SQLiteStore(SQLStore):
    """Trials in a file."""

    statements = Statements("?", among='IN (SELECT "value" FROM json_each(?))')
    begin_writing = "BEGIN IMMEDIATE"
    begin_reading = "BEGIN DEFERRED"

    def __init__(self, path: str | Path, create: bool = False) -> None:
        file = Path(path)
        if not file.exists() and not create:
            raise InputError(f"There is no trial store at {path}; create a trial there first.")
        if file.is_dir() or not file.parent.is_dir():
            raise InputError(f"{path} cannot be a trial store: it has to be a file in a folder that exists.")
        claim_private(file)
        engine = sa.create_engine(f"sqlite:///{file}", connect_args={"timeout": PATIENCE}, hide_parameters=True)
        event.listen(engine, "connect", _set_up)
        event.listen(engine, "begin", _begin)
        super().__init__(engine, str(path), keys_beside(file.parent))
        try:
            with self._migrating() as connection:
                bring_up_to_date(connection)
        except OperationError as error:
            self.close()
            if "not a database" in str(error):
                raise InputError(f"{path} is not a trial store: the file is no SQLite database.") from error
            raise

    def _turn_to_migrate(self, connection: sa.Connection) -> None:
        connection.execution_options(begin="IMMEDIATE").begin()

    def _link(self, connection: Any) -> Link:
        return SQLiteLink(connection, self.statements)

    def _free(self, connection: Any) -> bool:
        if connection.in_transaction:
            connection.rollback()
        return True


def _set_up(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # transactions are begun by us, not by the driver
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    pages = cursor.execute("PRAGMA page_count").fetchone()[0]
    cursor.execute(f"PRAGMA wal_autocheckpoint={LONG_WAL if pages > LARGE else SHORT_WAL}")
    cursor.close()


def _begin(connection: sa.Connection) -> None:
    how = connection.get_execution_options().get("begin", "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {how}")
