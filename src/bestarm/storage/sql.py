"""The store on a relational database: everything that SQLite and PostgreSQL have in common.

A block of `reading` or `writing` is one transaction (`sql_blocks`); leaving it in peace commits. How a writer gets its
turn differs; see `sqlite` and `postgres`.
"""

from __future__ import annotations

import os
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from bestarm.errors import InputError, OperationError
from bestarm.storage import schema
from bestarm.storage.contract import Book, Reading, Store, Writing
from bestarm.storage.events import GENESIS, canonical
from bestarm.storage.keys import Keys
from bestarm.storage.sql_blocks import SQLReading, SQLWriting
from bestarm.storage.sql_statements import NAMES, TRIAL, book_from


class SQLStore(Store):
    """A store on any database that SQLAlchemy reaches; its subclasses say how a writer gets its turn."""

    def __init__(self, engine: sa.Engine, place: str, keys: Keys) -> None:
        self.engine = engine
        self.keys = keys
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
            return list(connection.execute(NAMES).scalars())

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
            if book_from(row.book).people:
                raise InputError(f"The trial {name!r} has enrolled people; a trial with people in it is kept.")
            for table in (schema.state, schema.tallies, schema.stages, schema.assignments, schema.events):
                connection.execute(sa.delete(table).where(table.c.trial == row.id))
            connection.execute(sa.delete(schema.trials).where(schema.trials.c.id == row.id))

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

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """A transaction over tables that are no trial's: who has access, and what is to be sent."""
        try:
            with self.engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise OperationError("The store could not be used.") from error

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
