"""`bestarm qualify`: is this installation what it says it is?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bestarm.cli.options import Json
from bestarm.cli.output import emit_json, progress_bar, say, show_table, tell


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("qualify")(qualify)


def qualify(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write the record here, as HTML and JSON.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check this installation and keep a record: versions, samplers, bets, reference numbers, replayed trials."""
    from bestarm.qualification import qualify as library
    from bestarm.qualification import write_record

    tell("Some minutes, most of them compiling.")
    with progress_bar("Checking") as progress:
        record = library(progress)
    if out is not None:
        paths = write_record(record, out)
        tell(f"Record written to {paths['html']} and {paths['json']}.")
    if as_json:
        emit_json(record.to_json())
    else:
        say(f"bestarm {record.version}, Python {record.python}, {record.platform}; {record.made_at}", "")
        rows = [(one.name, one.expected, one.found, "pass" if one.passed else "FAIL") for one in record.checks]
        show_table("Installation qualification", ("check", "expected", "found", ""), rows, words=4)
    if not record.passed:
        raise typer.Exit(1)
