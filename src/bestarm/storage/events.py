"""Events, and the two chains that tie them together.

The *full chain* holds every event. Each hash covers the hash before it and a seal of the event, which is made with a
random salt: nothing can be changed, left out or put in between without every later hash giving it away, and nobody who
sees a hash can test a guess about what an event holds. It is for operators.

The *public chain* holds the public events alone, with their public bodies: the design, stages, assignments without
names, releases, the verdict, and times as the design dictates them. Its head may be shown to everybody: it changes when
something public happens, and never when an outcome comes in. Anyone can recompute it from the public export.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

GENESIS: Final = hashlib.sha256(b"bestarm trial").hexdigest()
"""What stands before the first event of either chain."""

SALT_BYTES: Final = 32

EventKind: TypeAlias = Literal[
    "created",
    "opened",
    "assigned",
    "told",
    "late",
    "retold",
    "corrected",
    "withdrawn",
    "vacated",
    "relabelled",
    "voided",
    "gathered",
    "released",
    "stopped",
    "paused",
    "resumed",
]
"""Everything that can happen. In a log that somebody changed there may be other words."""

PUBLIC_KINDS: Final[frozenset[str]] = frozenset(
    {"created", "opened", "assigned", "vacated", "relabelled", "released", "stopped", "paused", "resumed"}
)
"""Events whose bodies are public. All others are confidential, and so is that they happened."""


@dataclass(frozen=True)
class Event:
    """Something that happened, who did it and when (microseconds since 1970, UTC)."""

    seq: int
    at: int
    actor: str
    kind: str
    body: dict[str, Any]
    """Of a public event: what anybody may see. Of others: what holds no outcome."""
    secret: dict[str, Any] | None
    """What nobody may see: outcomes, pseudonyms."""
    salt: bytes
    hash: str
    public_seq: int | None
    """Its number among the public events; None if it is confidential."""
    public_hash: str | None


def canonical(value: Any) -> str:
    """One text for each JSON value, so that hashes can be recomputed anywhere."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def chained(
    before: str, seq: int, at: int, actor: str, kind: str, body: dict[str, Any], secret: Any, salt: bytes
) -> str:
    """The hash in the full chain of an event that follows the event with hash `before`."""
    seal = hashlib.sha256(salt + canonical([seq, at, actor, kind, body, secret]).encode()).hexdigest()
    return hashlib.sha256(f"{before}\n{seal}".encode()).hexdigest()


def chained_publicly(before: str, seq: int, kind: str, body: dict[str, Any]) -> str:
    """The hash in the public chain of an event that follows the public event with hash `before`."""
    return hashlib.sha256(f"{before}\n{canonical([seq, kind, body])}".encode()).hexdigest()
