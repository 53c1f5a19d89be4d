"""Those who ask and tell in one trial take turns at one writer, and those who come together share a commit.

While a commit is on its way to the disk the next requests gather; the writer takes all of them at once, looks up who
may do what, lets the trial hear them in one transaction (`bestarm.trial.transactions`), and answers each when that is
durable. Nobody waits for company: a request that comes alone is heard alone. Each is all or nothing by itself, and one
that is refused does not undo its neighbours. A commit that fails belongs to all who shared it, and all are told so.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from bestarm.service.access import Access, Grant
from bestarm.trial.transactions import Request
from bestarm.trial.trial import Trial

MOST_TOGETHER: Final = 200
"""Requests that share a commit at most, so that the first of them need not wait for too many others."""
IDLE: Final = 30.0
"""Seconds without a request after which a writer ends; the next request begins another."""

Make = Callable[[Trial, Grant | None], Request[Any]]
"""The request of whoever holds this grant; raises the refusal if there is none, or it does not suffice."""


@dataclass(frozen=True)
class Turn:
    """One request that waits to be heard."""

    secret: str
    """The token it came with."""
    make: Make
    answered: asyncio.Future[Any]


@dataclass
class Outcome:
    """What a turn is answered with."""

    turn: Turn
    answer: Any = None
    error: BaseException | None = None


@dataclass
class Turns:
    """The requests of one trial."""

    trial: Trial
    access: Access
    _waiting: deque[Turn] = field(default_factory=deque)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _writer: threading.Thread | None = None

    async def take(self, secret: str, make: Make) -> Any:
        """The answer to a request, once what it changed is on disk; or the refusal raised."""
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        with self._changed:
            self._waiting.append(Turn(secret, make, answered))
            if self._writer is None:
                self._writer = threading.Thread(target=self._write, name="turns", daemon=True)
                self._writer.start()
            elif len(self._waiting) == 1:
                self._changed.notify()
        return await answered

    def _write(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._changed.wait(IDLE)
                if not self._waiting:
                    self._writer = None
                    return
                together = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
            _answer(self._heard(together))

    def _heard(self, together: list[Turn]) -> list[Outcome]:
        outcomes = [Outcome(turn) for turn in together]
        try:
            grants = self.access.find_all({turn.secret for turn in together})
            admitted: list[tuple[Outcome, Request[Any]]] = []
            for outcome in outcomes:
                try:
                    admitted.append((outcome, outcome.turn.make(self.trial, grants[outcome.turn.secret])))
                except Exception as error:
                    outcome.error = error
            if admitted:
                replies = self.trial.together([request for _, request in admitted])
                for (outcome, _), reply in zip(admitted, replies, strict=True):
                    try:
                        outcome.answer = reply.get()
                    except Exception as error:
                        outcome.error = error
        except Exception as error:
            for outcome in outcomes:
                outcome.error = outcome.error or error
        return outcomes


def _answer(outcomes: Iterable[Outcome]) -> None:
    # One wake-up for all who waited on the same loop.
    waiting: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
    for outcome in outcomes:
        waiting.setdefault(outcome.turn.answered.get_loop(), []).append(outcome)
    for loop, some in waiting.items():
        with suppress(RuntimeError):  # a loop that has ended has nobody left who waits
            loop.call_soon_threadsafe(_tell, some)


def _tell(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        answered = outcome.turn.answered
        if answered.done():  # whoever asked has gone
            continue
        if outcome.error is None:
            answered.set_result(outcome.answer)
        else:
            answered.set_exception(outcome.error)
