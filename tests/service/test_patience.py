"""Requests that never end, and more connections than there is room for: raw sockets on this machine.

Nothing here measures time. A socket waits long enough for any machine, and a server that holds on for ever shows as
a socket that gave up waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from bestarm.service import create_app
from bestarm.service.patience import Limits
from bestarm.service.short_way import Together
from tests.service.running import in_a_thread

SHORT = Limits(headers=0.4, body=0.4, answer=0.4, connections=4)
LONG_ENOUGH = 30.0
HEALTH = b"GET /api/v1/health HTTP/1.1\r\nHost: here\r\n\r\n"
HALF_A_BODY = b"POST /api/v1/bounds HTTP/1.1\r\nHost: here\r\nContent-Length: 50\r\n\r\n{"


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """A server in a thread of ours, with little patience."""
    with in_a_thread(create_app(tmp_path / "trials.db"), SHORT) as server:
        yield server.config.port


@contextlib.contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=LONG_ENOUGH) as one:
        yield one


def rest(one: socket.socket) -> bytes:
    """All that comes until the other side closes; fails if it never does."""
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while part := one.recv(65536):
            said += part
    return said


def answer(one: socket.socket) -> bytes:
    """One answer to HEALTH."""
    said = b""
    while not said.endswith(b"}"):
        part = one.recv(65536)
        assert part, said
        said += part
    return said


@pytest.mark.parametrize("sent", [b"", b"GET /api/v1/hea", HEALTH[:-2]], ids=["nothing", "a line", "no last line"])
def test_headers_that_do_not_come_are_not_awaited_for_ever(port: int, sent: bytes) -> None:
    with connected(port) as one:
        one.sendall(sent)
        assert rest(one) == b""


def test_half_a_body_is_not_awaited_for_ever(port: int) -> None:
    with connected(port) as one:
        one.sendall(HALF_A_BODY)
        assert b"200" not in rest(one)[:20]


@pytest.mark.parametrize("begun", [b"GET / HTTP/1.1\r\nHost: here\r\nX: ", HALF_A_BODY], ids=["headers", "body"])
def test_bytes_that_drip_in_do_not_move_the_deadline(port: int, begun: bytes) -> None:
    with connected(port) as one:
        one.sendall(begun)
        one.settimeout(0.05)
        for _ in range(int(LONG_ENOUGH / 0.05)):
            try:
                if one.recv(100) == b"":
                    return
            except TimeoutError:
                pass
            except ConnectionError:
                return
            with contextlib.suppress(ConnectionError):
                one.sendall(b" ")
    pytest.fail("the server holds a request that only drips in")


def test_the_second_request_of_a_connection_has_a_deadline_too(port: int) -> None:
    with connected(port) as one:
        one.sendall(HEALTH)
        assert b"200 OK" in answer(one)
        one.sendall(HEALTH[:10])
        assert rest(one) == b""


def test_a_request_in_two_halves_is_served(port: int) -> None:
    with connected(port) as one:
        for _ in range(3):
            one.sendall(HEALTH[:20])
            one.sendall(HEALTH[20:])
            assert b"200 OK" in answer(one)
        one.sendall(HEALTH + HEALTH)
        both = answer(one)
        while both.count(b"200 OK") < 2:
            both += answer(one)


MANY = 400
LONG_ANSWER = b"GET /static/htmx.min.js HTTP/1.1\r\nHost: here\r\n\r\n"


def greedy(port: int) -> socket.socket:
    """Somebody who asks for far more than the network holds, and takes none of it."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.settimeout(LONG_ENOUGH)
    one.connect(("127.0.0.1", port))
    one.sendall(LONG_ANSWER * MANY)
    return one


@pytest.mark.parametrize("dripping", [False, True], ids=["nothing is taken", "bytes drip out"])
def test_answers_that_nobody_takes_are_not_held_for_ever(port: int, dripping: bool) -> None:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(greedy(port)) for _ in range(SHORT.connections)]
        for _ in range(int(LONG_ENOUGH / 0.05)):
            with connected(port) as one, contextlib.suppress(ConnectionError):
                one.sendall(HEALTH)
                if one.recv(65536).startswith(b"HTTP/1.1 200"):
                    return
            for slow in held if dripping else ():
                with contextlib.suppress(ConnectionError):
                    slow.recv(16)
            time.sleep(0.05)
    pytest.fail("the server holds answers that nobody takes")


def test_whoever_takes_them_gets_all_answers(port: int) -> None:
    with connected(port) as one:
        one.sendall(LONG_ANSWER * 50)
        taken = b""
        while taken.count(b"200 OK") < 50:
            part = one.recv(2**20)
            assert part
            taken += part


def test_more_connections_than_there_is_room_for_are_turned_away(port: int) -> None:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connected(port)) for _ in range(SHORT.connections)]
        for one in held:  # each is known to the server once it has answered
            one.sendall(HEALTH)
            assert b"200 OK" in answer(one)
        with connected(port) as more:
            assert rest(more).startswith(b"HTTP/1.1 503")
        for one in held:
            one.close()
    for _ in range(100):
        with connected(port) as one:
            one.sendall(HEALTH)
            said = one.recv(65536)
            if said.startswith(b"HTTP/1.1 200"):
                return
        time.sleep(0.05)
    pytest.fail("there is no room although all have gone")


class Written:
    """A transport that notes what it is given."""

    def __init__(self) -> None:
        self.done: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def close(self) -> None:
        self.done.append(b"closed")

    def is_closing(self) -> bool:
        return False


def test_the_head_of_an_answer_goes_out_with_its_body() -> None:
    async def answer() -> list[list[bytes]]:
        seen = []
        transport = Written()
        together = Together(cast(asyncio.Transport, transport), asyncio.get_running_loop())
        for part in (b"head", b"body", b"", b"head alone"):
            together.write(part)
        seen.append(list(transport.done))
        await asyncio.sleep(0)
        seen.append(list(transport.done))
        together.write(b"last")
        together.close()
        await asyncio.sleep(0)
        assert not together.is_closing()
        return [*seen, transport.done]

    first, later, last = asyncio.run(answer())
    assert first == [b"headbody"]
    assert later == [b"headbody", b"head alone"]
    assert last == [b"headbody", b"head alone", b"last", b"closed"]
