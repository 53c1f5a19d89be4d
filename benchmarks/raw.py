"""What the disk itself allows: commits of 400 bytes, one after the other, on either database, nothing else done."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import psycopg

ROW = "x" * 400
SECONDS = 3.0


def sqlite_commits(folder: Path) -> float:
    """Commits a second: write-ahead log, synchronous=FULL, as the store has it."""
    connection = sqlite3.connect(folder / f"raw-{time.time_ns()}.db", isolation_level=None)
    for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE raw (row TEXT)"):
        connection.execute(statement)
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO raw VALUES (?)", (ROW,))
        connection.execute("COMMIT")
        count += 1
    rate = count / (time.perf_counter() - began)
    connection.close()
    return rate


def postgres_commits(url: str) -> float:
    """Commits a second on a database as it is."""
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS raw (row TEXT)")
        connection.commit()
        count, began = 0, time.perf_counter()
        while time.perf_counter() - began < SECONDS:
            connection.execute("INSERT INTO raw VALUES (%s)", (ROW,))
            connection.commit()
            count += 1
        rate = count / (time.perf_counter() - began)
        connection.execute("DROP TABLE raw")
    return rate
