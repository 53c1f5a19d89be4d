"""How long the server waits for somebody, and for how many: a request that never ends is not held for ever, nor an
answer that nobody takes.

uvicorn limits how long a connection may idle between two requests, but not how long a request may take to arrive or an
answer to be read. Here every request gets one deadline for its headers and one for its body, which bytes that drip in
do not move, every answer gets one from the moment at which it has to wait for its reader, which bytes that drip out do
not move, and so many connections may be open at once. Nobody is read further than they are answered: what a client
sends ahead waits on its side, but for one read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sized
from dataclasses import dataclass
from typing import Final

from uvicorn.protocols.http.flow_control import FlowControl

from bestarm.service.short_way import Counter, ShortWay


@dataclass(frozen=True)
class Limits:
    """Seconds and connections."""

    headers: float = 10.0
    """Until a request's headers have come, counted from the connection, or from the request's first byte."""
    body: float = 60.0
    """Until a request's body has come, counted from its headers; the largest one takes 300 kbit/s."""
    answer: float = 60.0
    """Until an answer has been taken, counted from when it first had to wait for its reader."""
    header_bytes: int = 65536
    """Until a request's headers have come whole."""
    connections: int = 500
    """Open at once; a process may usually hold a thousand files."""


LARGEST_READ: Final = 16384
"""Bytes that are read of a connection at once. Requests that come before they can be answered wait in memory, and while
any do no more is read."""

FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    b"Cache-Control: no-store\r\nConnection: close\r\n\r\n"
)


class Paced(FlowControl):
    """Goes on reading when no request waits behind the one that is being answered. uvicorn's own goes on after each
    answer, however many wait, so that whoever sends faster than they are answered fills the memory."""

    def __init__(self, transport: asyncio.Transport, waiting: Sized) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        """Go on, unless requests wait."""
        if not self._waiting:
            super().resume_reading()


def protocol_within(limits: Limits, counter: Counter | None = None) -> type[asyncio.Protocol]:
    """uvicorn's protocol with these limits, and with the short way to this counter."""

    class Patient(ShortWay):
        """One connection that is closed when a request does not arrive in time, or an answer is not taken."""

        _deadline: asyncio.TimerHandle | None = None
        _awaited: tuple[int, float] | None = None
        """What the deadline is for: a part of which request, and its seconds."""
        _request = 0
        """The number of the request that is coming in."""
        _coming: float | None = limits.headers
        """The limit of the part of it that has not come whole; None between two requests."""
        _header_bytes = 0
        _untaken: asyncio.TimerHandle | None = None
        """The deadline of an answer that has to wait for its reader."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            """Let it in if there is room."""
            super().connection_made(transport)
            self.flow = Paced(transport, self.pipeline)
            if hasattr(transport, "max_size"):  # of asyncio's own: how much is read at once
                transport.max_size = LARGEST_READ
            transport.set_write_buffer_limits(high=0)  # so that we hear of every byte that has to wait
            if len(self.connections) > limits.connections:
                transport.write(FULL)
                transport.close()
                return
            self._wait()

        def data_received(self, data: bytes) -> None:
            """Take some bytes of a request; the deadline stays until what it is for has come whole."""
            if self.transport.is_closing():
                return
            super().data_received(data)
            if self._coming == limits.headers:
                # The parser keeps what it has of them, however much that is.
                self._header_bytes += len(data)
                if self._header_bytes > limits.header_bytes:
                    self.transport.close()
                    return
            self._wait()

        def on_message_begin(self) -> None:
            """The first bytes of a request."""
            super().on_message_begin()
            if self._coming is None:
                self._request += 1
                self._coming = limits.headers
            self._header_bytes = 0

        def on_headers_complete(self) -> None:
            """All of its headers."""
            self._coming = limits.body
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            """All of it. Between two requests uvicorn's own limit holds."""
            self._coming = None
            super().on_message_complete()

        def on_response_complete(self) -> None:
            """The whole answer has been written, if perhaps not taken."""
            super().on_response_complete()
            if not self.flow.write_paused:
                self._taken()

        def pause_writing(self) -> None:
            """The reader is slower than we are; the answer's deadline is set, and what follows does not move it."""
            super().pause_writing()
            if self._untaken is None:
                # To close would be to wait for the reader once more.
                self._untaken = self.loop.call_later(limits.answer, self.transport.abort)

        def resume_writing(self) -> None:
            """Everything so far has been taken; if that was the whole answer, its deadline is met."""
            super().resume_writing()
            if self.cycle is None or self.cycle.response_complete:
                self._taken()

        def connection_lost(self, exc: Exception | None) -> None:
            """Forget the deadlines."""
            self._coming = None
            self._wait()
            self._taken()
            super().connection_lost(exc)

        def _taken(self) -> None:
            if self._untaken is not None:
                self._untaken.cancel()
                self._untaken = None

        def _wait(self) -> None:
            # A request that came at once needs no deadline, and gets none.
            awaited = None if self._coming is None else (self._request, self._coming)
            if awaited == self._awaited:
                return
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None
            self._awaited = awaited
            if awaited is not None:
                self._deadline = self.loop.call_later(awaited[1], self.transport.close)

    Patient.counter = counter
    return Patient
