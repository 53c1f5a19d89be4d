"""`bestarm plan`: how many people, and what does privacy cost?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bestarm.cli.options import Epsilon, Json, number_option, parse_means, whole_option
from bestarm.cli.output import caution, count, emit_json, number, progress_bar, say, show_table, tell
from bestarm.cli.shared import SharedOptions, with_shared
from bestarm.cli.simulate import say_if_compiling
from bestarm.errors import InputError

if TYPE_CHECKING:
    from bestarm.planning import GapCost, Plan, PrivacyCost


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("plan")(plan)


@with_shared
def plan(
    epsilon: Epsilon,
    shared: SharedOptions,
    means: Annotated[
        str | None, typer.Option("--means", metavar="M", help="Hoped-for mean outcomes, as in 0.45,0.35,0.3.")
    ] = None,
    arms: Annotated[int | None, whole_option("--arms", metavar="K", help="Number of arms, in place of means.")] = None,
    gap: Annotated[
        float | None,
        number_option("--gap", metavar="G", help="With --arms: the best arm's lead; by default the difference."),
    ] = None,
    base: Annotated[
        float | None,
        number_option(
            "--base", metavar="P", help="With --arms: the others' mean (if not given: such that means straddle 1/2)."
        ),
    ] = None,
    runs: Annotated[int, whole_option("--runs", metavar="R", help="Simulated trials for every number.")] = 200,
    participants: Annotated[
        int | None,
        whole_option(
            "--participants", metavar="N", help="Also ask what N people afford: privacy, gap, difference, a verdict."
        ),
    ] = None,
    scenarios: Annotated[
        bool, typer.Option("--scenarios", help="Also the operating characteristics: eight scenarios, one table.")
    ] = False,
    table: Annotated[
        Path | None,
        typer.Option("--table", metavar="FILE", help="With --scenarios: write the table as .md, .csv, .html or .png."),
    ] = None,
    protocol: Annotated[
        Path | None,
        typer.Option(
            "--protocol", metavar="FILE", help="Write a statistical analysis plan of the design: .md, .html or .docx."
        ),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="F.png", help="Draw the cost of privacy into this PNG file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Plan a trial. First: what is the smallest difference that matters (--difference)? The recommended arm is then
    within it of the best, except with probability δ. How many people and days, beside the fixed design with the same
    promise; what privacy costs; what N people afford; how the design does when things are not as hoped."""
    scenarios = scenarios or protocol is not None
    _check_files(figure, table, protocol, scenarios)
    hoped = parse_means(means) if means is not None else None
    from bestarm import planning
    from bestarm.design import resolve

    resolve(shared.algorithm)  # imports a module of one's own, which nothing further down would
    labels, measured = shared.measured()
    question = planning.Question.ask(
        hoped,
        epsilon=epsilon,
        arms=arms,
        gap=gap,
        base=base,
        algorithm=shared.algorithm,
        runs=runs,
        seed=shared.seed,
        participants=participants,
        labels=labels,
        scenarios=scenarios,
        **shared.design(),
        **shared.scale(measured),
    )
    caution(question.warnings())
    say_if_compiling(shared.algorithm, timed=shared.enrol is not None or shared.trend is not None)
    with progress_bar("Simulating trials") as progress:
        found = planning.answer(question, jobs=shared.jobs, progress=progress)
    if figure is not None:
        from bestarm.planning.figure import draw_plan

        draw_plan(found, figure)
        tell(f"Figure written to {figure}.")
    if table is not None and found.scenarios is not None:
        found.scenarios.save(table)
        tell(f"Operating characteristics written to {table}.")
    if protocol is not None:
        from bestarm.planning.protocol_files import write_protocol

        write_protocol(found, protocol)
        tell(f"Protocol written to {protocol}.")
    if as_json:
        emit_json(found.to_dict())
    else:
        _show(found)


def _check_files(figure: Path | None, table: Path | None, protocol: Path | None, scenarios: bool) -> None:
    """Refuse names that cannot be written before anything is simulated."""
    if protocol is not None:
        from bestarm.planning.protocol_files import check_name

        check_name(protocol)
    if figure is not None and figure.suffix.lower() != ".png":
        raise InputError(f"The figure {figure} must be a PNG file, with a name that ends in .png.")
    if table is not None and not scenarios:
        raise InputError("A table of operating characteristics needs --scenarios.")
    if table is not None and table.suffix not in (".md", ".csv", ".html", ".png"):
        raise InputError(f"The table {table} must have a name that ends in .md, .csv, .html or .png.")


def _show(found: Plan) -> None:
    from bestarm.planning.words import in_words

    first, *rest = in_words(found)
    say(first, "")
    _show_beside(found)
    for paragraph in rest:
        say(paragraph, "")
    show_table(
        "What privacy costs",
        ("ε", "", *_COLUMNS),
        [(f"{point.epsilon:g}", _remark(found, point.epsilon), *_cells(point)) for point in found.by_epsilon],
        words=2,
    )
    say("")
    lead = "gap" if found.control is None else f"lead over {found.control}"
    show_table(
        f"If the {lead} is not {found.gap:g} (ε = {found.epsilon:g}, the other arms as before)",
        (lead, *_COLUMNS),
        [(f"{row.gap:g}", *_cells(row)) for row in found.sensitivity],
        note="Participants; s.e.: the simulation's standard error.",
    )
    if found.scenarios is not None:
        _show_scenarios(found)


def _show_beside(found: Plan) -> None:
    """This design, others with the same promise, and the lower bound."""
    days = found.expected_days is not None
    own = [f"this design ({found.algorithm})", count(found.expected_samples), count(found.p90_samples)]
    rows = [[*own, number(found.expected_days or 0), "stops by itself"]]
    rows += [
        [one.name, count(one.expected_samples), count(one.most_samples), number(one.expected_days or 0), one.note]
        for one in found.alternatives
    ]
    if found.lower_bound_refined is not None:
        rows.append(["no method can do with fewer than", count(found.lower_bound_refined), "–", "–", "lower bound"])
    head = ["", "on average", "9 in 10 within", "days", "how"]
    if not days:
        rows, head = [[*row[:3], row[4]] for row in rows], [*head[:3], head[4]]
    show_table("Side by side, in participants" + (" and days" if days else ""), head, rows)
    say("")


def _show_scenarios(found: Plan) -> None:
    table = found.scenarios
    if table is None:
        return
    say("")
    dated = any(row.mean_days is not None for row in table.rows)
    control = table.control is not None
    ways = ["arm", "none", "wrong", "no verdict"] if control else ["best", "within", "wrong", "none"]
    head = ["", "mean", "median", "90 %", *(["days"] if dated else []), *ways]
    rows = []
    for row in table.rows:
        people = (row.mean_samples.value, row.median_samples, row.p90_samples)
        shares = (row.found, row.none or row.within_difference, row.wrong, row.undecided)
        days = [number(row.mean_days.value) if row.mean_days else "–"] if dated else []
        rows.append([row.name, *map(count, people), *days, *(f"{100 * share.value:.1f}" for share in shares)])
    percent = f"People, then percent of {table.runs:,} trials that"
    kept = "--table FILE keeps everything, with simulation errors."
    note = (
        f"{percent} recommend the best arm, one within the difference, a wrong one, or none by {table.cap:,} people. "
    )
    if control:
        note = f"{percent} answer with an arm, with none, wrongly, or not at all by {table.cap:,} people. "
    note += kept
    show_table("Operating characteristics", head, rows, note=note)


_COLUMNS = ("on average", "s.e.", "9 in 10 within", "lower bound")


def _cells(row: PrivacyCost | GapCost) -> tuple[str, ...]:
    at_least = "≥ " if row.undecided else ""
    return (
        at_least + count(row.expected_samples),
        count(row.standard_error),
        at_least + count(row.p90_samples),
        "–" if row.lower_bound_refined is None else count(row.lower_bound_refined),
    )


def _remark(found: Plan, epsilon: float) -> str:
    remarks = []
    if epsilon == found.epsilon:
        remarks.append("this plan")
    if found.regime_epsilon is not None and epsilon < found.regime_epsilon and found.private:
        remarks.append("high-privacy regime")
    if epsilon == found.free_epsilon:
        remarks.append("privacy is free from here")
    return "; ".join(remarks)
