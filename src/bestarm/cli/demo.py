"""`bestarm demo`: a trial from plan to report on screen, with delays, dropouts and a crash it recovers from."""

from __future__ import annotations

from typing import Annotated

import typer

from bestarm.cli.options import Json, whole_option
from bestarm.cli.output import count, emit_json, say, show_table, tell
from bestarm.cli.simulate import say_if_compiling


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("demo")(demo)


def demo(
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Where the store, report and figure go.")] = "demo",
    seed: Annotated[int, whole_option("--seed", metavar="S", help="Chooses the simulated patients.")] = 7,
    as_json: Json = False,
) -> None:
    """Plan, run, crash, recover, stop and report a five-arm dose-finding trial with simulated patients."""
    from bestarm.demo import DELTA, DOSES, EPSILON, run_demo

    say_if_compiling("evidence", "adap-tt")
    found = run_demo(out, tell, seed)
    if as_json:
        emit_json(found.to_json())
        return
    say("", f"Recommended: {found.recommended}. {found.reason}", "")
    planned = found.planned
    show_table(
        f"Patients to find the best of {len(DOSES)} doses (epsilon = {EPSILON}, delta = {DELTA})",
        ("", "patients"),
        [
            ("lower bound for any private method, on average", count(planned.lower_bound)),
            ("this trial, with those enrolled while outcomes were awaited", count(found.participants)),
            ("planned, on average", count(planned.expected)),
            ("the paper's algorithm (AdaP-TT), on average", count(planned.paper)),
        ],
    )
    say(
        f"Privacy ledger: {found.releases} releases; for any one patient, promised and spent: "
        f"{found.ledger['promised']}.",
        found.ledger["why"],
        *(f"Assumed: {said}" for said in found.ledger["assumptions"]),
        "",
        f"Report: {found.report}",
        f"Figure: {found.figure}",
        f"Store:  {found.store} (try: bestarm trial verify {found.store} --name 'dose finding')",
    )
