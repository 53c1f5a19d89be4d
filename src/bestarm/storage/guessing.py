"""Blocks without a lock: written on the guess that nobody else has written, which a single statement puts to the test.

To begin a transaction, hold the trial, write and commit are four messages to a server, and three of them only make sure
of what is nearly always so. A guessed block begins with nothing but the books in memory, and hears its requests on
them. At its end

- a block of one plain event (`bestarm.storage.behind`) is one statement, and so one transaction: move the trial's heads
  from the event that memory stands at to the new one, and add the event if that found its row. The row's lock makes
  writers take turns as they do elsewhere: a statement that had to wait for another writer looks at the row again, finds
  another head, and does nothing. Nothing deadlocks, since the row is locked before anything else;
- any other block that wrote something begins a transaction and holds the trial only now, and goes on only if the heads
  are still the ones in memory. What it then writes in rows was worked out from the very state that the store is in;
- a block that wrote nothing (a refusal, a repeated request), or that raised, asks whether the heads are still those.

If they are not, or if the database says anything that it should not, `Overtaken` is raised in the place of whatever the
block did: nothing of it is there, nobody has seen any of it, memory is dropped, and the request is to be heard again in
a block that holds the trial from its beginning. A statement whose answer was lost may have been done; then the event is
in the log, and the request, heard again, finds it there. What is read inside a guessed block may be newer than memory;
then somebody has written, and the end of the block says so.

Two processes that write in turns would guess wrong each time: a block guesses only if memory was found right by the one
before it (`Known.alone`).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from bestarm.storage.contract import Overtaken, Writing
from bestarm.storage.drafts import Known
from bestarm.storage.sql_blocks import SQLWriting

if TYPE_CHECKING:
    from bestarm.storage.sql import SQLStore


class GuessedBlock(AbstractContextManager[Writing]):
    """A block on the books in memory; raises Overtaken at its end if they were not the latest."""

    __slots__ = ("_known", "_link", "_pooled", "_store", "_was", "_writing")

    def __init__(self, store: SQLStore, known: Known) -> None:
        self._store, self._known = store, known
        self._was = known.marks()

    def __enter__(self) -> Writing:
        try:
            self._pooled, self._link = self._store._connection()
        except Exception as error:
            self._store._say(error)
            raise
        self._writing = SQLWriting(self._link, self._known)
        return self._writing

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None and not isinstance(error, Exception):
            self._store._let_go(self._pooled, self._link)
            return
        right = False
        try:
            # What the database said in the block, or a part of it that could not be told, ends as a wrong guess does.
            with suppress(self._store.driver.Error, SQLAlchemyError):
                right = self._written() if error is None else self._still_so()
        finally:
            self._store._let_go(self._pooled, self._link)
        if not right or isinstance(error, self._store.driver.Error | SQLAlchemyError):
            raise Overtaken from error
        if error is None:
            self._store._kept[self._known.name] = self._writing.settled()

    def _still_so(self) -> bool:
        found = self._link.execute(self._store.statements.look, (self._known.name,)).fetchone()
        return found is not None and tuple(found) == self._was

    def _written(self) -> bool:
        alone = self._writing.as_one_statement(self._was)
        if alone is not None:
            return bool(self._link.execute(self._store.statements.append, alone).rowcount == 1)
        if not self._writing.wrote():
            return self._still_so()
        self._link.begin(self._store.begin_writing, self._known.name)
        if self._link.held != self._was:
            return False
        self._writing.flush()
        self._link.commit()
        return True
