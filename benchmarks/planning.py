"""What time costs the simulator, and how long a plan with its table of scenarios takes.

Run from the project's root: python -m benchmarks.planning [--runs 200]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import bestarm as ba

MEANS = (0.6, 0.5, 0.45, 0.4, 0.3)
LIVES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("none", {}),
    ("28 days at 10 a day", {"enrol": 10, "follow_up": "28d"}),
    ("the same, by chance", {"enrol": 10, "follow_up": "28d", "arrivals": "poisson", "ramp": "60d"}),
    ("a trend", {"trend": "linear:0.2"}),
)


def delays(runs: int) -> None:
    """Time of a run as a multiple of one without delay, best of three."""
    print("\n| algorithm | delay | people | ms a run | times the undelayed run |\n|---|---|---|---|---|")
    for name in ("evidence", "dp-se", "ttucb", "adap-tt-published", "fixed"):
        options: dict[str, Any] = {"means": MEANS, "epsilon": 1, "delta": 0.05, "runs": runs}
        options |= {"difference": 0.1} if name == "fixed" else {}
        first = None
        for label, life in LIVES:
            found = [ba.simulate(name, seed=seed, **options, **life).summary() for seed in range(3)]
            taken = min(one.seconds for one in found) / runs
            people = sum(one.mean_samples for one in found) / 3
            first = first or taken
            print(f"| {name} | {label} | {people:,.0f} | {1e3 * taken:.2f} | {taken / first:.1f} |", flush=True)


def a_plan() -> None:
    """A plan with its scenarios for five arms, on two processes, after everything is compiled."""
    options: dict[str, Any] = {"arms": 5, "difference": 0.1, "base": 0.3, "epsilon": 1, "delta": 0.05}
    ba.plan(**options, enrol=10, follow_up="28d", runs=2, scenarios=True)
    began = time.perf_counter()
    ba.plan(**options, enrol=10, follow_up="28d", runs=200, scenarios=True, jobs=2)
    print(
        f"\nA plan with its table of scenarios, K = 5, 200 runs: {time.perf_counter() - began:.0f} s on two processes"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    chosen = parser.parse_args()
    delays(chosen.runs)
    a_plan()


if __name__ == "__main__":
    main()
