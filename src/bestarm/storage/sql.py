"""The store on a relational database: everything that SQLite and PostgreSQL have in common.

A block of `reading` or `writing` is one transaction (`sql_blocks`) on a connection of the pool, spoken to through its
driver; leaving it in peace commits. How a writer gets its turn differs; see `sqlite` and `postgres`.

A trial's books stay in memory from one `writing` block to the next (`drafts.Known`). A block begins by holding the
trial and reading the number and the hash of its last event; only if they are the ones that memory knows is memory used.
So whatever another process wrote is seen, and a block whose commit failed leaves nothing behind: its books are dropped.
"""

from __future__ import annotations

import os
import weakref
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from bestarm.errors import InputError, NoSuchTrial, OperationError
from bestarm.storage.contract import Book, Reading, Store, Writing
from bestarm.storage.drafts import Known
from bestarm.storage.events import GENESIS, canonical
from bestarm.storage.keys import Keys
from bestarm.storage.sql_blocks import Link, SQLReading, SQLWriting
from bestarm.storage.sql_statements import Statements, book_from, bytes_from, data_from

OF_A_TRIAL = ("state", "tallies", "stages", "assignments", "events")
"""The tables that hold a trial's rows."""
MOST_IDLE: Final = 2
"""Connections that wait for the next block; others go back to the pool, which everybody shares."""


class SQLStore(Store):
    """A store on a database that has a pool of connections; its subclasses say how a writer gets its turn."""

    statements: ClassVar[Statements]
    begin_writing: ClassVar[str]
    begin_reading: ClassVar[str]

    def __init__(self, engine: sa.Engine, place: str, keys: Keys) -> None:
        self.engine = engine
        self.keys = keys
        self._place = place
        self._process = os.getpid()
        self._kept: dict[str, Known] = {}
        self._idle: list[tuple[Any, Any]] = []
        """Connections between two blocks, each with the pool it came from."""
        self._others: list[tuple[Any, Any]] = []
        """Connections of the process that this one was forked from: neither used nor closed here."""
        weakref.finalize(self, _dispose, engine, self._idle, os.getpid())

    @abstractmethod
    def _link(self, connection: Any) -> Link:
        """The driver's connection, ready for a transaction that we begin and end ourselves."""

    @abstractmethod
    def _free(self, connection: Any) -> bool:
        """End what is left of the transaction and hand the connection back as it was; whether it can be used again."""

    @contextmanager
    def _block(self, begin: str, hold: str | None = None) -> Iterator[Link]:
        # Commits when the block is left in peace; turns what the database says into our own errors. It may begin by
        # holding a trial.
        driver: Any = self.engine.dialect.loaded_dbapi
        pooled: Any = None
        try:
            pooled, link = self._begun(begin, hold)
            yield link
            link.commit()
        except driver.IntegrityError as error:
            raise OperationError(f"The store {self._place} refused a change: {_reason(error)}.") from error
        except (driver.Error, SQLAlchemyError) as error:
            raise OperationError(f"The store {self._place} could not be used: {_reason(error)}.") from error
        finally:
            if pooled is not None:
                self._let_go(pooled)

    def _begun(self, begin: str, hold: str | None) -> tuple[Any, Link]:
        driver: Any = self.engine.dialect.loaded_dbapi
        pooled = self._connection()
        try:
            link = self._link(pooled.driver_connection)
            link.begin(begin, hold)
        except driver.Error as error:
            if not self._gone(error):
                self._let_go(pooled)
                raise
            # It was idle while the database went away; nothing has been asked of it yet, so a new one will do.
            pooled.invalidate()
            self.engine.dispose()
            pooled = self._connection()
            link = self._link(pooled.driver_connection)
            link.begin(begin, hold)
        return pooled, link

    def _connection(self) -> Any:
        # One that the last block left, if the pool it came from is still in use: to fetch it there takes longer than
        # many a statement.
        if os.getpid() != self._process:  # forked: the connections are the other process's
            self.engine.dispose(close=False)
            self._others += self._idle
            self._idle.clear()
            self._kept, self._process = {}, os.getpid()
        while self._idle:
            with suppress(IndexError):
                pool, pooled = self._idle.pop()
                if pool is self.engine.pool:
                    return pooled
                pooled.invalidate()
        return self.engine.raw_connection()

    def _gone(self, error: Exception) -> bool:
        """Whether the connection broke, so that another one may do."""
        return False

    def _let_go(self, pooled: Any) -> None:
        if not self._free(pooled.driver_connection):
            pooled.invalidate()
        elif len(self._idle) < MOST_IDLE:
            self._idle.append((self.engine.pool, pooled))
        else:
            pooled.close()

    def names(self) -> list[str]:
        with self._block(self.begin_reading) as link:
            return [name for (name,) in link.execute(self.statements.names)]

    @contextmanager
    def add(self, name: str, design: dict[str, Any], key: bytes) -> Iterator[Writing]:
        taken = f"There is already a trial named {name!r} in {self._place}; choose another name."
        driver: Any = self.engine.dialect.loaded_dbapi
        with self._block(self.begin_writing) as link:
            if link.execute(self.statements.trial, (name,)).fetchone() is not None:
                raise InputError(taken)
            heads = (0, GENESIS, 0, GENESIS)
            try:
                link.execute(
                    self.statements.add_trial, (name, canonical(design), key, *heads, canonical(Book().to_json()))
                )
            except driver.IntegrityError as error:
                raise InputError(taken) from error
            writing = SQLWriting(link, self._trial(link, name))
            yield writing
            writing.flush()

    def remove(self, name: str) -> None:
        with self._block(self.begin_writing, name) as link:
            known = self._held(link, name)
            if known.book.people:
                raise InputError(f"The trial {name!r} has enrolled people; a trial with people in it is kept.")
            for table in OF_A_TRIAL:
                link.execute(self.statements.delete(table, "trial"), (known.row,))
            link.execute(self.statements.delete("trials", "id"), (known.row,))

    @contextmanager
    def writing(self, name: str) -> Iterator[Writing]:
        with self._block(self.begin_writing, name) as link:
            writing = SQLWriting(link, self._held(link, name))
            yield writing
            writing.flush()
        self._kept[name] = writing.settled()

    @contextmanager
    def reading(self, name: str) -> Iterator[Reading]:
        with self._block(self.begin_reading) as link:
            yield SQLReading(link, self._trial(link, name))

    def _held(self, link: Link, name: str) -> Known:
        # The trial, nobody else writing it until the transaction ends: from memory if memory is right.
        known = self._kept.pop(name, None)
        if known is not None and (known.row, known.seq, known.head) == link.held:
            return known
        return self._trial(link, name)

    def _trial(self, link: Link, name: str) -> Known:
        row = link.execute(self.statements.trial, (name,)).fetchone()
        if row is None:
            raise NoSuchTrial(f"There is no trial named {name!r} in {self._place}; `bestarm trial list` names them.")
        number, _, design, key, seq, head, public_seq, public_head, book = row
        return Known(
            number, name, data_from(design), bytes_from(key), seq, head, public_seq, public_head, book_from(book)
        )

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """A transaction over tables that are no trial's: who has access, and what is to be sent."""
        try:
            with self.engine.connect() as connection:
                self._wake(connection)
                yield connection
                connection.commit()
        except SQLAlchemyError as error:
            raise OperationError("The store could not be used.") from error

    def _wake(self, connection: sa.Connection) -> None:
        """Exchange a connection that broke while it was idle."""

    @contextmanager
    def _migrating(self) -> Iterator[sa.Connection]:
        # A transaction in which tables are made or changed.
        try:
            with self.engine.connect() as connection:
                self._turn_to_migrate(connection)
                yield connection
                connection.commit()
        except SQLAlchemyError as error:
            raise OperationError(f"The store {self._place} could not be used: {_reason(error)}.") from error

    @abstractmethod
    def _turn_to_migrate(self, connection: sa.Connection) -> None:
        """Begin the transaction, and let only one at a time through."""

    def close(self) -> None:
        self._kept.clear()
        _dispose(self.engine, self._idle, self._process)


def _dispose(engine: sa.Engine, idle: list[tuple[Any, Any]], process: int) -> None:
    # A process forked from ours must not say goodbye on connections that are still ours.
    with suppress(SQLAlchemyError):
        while idle and os.getpid() == process:
            idle.pop()[1].close()
        engine.dispose(close=os.getpid() == process)


def _reason(error: BaseException) -> str:
    # The driver's own words only: the statement and its parameters may hold outcomes.
    cause = error.orig if isinstance(error, DBAPIError) else error
    return str(cause).strip().splitlines()[0].rstrip(".") if str(cause).strip() else type(error).__name__
