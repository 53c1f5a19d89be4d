"""A store in a PostgreSQL database, for a team that shares it. Writers of a trial take turns on a lock of its row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from bestarm.errors import InputError
from bestarm.storage.keys import keys_beside
from bestarm.storage.migrate import bring_up_to_date, version_of
from bestarm.storage.sql import SQLStore
from bestarm.storage.sql_statements import Statements
from bestarm.storage.sql_tables import Link, Writes

MIGRATION_LOCK: Final = 0x6265737461726D
"""One at a time may create or update the tables; the number is "bestarm" in ASCII."""

IDLE: Final = 0
"""The driver's word for a connection outside of any transaction."""
AT_ONCE: Final = 1000
"""Rows of a long table that are fetched together."""


class PostgresLink(Link):
    """A connection to PostgreSQL. Over a network statements do not wait for each other's answers: a transaction takes a
    round trip to begin and one to commit. Inside one machine an answer is there at once, and a pipeline of the driver's
    takes longer than it saves."""

    def __init__(self, connection: Any, statements: Statements) -> None:
        super().__init__(connection, statements)
        self._cursor, self._held = connection.cursor(), connection.cursor()
        self.execute = connection.cursor().execute  # whoever reads takes all rows at once, or streams them
        self._writes: Writes = []
        self.far = not is_near(connection.info.host)

    def stream(self, statement: str, *parameters: Any) -> Iterator[tuple[Any, ...]]:
        with self.connection.cursor(name=f"stream_{id(object())}") as cursor:
            cursor.itersize = AT_ONCE
            yield from cursor.execute(statement, parameters)

    def listed(self, values: Sequence[str]) -> Any:
        return list(values)

    def _pipeline(self) -> AbstractContextManager[Any]:
        return self.connection.pipeline() if self.far else nullcontext()

    def begin(self, begin: str, hold: str | None) -> None:
        self._writes, self.held = [], None
        if hold is None:
            self._cursor.execute(begin)
            return
        with self._pipeline():
            self._cursor.execute(begin)
            self._held.execute(self.statements.hold, (hold,))
        self.held = self._held.fetchone()

    def write(self, writes: Writes) -> None:
        self._writes += writes

    def commit(self) -> None:
        with self._pipeline():
            for statement, rows in in_few(self._writes):
                if len(rows) == 1:
                    self._cursor.execute(statement, rows[0])
                else:
                    self._cursor.executemany(statement, rows)
            self._cursor.execute("COMMIT")


def is_near(host: str) -> bool:
    """Whether a server is on this machine: a socket, which is a path or unnamed, or the loopback."""
    return not host or host.startswith(("/", "@", "127.")) or host in ("localhost", "::1")


def in_few(writes: Writes) -> Writes:
    """The same writes in fewer statements: those of a single row, each to a table of its own, are made one."""
    few: Writes = []
    single: dict[str, tuple[str, tuple[Any, ...]]] = {}
    for statement, rows in writes:
        if not rows:
            continue
        table = statement.split('"', 2)[1]
        if table in single:  # parts of one statement do not see what the others write
            few.append(_as_one(single))
            single = {}
        if len(rows) == 1:
            single[table] = (statement, rows[0])
        else:
            few.append((statement, rows))
    return [*few, _as_one(single)] if single else few


def _as_one(single: dict[str, tuple[str, tuple[Any, ...]]]) -> tuple[str, list[tuple[Any, ...]]]:
    # Each but the last becomes a part that nobody reads.
    *others, last = (statement for statement, _ in single.values())
    parts = ", ".join(f'"to {table}" AS ({statement})' for table, statement in zip(single, others, strict=False))
    return (f"WITH {parts} {last}" if parts else last), [tuple(chain.from_iterable(row for _, row in single.values()))]


class PostgresStore(SQLStore):
    """Trials in a database."""

    statements = Statements("%s", among="= ANY(%s)", lock=" FOR UPDATE")
    begin_writing = "BEGIN"
    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    guesses = True

    def __init__(self, url: str, create: bool = False) -> None:
        try:
            address = sa.make_url(url).set(drivername="postgresql+psycopg")
            engine = sa.create_engine(address, hide_parameters=True)
        except (ArgumentError, NoSuchModuleError) as error:
            raise InputError("The store's URL cannot be read; it takes postgresql://user@host/database.") from error
        except ModuleNotFoundError as missing:
            raise InputError("PostgreSQL needs its driver; install bestarm[postgres].") from missing
        super().__init__(engine, address.render_as_string(hide_password=True), keys_beside(None))
        try:
            self._set_up(create)
        except BaseException:
            self.close()
            raise

    def _set_up(self, create: bool) -> None:
        with self._migrating() as connection:
            if not create and version_of(connection) is None:
                raise InputError(f"There is no trial store at {self._place}; create a trial there first.")
            bring_up_to_date(connection)

    def _turn_to_migrate(self, connection: sa.Connection) -> None:
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})

    def _link(self, connection: Any) -> Link:
        connection.autocommit = True  # transactions are begun by us, not by the driver
        return PostgresLink(connection, self.statements)

    def _free(self, connection: Any) -> bool:
        if connection.closed or connection.broken:
            return False
        if connection.pgconn.transaction_status != IDLE:
            connection.rollback()
        return True

    def _give_back(self, connection: Any) -> None:
        connection.autocommit = False

    def _gone(self, error: Exception) -> bool:
        driver: Any = self.engine.dialect.loaded_dbapi
        return isinstance(error, driver.OperationalError)

    def _wake(self, connection: sa.Connection) -> None:
        try:
            connection.execute(sa.text("SELECT 1"))
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            connection.rollback()  # the next statement gets a new connection
            connection.execute(sa.text("SELECT 1"))
