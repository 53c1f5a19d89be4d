"""The transactions of a live trial: several requests in one commit, each all or nothing.

**The seam.** A `Request` is something asked of a trial, with its input checked and nothing decided yet: `Trial.asking`
and `Trial.telling` make the two that come in crowds. `Trial.together(requests)` hears any number of them, in order, in
one transaction with one commit, and returns a `Reply` for each once that commit is on disk. `Reply.get()` gives the
answer, or raises what the request was refused with. A request that is refused leaves no trace and does not undo its
neighbours; whoever comes later in the list sees what came earlier. If the commit itself fails nothing of any of them
has happened, and the error is raised from `together`: it belongs to all. A request may be heard twice (after an error
that nobody foresaw each is heard by itself), so it does nothing but talk to the desk. `together` is safe to call from
several threads, which take turns; `ask`, `tell` and all other calls of a trial are requests alone in their transaction.

Books live in memory between transactions (in the store, `bestarm.storage.sql`), and so does the policy's state (here).
Both are trusted only while the trial's last event, read inside the transaction that holds the trial for writing, is the
one they stand for. So other processes' writes are always seen, and a process that dies leaves nothing that could be
wrong.

Two rules keep releases from being drawn twice. What is owed is released and committed before any request is heard: a
request that was refused because of what a release brought could else take the release back with it. And no reply, not
even a refusal, leaves before the commit: a refusal can depend on a release that a neighbour caused.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from bestarm.errors import BestArmError
from bestarm.storage.contract import Overtaken, Reading, Store, Writing
from bestarm.trial.course import TrialCourse
from bestarm.trial.desk import Desk
from bestarm.trial.fold import MICROSECONDS, Rules
from bestarm.trial.policy_state import KeptState

Answer = TypeVar("Answer")
Clock = Callable[[], float]
"""Seconds since 1970."""
SEVERAL: Final = 2
"""More people than this, of all requests that are heard together, are looked for at once."""


def _as_heard(answer: Any) -> Any:
    return answer


@dataclass(slots=True)
class Request(Generic[Answer]):
    """Something asked of a trial."""

    hear: Callable[[Desk], Any]
    """Decides it, inside a transaction."""
    say: Callable[[Any], Answer] = _as_heard
    """Makes the answer of what was decided, once that is on disk; may refuse what is nevertheless kept in the log."""
    subjects: Sequence[str] = ()
    """Whose assignments it is going to ask for, by pseudonym."""
    plainly: Callable[[Desk], Any] | None = None
    """Decides it as `hear` would, or does nothing and says None: tried first, as it need not be undone."""


@dataclass(slots=True)
class Reply(Generic[Answer]):
    """What became of a request."""

    request: Request[Answer]
    decided: Any = None
    refusal: Exception | None = None

    def get(self) -> Answer:
        """The answer, or the refusal raised."""
        if self.refusal is not None:
            raise self.refusal
        return self.request.say(self.decided)


class Transactions(ABC):
    """Runs requests against a trial in a store."""

    def __init__(self, store: Store, name: str, rules: Rules, clock: Clock) -> None:
        self.name = name
        self._store = store
        self._rules = rules
        self._clock = clock
        self._lock = threading.RLock()
        self._kept: KeptState | None = None
        self._head: str | None = None
        """The last event that the state stands for."""

    @abstractmethod
    def _desk(self, writing: Writing, course: TrialCourse) -> Desk:
        """A desk on these books, with the policy that this drives."""

    def together(self, requests: Sequence[Request[Any]]) -> list[Reply[Any]]:
        """Hear these requests in order, in one transaction; a reply for each, all of them durable."""
        with self._lock:
            try:
                while (replies := self._transact(requests)) is None:
                    pass
                return replies
            except BestArmError:
                raise
            except Exception:
                if len(requests) == 1:
                    raise
                return [self._alone(request) for request in requests]

    def _alone(self, request: Request[Answer]) -> Reply[Answer]:
        # One of a group that something unforeseen happened to: whoever it is must not take the others with it.
        try:
            while (replies := self._transact([request])) is None:
                pass
            return replies[0]
        except Exception as error:
            return Reply(request, refusal=error)

    def _serve(self, request: Request[Answer]) -> Answer:
        # One request by itself.
        reply: Reply[Answer] = self.together([request])[0]
        return reply.get()

    def _write(self, hear: Callable[[Desk], Answer]) -> Answer:
        return self._serve(Request(hear))

    def _transact(self, requests: Sequence[Request[Any]]) -> list[Reply[Any]] | None:
        # One transaction: what is owed, if anything; else the requests, and then there are replies. None also if
        # somebody else wrote meanwhile: everything is decided again.
        replies: list[Reply[Any]] | None = None
        try:
            with self._store.writing(self.name, guess=self._head is not None) as writing:
                if self._kept is None or self._head != writing.head:
                    self._must_be_ours(writing)
                    self._kept = KeptState(self._rules, writing)
                kept = self._kept
                desk = self._desk(writing, kept.course)
                if desk.fold.owed(desk.at) is None:
                    replies = []
                    if sum(len(request.subjects) for request in requests) > SEVERAL:
                        writing.foresee([subject for request in requests for subject in request.subjects])
                    for request in requests:
                        if replies:  # what went before may have moved the books on
                            desk = self._desk(writing, kept.course)
                        replies.append(self._heard(writing, kept, desk, request))
                else:
                    desk.settle()
                    kept.follow(desk.fold, writing.seq)
                kept.write(writing)
            self._head = writing.head
        except Overtaken:
            self._head = None
            return None
        except BaseException:
            self._head = None  # whatever the state in memory has become, it is not what is on disk
            raise
        return replies

    def _heard(self, writing: Writing, kept: KeptState, desk: Desk, request: Request[Answer]) -> Reply[Answer]:
        if request.plainly is not None and (decided := request.plainly(desk)) is not None:
            kept.follow(desk.fold, writing.seq)
            return Reply(request, decided)
        try:
            with writing.attempt():
                decided = request.hear(desk)
        except BestArmError as refusal:
            kept.go_back()
            return Reply(request, refusal=refusal)
        kept.follow(desk.fold, writing.seq)
        return Reply(request, decided)

    @abstractmethod
    def _must_be_ours(self, reading: Reading) -> None:
        """Raise NoSuchTrial if another trial has been created under our name, after ours was deleted."""

    def advance(self) -> None:
        """Make the releases whose time has come; every other request does so too."""
        self._write(Desk.settle)

    def _now(self, reading: Reading) -> int:
        return max(int(self._clock() * MICROSECONDS), reading.book.at)
