"""Every store keeps the contract written in `bestarm.storage.contract`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bestarm.errors import InputError, OperationError
from bestarm.storage import open_store
from bestarm.storage.contract import Assignment, Book, Stage, Store, Tally, Writing
from bestarm.storage.events import GENESIS, Event, next_event

KEY = b"k" * 32


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    store = open_store(place, create=True)
    with store.add("first", {"arms": ["a", "b"]}, KEY) as writing:
        note(writing, "created")
        writing.replace_state({"x": b"12345678", "y": b"abc"})
    yield store
    store.close()


def note(writing: Writing, kind: str, **said: Any) -> None:
    """Append an event with a secret."""
    seq, secret, salt = writing.seq + 1, {"outcome": "0.5"}, b"s" * 32
    body = {"n": seq} | said
    publicly = (writing.public_seq, writing.public_head)
    writing.append(next_event(writing.head, publicly, seq, 5, "me", kind, body, secret, salt))


def stage(number: int = 1, **changes: Any) -> Stage:
    """A stage of two arms, planned for four people."""
    return replace(Stage(number, [0.5, 0.5], True, 1, 4, 4), **changes)


def test_who_joined_since(store: Store) -> None:
    with store.writing("first") as writing:
        for arm, replacing in ((2, False), (0, False), (1, True), (1, False)):
            note(writing, "assigned", arm=arm, replacing=replacing)
            note(writing, "retold")
    with store.reading("first") as reading:
        assert [reading.arms_since(after) for after in (1, 2, 4, 8, 9)] == [[2, 0, 1], [0, 1], [1], [], []]


def test_what_was_written_is_there_for_everyone(store: Store, place: str) -> None:
    with store.writing("first") as writing:
        note(writing, "retold")
        writing.book = Book(state="paused", people=2, opened=1, vacant=[(1, 2)], verdict={"arm": None})
        writing.save_stage(stage(people=2, position=0, releases=[2**62], terms={"epsilon": "1"}))
        writing.save_tally(Tally(1, 1, assigned=2, total=2**45))
        writing.save_assignment(Assignment(1, "who", 1, 1, at=7))
        writing.save_assignment(Assignment(2, "else", 1, 1, at=8, state="told", outcome="1/3", value=3))
        writing.save_state({"y": b"xyz"})
    other = open_store(place)
    with other.reading("first") as reading:
        assert reading.design == {"arms": ["a", "b"]}
        assert reading.key == KEY
        assert reading.book == Book(state="paused", people=2, opened=1, vacant=[(1, 2)], verdict={"arm": None})
        assert reading.state() == {"x": b"12345678", "y": b"xyz"}
        assert [event.kind for event in reading.events()] == ["created", "retold"]
        assert [event.seq for event in reading.events()] == [1, 2]
        assert next(iter(reading.events())).secret == {"outcome": "0.5"}
        kept = stage(people=2, position=0, releases=[2**62], terms={"epsilon": "1"})
        assert reading.stage(1) == reading.stage_at(0) == kept
        assert reading.tally(1, 1) == Tally(1, 1, assigned=2, total=2**45)
        assert reading.assignment(2) == Assignment(2, "else", 1, 1, 8, "told", "1/3", 3)
        assert [a.number for a in reading.held_by("who")] == [1]
        assert reading.assignment(3) is None
        assert reading.stage(2) is None
        assert reading.tally(1, 0) is None
        assert (reading.seq, reading.public_seq) == (2, 1)
        created, told = reading.events()
        assert reading.public_head == created.public_hash
        assert (created.public_seq, told.public_seq, told.public_hash) == (1, None, None)
    other.close()


def test_changes_reach_rows_that_were_there_before(store: Store) -> None:
    with store.writing("first") as writing:
        note(writing, "assigned")
        writing.book.people = writing.book.opened = 1
        writing.save_stage(stage())
        writing.save_tally(Tally(1, 0))
        writing.save_assignment(Assignment(1, "who", 0, 1, at=7))
    with store.writing("first") as writing:
        note(writing, "released")
        kept, tally, assignment = writing.stage(1), writing.tally(1, 0), writing.assignment(1)
        assert kept is not None
        assert tally is not None
        assert assignment is not None
        kept.releases, kept.position, assignment.state, tally.total = [-3], 0, "told", 7
        writing.save_stage(kept)
        writing.save_tally(tally)
        writing.save_assignment(assignment)
        assert writing.stage_at(0) is kept
    with store.reading("first") as reading:
        assert [one.releases for one in reading.stages()] == [[-3]]
        assert [one.total for one in reading.tallies()] == [7]
        assert [a.state for a in reading.assignments()] == ["told"]


def test_the_state_is_replaced_whole(store: Store) -> None:
    with store.writing("first") as writing:
        note(writing, "retold")
        writing.replace_state({"z": b"new"})
        writing.save_state({"z": b"newer"})
    with store.reading("first") as reading:
        assert reading.state() == {"z": b"newer"}


def test_a_trial_without_people_can_be_removed_and_no_other(store: Store) -> None:
    with store.add("second", {}, KEY) as writing:
        note(writing, "created")
        writing.replace_state({"x": b"1"})
    store.remove("second")
    assert store.names() == ["first"]
    with store.writing("first") as writing:
        note(writing, "assigned")
        writing.book.people = 1
        writing.save_assignment(Assignment(1, "who", 0, 1, at=7))
    with pytest.raises(InputError, match="has enrolled people"):
        store.remove("first")
    with pytest.raises(InputError, match="no trial named 'second'"):
        store.remove("second")
    assert store.names() == ["first"]


def test_a_block_that_raises_leaves_nothing(store: Store) -> None:
    def fail() -> None:
        with store.writing("first") as writing:
            note(writing, "retold")
            writing.book.people = 9
            writing.save_stage(stage())
            writing.save_state({"y": b"bad"})
            raise InputError("no")

    with pytest.raises(InputError):
        fail()
    with store.reading("first") as reading:
        assert reading.seq == 1
        assert reading.book == Book()
        assert list(reading.stages()) == []
        assert reading.state()["y"] == b"abc"


def enrol(writing: Writing, number: int, subject: str) -> None:
    """One more person in the first stage."""
    note(writing, "assigned")
    kept, tally = writing.stage(1), writing.tally(1, 0)
    assert kept is not None
    assert tally is not None
    kept.people += 1
    tally.assigned += 1
    writing.book.people += 1
    writing.book.filling["0"] = number
    writing.save_stage(kept)
    writing.save_tally(tally)
    writing.save_assignment(Assignment(number, subject, 0, 1, at=7))


def refused_part(writing: Writing) -> None:
    """A part of a block that changes everything there is and then fails."""
    with writing.attempt():
        enrol(writing, 2, "refused")
        first = writing.assignment(1)
        assert first is not None
        first.state = "told"
        writing.save_assignment(first)
        writing.save_state({"y": b"bad"})
        raise InputError("no")


def test_a_part_that_fails_leaves_its_neighbours(store: Store, place: str) -> None:
    with store.writing("first") as writing:
        note(writing, "opened")
        writing.book.opened = 1
        writing.save_stage(stage())
        writing.save_tally(Tally(1, 0))
    with store.writing("first") as writing:
        with writing.attempt():
            enrol(writing, 1, "one")
        with pytest.raises(InputError):
            refused_part(writing)
        assert (writing.seq, writing.public_seq, writing.book.people) == (3, 3, 1)
        assert writing.held_by("refused") == []
        with writing.attempt():
            enrol(writing, 2, "two")
            assert [a.number for a in writing.held_by("one")] == [1]
    for fresh in (store, open_store(place)):  # from memory, and by somebody who remembers nothing
        with fresh.writing("first") as reading:
            assert [event.seq for event in reading.events()] == [1, 2, 3, 4]
            assert [(a.number, a.subject, a.state) for a in reading.assignments()] == [
                (1, "one", "open"),
                (2, "two", "open"),
            ]
            assert [one.people for one in reading.stages()] == [one.assigned for one in reading.tallies()] == [2]
            assert reading.book == Book(people=2, opened=1, filling={"0": 2})
            assert reading.state()["y"] == b"abc"
            assert reading.assignment(2) == Assignment(2, "two", 0, 1, at=7)
            assert reading.stage(1) == stage(people=2)
    fresh.close()


def test_whoever_was_refused_may_come_again(store: Store) -> None:
    """In the same block, as the same person under the same number: nothing of the refused part is remembered."""
    with store.writing("first") as writing:
        note(writing, "opened")
        writing.book.opened = 1
        writing.save_stage(stage())
        writing.save_tally(Tally(1, 0))
        enrol(writing, 1, "one")
        with pytest.raises(InputError):
            refused_part(writing)
        enrol(writing, 2, "refused")
        assert [a.number for a in writing.held_by("refused")] == [2]
        assert writing.tally(1, 0) == Tally(1, 0, assigned=2)


def test_a_stage_that_a_failed_part_closed_is_open_again(store: Store) -> None:
    """Nor is it found by the place that it had for a moment."""
    with store.writing("first") as writing:
        note(writing, "opened")
        writing.book.opened = 1
        writing.save_stage(stage())
    with store.writing("first") as writing:
        with pytest.raises(InputError):
            closing_part(writing)
        assert writing.stage_at(0) is None
        assert writing.stage(1) == stage()
        note(writing, "retold")
    with store.reading("first") as reading:
        assert list(reading.stages()) == [stage()]


def test_rows_that_a_failed_block_changed_are_as_they_were(store: Store) -> None:
    def fail() -> None:
        with store.writing("first") as writing:
            enrol(writing, 2, "two")
            (first,) = writing.held_by("one")
            first.state = "told"
            writing.save_assignment(first)
            raise InputError("no")

    with store.writing("first") as writing:
        note(writing, "opened")
        writing.book.opened = 1
        writing.save_stage(stage())
        writing.save_tally(Tally(1, 0))
        enrol(writing, 1, "one")
    with pytest.raises(InputError):
        fail()
    with store.writing("first") as writing:
        assert writing.held_by("one") == [Assignment(1, "one", 0, 1, at=7)]
        assert (writing.stage(1), writing.tally(1, 0)) == (stage(people=1), Tally(1, 0, assigned=1))
        assert writing.held_by("two") == []


def closing_part(writing: Writing) -> None:
    """A part of a block that closes the first stage and then fails."""
    with writing.attempt():
        kept = writing.stage(1)
        assert kept is not None
        kept.size, kept.position = 0, 0
        writing.save_stage(kept)
        assert writing.stage_at(0) is kept
        raise InputError("no")


def test_what_another_writer_wrote_is_seen(store: Store, place: str) -> None:
    other = open_store(place)
    for turn, writer in enumerate((store, other, store, store, other)):
        with writer.writing("first") as writing:
            assert writing.book.people == turn
            note(writing, "opened" if turn == 0 else "assigned")
            writing.book.people += 1
            writing.book.opened = 1
            kept = writing.stage(1) or stage()
            assert kept.people == turn
            kept.people += 1
            writing.save_stage(kept)
    other.close()


def test_public_events_are_numbered_without_gaps(store: Store) -> None:
    with pytest.raises(OperationError, match="Public event"), store.writing("first") as writing:
        writing.append(Event(2, 0, "me", "opened", {}, None, b"", GENESIS, 3, GENESIS))


def test_events_are_numbered_without_gaps(store: Store) -> None:
    with pytest.raises(OperationError), store.writing("first") as writing:
        writing.append(Event(7, 0, "me", "told", {}, None, b"", GENESIS, None, None))


def test_readers_see_one_moment_and_block_nobody(store: Store) -> None:
    with store.reading("first") as before:
        assert len(list(before.events())) == 1
        with store.writing("first") as writing:
            note(writing, "retold")
        assert len(list(before.events())) == 1
    with store.reading("first") as after:
        assert len(list(after.events())) == 2
    with store.writing("first") as writing, store.reading("first") as meanwhile:
        note(writing, "retold")
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
            note(writing, "retold")
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
            reading.save_stage(stage())
        with pytest.raises(OperationError):
            reading.save_tally(Tally(1, 0))
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
    from bestarm.storage.sql import SQLStore

    store = open_store(sqlite_place, create=True)
    assert isinstance(store, SQLStore)
    sql = store.statements
    with store.engine.connect() as connection:
        for text, index in (
            (sql.hold, "(name=?)"),
            (sql.assignment, "(trial=? AND number=?)"),
            (sql.held, "(trial=? AND subject=?)"),
            (sql.open_in, "assignments_open (trial=? AND stage=?)"),
            (sql.count_open, "assignments_open (trial=? AND stage=?)"),
            (sql.stage, "(trial=? AND number=?)"),
            (sql.stage_at, "(trial=? AND position=?)"),
            (sql.tally, "(trial=? AND stage=? AND arm=?)"),
        ):
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
