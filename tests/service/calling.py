"""One connection on which one request is made at a time, with as little work as possible: for crowds and tortures."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

PAUSE = 0.01
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Caller(asyncio.Protocol):
    """Makes requests until it has had enough; one that the connection was lost over is made again."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._heard = b""
        self._awaited: tuple[str, bytes, float] | None = None
        self._pausing = False

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        if not self._pausing:
            self._go_on()

    def _go_on(self) -> None:
        # What was not answered once more, or the next.
        if self._awaited is not None:
            self._send(*self._awaited[:2])
        else:
            self.begin()

    def _later(self, seconds: float) -> None:
        # One thing at a time, also when the connection is lost and found in the meantime.
        self._pausing = True
        asyncio.get_running_loop().call_later(seconds, self._paused)

    def _paused(self) -> None:
        self._pausing = False
        if self._transport is not None:
            self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport, self._heard = None, b""
        if not self.over.done():
            if self._awaited is not None:
                self.lost()
            self.connect()

    def connect(self) -> None:
        """Connect, and go on where we were."""
        self._connecting = asyncio.get_running_loop().create_task(self._dial())

    async def _dial(self) -> None:
        while not self.over.done():
            try:
                await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", self.port)
                return
            except OSError:
                await asyncio.sleep(PAUSE)

    def get(self, kind: str, path: str, token: str | None = None) -> None:
        """Make a request without a body."""
        allowed = "" if token is None else f"Authorization: Bearer {token}\r\n"
        self._send(kind, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{allowed}\r\n".encode())

    def post(self, kind: str, path: str, token: str, said: bytes) -> None:
        """Make a request with a JSON body."""
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(said)}\r\n\r\n"
        self._send(kind, head.encode() + said)

    def _send(self, kind: str, request: bytes) -> None:
        self._awaited = (kind, request, time.perf_counter())
        if self._transport is not None:
            self._transport.write(request)

    def again(self) -> None:
        """The same request, a moment later."""
        self._later(PAUSE)

    def rest(self, seconds: float) -> None:
        """Begin again after a while."""
        self._awaited = None
        self._later(seconds)

    def data_received(self, data: bytes) -> None:
        self._heard += data
        head, found, body = self._heard.partition(b"\r\n\r\n")
        if not found:
            return
        length = LENGTH.search(head)
        if length is not None and len(body) < int(length[1]):
            return
        self._heard = b""
        assert self._awaited is not None
        kind, _, began = self._awaited
        self.answered(kind, int(head[9:12]), body, time.perf_counter() - began)

    def finish(self) -> None:
        """Enough."""
        self._awaited = None
        if not self.over.done():
            self.over.set_result(None)
        if self._transport is not None:
            self._transport.close()

    def begin(self) -> None:
        """The first request, or the next after a rest."""
        raise NotImplementedError

    def answered(self, kind: str, status: int, body: bytes, seconds: float) -> None:
        """What to do next."""
        raise NotImplementedError

    def lost(self) -> None:
        """The connection was lost over a request."""
