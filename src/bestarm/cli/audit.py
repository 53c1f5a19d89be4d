"""`bestarm audit`: does the promise of privacy hold up against somebody who tries to refute it?"""

from __future__ import annotations

from typing import Annotated

import typer

from bestarm.cli.options import Json
from bestarm.cli.output import emit_json, progress_bar, say


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("audit")(audit)


def audit(
    algorithm: Annotated[
        str, typer.Option("--algorithm", metavar="A", help="Which one; `bestarm algorithms` lists them.")
    ] = "evidence",
    epsilon: Annotated[str, typer.Option("--epsilon", metavar="E", help="The privacy budget to test.")] = "1",
    runs: Annotated[int, typer.Option("--runs", metavar="R", help="Releases drawn on each of two tables.")] = 20_000,
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", help="Chooses tables and coins; the noise is never seeded.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Try to refute the promise of privacy, by replay on neighbouring tables and by statistics of many runs."""
    from bestarm.trial.audit import audit as run_audit

    with progress_bar("Auditing") as progress:
        found = run_audit(algorithm, epsilon, runs, seed, progress=progress)
    if as_json:
        emit_json(found.to_json())
    else:
        claimed = "nothing" if found.claimed_epsilon is None else f"epsilon = {found.claimed_epsilon:g}"
        say(
            f"{found.algorithm}: promised is {claimed} ({found.privacy}).",
            f"Replay: {found.replays} trials rerun on a neighbouring table with the same releases, "
            f"{found.replay_violations} violations.{' ' + found.first_violation if found.first_violation else ''}",
            f"Black box: epsilon is at least {found.lower_bound_epsilon:.4g} "
            f"(from single releases {found.lower_bound_release:.4g}, from whole trials {found.lower_bound_trial:.4g}) "
            f"at {100 * found.confidence:g} % confidence, {found.runs:,} runs.",
            "Passed: the promise was not refuted." if found.passed else "FAILED: the promise does not hold.",
        )
    if not found.passed:
        raise typer.Exit(1)
