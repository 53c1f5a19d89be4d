"""A server in a thread, and requests to it as they go over the wire."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI

from bestarm.service import create_app
from bestarm.service.access import ROLES, Access
from bestarm.service.metrics import Metrics
from bestarm.service.short_way import Answering, Counter, Head, ShortWay
from bestarm.trial.desk import MOST_REPEATS
from bestarm.trial.trial import Trial
from tests.service.running import DESIGN, LONG_ENOUGH, in_a_thread

JSON = "application/json"
AS_THE_ROUTES_TAKE_IT = "application/json; charset=utf-8"
"""The same to whoever reads a body, but not what the short way is for."""
SECRET = "a secret of the monitoring"


@dataclass
class Place:
    """A server with two trials, and a connection to it."""

    app: FastAPI
    server: uvicorn.Server
    trial: Trial
    tokens: dict[str, str]
    briefly: list[int] = field(default_factory=list)
    """The statuses of what went the short way."""
    unparsed: list[bytes] = field(default_factory=list)
    """The bodies of what was not parsed again."""

    def __post_init__(self) -> None:
        self.socket = self.connected()

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.server.config.port), timeout=LONG_ENOUGH)

    def written(self, what: str, body: bytes, kind: str = JSON, **changes: Any) -> bytes:
        """A request as it goes over the wire."""
        token = changes.get("token", self.tokens["operator"])
        lines = [
            f"{changes.get('method', 'POST')} /api/v1/trials/{changes.get('trial', 'dose')}/{what} HTTP/1.1",
            "Host: here",
            *([] if token is None else [f"Authorization: {changes.get('scheme', 'Bearer')} {token}"]),
            f"Content-Type: {kind}",
            f"Content-Length: {len(body)}",
            *changes.get("more", ()),
        ]
        return "\r\n".join([*lines, "", ""]).encode() + body

    def said(self, sent: bytes) -> bytes:
        """The whole answer, but for when it was given."""
        self.socket.sendall(sent)
        answer = heard(self.socket)
        if b"\r\nconnection: close\r\n" in answer:
            self.socket.close()
            self.socket = self.connected()
        return answer

    def again(self, sent: bytes) -> bytes:
        """The answer to a request that is made twice more, the second time under a head that may be known."""
        self.said(self.written("ask", b'{"subject": "p-0"}'))
        self.said(sent)
        self.said(self.written("ask", b'{"subject": "p-0"}'))
        return self.said(sent)

    def both(self, what: str, body: bytes, **changes: Any) -> tuple[bytes, bytes]:
        """What is answered the short way, and by the routes."""
        return (
            self.said(self.written(what, body, **changes)),
            self.said(self.written(what, body, AS_THE_ROUTES_TAKE_IT, **changes)),
        )


def heard(one: socket.socket) -> bytes:
    said = b""
    while True:
        head, found, body = said.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if found and length is not None and len(body) >= int(length[1]):
            return re.sub(rb"\r\ndate: [^\r]*", b"", said)
        part = one.recv(65536)
        assert part, said
        said += part


def status(answer: bytes) -> int:
    return int(answer[9:12])


def body_of(answer: bytes) -> Any:
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def connections(server: uvicorn.Server) -> list[Any]:
    return list(server.server_state.connections)


def until(reached: Callable[[], bool]) -> None:
    """Wait for something that is about to be so."""
    deadline = time.monotonic() + LONG_ENOUGH
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def half_read(server: uvicorn.Server) -> bool:
    """Whether the beginning of a request has come on some connection, and no more of it."""
    return any(one._between is False for one in connections(server))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server with three trials, that notes which way requests go."""
    patch = pytest.MonkeyPatch()
    app = create_app(tmp_path_factory.mktemp("short") / "trials.db", metrics=Metrics(SECRET))
    access: Access = app.state.access
    tokens: dict[str, str] = {role: access.issue("token", role, f"the {role}")[0] for role in ROLES}
    tokens["other"] = access.issue("token", "operator", "of another trial", "other")[0]
    tokens["session"] = access.issue("session", "operator", "a browser")[0]
    for name in ("dose", "other", "größer als"):
        app.state.trials.create(name, "us", DESIGN)
        app.state.trials.find(name)
    done, follow = Answering.done, ShortWay._follows
    with in_a_thread(app) as server:
        found = Place(app, server, app.state.trials.find("dose"), tokens)

        def counted(self: Answering) -> None:
            found.briefly.append(200 if self.error is None else 0)
            done(self)

        def followed(self: ShortWay, counter: Counter, head: Head, body: bytes) -> bool:
            follows = follow(self, counter, head, body)
            found.unparsed.extend([body] if follows else [])
            return follows

        patch.setattr(Answering, "done", counted)
        patch.setattr(ShortWay, "_follows", followed)
        yield found
        found.socket.close()
    patch.undo()


@pytest.fixture(scope="module")
def people(served: Place) -> list[str]:
    """Participants whose outcomes are told, and none of which may be told again: so a request leaves things as they
    are, and can be made twice."""
    ids = []
    for number in range(3):
        asked = body_of(served.said(served.written("ask", json.dumps({"subject": f"p-{number}"}).encode())))
        ids.append(asked["assignment"])
        served.said(served.written("tell", json.dumps({"assignment": ids[-1], "outcome": 1}).encode()))
    for _ in range(MOST_REPEATS + 1):
        served.said(served.written("tell", json.dumps({"assignment": ids[0], "outcome": 0}).encode()))
    return ids
