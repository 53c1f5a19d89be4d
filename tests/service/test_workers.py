"""`bestarm serve --workers N`: several processes that serve as one, and end together."""

from __future__ import annotations

import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import bestarm as ba
from bestarm.cli import main
from tests.service.conftest import DESIGN
from tests.service.running import Server, free_port
from tests.service.test_metrics import SECRET

LONG_ENOUGH = 60.0


@pytest.fixture
def server(postgres_place: str, tmp_path: Path) -> Iterator[Server]:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    options = ("--workers", "2", "--metrics", str(secret))
    one = Server(postgres_place, tmp_path / "server.log", options=options)
    one.start()
    yield one
    one.stop()


def workers(server: Server) -> list[int]:
    """The processes that serve: children of the one that was started, one of which only keeps account of resources."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                command = (entry / "cmdline").read_text()
            except OSError:
                continue
            if parent == server.process and "resource_tracker" not in command:
                found.append(int(entry.name))
    return found


def counted(server: Server) -> int:
    """Requests to ask that went well, as monitoring sees them."""
    request = urllib.request.Request(f"{server.url}/metrics", headers={"Authorization": f"Bearer {SECRET}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    asks = [line for line in lines if line.startswith("bestarm_requests_total") and "/ask" in line and "2xx" in line]
    return int(float(asks[0].split()[-1])) if asks else 0


def until(what: str, holds: object) -> None:
    deadline = time.monotonic() + LONG_ENOUGH
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_several_workers_serve_as_one_and_end_together(server: Server) -> None:
    assert server.said.count("/sign-in#") == 1
    admin = server.token("admin")
    with ba.Client(server.url, token=admin) as client:
        trial = client.create(name="dose", **DESIGN)
        for number in range(30):
            client.close()  # a new connection, which either of them may take
            asked = trial.ask(f"p-{number % 10}")
            assert trial.tell(asked.id, number % 2 if number < 10 else (number % 10) % 2) in (
                "recorded",
                "already recorded",
            )
        until("the counts of both are added up", lambda: counted(server) == 30)
        # One dies: its place is taken, nothing acknowledged is lost, and the client notices nothing.
        until("both are there", lambda: len(workers(server)) == 2)
        victim = workers(server)[0]
        os.kill(victim, signal.SIGKILL)
        for number in range(10, 20):
            client.close()
            trial.tell(trial.ask(f"p-{number}").id, 1)
        until("another one takes its place", lambda: len(set(workers(server)) - {victim}) == 2)
        assert "another one takes its place" in server.said
        assert trial.verify().ok
        assert trial.open_assignments() == []
    # The parent dies: they do not go on without it.
    left = workers(server)
    server.kill()
    until("they end with their parent", lambda: not any(Path(f"/proc/{one}").exists() for one in left))
    server.start()
    with ba.Client(server.url, token=admin) as client:
        assert client.open(name="dose").ask("p-3").told


def test_several_workers_need_a_store_that_they_can_share(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["serve", "--store", str(tmp_path / "trials.db"), "--port", str(free_port())]
    assert main([*place, "--workers", "2"]) == 2
    assert "Several workers need a store that they can share" in capsys.readouterr().err
    for count in ("0", "-1", "65", "two"):
        assert main([*place, "--workers", count]) == 2
