"""Edits of stored trials and of public exports, each followed by `verify`: what goes unnoticed, what is a traceback.

Run from the project's root: python -m benchmarks.tampering [--each 30] [--unnoticed]
Prints a table: where the edits were made and of what kind, how many, how many `bestarm trial verify` (for exports
`verify-public`) noticed, how many changed nothing that anybody reads, how many changed something and went unnoticed,
and how many ended in a traceback. Exit status 1 if there is any of the last two kinds.

The trials lie in one SQLite file and have one of everything in them: batches, coins, follow-ups, replacements, local
privacy. Every table and every column is edited: values changed, emptied, of another type, garbled, exchanged between
rows and between trials; events deleted, doubled, reordered, cut off; and each entry of every kind of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import csv
import io
import json
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.trial.people import DAY, Clock, enrol

from bestarm.cli import main as bestarm
from bestarm.errors import BestArmError
from bestarm.storage import open_store
from bestarm.trial.exchange import CHAIN
from bestarm.trial.trial import Trial

MEANS: Final = {"low": 0.2, "=mid": 0.5, "high": 0.9}
DEEP: Final = "[" * 3000
OTHER_VALUES: Final = (None, "", "x", "٣", 0, 1, -1, 7.5, 2**62, -(2**63), b"", b"\xff\x00", "{", "[1]", "null", DEEP)
"""What is put into a column in the place of what it held; SQLite takes any of them into any column."""
OTHER_JSON: Final[tuple[Any, ...]] = (
    "\ud800",
    None,
    True,
    0,
    -1,
    1.5,
    2**70,
    "",
    "x",
    "2031-01-01T00:00:00+00:00",
    [],
    [0],
    {},
    {"a": 1},
)
"""What is put into JSON in the place of an entry."""
TABLES: Final = {
    "trials": ("id",),
    "events": ("trial", "seq"),
    "assignments": ("trial", "number"),
    "stages": ("trial", "number"),
    "tallies": ("trial", "stage", "arm"),
    "state": ("trial", "array"),
}
"""The tables of a trial, and what names a row in each."""
ROWS: Final = 5
"""Rows of a table that are edited column by column, of each trial."""

Edit: TypeAlias = Callable[[Path], None]


@dataclass(frozen=True)
class Tampering:
    """One edit: where it is made, of what kind it is, of which trial, and in words."""

    place: str
    kind: str
    trial: str
    said: str
    edit: Edit


def batched(store: Path) -> None:
    """A trial by batches: a pause, a withdrawal, a correction, an outcome told again, codes that were wrong."""
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 1, "delta": "0.1", "algorithm": "adap-tt"}
    with Trial.create(store, name="batched", outcomes="binary", **plan) as trial:
        enrol(trial, MEANS, 24)
        trial.pause("stock")
        trial.resume()
        asked = [str(one.id) for one in trial.ask_many(["p", "q", "r"])]
        trial.withdraw(asked[0], "moved away")
        trial.tell(asked[1], 1)
        trial.correct(asked[1], 0, "slip")
        trial.tell(asked[1], 1, actor="ward 2", guarded=True)
        trial.relabel(asked[2], "s", "misread")
        trial.void(str(trial.ask("t").id), "s", "entered twice")


def visits(store: Path) -> None:
    """A trial with a follow-up, outcomes on a scale, late ones, withdrawals and several contributions."""
    clock = Clock()
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 1, "delta": "0.1", "algorithm": "uniform"}
    plan |= {"follow_up": "7d", "contributions": 2, "low": 0, "high": 100}
    with Trial.create(store, name="visits", clock=clock, **plan) as trial:
        for person in range(16):
            asked = str(trial.ask(f"p-{person % 11}").id)
            if person == 6:
                trial.withdraw(asked)
            elif person % 4:
                trial.tell(asked, 12.5 * (person % 8))
            clock.move(1.2 * DAY)
        clock.move(9 * DAY)
        trial.advance()
        trial.tell(asked, 99, actor="ward 2", guarded=True)
        trial.tell(str(trial.ask("p-7").id), 50, actor="ward 2", guarded=True)


def replaced(store: Path) -> None:
    """A trial without a follow-up, in which people who withdraw are replaced."""
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 1, "delta": "0.1", "algorithm": "uniform"}
    with Trial.create(store, name="replaced", withdrawal="replace", allocation="fixed", **plan) as trial:
        enrol(trial, MEANS, 5)
        trial.withdraw(str(trial.ask("p").id))
        enrol(trial, MEANS, 4, first=100)


def coins(store: Path) -> None:
    """A trial of the default algorithm."""
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 1, "delta": "0.1"}
    with Trial.create(store, name="coins", outcomes="binary", **plan) as trial:
        enrol(trial, MEANS, 40)


def ended(store: Path) -> None:
    """A trial that a person ended, under local privacy."""
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 1, "delta": "0.1", "algorithm": "fixed"}
    plan |= {"difference": "0.2", "base": "0.5"}
    with Trial.create(store, name="ended", privacy="local", outcomes="binary", **plan) as trial:
        enrol(trial, MEANS, 9)
        trial.end("harm")


def decided(store: Path) -> None:
    """A trial that its evidence stopped."""
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 10, "delta": "0.4", "algorithm": "fixed"}
    plan |= {"difference": "0.5", "base": "0.3"}
    with Trial.create(store, name="decided", outcomes="binary", **plan) as trial:
        enrol(trial, MEANS, 3000)
        assert trial.verdict is not None


MADE: Final = (batched, visits, replaced, coins, ended, decided)


def made(folder: Path) -> Path:
    """A store with all these trials; its file."""
    store = folder / "trials.db"
    for make in MADE:
        make(store)
    with contextlib.closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return store


def _run(statement: str, values: tuple[Any, ...], store: Path) -> None:
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute(statement, values)


def _said(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else f"{text[:36]}..."


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

    def trial_of(self, row: dict[str, Any]) -> str:
        """The name of the trial whose row it is."""
        return str(self.names[row[self.key[0]]])

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
            rows = [row for row in self.rows if row[self.key[0]] == trial]
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
                        yield Tampering(place, "another value", trial, f"{_said(value)} becomes {_said(other)}", edit)
                where, key = rows.here(row)
                torn = f"UPDATE {table} SET {column} = CAST(x'ff' AS TEXT) WHERE {where}"
                yield Tampering(place, "not text", trial, _said(value), partial(_run, torn, key))
                twin = some[(at + 1) % len(some)]
                if column not in rows.key and twin[column] != value:
                    edit = _both(rows.setting(row, **{column: twin[column]}), rows.setting(twin, **{column: value}))
                    yield Tampering(place, "exchanged", trial, f"{_said(value)} for {_said(twin[column])}", edit)


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
            again = row | {rows.key[-1]: _unused(rows, row)} | ({"name": "again"} if table == "trials" else {})
            yield Tampering(table, "doubled", trial, str(place), _inserting(table, again))
            if table != "trials":
                other = next(name for name in rows.names if name != row[rows.key[0]])
                moved = row | {rows.key[0]: other, rows.key[-1]: _unused(rows, row)}
                edit = _both(gone, _inserting(table, moved))
                yield Tampering(table, "moved", trial, f"{place} to {rows.names[other]}", edit)
            twin = some[(at + 1) % len(some)]
            content = [name for name in rows.columns if name not in rows.key and name != "name"]
            if any(row[name] != twin[name] for name in content):
                edit = _both(
                    rows.setting(row, **{name: twin[name] for name in content}),
                    rows.setting(twin, **{name: row[name] for name in content}),
                )
                yield Tampering(table, "exchanged", trial, f"{place} for {rows.here(twin)[1]}", edit)


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


def json_variants(data: Any) -> Iterator[tuple[str, Any]]:
    """The data with one thing changed, in every way there is; and what was done, in words."""
    if isinstance(data, dict):
        yield "an entry more", data | {"unheard of": 1}
    elif isinstance(data, list):
        yield "an element more", [*data, 1]
    for path in _paths(data):
        value = _at(data, path)
        for other in (*_json_nearby(value), *OTHER_JSON):
            if type(other) is not type(value) or other != value:
                yield f"{'.'.join(map(str, path))} becomes {_said(other)}", _with(data, path, other)
        yield f"{'.'.join(map(str, path))} is taken out", _without(data, path)


def _json_nearby(value: Any) -> list[Any]:
    if isinstance(value, str) and value:
        return [value[:-1], value + "0", value[::-1]]
    return [value + 1, value - 1] if isinstance(value, int | float) and not isinstance(value, bool) else []


def _paths(data: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for name, value in entries:
        yield (*before, name)
        yield from _paths(value, (*before, name))


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        data = data[name]
    return data


def _with(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(data)
    _at(changed, path[:-1])[path[-1]] = value
    return changed


def _without(data: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(data)
    del _at(changed, path[:-1])[path[-1]]
    return changed


def log_edits(store: Path) -> Iterator[Tampering]:
    """Events left out with the rest renumbered, doubled, exchanged, and the log's tail cut off."""
    rows = Rows(store, "events")
    for number, name in rows.names.items():
        log = [row for row in rows.rows if row["trial"] == number]
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
        _run("DELETE FROM events WHERE trial = ?", (trial,), store)
        for seq, row in enumerate(log, 1):
            _inserting("events", row | {"seq": seq})(store)

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
            _run(f"UPDATE {table} SET trial = ? WHERE trial = ?", (new, old), store)

    return edit


def export_edits(folder: Path) -> Iterator[Tampering]:
    """Each file of a public export: lines, cells and entries changed, taken out, doubled, exchanged, cut off."""
    for path in sorted(folder.iterdir()):
        text = path.read_text(encoding="utf-8")
        whole = {
            "emptied": "",
            "garbled": text.replace(":", ";").replace(",", ";"),
            "cut off": text[: len(text) // 2],
            "deep": DEEP,
        }
        for kind, other in whole.items():
            yield _rewritten(path, kind, "", other)
        yield _rewritten(path, "not text", "", b"\xff\xfe")
        if path.suffix != ".json":
            lines = text.splitlines(keepends=True)
            for at in range(0, len(lines), max(1, len(lines) // 12)):
                variants = {
                    "left out": lines[:at] + lines[at + 1 :],
                    "doubled": lines[: at + 1] + lines[at:],
                    "cut off": lines[: at + 1],
                    "exchanged": [*lines[:at], *lines[at + 1 : at + 2], lines[at], *lines[at + 2 :]],
                }
                for kind, changed in variants.items():
                    if changed != lines:
                        yield _rewritten(path, kind, f"line {at + 1}", "".join(changed))
        if path.suffix == ".json":
            for said, data in json_variants(json.loads(text)):
                yield _rewritten(path, "in the JSON", said, json.dumps(data))
        elif path.suffix == ".csv":
            yield from _cell_edits(path, list(csv.reader(io.StringIO(text))))
        else:
            yield from _line_edits(path, text.splitlines())


def _rewritten(path: Path, kind: str, said: str, content: str | bytes) -> Tampering:
    def edit(folder: Path) -> None:
        (folder / path.name).write_bytes(content if isinstance(content, bytes) else content.encode())

    return Tampering(path.name, kind, "", said, edit)


def _cell_edits(path: Path, rows: list[list[str]]) -> Iterator[Tampering]:
    for at in range(0, len(rows), max(1, len(rows) // 8)):
        for column, cell in enumerate(rows[at]):
            for other in ("", "x", f"{cell}1", cell[::-1], "0.5", "-7", "nan"):
                if other != cell:
                    out = io.StringIO()
                    csv.writer(out, lineterminator="\n").writerows(_with(rows, (at, column), other))
                    yield _rewritten(path, "another cell", f"{_said(cell)} becomes {other!r}", out.getvalue())


def _line_edits(path: Path, lines: list[str]) -> Iterator[Tampering]:
    one_of_each = {json.loads(line)["kind"]: at for at, line in enumerate(lines)}
    for at in one_of_each.values():
        for said, data in json_variants(json.loads(lines[at])):
            changed = [*lines[:at], json.dumps(data, ensure_ascii=False), *lines[at + 1 :]]
            yield _rewritten(path, "in the JSON", f"line {at + 1}: {said}", "\n".join(changed) + "\n")


NOTICED, HARMLESS, UNNOTICED, TRACEBACK = "noticed", "no change", "unnoticed", "traceback"


def verified(*command: str) -> str:
    """What `bestarm trial ...` makes of it: noticed, fine, or a traceback."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as complaint:
        try:
            status = bestarm(["trial", *command, "--json"])
        except Exception:
            return TRACEBACK
    if status == 0:
        return UNNOTICED
    said = complaint.getvalue()
    return NOTICED if said.count("\n") <= 1 and "Traceback" not in said else TRACEBACK


def content(store: Path, trial: str) -> Any:
    """Everything of a trial that anybody reads; None if it cannot be.

    But for the policy's state: `verify` compares it, and where it is in another layout it is derived from the log.
    """
    try:
        place = open_store(str(store))
        try:
            with place.reading(trial) as reading:
                parts = (reading.assignments, reading.stages, reading.tallies)
                rows = [[asdict(row) for row in part()] for part in parts]
                heads = (reading.seq, reading.head, reading.public_seq, reading.public_head)
                logged = [vars(event) for event in reading.events()]
                return (reading.design, reading.key, heads, asdict(reading.book), rows, logged)
        finally:
            place.close()
    except BestArmError:
        return None


def of_store(one: Tampering, store: Path, spare: Path, right: Any) -> str:
    """What becomes of an edit of the store."""
    for leftover in spare.parent.glob(f"{spare.name}*"):
        leftover.unlink()
    shutil.copyfile(store, spare)
    for key in store.parent.glob("*.key*"):
        shutil.copy(key, spare.parent / key.name)
    try:
        one.edit(spare)
    except (sqlite3.IntegrityError, OverflowError):
        return ""  # the database itself does not take it
    found = verified("verify", str(spare), "--name", one.trial)
    return HARMLESS if found == UNNOTICED and content(spare, one.trial) == right else found


def of_export(one: Tampering, folder: Path, spare: Path) -> str:
    """What becomes of an edit of an export."""
    shutil.rmtree(spare, ignore_errors=True)
    shutil.copytree(folder, spare)
    before = {path.name: path.read_bytes() for path in spare.iterdir()}
    one.edit(spare)
    found = verified("verify-public", str(spare))
    if found == UNNOTICED and _same_export(before, {path.name: path.read_bytes() for path in spare.iterdir()}):
        return HARMLESS
    return found


def _same_export(before: dict[str, bytes], after: dict[str, bytes]) -> bool:
    # Files that differ only in how they are written: blanks, the order of keys, digits after the sixth.
    def read(name: str, content: bytes) -> Any:
        text = content.decode()
        if name.endswith(".csv"):
            return list(csv.reader(io.StringIO(text)))
        return [json.loads(line) for line in text.splitlines()] if name == CHAIN else json.loads(text)

    return all(read(name, before[name]) == read(name, after[name]) for name in before)


def chosen(edits: Iterable[Tampering], each: int) -> list[Tampering]:
    """At most so many edits of each kind at each place, drawn by lot."""
    groups: dict[tuple[str, str], list[Tampering]] = {}
    for one in edits:
        groups.setdefault((one.place, one.kind), []).append(one)
    lot = random.Random(1)
    return [one for group in groups.values() for one in lot.sample(group, min(each, len(group)))]


Table: TypeAlias = dict[tuple[str, str], Counter[str]]


def tried(each: int, show: bool = False, stride: int = 1) -> Table:
    """At most so many edits of each kind at each place, every `stride`-th of them; what became of them."""
    table: Table = {}

    def note(place: str, one: Tampering, became: str) -> None:
        if became:
            table.setdefault((place, one.kind), Counter())[became] += 1
        if show and became in (UNNOTICED, TRACEBACK):
            print(f"{became}: {one.place} of {one.trial or 'an export'}, {one.kind}: {one.said}", file=sys.stderr)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spare").mkdir()
        store = made(folder)
        right = {make.__name__: content(store, make.__name__) for make in MADE}
        edits = [*column_edits(store), *row_edits(store), *json_edits(store), *log_edits(store)]
        for one in chosen(edits, each)[::stride]:
            became = of_store(one, store, folder / "spare" / "trials.db", right[one.trial])
            note(f"store: {one.place.partition('.')[0]}", one, became)
        for make in MADE:
            with Trial.open(store, name=make.__name__) as trial:
                trial.export_public(folder / make.__name__)
            for one in chosen(export_edits(folder / make.__name__), -(-each // len(MADE)))[::stride]:
                note(f"export: {one.place}", one, of_export(one, folder / make.__name__, folder / "export"))
    return table


def main() -> int:
    """Try the edits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=30, help="edits of each kind at each place")
    parser.add_argument("--unnoticed", action="store_true", help="name each edit that went unnoticed, on stderr")
    given = parser.parse_args()
    table = tried(given.each, given.unnoticed)
    kinds = (NOTICED, HARMLESS, UNNOTICED, TRACEBACK)
    print(f"{'where':28}{'edit':24}{'tried':>8}" + "".join(f"{kind:>12}" for kind in kinds))
    for (place, kind), count in sorted(table.items()):
        print(f"{place:28}{kind:24}{count.total():>8}" + "".join(f"{count[each]:>12}" for each in kinds))
    total = sum(table.values(), Counter[str]())
    print(f"{'all':52}{total.total():>8}" + "".join(f"{total[each]:>12}" for each in kinds))
    return 1 if total[UNNOTICED] or total[TRACEBACK] else 0


if __name__ == "__main__":
    sys.exit(main())
