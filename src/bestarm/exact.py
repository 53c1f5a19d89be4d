"""Numbers kept as people wrote them: fractions inside, decimal text outside, no rounding in between."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final

from bestarm.errors import InputError

LONGEST_NUMBER: Final = 40
"""Characters a number may have: more digits than any measurement, and no way to ask for a number of a gigabyte."""

LONGEST_KEPT: Final = 400
"""Characters a number that we wrote ourselves may have: a fraction, or decimals without an exponent."""
BITS: Final = (Fraction(0), Fraction(1))
"""Made once: most outcomes are one of the two."""
KEPT: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+|/0*[1-9][0-9]*)?")


def is_plain(text: str) -> bool:
    """Whether only plain characters are in a number: to Python 1_0 is ten, and so are the digits of every script."""
    return text.isascii() and "_" not in text


def exact(value: object, what: str) -> Fraction:
    """The number as written: decimal text, an integer, or a float by its shortest decimal form."""
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    if isinstance(value, int):
        return BITS[value] if value in (0, 1) else Fraction(value)
    if isinstance(value, Fraction):
        return value
    text = repr(value) if isinstance(value, float) else str(value).strip()
    if len(text) > LONGEST_NUMBER:
        raise InputError(f"{what} is written with {len(text)} characters; at most {LONGEST_NUMBER} are allowed.")
    try:
        if not is_plain(text):
            raise InvalidOperation
        number = Decimal(text)
    except InvalidOperation:
        raise InputError(f"{what} is {text!r}, but it has to be a decimal number such as 0.25.") from None
    if not number.is_finite() or abs(number.adjusted()) > 60:
        raise InputError(f"{what} is {text!r}, but it has to be a finite number of ordinary size.")
    return Fraction(number)


def kept(value: object, what: str) -> Fraction:
    """A number as `text_of` writes it, read again. Stores and exports may be garbled, or come from anybody, and no text
    of theirs gets to ask for a number of a gigabyte."""
    if type(value) is int and abs(value) < 10**LONGEST_NUMBER:
        return Fraction(value)
    if isinstance(value, str) and len(value) <= LONGEST_KEPT and KEPT.fullmatch(value):
        return Fraction(value)
    raise InputError(f"{what} is not written as a number is here, such as 0.25 or 1/3.")


def text_of(number: Fraction) -> str:
    """The exact number as text: in decimals where they end, else as a fraction."""
    whole, rest = number.as_integer_ratio()
    if rest == 1:
        return str(whole)
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return str(number)
    places = 0
    while (number * 10**places).denominator != 1:
        places += 1
    digits = str(abs(int(number * 10**places))).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)
