"""Events and the chain that ties them together.

Each event's hash covers the hash before it, so that nothing can be changed, left out or put in between without every
later hash giving it away. What an event keeps confidential enters its hash through a commitment with a random salt:
the chain's head may be published, and still nobody can test a guess about an outcome against it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

GENESIS: Final = hashlib.sha256(b"bestarm trial").hexdigest()
"""What stands before the first event."""

SALT_BYTES: Final = 32


@dataclass(frozen=True)
class Event:
    """Something that happened, who did it and when (microseconds since 1970, UTC)."""

    seq: int
    at: int
    actor: str
    kind: str
    body: dict[str, Any]
    """What may be hashed as it is: no outcome, nor anything computed from one except a release."""
    secret: dict[str, Any] | None
    """What holds an outcome."""
    salt: bytes | None
    hash: str


def canonical(value: Any) -> str:
    """One text for each JSON value, so that hashes can be recomputed anywhere."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def chained(
    before: str, seq: int, at: int, actor: str, kind: str, body: dict[str, Any], secret: Any, salt: bytes | None
) -> str:
    """The hash of an event that follows the event with hash `before`."""
    commitment = ""
    if secret is not None:
        commitment = hashlib.sha256((salt or b"") + canonical(secret).encode()).hexdigest()
    text = "\n".join((before, canonical([seq, at, actor, kind, body]), commitment))
    return hashlib.sha256(text.encode()).hexdigest()
