"""A trial under observation: the very class that serves people, with its doors watched and its chances chosen.

The auditor stands at the one door through which outcomes leave (sums become releases) and at the one through which they
come in (outcomes become integers), notes whatever passes, and can have other releases handed out than those drawn.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from bestarm.privacy.coins import Coins, Deal
from bestarm.privacy.mechanism import Door, Mechanism
from bestarm.privacy.noise import LiveNoise
from bestarm.storage.contract import Store, Writing
from bestarm.trial.course import TrialCourse
from bestarm.trial.desk import Desk
from bestarm.trial.fold import Rules
from bestarm.trial.transactions import Reply, Request
from bestarm.trial.trial import Trial

NAME = "audit"
START = 1_800_000_000


class Broken(Exception):
    """The commit failed, as the auditor wanted it to."""


@dataclass
class MovedClock:
    """Stands still until it is moved; whole seconds since 1970."""

    now: int = START

    def __call__(self) -> float:
        return float(self.now)


@dataclass(frozen=True)
class Labelled:
    """A person's coins, with a note of whose they are and for what."""

    coins: Coins
    number: int
    purpose: str

    def coin(self, p: Fraction) -> bool:
        """The person's own."""
        return self.coins.coin(p)

    def flips(self, p: Fraction) -> bool:
        """The person's own."""
        return self.coins.flips(p)

    def truthful(self, epsilon: Fraction) -> bool:
        """The person's own."""
        return self.coins.truthful(epsilon)


@dataclass(frozen=True)
class Encoded:
    """An outcome became an integer."""

    number: int
    purpose: str
    outcome: Fraction
    value: int


@dataclass(frozen=True)
class Drawn:
    """A sum became a release."""

    total: int
    value: int


@dataclass
class WatchedDoor:
    """Stands in front of a mechanism and notes what passes. With `forced`, hands out these releases and draws none."""

    door: Door
    forced: Sequence[int] | None = None
    drawn: list[Drawn] = field(default_factory=list)
    encoded: list[Encoded] = field(default_factory=list)

    def encode(self, outcome: Fraction, coins: Coins) -> int:
        """The mechanism's own, noted."""
        value = self.door.encode(outcome, coins)
        number, purpose = (coins.number, coins.purpose) if isinstance(coins, Labelled) else (0, "unknown")
        self.encoded.append(Encoded(number, purpose, outcome, value))
        return value

    def release(self, total: int) -> int:
        """A fresh release, or the next forced one; noted."""
        place = len(self.drawn)
        if self.forced is None:
            value = self.door.release(total)
        else:
            value = self.forced[place] if place < len(self.forced) else 0
        self.drawn.append(Drawn(total, value))
        return value

    def terms(self) -> dict[str, str | None]:
        """The mechanism's own."""
        return self.door.terms()


class WatchedTrial(Trial):
    """A trial whose doors are watched, whose coins for arms come from a seed, and whose commits fail when asked to."""

    def __init__(
        self, store: Store, name: str, rules: Rules, key: bytes, noise: LiveNoise | None, clock: Callable[[], float]
    ) -> None:
        super().__init__(store, name, rules, key, noise, clock)
        self.mechanism: Mechanism = self._door
        """The one that a trial of this design has."""
        self.key = key
        self.watched = WatchedDoor(self._door)
        self._door = self.watched  # type: ignore[assignment]  # a door is all that the desk needs
        self._arms = random.Random(0)
        self._breaking = False
        self._chain: list[tuple[str, dict[str, Any]]] = []

    @classmethod
    def begin(
        cls, store: Store, rules: Rules, key: bytes, noise: LiveNoise | None, clock: Callable[[], float], seed: int
    ) -> WatchedTrial:
        """A new trial with this key: the same people's coins fall alike in all trials that share it."""
        trial = cls(store, NAME, rules, key, noise, clock)
        trial._arms = random.Random(seed)
        trial._begin("auditor")
        return trial

    def broken(self, request: Callable[[], object]) -> None:
        """Make a request whose commit fails: nothing of it is kept, and it never happened."""
        before = len(self.watched.drawn)
        self._breaking = True
        try:
            request()
        except Broken:
            del self.watched.drawn[before:]  # nobody has seen them
        finally:
            self._breaking = False

    def chain(self) -> list[tuple[str, dict[str, Any]]]:
        """The public chain: kinds and bodies."""
        with self._store.reading(self.name) as reading:
            if reading.public_seq != len(self._chain):
                events = (event for event in reading.events() if event.public_seq is not None)
                self._chain = [(event.kind, event.body) for event in events]
        return self._chain

    def public_head(self) -> str:
        """The head of the public chain."""
        with self._store.reading(self.name) as reading:
            return reading.public_head

    def deal(self) -> Deal:
        """Where people's own coins come from in this trial."""
        with self._store.writing(self.name) as writing:
            return super()._desk(writing, self._rules.course(self._rules.fresh_state())).deal

    def _transact(self, requests: Sequence[Request[Any]]) -> list[Reply[Any]] | None:
        if not self._breaking:
            return super()._transact(requests)

        def breaking(desk: Desk) -> object:
            requests[0].hear(desk)
            raise Broken("The auditor broke this commit.")  # nothing that a part of a transaction may be refused with

        return super()._transact([Request(breaking)])

    def _new_coin_key(self) -> bytes:
        # People's coins have to fall alike in all trials that share the other key.
        return hashlib.sha256(b"coins" + self.key).digest()

    def _desk(self, writing: Writing, course: TrialCourse) -> Desk:
        desk = super()._desk(writing, course)
        deal = desk.deal
        desk.deal = lambda number, purpose: Labelled(deal(number, purpose), number, purpose)
        desk.pick = self._pick
        return desk

    def _pick(self, weights: Sequence[float]) -> int:
        return self._arms.choices(range(len(weights)), weights)[0]
