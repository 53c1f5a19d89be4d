"""`bestarm reproduce`: the paper's experiments, with a report that answers its claims one by one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bestarm.cli.options import Json, Seed, whole_option
from bestarm.cli.output import emit_json, progress_bar, say
from bestarm.cli.simulate import say_if_compiling
from bestarm.errors import InputError

if TYPE_CHECKING:
    from bestarm.simulation.sweep import Cell


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("reproduce")(reproduce)


def reproduce(
    figure: Annotated[
        str,
        typer.Option(
            "--figure",
            metavar="1|2|followup",
            help="1: the paper's first two instances. 2: all six. followup: the authors' later algorithms.",
        ),
    ] = "2",
    runs: Annotated[int, whole_option("--runs", metavar="R", help="Runs a cell.")] = 100,
    seed: Seed = 1,
    quick: Annotated[bool, typer.Option("--quick", help="A minute's worth: few runs, few budgets, a low cap.")] = False,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where results, figures and report go.")] = Path(
        "out/reproduction"
    ),
    jobs: Annotated[int, whole_option("--jobs", metavar="J", help="Processes; -1 for all cores.")] = -1,
    as_json: Json = False,
) -> None:
    """Run the paper's experiments and check its claims; interrupted or repeated, it goes on where it was."""
    from bestarm.reproduction import experiments, followup

    later = figure == "followup"
    if not later and figure not in {str(number) for number in experiments.FIGURES}:
        raise InputError(f"There is no figure {figure!r}; there are: 1, 2 and followup.")
    say_if_compiling(*({*followup.CENTRAL, *followup.LOCAL} if later else experiments.ALGORITHMS))
    with progress_bar("Running the experiments") as bar:

        def progress(done: int, total: int, cell: Cell) -> None:
            bar(done, total)

        if later:
            cells = followup.reproduce_followup(out, runs=runs, seed=seed, quick=quick, jobs=jobs, progress=progress)
            names = ["followup.md", "followup.png", "followup.parquet", "followup.csv"]
        else:
            cells = experiments.reproduce(
                out, figure=int(figure), runs=runs, seed=seed, quick=quick, jobs=jobs, progress=progress
            )
            figures = [f"figure{n}.png" for n in range(1, int(figure) + 1)]
            names = ["report.md", *figures, "results.parquet", "results.csv"]
    files = [str(out / name) for name in names]
    if as_json:
        emit_json(
            {
                "figure": figure if later else int(figure),
                "seed": seed,
                "files": files,
                "cells": [asdict(cell) for cell in cells],
            }
        )
    else:
        say(
            f"{len(cells)} cells measured. The report, claim by claim: {files[0]}",
            "Also written: " + ", ".join(files[1:]),
        )
