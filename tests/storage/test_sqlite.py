"""What is SQLite's alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from bestarm.storage import sqlite
from bestarm.trial.trial import Trial


def made(place: str) -> None:
    Trial.create(place, name="t", arms=["a", "b"], epsilon=1, delta=0.1).close()


def copied_after(place: str) -> Any:
    """Pages of the write-ahead log after which a store that is opened now copies it."""
    with sqlite.SQLiteStore(place).engine.connect() as connection:
        return connection.exec_driver_sql("PRAGMA wal_autocheckpoint").scalar()


def test_a_large_file_copies_its_log_less_often(sqlite_place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made(sqlite_place)
    assert copied_after(sqlite_place) == sqlite.SHORT_WAL
    monkeypatch.setattr(sqlite, "LARGE", 3)
    assert copied_after(sqlite_place) == sqlite.LONG_WAL


def test_an_event_is_written_to_one_page_and_the_trials_heads_to_another(sqlite_place: str) -> None:
    made(sqlite_place)
    with closing(sqlite3.connect(sqlite_place)) as connection:
        indexes = connection.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'events'")
        assert indexes.fetchall() == []
        plan = connection.execute("EXPLAIN QUERY PLAN " + sqlite.SQLiteStore.statements.events, (0, 0, 1)).fetchall()
    assert "SEARCH events USING INTEGER PRIMARY KEY" in plan[0][3]
    assert len(plan) == 1  # and nothing is sorted


def test_trials_in_one_file_have_logs_of_their_own(sqlite_place: str) -> None:
    trials = []
    for name in ("one", "two", "three"):
        trial = Trial.create(sqlite_place, name=name, arms=["a", "b"], epsilon=1, delta=0.1)
        trials.append(trial)
    for turn in range(40):  # a split page holds events of several trials
        for trial in trials:
            trial.tell(str(trial.ask(f"{trial.name} {turn}").id), turn % 2)
    for trial in trials:
        with trial._store.reading(trial.name) as reading:
            log = list(reading.events())
            assert [event.seq for event in log] == list(range(1, reading.seq + 1))
            assert log[-1].hash == reading.head
            assert [event.seq for event in reading.events(5)] == list(range(6, reading.seq + 1))
        assert trial.verify().ok
    trials[1]._store.close()
    for _ in range(2):  # the second one finds nothing of the first
        empty = Trial.create(sqlite_place, name="four", arms=["a", "b"], epsilon=1, delta=0.1)
        assert empty.verify().ok
        empty.delete()
    for trial in (trials[0], trials[2]):
        assert trial.verify().ok
        trial.close()
