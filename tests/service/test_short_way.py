"""The short way on a connection answers as the routes do, byte for byte, and takes nothing that they would refuse."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bestarm.service import create_app
from bestarm.service.access import Access
from bestarm.service.short_way import LONGEST, addressed
from bestarm.storage import open_store
from bestarm.trial.trial import Trial
from tests.service.conftest import DESIGN
from tests.service.running import LONG_ENOUGH, in_a_thread
from tests.service.wire import Place, body_of, connections, heard, status

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
    served: Place, people: list[str], request_sent: tuple[str, str, int]
) -> None:
    what, text, spelling = request_sent
    for number, who in enumerate(people):
        text = text.replace(f"@{number}", who)
    encoding = {0: "utf-16", 1: "utf-8-sig"}.get(spelling, "utf-8")
    short, routes = served.both(what, text.encode(encoding, "surrogatepass"))
    if short.endswith(b'{"status":"recorded"}'):  # of somebody whom an earlier request enrolled
        assert routes.endswith(b'{"status":"already recorded"}')
        short, routes = served.both(what, text.encode(encoding, "surrogatepass"))
    assert short == routes
    assert served.again(served.written(what, text.encode(encoding, "surrogatepass"))) == routes


def test_good_requests_do_go_the_short_way(served: Place, people: list[str]) -> None:
    served.briefly.clear()
    short, routes = served.both("ask", b'{"subject": "p-0"}')
    assert short == routes
    assert body_of(short)["assignment"] == people[0]
    assert served.briefly == [200]
    short, routes = served.both("tell", json.dumps({"assignment": people[0], "outcome": 1}).encode())
    assert short == routes
    assert body_of(short) == {"status": "already recorded"}
    assert served.briefly == [200, 200]
    assert served.both("ask", b'{"subject": 7}')[0].startswith(b"HTTP/1.1 422")
    assert served.briefly == [200, 200], "what is no such request is left to the routes"


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
def test_whoever_asks_is_let_in_or_turned_away_alike(served: Place, changes: dict[str, Any], right: int) -> None:
    if "role" in changes:
        changes = changes | {"token": served.tokens[changes["role"]]}
    short, routes = served.both("ask", b'{"subject": "p-0"}', **changes)
    assert short == routes
    assert status(short) == right
    assert served.again(served.written("ask", b'{"subject": "p-0"}', **changes)) == routes


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_token_that_was_taken_back_is_refused_at_once(served: Place, where: str) -> None:
    access: Access = served.app.state.access
    token, grant = access.issue("token", "operator", "for a while")
    asking = served.written("ask", b'{"subject": "p-0"}', token=token)
    assert status(served.said(asking)) == 200
    if where == "here":
        access.end(grant.id)
    else:
        store = open_store(str(served.app.state.trials.store.engine.url.database))
        Access(store).end(grant.id)
        store.close()
    assert status(served.said(asking)) == 401


@pytest.mark.parametrize(
    "more",
    [
        ["Connection: close"],
        ["Expect: 100-continue"],
        ["Connection: keep-alive", "Accept: */*"],
    ],
)
def test_headers_that_ask_for_more_are_heard(served: Place, more: list[str]) -> None:
    plain = body_of(served.said(served.written("ask", b'{"subject": "p-0"}')))
    with served.connected() as one:
        one.sendall(served.written("ask", b'{"subject": "p-0"}', more=more))
        if more[0].startswith("Expect"):
            assert one.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        answer = heard(one)
        assert status(answer) == 200
        assert body_of(answer) == plain
        if more == ["Connection: close"]:
            assert b"\r\nconnection: close\r\n" in answer
            assert one.recv(1) == b""


def test_bodies_in_pieces_and_of_any_size(served: Place) -> None:
    plain = served.said(served.written("ask", b'{"subject": "p-0"}'))
    sent = served.written("ask", b'{"subject": "p-0"}')
    for cut in (10, len(sent) - 10, len(sent) - 1):
        served.socket.sendall(sent[:cut])
        assert served.said(sent[cut:]) == plain
    padded = b'{"subject": "p-0"' + b" " * LONGEST + b"}"
    served.briefly.clear()
    assert served.said(served.written("ask", padded)) == plain
    assert served.briefly == [], "a long body is left to the routes"
    chunked = sent.replace(b"Content-Length: 18", b"Transfer-Encoding: chunked")
    assert served.said(chunked.replace(b'{"subject": "p-0"}', b'12\r\n{"subject": "p-0"}\r\n0\r\n\r\n')) == plain


def test_answers_come_in_the_order_of_the_requests(served: Place) -> None:
    health = b"GET /api/v1/health HTTP/1.1\r\nHost: here\r\n\r\n"
    asked = [served.written("ask", b'{"subject": "in order %d"}' % number) for number in range(6)]
    with served.connected() as one:
        one.sendall(asked[0] + asked[1] + health + asked[2] + asked[3] + health + asked[4] + asked[5])
        text = b""
        while text.count(b"HTTP/1.1 200") < 8 or not text.endswith(b"}"):
            part = one.recv(65536)
            assert part, text
            text += part
    answers = [json.loads(found) for found in re.findall(rb"\r\n\r\n(\{[^\r]*\})", text)]
    assert [one.get("status") for one in answers] == [None, None, "ok", None, None, "ok", None, None]
    ids = [one["assignment"] for one in answers if "assignment" in one]
    assert ids == [served.trial.ask(f"in order {number}").id for number in range(6)]


def test_whoever_goes_away_leaves_what_was_asked(served: Place) -> None:
    with served.trial._lock:
        with served.connected() as one:
            one.sendall(served.written("ask", b'{"subject": "gone"}'))
            while not served.app.state.trials.turns("dose")._writer:
                pass
        second = served.connected()
        second.sendall(served.written("ask", b'{"subject": "stays"}'))
    assert status(heard(second)) == 200
    second.close()
    assert len(served.trial.look_up("stays")) == 1


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


def test_errors_that_nobody_foresaw_are_answered_and_logged(served: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, log_lines() as lines:
        patch.setattr(served.app.state.access, "find_all", lambda *_: 1 / 0)
        answer = served.said(served.written("ask", b'{"subject": "p-0"}'))
    assert status(answer) == 500
    assert b"content-security-policy: default-src 'none'" in answer
    assert any(line.startswith("ZeroDivisionError at ") for line in lines)
    assert status(served.said(served.written("ask", b'{"subject": "p-0"}'))) == 200


def test_requests_are_logged_and_counted(served: Place) -> None:
    counted = re.compile(r'requests_total\{method="POST",route="/api/v1/trials/\{trial\}/ask",status="(.xx)"\} (\d+)')
    health = b"GET /api/v1/health HTTP/1.1\r\nHost: here\r\n\r\n"
    served.said(health)  # by then the loop has turned
    before = dict(counted.findall(served.app.state.metrics.text()))
    with log_lines() as lines:
        served.said(served.written("ask", b'{"subject": "p-0"}'))
        served.said(served.written("ask", b'{"subject": "p-0"}', token=None))
        served.said(health)
    assert [line for line in lines if "POST" in line] == ["POST api.trials.ask 200 T", "POST api.trials.ask 401 T"]
    after = dict(counted.findall(served.app.state.metrics.text()))
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


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("ask", b'{"subject":"p-0"}'),
        ("ask", b'{"subject":  "p-0" }'),
        ("ask", b'{"subject": "p\x00-0"}'),
        ("ask", b'{"subject": "p\t0"}'),
        ("ask", b'{"subject": "p\x7f0"}'),
        ("ask", b'{"subject": "\xff"}'),
        ("ask", b'{"subject": "p\\u002d0"}'),
        ("ask", b'{"subject": "p-0"}\n'),
        ("tell", b'{"assignment":"@0","outcome":1}'),
        ("tell", b'{"assignment": "@0", "outcome": 01}'),
        ("tell", b'{"assignment": "@0", "outcome": 1.0}'),
        ("tell", b'{"assignment": "@0", "outcome": 7}'),
        ("tell", b'{"assignment": "@0", "outcome": "1"}'),
        ("tell", b'{"outcome": 1, "assignment": "@0"}'),
    ],
)
def test_bodies_of_any_spelling_are_answered_alike(served: Place, people: list[str], what: str, body: bytes) -> None:
    short, routes = served.both(what, body.replace(b"@0", people[0].encode()))
    assert short == routes
    assert served.again(served.written(what, body.replace(b"@0", people[0].encode()))) == routes
