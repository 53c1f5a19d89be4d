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
    distributed: Annotated[
        bool, typer.Option("--distributed", help="Another one: two servers that each hold half of every outcome.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Plan, run, crash, recover, stop and report a five-arm dose-finding trial with simulated patients."""
    if distributed:
        _two_servers(out, seed, as_json)
        return
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


def _two_servers(out: str, seed: int, as_json: bool) -> None:
    from bestarm.demo_distributed import run_two_servers

    found = run_two_servers(out, tell, seed)
    if as_json:
        emit_json(found.to_json())
        return
    say("", f"Recommended: {found.recommended}. {found.reason}", "")
    show_table(
        "What each party saw of one participant",
        ("", "number"),
        [
            ("the outcome, which never left the participant's machine", str(found.outcome)),
            ("the first server's half", ", ".join(str(number) for number in found.halves[0])),
            ("the second server's half", ", ".join(str(number) for number in found.halves[1])),
        ],
    )
    say(
        f"Privacy ledger: promised and spent: {found.promised}.",
        found.why,
        "",
        f"Stores: {found.stores[0]} (the trial, and one half) and {found.stores[1]} (the other half).",
        f"The log verifies: {found.verified}. Outcomes recorded in either store: {found.outcomes_stored}.",
    )
