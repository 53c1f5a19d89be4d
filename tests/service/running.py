"""A server of its own process, as `bestarm serve` starts it, that tests may kill."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from bestarm.service.access import Access, Kind, Role
from bestarm.service.patience import Limits
from bestarm.service.server import configured
from bestarm.storage import open_store

LONG_ENOUGH = 30.0
DESIGN: dict[str, Any] = {
    "arms": ["5 mg", "10 mg"],
    "epsilon": "1",
    "delta": "0.1",
    "algorithm": "adap-tt",
    "outcomes": "binary",
}
"""Of the trials of most tests."""


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def in_a_thread(app: FastAPI, limits: Limits | None = None) -> Iterator[uvicorn.Server]:
    """The application served as `bestarm serve` does, in a thread of ours, so that tests reach inside."""
    server = uvicorn.Server(configured(app, "127.0.0.1", free_port(), limits=limits))
    thread = threading.Thread(target=server.run)
    thread.start()
    deadline = time.monotonic() + LONG_ENOUGH
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield server
    server.should_exit = True
    thread.join(LONG_ENOUGH)
    assert not thread.is_alive()


class Server:
    """`bestarm serve` on a store; what it prints goes into a file."""

    def __init__(self, store: str, log: Path, port: int | None = None, options: tuple[str, ...] = ()) -> None:
        self.store = store
        self._options = options
        self.port = port or free_port()
        self.log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def said(self) -> str:
        """All that it has printed so far."""
        return self.log.read_text()

    def link(self) -> str:
        """The administrator's one-time link."""
        found = re.search(r"http://\S+/sign-in#\S+", self.said)
        assert found is not None, self.said
        return found[0]

    def token(self, role: Role, trial: str | None = None) -> str:
        """A token, made behind the server's back."""
        return self._issue("token", role, trial)

    def view_link(self, trial: str) -> str:
        """The secret of a view link, made behind the server's back."""
        return self._issue("view", "viewer", trial)

    def _issue(self, kind: Kind, role: Role, trial: str | None) -> str:
        store = open_store(self.store, create=True)
        secret = Access(store).issue(kind, role, f"the {role}", trial)[0]
        store.close()
        return secret

    def start(self) -> None:
        """Start, and wait until it answers."""
        command = [sys.executable, "-m", "bestarm.cli", "serve", "--store", self.store, "--port", str(self.port)]
        command += self._options
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out)
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/api/v1/health", timeout=5):
                    return
            except OSError:
                assert self._process.poll() is None, self.said
                assert time.monotonic() < deadline, self.said
                time.sleep(0.1)

    @property
    def process(self) -> int:
        """Its number."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """As a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As an administrator would."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            os.kill(self._process.pid, how)
            self._process.wait(30)
            self._process = None
