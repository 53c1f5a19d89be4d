"""Names for people and assignments that give nothing away, made with the trial's secret key."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bestarm.errors import InputError, OperationError
from bestarm.storage.contract import Reading

KEY_BYTES = 32
CHECK_LENGTH = 4
HASH_BLOCK = 64
"""Bytes that SHA-256 reads at once."""


def check_name(name: str) -> None:
    """Refuse what cannot be a trial's name."""
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise InputError("A trial needs a name of 1 to 100 printable characters.")


@dataclass(frozen=True)
class Participant:
    """Somebody by their code, wherever an assignment is asked for: `trial.tell_many([(Participant("p-001"), 1)])`."""

    code: object


def pseudonym(key: bytes, code: str) -> str:
    """The keyed hash that stands for a code as `bestarm.codes` makes it; without the key it cannot be traced back or
    tried out."""
    return keyed_hash(key, b"subject\0" + code.encode())[:32]


def assignment_id(key: bytes, number: int) -> str:
    """The id that staff type: the number, and a check that catches slips and guesses."""
    return f"{number}-{_check(key, number)}"


def assignment_number(key: bytes, text: str) -> int:
    """The number behind an id."""
    number = number_in(key, text)
    if number is None:
        raise no_such_assignment()
    return number


def number_in(key: bytes, text: str) -> int | None:
    """The same; None if this is no id."""
    number, _, check = str(text).strip().partition("-")
    if number.isascii() and number.isdigit() and len(number) < 19:
        right = _check(key, int(number))
        if hmac.compare_digest(check.lower().encode(), right.encode()):
            return int(number)
    return None


def one_of_two(assignment: str | Participant | None, subject: object) -> str | Participant:
    """Who is meant, by the assignment or by the code."""
    if (assignment is None) == (subject is None):
        raise InputError("Say who it is: by the assignment or by the participant's code, one of the two.")
    return Participant(subject) if assignment is None else assignment


def coins_mark(reading: Reading) -> str:
    """Which key a trial's coins have, where it is kept apart from the store: the first event commits to it."""
    mark = next((event.body.get("coins") for event in reading.events()), None)
    if not isinstance(mark, str):
        raise OperationError("The trial's first event does not say which key its coins have; run verify.")
    return mark


def looks_like_an_id(text: str) -> bool:
    """Whether this may be an assignment's id: what else is typed may be a code, or an outcome in the wrong field."""
    return re.fullmatch(r"[0-9]{1,18}-[0-9a-fA-F]{4}", text.strip()) is not None


def no_such_assignment() -> InputError:
    """The refusal of an id that is none. It does not repeat the text: an outcome may have been typed there."""
    return InputError("There is no assignment of this id in this trial; the id was given when somebody was enrolled.")


def no_such_participant() -> InputError:
    """The refusal of a code that nobody in the trial has; it is not repeated either."""
    return InputError("There is no participant of this code in this trial.")


@lru_cache(maxsize=4096)
def _check(key: bytes, number: int) -> str:
    # Whoever is given an id will soon be told of.
    return keyed_hash(key, b"assignment\0%d" % number)[:CHECK_LENGTH]


def keyed_hash(key: bytes, message: bytes) -> str:
    """HMAC-SHA256 (RFC 2104), as `hmac.digest` makes it, but with the key's own blocks hashed once for all messages."""
    within, around = _begun(key)
    inner, outer = within.copy(), around.copy()
    inner.update(message)
    outer.update(inner.digest())
    digest: str = outer.hexdigest()
    return digest


@lru_cache(maxsize=64)
def _begun(key: bytes) -> tuple[Any, Any]:
    # The two hashes of an HMAC, as they are when they have read the key.
    block = (hashlib.sha256(key).digest() if len(key) > HASH_BLOCK else key).ljust(HASH_BLOCK, b"\0")
    return hashlib.sha256(bytes(one ^ 0x36 for one in block)), hashlib.sha256(bytes(one ^ 0x5C for one in block))
