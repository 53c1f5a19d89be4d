"""How a PostgreSQL store saves round trips and statements."""

from __future__ import annotations

import pytest

from bestarm.errors import OperationError
from bestarm.storage import open_store, postgres
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


def test_no_look_goes_through_everybody_however_small_the_table_was(postgres_place: str) -> None:
    # The plan of a prepared statement is made once for all values, and may be while there is nobody in the table.
    store = PostgresStore(postgres_place, create=True)
    texts = store.statements
    with store._block(store.begin_reading) as link:
        link.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        looks = [(texts.held_by_any, "bigint, text[]", "1, array['a']", "subject")]
        looks += [(texts.held, "bigint, text", "1, 'a'", "subject")]
        looks += [(texts.assignment, "bigint, bigint", "1, 1", "number")]
        looks += [
            (texts.open_in, "bigint, bigint", "1, 1", "stage"),
            (texts.events, "bigint, bigint, bigint", "0, 1, 9", "id"),
        ]
        for number, (statement, types, values, key) in enumerate(looks):
            numbered = statement.replace("%s", "$1", 1).replace("%s", "$2", 1).replace("%s", "$3", 1)
            link.execute(f"PREPARE look_{number} ({types}) AS {numbered}")
            plan = [line for (line,) in link.execute(f"EXPLAIN EXECUTE look_{number} ({values})").fetchall()]
            assert any("Index Cond" in line and key in line for line in plan), plan
    store.close()
