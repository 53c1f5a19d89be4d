"""The paper's experiments: which cells make up its figures, and what they come to.

Algorithms without privacy do not depend on epsilon: they have one cell an instance, with no epsilon in the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bestarm import __version__
from bestarm.errors import InputError
from bestarm.instance import PAPER_EPSILONS, PAPER_MEANS, Instance
from bestarm.policy.catalogue import CATALOGUE
from bestarm.reproduction.cells import CellSummary, summarise
from bestarm.simulation.runs import DEFAULT_MAX_SAMPLES, make_scenario
from bestarm.simulation.sweep import Cell, SweepProgress, run_sweep
from bestarm.simulation.tables import write_table

DELTA: Final = 0.01
FIGURES: Final = {1: (1, 2), 2: (1, 2, 3, 4, 5, 6)}
"""The instances that each of the paper's figures shows."""
CAPS: Final = {"adap-tt": 10**7, "uniform": 10**7, "adap-tt-star": 10**7, "dp-tt": 10**7}
"""Algorithm 2 as written, and its follow-ups, may stall for a very long time; what has not stopped here is reported as
undecided."""
ALGORITHMS: Final = (
    "evidence",
    "adap-tt",
    "adap-tt-nonprivate",
    "ttucb",
    "dp-se",
    "uniform",
    "adap-tt-published",
    "ttucb-published",
    "adap-tt-star",
    "dp-tt",
)
"""Whom the experiments compare, in the report's order: ours, the paper's algorithms, what its released code runs, and
the authors' later algorithms."""
QUICK_EPSILONS: Final = (0.001, 0.01, 0.1, 1.0, 10.0)
QUICK_RUNS: Final = 10
QUICK_CAP: Final = 10**6


def make_cells(figure: int, runs: int, quick: bool) -> list[Cell]:
    """The cells of a figure: every algorithm of the experiments, every budget, on each of its instances."""
    if figure not in FIGURES:
        raise InputError(f"There is no figure {figure}; there are: 1 and 2.")
    cells = []
    for number in FIGURES[figure]:
        instance = Instance.bernoulli(PAPER_MEANS[number - 1])
        for name in ALGORITHMS:
            cap = QUICK_CAP if quick and name in CAPS else CAPS.get(name, DEFAULT_MAX_SAMPLES)
            for epsilon in budgets_of(name, quick):
                scenario = make_scenario(name, instance, epsilon=epsilon, delta=DELTA, max_participants=cap)
                budget = math.nan if epsilon is None else epsilon
                labels = (("instance", number), ("algorithm", name), ("epsilon", budget))
                cells.append(Cell(labels, scenario, runs))
    return cells


def budgets_of(name: str, quick: bool) -> Sequence[float | None]:
    """The paper's budgets, or a single missing one for algorithms without privacy."""
    if "pure" not in CATALOGUE[name].privacy:
        return (None,)
    return QUICK_EPSILONS if quick else PAPER_EPSILONS


def reproduce(
    out: Path,
    *,
    figure: int = 2,
    runs: int = 100,
    seed: int = 1,
    quick: bool = False,
    jobs: int = 1,
    progress: SweepProgress | None = None,
) -> list[CellSummary]:
    """Run a figure's cells and write `figureN.png`, `results.parquet`, `results.csv` and `report.md` into `out`."""
    from bestarm.files import replacing
    from bestarm.reproduction.claims import write_report
    from bestarm.reproduction.figures import draw_reproduction

    cells = make_cells(figure, min(runs, QUICK_RUNS) if quick else runs, quick)
    rows = run_sweep(cells, seed=seed, jobs=jobs, store=out / "results.parquet", progress=progress)
    write_table(rows, out / "results.csv", {"version": __version__, "seed": seed})
    summaries = summarise(rows, DELTA)
    for number in range(1, figure + 1):
        shown = [cell for cell in summaries if cell.instance in FIGURES[number]]
        draw_reproduction(shown, out / f"figure{number}.png")
    with replacing(out / "report.md") as temporary:
        report = write_report(summaries, seed=seed, quick=quick, figure=figure, delta=DELTA)
        temporary.write_text(report, encoding="utf-8")
    return summaries
