"""How long the server waits for somebody, and for how many: a request that never ends is not held for ever, nor an
answer that nobody takes.

uvicorn limits how long a connection may idle between two requests, but not how long a request may take to arrive or an
answer to be read. Here every request gets one deadline for its headers and one for its body, which bytes that drip in
do not move, every answer gets one from the moment at which it has to wait for its reader, which bytes that drip out do
not move, and so many connections may be open at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


@dataclass(frozen=True)
class Limits:
    """Seconds and connections."""

    headers: float = 10.0
    """Until a request's headers have come, counted from the connection, or from the request's first byte."""
    body: float = 60.0
    """Until a request's body has come, counted from its headers; the largest one takes 300 kbit/s."""
    answer: float = 60.0
    """Until an answer has been taken, counted from when it first had to wait for its reader."""
    connections: int = 500
    """Open at once; a process may usually hold a thousand files."""


FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    b"Cache-Control: no-store\r\nConnection: close\r\n\r\n"
)


def protocol_within(limits: Limits) -> type[asyncio.Protocol]:
    """uvicorn's protocol with these limits."""

    class Patient(H11Protocol):
        """One connection that is closed when a request does not arrive in time, or an answer is not taken."""

        _deadline: asyncio.TimerHandle | None = None
        _awaited: Any = None
        """What the deadline is for: h11's name of the state the other side is in."""
        _untaken: asyncio.TimerHandle | None = None
        """The deadline of an answer that has to wait for its reader."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            """Let it in if there is room."""
            super().connection_made(transport)
            transport.set_write_buffer_limits(high=0)  # so that we hear of every byte that has to wait
            if len(self.connections) > limits.connections:
                transport.write(FULL)
                transport.close()
                return
            self._wait_for(h11.IDLE)

        def data_received(self, data: bytes) -> None:
            """Take some bytes of a request; the deadline stays until what it is for has come whole."""
            if self.transport.is_closing():
                return
            super().data_received(data)
            self._wait_for(self.conn.their_state)

        def on_response_complete(self) -> None:
            """Between two requests uvicorn's own limit holds; what has come already in part keeps its deadline."""
            super().on_response_complete()
            between = self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
            self._wait_for(None if between else self.conn.their_state)
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
            self._wait_for(None)
            self._taken()
            super().connection_lost(exc)

        def _taken(self) -> None:
            if self._untaken is not None:
                self._untaken.cancel()
                self._untaken = None

        def _wait_for(self, awaited: Any) -> None:
            if awaited is self._awaited:
                return
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None
            self._awaited = awaited
            seconds = {h11.IDLE: limits.headers, h11.SEND_BODY: limits.body}.get(awaited)
            if seconds is not None:
                self._deadline = self.loop.call_later(seconds, self.transport.close)

    return Patient
