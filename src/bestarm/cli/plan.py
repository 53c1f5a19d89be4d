"""`bestarm plan`: how many people, and what does privacy cost?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bestarm.cli.options import (
    Delta,
    Difference,
    Epsilon,
    Json,
    MaxParticipants,
    Seed,
    number_option,
    parse_means,
    whole_option,
)
from bestarm.cli.output import caution, count, emit_json, progress_bar, say, show_table, tell
from bestarm.cli.simulate import say_if_compiling
from bestarm.errors import InputError

if TYPE_CHECKING:
    from bestarm.planning import GapCost, Plan, PrivacyCost


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("plan")(plan)


def plan(
    epsilon: Epsilon,
    means: Annotated[
        str | None, typer.Option("--means", metavar="M", help="Hoped-for mean outcomes, as in 0.45,0.35,0.3.")
    ] = None,
    arms: Annotated[int | None, whole_option("--arms", metavar="K", help="Number of arms, in place of means.")] = None,
    gap: Annotated[
        float | None, number_option("--gap", metavar="G", help="With --arms: the best arm's lead over all others.")
    ] = None,
    base: Annotated[
        float | None,
        number_option(
            "--base", metavar="P", help="With --arms: the others' mean (if not given: such that means straddle 1/2)."
        ),
    ] = None,
    delta: Delta = 0.01,
    algorithm: Annotated[
        str, typer.Option("--algorithm", metavar="A", help="Which one; `bestarm algorithms` lists them.")
    ] = "evidence",
    runs: Annotated[int, whole_option("--runs", metavar="R", help="Simulated trials for every number.")] = 200,
    seed: Seed = 0,
    participants: Annotated[
        int | None,
        whole_option("--participants", metavar="N", help="Also ask what N people afford: privacy, and gap."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="F.png", help="Draw the cost of privacy into this PNG file.")
    ] = None,
    jobs: Annotated[int, whole_option("--jobs", metavar="J", help="Processes; -1 for all cores.")] = 1,
    difference: Difference = None,
    max_participants: MaxParticipants = None,
    as_json: Json = False,
) -> None:
    """Plan a trial: participants on average and in 9 of 10 cases, what privacy costs, what N people afford."""
    if figure is not None and figure.suffix.lower() != ".png":
        raise InputError(f"The figure {figure} must be a PNG file, with a name that ends in .png.")
    hoped = parse_means(means) if means is not None else None
    from bestarm import planning

    question = planning.Question.ask(
        hoped,
        epsilon=epsilon,
        delta=delta,
        arms=arms,
        gap=gap,
        base=base,
        algorithm=algorithm,
        difference=difference,
        runs=runs,
        seed=seed,
        participants=participants,
        max_participants=max_participants,
    )
    caution(question.design.warnings())
    say_if_compiling(algorithm)
    with progress_bar("Simulating trials") as progress:
        found = planning.answer(question, jobs=jobs, progress=progress)
    if figure is not None:
        from bestarm.planning.figure import draw_plan

        draw_plan(found, figure)
        tell(f"Figure written to {figure}.")
    if as_json:
        emit_json(found.to_dict())
    else:
        _show(found)


def _show(found: Plan) -> None:
    from bestarm.planning.words import in_words

    for paragraph in in_words(found):
        say(paragraph, "")
    show_table(
        "What privacy costs",
        ("ε", "", *_COLUMNS),
        [(f"{point.epsilon:g}", _remark(found, point.epsilon), *_cells(point)) for point in found.by_epsilon],
        words=2,
    )
    say("")
    show_table(
        f"If the gap is not {found.gap:g} (ε = {found.epsilon:g}, the other arms as before)",
        ("gap", *_COLUMNS),
        [(f"{row.gap:g}", *_cells(row)) for row in found.sensitivity],
        note="Participants; s.e.: the simulation's standard error.",
    )


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
    if epsilon < found.regime_epsilon and found.private:
        remarks.append("high-privacy regime")
    if epsilon == found.free_epsilon:
        remarks.append("privacy is free from here")
    return "; ".join(remarks)
