"""A store in a PostgreSQL database, for a team that shares it. Writers of a trial take turns on a lock of its row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from bestarm.errors import InputError
from bestarm.storage.keys import keys_beside
from bestarm.storage.migrate import bring_up_to_date, version_of
from bestarm.storage.sql import SQLStore
from bestarm.storage.sql_blocks import Link, Writes
from bestarm.storage.sql_statements import Statements

MIGRATION_LOCK: Final = 0x6265737461726D
"""One at a time may create or update the tables; the number is "bestarm" in ASCII."""

IDLE: Final = 0
"""The driver's word for a connection outside of any transaction."""
AT_ONCE: Final = 1000
"""Rows of a long table that are fetched together."""


class PostgresLink(Link):
    """A connection to PostgreSQL, on which statements need not wait for each other's answers."""

    def __init__(self, connection: Any, statements: Statements) -> None:
        super().__init__(connection, statements)
        self._writes: Writes = []

    def stream(self, statement: str, *parameters: Any) -> Iterator[tuple[Any, ...]]:
        with self.connection.cursor(name=f"stream_{id(object())}") as cursor:
            cursor.itersize = AT_ONCE
            yield from cursor.execute(statement, parameters)

    def begin(self, begin: str, hold: str | None) -> None:
        self._writes, self.held = [], None
        if hold is None:
            self.execute(begin)
            return
        from psycopg import ClientCursor

        cursor = ClientCursor(self.connection)  # both statements in one message
        cursor.execute(f"{begin}; {self.statements.hold}", (hold,))
        cursor.nextset()
        self.held = cursor.fetchone()

    def write(self, writes: Writes) -> None:
        self._writes += writes

    def commit(self) -> None:
        if not self._writes:
            self.execute("COMMIT")
            return
        with self.connection.pipeline():
            for statement, rows in self._writes:
                if len(rows) == 1:
                    self.execute(statement, rows[0])
                elif rows:
                    with self.connection.cursor() as cursor:
                        cursor.executemany(statement, rows)
            self.execute("COMMIT")


class PostgresStore(SQLStore):
    """Trials in a database."""

    statements = Statements("%s", lock=" FOR UPDATE")
    begin_writing = "BEGIN"
    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

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
