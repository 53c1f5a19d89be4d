"""The store on a relational database: everything that SQLite and PostgreSQL have in common.

A block of `reading` or `writing` is one transaction (`sql_blocks`) on a connection of the pool, spoken to through its
driver; leaving it in peace commits. How a writer gets its turn differs; see `sqlite` and `postgres`.

A trial's books stay in memory from one `writing` block to the next (`drafts.Known`). A block begins by holding the
trial and reading the number and the hash of its last event; only if they are the ones that memory knows is memory used.
So whatever another process wrote is seen, and a block whose commit failed leaves nothing behind: its books are dropped.
Whoever has nothing in memory reads the trial, and enters the events that its tables are behind (`behind`).
"""

from __future__ import annotations

import os
import weakref
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from bestarm.errors import InputError, NoSuchTrial, OperationError
from bestarm.storage.behind import caught_up, follow
from bestarm.storage.contract import Book, Reading, Store, Writing
from bestarm.storage.drafts import Known
from bestarm.storage.events import GENESIS, canonical
from bestarm.storage.guessing import GuessedBlock
from bestarm.storage.keys import Keys
from bestarm.storage.sql_blocks import SQLPublicReading, SQLReading, SQLWriting
from bestarm.storage.sql_statements import Statements, book_from, bytes_from, data_from, places_after
from bestarm.storage.sql_tables import Link, Tables

OF_A_TRIAL = ("state", "tallies", "stages", "assignments")
"""The tables that hold a trial's rows, beside the log."""
MOST_IDLE: Final = 2
"""Connections that wait for the next block; others go back to the pool, which everybody shares."""


class Block(AbstractContextManager[Link]):
    """One transaction: committed when the block is left in peace, and whatever the database says is an error of ours.

    It may begin by holding a trial.
    """

    __slots__ = ("_begin", "_hold", "_link", "_pooled", "_store")

    def __init__(self, store: SQLStore, begin: str, hold: str | None = None) -> None:
        self._store, self._begin, self._hold = store, begin, hold

    def __enter__(self) -> Link:
        self._pooled, self._link = self._store._begun(self._begin, self._hold)
        return self._link

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            if error is None:
                self._link.commit()
            else:
                self._store._say(error)
        except Exception as failure:
            self._store._say(failure)
            raise
        finally:
            self._store._let_go(self._pooled, self._link)


class WritingBlock(AbstractContextManager[Writing]):
    """A block that holds a trial for writing, and writes what changed of it at its end."""

    __slots__ = ("_link", "_name", "_pooled", "_store", "_writing")

    def __init__(self, store: SQLStore, name: str) -> None:
        self._store, self._name = store, name

    def __enter__(self) -> Writing:
        store = self._store
        self._pooled, self._link = store._begun(store.begin_writing, self._name)
        try:
            self._writing = SQLWriting(self._link, store._held(self._link, self._name))
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self._writing

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            if error is None:
                self._writing.flush()
                self._link.commit()
            else:
                self._store._say(error)
        except Exception as failure:
            self._store._say(failure)
            raise
        finally:
            self._store._let_go(self._pooled, self._link)
        if error is None:
            self._store._kept[self._name] = self._writing.settled()


class SQLStore(Store):
    """A store on a database that has a pool of connections; its subclasses say how a writer gets its turn."""

    statements: ClassVar[Statements]
    begin_writing: ClassVar[str]
    begin_reading: ClassVar[str]
    guesses: ClassVar[bool] = False
    """Whether blocks without a lock are worth it: where a statement is a message to a server."""

    def __init__(self, engine: sa.Engine, place: str, keys: Keys) -> None:
        self.engine = engine
        self.keys = keys
        self._place = place
        self._process = os.getpid()
        self._kept: dict[str, Known] = {}
        self.driver: Any = engine.dialect.loaded_dbapi
        self._idle: list[tuple[Any, Any, Link]] = []
        """Connections between two blocks, each with the pool it came from."""
        self._others: list[tuple[Any, Any, Link]] = []
        """Connections of the process that this one was forked from: neither used nor closed here."""
        weakref.finalize(self, _dispose, engine, self._idle, os.getpid())

    @abstractmethod
    def _link(self, connection: Any) -> Link:
        """The driver's connection, ready for transactions that we begin and end ourselves."""

    @abstractmethod
    def _free(self, connection: Any) -> bool:
        """End what is left of a transaction; whether the connection can be used again."""

    def _give_back(self, connection: Any) -> None:
        """Make a connection what it was before `_link`: the pool lends it to others too."""

    def _block(self, begin: str, hold: str | None = None) -> Block:
        return Block(self, begin, hold)

    def _begun(self, begin: str, hold: str | None) -> tuple[Any, Link]:
        try:
            pooled, link = self._connection()
            try:
                link.begin(begin, hold)
            except self.driver.Error as error:
                pooled, link = self._another(error, pooled, link)
                link.begin(begin, hold)
        except Exception as error:
            self._say(error)
            raise
        return pooled, link

    def _another(self, error: Exception, pooled: Any, link: Link) -> tuple[Any, Link]:
        # A connection in the place of one that failed at the first thing that was asked of it. If it was idle while the
        # database went away, nothing has happened yet, and a new one will do.
        if not self._gone(error):
            self._let_go(pooled, link)
            raise error
        pooled.invalidate()
        self.engine.dispose()
        return self._connection()

    def _connection(self) -> tuple[Any, Link]:
        # One that the last block left, if the pool it came from is still in use: to fetch it there takes longer than
        # many a statement.
        if os.getpid() != self._process:  # forked: the connections are the other process's
            self.engine.dispose(close=False)
            self._others += self._idle
            self._idle.clear()
            self._kept, self._process = {}, os.getpid()
        while self._idle:
            try:
                pool, pooled, link = self._idle.pop()
            except IndexError:  # another thread took it
                break
            if pool is self.engine.pool:
                return pooled, link
            pooled.invalidate()
        pooled = self.engine.raw_connection()
        return pooled, self._link(pooled.driver_connection)

    def _gone(self, error: Exception) -> bool:
        """Whether the connection broke, so that another one may do."""
        return False

    def _let_go(self, pooled: Any, link: Link) -> None:
        if not self._free(link.connection):
            pooled.invalidate()
        elif len(self._idle) < MOST_IDLE:
            self._idle.append((self.engine.pool, pooled, link))
        else:
            self._give_back(link.connection)
            pooled.close()

    def _say(self, error: BaseException) -> None:
        """Raise what the database said as an error of ours, and nothing for whatever else happened."""
        if isinstance(error, self.driver.IntegrityError):
            raise OperationError(f"The store {self._place} refused a change: {_reason(error)}.") from error
        if isinstance(error, self.driver.Error | SQLAlchemyError):
            raise OperationError(f"The store {self._place} could not be used: {_reason(error)}.") from error

    def names(self) -> list[str]:
        with self._block(self.begin_reading) as link:
            return [name for (name,) in link.execute(self.statements.names)]

    @contextmanager
    def add(self, name: str, design: dict[str, Any], key: bytes) -> Iterator[Writing]:
        taken = f"There is already a trial named {name!r} in {self._place}; choose another name."
        with self._block(self.begin_writing) as link:
            if link.execute(self.statements.trial, (name,)).fetchone() is not None:
                raise InputError(taken)
            heads, books = (0, GENESIS, 0, GENESIS), (canonical(Book().to_json()), 0, 0)
            try:
                link.execute(self.statements.add_trial, (name, canonical(design), key, *heads, *books))
            except self.driver.IntegrityError as error:
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
            link.execute(self.statements.delete_events, places_after(known.row, 0)[1:])
            link.execute(self.statements.delete("trials", "id"), (known.row,))

    def writing(self, name: str, guess: bool = False) -> AbstractContextManager[Writing]:
        if guess and self.guesses and os.getpid() == self._process:
            known = self._kept.pop(name, None)
            if known is not None and known.alone:
                return GuessedBlock(self, known)
            if known is not None:
                self._kept[name] = known
        return WritingBlock(self, name)

    @contextmanager
    def reading(self, name: str, publicly: bool = False) -> Iterator[Reading]:
        with self._block(self.begin_reading) as link:
            known = self._trial(link, name)
            yield SQLPublicReading(link, known) if publicly else SQLReading(link, known)

    def _held(self, link: Link, name: str) -> Known:
        # The trial, nobody else writing it until the transaction ends: from memory if memory is right.
        known = self._kept.pop(name, None)
        if known is not None and known.marks() == link.held:
            known.alone = True
            return known
        if known is not None and link.held is not None and follow(Tables(link, known.row), known, link.held):
            return known
        known = self._trial(link, name)
        known.book, known.behind = caught_up(Tables(link, known.row), known)
        known.rows.enter(known.behind)
        return known

    def _trial(self, link: Link, name: str) -> Known:
        row = link.execute(self.statements.trial, (name,)).fetchone()
        if row is None:
            raise NoSuchTrial(f"There is no trial named {name!r} in {self._place}; `bestarm trial list` names them.")
        number, _, design, key, seq, head, public_seq, public_head, text, books_seq, joins_seq = row
        heads, book = (seq, head, public_seq, public_head), book_from(text)
        return Known(number, name, data_from(design), bytes_from(key), *heads, book, books_seq, joins_seq, book.people)

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

    def rows(self, statement: str, parameters: Any) -> list[tuple[Any, ...]]:
        """What a query finds in such tables, said as the driver takes it. For what is asked very often: the query is
        its whole transaction, so that none is begun and ended."""
        try:
            pooled, link = self._connection()
            try:
                found = link.execute(statement, parameters).fetchall()
            except self.driver.Error as error:
                pooled, link = self._another(error, pooled, link)
                found = link.execute(statement, parameters).fetchall()
        except Exception as error:
            self._say(error)
            raise
        self._let_go(pooled, link)
        return list(found)

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


def _dispose(engine: sa.Engine, idle: list[tuple[Any, Any, Link]], process: int) -> None:
    # A process forked from ours must not say goodbye on connections that are still ours.
    with suppress(SQLAlchemyError):
        while idle and os.getpid() == process:
            idle.pop()[1].close()
        engine.dispose(close=os.getpid() == process)


def _reason(error: BaseException) -> str:
    # The driver's own words only: the statement and its parameters may hold outcomes.
    cause = error.orig if isinstance(error, DBAPIError) else error
    return str(cause).strip().splitlines()[0].rstrip(".") if str(cause).strip() else type(error).__name__
