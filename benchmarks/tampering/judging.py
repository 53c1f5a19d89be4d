"""What becomes of an edit: noticed, harmless, unnoticed, or a traceback."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.tampering.edit import Tampering
from benchmarks.tampering.exports import export_edits
from benchmarks.tampering.stores import column_edits, json_edits, log_edits, row_edits
from benchmarks.tampering.trials import MADE, made
from bestarm.cli import main as bestarm
from bestarm.errors import BestArmError
from bestarm.storage import open_store
from bestarm.trial.exchange import CHAIN
from bestarm.trial.trial import Trial

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
                logged = [event.as_dict() for event in reading.events()]
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
