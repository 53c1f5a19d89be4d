"""What a live trial is compared with: a database that only commits, one that only inserts, and Optuna's storages.

Each contender has `pairs(n)`: n pairs of ask and tell, or what stands for them, every one of them durable.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from pathlib import Path
from typing import Any, Protocol

from bestarm.storage import open_store
from bestarm.storage.sql_statements import place_of
from bestarm.trial.policy_state import TAKEN_AFTER
from bestarm.trial.trial import Trial

BYTES = b"x" * 400
"""What a raw commit writes."""
SETTLED = 600
"""Pairs after which a raw database has filled its write-ahead log once. A trial, which writes more, has by then."""


class Contender(Protocol):
    """Something that can be timed."""

    def pairs(self, count: int) -> None: ...


class Ours:
    """One person after another asks and tells."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self._label = secrets.token_hex(4)  # whoever asked before would only get the same answer again
        self._people = 0

    def pairs(self, count: int) -> None:
        """Single calls."""
        for _ in range(count):
            self._people += 1
            asked = self.trial.ask(f"{self._label} {self._people}")
            if asked.id is None:
                raise RuntimeError("the trial stopped before the measurement was over")
            self.trial.tell(asked.id, self._people % 2)


class OursInBulk(Ours):
    """The same people in two calls."""

    def pairs(self, count: int) -> None:
        """Bulk calls."""
        asked = self.trial.ask_many([f"{self._label} {self._people + n}" for n in range(count)])
        self._people += count
        self.trial.tell_many([(one.id, n % 2) for n, one in enumerate(asked)])


class RawSQLite:
    """Two commits of 400 bytes for each pair, write-ahead log, synchronous=FULL."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute("CREATE TABLE raw (id INTEGER PRIMARY KEY, bytes BLOB)")
        self.pairs(SETTLED)  # from here on its log is written over, which is quicker than letting it grow

    def pairs(self, count: int) -> None:
        """Commits."""
        for _ in range(2 * count):
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("INSERT INTO raw (bytes) VALUES (?)", (BYTES,))
            self._connection.execute("COMMIT")


class RawPostgres:
    """The same on PostgreSQL."""

    def __init__(self, url: str) -> None:
        import psycopg

        self._connection: Any = psycopg.connect(url, autocommit=True)
        self._connection.execute("CREATE TABLE raw (id SERIAL PRIMARY KEY, bytes BYTEA)")

    def pairs(self, count: int) -> None:
        """Commits."""
        for _ in range(2 * count):
            self._connection.execute("BEGIN")
            self._connection.execute("INSERT INTO raw (bytes) VALUES (%s)", (BYTES,))
            self._connection.execute("COMMIT")


class Optuna:
    """Optuna's ask and tell, without a parameter: the least that it writes."""

    def __init__(self, storage: Any) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler())

    @classmethod
    def journal(cls, folder: Path) -> Optuna:
        """On its journal file."""
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        return cls(JournalStorage(JournalFileBackend(str(folder / "optuna.log"))))

    @classmethod
    def rdb(cls, folder: Path) -> Optuna:
        """On SQLite."""
        return cls(f"sqlite:///{folder / 'optuna.db'}")

    def pairs(self, count: int) -> None:
        """Single calls."""
        for number in range(count):
            self._study.tell(self._study.ask(), number % 2)


class SameRows:
    """The events and assignments of a trial, inserted into an empty store as fast as the database allows."""

    def __init__(self, source: Path, copy: Path) -> None:
        open_store(copy, create=True).close()
        self._read, self._write = sqlite3.connect(source), sqlite3.connect(copy, isolation_level=None)
        self._write.execute("PRAGMA synchronous=FULL")
        trial = self._read.execute("SELECT * FROM trials").fetchone()
        self._insert("trials", [trial])
        self._seq, self._people = 0, 0

    def insert(self, bulk: int) -> tuple[float, float]:
        """Insert whatever the trial got since the last time, a commit for each `bulk` of people to be asked and one to
        be told; the seconds that takes, and those of the processor alone."""
        events = self._read.execute("SELECT * FROM events WHERE seq > ? ORDER BY seq", (self._seq,)).fetchall()
        people = self._read.execute("SELECT * FROM assignments WHERE number > ?", (self._people,)).fetchall()
        self._seq, self._people = self._seq + len(events), self._people + len(people)
        start = (time.perf_counter(), time.process_time())
        for first in range(0, len(people), bulk):
            for half in (0, 1):
                self._write.execute("BEGIN IMMEDIATE")
                begin = 2 * first + half * bulk
                last = half == 1 and first + bulk >= len(people)  # and what opened, closed and released stages
                self._insert("events", events[begin : None if last else begin + bulk])
                if not half:
                    self._insert("assignments", people[first : first + bulk])
                self._write.execute("COMMIT")
        return time.perf_counter() - start[0], time.process_time() - start[1]

    def _insert(self, table: str, rows: list[Any]) -> None:
        if rows:
            self._write.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)

    def close(self) -> None:
        """Let go of both stores."""
        self._read.close()
        self._write.close()


def fill_up(path: Path, people: int) -> None:
    """Make a trial of a closed store as large as if so many people had been enrolled and their outcomes told: copies
    of its last rows, at the price of inserting them. Its log is no whole chain any more: good for timing alone."""
    store = sqlite3.connect(path, isolation_level=None)
    trial, seq, text, written = store.execute("SELECT id, seq, book, books_seq FROM trials").fetchone()
    if written != seq:
        raise RuntimeError("the store's tables are behind its log; copies of their rows would be wrong")
    book = json.loads(text)
    events = store.execute(
        "SELECT * FROM events WHERE id < ? ORDER BY id DESC LIMIT 2", (place_of(trial + 1, 0),)
    ).fetchall()
    person = store.execute("SELECT * FROM assignments WHERE trial = ? ORDER BY number DESC", (trial,)).fetchone()
    more = range(1, people - book["people"] + 1)
    store.execute("BEGIN")
    marks = ", ".join("?" * len(events[0]))
    store.executemany(
        f"INSERT INTO events VALUES ({marks})",
        ((place_of(trial, seq + 2 * n - k), seq + 2 * n - k, *events[k][2:]) for n in more for k in (1, 0)),
    )
    rows = ((trial, book["people"] + n, secrets.token_hex(16), *person[3:]) for n in more)
    store.executemany(f"INSERT INTO assignments VALUES ({', '.join('?' * len(person))})", rows)
    book["people"] += len(more)
    last = seq + 2 * len(more)
    marks = "seq = ?1, books_seq = ?1, joins_seq = ?1"
    store.execute(f"UPDATE trials SET {marks}, book = ?2", (last, json.dumps(book)))
    store.execute("UPDATE state SET bytes = ? WHERE array = ?", (b"%d" % last, TAKEN_AFTER))
    store.execute("COMMIT")
    store.close()
