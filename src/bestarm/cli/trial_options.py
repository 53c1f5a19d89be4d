"""What the commands of `bestarm trial` share: their options, how a trial is found, how a short answer is said."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from bestarm.cli.output import emit_json, say
from bestarm.comparison import NONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bestarm.trial.answers import Verdict
    from bestarm.trial.trial import Trial

Place: TypeAlias = Annotated[
    str, typer.Argument(metavar="STORE", help="Where the trials live: a file, or a URL postgresql://...")
]
Name: TypeAlias = Annotated[str, typer.Option("--name", metavar="N", help="The trial's name.")]
Actor: TypeAlias = Annotated[str, typer.Option("--actor", metavar="WHO", help="Who does this; kept in the log.")]
Reason: TypeAlias = Annotated[str, typer.Option("--reason", metavar="WHY", help="Why; kept in the log.")]
Held: TypeAlias = Annotated[str, typer.Option("--assignment", metavar="A", help="The id from the answer to ask.")]
HeldOr: TypeAlias = Annotated[
    str | None, typer.Option("--assignment", metavar="A", help="The id from the answer to ask; or give --subject.")
]
Coded: TypeAlias = Annotated[
    str | None, typer.Option("--subject", metavar="S", help="The participant's code, instead of --assignment.")
]
Outcome: TypeAlias = Annotated[str, typer.Option("--outcome", metavar="X", help="The outcome, within its bounds.")]
Folder: TypeAlias = Annotated[str, typer.Option("--out", metavar="DIR", help="The folder to write to.")]

STAFF = "staff"


@contextmanager
def trial_of(store: str, name: str) -> Iterator[Trial]:
    """The trial while the block runs."""
    from bestarm.trial.trial import Trial

    with Trial.open(store, name=name) as trial:
        yield trial


def say_answer(answer: str, said: str, as_json: bool) -> None:
    """What became of a request, in a word or as JSON."""
    if as_json:
        emit_json({"status": answer})
    else:
        say(f"{said[0].upper()}{said[1:]}.")


def verdict_said(found: Verdict) -> list[str]:
    """How a trial ended, in sentences."""
    said = [f"Recommended: {found.arm}" if found.arm is not None else "Ended without a recommendation.", found.reason]
    if found.arm == NONE and found.by == "evidence":
        said = [found.reason]
    return [*said, f"Mind: {found.caveat}."] if found.caveat else said
