"""Whatever dies or fills up: nothing acknowledged is lost or doubled, and no release is drawn again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from bestarm.errors import OperationError
from bestarm.storage.keys import FOLDER
from bestarm.storage.sqlite import SQLiteStore
from bestarm.trial.trial import Trial
from tests.trial.people import ChosenNoise

ROOT = Path(__file__).parents[2]


def torture(place: str, kills: int, clerks: int, at_least: int, **design: Any) -> dict[str, Any]:
    """Clerks killed so often, and until so many outcomes were acknowledged."""
    numbers = [str(number) for number in (kills, clerks, 7, at_least)]
    command = [sys.executable, "-W", "ignore", "-m", "tests.trial.torture", place, *numbers, json.dumps(design)]
    quiet = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(found: dict[str, Any]) -> None:
    assert found["acknowledged"] > 0
    assert found["releases_seen"] > 3
    assert found["problems"] == found["lost"] == found["redrawn"] == []
    assert found["doubled"] == 0
    assert found["verified"]
    assert found["recommended"] == "c", "wrong with a chance of at most delta, 1e-7"


def test_eighty_kills_leave_no_trace(sqlite_place: str) -> None:
    check(torture(sqlite_place, kills=80, clerks=1, at_least=50))


def test_several_writers_killed_on_postgres(
    postgres_place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    check(torture(postgres_place, kills=60, clerks=3, at_least=10, privacy="local"))


@pytest.mark.parametrize(
    "design",
    [{"privacy": "zcdp", "rho": 20}, {"privacy": "none"}, {"algorithm": "uniform"}],
    ids=["zcdp", "none", "in batches"],
)
def test_several_writers_killed_on_sqlite(sqlite_place: str, design: dict[str, Any]) -> None:
    check(torture(sqlite_place, kills=25, clerks=3, at_least=10, **design))


def test_a_full_disk_loses_nothing(sqlite_place: str) -> None:
    plan: dict[str, Any] = {"arms": ["a", "b"], "epsilon": 1, "delta": 0.1, "algorithm": "uniform"}
    Trial.create(sqlite_place, name="t", **plan).close()
    store = SQLiteStore(sqlite_place)
    limit = {"pages": 40}

    def confine(connection: Any, *_: Any) -> None:
        connection.execute(f"PRAGMA max_page_count={limit['pages']}")

    event.listen(store.engine, "connect", confine)
    store.engine.dispose()
    trial = Trial.open(store, name="t", noise=ChosenNoise())
    done = 0

    def enrol(people: int) -> None:
        nonlocal done
        for _ in range(people):
            asked = trial.ask(f"p-{done}")
            trial.tell(str(asked.id), done // 2 % 2)  # the same for both arms, so that the trial does not stop
            done += 1

    with pytest.raises(OperationError, match="full"):
        enrol(2000)
    assert done > 20
    seen = trial.status()["releases"]
    for _ in range(5):
        with pytest.raises(OperationError, match="full"):
            enrol(2000)
    assert trial.verify().ok
    assert trial.status()["releases"] == seen
    limit["pages"] = 10**6
    store.engine.dispose()
    enrol(50)
    assert trial.status()["releases"][: len(seen)] == seen
    assert trial.verify().ok
    assert sum(trial.view().assigned) == done
