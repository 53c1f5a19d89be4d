"""The command `bestarm`: a thin skin over the library.

One module per group of commands, each with `register(app)`. Numerical libraries are imported inside the commands, so
that help and completion answer at once.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, cast

import typer

from bestarm import __version__
from bestarm.cli import audit, demo, plan, qualify, replay, reproduce, serve, simulate, theory, trial
from bestarm.cli.help import HELP, arrange, quiet
from bestarm.errors import InputError, OperationError

# The ancestor of all complaints about the command line; which module it lives in depends on typer's version.
_UsageError = cast(type[Exception], typer.BadParameter.__bases__[0])

INTERRUPTED = 130

app = typer.Typer(
    name="bestarm",
    help="Find the best of several options with a proven error rate and proven differential privacy.",
    # A pretty traceback prints local variables, and one of them may be somebody's outcome.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": list(HELP)},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bestarm {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the command itself; `--version` has done its work by the time this runs."""


for _group in (theory, plan, simulate, replay, reproduce, trial, audit, qualify, demo, serve):
    _group.register(app)
arrange(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0 done, 1 could not be done, 2 bad input, 130 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    write_in_any_encoding()
    find_own_algorithms()
    try:
        status = quiet(typer.main.get_command(app)).main(
            given or ["--help"], prog_name="bestarm", standalone_mode=False
        )
    except InputError as error:
        return _complain(str(error), 2)
    except OperationError as error:
        return _complain(str(error), 1)
    except OSError as error:
        return _complain(f"{error.strerror or error}: {error.filename}." if error.filename else f"{error}.", 1)
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except _UsageError as error:
        return _complain(_usage_sentence(error), 2)
    if status == INTERRUPTED:
        return _complain("Interrupted; nothing was left half-written.", INTERRUPTED)
    return status if isinstance(status, int) else 0


def write_in_any_encoding() -> None:
    """Let a console that lacks a character (cp1252 has no ε) show a substitute for it, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace" if stream is sys.stderr else "replace")


def find_own_algorithms() -> None:
    """Let `module:name` be a module in the current folder: looked for last, so that no file there hides a library."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def _usage_sentence(error: Any) -> str:
    """What is wrong with the command line, and where it is written how it should be."""
    command = error.ctx.command_path if error.ctx else "bestarm"
    return f"{error.format_message().rstrip('.')}; see {command} --help."


def _complain(sentence: str, status: int) -> int:
    """One line on stderr, whatever the message's own line breaks."""
    print(f"bestarm: {' '.join(sentence.split())}", file=sys.stderr)
    return status
