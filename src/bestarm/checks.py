"""What a number has to be: each rule is written once, and says the same wherever it is broken.

`exactly` is for numbers that are frozen in a design, `plainly` for those that only enter a computation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from bestarm.errors import InputError
from bestarm.exact import LONGEST_NUMBER, exact, text_of


@dataclass(frozen=True)
class Requirement:
    """What one number has to be: its name, what is allowed, in words, and as a test."""

    name: str
    allowed: str
    holds: Callable[[Any], bool]

    def exactly(self, value: object) -> Fraction:
        """The number as it was written, if it is allowed."""
        try:
            number = exact(value, self.name)
        except InputError:
            raise self.broken(str(value)[:LONGEST_NUMBER]) from None
        if not self.holds(number):
            raise self.broken(text_of(number))
        return number

    def plainly(self, value: float) -> float:
        """The number in floating point, if it is allowed."""
        if not self.holds(value):
            raise self.broken(f"{value:g}")
        return float(value)

    def broken(self, shown: str) -> InputError:
        """What is said of a value that is not allowed."""
        return InputError(f"{self.name} is {shown}, but {self.allowed}.")


def positive(name: str, what: str) -> Requirement:
    """A positive, finite number."""
    return Requirement(name, f"{what} has to be a positive, finite number", lambda x: bool(x > 0) and math.isfinite(x))


def share(name: str, what: str) -> Requirement:
    """A number strictly between 0 and 1."""
    return Requirement(name, f"{what} has to lie between 0 and 1, both excluded", lambda x: bool(0 < x < 1))


EPSILON: Final = positive("epsilon", "a privacy budget")
RHO: Final = positive("rho", "a privacy budget")
DELTA: Final = share("delta", "the risk of a wrong recommendation")
DELTA_NONE: Final = share("delta_none", 'the risk of a wrong "none"')
BETA: Final = share("beta", "the leader's share")
EXPONENT: Final = Requirement(
    "s", "the exponent has to be a number above 1 and at most 10", lambda x: bool(1 < x <= 10)
)


def whole(name: str, value: object, least: int, most: int) -> int:
    """A whole number within bounds, both included."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{name} is {value}, but it has to be a whole number between {least} and {most}.")
    return value


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"{name} is {value!r}, but it has to be one of: {', '.join(allowed)}.")
    return value
