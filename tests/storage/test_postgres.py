"""How a PostgreSQL store saves round trips and statements."""

from __future__ import annotations

import pytest

from bestarm.errors import OperationError
from bestarm.storage import open_store, postgres, sql
from bestarm.storage.postgres import PostgresStore, in_few, is_near
from bestarm.trial.trial import Trial
from tests.trial.people import ChosenNoise


@pytest.mark.parametrize(
    ("host", "near"),
    [("", True), ("/tmp/socket", True), ("localhost", True), ("127.0.0.1", True), ("::1", True), ("db.example", False)],
)
def test_which_servers_are_near(host: str, near: bool) -> None:
    assert is_near(host) is near


def test_single_rows_of_several_tables_become_one_statement() -> None:
    events, trials = 'INSERT INTO "events" VALUES (%s, %s)', 'UPDATE "trials" SET "seq" = %s'
    few = in_few([(events, [(1, 2)]), ('UPDATE "stages" SET "people" = %s', []), (trials, [(3,)])])
    assert few == [(f'WITH "to events" AS ({events}) {trials}', [(1, 2, 3)])]


def test_a_table_comes_up_once_in_a_statement_and_order_stays() -> None:
    delete, put, trials = 'DELETE FROM "state"', 'INSERT INTO "state" VALUES (%s)', 'UPDATE "trials" SET "seq" = %s'
    many = [(delete, [()]), (put, [("a",), ("b",)]), (trials, [(3,)])]
    assert in_few(many) == many  # type: ignore[arg-type]
    once = in_few([(delete, [()]), (put, [("a",)]), (trials, [(3,)])])
    assert once == [(delete, [()]), (f'WITH "to state" AS ({put}) {trials}', [("a", 3)])]
    assert in_few([]) == []


def test_over_a_network_it_is_the_same_trial(postgres_place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "is_near", lambda host: False)
    store = open_store(postgres_place, create=True)
    plan = {"arms": ["a", "b"], "epsilon": "1", "delta": "0.1", "algorithm": "uniform"}
    trial = Trial.create(store, name="far", noise=ChosenNoise(), **plan)  # type: ignore[arg-type]
    for number in range(12):
        asked = trial.ask(f"p-{number}")
        assert trial.tell(str(asked.id), number % 2) == "recorded"
    assert trial.ask("p-3") == trial.ask("P-3")
    trial.pause()
    with pytest.raises(OperationError, match="paused"):
        trial.ask("somebody")
    monkeypatch.setattr(postgres, "is_near", lambda host: True)
    with Trial.open(open_store(postgres_place), name="far") as near:
        assert near.verify().ok
        assert near.status()["state"] == trial.status()["state"] == "paused"
    assert trial.verify().ok
    trial.close()


def test_no_look_goes_through_everybody_however_small_the_table_was(
    postgres_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "MOST_IDLE", 0)  # whoever comes next has the connection from the pool
    store = PostgresStore(postgres_place, create=True)
    with store._block(store.begin_reading) as link:
        texts, several = store.statements, link.listed([str(n) for n in range(500)])
        looks = [(texts.held_by_any, (1, several)), (texts.held, (1, "a")), (texts.assignment, (1, 1))]
        looks += [(texts.open_in, (1, 1)), (texts.events, (1, 0)), (texts.assigned_since, (1, 0))]
        for statement, parameters in looks:
            plan = " ".join(line for (line,) in link.execute(f"EXPLAIN {statement}", parameters).fetchall())
            assert "Seq Scan" not in plan, plan
        ours = link.connection.info.backend_pid
    with store.engine.connect() as pooled:
        assert pooled.exec_driver_sql("SELECT pg_backend_pid()").scalar() == ours
        assert pooled.exec_driver_sql("SHOW enable_seqscan").scalar() == "on"
    store.close()
