"""Participants' codes: one rule, frozen in the design, by which two ways of writing a code are the same person.

`p-001`, `P-001` and `" p-001 "` are one participant wherever they are typed: on a page, over HTTP, on the command line
or in Python. What is no code (nothing, None, NaN) is refused rather than enrolled. And since only keyed hashes of codes
are kept, a code that is not known is compared with the others by trying the slips that people make.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from bestarm.errors import InputError
from bestarm.text import is_text

FOLDED: Final = "folded"
"""Spaces around it are dropped, Unicode is normalised (NFKC), capitals do not matter."""
AS_TYPED: Final = "as typed"
"""Every character counts: the rule of designs that name none."""
CODE_RULES: Final = (FOLDED, AS_TYPED)

LONGEST_CODE: Final = 200
NO_CODES: Final = frozenset({"nan", "none", "null", "<na>"})
"""What empty cells of tables become when they are written as text."""

LOOK_ALIKES: Final = ("0o", "1il", "2z", "5s", "6g9q", "8b", "uv", "mn", "-_ ./")
"""Characters that are taken for each other."""
ANYTHING: Final = "0123456789abcdefghijklmnopqrstuvwxyz-_ ./"
LONGEST_TRIED: Final = 60
"""Slips of longer codes are not tried."""


def code_of(subject: object, rule: str) -> str:
    """The code that stands for a participant, whatever way it was written."""
    text = subject if type(subject) is str else _written(subject)
    code = text if rule == AS_TYPED else folded(text)
    if not code.strip() or len(code) > LONGEST_CODE or not is_text(code):
        raise InputError(f"A participant's code has 1 to {LONGEST_CODE} characters.")
    if rule == AS_TYPED:
        return code
    if not code.isprintable():
        raise InputError("A participant's code takes characters that can be seen, and no others.")
    if code in NO_CODES:
        raise InputError("This stands for an empty cell of a table, and is no participant's code.")
    return code


def _written(subject: object) -> str:
    if hasattr(subject, "item"):  # a numpy scalar
        subject = subject.item()
    if isinstance(subject, bool) or not isinstance(subject, str | int):
        raise InputError(f"A participant's code is text, such as p-001; {_kind(subject)} is none.")
    return str(subject)


def folded(text: str) -> str:
    """The text with Unicode normalised, in lower case, and without spaces around it; folding it again changes nothing.

    Unicode calls it NFKC_Casefold: folding can undo what normalising did, so it is done until nothing changes. To ASCII
    all of it does no more than lower case.
    """
    if text.isascii():
        return text.lower().strip()
    before, after = "", text
    while before != after:
        before, after = after, unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", after).casefold()).strip()
    return after


def slips_of(code: str) -> Iterator[str]:
    """Codes that somebody may have meant who typed this one, the likeliest first, each once."""
    seen = {code}
    for candidate in _slips(code) if len(code) <= LONGEST_TRIED else ():
        if candidate.strip() and candidate not in seen:
            seen.add(candidate)
            yield candidate


def another_number(code: str, other: str) -> bool:
    """Whether two codes differ in a number alone, as those of a series do: p-001 and p-002, but not p-1 and p-001.

    Such a neighbour is most often another person; a letter for a digit hardly ever is.
    """
    shapes = [re.sub(r"[0-9]+", "#", one) for one in (code, other)]
    numbers = [[int(digits) for digits in re.findall(r"[0-9]+", one)] for one in (code, other)]
    return shapes[0] == shapes[1] and numbers[0] != numbers[1]


def _slips(code: str) -> Iterator[str]:
    # One look-alike, or all of a kind (P-OO1); neighbours swapped; zeros in front of a number; separators left out.
    alikes = list(_look_alikes(code))
    yield from alikes
    for place in range(len(code) - 1):
        yield code[:place] + code[place + 1] + code[place] + code[place + 2 :]
    yield "".join(letter for letter in code if letter.isalnum())
    for one in (code, *alikes):
        yield from _padded(one)
    # One character too many, too few, or another.
    letters = ANYTHING + "".join(sorted(set(code) - set(ANYTHING)))
    for place in range(len(code)):
        yield code[:place] + code[place + 1 :]
    for place in range(len(code)):
        yield from (code[:place] + letter + code[place + 1 :] for letter in letters)
    for place in range(len(code) + 1):
        yield from (code[:place] + letter + code[place:] for letter in letters)


def _look_alikes(code: str) -> Iterator[str]:
    for alike in LOOK_ALIKES:
        for wrong in alike:
            for right in alike.replace(wrong, ""):
                yield code.replace(wrong, right)
                for place, letter in enumerate(code):
                    if letter == wrong:
                        yield code[:place] + right + code[place + 1 :]


def _padded(code: str) -> Iterator[str]:
    # The number at its end with more or fewer zeros in front.
    head = code.rstrip("0123456789")
    digits = code[len(head) :]
    if digits:
        yield from (head + digits.lstrip("0").rjust(width, "0") for width in range(1, 9))


def _kind(subject: object) -> str:
    if subject is None:
        return "None"
    return "NaN" if subject != subject else f"a {type(subject).__name__}"
