"""Edits of a store: of its columns, rows, JSON and log."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.tampering.edit import DEEP, Edit, Tampering, json_variants, said_of
from bestarm.storage.schema import LONGEST_LOG
from bestarm.storage.sql_statements import place_of

OTHER_VALUES: Final = (None, "", "x", "٣", 0, 1, -1, 7.5, 2**62, -(2**63), b"", b"\xff\x00", "{", "[1]", "null", DEEP)
"""What is put into a column in the place of what it held; SQLite takes any of them into any column."""
TABLES: Final = {
    "trials": ("id",),
    "events": ("id",),
    "assignments": ("trial", "number"),
    "stages": ("trial", "number"),
    "tallies": ("trial", "stage", "arm"),
    "state": ("trial", "array"),
}
"""The tables of a trial, and what names a row in each."""
ROWS: Final = 5
"""Rows of a table that are edited column by column, of each trial."""


def _run(statement: str, values: tuple[Any, ...], store: Path) -> None:
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute(statement, values)


class Rows:
    """What a table of the store holds."""

    def __init__(self, store: Path, table: str) -> None:
        self.table = table
        self.key = TABLES[table]
        with contextlib.closing(sqlite3.connect(store)) as connection:
            cursor = connection.execute(f"SELECT * FROM {table}")
            self.columns = [str(column[0]) for column in cursor.description]
            self.rows = [dict(zip(self.columns, row, strict=True)) for row in cursor]
            self.names = dict(connection.execute("SELECT id, name FROM trials").fetchall())

    def number_of(self, row: dict[str, Any]) -> int:
        """The store's number of the trial whose row it is."""
        return int(row["id"] // LONGEST_LOG if self.table == "events" else row[self.key[0]])

    def trial_of(self, row: dict[str, Any]) -> str:
        """The name of that trial."""
        return str(self.names[self.number_of(row)])

    def here(self, row: dict[str, Any]) -> tuple[str, tuple[Any, ...]]:
        """A condition that names the row, and its values."""
        return " AND ".join(f"{name} IS ?" for name in self.key), tuple(row[name] for name in self.key)

    def setting(self, row: dict[str, Any], **values: Any) -> Edit:
        """An edit that sets columns of the row."""
        where, place = self.here(row)
        names = ", ".join(f'"{name}" = ?' for name in values)
        statement = f"UPDATE {self.table} SET {names} WHERE {where}"
        return partial(_run, statement, (*values.values(), *place))

    def chosen(self) -> list[dict[str, Any]]:
        """Some rows of each trial: the first, the last, and others between; of events one of each kind."""
        found: list[dict[str, Any]] = []
        for trial in self.names:
            rows = [row for row in self.rows if self.number_of(row) == trial]
            if self.table == "events":
                found += {row["kind"]: row for row in rows}.values()
            elif rows:
                places = sorted({round(n * (len(rows) - 1) / (ROWS - 1)) for n in range(ROWS)})
                found += [rows[place] for place in places]
        return found


def column_edits(store: Path) -> Iterator[Tampering]:
    """Every column of every table: changed, emptied, of another type, garbled, exchanged with another row's."""
    for table in TABLES:
        rows = Rows(store, table)
        some = rows.chosen()
        for at, row in enumerate(some):
            trial = rows.trial_of(row)
            for column in rows.columns:
                if column in rows.key and column != rows.key[-1]:
                    continue
                place, value = f"{table}.{column}", row[column]
                for other in (*_nearby(value), *OTHER_VALUES):
                    if type(other) is not type(value) or other != value:
                        edit = rows.setting(row, **{column: other})
                        yield Tampering(
                            place, "another value", trial, f"{said_of(value)} becomes {said_of(other)}", edit
                        )
                where, key = rows.here(row)
                torn = f"UPDATE {table} SET {column} = CAST(x'ff' AS TEXT) WHERE {where}"
                yield Tampering(place, "not text", trial, said_of(value), partial(_run, torn, key))
                twin = some[(at + 1) % len(some)]
                if column not in rows.key and twin[column] != value:
                    edit = _both(rows.setting(row, **{column: twin[column]}), rows.setting(twin, **{column: value}))
                    yield Tampering(place, "exchanged", trial, f"{said_of(value)} for {said_of(twin[column])}", edit)


def _nearby(value: Any) -> list[Any]:
    if isinstance(value, int):
        return [value + 1, value - 1, value * 2 + 3]
    if isinstance(value, bytes) and value:
        return [bytes([value[0] ^ 1]) + value[1:], value[:-1], value + b"\0", bytes(len(value))]
    if isinstance(value, str) and value:
        return [value[:-1], value + " ", value.swapcase(), value[::-1]]
    return []


def _both(first: Edit, second: Edit) -> Edit:
    def edit(store: Path) -> None:
        first(store)
        second(store)

    return edit


def row_edits(store: Path) -> Iterator[Tampering]:
    """Rows deleted, doubled, given to another trial, and exchanged whole."""
    for table in TABLES:
        rows = Rows(store, table)
        some = rows.chosen()
        for at, row in enumerate(some):
            where, place = rows.here(row)
            trial = rows.trial_of(row)
            gone = partial(_run, f"DELETE FROM {table} WHERE {where}", place)
            yield Tampering(table, "deleted", trial, str(place), gone)
            again = _elsewhere(rows, row, rows.number_of(row)) | ({"name": "again"} if table == "trials" else {})
            yield Tampering(table, "doubled", trial, str(place), _inserting(table, again))
            if table != "trials":
                other = next(number for number in rows.names if number != rows.number_of(row))
                edit = _both(gone, _inserting(table, _elsewhere(rows, row, other)))
                yield Tampering(table, "moved", trial, f"{place} to {rows.names[other]}", edit)
            twin = some[(at + 1) % len(some)]
            content = [name for name in rows.columns if name not in rows.key and name not in ("name", "seq")]
            if any(row[name] != twin[name] for name in content):
                edit = _both(
                    rows.setting(row, **{name: twin[name] for name in content}),
                    rows.setting(twin, **{name: row[name] for name in content}),
                )
                yield Tampering(table, "exchanged", trial, f"{place} for {rows.here(twin)[1]}", edit)


def _elsewhere(rows: Rows, row: dict[str, Any], trial: int) -> dict[str, Any]:
    # The row again, in this trial, where there is none.
    if rows.table == "events":
        seq = max(one["seq"] for one in rows.rows) + 1
        return row | {"id": place_of(trial, seq), "seq": seq}
    return row | ({} if rows.table == "trials" else {"trial": trial}) | {rows.key[-1]: _unused(rows, row)}


def _unused(rows: Rows, row: dict[str, Any]) -> Any:
    value = row[rows.key[-1]]
    return f"{value}2" if isinstance(value, str) else max(one[rows.key[-1]] for one in rows.rows) + 1


def _inserting(table: str, row: dict[str, Any]) -> Edit:
    names = ", ".join(f'"{name}"' for name in row)
    statement = f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})"
    return partial(_run, statement, tuple(row.values()))


def json_edits(store: Path) -> Iterator[Tampering]:
    """Each entry of every JSON column: another value, another type, taken out; and entries that nobody wrote."""
    for table, column in (
        ("trials", "design"),
        ("trials", "book"),
        ("events", "body"),
        ("events", "secret"),
        ("stages", "weights"),
        ("stages", "releases"),
        ("stages", "terms"),
    ):
        rows = Rows(store, table)
        for row in rows.chosen():
            if row[column] is None:
                continue
            data = json.loads(row[column])
            for said, other in json_variants(data):
                edit = rows.setting(row, **{column: json.dumps(other)})
                yield Tampering(f"{table}.{column}", "in the JSON", rows.trial_of(row), said, edit)


def log_edits(store: Path) -> Iterator[Tampering]:
    """Events left out with the rest renumbered, doubled, exchanged, and the log's tail cut off."""
    rows = Rows(store, "events")
    for number, name in rows.names.items():
        log = [row for row in rows.rows if rows.number_of(row) == number]
        for at in range(0, len(log), max(1, len(log) // 12)):
            variants = {
                "left out": log[:at] + log[at + 1 :],
                "doubled": log[: at + 1] + log[at:],
                "cut off": log[: at + 1],
                "first ones left out": log[at + 1 :],
            }
            if at + 1 < len(log):
                variants["exchanged"] = [*log[:at], log[at + 1], log[at], *log[at + 2 :]]
            for kind, changed in variants.items():
                if changed != log:
                    yield Tampering("the log", kind, str(name), f"at event {at + 1}", _relogged(number, changed))
    first, second = list(rows.names)[:2]
    for column in ("name", "key", "design", "book", "head", "seq", "public_head", "public_seq"):
        yield Tampering("two trials", f"exchange their {column}", "batched", "", _exchanged(first, second, column))
    for table in tuple(TABLES)[1:]:
        yield Tampering("two trials", f"exchange their {table}", "batched", "", _exchanged_rows(first, second, table))


def _relogged(trial: int, log: list[dict[str, Any]]) -> Edit:
    def edit(store: Path) -> None:
        _run("DELETE FROM events WHERE id / ? = ?", (LONGEST_LOG, trial), store)
        for seq, row in enumerate(log, 1):
            _inserting("events", row | {"id": place_of(trial, seq), "seq": seq})(store)

    return edit


def _exchanged(first: int, second: int, column: str) -> Edit:
    def edit(store: Path) -> None:
        values = {row["id"]: row[column] for row in Rows(store, "trials").rows}
        for value, trial in (("between", first), (values[first], second), (values[second], first)):
            _run(f"UPDATE trials SET {column} = ? WHERE id = ?", (value, trial), store)

    return edit


def _exchanged_rows(first: int, second: int, table: str) -> Edit:
    def edit(store: Path) -> None:
        for old, new in ((first, -1), (second, first), (-1, second)):
            if table == "events":
                here = (place_of(old, 0), place_of(old + 1, 0))
                _run("UPDATE events SET id = id + ? WHERE id > ? AND id < ?", (place_of(new - old, 0), *here), store)
            else:
                _run(f"UPDATE {table} SET trial = ? WHERE trial = ?", (new, old), store)

    return edit
