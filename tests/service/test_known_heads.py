"""Requests under a head that came before are not parsed again, and answered as if they were."""

from __future__ import annotations

import contextlib
import re
import threading
from typing import Any

import pytest

from bestarm.service.short_way import LONGEST_HEAD, Answering
from tests.service.conftest import DESIGN
from tests.service.running import LONG_ENOUGH
from tests.service.wire import Place, connections, half_read, heard, status, until


def answering(cycle: Any) -> bool:
    """Whether a request is being answered the short way."""
    return type(cycle) is Answering and not cycle.response_complete


def test_a_head_that_came_before_is_not_parsed_again(served: Place) -> None:
    served.unparsed.clear()
    first, second = b'{"subject": "p-0"}', b'{"subject": "p-1"}'
    said = [served.said(served.written("ask", body)) for body in (first, first, second, first)]
    assert served.unparsed[-2:] == [second, first]
    assert said[0] == said[1] == said[3] != said[2]
    served.unparsed.clear()
    served.said(b"GET /api/v1/health HTTP/1.1\r\nHost: here\r\n\r\n")
    served.said(served.written("ask", first))
    assert served.unparsed == [], "what came in between may have left something behind in the parser"
    served.said(served.written("ask", first))
    assert served.unparsed == [first]


@pytest.mark.parametrize("cut", [1, 40, -30, -18, -1], ids=str)
def test_a_known_head_in_pieces_or_with_more_behind_it_is_parsed(served: Place, cut: int) -> None:
    asked = served.written("ask", b'{"subject": "p-0"}')
    plain = [served.said(asked) for _ in range(3)][-1]
    served.unparsed.clear()
    served.socket.sendall(asked[:cut])
    until(lambda: half_read(served.server))  # the first piece has been read
    assert served.said(asked[cut:]) == plain
    served.socket.sendall(asked + asked[:cut])
    assert heard(served.socket) == plain
    assert served.said(asked[cut:]) == plain
    assert served.unparsed == []
    assert served.said(asked) == plain


def test_only_a_whole_request_makes_its_head_known(served: Place) -> None:
    asked = served.written("ask", b'{"subject": "p-2"}', more=["X-Only: once"])
    served.said(served.written("ask", b'{"subject": "p-0"}'))
    served.socket.sendall(asked[:2])
    until(lambda: half_read(served.server))
    served.said(asked[2:])
    with served.connected() as one:
        one.sendall(served.written("ask", b'{"subject": "p-0"}'))
        assert status(heard(one)) == 200
        one.sendall(asked[2:])
        assert status(heard(one)) == 400, "the end of a request is none"
    heads = list(served.app.state.counter.heads)
    assert not any(head in asked for head in heads)


def test_a_known_head_of_a_trial_that_is_gone_is_left_to_the_routes(served: Place) -> None:
    served.app.state.trials.create("brief", "us", DESIGN)
    asked = served.written("tell", b'{"assignment": "9-nope", "outcome": 1}', trial="brief")
    assert [status(served.said(asked)) for _ in range(3)] == [422] * 3
    served.app.state.trials.remove("brief")
    assert status(served.said(asked)) == 404


def test_few_heads_are_known_and_short_ones(served: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestarm.service.short_way.MOST_HEADS", 5)
    heads = served.app.state.counter.heads
    heads.clear()
    for number in range(12):
        served.said(served.written("ask", b'{"subject": "p-0"}', more=[f"X-Number: {number}"]))
        assert len(heads) <= 5
    assert heads
    heads.clear()
    served.said(served.written("ask", b'{"subject": "p-0"}', more=["X-Long: " + "x" * LONGEST_HEAD]))
    assert not heads


def test_an_idle_connection_is_closed_however_it_was_used(served: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.server.config, "timeout_keep_alive", 0.3)
    with served.connected() as one:
        for _ in range(3):
            one.sendall(served.written("ask", b'{"subject": "p-0"}'))
            assert status(heard(one)) == 200
        one.settimeout(3)  # sooner than the usual limit
        assert one.recv(1) == b""


def test_a_connection_that_was_used_a_moment_ago_is_not_idle(served: Place) -> None:
    with served.connected() as one:
        for _ in range(3):
            one.sendall(served.written("ask", b'{"subject": "p-0"}'))
            assert status(heard(one)) == 200
        (ours,) = [found for found in connections(served.server) if found.client[1] == one.getsockname()[1]]
        looked = threading.Event()

        def look() -> None:
            ours.timeout_keep_alive_handler()
            looked.set()

        ours.loop.call_soon_threadsafe(look)
        assert looked.wait(LONG_ENOUGH)
        one.sendall(served.written("ask", b'{"subject": "p-0"}'))
        assert status(heard(one)) == 200


def test_a_known_head_takes_as_much_body_as_it_says(served: Place) -> None:
    asked = served.written("ask", b'{"subject": "p-0"} ')
    plain = [served.said(asked) for _ in range(3)][-1]
    served.unparsed.clear()
    served.socket.sendall(asked[:-1])  # a good body, but not yet all of it
    until(lambda: half_read(served.server))
    assert served.said(asked[-1:]) == plain
    assert served.unparsed == []


def test_a_known_request_behind_the_beginning_of_another_is_none(served: Place) -> None:
    asked = served.written("ask", b'{"subject": "p-0"}')
    with served.connected() as one:
        for _ in range(2):
            one.sendall(asked)
            assert status(heard(one)) == 200
        one.sendall(b"POST /x")
        until(lambda: half_read(served.server))
        one.sendall(asked)
        assert status(heard(one)) == 400


def test_a_known_request_waits_for_the_one_before_it(served: Place) -> None:
    body = b'{"subject": "p-0"}'
    first, second = (
        served.written("ask", body, token=served.tokens["admin"], trial=name) for name in ("dose", "other")
    )
    with served.connected() as one:
        answers = []
        for sent in (first, second, first, second):
            one.sendall(sent)
            answers.append(heard(one))
        taken = len(served.briefly)
        with served.trial._lock:
            one.sendall(first)
            until(lambda: any(answering(found.cycle) for found in connections(served.server)))
            one.sendall(second)
            one.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                assert one.recv(1) == b"?", "the second was answered first"
        one.settimeout(LONG_ENOUGH)
        text = b""
        while text.count(b"HTTP/1.1 200") < 2 or not text.endswith(b"}"):
            text += one.recv(65536)
        assert re.sub(rb"\r\ndate: [^\r]*", b"", text) == answers[0] + answers[1]
        assert len(served.briefly) == taken + 1, "whatever waits goes to the routes"
