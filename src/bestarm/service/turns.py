"""Those who ask and tell in one trial take turns at one writer, and those who come together share a commit.

While a commit is on its way to the disk the next requests gather; the writer takes all of them at once, looks up who
may do what, lets the trial hear them in one transaction (`bestarm.trial.transactions`), and answers each when that is
durable. Nobody waits for company: a request that comes alone is heard alone. Each is all or nothing by itself, and one
that is refused does not undo its neighbours. A commit that fails belongs to all who shared it, and all are told so.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from bestarm.service.access import Access, Grant, good_token, trial_reached
from bestarm.trial.transactions import Request
from bestarm.trial.trial import Trial

MOST_TOGETHER: Final = 200
"""Requests that share a commit at most, so that the first of them need not wait for too many others."""
IDLE: Final = 30.0
"""Seconds without a request after which a writer ends; the next request begins another."""

Make = Callable[[Trial, Grant], Request[Any]]
"""The request of whoever holds this grant; raises the refusal of what cannot be one."""


class Turn(ABC):
    """One request that waits to be heard, and then what it is answered with."""

    __slots__ = ("answer", "error", "loop", "make", "secret")

    def __init__(self, secret: str, make: Make, loop: asyncio.AbstractEventLoop) -> None:
        self.secret = secret
        """The token it came with."""
        self.make, self.loop = make, loop
        self.answer: Any = None
        self.error: Exception | None = None
        """What there is instead of an answer."""

    @abstractmethod
    def done(self) -> None:
        """The request has been heard; called on the loop that it came in on."""


class Awaited(Turn):
    """A turn whose answer a task waits for."""

    __slots__ = ("answered",)

    def __init__(self, secret: str, make: Make, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(secret, make, loop)
        self.answered: asyncio.Future[Any] = loop.create_future()

    def done(self) -> None:
        """Let the task go on, if whoever asked has not gone."""
        if self.answered.done():
            return
        if self.error is None:
            self.answered.set_result(self.answer)
        else:
            self.answered.set_exception(self.error)


@dataclass
class Turns:
    """The requests of one trial."""

    trial: Trial
    access: Access
    _coming: list[Turn] = field(default_factory=list)
    """What came in during this turn of the loop; only the loop touches it."""
    _waiting: deque[Turn] = field(default_factory=deque)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _writer: threading.Thread | None = None

    async def take(self, secret: str, make: Make) -> Any:
        """The answer to a request, once what it changed is on disk; or the refusal raised."""
        turn = Awaited(secret, make, asyncio.get_running_loop())
        self.put(turn)
        return await turn.answered

    def put(self, turn: Turn) -> None:
        """Let a request be heard, and its `done` be called. Those that a loop reads in one go come to the writer in one
        go: it is woken once for all of them, and not while the others are still being read."""
        with self._changed:
            if not self._coming:
                turn.loop.call_soon(self._hand_over)
            self._coming.append(turn)

    def _hand_over(self) -> None:
        with self._changed:
            self._waiting.extend(self._coming)
            self._coming.clear()
            if self._writer is None:
                self._writer = threading.Thread(target=self._write, name="turns", daemon=True)
                self._writer.start()
            else:
                self._changed.notify()

    def _write(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._changed.wait(IDLE)
                if not self._waiting:
                    self._writer = None
                    return
                together = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
            self._hear(together)
            _answer(together)

    def _hear(self, together: list[Turn]) -> None:
        try:
            grants = self.access.find_all({turn.secret for turn in together})
            holders: dict[str, Grant] = {}
            admitted: list[Turn] = []
            requests: list[Request[Any]] = []
            for turn in together:
                try:
                    holder = holders.get(turn.secret)
                    if holder is None:  # of those who come with one token, the first is looked at
                        holder = holders[turn.secret] = self._let_in(grants[turn.secret])
                    requests.append(turn.make(self.trial, holder))
                    admitted.append(turn)
                except Exception as error:
                    turn.error = error
            if not admitted:
                return
            for turn, reply in zip(admitted, self.trial.together(requests), strict=True):
                try:
                    turn.answer = reply.get()
                except Exception as error:
                    turn.error = error
        except Exception as error:
            for turn in together:
                turn.error = turn.error or error

    def _let_in(self, grant: Grant | None) -> Grant:
        holder = good_token(grant)
        trial_reached(holder, self.trial.name, "operator")
        return holder


def _answer(together: list[Turn]) -> None:
    # One wake-up for all who waited on the same loop.
    waiting: dict[asyncio.AbstractEventLoop, list[Turn]] = {}
    for turn in together:
        waiting.setdefault(turn.loop, []).append(turn)
    for loop, some in waiting.items():
        with suppress(RuntimeError):  # a loop that has ended has nobody left who waits
            loop.call_soon_threadsafe(_tell, some)


def _tell(together: list[Turn]) -> None:
    for turn in together:
        turn.done()
