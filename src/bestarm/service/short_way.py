"""The short way on the connections of our own server: asking and telling without a task or a message for each request.

What is ordinary is taken from the parser to the trial's writer as it stands, and its answer is written in one piece
when the writer says that it is durable. It is the same request and the same answer as by the application (`window`):
the same schema, the same grants, the same refusals, headers, lines in the log and counts. Whatever is out of the
ordinary (another address, a body that is no such request, a trial that was not opened yet, a request that comes while
another one is being answered) goes to the application as it came.

Clients repeat themselves: the head of a request, byte by byte, is most often one that came before. What a head says is
remembered (`Counter.heads`), and a request that arrives in one piece, between two others, under a head that is known is
not parsed again: the parser would come to the same end, and stands between two requests before and after.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, cast
from urllib.parse import unquote

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from bestarm.errors import BestArmError
from bestarm.service.middleware import dress, line_of, log, log_failed, name_of
from bestarm.service.problems import Refusal
from bestarm.service.trials import Trials
from bestarm.service.turns import Make, Turn, Turns
from bestarm.service.window import ADDRESS, JSON, KINDS, Kind, secret_in

LONGEST: Final = 8192
"""Bytes of a body; the longest code of a person takes 200 characters."""
UNUSUAL: Final = frozenset((b"expect", b"transfer-encoding", b"upgrade"))
"""Headers that ask for more than an answer."""
CLOSING: Final = (b"connection", b"close")
END: Final = b"\r\n\r\n"
"""Of a head."""
LONGEST_HEAD: Final = 1024
MOST_HEADS: Final = 4096
"""Heads that are remembered, each of so many bytes at most."""


@dataclass(frozen=True, slots=True)
class Head:
    """What the head of a request for the short way says."""

    kind: Kind
    trial: str
    secret: str
    length: int
    """Bytes of the body."""


@dataclass(frozen=True)
class Counter:
    """What the short way needs to know of the application."""

    trials: Trials
    refused: Callable[[Exception], Response]
    """How a refusal is said."""
    note: Callable[[str, str, int, float], None] | None
    """Counts a request: method, route, status and seconds."""
    heads: dict[bytes, Head] = field(default_factory=dict)
    """Of requests that went the short way."""
    _lines: list[str] = field(default_factory=list)
    """Of the log: of what is answered in one turn of the loop, which are written together."""

    def remember(self, text: bytes, head: Head) -> None:
        """Know this head when it comes again."""
        if len(self.heads) >= MOST_HEADS:
            self.heads.clear()
        self.heads[text] = head

    def noted(self, kind: Kind, status: int, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        """Remember that a request was answered."""
        if not self._lines:
            loop.call_soon(self._write)
        self._lines.append(line_of("POST", name_of(kind.endpoint), status, seconds))
        if self.note is not None:
            self.note("POST", kind.route.path, status, seconds)

    def _write(self) -> None:
        log.info("\n".join(self._lines))
        self._lines.clear()

    def refusal(self, error: Exception) -> Response:
        """The answer in the place of the one that was asked for."""
        if not isinstance(error, BestArmError | Refusal):
            log_failed(error)
        return self.refused(error)


@lru_cache(maxsize=256)
def addressed(url: bytes) -> tuple[Kind, str] | None:
    """What an address asks for, and of which trial; None if it is none of ours, or has more to it."""
    found = None if b"?" in url or b"#" in url else ADDRESS.fullmatch(unquote(url.decode("ascii", "replace")))
    return None if found is None else (KINDS[found[2]], found[1])


class Together:
    """A transport that sends the head of an answer together with what follows it: one call of the system, not two.

    Each call lets go of the interpreter, which a trial's writer at work then keeps for a while.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""

    def write(self, data: bytes) -> None:
        """Send this with what is held, or hold it: for what is written next, or until the loop's next turn."""
        if self._held:
            data, self._held = self._held + data, b""
            self._transport.write(data)
        elif data:
            self._held = data
            self._loop.call_soon(self.flush)

    def send(self, data: bytes) -> None:
        """Send this, a whole answer."""
        self.flush()
        self._transport.write(data)

    def flush(self) -> None:
        """Send what is held."""
        if self._held:
            data, self._held = self._held, b""
            self._transport.write(data)

    def close(self) -> None:
        """Send what is held, and close."""
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Answering(Turn):
    """A request that is being answered the short way. To the protocol it is what its own cycles are, so that whatever
    comes after it on the connection waits for it."""

    __slots__ = ("_began", "_counter", "_kind", "_protocol", "disconnected", "keep_alive", "response_complete")

    def __init__(self, protocol: ShortWay, counter: Counter, kind: Kind, secret: str, make: Make) -> None:
        super().__init__(secret, make, protocol.loop)
        self._protocol, self._counter, self._kind = protocol, counter, kind
        self._began = time.perf_counter()
        self.response_complete = self.disconnected = False
        self.keep_alive = True

    @property
    def message_event(self) -> Answering:
        """What is told that something came in; here nobody waits for it."""
        return self

    def set(self) -> None:
        """Something came in."""

    def done(self) -> None:
        """Answer."""
        status, protocol, error = 200, self._protocol, self.error
        if error is None:
            try:
                data = self._said(self._kind.answer(self.answer))
            except Exception as unforeseen:
                error = unforeseen
        if error is not None:
            refused = self._counter.refusal(error)
            status, data = refused.status_code, self._written(refused)
        self._counter.noted(self._kind, status, time.perf_counter() - self._began, protocol.loop)
        self.response_complete = True
        if not self.disconnected:
            protocol.send(data)
            if not self.keep_alive:
                protocol.transport.close()
            protocol.on_response_complete()

    def _said(self, body: bytes) -> bytes:
        if not self.keep_alive:
            return self._with_head(200, [_length(body), JSON], body)
        return b"%bcontent-length: %d\r\n%b%b" % (self._protocol.begun(), len(body), REST, body)

    def _written(self, refused: Response) -> bytes:
        return self._with_head(refused.status_code, refused.raw_headers, bytes(refused.body))

    def _with_head(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bytes:
        lines = dress(headers) + ([] if self.keep_alive else [CLOSING])
        return b"".join([STATUS_LINE[status], _lines(self._protocol.dated), _lines(lines), b"\r\n", body])


def _length(body: bytes) -> tuple[bytes, bytes]:
    return (b"content-length", b"%d" % len(body))


def _lines(headers: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


REST: Final = _lines(dress([JSON])) + b"\r\n"
"""What follows the length of an answer in its head."""


class ShortWay(HttpToolsProtocol):
    """A connection, with a short way for what comes in crowds."""

    counter: Counter | None = None
    _errand: tuple[Kind, str, Turns] | None = None
    """The request that is coming in, if it is for the short way."""
    _text = b""
    _between = True
    """Whether the parser has no part of a request."""
    _learned: Head | None = None
    """What the head said of the request that these bytes ended, if it went the short way."""
    _idle_since = 0.0
    _begun: tuple[Any, bytes] = (None, b"")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        self.transport = cast(asyncio.Transport, Together(transport, self.loop))

    def data_received(self, data: bytes) -> None:
        """Some bytes of a request, or of several."""
        counter = self.counter
        if counter is None:
            super().data_received(data)
            return
        end = data.find(END) + len(END)
        head = counter.heads.get(data[:end])
        if head is not None and head.length == len(data) - end and self._follows(counter, head, data[end:]):
            return
        began, self._learned = self._between, None
        super().data_received(data)
        head, cycle = self._learned, cast(Any, self.cycle)
        alone = began and self._between and type(cycle) is Answering
        if alone and head is not None and head.length == len(data) - end and end <= LONGEST_HEAD:
            # These bytes are one request and nothing else: its head, and as many as its body has.
            counter.remember(data[:end], head)

    def _follows(self, counter: Counter, head: Head, body: bytes) -> bool:
        # Take a request under a known head, after one that went the short way, too, and was answered.
        last: Any = self.cycle
        turns = counter.trials.turns(head.trial)
        if type(last) is not Answering or not last.response_complete or not self._between or turns is None:
            return False
        make = None if self.flow.write_paused else head.kind.read(body)
        if make is None:
            return False
        self._take(counter, turns, head, make)
        return True

    def _take(self, counter: Counter, turns: Turns, head: Head, make: Make) -> None:
        answering = Answering(self, counter, head.kind, head.secret, make)
        self.cycle = cast(Any, answering)
        turns.put(answering)

    def on_message_begin(self) -> None:
        """The first bytes of a request."""
        self._between = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A request's headers have come: see which way it goes."""
        self._errand = None if self.counter is None else self._found(self.counter)
        if self._errand is None:
            super().on_headers_complete()

    def _found(self, counter: Counter) -> tuple[Kind, str, Turns] | None:
        address = addressed(self.url)
        if address is None or self.root_path or self.parser.get_method() != b"POST":
            return None
        kind, trial = address
        turns = counter.trials.turns(trial)
        busy = self.cycle is not None and not self.cycle.response_complete
        if turns is None or busy or self.flow.write_paused:
            return None
        length = -1
        for name, value in self.headers:
            if name in UNUSUAL:
                return None
            if name == b"content-length":
                length = int(value) if value.isdigit() and len(value) < 9 else LONGEST + 1
        if not 0 <= length <= LONGEST or JSON not in self.headers:
            return None
        lasts = self.parser.get_http_version() == "1.1" and self.parser.should_keep_alive()
        return (kind, trial, turns) if lasts else None

    def on_body(self, body: bytes) -> None:
        """Some of a request's body."""
        if self._errand is None:
            super().on_body(body)
        else:
            self._text += body

    def on_message_complete(self) -> None:
        """All of a request."""
        self._between = True
        errand, counter = self._errand, self.counter
        if errand is None or counter is None:
            super().on_message_complete()
            return
        (kind, trial, turns), text = errand, self._text
        self._errand, self._text = None, b""
        make = kind.read(text)
        if make is None:
            super().on_headers_complete()
            super().on_body(text)
            super().on_message_complete()
            return
        self._learned = Head(kind, trial, secret_in(self.headers), len(text))
        self._take(counter, turns, self._learned, make)

    def on_response_complete(self) -> None:
        """The whole answer has been written."""
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            super().on_response_complete()
        else:
            # The request was not parsed, and so the limit of an idle connection was not taken off either.
            self.server_state.total_requests += 1

    def timeout_keep_alive_handler(self) -> None:
        """The connection may have been idle for long enough, if nothing came in meanwhile."""
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if self.cycle.response_complete and left <= 0:
            super().timeout_keep_alive_handler()
        else:
            after = left if self.cycle.response_complete else self.timeout_keep_alive
            self.timeout_keep_alive_task = self.loop.call_later(after, self.timeout_keep_alive_handler)

    @property
    def dated(self) -> list[tuple[bytes, bytes]]:
        """The headers that the server gives every answer: the date, made anew every second."""
        return self.server_state.default_headers

    def begun(self) -> bytes:
        """The head of a good answer, up to its length."""
        dated = self.dated
        if self._begun[0] is not dated:
            self._begun = (dated, STATUS_LINE[200] + _lines(dated))
        return self._begun[1]

    def send(self, data: bytes) -> None:
        """Write a whole answer."""
        cast(Together, self.transport).send(data)
