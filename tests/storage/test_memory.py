"""The store in memory keeps the contract, but for what concerns files and other processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bestarm.storage import spill
from bestarm.storage.contract import Assignment, Store
from bestarm.storage.memory import MemoryBooks, MemoryStore
from tests.storage.test_contract import (
    KEY,
    note,
    test_a_block_that_raises_leaves_nothing,
    test_a_stage_that_a_failed_part_closed_is_open_again,
    test_a_trial_without_people_can_be_removed_and_no_other,
    test_changes_reach_rows_that_were_there_before,
    test_events_are_numbered_without_gaps,
    test_names,
    test_public_events_are_numbered_without_gaps,
    test_reading_refuses_changes,
    test_rows_that_a_failed_block_changed_are_as_they_were,
    test_the_state_is_replaced_whole,
    test_whoever_was_refused_may_come_again,
    test_writers_take_turns,
)

__all__ = [
    "test_a_block_that_raises_leaves_nothing",
    "test_a_stage_that_a_failed_part_closed_is_open_again",
    "test_a_trial_without_people_can_be_removed_and_no_other",
    "test_changes_reach_rows_that_were_there_before",
    "test_events_are_numbered_without_gaps",
    "test_names",
    "test_public_events_are_numbered_without_gaps",
    "test_reading_refuses_changes",
    "test_rows_that_a_failed_block_changed_are_as_they_were",
    "test_the_state_is_replaced_whole",
    "test_whoever_was_refused_may_come_again",
    "test_writers_take_turns",
]


@pytest.fixture
def store() -> Iterator[Store]:
    """A store with one trial, as the contract's tests want it."""
    store = MemoryStore()
    with store.add("first", {"arms": ["a", "b"]}, KEY) as writing:
        note(writing, "created")
        writing.replace_state({"x": b"12345678", "y": b"abc"})
    yield store
    store.close()


def test_books_that_spill_are_books_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "AT_HAND", 3)
    spilling, memory = spill.SpillingBooks(), MemoryBooks()
    for books in (spilling, memory):
        for number in range(1, 12):
            books.save_assignment(Assignment(number, f"s{number % 4}", 0, 1, at=number, outcome="1/3", value=2**40))
        moved = books.assignment(2)
        assert moved is not None
        moved.subject, moved.state = "s3", "told"
        books.save_assignment(moved)
        books.save_assignment(Assignment(12, "garbled", 2**70, 1, at=0))  # no database takes this number
    assert len(spilling.assignments) < 6
    for subject in ("s0", "s1", "s2", "s3", "nobody"):
        assert spilling.held_by(subject) == memory.held_by(subject)
    assert [spilling.assignment(n) for n in range(14)] == [memory.assignment(n) for n in range(14)]
    assert list(spilling.all_assignments()) == [memory.assignments[n] for n in sorted(memory.assignments)]
    spilling.close()
