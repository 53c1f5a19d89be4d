"""Every store keeps the contract written in `bestarm.storage.contract`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from bestarm.errors import InputError, OperationError
from bestarm.storage import open_store
from bestarm.storage.contract import Assignment, Batch, Book, Store, Writing
from bestarm.storage.events import GENESIS, Event, chained

KEY = b"k" * 32


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    store = open_store(place, create=True)
    with store.add("first", {"arms": ["a", "b"]}, KEY) as writing:
        note(writing, "created")
        writing.save_state({"x": b"12345678", "y": b"abc"})
    yield store
    store.close()


def note(writing: Writing, kind: str) -> None:
    """Append an event with a secret."""
    seq, secret, salt = writing.seq + 1, {"outcome": "0.5"}, b"s" * 32
    mark = chained(writing.head, seq, 5, "me", kind, {"n": seq}, secret, salt)
    writing.append(Event(seq, 5, "me", kind, {"n": seq}, secret, salt, mark))


def test_what_was_written_is_there_for_everyone(store: Store, place: str) -> None:
    with store.writing("first") as writing:
        note(writing, "told")
        writing.book = Book(stage="paused", people=2, vacant=[(1, 2)], verdict={"arm": None})
        writing.save_batch(Batch(1, 1, 4, assigned=2, total=2**45, position=0))
        writing.save_assignment(Assignment(1, "who", 1, 1, at=7))
        writing.save_assignment(Assignment(2, "else", 1, 1, at=8, stage="told", outcome="1/3", value=3))
        writing.save_state({"y": b"xyz"})
    other = open_store(place)
    with other.reading("first") as reading:
        assert reading.design == {"arms": ["a", "b"]}
        assert reading.key == KEY
        assert reading.book == Book(stage="paused", people=2, vacant=[(1, 2)], verdict={"arm": None})
        assert reading.state() == {"x": b"12345678", "y": b"xyz"}
        assert [event.kind for event in reading.events()] == ["created", "told"]
        assert [event.seq for event in reading.events()] == [1, 2]
        assert next(iter(reading.events())).secret == {"outcome": "0.5"}
        assert reading.batch(1, 1) == reading.batch_at(0) == Batch(1, 1, 4, assigned=2, total=2**45, position=0)
        assert reading.assignment(2) == Assignment(2, "else", 1, 1, 8, "told", "1/3", 3)
        assert [a.number for a in reading.held_by("who")] == [1]
        assert reading.assignment(3) is None
        assert reading.batch(0, 1) is None
        assert reading.seq == 2
    other.close()


def test_changes_reach_rows_that_were_there_before(store: Store) -> None:
    with store.writing("first") as writing:
        note(writing, "assigned")
        writing.book.people = 1
        writing.save_batch(Batch(0, 1, 2))
        writing.save_assignment(Assignment(1, "who", 0, 1, at=7))
    with store.writing("first") as writing:
        note(writing, "released")
        batch, assignment = writing.batch(0, 1), writing.assignment(1)
        assert batch is not None
        assert assignment is not None
        batch.release, batch.position, assignment.stage = -3, 0, "told"
        writing.save_batch(batch)
        writing.save_assignment(assignment)
        assert writing.batch_at(0) is batch
    with store.reading("first") as reading:
        assert [b.release for b in reading.releases()] == [-3]
        assert [a.stage for a in reading.assignments()] == ["told"]


def test_a_block_that_raises_leaves_nothing(store: Store) -> None:
    def fail() -> None:
        with store.writing("first") as writing:
            note(writing, "told")
            writing.book.people = 9
            writing.save_batch(Batch(0, 1, 4))
            writing.save_state({"y": b"bad"})
            raise InputError("no")

    with pytest.raises(InputError):
        fail()
    with store.reading("first") as reading:
        assert reading.seq == 1
        assert reading.book == Book()
        assert list(reading.batches()) == []
        assert reading.state()["y"] == b"abc"


def test_events_are_numbered_without_gaps(store: Store) -> None:
    with pytest.raises(OperationError), store.writing("first") as writing:
        writing.append(Event(7, 0, "me", "told", {}, None, None, GENESIS))


def test_readers_see_one_moment_and_block_nobody(store: Store) -> None:
    with store.reading("first") as before:
        assert len(list(before.events())) == 1
        with store.writing("first") as writing:
            note(writing, "told")
        assert len(list(before.events())) == 1
    with store.reading("first") as after:
        assert len(list(after.events())) == 2
    with store.writing("first") as writing, store.reading("first") as meanwhile:
        note(writing, "told")
        assert meanwhile.seq == 2


def test_writers_take_turns(store: Store) -> None:
    inside, most = 0, 0
    guard = threading.Lock()

    def write(_: int) -> None:
        nonlocal inside, most
        with store.writing("first") as writing:
            with guard:
                inside += 1
                most = max(most, inside)
            time.sleep(0.002)
            note(writing, "told")
            with guard:
                inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert most == 1
    with store.reading("first") as reading:
        assert [event.seq for event in reading.events()] == list(range(1, 42))


def test_names(store: Store) -> None:
    with store.add("another", {}, KEY) as writing:
        note(writing, "created")
    assert store.names() == ["another", "first"]
    with pytest.raises(InputError, match="already"), store.add("first", {}, KEY):
        pass
    with pytest.raises(InputError, match="no trial named 'third'"), store.writing("third"):
        pass
    with pytest.raises(InputError, match="no trial named 'third'"), store.reading("third"):
        pass


def test_reading_refuses_changes(store: Store) -> None:
    with store.reading("first") as reading:
        with pytest.raises(OperationError):
            reading.save_batch(Batch(0, 1, 4))
        with pytest.raises(OperationError):
            reading.save_assignment(Assignment(1, "who", 0, 1, 0))


def test_tables_match_their_migrations(place: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from bestarm.storage.schema import metadata
    from bestarm.storage.sql import SQLStore

    store = open_store(place, create=True)
    assert isinstance(store, SQLStore)
    with store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
        connection.commit()
    store.close()
    with pytest.raises(OperationError, match="newer bestarm"):
        open_store(place)


def test_looking_up_one_row_uses_an_index(sqlite_place: str) -> None:
    from bestarm.storage import sql

    store = open_store(sqlite_place, create=True)
    assert isinstance(store, sql.SQLStore)
    with store.engine.connect() as connection:
        for query, index in (
            (sql.ASSIGNMENT, "(trial=? AND number=?)"),
            (sql.HELD, "(trial=? AND subject=?)"),
            (sql.BATCH, "(trial=? AND arm=? AND index=?)"),
            (sql.BATCH_AT, "(trial=? AND position=?)"),
        ):
            text = str(query.compile(connection))
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", (None,) * text.count("?")).all()
            assert [index in row[3] for row in plan] == [True]
    store.close()


def test_a_store_that_is_not_there(place: str) -> None:
    with pytest.raises(InputError, match="no trial store"):
        open_store(place)


def test_places_that_cannot_be_stores(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no database, only a text that is long enough to be read as one" * 20)
    for bad in (tmp_path, tmp_path / "no" / "folder.db", tmp_path / "text", "mysql://here/there", ""):
        with pytest.raises(InputError):
            open_store(bad, create=True)


def test_a_database_that_does_not_answer() -> None:
    with pytest.raises(OperationError) as caught:
        open_store("postgresql://user:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)
