"""A store in a PostgreSQL database, for a team that shares it. Writers of a trial take turns on a lock of its row."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from bestarm.errors import InputError
from bestarm.storage.keys import keys_beside
from bestarm.storage.migrate import bring_up_to_date, version_of
from bestarm.storage.sql import SQLStore
from bestarm.storage.sql_statements import TRIAL

LOCKED_TRIAL = TRIAL.with_for_update()
MIGRATION_LOCK = 0x6265737461726D
"""One at a time may create or update the tables; the number is "bestarm" in ASCII."""


class PostgresStore(SQLStore):
    """Trials in a database."""

    def __init__(self, url: str, create: bool = False) -> None:
        try:
            address = sa.make_url(url).set(drivername="postgresql+psycopg")
            engine = sa.create_engine(address, pool_pre_ping=True, hide_parameters=True)
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
        with self._block(self._begin_writing) as connection:
            if not create and version_of(connection) is None:
                raise InputError(f"There is no trial store at {self._place}; create a trial there first.")
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
            bring_up_to_date(connection)

    def _begin_writing(self) -> sa.Connection:
        return self.engine.connect()

    def _begin_reading(self) -> sa.Connection:
        return self.engine.connect().execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def _locked_trial(self, connection: sa.Connection, name: str) -> Any:
        return connection.execute(LOCKED_TRIAL, {"name": name}).first()
