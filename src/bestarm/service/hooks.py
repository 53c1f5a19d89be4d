"""Webhooks: who is told of public events, and what still has to be delivered to them.

Only what is in the public chain is told (a stage released, the trial stopped or paused), and that a verification
failed, without saying where. What is to be delivered is kept in the store until it has been: a restart loses nothing.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

import sqlalchemy as sa

from bestarm.errors import InputError, OperationError
from bestarm.storage import schema
from bestarm.storage.contract import Store
from bestarm.storage.sql import SQLStore
from bestarm.storage.sql_statements import places_after

TOLD: Final = ("released", "stopped", "paused")
"""The kinds of public events that hooks are told of."""
VERIFY_FAILED: Final = "verify-failed"
MOST_HOOKS: Final = 50
LONGEST_URL: Final = 500
FIRST_PAUSE: Final = 10
LONGEST_PAUSE: Final = 3600
CLAIM: Final = 120
"""Seconds that somebody who sends a message has for it, before another one may."""
MOST_TRIES: Final = 30
"""With pauses that double from ten seconds to an hour this is a day."""

_hooks, _deliveries, _events, _trials = (
    schema.hooks.c,
    schema.deliveries.c,
    schema.events.c,
    schema.trials.c,
)


@dataclass(frozen=True)
class Hook:
    """An address that is told of public events; without the key that its messages are signed with."""

    id: int
    url: str
    trial: str | None
    """The one trial it is for; None for all."""
    created_at: int
    waiting: int
    """Messages that are still to be delivered."""
    given_up: int
    """Messages that could not be delivered within a day."""

    @property
    def created(self) -> str:
        """When it was made, as ISO 8601, UTC."""
        return datetime.fromtimestamp(self.created_at, UTC).isoformat()


@dataclass(frozen=True)
class Delivery:
    """A message that is due."""

    id: int
    url: str
    key: str
    event: str
    body: str
    tries: int


class Hooks:
    """The webhooks in a store. Off unless the server's owner turned them on."""

    def __init__(self, store: Store, enabled: bool = False, clock: Callable[[], float] = time.time) -> None:
        if not isinstance(store, SQLStore):
            raise InputError("The service needs a store in a database: a path, or a URL postgresql://...")
        self._store = store
        self.enabled = enabled
        self._clock = clock

    def add(self, url: str, trial: str | None = None) -> tuple[str, Hook]:
        """A new hook, and the key of its signatures, shown here and never again."""
        self._must_be_on()
        checked_url(url)
        key = "bah_" + secrets.token_urlsafe(32)
        with self._store.transaction() as connection:
            if connection.execute(sa.select(sa.func.count()).select_from(schema.hooks)).scalar_one() >= MOST_HOOKS:
                raise InputError(f"There are {MOST_HOOKS} webhooks already; take one back first.")
            values = {"url": url, "trial": trial, "key": key, "created_at": self._now(), "seen": self._ends(connection)}
            values["seen"] = json.dumps(values["seen"])
            number = connection.execute(sa.insert(schema.hooks).values(values).returning(_hooks.id)).scalar_one()
        return key, next(hook for hook in self.all() if hook.id == number)

    def all(self) -> list[Hook]:
        """Every hook, oldest first."""
        waiting = sa.func.count(_deliveries.id).filter(_deliveries.tries < MOST_TRIES)
        lost = sa.func.count(_deliveries.id).filter(_deliveries.tries >= MOST_TRIES)
        query = (
            sa.select(_hooks.id, _hooks.url, _hooks.trial, _hooks.created_at, waiting, lost)
            .outerjoin(schema.deliveries, _deliveries.hook == _hooks.id)
            .group_by(_hooks.id)
            .order_by(_hooks.id)
        )
        with self._store.transaction() as connection:
            return [Hook(*row) for row in connection.execute(query)]

    def remove(self, number: int) -> bool:
        """Take a hook back, with what was still to be delivered; False if there is none such."""
        with self._store.transaction() as connection:
            connection.execute(sa.delete(schema.deliveries).where(_deliveries.hook == number))
            return connection.execute(sa.delete(schema.hooks).where(_hooks.id == number)).rowcount > 0

    def note_failed_verification(self, trial: str) -> None:
        """Tell that a trial's log did not verify; where and why is for administrators alone."""
        if self.enabled:
            with self._store.transaction() as connection:
                for row in connection.execute(sa.select(schema.hooks)).all():
                    if row.trial in (None, trial):
                        self._enqueue(connection, row.id, VERIFY_FAILED, {"event": VERIFY_FAILED, "trial": trial})

    def collect(self) -> None:
        """Put what happened in public since the last time into the messages to be delivered."""
        with self._store.transaction() as connection:
            names = {row.id: row.name for row in connection.execute(sa.select(_trials.id, _trials.name))}
            # Workers collect one after the other: each begins where the one before it stood.
            for hook in connection.execute(sa.select(schema.hooks).order_by(_hooks.id).with_for_update()).all():
                seen = {int(trial): int(seq) for trial, seq in json.loads(hook.seen).items()}
                changed = False
                for trial, end in self._ends(connection).items():
                    if hook.trial in (None, names[trial]) and seen.get(trial, 0) < end:
                        for event in self._since(connection, trial, seen.get(trial, 0)):
                            self._enqueue(connection, hook.id, event.kind, _message(names[trial], event))
                        seen[trial], changed = end, True
                if changed:
                    update = sa.update(schema.hooks).where(_hooks.id == hook.id)
                    connection.execute(update.values(seen=json.dumps(seen)))

    def due(self) -> list[Delivery]:
        """The messages to be sent now, oldest first."""
        query = (
            sa.select(_deliveries.id, _hooks.url, _hooks.key, _deliveries.event, _deliveries.body, _deliveries.tries)
            .join(schema.hooks, _deliveries.hook == _hooks.id)
            .where(_deliveries.next_at <= self._now(), _deliveries.tries < MOST_TRIES)
            .order_by(_deliveries.id)
            .limit(100)
        )
        with self._store.transaction() as connection:
            return [Delivery(*row) for row in connection.execute(query)]

    def claim(self, delivery: Delivery) -> bool:
        """Take a message that is due upon oneself; False if somebody else did, or does.

        Whoever dies with it leaves it to be sent again, once the claim has run out.
        """
        mine = (_deliveries.id == delivery.id, _deliveries.tries == delivery.tries, _deliveries.next_at <= self._now())
        with self._store.transaction() as connection:
            # The update is the test: of two that come at once only one changes the row.
            claimed = sa.update(schema.deliveries).where(*mine).values(next_at=self._now() + CLAIM)
            return connection.execute(claimed).rowcount > 0

    def settle(self, delivery: Delivery, delivered: bool) -> None:
        """Forget a message that was delivered; put another one off, for twice as long each time."""
        mine = _deliveries.id == delivery.id
        with self._store.transaction() as connection:
            if delivered:
                connection.execute(sa.delete(schema.deliveries).where(mine))
                return
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**delivery.tries)
            values = {"tries": delivery.tries + 1, "next_at": self._now() + pause}
            connection.execute(sa.update(schema.deliveries).where(mine).values(values))

    def _ends(self, connection: sa.Connection) -> dict[int, int]:
        return {row.id: row.seq for row in connection.execute(sa.select(_trials.id, _trials.seq))}

    def _since(self, connection: sa.Connection, trial: int, seq: int) -> list[Any]:
        _, after, end = places_after(trial, seq)
        wanted = (_events.id > after, _events.id < end, _events.kind.in_(TOLD))
        columns = (_events.kind, _events.body, _events.public_seq, _events.public_hash)
        return list(connection.execute(sa.select(*columns).where(*wanted).order_by(_events.id)))

    def _enqueue(self, connection: sa.Connection, hook: int, event: str, message: dict[str, Any]) -> None:
        values = {"hook": hook, "event": event, "body": json.dumps(message), "tries": 0, "next_at": self._now()}
        connection.execute(sa.insert(schema.deliveries).values(values))

    def _must_be_on(self) -> None:
        if not self.enabled:
            raise OperationError("Webhooks are off; start the server with --webhooks to use them.")

    def _now(self) -> int:
        return int(self._clock())


def checked_url(url: str) -> None:
    """Refuse what is no address that messages can be sent to. Whether it may be reached is asked when they are."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    good = parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0
    if not good or len(url) > LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise InputError("A webhook's address begins with https:// or http:// and names a host.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise InputError("A webhook's address holds no password and no #; messages are signed instead.")


def _message(trial: str, event: Any) -> dict[str, Any]:
    # Nothing but the public chain: neither the number of the event in the full log, nor when it was written.
    said = {"event": event.kind, "trial": trial, "seq": event.public_seq, "hash": event.public_hash}
    return said | {"body": json.loads(event.body)}
