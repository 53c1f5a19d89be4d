"""From an outcome as it was reported to the whole number that enters a batch.

An outcome is first read exactly (no floating point) and mapped from the bounds declared in the design to [0, 1], larger
being better. Then it becomes an integer: 0/1 as it is, by a coin of that probability, or on a grid of 2^-20 with
stochastic rounding. Coins keep the mean exactly; they are the person's own and never tossed again (`coins`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final

from bestarm.errors import InputError
from bestarm.privacy.coins import Coins

GRID_BITS: Final = 20
GRID: Final = 2**GRID_BITS

AS_IS, COIN, ON_GRID = "as-is", "coin", "grid"
ENCODINGS: Final = (AS_IS, COIN, ON_GRID)

LONGEST_NUMBER: Final = 40
"""Characters an outcome may have: more digits than any measurement, and no way to ask for a number of a gigabyte."""


def exact(value: object, what: str) -> Fraction:
    """The number as written: decimal text, an integer, or a float by its shortest decimal form."""
    if isinstance(value, Fraction):
        return value
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    if isinstance(value, bool | int):
        return Fraction(int(value))
    text = repr(value) if isinstance(value, float) else str(value).strip()
    if len(text) > LONGEST_NUMBER:
        raise InputError(f"{what} is written with {len(text)} characters; at most {LONGEST_NUMBER} are allowed.")
    try:
        if "_" in text or not text.isascii():  # to Python 1_0 is ten, and so are the digits of every script
            raise InvalidOperation
        number = Decimal(text)
    except InvalidOperation:
        raise InputError(f"{what} is {text!r}, but it has to be a decimal number such as 0.25.") from None
    if not number.is_finite() or abs(number.adjusted()) > 60:
        raise InputError(f"{what} is {text!r}, but it has to be a finite number of ordinary size.")
    return Fraction(number)


@dataclass(frozen=True)
class Scale:
    """The bounds of an outcome, declared in advance, and whether less of it is better."""

    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    lower_is_better: bool = False
    binary: bool = False

    def to_unit(self, outcome: Fraction) -> Fraction:
        """The outcome in [0, 1], larger being better; outside the bounds is bad input, never clipped."""
        if self.binary and outcome not in (self.low, self.high):
            raise InputError(f"The outcome is {text_of(outcome)}, but a binary outcome is {self._bounds(' or ')}.")
        if not self.low <= outcome <= self.high:
            raise InputError(f"The outcome is {text_of(outcome)}, but it has to lie between {self._bounds(' and ')}.")
        share = (outcome - self.low) / (self.high - self.low)
        return 1 - share if self.lower_is_better else share

    def _bounds(self, joined_by: str) -> str:
        return f"{text_of(self.low)}{joined_by}{text_of(self.high)}"


def text_of(number: Fraction) -> str:
    """The exact number as text: in decimals where they end, else as a fraction."""
    rest = number.denominator
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


@dataclass(frozen=True)
class Encoder:
    """Turns outcomes in [0, 1] into integers from 0 to `grid`; under local privacy the integer is randomised here."""

    encoding: str
    local_epsilon: Fraction | None = None

    @property
    def grid(self) -> int:
        """How many integer steps make one outcome of 1."""
        return GRID if self.encoding == ON_GRID else 1

    def encode(self, outcome: Fraction, coins: Coins) -> int:
        """The integer of an outcome that is already in [0, 1], by the coins of the person whose outcome it is."""
        steps = outcome * self.grid
        whole = math.floor(steps)
        rest = steps - whole
        value = whole + (1 if rest > 0 and coins.coin(rest) else 0)
        if self.local_epsilon is not None and not coins.truthful(self.local_epsilon):
            return self.grid - value
        return value
