"""Where a trial's events live. See `contract` for what every store promises."""

from __future__ import annotations

from pathlib import Path

from bestarm.errors import InputError
from bestarm.storage.contract import Store


def open_store(place: str | Path | Store, create: bool = False) -> Store:
    """The store at a path (an SQLite file) or a database URL; with `create` it may be new."""
    if isinstance(place, Store):
        return place
    text = str(place)
    if text.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        from bestarm.storage.postgres import PostgresStore

        return PostgresStore(text.replace("postgres://", "postgresql://", 1), create)
    if "://" in text:
        raise InputError("The store is a URL of an unknown kind; it takes a path, or a URL postgresql://...")
    if not text:
        raise InputError("The store has no name; it takes a path, or a URL postgresql://...")
    from bestarm.storage.sqlite import SQLiteStore

    return SQLiteStore(text, create)
