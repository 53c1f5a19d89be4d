"""Evidence Top Two on the paper's six instances and fifteen budgets: people against the refined lower bound.

Run from the project's root: python -m benchmarks.evidence_grid [--runs 200] [--algorithm evidence] [--rivals]
With --rivals, DP-SE and the published AdaP-TT run next to it (20 runs a cell), which takes long.
"""

from __future__ import annotations

import argparse
import math
from typing import NamedTuple

from scipy.stats import binomtest

import bestarm as ba
from bestarm.instance import PAPER_EPSILONS, PAPER_MEANS

DELTA = 0.01
RIVAL_CAP = 10**8


class Cell(NamedTuple):
    """One scenario: mean people over the lower bound, its standard error, wrong verdicts, and time per run."""

    ratio: float
    error: float
    wrong: int
    undecided: int
    milliseconds: float
    releases: float


def measure(algorithm: str, means: tuple[float, ...], epsilon: float, runs: int, jobs: int, delta: float) -> Cell:
    """All runs of one cell."""
    bound = ba.bounds(means=means, epsilon=epsilon, delta=delta).lower_bound_refined
    found = ba.simulate(
        algorithm, means=means, epsilon=epsilon, delta=delta, runs=runs, seed=2024, jobs=jobs, max_samples=RIVAL_CAP
    ).summary()
    return Cell(
        found.mean_samples / bound,
        found.std_samples / math.sqrt(runs) / bound,
        round(found.error_rate * runs),
        found.undecided,
        1e3 * found.seconds / runs,
        found.mean_releases,
    )


def show(title: str, table: list[list[Cell]]) -> None:
    """The table, with rows for budgets and columns for instances."""
    print(f"\n{title}\n")
    print("| eps | " + " | ".join(f"instance {i + 1}" for i in range(len(table))) + " |")
    print("|---" * (len(table) + 1) + "|")
    for e, epsilon in enumerate(PAPER_EPSILONS):
        cells = [f"{row[e].ratio:.2f} ± {row[e].error:.2f}" for row in table]
        print(f"| {epsilon:g} | " + " | ".join(cells) + " |")


def summarise(name: str, table: list[list[Cell]], runs: int) -> None:
    """Geometric mean, the worst cells, errors."""
    cells = [cell for row in table for cell in row]
    mean = math.exp(sum(math.log(cell.ratio) for cell in cells) / len(cells))
    worst = max(cell.ratio for cell in cells)
    certain = max(cell.ratio - 2 * cell.error for cell in cells)
    wrong = sum(cell.wrong for cell in cells)
    suspicious = [c for c in cells if binomtest(c.wrong, runs).proportion_ci(0.99).low > DELTA]
    print(f"\n{name}: geometric mean {mean:.3f}, worst cell {worst:.2f} (less two standard errors {certain:.2f}).")
    print(f"Wrong: {wrong} of {runs * len(cells)} runs; undecided: {sum(cell.undecided for cell in cells)}.")
    print(f"Cells with an error rate whose 99% interval lies above {DELTA}: {len(suspicious)}.")
    slowest = max(cell.milliseconds for cell in cells)
    print(f"At most {slowest:.1f} ms a run and {max(cell.releases for cell in cells):.0f} releases.")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--algorithm", default="evidence")
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--delta", type=float, default=DELTA)
    chosen = parser.parse_args()
    ba.simulate(chosen.algorithm, means=[0.9, 0.1], epsilon=1, delta=0.1, runs=1, seed=0)
    runs = {chosen.algorithm: chosen.runs}
    if chosen.rivals:
        runs |= {"dp-se": chosen.runs, "adap-tt-published": 20}
    for algorithm, count in runs.items():
        table = [
            [measure(algorithm, means, e, count, chosen.jobs, chosen.delta) for e in PAPER_EPSILONS]
            for means in PAPER_MEANS
        ]
        show(f"{algorithm}: mean people / refined lower bound, delta = {chosen.delta:g}, {count} runs a cell", table)
        summarise(algorithm, table, count)


if __name__ == "__main__":
    main()
