"""How long the bounds of one problem take, and how that grows with the number of arms.

Run: python benchmarks/theory.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from bestarm.theory import bounds, gaussian_beta_time, kl_time, private_time, refined_time

EPSILONS = (1e-6, 0.01, 1.0, 1e6)
ARMS = (2, 5, 10, 100, 1000, 10_000)
REPEATS = 9


def problem(arms: int) -> list[float]:
    """Distinct means, so that no two rivals can share their work, with a smallest gap of 0.001."""
    rivals = np.random.default_rng(arms).uniform(0.0, 0.9, arms - 2)
    return [*rivals.tolist(), 0.9, 0.901]


def milliseconds(work: Callable[[], object]) -> float:
    """The median time of a call over a few repeats, in milliseconds."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


def main() -> None:
    print(f"Median of {REPEATS} calls, in milliseconds; eps as in the column, otherwise 0.01; delta = 0.01.")
    heads = [*(f"bounds {epsilon:g}" for epsilon in EPSILONS), "kl", "private", "refined", "gaussian"]
    print(f"{'arms':>6} " + " ".join(f"{head:>13}" for head in heads))
    for arms in ARMS:
        means = problem(arms)
        calls: list[Callable[[], object]] = [partial(bounds, means, epsilon, 0.01) for epsilon in EPSILONS]
        calls += [
            partial(kl_time, means),
            partial(private_time, means, 0.01),
            partial(refined_time, means, 0.01),
            partial(gaussian_beta_time, means),
        ]
        cells = [milliseconds(call) for call in calls]
        print(f"{arms:>6} " + " ".join(f"{cell:>13.2f}" for cell in cells))


if __name__ == "__main__":
    main()
