"""Names for people and assignments that give nothing away, made with the trial's secret key."""

from __future__ import annotations

import hashlib
import hmac

from bestarm.errors import InputError
from bestarm.text import is_text

KEY_BYTES = 32
LONGEST_SUBJECT = 200
CHECK_LENGTH = 4


def pseudonym(key: bytes, subject: str) -> str:
    """The keyed hash that stands for a subject; without the key it cannot be traced back or tried out."""
    text = str(subject)
    if not text.strip() or len(text) > LONGEST_SUBJECT or not is_text(text):
        raise InputError(f"A subject needs an id of 1 to {LONGEST_SUBJECT} characters.")
    return hmac.new(key, b"subject\0" + text.encode(), hashlib.sha256).hexdigest()[:32]


def assignment_id(key: bytes, number: int) -> str:
    """The id that staff type: the number, and a check that catches slips and guesses."""
    return f"{number}-{_check(key, number)}"


def assignment_number(key: bytes, text: str) -> int:
    """The number behind an id."""
    number, _, check = str(text).strip().partition("-")
    if number.isascii() and number.isdigit() and len(number) < 19:
        right = _check(key, int(number))
        if hmac.compare_digest(check.lower().encode(), right.encode()):
            return int(number)
    raise no_such_assignment()


def no_such_assignment() -> InputError:
    """The refusal of an id that is none. It does not repeat the text: an outcome may have been typed there."""
    return InputError("There is no assignment of this id in this trial; the id stands in the answer to ask.")


def _check(key: bytes, number: int) -> str:
    return hmac.new(key, b"assignment\0%d" % number, hashlib.sha256).hexdigest()[:CHECK_LENGTH]
