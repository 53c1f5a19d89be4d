"""What `bestarm plan` and `bestarm simulate` are both asked: the design, the life it meets, and what outcomes are.

The options are the fields of `SharedOptions`, declared once. A command that takes `shared: SharedOptions` and is
decorated with `with_shared` has them all, in the place where `shared` stands.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

import typer

from bestarm.cli.options import (
    Arrivals,
    Control,
    Delta,
    DeltaNone,
    Deviation,
    Difference,
    Enrol,
    FollowUp,
    HardEnd,
    High,
    LawName,
    Low,
    LowerIsBetter,
    MaxParticipants,
    Missing,
    OutcomeKind,
    Ramp,
    Rates,
    Seed,
    Trend,
    Values,
    Withdrawal,
    parse_missing,
    parse_rates,
    parse_sd,
    whole_option,
)

NAME: Final = "shared"
"""The parameter that stands for all of them."""


@dataclass(frozen=True)
class SharedOptions:
    """The shared options as they were typed."""

    difference: Difference = None
    control: Control = None
    delta_none: DeltaNone = None
    delta: Delta = 0.01
    algorithm: Annotated[
        str, typer.Option("--algorithm", metavar="A", help="Of `bestarm algorithms`, or module:name of your own.")
    ] = "evidence"
    max_participants: MaxParticipants = None
    hard_end: HardEnd = False
    rates: Rates = None
    enrol: Enrol = None
    arrivals: Arrivals = "constant"
    ramp: Ramp = None
    follow_up: FollowUp = None
    missing: Missing = None
    withdrawal: Withdrawal = None
    trend: Trend = None
    outcomes: OutcomeKind = "binary"
    low: Low = "0"
    high: High = "1"
    lower_is_better: LowerIsBetter = False
    values: Values = None
    law: LawName = None
    sd: Deviation = None
    seed: Seed = 0
    jobs: Annotated[int, whole_option("--jobs", metavar="J", help="Processes; -1 for all cores.")] = 1

    def design(self) -> dict[str, Any]:
        """The promise, when it ends, and the life it meets, as the library takes them."""
        return {
            "delta": self.delta,
            "difference": self.difference,
            "control": self.control,
            "delta_none": self.delta_none,
            "max_participants": self.max_participants,
            "hard_end": self.hard_end,
            "rates": parse_rates(self.rates),
            "enrol": self.enrol,
            "arrivals": self.arrivals,
            "ramp": self.ramp,
            "follow_up": self.follow_up,
            "missing": parse_missing(self.missing),
            "withdrawal": self.withdrawal,
            "trend": self.trend,
        }

    def scale(self, measured: list[list[float]] | None) -> dict[str, Any]:
        """What outcomes are and how they come about; those that were measured are on a scale."""
        return {
            "outcomes": "unit" if measured is not None else self.outcomes,
            "low": self.low,
            "high": self.high,
            "lower_is_better": self.lower_is_better,
            "law": self.law,
            "sd": parse_sd(self.sd),
            "values": measured,
        }

    def measured(self) -> tuple[list[str] | None, list[list[float]] | None]:
        """The arms' labels, if the file has them, and their outcomes; nothing without a file."""
        from bestarm.planning.laws import read_values

        return (None, None) if self.values is None else read_values(Path(self.values))


def with_shared(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every field of `SharedOptions` as an option of its own."""
    hints, types = get_type_hints(command, include_extras=True), get_type_hints(SharedOptions, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(f.name, keyword, default=f.default, annotation=types[f.name]) for f in fields(SharedOptions)
    ]
    parameters: list[inspect.Parameter] = []
    for one in inspect.signature(command).parameters.values():
        here = options if one.name == NAME else [one.replace(annotation=hints[one.name], kind=keyword)]
        parameters += here

    @functools.wraps(command)
    def run(**given: Any) -> None:
        ours = {field.name: given.pop(field.name) for field in fields(SharedOptions)}
        command(**given, **{NAME: SharedOptions(**ours)})

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
