"""Options that several commands share, so that they mean and say the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from bestarm.errors import InputError
from bestarm.exact import is_plain


def _parsed(kind: type, text: object) -> Any:
    # Python would also take 1_0 and the digits of other scripts, which are more likely slips.
    try:
        if isinstance(text, str) and not is_plain(text):
            raise ValueError
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise typer.BadParameter(f"{text!r} is not {what} in the digits 0 to 9.") from None


def integer(text: object) -> Any:
    """A whole number as it was typed; the name is what some versions of the command-line library show."""
    return _parsed(int, text)


def number(text: object) -> Any:
    """A number as it was typed."""
    return _parsed(float, text)


def whole_option(*names: str, **settings: Any) -> Any:
    """An option that takes a whole number."""
    return typer.Option(*names, parser=integer, **settings)


def number_option(*names: str, **settings: Any) -> Any:
    """An option that takes a number."""
    return typer.Option(*names, parser=number, **settings)


Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]
Means: TypeAlias = Annotated[
    str, typer.Option("--means", metavar="M", help="The arms' mean outcomes, separated by commas: 0.95,0.9,0.5.")
]
Epsilon: TypeAlias = Annotated[
    float, number_option("--epsilon", metavar="E", help="Privacy budget ε > 0; smaller means more privacy.")
]
Delta: TypeAlias = Annotated[
    float, number_option("--delta", metavar="D", help="Risk δ of recommending a wrong arm, between 0 and 1.")
]
Difference: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--difference",
        "--indifference",
        metavar="G",
        help="The smallest difference that matters: arms within G of the best are good enough.",
    ),
]
Control: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--control",
        metavar="NAME",
        help="Compare the other arms with this one: the answer is an arm that is better, or none if no arm is better "
        "by G (G negative: not worse by so much).",
    ),
]
DeltaNone: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--delta-none",
        metavar="D",
        help="With --control: risk of none although an arm is better by G; by default δ.",
    ),
]
Base: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--base",
        metavar="P",
        help="The mean of all arms but the best that the algorithm fixed is planned with; by default the second best.",
    ),
]
MaxParticipants: TypeAlias = Annotated[
    int | None,
    whole_option("--max-participants", "--max-samples", metavar="N", help="End undecided at this many people."),
]
HardEnd: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--hard-end",
        help="Always end with a recommendation, by --max-participants or as many as it takes; needs --difference.",
    ),
]
Rates: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--rates",
        metavar="LOW,HIGH",
        help="With --hard-end: no arm's mean ever leaves this band, an assumption that the promise then rests on.",
    ),
]
Enrol: TypeAlias = Annotated[
    float | None, number_option("--enrol", metavar="RATE", help="People a day; answers are then in days too.")
]
Arrivals: TypeAlias = Annotated[
    str,
    typer.Option("--arrivals", metavar="HOW", help="With --enrol: constant (evenly spaced) or poisson (by chance)."),
]
Ramp: TypeAlias = Annotated[
    str | None,
    typer.Option("--ramp", metavar="TIME", help="With --enrol: enrolment grows evenly to its rate over this time."),
]
FollowUp: TypeAlias = Annotated[
    str | None,
    typer.Option("--follow-up", metavar="TIME", help="With --enrol: an outcome is known after this time, as in 28d."),
]
Missing: TypeAlias = Annotated[
    str | None,
    typer.Option("--missing", metavar="P", help="Share of outcomes that never come: one number, or one an arm."),
]
Withdrawal: TypeAlias = Annotated[
    str | None,
    typer.Option("--withdrawal", metavar="RULE", help="For a missing outcome: impute:X (default: worst) or against."),
]
Trend: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--trend",
        metavar="KIND:SIZE",
        help="Added to every arm's mean over the trial's length: linear, step, bump or season, as in linear:0.1.",
    ),
]
OutcomeKind: TypeAlias = Annotated[
    str, typer.Option("--outcomes", metavar="KIND", help="binary (yes or no) or unit (anything between two bounds).")
]
Low: TypeAlias = Annotated[str, typer.Option("--low", metavar="X", help="With unit outcomes: the lower bound.")]
High: TypeAlias = Annotated[str, typer.Option("--high", metavar="X", help="With unit outcomes: the upper bound.")]
LowerIsBetter: TypeAlias = Annotated[
    bool, typer.Option("--lower-is-better", help="Lower outcomes are the better ones.")
]
Values: TypeAlias = Annotated[
    Path | None,
    typer.Option("--values", metavar="FILE.csv", help="Measured outcomes: columns arm and outcome, or outcome alone."),
]
LawName: TypeAlias = Annotated[
    str | None, typer.Option("--law", metavar="LAW", help="With unit outcomes: beta or normal, with --sd.")
]
Deviation: TypeAlias = Annotated[
    str | None, typer.Option("--sd", metavar="SD", help="With --law: the standard deviation, one or one an arm.")
]
Seed: TypeAlias = Annotated[int, whole_option("--seed", metavar="S", help="The same seed gives the same answer.")]

PrivacyModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--privacy", metavar="P", help="pure, none, local, zcdp or shuffle; the first that the algorithm offers."
    ),
]
PrivacyDelta: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--privacy-delta", metavar="D", help="With shuffle: the chance that the promise fails, such as 0.000001."
    ),
]
Group: TypeAlias = Annotated[
    int | None,
    whole_option("--group", metavar="N", help="With shuffle: the fewest people whose outcomes are summed (300)."),
]
Colluders: TypeAlias = Annotated[
    int | None,
    whole_option("--colluders", metavar="C", help="With shuffle: how many of a group may tell others their answers."),
]


def parse_means(text: str) -> list[float]:
    """The numbers of `--means 0.95,0.9,0.5`; their range is the library's to check."""
    return _numbers("--means", text, "numbers between 0 and 1 separated by commas, as in --means 0.95,0.9,0.5")


def parse_rates(text: str | None) -> list[str] | None:
    """The two numbers of `--rates 0.03,0.05`, as written; the design keeps them exactly."""
    return None if text is None else [part.strip() for part in text.split(",")]


def parse_missing(text: str | None) -> list[float] | None:
    """The shares of `--missing 0.1` or `--missing 0.1,0.2`."""
    return None if text is None else _numbers("--missing", text, "a share such as 0.1, or one for each arm: 0.1,0.2,0")


def parse_sd(text: str | None) -> list[float] | None:
    """The deviations of `--sd 12` or `--sd 12,10`."""
    return None if text is None else _numbers("--sd", text, "a standard deviation, or one for each arm: 12,10,11")


def _numbers(option: str, text: str, allowed: str) -> list[float]:
    numbers = []
    for part in (part.strip() for part in text.split(",")):
        try:
            if not is_plain(part):
                raise ValueError
            numbers.append(float(part))
        except ValueError:
            raise InputError(f"{option} holds {part!r}, which is not a number; give {allowed}.") from None
    return numbers
