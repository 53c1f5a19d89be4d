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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
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
    "merged",
    "released",
    "stopped",
    "paused",
    "resumed",
]
"""Everything that can happen. In a log that somebody changed there may be other words."""

PUBLIC_KINDS: Final[frozenset[str]] = frozenset(
    {"created", "opened", "assigned", "vacated", "relabelled", "merged", "released", "stopped", "paused", "resumed"}
)
"""Events whose bodies are public. All others are confidential, and so is that they happened."""


@dataclass(slots=True)
class Event:
    """Something that happened, who did it and when (microseconds since 1970, UTC). Nobody changes one; to have Python
    make sure of it would make making them take three times as long."""

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
    written: tuple[str, str | None] | None = field(default=None, compare=False, repr=False)
    """Body and secret as text, where they have been written already."""

    def as_dict(self) -> dict[str, Any]:
        """Everything it holds, by name."""
        return {name: getattr(self, name) for name in self.__slots__}

    def texts(self) -> tuple[str, str | None]:
        """Body and secret written as text."""
        return canonical(self.body), None if self.secret is None else canonical(self.secret)


_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_MAKE: Final = getattr(json.encoder, "c_make_encoder", None)
_PARTS: Final[Callable[[Any, int], Iterable[str]] | None] = _MAKE and _MAKE(
    None, _ENCODER.default, json.encoder.encode_basestring, None, ":", ",", True, False, False
)
"""The same encoder as the library makes anew for every text, where Python has it in C; made once, it takes half."""


def arms_of(bodies: Iterable[dict[str, Any]]) -> list[int]:
    """The arms of those who joined a stage, from what the events of their assignments say."""
    return [body["arm"] for body in bodies if not body["replacing"]]


def canonical(value: Any) -> str:
    """One text for each JSON value, so that hashes can be recomputed anywhere."""
    if _PARTS is None or isinstance(value, str):
        return _ENCODER.encode(value)
    return "".join(_PARTS(value, 0))


def next_event(
    before: str,
    public_before: tuple[int, str],
    seq: int,
    at: int,
    actor: str,
    kind: str,
    body: dict[str, Any],
    secret: dict[str, Any] | None,
    salt: bytes,
) -> Event:
    """The event that follows the event with hash `before` and, if it is public, the public event of that number and
    hash. What it holds is written once, for both chains and for the store."""
    written = (canonical(body), None if secret is None else canonical(secret))
    mark = _chained(before, seq, at, actor, kind, written, salt)
    public_seq = public_mark = None
    if kind in PUBLIC_KINDS:
        public_seq = public_before[0] + 1
        public_mark = _chained_publicly(public_before[1], public_seq, kind, written[0])
    return Event(seq, at, actor, kind, body, secret, salt, mark, public_seq, public_mark, written)


def chained_publicly(before: str, seq: int, kind: str, body: dict[str, Any]) -> str:
    """The hash in the public chain of an event that follows the public event with hash `before`."""
    return _chained_publicly(before, seq, kind, canonical(body))


def _chained(
    before: str, seq: int, at: int, actor: str, kind: str, written: tuple[str, str | None], salt: bytes
) -> str:
    # The canonical text of the list of all of these, from parts that are canonical.
    text = f"[{seq},{at},{_word(actor)},{_word(kind)},{written[0]},{written[1] or 'null'}]"
    seal = hashlib.sha256(salt + text.encode()).hexdigest()
    return hashlib.sha256(f"{before}\n{seal}".encode()).hexdigest()


def _chained_publicly(before: str, seq: int, kind: str, body: str) -> str:
    return hashlib.sha256(f"{before}\n[{seq},{_word(kind)},{body}]".encode()).hexdigest()


@lru_cache(maxsize=1024)
def _word(text: str) -> str:
    # Kinds are few, and so are those who do things; their texts are in every event.
    return canonical(text)
