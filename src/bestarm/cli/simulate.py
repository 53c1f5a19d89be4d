"""`bestarm algorithms` and `bestarm simulate`: what there is, and how it does on a problem one knows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bestarm.cli.options import (
    Base,
    Colluders,
    Group,
    Json,
    PrivacyDelta,
    PrivacyModel,
    number_option,
    parse_means,
    whole_option,
)
from bestarm.cli.output import caution, count, emit_json, number, percent, progress_bar, say, show_table, tell
from bestarm.cli.shared import SharedOptions, with_shared
from bestarm.errors import InputError
from bestarm.exact import text_of

if TYPE_CHECKING:
    from bestarm.design import Design, Privacy
    from bestarm.simulation import Results, Scenario, Summary


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command("algorithms")(algorithms)
    app.command("simulate")(simulate)


def algorithms(as_json: Json = False) -> None:
    """Every algorithm by name: what it does, what it promises, where it comes from."""
    from bestarm.policy.catalogue import CATALOGUE

    rows = [
        {
            "name": one.name,
            "summary": one.summary,
            "privacy": list(one.privacy),
            "proven": one.proven,
            "source": one.source,
        }
        for one in CATALOGUE.values()
    ]
    if as_json:
        emit_json({"algorithms": rows})
        return
    for one in CATALOGUE.values():
        promise = "error rate proven" if one.proven else f"{one.caveat}"
        say(f"{one.name}", f"  {one.summary}.", f"  Privacy: {', '.join(one.privacy)}; {promise}. {one.source}.", "")


@with_shared
def simulate(
    *,
    means: Annotated[
        str | None, typer.Option("--means", metavar="M", help="The arms' mean outcomes, as in 0.95,0.9,0.5.")
    ] = None,
    epsilon: Annotated[
        float | None,
        number_option("--epsilon", metavar="E", help="Privacy budget ε > 0; algorithms without privacy ignore it."),
    ] = None,
    runs: Annotated[int, whole_option("--runs", metavar="R", help="How many simulated trials.")] = 1000,
    shared: SharedOptions,
    privacy: PrivacyModel = None,
    rho: Annotated[float | None, number_option("--rho", metavar="R", help="Budget of the model zcdp.")] = None,
    privacy_delta: PrivacyDelta = None,
    group: Group = None,
    colluders: Colluders = None,
    base: Base = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write one row a run: FILE.parquet or FILE.csv.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate many trials of one design and say how many people they took and how often they were wrong."""
    if out is not None and out.suffix not in (".parquet", ".csv"):
        raise InputError(f"A table cannot be written to {out.name}; its name must end in .parquet or .csv.")
    from bestarm.planning.laws import instance_of
    from bestarm.simulation import make_scenario, run_scenario

    _, measured = shared.measured()
    scale, instance = instance_of(None if means is None else parse_means(means), **shared.scale(measured))
    scenario = make_scenario(
        shared.algorithm,
        instance,
        outcomes=scale,
        epsilon=epsilon,
        privacy=privacy,
        rho=rho,
        privacy_delta=privacy_delta,
        group=group,
        colluders=colluders,
        base=base,
        **shared.design(),
    )
    caution(scenario.design.warnings())
    say_if_compiling(shared.algorithm, timed=scenario.timed)
    with progress_bar("Simulating") as progress:
        results = run_scenario(scenario, runs=runs, seed=shared.seed, jobs=shared.jobs, progress=progress)
    bound = scenario.lower_bound()
    if out is not None:
        results.save(out)
        tell(f"Every run is in {out}.")
    if as_json:
        emit_json({**asdict(results.summary()), "lower_bound_refined": bound, "caveat": scenario.algorithm.caveat})
    else:
        _show(scenario, results, bound)


def say_if_compiling(*names: str, timed: bool = False) -> None:
    """A cold first run takes a while: say why, on stderr."""
    from bestarm.design import resolve
    from bestarm.simulation.compiled import is_compiled

    cold = [name for name in names if not is_compiled(resolve(name), timed)]
    if cold:
        tell(f"Compiling {', '.join(cold)}: once on this machine, some seconds each.")


def promise_in_words(privacy: Privacy) -> str:
    """The promise of privacy, in a few words."""
    if privacy.budget is None:
        return "no privacy"
    symbol = {"epsilon": "ε", "rho": "ρ"}[str(privacy.measure)]
    if privacy.shuffling is not None:
        return f"shuffled {symbol} = {text_of(privacy.budget)}, its δ = {text_of(privacy.shuffling.delta)}"
    return f"{'local ' if privacy.model == 'local' else ''}{symbol} = {text_of(privacy.budget)}"


def _show(scenario: Scenario, results: Results, bound: float | None) -> None:
    summary = results.summary()
    design = scenario.design
    life = "".join(f", {part}" for part in scenario.life.in_words())
    say(
        f"{summary.runs:,} simulated trials of {summary.algorithm} with {len(design.arms)} arms, "
        f"{promise_in_words(design.privacy)}, risk δ = {text_of(design.delta)}{life}."
    )
    rows = [
        ("people, mean", count(summary.mean_samples)),
        ("people, standard deviation", number(summary.std_samples)),
        ("people, median", count(summary.median_samples)),
        ("people, 90 % of trials need at most", count(summary.p90_samples)),
        *_calendar(summary),
        *_ends(summary, design),
        (f"undecided at {results.max_samples:,} people", f"{summary.undecided:,}"),
        ("interim releases, mean", number(summary.mean_releases)),
        ("people whose outcome was not used, mean", number(summary.mean_outstanding)),
    ]
    if bound is not None:
        rows.append(("no method needs fewer people than (mean)", count(bound)))
        rows.append(("mean as a multiple of that bound", f"{summary.mean_samples / bound:.2f}" if bound > 0 else "–"))
    show_table("What they took", ("", ""), rows, note=scenario.algorithm.caveat)


def _ends(summary: Summary, design: Design) -> list[tuple[str, str]]:
    asked = design.comparison
    if asked is None or summary.none is None:
        good = [("an arm good enough recommended", percent(summary.within_difference))] if design.difference else []
        return [("wrong recommendations", percent(summary.error_rate)), *good]
    decided = 1.0 - summary.undecided / summary.runs
    return [
        (asked.better("some arm"), percent(decided - summary.none)),
        (asked.none, percent(summary.none)),
        ("wrong answers", percent(summary.error_rate)),
    ]


def _calendar(summary: Summary) -> list[tuple[str, str]]:
    if summary.mean_days is None or summary.p90_days is None:
        return []
    return [
        ("days, mean", number(summary.mean_days)),
        ("days, 90 % of trials take at most", number(summary.p90_days)),
    ]
