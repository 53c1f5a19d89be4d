"""What was released is read at once or one by one, in any number of looks, and is the same."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from bestarm.errors import OperationError
from bestarm.storage.sql import SQLStore
from bestarm.trial import history
from bestarm.trial.trial import Trial
from tests.trial.test_cost import statements

ARMS = ["a", "b", "c", "d"]


def released(path: Path, rounds: int, algorithm: str = "uniform", **changes: Any) -> Trial:
    """A trial with many releases, and with a voided entry."""
    trial = Trial.create(path, name="t", arms=ARMS, epsilon="1", delta="0.01", algorithm=algorithm, **changes)
    number, voided = 0, False
    while len(trial.view().releases) < rounds:
        asked = []
        with suppress(OperationError):  # every arm waits for outcomes
            for _ in range(9):
                asked.append(trial.ask(f"p-{number}"))
                number += 1
        told = [(a.id, (i * i + number) % 2) for i, a in enumerate(asked) if a.id is not None]
        if not voided and len(told) > 1:
            trial.void(str(told.pop()[0]), "p-0", "entered twice")
            voided = True
        trial.tell_many(told[::-1])
    return trial


def looks(path: Path, monkeypatch: pytest.MonkeyPatch, several: int) -> dict[str, Any]:
    monkeypatch.setattr(history, "SEVERAL", several)
    with Trial.open(path, name="t") as trial:
        view = trial.view()
        return {"status": trial.status(), "ledger": trial.ledger(), "view": view.releases, "coins": view.coins}


@pytest.mark.parametrize(("algorithm", "rounds"), [("uniform", 24), ("evidence", 8)])
def test_at_once_or_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str, rounds: int) -> None:
    path = tmp_path / "t.db"
    trial = released(path, rounds, algorithm, outcomes="binary")
    at_once, one_by_one = looks(path, monkeypatch, 0), looks(path, monkeypatch, 1000)
    assert at_once == one_by_one
    assert at_once["status"] == trial.status(), "as whoever looked all the time sees it"
    assert sum(sum(one.voided) for one in at_once["view"]) == 1
    trial.close()


def test_the_first_look_asks_as_much_of_the_store_after_many_releases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "SEVERAL", 2)
    asked = []
    for rounds in (21, 30):
        path = tmp_path / f"{rounds}.db"
        released(path, rounds).close()
        with Trial.open(path, name="t") as trial:
            assert isinstance(trial._store, SQLStore)
            with statements(trial._store) as seen:
                trial.view()
            asked.append(sorted(seen))
    assert asked[0] == asked[1]


def test_what_a_status_says_is_the_callers_own(tmp_path: Path) -> None:
    trial = released(tmp_path / "t.db", 5)
    first, right = trial.status(), deepcopy(trial.status())
    first["releases"][0]["arms"].append("x")
    first["releases"].pop()
    assert trial.status() == right
    trial.close()
