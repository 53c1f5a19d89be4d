"""A hard end as a design freezes it: the stages, the lines, and what the promise then rests on.

Everything is exact and public, so that anybody can compute the chance of a wrong verdict again from the design alone
(`sound`; bestarm/theory/ladder.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from bestarm.errors import InputError
from bestarm.exact import exact, kept, text_of
from bestarm.outcomes import Outcomes
from bestarm.policy.stages import fewest_in_stage
from bestarm.release.laws import Law
from bestarm.theory.ladder import Ladder, fewest, plan_ladder, setting_of, unit_of, wrong
from bestarm.theory.walk import PARTS, Band

MOST_STAGES: Final = 64


@dataclass(frozen=True)
class Ending:
    """The trial ends with a recommendation once its last stage is released, if not before."""

    stages: tuple[int, ...]
    """People in each stage."""
    lines: tuple[Fraction, ...]
    """The lead, in people's outcomes, that ends the trial after each stage; 0 after the last."""
    pivot: Fraction
    """What is taken off every outcome before arms are compared."""
    rates: tuple[Fraction, Fraction] | None = None
    """All arms' means lie between these at all times, in the outcome's own units; None: nothing is assumed of them."""

    def __post_init__(self) -> None:
        fits = 1 <= len(self.stages) <= MOST_STAGES and len(self.lines) == len(self.stages) and min(self.stages) >= 1
        falls = all(early >= late for early, late in zip(self.lines, self.lines[1:], strict=False))
        if not fits or not falls or self.lines[-1] != 0 or not 0 <= self.pivot <= 1 or self.pivot * PARTS % 1 != 0:
            raise InputError("The hard end's stages and lines do not fit together.")
        if any(line * unit_of(float(self.pivot)) % 1 != 0 for line in self.lines):
            raise InputError("The hard end's lines are not on the scale of its scores.")

    @property
    def people(self) -> int:
        """By so many participants the trial has always ended."""
        return sum(self.stages)

    def ladder(self) -> Ladder:
        """In floating point, which holds these numbers exactly."""
        return Ladder(self.stages, tuple(float(line) for line in self.lines), float(self.pivot))

    def assumption(self, outcomes: Outcomes) -> str:
        """What the promise rests on, in words, besides the fairness of the coins."""
        if self.rates is None:
            return "Nothing is assumed about the arms' rates or how they change over time."
        low, high = self.rates
        return (
            f"This rests on an assumption: at all times every arm's mean outcome, missing ones as they are counted, "
            f"lies between {text_of(low)} and {text_of(high)}, within the outcome's bounds {outcomes.bounds(' and ')}."
        )

    def in_words(self) -> list[tuple[str, str]]:
        """Its parameters with their values, for people to read."""
        said = [
            ("hard end", f"by {self.people:,} participants"),
            ("stages", ", ".join(map(str, self.stages))),
            ("lead that ends it", ", ".join(text_of(line) for line in self.lines)),
        ]
        if self.rates is not None:
            said.append(("rates assumed", " to ".join(text_of(rate) for rate in self.rates)))
        return said

    def to_json(self) -> dict[str, Any]:
        """As plain data, every number as exact text."""
        return {
            "stages": list(self.stages),
            "lines": [text_of(line) for line in self.lines],
            "pivot": text_of(self.pivot),
            "rates": None if self.rates is None else [text_of(rate) for rate in self.rates],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Ending:
        """From plain data."""
        rates = data["rates"]
        return cls(
            tuple(int(size) for size in data["stages"]),
            tuple(kept(line, "A line") for line in data["lines"]),
            kept(data["pivot"], "The pivot"),
            None if rates is None else (kept(rates[0], "A rate"), kept(rates[1], "A rate")),
        )


def checked_rates(rates: Sequence[object] | None, outcomes: Outcomes) -> tuple[Fraction, Fraction] | None:
    """The band as people write it, exactly; refused if it is none."""
    if rates is None:
        return None
    if isinstance(rates, str) or len(rates) != 2:
        raise InputError("The band for the rates takes two numbers, the lowest and the highest mean of any arm.")
    low, high = (exact(rate, "A rate of the band") for rate in rates)
    if low >= high:
        raise InputError(f"The band for the rates goes from {text_of(low)} to {text_of(high)}; it has to go upwards.")
    for rate in (low, high):
        outcomes.between(rate, "A rate of the band")
    return low, high


def band_of(rates: tuple[Fraction, Fraction] | None, outcomes: Outcomes) -> Band | None:
    """The band on the scale from 0 to 1, larger being better."""
    if rates is None:
        return None
    ends = sorted(float(outcomes.between(rate, "A rate of the band")) for rate in rates)
    return Band(ends[0], ends[1])


def plan_ending(
    arms: int,
    zone: float,
    delta: float,
    law: Law,
    outcomes: Outcomes,
    rates: tuple[Fraction, Fraction] | None,
    most: int | None,
) -> Ending:
    """The hard end with the fewest people on average; a band for the rates is used, and assumed, only if it helps."""
    smallest = fewest_in_stage(arms, law.group)
    band = band_of(rates, outcomes)
    if band is not None and _needless(arms, zone, delta, law, band):
        rates = band = None
    found = plan_ladder(arms, zone, delta, law, band, most, smallest)
    return Ending(found.stages, tuple(Fraction(line) for line in found.lines), Fraction(found.pivot), rates)


def _needless(arms: int, zone: float, delta: float, law: Law, band: Band) -> bool:
    """Whether a trial with no assumption about the rates is no larger than one with the band."""
    setting_of(arms, zone, law, band)  # refuses what is no band
    try:
        within = fewest(arms, zone, delta, law, band)
    except InputError:
        return True  # more people than are computed person by person: where noise dominates, a band does not help
    return wrong(Ladder((within,), (0.0,), 0.5), arms, zone, law) <= delta / (arms - 1)


def sound(ending: Ending, arms: int, zone: float, delta: float, law: Law, outcomes: Outcomes) -> bool:
    """Whether these stages and lines keep the promise: computed anew, from the design alone."""
    chance = wrong(ending.ladder(), arms, zone, law, band_of(ending.rates, outcomes))
    return chance <= delta / (arms - 1)
