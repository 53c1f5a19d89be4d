"""What a trial meets in life, as options of a scenario: how people come in, what goes missing, what changes over time.

None of it is known to the algorithm. What is done about it (follow-up, imputed values, the largest number of
participants) belongs to the design.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bestarm.checks import Requirement, one_of, positive
from bestarm.durations import duration, in_largest_unit
from bestarm.errors import InputError
from bestarm.simulation.clock import Clock
from bestarm.simulation.people import TRENDS

DAY: Final = 86400
ENROL: Final = positive("The enrolment rate", "the number of people a day")
MISSING: Final = Requirement(
    "The share of missing outcomes", "it has to be at least 0 and below 1", lambda x: bool(0 <= x < 1)
)
SIZE: Final = Requirement("The size of the trend", "it has to lie between -1 and 1", lambda x: bool(-1 <= x <= 1))


@dataclass(frozen=True)
class Life:
    """How people come in, what goes missing, what changes. The default: at once, nothing, nothing."""

    enrol: float | None = None
    """People a day; None if nobody looks at a calendar."""
    arrivals: str = "constant"
    """"constant": evenly spaced; "poisson": by chance."""
    ramp: int | None = None
    """Seconds in which enrolment grows evenly to its rate."""
    missing: tuple[float, ...] = ()
    """For each arm the share of outcomes that never come; none if empty."""
    trend: str | None = None
    """"linear", "step", "bump" or "season": what happens to all arms' means alike."""
    size: float = 0.0
    """The trend's size, on the scale from 0 to 1."""
    recorded: tuple[tuple[float, ...], ...] = ()
    """In place of a trend: every arm's mean in each of several equal parts of what was recorded, part by arm."""
    recorded_people: int = 0
    """How many people were recorded; after so many the last part goes on."""

    @property
    def changes(self) -> bool:
        """Whether means change over time."""
        return self.trend is not None or bool(self.recorded)

    @classmethod
    def of(
        cls,
        arms: int,
        *,
        enrol: float | None = None,
        arrivals: str = "constant",
        ramp: str | int | None = None,
        missing: float | Sequence[float] | None = None,
        trend: str | None = None,
    ) -> Life:
        """From what people write: one share of missing outcomes or one for each arm, a trend as in linear:0.1."""
        one_of("The arrivals", arrivals, ("constant", "poisson"))
        if enrol is None and (ramp is not None or arrivals == "poisson"):
            raise InputError("How people come in needs the enrolment rate, --enrol: how many a day.")
        if missing is None:
            shares: tuple[float, ...] = ()
        else:
            each = [missing] * arms if isinstance(missing, int | float) else list(missing)
            if len(each) not in (1, arms):
                raise InputError(f"{len(each)} shares of missing outcomes for {arms} arms; give one, or one an arm.")
            shares = tuple(MISSING.plainly(float(share)) for share in (each * arms if len(each) == 1 else each))
        kind, size = (None, 0.0) if trend is None else _trend(trend)
        return cls(
            None if enrol is None else ENROL.plainly(enrol),
            arrivals,
            None if ramp is None else duration(ramp, "The ramp"),
            shares if any(shares) else (),
            kind,
            size,
        )

    @property
    def plain(self) -> bool:
        """Whether none of this has to be reckoned with."""
        return self == Life()

    def clock(self, follow_up: int | None) -> Clock:
        """The clock of a design with this follow-up, in seconds."""
        if self.enrol is None:
            return Clock()
        return Clock(self.enrol, (self.ramp or 0) / DAY, self.arrivals == "poisson", (follow_up or 0) / DAY)

    def describe(self) -> dict[str, Any]:
        """Whatever is not as by default, as plain values."""
        return {name: value for name, value in vars(self).items() if value != getattr(Life(), name)}

    def in_words(self) -> list[str]:
        """Each part that is not as by default, in a few words."""
        said = []
        if self.enrol is not None:
            chance = ", by chance" if self.arrivals == "poisson" else ""
            ramp = f", growing over {in_largest_unit(self.ramp)}" if self.ramp else ""
            said.append(f"{self.enrol:g} people a day{chance}{ramp}")
        if self.missing:
            shares = sorted(set(self.missing))
            said.append(" to ".join(f"{100 * share:g} %" for share in {shares[0], shares[-1]}) + " of outcomes missing")
        if self.recorded:
            said.append("in the order in which outcomes were recorded")
        if self.trend is not None:
            said.append(f"a trend of all arms ({self.trend}, {self.size:+g})")
        return said


def _trend(text: str) -> tuple[str, float]:
    kind, colon, size = str(text).partition(":")
    try:
        number = float(size)
    except ValueError:
        number = math.nan
    if not colon or math.isnan(number) or kind not in TRENDS:
        raise InputError(
            f"The trend is {text!r}; it takes a kind and a size, such as linear:0.1, and the kinds are "
            f"{', '.join(TRENDS)}."
        )
    return kind, SIZE.plainly(number)
