"""The short way on a connection answers as the routes do, byte for byte, and takes nothing that they would refuse."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bestarm.service import create_app
from bestarm.service.access import Access
from bestarm.service.metrics import Metrics
from bestarm.service.short_way import LONGEST, Answering, addressed
from bestarm.storage import open_store
from bestarm.trial.desk import MOST_REPEATS
from bestarm.trial.trial import Trial
from tests.service.conftest import DESIGN
from tests.service.running import LONG_ENOUGH, in_a_thread

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


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    patch = pytest.MonkeyPatch()
    app = create_app(tmp_path_factory.mktemp("short") / "trials.db", metrics=Metrics(SECRET))
    access: Access = app.state.access
    tokens = {role: access.issue("token", role, f"the {role}")[0] for role in ("viewer", "operator", "admin")}
    tokens["other"] = access.issue("token", "operator", "of another trial", "other")[0]
    tokens["session"] = access.issue("session", "operator", "a browser")[0]
    for name in ("dose", "other", "größer als"):
        app.state.trials.create(name, "us", DESIGN)
        app.state.trials.find(name)
    done = Answering.done
    with in_a_thread(app) as server:
        found = Place(app, server, app.state.trials.find("dose"), tokens)

        def counted(self: Answering) -> None:
            found.briefly.append(200 if self.error is None else 0)
            done(self)

        patch.setattr(Answering, "done", counted)
        yield found
        found.socket.close()
    patch.undo()


@pytest.fixture(scope="module")
def people(place: Place) -> list[str]:
    """Participants whose outcomes are told, and none of which may be told again: so a request leaves things as they
    are, and can be made twice."""
    ids = []
    for number in range(3):
        asked = body_of(place.said(place.written("ask", json.dumps({"subject": f"p-{number}"}).encode())))
        ids.append(asked["assignment"])
        place.said(place.written("tell", json.dumps({"assignment": ids[-1], "outcome": 1}).encode()))
    for _ in range(MOST_REPEATS + 1):
        place.said(place.written("tell", json.dumps({"assignment": ids[0], "outcome": 0}).encode()))
    return ids


texts = st.one_of(
    st.sampled_from(["p-0", " P-1", "p-2", "", " ", "x" * 201, "\ud800", "\x00", "ä"]), st.text(max_size=8)
)
numbers = st.one_of(
    st.sampled_from([0, 1, 1.0, 2, -1, 0.5, True, None, "1", "0", "1.0", "1_0", "١", 10**400, 1e308, float("inf")]),
    st.just(float("nan")),
    st.integers(-3, 3),
    st.text(max_size=4),
)
anything = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner),
)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, str, int]:
    """Which of the two, a body as text, with people by their number (@0), and how it is spelled."""
    what = draw(st.sampled_from(["ask", "tell"]))
    fields: list[tuple[str, Any]] = []
    if what == "ask":
        fields.append(("subject", draw(texts | anything)))
    else:
        fields.append(("outcome", draw(numbers | anything)))
        who = draw(st.sampled_from(["assignment", "subject", "both", "neither"]))
        if who in ("assignment", "both"):
            fields.append(("assignment", draw(st.sampled_from(["@0", "@1", "@2", "9-nope", ""]) | anything)))
        if who in ("subject", "both"):
            fields.append(("subject", draw(texts | anything)))
    if draw(st.integers(0, 4)) == 0:
        fields.append((draw(st.sampled_from(["outcome", "subject", "arm", "assignment"])), draw(anything)))
    pairs = ", ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in draw(st.permutations(fields)))
    return what, draw(st.sampled_from(["{%s}"] * 6 + ["[{%s}]", "{%s}}", "{%s", "%s"])) % pairs, draw(st.integers(0, 9))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies())
@example(("ask", '{"subject": "p-0", "subject": 7}', 9))
@example(("ask", '{"subject": 7, "subject": "p-0"}', 9))
@example(("tell", '{"assignment": "@0", "outcome": NaN}', 9))
@example(("tell", '{"assignment": "@0", "outcome": true}', 9))
@example(("tell", '{"assignment": "@0", "outcome": 1e999}', 9))
@example(("tell", '{"assignment": "@0", "outcome": 1, "arm": "5 mg"}', 9))
@example(("ask", '{"subject": "p-0"}', 0))
@example(("ask", '{"subject": "p-0"}', 1))
@example(("ask", "", 9))
@example(("ask", "[" * 5000, 9))
def test_whatever_is_sent_is_answered_alike(
    place: Place, people: list[str], request_sent: tuple[str, str, int]
) -> None:
    what, text, spelling = request_sent
    for number, who in enumerate(people):
        text = text.replace(f"@{number}", who)
    encoding = {0: "utf-16", 1: "utf-8-sig"}.get(spelling, "utf-8")
    short, routes = place.both(what, text.encode(encoding, "surrogatepass"))
    if short.endswith(b'{"status":"recorded"}'):  # of somebody whom an earlier request enrolled
        assert routes.endswith(b'{"status":"already recorded"}')
        short, routes = place.both(what, text.encode(encoding, "surrogatepass"))
    assert short == routes


def test_good_requests_do_go_the_short_way(place: Place, people: list[str]) -> None:
    place.briefly.clear()
    short, routes = place.both("ask", b'{"subject": "p-0"}')
    assert short == routes
    assert body_of(short)["assignment"] == people[0]
    assert place.briefly == [200]
    short, routes = place.both("tell", json.dumps({"assignment": people[0], "outcome": 1}).encode())
    assert short == routes
    assert body_of(short) == {"status": "already recorded"}
    assert place.briefly == [200, 200]
    assert place.both("ask", b'{"subject": 7}')[0].startswith(b"HTTP/1.1 422")
    assert place.briefly == [200, 200], "what is no such request is left to the routes"


@pytest.mark.parametrize(
    ("changes", "right"),
    [
        ({"token": None}, 401),
        ({"token": "bat_wrong"}, 401),
        ({"token": "bat_ä"}, 401),
        ({"token": ""}, 401),
        ({"scheme": "Basic"}, 401),
        ({"scheme": "bearer"}, 200),
        ({"more": ["Authorization: Bearer bat_wrong"]}, 200),
        ({"role": "viewer"}, 403),
        ({"role": "admin"}, 200),
        ({"role": "session"}, 401),
        ({"role": "other"}, 404),
        ({"role": "other", "trial": "other"}, 200),
        ({"trial": "nowhere"}, 404),
        ({"trial": "gr%C3%B6%C3%9Fer%20als"}, 200),
        ({"trial": "d%6Fse"}, 200),
        ({"method": "PUT"}, 405),
        ({"more": ["Upgrade: h2c", "Connection: upgrade"]}, 422),  # whose body the parser leaves to the new protocol
    ],
)
def test_whoever_asks_is_let_in_or_turned_away_alike(place: Place, changes: dict[str, Any], right: int) -> None:
    if "role" in changes:
        changes = changes | {"token": place.tokens[changes["role"]]}
    short, routes = place.both("ask", b'{"subject": "p-0"}', **changes)
    assert short == routes
    assert status(short) == right


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_token_that_was_taken_back_is_refused_at_once(place: Place, where: str) -> None:
    access: Access = place.app.state.access
    token, grant = access.issue("token", "operator", "for a while")
    asking = place.written("ask", b'{"subject": "p-0"}', token=token)
    assert status(place.said(asking)) == 200
    if where == "here":
        access.end(grant.id)
    else:
        store = open_store(str(place.app.state.trials.store.engine.url.database))
        Access(store).end(grant.id)
        store.close()
    assert status(place.said(asking)) == 401


@pytest.mark.parametrize(
    "more",
    [
        ["Connection: close"],
        ["Expect: 100-continue"],
        ["Connection: keep-alive", "Accept: */*"],
    ],
)
def test_headers_that_ask_for_more_are_heard(place: Place, more: list[str]) -> None:
    plain = body_of(place.said(place.written("ask", b'{"subject": "p-0"}')))
    with place.connected() as one:
        one.sendall(place.written("ask", b'{"subject": "p-0"}', more=more))
        if more[0].startswith("Expect"):
            assert one.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        answer = heard(one)
        assert status(answer) == 200
        assert body_of(answer) == plain
        if more == ["Connection: close"]:
            assert b"\r\nconnection: close\r\n" in answer
            assert one.recv(1) == b""


def test_bodies_in_pieces_and_of_any_size(place: Place) -> None:
    plain = place.said(place.written("ask", b'{"subject": "p-0"}'))
    sent = place.written("ask", b'{"subject": "p-0"}')
    for cut in (10, len(sent) - 10, len(sent) - 1):
        place.socket.sendall(sent[:cut])
        assert place.said(sent[cut:]) == plain
    padded = b'{"subject": "p-0"' + b" " * LONGEST + b"}"
    place.briefly.clear()
    assert place.said(place.written("ask", padded)) == plain
    assert place.briefly == [], "a long body is left to the routes"
    chunked = sent.replace(b"Content-Length: 18", b"Transfer-Encoding: chunked")
    assert place.said(chunked.replace(b'{"subject": "p-0"}', b'12\r\n{"subject": "p-0"}\r\n0\r\n\r\n')) == plain


def test_answers_come_in_the_order_of_the_requests(place: Place) -> None:
    health = b"GET /api/v1/health HTTP/1.1\r\nHost: here\r\n\r\n"
    asked = [place.written("ask", b'{"subject": "in order %d"}' % number) for number in range(6)]
    with place.connected() as one:
        one.sendall(asked[0] + asked[1] + health + asked[2] + asked[3] + health + asked[4] + asked[5])
        text = b""
        while text.count(b"HTTP/1.1 200") < 8 or not text.endswith(b"}"):
            part = one.recv(65536)
            assert part, text
            text += part
    answers = [json.loads(found) for found in re.findall(rb"\r\n\r\n(\{[^\r]*\})", text)]
    assert [one.get("status") for one in answers] == [None, None, "ok", None, None, "ok", None, None]
    ids = [one["assignment"] for one in answers if "assignment" in one]
    assert ids == [place.trial.ask(f"in order {number}").id for number in range(6)]


def test_whoever_goes_away_leaves_what_was_asked(place: Place) -> None:
    with place.trial._lock:
        with place.connected() as one:
            one.sendall(place.written("ask", b'{"subject": "gone"}'))
            while not place.app.state.trials.turns("dose")._writer:
                pass
        second = place.connected()
        second.sendall(place.written("ask", b'{"subject": "stays"}'))
    assert status(heard(second)) == 200
    second.close()
    assert len(place.trial.look_up("stays")) == 1


@contextlib.contextmanager
def log_lines() -> Iterator[list[str]]:
    """What is written to the service's log meanwhile, without times."""
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.extend(re.sub(r"[0-9.]+ ms", "T", line) for line in record.getMessage().split("\n"))

    logger, handler = logging.getLogger("bestarm.service"), Kept()
    logger.addHandler(handler)
    yield lines
    logger.removeHandler(handler)


def test_errors_that_nobody_foresaw_are_answered_and_logged(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, log_lines() as lines:
        patch.setattr(place.app.state.access, "find_all", lambda *_: 1 / 0)
        answer = place.said(place.written("ask", b'{"subject": "p-0"}'))
    assert status(answer) == 500
    assert b"content-security-policy: default-src 'none'" in answer
    assert any(line.startswith("ZeroDivisionError at ") for line in lines)
    assert status(place.said(place.written("ask", b'{"subject": "p-0"}'))) == 200


def test_requests_are_logged_and_counted(place: Place) -> None:
    counted = re.compile(r'requests_total\{method="POST",route="/api/v1/trials/\{trial\}/ask",status="(.xx)"\} (\d+)')
    health = b"GET /api/v1/health HTTP/1.1\r\nHost: here\r\n\r\n"
    place.said(health)  # by then the loop has turned
    before = dict(counted.findall(place.app.state.metrics.text()))
    with log_lines() as lines:
        place.said(place.written("ask", b'{"subject": "p-0"}'))
        place.said(place.written("ask", b'{"subject": "p-0"}', token=None))
        place.said(health)
    assert [line for line in lines if "POST" in line] == ["POST api.trials.ask 200 T", "POST api.trials.ask 401 T"]
    after = dict(counted.findall(place.app.state.metrics.text()))
    assert {kind: int(after[kind]) - int(before.get(kind, 0)) for kind in ("2xx", "4xx")} == {"2xx": 1, "4xx": 1}


def test_only_plain_addresses_are_taken() -> None:
    assert addressed(b"/api/v1/trials/dose/ask") is not None
    for other in (b"/api/v1/trials/why?/ask", b"/api/v1/trials/a%2Fb/ask", b"/api/v1/trials/dose/asked", b"*"):
        assert addressed(other) is None, other


@pytest.mark.parametrize("ends", [True, False])
def test_a_server_that_ends_answers_first_and_only_what_is_durable(tmp_path: Any, ends: bool) -> None:
    app = create_app(tmp_path / "trials.db")
    app.state.trials.create("dose", "us", DESIGN)
    trial: Trial = app.state.trials.find("dose")
    token = app.state.access.issue("token", "operator", "ward")[0]
    with in_a_thread(app) as server:
        here = Place(app, server, trial, {"operator": token})
        with trial._lock:
            here.socket.sendall(here.written("ask", b'{"subject": "p-0"}'))
            while app.state.trials.turns("dose")._writer is None:
                pass
            here.socket.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                assert here.socket.recv(1) == b"?", "answered before the writer had its turn"
            server.should_exit = ends
            here.socket.settimeout(LONG_ENOUGH)
            while ends and not any(getattr(one.cycle, "keep_alive", True) is False for one in connections(server)):
                threading.Event().wait(0.01)
        answer = heard(here.socket)
        assert status(answer) == 200
        assert (b"\r\nconnection: close\r\n" in answer) == ends
        if ends:
            here.socket.settimeout(3)  # sooner than a connection that is only idle
            assert here.socket.recv(1) == b""
        here.socket.close()


def connections(server: uvicorn.Server) -> list[Any]:
    return list(server.server_state.connections)
