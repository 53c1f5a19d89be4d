"""What an outcome is: its bounds, declared in advance, and which end of them is better."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from bestarm.errors import InputError
from bestarm.exact import exact, kept, text_of

LONGEST_DESCRIPTION = 200
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Outcomes:
    """The scale of an outcome, kept exactly. Inside, every outcome is a number from 0 to 1, larger being better."""

    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    binary: bool = False
    """Whether an outcome is one of the bounds, rather than anything between them."""
    lower_is_better: bool = False
    what: str | None = None
    """What is measured, in words, such as "pain after 30 days"."""

    def __post_init__(self) -> None:
        low, high = exact(self.low, "The lower bound"), exact(self.high, "The upper bound")
        if low >= high:
            raise InputError(f"The lower bound {text_of(low)} has to be below the upper bound {text_of(high)}.")
        what = None if self.what is None else self.what.strip() or None
        if what is not None and (len(what) > LONGEST_DESCRIPTION or not what.isprintable()):
            raise InputError(f"What an outcome is takes at most {LONGEST_DESCRIPTION} printable characters.")
        for name, value in (("low", low), ("high", high), ("what", what)):
            object.__setattr__(self, name, value)

    @property
    def width(self) -> Fraction:
        """From one bound to the other."""
        return self.high - self.low

    @cached_property
    def _floats(self) -> tuple[float, float]:
        # The lower bound and the width; many sums are shown, and exact numbers take their time.
        return float(self.low), float(self.width)

    @cached_property
    def _ends(self) -> dict[tuple[int, int], Fraction]:
        # The bounds, each as its parts (fractions are slow to compare), and what they are on the scale from 0 to 1.
        worst, best = (self.high, self.low) if self.lower_is_better else (self.low, self.high)
        return {(worst.numerator, worst.denominator): ZERO, (best.numerator, best.denominator): ONE}

    @property
    def worst(self) -> Fraction:
        """The worse of the bounds."""
        return self.high if self.lower_is_better else self.low

    def to_unit(self, outcome: Fraction) -> Fraction:
        """The outcome in [0, 1], larger being better; what it cannot be is bad input, never clipped."""
        end = self._ends.get(outcome.as_integer_ratio())
        if end is not None:  # so are all that are binary, and most that are told
            return end
        if self.binary:
            raise InputError(f"The outcome is {text_of(outcome)}, but a binary outcome is {self.bounds(' or ')}.")
        return self.between(outcome, "The outcome")

    def between(self, value: Fraction, name: str) -> Fraction:
        """A value between the bounds in [0, 1], larger being better, whether or not an outcome can be that."""
        if not self.low <= value <= self.high:
            raise InputError(f"{name} is {text_of(value)}, but it has to lie between {self.bounds(' and ')}.")
        share = (value - self.low) / self.width
        return 1 - share if self.lower_is_better else share

    @property
    def plain(self) -> bool:
        """Whether an outcome is its own number from 0 to 1, larger being better."""
        return self.low == 0 and self.high == 1 and not self.lower_is_better

    def mean_in_units(self, mean: float) -> float:
        """A mean on the scale from 0 to 1 in the outcome's own units, free of rounding noise."""
        return float(f"{self.sum_in_units(mean, 1):.12g}")

    def gap_in_units(self, gap: float) -> float:
        """A difference of means in the outcome's own units; never negative where the first is better."""
        return float(f"{float(self.width) * gap:.12g}")

    def sum_in_units(self, total: float, n: float) -> float:
        """A sum of n outcomes in [0, 1] as the same sum in the outcome's own units."""
        low, width = self._floats
        return n * (low + width) - width * total if self.lower_is_better else n * low + width * total

    def bounds(self, joined_by: str) -> str:
        """Both bounds, in words."""
        return f"{text_of(self.low)}{joined_by}{text_of(self.high)}"

    def to_json(self) -> dict[str, Any]:
        """As plain data: outcomes (unit or binary), low, high, lower_is_better, what."""
        return {
            "outcomes": "binary" if self.binary else "unit",
            "low": text_of(self.low),
            "high": text_of(self.high),
            "lower_is_better": self.lower_is_better,
            "what": self.what,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Outcomes:
        """From plain data."""
        return cls(
            kept(data["low"], "low"),
            kept(data["high"], "high"),
            data["outcomes"] == "binary",
            data["lower_is_better"],
            data.get("what"),
        )
