"""What is confidential is nobody else's from its first byte, in no error's words, and no spreadsheet's formula."""

from __future__ import annotations

import csv
import os
import stat
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bestarm.errors import OperationError
from bestarm.storage.sql import SQLStore
from bestarm.trial.exchange import inert
from bestarm.trial.trial import Trial
from tests.trial.people import enrol

TELLTALE = "0.736251849"
ARMS = ["=1+1", "@sum", "-2", "plain"]


def make(place: str | Path) -> Trial:
    return Trial.create(place, name="t", arms=ARMS, epsilon=1, delta=0.1, algorithm="uniform")


def mode_of(path: str | Path) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


@pytest.fixture
def careless() -> Iterator[None]:
    """A process that lets everybody read what it writes."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("careless")
def test_the_store_is_ours_alone_from_its_first_byte(sqlite_place: str) -> None:
    seen: list[int] = []

    def look(connection: Any, record: Any) -> None:
        seen.append(mode_of(sqlite_place) if Path(sqlite_place).exists() else 0o600)

    sa.event.listen(sa.Engine, "connect", look)
    try:
        trial = make(sqlite_place)
    finally:
        sa.event.remove(sa.Engine, "connect", look)
    enrol(trial, dict.fromkeys(ARMS, 0.5), 3)
    assert seen
    files = list(Path(sqlite_place).parent.glob("trials.db*"))
    assert len(files) > 1
    assert {*seen, *map(mode_of, files)} == {0o600}


@pytest.mark.usefixtures("careless")
def test_the_confidential_export_is_never_open(
    sqlite_place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = make(sqlite_place)
    enrol(trial, dict.fromkeys(ARMS, 0.5), 5)
    modes: list[int] = []
    replace = Path.replace

    def appearing(self: Path, target: Path) -> Path:
        modes.append(mode_of(self))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", appearing)
    files = trial.export_confidential(tmp_path / "secret")
    assert modes == [0o600, 0o600]
    assert {mode_of(path) for path in files.values()} == {0o600}
    modes.clear()
    trial.export_public(tmp_path / "public")
    assert set(modes) == {0o644}


def test_a_store_that_fails_does_not_show_outcomes(place: str) -> None:
    trial = make(place)
    asked = trial.ask("p-1")
    store = trial._store
    assert isinstance(store, SQLStore)
    with store.engine.connect() as connection:
        connection.exec_driver_sql("ALTER TABLE events RENAME TO gone")
        connection.commit()
    with pytest.raises(OperationError) as failed:
        trial.tell(str(asked.id), TELLTALE)
    said = "".join(traceback.format_exception(failed.value))
    named = "no such table: events" in said or 'relation "events"' in said
    assert named, "this is the table whose rows hold the outcome"
    assert TELLTALE not in said


def cells(path: str) -> list[str]:
    with Path(path).open(newline="") as lines:
        return [cell for row in csv.reader(lines) for cell in row]


def test_no_exported_cell_is_a_formula(sqlite_place: str, tmp_path: Path) -> None:
    trial = Trial.create(
        sqlite_place, name="t", arms=ARMS, epsilon=1, delta=0.1, algorithm="uniform", low=-1, high=0, outcomes="binary"
    )
    asked = trial.ask_many([f"p-{n}" for n in range(12)])
    trial.tell_many([(str(a.id), -1) for a in asked])
    files = trial.export_public(tmp_path / "public") | trial.export_confidential(tmp_path / "secret")
    found = [cell for name, path in files.items() if name.endswith(".csv") for cell in cells(path)]
    begin_like_one = {cell for cell in found if cell[:1] in ("=", "+", "-", "@", "\t", "\r")}
    assert all(float(cell) <= 0 for cell in begin_like_one), "negative numbers stay numbers"
    assert "-1" in found
    assert {"'=1+1", "'@sum", "plain"} <= set(found)


@pytest.mark.parametrize("cell", ["=A1", "+A1", "-A1", "@x", "\t=A1", "\r=A1", "\n=A1", "＝A1", "-1+cmd|' /C calc'!A0"])
def test_what_begins_like_a_formula_is_text(cell: str) -> None:
    assert inert(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-1", "-0.5", "+1", "-1/3", "-1e-05", "5 mg", "", None, -1, -0.5])
def test_numbers_and_plain_text_stay_as_they_are(cell: object) -> None:
    assert inert(cell) == cell
