"""The store in memory keeps the contract, but for what concerns files and other processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bestarm.storage.contract import Store
from bestarm.storage.memory import MemoryStore
from tests.storage.test_contract import (
    KEY,
    note,
    test_a_block_that_raises_leaves_nothing,
    test_a_trial_without_people_can_be_removed_and_no_other,
    test_changes_reach_rows_that_were_there_before,
    test_events_are_numbered_without_gaps,
    test_names,
    test_public_events_are_numbered_without_gaps,
    test_reading_refuses_changes,
    test_the_state_is_replaced_whole,
    test_writers_take_turns,
)

__all__ = [
    "test_a_block_that_raises_leaves_nothing",
    "test_a_trial_without_people_can_be_removed_and_no_other",
    "test_changes_reach_rows_that_were_there_before",
    "test_events_are_numbered_without_gaps",
    "test_names",
    "test_public_events_are_numbered_without_gaps",
    "test_reading_refuses_changes",
    "test_the_state_is_replaced_whole",
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
