"""Blocks without a lock: a wrong guess leaves nothing, a right one is as good as a lock, and nobody sees which it was.

SQLite never guesses, and is asked the same where one process can ask it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bestarm.errors import InputError, NoSuchTrial, OperationError
from bestarm.storage import guessing, open_store
from bestarm.storage.contract import Overtaken, Store, Writing
from bestarm.storage.guessing import GuessedBlock
from bestarm.storage.sql import SQLStore
from bestarm.trial.trial import Trial
from tests.storage.test_behind import KEY, happen, join, open_two_stages, seen, tell
from tests.trial.people import ChosenNoise

PLAN: dict[str, Any] = {"arms": ["a", "b"], "epsilon": "0.01", "delta": "0.01", "outcomes": "binary"}


@pytest.fixture
def store(postgres_place: str) -> Iterator[Store]:
    """A store that guesses from here on."""
    store = open_store(postgres_place, create=True)
    with store.add("t", {}, KEY) as writing:
        open_two_stages(writing)
    for number in range(4):
        with store.writing("t", guess=True) as writing:
            join(writing, f"s{number}")
    with store.writing("t", guess=True) as writing:
        pass
    guessed = store.writing("t", guess=True)
    assert isinstance(guessed, GuessedBlock)
    with guessed:
        pass
    yield store
    store.close()


def several(writing: Writing) -> None:
    """Two people at once."""
    join(writing, "s20")
    join(writing, "s22")


def fault(writing: Writing) -> None:
    """Something that nobody foresaw, after an event."""
    join(writing, "s20")
    raise ZeroDivisionError


BLOCKS: dict[str, Callable[[Writing], object]] = {
    "one event": lambda writing: join(writing, "s20"),
    "an outcome": lambda writing: tell(writing, 2),
    "several events": several,
    "what cannot wait": lambda writing: happen(writing, "corrected", {"assignment": 1}, {"value": 3}),
    "nothing": lambda writing: writing.held_by("s1"),
    "a fault": fault,
}


@pytest.mark.parametrize("what", BLOCKS)
@pytest.mark.parametrize("other", ["one event", "several events", "what cannot wait"])
def test_a_wrong_guess_leaves_nothing(store: Store, postgres_place: str, what: str, other: str) -> None:
    somebody = open_store(postgres_place)

    def overtaken() -> None:
        with store.writing("t", guess=True) as writing:
            if what not in ("nothing", "a fault"):
                BLOCKS[what](writing)
            with somebody.writing("t") as theirs:
                BLOCKS[other](theirs)
            with somebody.reading("t") as reading:
                expected.append(seen(reading))
            if what in ("nothing", "a fault"):
                BLOCKS[what](writing)

    expected: list[dict[str, Any]] = []
    with pytest.raises(Overtaken):
        overtaken()
    for each in (store, somebody):
        with each.reading("t") as reading:
            assert seen(reading) == expected[0]
        with each.writing("t") as writing:
            assert seen(writing) == expected[0]
    for _ in range(3):
        with store.writing("t", guess=True) as writing:
            happen(writing, "corrected", {"assignment": 1}, {"value": 5})
    somebody.close()


@pytest.mark.parametrize("what", [what for what in BLOCKS if what != "a fault"])
def test_a_right_guess_is_there_for_everybody(store: Store, postgres_place: str, what: str) -> None:
    with store.writing("t", guess=True) as writing:
        BLOCKS[what](writing)
    with store.reading("t") as reading:
        expected = seen(reading)
    somebody = open_store(postgres_place)
    for each in (store, somebody):
        with each.writing("t") as writing:
            assert seen(writing) == expected
    somebody.close()


def test_a_fault_in_a_right_guess_is_raised_and_leaves_nothing(store: Store) -> None:
    with store.reading("t") as reading:
        before = seen(reading)
    with pytest.raises(ZeroDivisionError), store.writing("t", guess=True) as writing:
        fault(writing)
    with store.reading("t") as reading:
        assert seen(reading) == before


def test_two_who_write_in_turns_do_not_guess(store: Store, postgres_place: str) -> None:
    somebody = open_store(postgres_place)
    for turn in range(5):
        for number, each in enumerate((store, somebody)):
            block = each.writing("t", guess=True)
            assert turn < 2 or not isinstance(block, GuessedBlock)
            try:
                with block as writing:
                    join(writing, f"s{30 + 4 * turn + 2 * number}")
            except Overtaken:
                with each.writing("t") as writing:
                    join(writing, f"s{30 + 4 * turn + 2 * number}")
    somebody.close()


def test_many_at_once_enrol_everybody_once(place: str) -> None:
    first = Trial.create(place, name="t", noise=ChosenNoise(), **PLAN)
    trials = [first, Trial.open(place, name="t"), Trial.open(first._store, name="t")]

    def work(number: int) -> list[str]:
        trial, found = trials[number % 3], []
        for person in range(25):
            asked = trial.ask(f"p-{person}")
            trial.tell(str(asked.id), person % 2)
            found.append(str(asked.id))
        return found

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(work, range(6)))
    assert all(answer == answers[0] for answer in answers)
    assert len(set(answers[0])) == sum(first.view().assigned) == 25
    assert trials[1].verify().ok
    for trial in trials:
        trial.close()


def resumed_elsewhere(place: str) -> None:
    """A refusal that is out of date: the trial has been resumed by somebody else."""
    trial = Trial.create(place, name="t", noise=ChosenNoise(), **PLAN)
    for number in range(3):
        trial.ask(f"p-{number}")
    trial.pause()
    with pytest.raises(OperationError, match="paused"):
        trial.ask("late")
    with Trial.open(place, name="t") as other:
        other.resume()
    assert trial.ask("late").id is not None
    assert trial.verify().ok
    trial.close()


def test_a_refusal_is_not_out_of_date(place: str) -> None:
    resumed_elsewhere(place)


def test_a_refusal_that_nobody_checks_is_caught(postgres_place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guessing.GuessedBlock, "_still_so", lambda self: True)
    with pytest.raises(OperationError, match="paused"):
        resumed_elsewhere(postgres_place)


def test_a_trial_of_the_same_name_is_another_trial(place: str) -> None:
    trial = Trial.create(place, name="t", noise=ChosenNoise(), **PLAN)
    for _ in range(3):
        trial.pause()
        trial.resume()
    with Trial.open(place, name="t") as other:
        other.delete()
    new = Trial.create(place, name="t", noise=ChosenNoise(), **PLAN)
    for _ in range(3):
        new.pause()
        new.resume()
    with pytest.raises(NoSuchTrial):
        trial.ask("somebody")
    assert new.ask("somebody").id is not None
    assert new.verify().ok
    trial.close()
    new.close()


def test_an_answer_that_was_lost(postgres_place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement was done, and the connection broke before anybody heard of it."""
    trial = Trial.create(postgres_place, name="t", noise=ChosenNoise(), **PLAN)
    early = [str(trial.ask(f"p-{number}").id) for number in range(5)]
    store = trial._store
    assert isinstance(store, SQLStore)
    lost = 0
    connect = store._connection

    def breaking() -> Any:
        pooled, link = connect()
        if not hasattr(link, "whole"):
            link.whole = link.execute  # type: ignore[attr-defined]

        def execute(statement: str, *rest: Any) -> Any:
            nonlocal lost
            done = link.whole(statement, *rest)  # type: ignore[attr-defined]
            if statement == store.statements.append:
                lost += 1
                link.connection.close()
                raise store.driver.OperationalError("the connection is lost")
            return done

        link.execute = execute
        return pooled, link

    monkeypatch.setattr(store, "_connection", breaking)
    asked = trial.ask("p-new")
    assert trial.ask("p-new") == asked
    assert [trial.tell(one, 1) for one in early].count("recorded") < len(early)
    assert lost > 1
    with pytest.raises(InputError, match="different outcome"):
        trial.tell(early[0], 0)
    with Trial.open(postgres_place, name="t") as other:
        with other._store.reading("t") as reading:
            kinds = [event.kind for event in reading.events()]
        assert (kinds.count("assigned"), kinds.count("told")) == (6, 5)
        assert other.verify().ok
    trial.close()
