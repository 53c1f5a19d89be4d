"""The client has the interface of `Trial`: one script, a file or a server; and it survives a server that dies."""

from __future__ import annotations

import inspect
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import bestarm as ba
from bestarm.client import RemoteTrial
from bestarm.trial.trial import Trial
from tests.service.conftest import DESIGN
from tests.service.running import Server, free_port


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    one = Server(str(tmp_path / "trials.db"), tmp_path / "server.log")
    one.start()
    yield one
    one.stop()


def script(trial: Any, out: Path) -> list[Any]:
    """What a clinic's script might do; it does not know where the trial lives."""
    first, second = trial.ask_many(["p-1", "p-2"])
    said = [first.arm in trial.design.arms, trial.ask("p-1") == first, first.told, first.stopped]
    said += [trial.tell(first.id, 1), trial.tell(first.id, True), trial.tell(first.id, Fraction(1))]
    said += trial.tell_many([(second.id, "0")])
    third = trial.ask(subject="p-3")
    said += [[one.id == third.id for one in trial.open_assignments()], trial.withdraw(third.id, "moved away")]
    left = trial.ask("p-3")
    said += [left.id == third.id, left.arm == third.arm, left.told, left.withdrawn]
    for wrong in (0, 7, "x"):
        with pytest.raises(ba.InputError):
            trial.tell(first.id, wrong)
    with pytest.raises(ba.InputError):
        trial.ask("")
    said += [trial.pause("stock"), trial.status()["state"]]
    with pytest.raises(ba.OperationError, match="paused"):
        trial.ask("p-4")
    said += [trial.resume(), trial.verdict, sorted(trial.status()), sorted(trial.ledger())]
    said += [trial.end("enough"), trial.ask("p-5").id, trial.ask("p-5").verdict, trial.verdict.by, trial.verify().ok]
    paths = trial.report(out)
    said += [sorted(paths), sorted(json.loads(Path(paths["json"]).read_text()))]
    return said


def test_the_same_script_runs_against_a_file_and_a_server(server: Server, tmp_path: Path) -> None:
    with ba.Trial.create(tmp_path / "file.db", name="dose", **DESIGN) as local:
        expected = script(local, tmp_path / "local")
    with ba.Client(server.url, token=server.token("admin")) as client:
        remote = client.create(name="dose", **DESIGN)
        assert remote.design == local.design
        assert script(client.open(name="dose"), tmp_path / "remote") == expected
        assert client.trials() == ["dose"]
        with pytest.raises(ba.InputError, match="already a trial"):
            client.create(name="dose", **DESIGN)
        with pytest.raises(ba.InputError, match="no trial of this name"):
            client.open(name="none")
        found = client.bounds([0.95, 0.9, 0.5], epsilon=0.1, delta=0.01)
        assert found["lower_bound"] == pytest.approx(ba.bounds([0.95, 0.9, 0.5], 0.1, 0.01).lower_bound)
        assert any(one["name"] == "dp-se" for one in client.algorithms())


def test_the_client_has_the_trials_interface() -> None:
    files_only = {"create", "open", "view", "advance", "export_public", "export_confidential", "tell_csv"}
    within_the_service = {"asking", "telling", "together"}
    for name, member in inspect.getmembers(Trial):
        if name.startswith("_") or name in files_only | within_the_service:
            continue
        there = getattr(RemoteTrial, name)
        if callable(member):
            wanted = [p for p in inspect.signature(member).parameters if p not in ("actor", "guarded", "progress")]
            assert list(inspect.signature(there).parameters) == wanted, name


def test_bad_addresses_tokens_and_servers() -> None:
    with pytest.raises(ba.InputError, match="http"):
        ba.Client("ftp://here", token="x")
    nobody = ba.Client(f"http://127.0.0.1:{free_port()}", token="x")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bestarm.client.PAUSES", (0.0,))
        with pytest.raises(ba.OperationError, match="does not answer"):
            nobody.trials()


def test_a_wrong_token_is_said_to_be_wrong(server: Server) -> None:
    with ba.Client(server.url, token="bat_wrong") as client, pytest.raises(ba.InputError, match="token"):
        client.trials()


def test_killing_the_server_under_load_loses_and_doubles_nothing(tmp_path: Path) -> None:
    server = Server(str(tmp_path / "trials.db"), tmp_path / "server.log")
    server.start()
    admin = server.token("admin")
    client = ba.Client(server.url, token=admin)
    client.create(name="dose", **DESIGN)
    acknowledged: dict[str, tuple[str, str]] = {}
    outcomes: dict[str, int] = {}
    failures: list[BaseException] = []
    over = threading.Event()

    def clinic(number: int) -> None:
        rng = random.Random(number)
        trial = client.open(name="dose")
        person = 0
        while not over.is_set():
            subject = f"clinic {number}, person {person}"
            asked = trial.ask(subject)
            assert asked.id is not None
            assert asked.arm is not None
            acknowledged[subject] = (asked.id, asked.arm)
            outcome = int(rng.random() < 0.5)
            assert trial.tell(asked.id, outcome) in ("recorded", "already recorded")
            outcomes[asked.id] = outcome
            person += 1

    threads = [threading.Thread(target=_caught(clinic, failures), args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for kill in range(3):
        _wait_for(outcomes, 20 * (kill + 1), failures)
        server.kill()
        server.start()
    _wait_for(outcomes, 80, failures)
    over.set()
    for thread in threads:
        thread.join(60)
    client.close()
    server.stop()
    assert not failures, failures
    with Trial.open(server.store, name="dose") as trial:
        assert trial.verify().ok
        with trial._store.reading("dose") as reading:
            rows = list(reading.assignments())
        assert len({row.subject for row in rows}) == len(rows), "nobody holds two assignments"
        again = trial.ask_many(acknowledged)
        assert [(a.id, a.arm) for a in again] == list(acknowledged.values()), "every acknowledged assignment is there"
        repeated = trial.tell_many(list(outcomes.items()))
        assert set(repeated) <= {"already recorded", "late"}, "every acknowledged outcome is there, as it was told"


def _wait_for(outcomes: dict[str, int], count: int, failures: list[BaseException]) -> None:
    deadline = time.monotonic() + 120
    while len(outcomes) < count and not failures:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _caught(run: Callable[[int], None], failures: list[BaseException]) -> Callable[[int], None]:
    def guarded(number: int) -> None:
        try:
            run(number)
        except BaseException as error:
            failures.append(error)

    return guarded
