"""The follow-up's experiments: its two instances and budgets, measured beside the values on its poster.

The poster (DP-TT, NeurIPS 2025) and the authors' slides show curves; `POSTER` holds what can be read off them. The
exact thresholds behind some curves are not on it, so agreement is a finding, not a requirement.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from bestarm import __version__
from bestarm.instance import PAPER_MEANS, Instance
from bestarm.policy.catalogue import CATALOGUE
from bestarm.reproduction.cells import CellSummary, label, spread, summarise
from bestarm.simulation.runs import DEFAULT_MAX_SAMPLES, make_scenario
from bestarm.simulation.sweep import Cell, SweepProgress, run_sweep
from bestarm.simulation.tables import write_table
from bestarm.theory.local import local_lower_bound

DELTA: Final = 0.01
INSTANCES: Final = (1, 4)
"""Of the paper's; what the poster calls its second instance can only be the paper's fourth (see the report)."""
EPSILONS: Final = (0.001, 0.00464, 0.0215, 0.1, 0.464, 2.15)
LOCAL_EPSILONS: Final = (0.316, 1.14, 4.0)
CENTRAL: Final = (
    "evidence",
    "dp-tt",
    "dp-tt-published",
    "adap-tt-star",
    "adap-tt-published",
    "dp-se",
    "eb-tci",
    "eb-tci-published",
)
LOCAL: Final = ("evidence", "ctb-tt")
CAPS: Final = {"dp-tt": 10**7, "dp-tt-published": 10**7, "ctb-tt": 3 * 10**7}
"""An empirical-best leader may starve the best arm for a very long time; what has not stopped here is undecided."""
QUICK_RUNS: Final = 10
QUICK_CAP: Final = 10**6
QUICK_EPSILONS: Final = (0.0215, 0.464)
QUICK_LOCAL: Final = (1.14, 4.0)
AGREES: Final = 1.25
"""Means within this factor of each other count as agreeing: values are read off curves on logarithmic axes."""


class PosterCurve(NamedTuple):
    """One curve of the poster: what it is called there, on which instance, and who may be behind it here."""

    name: str
    instance: int
    privacy: str
    algorithms: tuple[str, ...]
    people: dict[float | None, float]
    """By budget; None for a curve without one."""


def _curve(name: str, instance: int, algorithms: tuple[str, ...], people: tuple[float, ...]) -> PosterCurve:
    return PosterCurve(name, instance, "pure", algorithms, dict(zip(EPSILONS, people, strict=True)))


POSTER: Final = (
    _curve("DP-TT", 1, ("dp-tt", "dp-tt-published"), (418e3, 137e3, 31.8e3, 11.5e3, 6.92e3, 6.92e3)),
    _curve("AdaP-TT*", 1, ("adap-tt-star",), (1.34e6, 356e3, 85e3, 78e3, 76e3, 70e3)),
    _curve("AdaP-TT", 1, ("adap-tt-published",), (1.73e6, 452e3, 145e3, 75e3, 79e3, 70e3)),
    _curve("DP-SE", 1, ("dp-se",), (9.38e6, 2.41e6, 549e3, 465e3, 109e3, 109e3)),
    PosterCurve("EB-TCI", 1, "none", ("eb-tci-published", "eb-tci"), {None: 4.0e3}),
    _curve("DP-TT", 4, ("dp-tt", "dp-tt-published"), (430e3, 81e3, 7.3e3, 3.0e3, 2.17e3, 2.17e3)),
    _curve("AdaP-TT*", 4, ("adap-tt-star",), (440e3, 116e3, 23e3, 10.6e3, 6.95e3, 6.9e3)),
    _curve("AdaP-TT", 4, ("adap-tt-published",), (578e3, 139e3, 27.5e3, 10.6e3, 7.0e3, 6.9e3)),
    _curve("DP-SE", 4, ("dp-se",), (1.12e6, 387e3, 105e3, 29e3, 11e3, 11e3)),
    PosterCurve("CTB-TT", 1, "local", ("ctb-tt",), {0.316: 1.84e6, 1.14: 83e3, 4.0: 27e3}),
)


def make_cells(runs: int, quick: bool) -> list[Cell]:
    """Every algorithm and budget on both instances, and the local comparison on the first."""
    wanted: list[tuple[int, str, str, float | None]] = []
    for number in INSTANCES:
        for name in CENTRAL:
            private = "pure" in CATALOGUE[name].privacy
            budgets = (QUICK_EPSILONS if quick else EPSILONS) if private else (None,)
            wanted += [(number, name, "pure" if private else "none", epsilon) for epsilon in budgets]
    wanted += [(1, name, "local", epsilon) for name in LOCAL for epsilon in (QUICK_LOCAL if quick else LOCAL_EPSILONS)]
    cells = []
    for number, name, privacy, epsilon in wanted:
        cap = CAPS.get(name, DEFAULT_MAX_SAMPLES)
        scenario = make_scenario(
            name,
            Instance.bernoulli(PAPER_MEANS[number - 1]),
            epsilon=epsilon,
            privacy=privacy,
            delta=DELTA,
            max_participants=min(cap, QUICK_CAP) if quick else cap,
        )
        budget = math.nan if epsilon is None else epsilon
        labels = (("instance", number), ("algorithm", name), ("epsilon", budget), ("privacy", privacy))
        cells.append(Cell(labels, scenario, runs))
    return cells


def reproduce_followup(
    out: Path,
    *,
    runs: int = 100,
    seed: int = 1,
    quick: bool = False,
    jobs: int = 1,
    progress: SweepProgress | None = None,
) -> list[CellSummary]:
    """Run the cells and write `followup.parquet`, `followup.csv`, `followup.md` and `followup.png` into `out`."""
    from bestarm.files import replacing
    from bestarm.reproduction.figures import draw_followup

    cells = make_cells(min(runs, QUICK_RUNS) if quick else runs, quick)
    rows = run_sweep(cells, seed=seed, jobs=jobs, store=out / "followup.parquet", progress=progress)
    write_table(rows, out / "followup.csv", {"version": __version__, "seed": seed})
    central = summarise(rows[rows["privacy"] != "local"], DELTA)
    local = [_against_local_bound(cell) for cell in summarise(rows[rows["privacy"] == "local"], DELTA)]
    draw_followup(central, out / "followup.png")
    with replacing(out / "followup.md") as temporary:
        temporary.write_text(write_followup(central, local, seed=seed, quick=quick), encoding="utf-8")
    return [*central, *local]


def _against_local_bound(cell: CellSummary) -> CellSummary:
    least = local_lower_bound(PAPER_MEANS[cell.instance - 1], cell.epsilon or math.inf, DELTA)
    return replace(cell, lower_bound_corollary=least, lower_bound_refined=least)


def write_followup(central: list[CellSummary], local: list[CellSummary], *, seed: int, quick: bool) -> str:
    """The report as Markdown: curve by curve against the poster, then the local comparison, then every cell."""
    runs = max(cell.runs for cell in central)
    how = "--quick" if quick else f"--runs {runs}"
    parts = [
        "# The follow-up's experiments, measured",
        "",
        f"Made by `bestarm reproduce --figure followup {how} --seed {seed}` (version {__version__}); {runs} runs a "
        f"cell, delta = {DELTA}. Values of the poster are read off its curves, whose thresholds it does not all state.",
        "",
        *(["**Quick run: few runs a cell, few budgets, a low cap. See the shape, not the figures.**", ""] * quick),
        "![People against epsilon, the poster's values as hollow marks](followup.png)",
        "",
        "The instance that the poster prints as its second, (.75, .7, .7, .7, .7), cannot be the one it shows: its "
        "values lie below that instance's lower bound. (.75, .625, .5, .375, .25) fits, and is used here.",
        "",
        *_beside_the_poster(central, local),
        *_poster_beside_ours(central),
        *_local(local),
        *_every_cell(central),
    ]
    return "\n".join(parts) + "\n"


def _beside_the_poster(central: list[CellSummary], local: list[CellSummary]) -> list[str]:
    lines = [
        "## Beside the poster",
        "",
        f"A ratio is the mean measured here over the poster's; within a factor of {AGREES:g} they agree. * marks cells "
        "with undecided runs, counted at the cap, whose ratio is too small.",
        "",
        "| poster's curve | instance | here | ratio at epsilon | agree |",
        "|---|---|---|---|---|",
    ]
    for curve in POSTER:
        for name in curve.algorithms:
            cells = [c for c in (local if curve.privacy == "local" else central) if c.algorithm == name]
            shown = [c for c in cells if c.instance == curve.instance and c.epsilon in curve.people]
            if shown:
                ratios = [c.mean / curve.people[c.epsilon] for c in shown]
                agree = [
                    1 / AGREES <= ratio <= AGREES and c.undecided == 0 for ratio, c in zip(ratios, shown, strict=True)
                ]
                words = ", ".join(
                    f"{'any' if c.epsilon is None else f'{c.epsilon:g}'}: {ratio:.2f}{'*' * (c.undecided > 0)}"
                    for ratio, c in zip(ratios, shown, strict=True)
                )
                lines.append(
                    f"| {curve.name} | {curve.instance} | {label(name)} | {words} | {sum(agree)} of {len(agree)} |"
                )
    return [*lines, ""]


def _poster_beside_ours(central: list[CellSummary]) -> list[str]:
    # What the authors report of themselves is the harder comparison, whether or not it can be run here.
    lines = [
        "## What the poster reports, over coin evidence as measured here",
        "",
        "The poster's own people over ours; below 1 the poster reports fewer, by a threshold that is not public (the "
        "one that is printed needs more, and so does the one that we can prove, above). In brackets, the poster's "
        "people over the refined lower bound.",
        "",
        "| poster's curve | instance | ratio at epsilon | fewer on the poster |",
        "|---|---|---|---|",
    ]
    for curve in POSTER:
        ours = [c for c in central if (c.algorithm, c.instance) == ("evidence", curve.instance)]
        shown = [(c, curve.people[c.epsilon]) for c in ours if c.epsilon in curve.people]
        if shown and curve.privacy == "pure":
            words = ", ".join(
                f"{c.epsilon:g}: {people / c.mean:.2f} ({people / c.lower_bound_refined:.2f})" for c, people in shown
            )
            fewer = sum(people < c.mean for c, people in shown)
            lines.append(f"| {curve.name} | {curve.instance} | {words} | {fewer} of {len(shown)} |")
    return [*lines, ""]


def _local(cells: list[CellSummary]) -> list[str]:
    lines = [
        "## Local privacy",
        "",
        "Everybody randomises their own outcome. People over the local lower bound max{T_KL, T_TV2/c(epsilon)} "
        "log(1/(2.4 delta)):",
        "",
        "| epsilon | local lower bound | " + " | ".join(f"{name}: people; over the bound" for name in LOCAL) + " |",
        "|---|---|" + "---|" * len(LOCAL),
    ]
    for epsilon in sorted({cell.epsilon or 0.0 for cell in cells}):
        row = {cell.algorithm: cell for cell in cells if cell.epsilon == epsilon}
        least = next(iter(row.values())).lower_bound_refined
        shown = [f"{spread(row[name])}; {row[name].mean / least:.2f}" for name in LOCAL]
        lines.append(f"| {epsilon:g} | {least:.3g} | " + " | ".join(shown) + " |")
    return [*lines, ""]


def _every_cell(cells: list[CellSummary]) -> list[str]:
    lines = ["## Every cell", "", "Mean ± standard deviation of the people; wrong recommendations; undecided runs.", ""]
    for number in INSTANCES:
        lines += [
            f"### Instance {number}: {', '.join(f'{mean:g}' for mean in PAPER_MEANS[number - 1])}",
            "",
            "| algorithm | epsilon | people | wrong | undecided | people over the refined lower bound |",
            "|---|---|---|---|---|---|",
        ]
        for cell in cells:
            if cell.instance == number:
                budget = "any" if cell.epsilon is None else f"{cell.epsilon:g}"
                lines.append(
                    f"| {label(cell.algorithm)} | {budget} | {spread(cell)} | {cell.wrong} of {cell.runs} "
                    f"| {cell.undecided} | {cell.mean / cell.lower_bound_refined:.2f} |"
                )
        lines.append("")
    return lines
