"""The trials of the store as the service uses them: opened once, viewed at the price of a look when nothing changed.

What changed means what *everybody may see* of it changed. A view that is kept is made anew after public events and by
the clock, never because an outcome came in: else the time an answer takes would tell viewers when one did.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bestarm.design import Design
from bestarm.errors import BestArmError, InputError
from bestarm.exact import exact
from bestarm.service.access import Access, Grant
from bestarm.service.problems import Refusal, no_such_trial
from bestarm.service.turns import Turns
from bestarm.storage.contract import Store
from bestarm.trial.answers import Report
from bestarm.trial.identity import Participant
from bestarm.trial.places import rehearse
from bestarm.trial.public import PublicView
from bestarm.trial.report import report_of, report_page
from bestarm.trial.transactions import Request
from bestarm.trial.trial import Trial

FRESH_SECONDS = 1.0
"""A trial whose stages are released by the clock is looked at anew after this long, even if nobody did anything."""


@dataclass(frozen=True)
class _LookedAt:
    head: str
    at: float
    """When the head was read."""
    view: PublicView


class Trials:
    """All trials of a store."""

    def __init__(self, store: Store, access: Access) -> None:
        self.store = store
        self._access = access
        self._open: dict[str, Trial] = {}
        self._turns: dict[str, Turns] = {}
        self._seen: dict[str, _LookedAt] = {}
        self._lock = threading.Lock()
        self._looking: dict[str, threading.Lock] = {}

    def names(self) -> list[str]:
        """The trials that can be served: a name with a slash does not fit into an address."""
        return [name for name in self.store.names() if _fits_address(name)]

    def find(self, name: str) -> Trial:
        """The trial of that name."""
        with self._lock:
            if name not in self._open:
                if name not in self.names():
                    raise no_such_trial()
                trial = Trial.open(self.store, name=name)
                self._looking[name] = threading.Lock()
                self._turns[name] = Turns(trial, self._access)
                self._open[name] = trial
            return self._open[name]

    def turns(self, name: str) -> Turns | None:
        """Where those who ask and tell in a trial take turns; None if it has not been opened yet."""
        return self._turns.get(name)

    def forget(self) -> None:
        """Open every trial anew: one of them is no longer the one that it was."""
        with self._lock:
            for kept in (self._turns, self._open, self._seen):
                kept.clear()

    def create(self, name: str, actor: str, design: dict[str, Any]) -> Trial:
        """Create a trial; `design` holds the arguments of `Trial.create` that were given."""
        self.rehearse(name, design)
        Trial.create(self.store, name=name, actor=actor, **design)
        return self.find(name)

    def rehearse(self, name: str, design: dict[str, Any]) -> Design:
        """The design that `create` would freeze; everything is checked and nothing created."""
        if not _fits_address(name):
            raise InputError("A trial's name cannot hold a slash or a backslash, nor be a dot or two.")
        if ":" in str(design.get("algorithm", "")):
            # "module:name" would import code that the server's owner did not choose.
            raise InputError("Over HTTP the algorithm is one of the catalogue; `bestarm algorithms` lists them.")
        return rehearse(self.store, name=name, **design)

    def remove(self, name: str) -> None:
        """Delete a trial that never enrolled anybody."""
        trial = self.find(name)
        with self._lock, self._looking[name]:
            trial.delete()
            for kept in (self._turns, self._open, self._seen, self._looking):
                kept.pop(name, None)

    def view(self, name: str) -> PublicView:
        """Everything that may be known about a trial now. However many people look, it is made once for all."""
        trial, arrived = self.find(name), time.monotonic()
        with self._looking[name]:
            seen = self._seen.get(name)
            if seen is not None and seen.at > arrived:
                return seen.view  # somebody looked after we had come, while we waited for our turn
            looked = time.monotonic()
            with self.store.reading(name) as reading:
                head = reading.public_head
            goes_on_by_itself = trial.design.follow_up is not None
            if seen is None or seen.head != head or (goes_on_by_itself and looked - seen.at > FRESH_SECONDS):
                # The head is read before the view, so that the view is never older than the head says.
                seen = self._seen[name] = _LookedAt(head, looked, trial.view())
            return seen.view

    def look_at_all(self) -> None:
        """Make the releases whose time has come in every trial, as a look at its page would."""
        for name in self.names():
            with suppress(BestArmError, Refusal):
                self.view(name)

    def report_page(self, name: str) -> str:
        """The report as one HTML page."""
        return report_page(self.view(name), self._head(name))

    def report(self, name: str) -> Report:
        """The report as data."""
        return report_of(self.view(name), self._head(name))

    def _head(self, name: str) -> str:
        with self.store.reading(name) as reading:
            return reading.public_head

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()


def record(trial: Trial, outcomes: list[tuple[str | Participant, Fraction]], holder: Grant) -> list[str]:
    """Record outcomes for whoever holds this grant, all or none: the one way in for the API and the desk.

    What is answered to a repeated outcome does not depend on what was recorded, except to whoever told it a moment ago.
    """
    return trial.tell_many(outcomes, holder.actor, guarded=True)


def recording(trial: Trial, outcomes: list[tuple[str | Participant, Fraction]], holder: Grant) -> Request[list[str]]:
    """What `record` does, as a request that is heard together with others."""
    return trial.telling(outcomes, holder.actor, guarded=True)


def checked_outcome(design: Design, outcome: object) -> Fraction:
    """The outcome as an exact number within the design's bounds; a refusal does not repeat it."""
    try:
        number = exact(outcome, "The outcome")
        design.outcomes.to_unit(number)
    except InputError:
        raise InputError(f"This outcome cannot be recorded: {allowed_outcomes(design)}.") from None
    return number


def allowed_outcomes(design: Design) -> str:
    """What an outcome may be, in words."""
    outcomes = design.outcomes
    if outcomes.binary:
        return f"an outcome of this trial is {outcomes.bounds(' or ')}"
    return f"an outcome of this trial is a number from {outcomes.bounds(' to ')}"


def _fits_address(name: str) -> bool:
    return "/" not in name and "\\" not in name and name.strip() not in (".", "..", "")
