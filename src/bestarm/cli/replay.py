"""`bestarm replay`: how many of the people in a finished experiment would have been needed?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bestarm.cli.options import (
    Delta,
    Difference,
    Epsilon,
    High,
    Json,
    Low,
    LowerIsBetter,
    Seed,
    Withdrawal,
    whole_option,
)
from bestarm.cli.output import caution, emit_json, progress_bar, say, show_table, tell
from bestarm.cli.simulate import say_if_compiling
from bestarm.errors import InputError


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("replay")(replay)


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="One row a person, and a line of column names.")],
    epsilon: Epsilon,
    arm: Annotated[str, typer.Option("--arm", metavar="COLUMN", help="The column with the arm.")] = "arm",
    outcome: Annotated[
        str, typer.Option("--outcome", metavar="COLUMN", help="The column with the outcome; empty if it is missing.")
    ] = "outcome",
    time: Annotated[
        str | None, typer.Option("--time", metavar="COLUMN", help="Replay in the order of this column.")
    ] = None,
    count: Annotated[
        str | None, typer.Option("--count", metavar="COLUMN", help="How many people a row stands for.")
    ] = None,
    delta: Delta = 0.05,
    difference: Difference = None,
    low: Low = "0",
    high: High = "1",
    lower_is_better: LowerIsBetter = False,
    withdrawal: Withdrawal = None,
    algorithm: Annotated[
        str, typer.Option("--algorithm", metavar="A", help="Of `bestarm algorithms`, or module:name of your own.")
    ] = "evidence",
    runs: Annotated[int, whole_option("--runs", metavar="R", help="How many replays.")] = 500,
    seed: Seed = 0,
    jobs: Annotated[int, whole_option("--jobs", metavar="J", help="Processes; -1 for all cores.")] = 1,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="F.png", help="Draw how many people replays took.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Replay a finished experiment with this design: how many of its people would have been needed, beside the fixed
    design with the same promise."""
    if figure is not None and figure.suffix.lower() != ".png":
        raise InputError(f"The figure {figure} must be a PNG file, with a name that ends in .png.")
    from bestarm.design import resolve
    from bestarm.planning import replay as library

    resolve(algorithm)  # imports a module of one's own, which nothing further down would
    say_if_compiling(algorithm, timed=time is not None)
    with progress_bar("Replaying") as progress:
        found = library(
            file,
            arm=arm,
            outcome=outcome,
            time=time,
            count=count,
            epsilon=epsilon,
            delta=delta,
            difference=difference,
            low=low,
            high=high,
            lower_is_better=lower_is_better,
            algorithm=algorithm,
            withdrawal=withdrawal,
            runs=runs,
            seed=seed,
            jobs=jobs,
            progress=progress,
        )
    caution(list(found.warnings))
    if figure is not None:
        from bestarm.files import replacing

        with replacing(figure) as temporary:
            found.plot().savefig(temporary, dpi=160, format="png")
        tell(f"Figure written to {figure}.")
    if as_json:
        emit_json(found.to_dict())
        return
    arms = "; ".join(f"{label} {found.means[label]:.4g} of {people:,}" for label, people in found.counts.items())
    zone = f", difference that matters {found.difference:g}" if found.difference else ""
    say(f"{file.name}: {arms}. Replayed with {found.algorithm}, ε = {found.epsilon:g}, δ = {found.delta:g}{zone}.", "")
    show_table("Had it been run with this design", ("", ""), found.rows())
