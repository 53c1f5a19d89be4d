"""What is wrong with a store that cannot be used: a sentence for whoever asked, a name for the log.

The sentences are ours. What a database says of itself may name tables and places, and is told to nobody.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

AGAIN: Final = "what was not acknowledged is safe to send again"
FULL: Final = f"The store is full and nothing more is recorded; {AGAIN} once there is room."
READ_ONLY: Final = f"The store can only be read and nothing more is recorded; {AGAIN} once it can be written."
AWAY: Final = f"The store could not be used just now; {AGAIN}."

SENTENCES: Final = {
    "SQLITE_FULL": FULL,
    "SQLITE_READONLY": READ_ONLY,
    "53100": FULL,  # disk_full
    "25006": READ_ONLY,  # read_only_sql_transaction: a server that stands by
}
"""By SQLite's names of its errors (https://sqlite.org/rescode.html) and PostgreSQL's codes (appendix A)."""


@dataclass(frozen=True)
class Failure:
    """Why a store could not be used."""

    name: str
    """The database's own name for it."""
    said: str


def failure_of(error: BaseException) -> Failure | None:
    """Why the store failed, if this error came about because it did."""
    cause = error.__cause__
    if isinstance(cause, DBAPIError):
        cause = cause.orig
    if isinstance(cause, sqlite3.Error):
        name = getattr(cause, "sqlite_errorname", None) or type(cause).__name__
        # SQLITE_READONLY_DBMOVED and the like are kinds of SQLITE_READONLY.
        kind = "_".join(name.split("_")[:2])
        return Failure(name, SENTENCES.get(kind, AWAY))
    if cause is not None and type(cause).__module__.partition(".")[0] == "psycopg":
        code = getattr(cause, "sqlstate", None)
        return Failure(code or type(cause).__name__, SENTENCES.get(code or "", AWAY))
    return Failure(type(cause).__name__, AWAY) if isinstance(cause, SQLAlchemyError) else None
