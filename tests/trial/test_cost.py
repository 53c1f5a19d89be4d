"""What a call does does not grow with history: the same few statements, and none that reads the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bestarm.storage import open_store
from bestarm.storage.sql import SQLStore
from bestarm.storage.sql_tables import Link, Writes
from bestarm.trial.policy_state import TAKEN_AFTER
from bestarm.trial.trial import Trial
from tests.trial.people import ChosenNoise, enrol

MEANS = {"a": 0.5, "b": 0.5}


@contextmanager
def statements(store: SQLStore) -> Iterator[list[str]]:
    """Every statement that the store sends in this block."""
    seen: list[str] = []
    usual = store._connection

    def noting() -> tuple[Any, Link]:
        pooled, link = usual()
        inner = link._link if isinstance(link, Noting) else link  # one that the last block left
        return pooled, Noting(inner, seen)  # type: ignore[return-value]

    store._connection = noting  # type: ignore[method-assign]
    yield seen
    store._connection = usual  # type: ignore[method-assign]


class Noting:
    """A connection that writes down what is asked of it."""

    def __init__(self, link: Any, seen: list[str]) -> None:
        self._link, self._seen = link, seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._link, name)

    def begin(self, begin: str, hold: str | None) -> None:
        self._seen += [begin] if hold is None else [begin, self._link.statements.hold]
        self._link.begin(begin, hold)

    def execute(self, statement: str, *parameters: Any) -> Any:
        self._seen.append(statement)
        return self._link.execute(statement, *parameters)

    def stream(self, statement: str, *parameters: Any) -> Any:
        self._seen.append(statement)
        return self._link.stream(statement, *parameters)

    def write(self, writes: Writes) -> None:
        self._seen += [statement for statement, rows in writes if rows]
        self._link.write(writes)


def shape_of_calls(trial: Trial, store: SQLStore, label: str) -> list[list[str]]:
    """The statements of a few pairs of ask and tell, without their values."""
    found = []
    for number in range(6):
        with statements(store) as seen:
            asked = trial.ask(f"{label} {number}")
            trial.tell(str(asked.id), 1)
        found.append([statement.split("(")[0] if "INSERT" in statement else statement for statement in seen])
    return found


def test_calls_read_no_log_and_do_not_grow(place: str) -> None:
    store = open_store(place, create=True)
    assert isinstance(store, SQLStore)
    plan = {"arms": ["a", "b"], "epsilon": "0.1", "delta": "0.01", "algorithm": "uniform"}
    trial = Trial.create(store, name="t", noise=ChosenNoise(), **plan)  # type: ignore[arg-type]
    enrol(trial, MEANS, 40)
    young = shape_of_calls(trial, store, "young")
    asked = trial.ask_many([f"bulk {n}" for n in range(3000)])
    trial.tell_many([(str(a.id), 1) for a in asked])
    old = shape_of_calls(trial, store, "old")
    reading = [s for calls in (*young, *old) for s in calls if s.startswith("SELECT") and 'FROM "events"' in s]
    assert reading == []
    assert max(map(len, old)) <= max(map(len, young))
    assert min(map(len, young)) == (3 if store.guesses else 9), "what a pair takes when nothing else happens"
    trial.close()


def test_what_a_look_reads_does_not_depend_on_outcomes(place: str) -> None:
    """The state is kept by how many joined since: the same people are read again, told or not."""
    store = open_store(place, create=True)
    plan = {"arms": ["a", "b"], "epsilon": "0.01", "delta": "0.01"}
    read: list[list[int]] = []
    for told in (False, True):
        trial = Trial.create(store, name=f"told {told}", noise=ChosenNoise(), **plan)  # type: ignore[arg-type]
        lengths = []
        for number in range(130):
            asked = trial.ask(f"p {number}")
            if told:
                trial.tell(str(asked.id), 1)
            with trial._store.reading(trial.name) as reading:
                lengths.append(len(reading.arms_since(int(reading.state()[TAKEN_AFTER]))))
        assert max(lengths) > 50  # outcomes would have made another snapshot by then
        read.append(lengths)
    assert read[0] == read[1]
