"""How a trial is looked at: everything public, made once after each public event and kept until the next.

A view that is kept is made anew when something public happened, never because an outcome came in: else the time an
answer takes would tell whoever looks when one did.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bestarm.storage.contract import Reading, Store
from bestarm.trial import outlook
from bestarm.trial.fold import Fold, Rules
from bestarm.trial.history import History
from bestarm.trial.policy_state import KeptState
from bestarm.trial.public import PublicView, status_of
from bestarm.trial.transactions import Clock, Transactions


class Looks(Transactions):
    """A trial as everybody may see it."""

    def __init__(self, store: Store, name: str, rules: Rules, clock: Clock) -> None:
        super().__init__(store, name, rules, clock)
        self._looking = threading.Lock()
        self._history = History()
        self._shown: tuple[str, PublicView] | None = None
        self._said: tuple[PublicView, str] | None = None

    def view(self) -> PublicView:
        """Everything that may be known about the trial."""
        with self._seen() as reading:
            return self._view(reading)

    def _view(self, reading: Reading) -> PublicView:
        with self._looking:
            shown = self._shown
            if shown is None or shown[0] != reading.public_head:
                fold = self._fold(reading)
                if not self._history.agrees(fold):
                    self._history = History()
                shown = self._shown = (reading.public_head, outlook.public_view(self.name, fold, self._history))
            return shown[1]

    def _public_status(self) -> dict[str, Any]:
        # Kept as text but for the releases, so that whoever gets it may do with it what they like.
        view = self.view()
        with self._looking:
            if self._said is None or self._said[0] is not view:
                self._said = (view, json.dumps(status_of(view, with_releases=False).to_json()))
            found: dict[str, Any] = json.loads(self._said[1])
            found["releases"] = self._history.plain(self._rules.design, len(view.releases))
        return found

    @contextmanager
    def _seen(self, publicly: bool = True) -> Iterator[Reading]:
        # What is shown includes every release whose time has come, so those are made first.
        with self._store.reading(self.name, publicly) as reading:
            self._must_be_ours(reading)
            if self._rules.follow_up is None or not self._books(reading).owes(self._now(reading)):
                yield reading
                return
        self.advance()
        with self._store.reading(self.name, publicly) as reading:
            self._must_be_ours(reading)
            yield reading

    def _books(self, reading: Reading) -> Fold:
        # Enough to say what is owed and what is due, which the policy's state has no part in.
        return Fold(self._rules, reading, None)

    def _fold(self, reading: Reading) -> Fold:
        return Fold(self._rules, reading, KeptState(self._rules, reading).state)
