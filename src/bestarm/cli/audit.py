"""`bestarm audit`: does the promise of privacy hold up against somebody who tries to refute it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bestarm.cli.options import (
    Colluders,
    Control,
    DeltaNone,
    Difference,
    Group,
    HardEnd,
    High,
    Json,
    Low,
    LowerIsBetter,
    PrivacyDelta,
    PrivacyModel,
    Rates,
    parse_rates,
    whole_option,
)
from bestarm.cli.output import emit_json, progress_bar, say

if TYPE_CHECKING:
    from bestarm.trial.audit import Audit


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("audit")(audit)


def audit(
    algorithm: Annotated[
        str, typer.Option("--algorithm", metavar="A", help="Which one; `bestarm algorithms` lists them.")
    ] = "evidence",
    epsilon: Annotated[str, typer.Option("--epsilon", metavar="E", help="The privacy budget to test.")] = "1",
    privacy: PrivacyModel = None,
    rho: Annotated[str, typer.Option("--rho", metavar="R", help="The budget of the model zcdp.")] = "0.5",
    privacy_delta: PrivacyDelta = None,
    group: Group = None,
    colluders: Colluders = None,
    outcomes: Annotated[str, typer.Option("--outcomes", metavar="KIND", help="unit (a number) or binary.")] = "unit",
    low: Low = "0",
    high: High = "1",
    lower_is_better: LowerIsBetter = False,
    follow_up: Annotated[
        str | None, typer.Option("--follow-up", metavar="DURATION", help="When an outcome is due: 30d, 12h, 90m.")
    ] = None,
    withdrawal: Annotated[
        str | None, typer.Option("--withdrawal", metavar="RULE", help="impute:X (default: worst), against or replace.")
    ] = None,
    contributions: Annotated[
        int, whole_option("--contributions", metavar="k", help="Assignments one subject may hold.")
    ] = 1,
    difference: Difference = None,
    control: Control = None,
    delta_none: DeltaNone = None,
    hard_end: HardEnd = False,
    rates: Rates = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="P", help="The mean that the fixed design is planned with.")
    ] = None,
    noise: Annotated[
        str | None, typer.Option("--noise", metavar="SOURCE", help="system or opendp; the one a trial takes.")
    ] = None,
    runs: Annotated[int, whole_option("--runs", metavar="R", help="Releases drawn from the mechanism.")] = 20_000,
    seed: Annotated[
        int, whole_option("--seed", metavar="S", help="Chooses tables and coins; the noise is never seeded.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Try to refute a design's promise of privacy, by replays of whole trials and by statistics of the noise."""
    from bestarm.trial.audit import audit as run_audit
    from bestarm.trial.audit import source_of

    source = source_of(noise)
    with progress_bar("Auditing") as progress:
        found = run_audit(
            algorithm,
            epsilon,
            runs,
            seed,
            source,
            progress,
            privacy=privacy,
            rho=rho,
            privacy_delta=privacy_delta,
            group=group,
            colluders=colluders,
            outcomes=outcomes,
            low=low,
            high=high,
            lower_is_better=lower_is_better,
            follow_up=follow_up,
            withdrawal=withdrawal,
            contributions=contributions,
            difference=difference,
            control=control,
            delta_none=delta_none,
            hard_end=hard_end,
            rates=parse_rates(rates),
            base=base,
        )
    if as_json:
        emit_json(found.to_json())
    else:
        say(*in_words(found))
    if not found.passed:
        raise typer.Exit(1)


def in_words(found: Audit) -> list[str]:
    """What an audit found, for people to read."""
    claimed, measure, bound = "nothing", "epsilon", found.lower_bound_epsilon
    if found.claimed_epsilon is not None:
        claimed = f"epsilon = {found.claimed_epsilon:g}"
    elif found.claimed_rho is not None:
        claimed, measure, bound = f"rho = {found.claimed_rho:g}", "rho", found.lower_bound_rho
    said = [
        f"{found.algorithm}: promised is {claimed} ({found.privacy}).",
        f"Replay: {found.replays} trials with {found.replayed_people} people and {found.replayed_releases} releases, "
        f"run again on other tables with the same releases: {found.replay_violations} violations.",
        *(f"  {violation}" for violation in found.violations),
    ]
    said += [f"{look.what}: {look.says}" for look in found.noise]
    if bound is not None:
        sure = f"at {100 * found.confidence:g} % confidence, from {found.runs:,} releases"
        said.append(f"{measure} is at least {bound:.4g}, {sure}.")
    said += ["Not looked at:", *(f"  {sentence}" for sentence in found.not_looked_at)]
    said.append("Passed: the promise was not refuted." if found.passed else "FAILED: the promise does not hold.")
    return said
