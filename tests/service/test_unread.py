"""A client that sends requests and never reads an answer: it holds nobody up, is given little memory, and is let go."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from bestarm.service import create_app
from bestarm.service.patience import LARGEST_READ, Limits
from bestarm.service.short_way import ShortWay
from bestarm.trial.trial import Trial
from tests.service.conftest import DESIGN
from tests.service.running import LONG_ENOUGH, in_a_thread
from tests.service.wire import heard, status

ENDLESS = 64 * 2**20
"""Bytes of requests that no server should take from somebody who reads nothing."""


@dataclass
class Place:
    """A server with a trial."""

    server: uvicorn.Server
    trial: Trial
    token: str
    most: int = 0
    """Requests of one connection that were in memory at a time."""

    def connected(self) -> socket.socket:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.settimeout(LONG_ENOUGH)
        one.connect(("127.0.0.1", self.server.config.port))
        return one

    def written(self, what: str, body: Any) -> bytes:
        said = json.dumps(body).encode()
        head = f"POST /api/v1/trials/dose/{what} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {self.token}\r\n"
        return f"{head}Content-Type: application/json\r\nContent-Length: {len(said)}\r\n\r\n".encode() + said


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    app = create_app(tmp_path / "trials.db")
    app.state.trials.create("dose", "us", DESIGN)
    trial = app.state.trials.find("dose")
    token = app.state.access.issue("token", "operator", "ward")[0]
    with in_a_thread(app, Limits(answer=2.0)) as server:
        here = Place(server, trial, token)
        made, begun = ShortWay.connection_made, ShortWay.on_message_begin

        def narrow(self: ShortWay, transport: asyncio.Transport) -> None:
            made(self, transport)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

        def counted(self: ShortWay) -> None:
            begun(self)
            here.most = max(here.most, len(self.pipeline))

        monkeypatch.setattr(ShortWay, "connection_made", narrow)
        monkeypatch.setattr(ShortWay, "on_message_begin", counted)
        yield here


def flood(one: socket.socket, request: bytes) -> int:
    """Send the same request again and again until the connection is ended; the bytes that were taken."""
    sent, many = 0, request * 500
    with contextlib.suppress(ConnectionError):
        try:
            while sent < ENDLESS:
                sent += one.send(many[sent % len(request) :])
        except TimeoutError:
            return ENDLESS
    return sent


@pytest.mark.parametrize("what", ["ask", "other"])
def test_whoever_reads_nothing_holds_nobody_up_and_gets_little_memory(place: Place, what: str) -> None:
    request = place.written("ask", {"subject": "p-0"})
    if what == "other":
        request = b"GET /api/v1/health HTTP/1.1\r\nHost: here\r\n\r\n"
    with place.connected() as greedy, place.connected() as patient:
        taken: list[int] = []
        thread = threading.Thread(target=lambda: taken.append(flood(greedy, request)))
        thread.start()
        asked = 0
        while thread.is_alive() or asked < 5:
            patient.sendall(place.written("ask", {"subject": f"p-{asked}"}))
            assert status(heard(patient)) == 200
            asked += 1
        thread.join()
    assert taken[0] < ENDLESS, "the server takes requests for ever, or holds a connection that nobody reads from"
    assert place.most * len(request) <= LARGEST_READ + len(request)
    assert place.trial.verify().ok


def test_whoever_reads_late_gets_every_answer(place: Place) -> None:
    bodies = [{"subject": f"late {number}"} for number in range(400)]
    with place.connected() as one:
        one.sendall(b"".join(place.written("ask", body) for body in bodies))
        text = b""
        while text.count(b"HTTP/1.1 200") < len(bodies) or not text.endswith(b"}"):
            part = one.recv(65536)
            assert part, text[-200:]
            text += part
    assert sum(place.trial.view().assigned) == len(bodies)
