"""How long a run of Evidence Top Two takes, and how that grows with the arms, 1/epsilon and 1/gap; one core, compiled.

Run from the project's root: python -m benchmarks.evidence_speed
"""

from __future__ import annotations

from collections.abc import Sequence

import bestarm as ba


def measure(title: str, algorithm: str, means: Sequence[float], epsilon: float, runs: int) -> None:
    """One line: time, releases and people a run."""
    found = ba.simulate(
        algorithm, means=means, epsilon=epsilon, delta=0.01, runs=runs, seed=1, max_samples=10**14
    ).summary()
    print(
        f"| {algorithm} | {title} | {1e3 * found.seconds / runs:.1f} ms | {found.mean_releases:.0f} "
        f"| {found.mean_samples:.3g} |",
        flush=True,
    )


def main() -> None:
    print("| algorithm | scenario | time a run | releases | people |\n|---|---|---|---|---|")
    for algorithm in ("evidence",):
        ba.simulate(algorithm, means=[0.9, 0.1], epsilon=1, delta=0.1, runs=1, seed=0)
        for arms in (2, 5, 10, 20, 50, 100):
            measure(f"K = {arms}, gap 0.1, eps 0.1", algorithm, [0.6, *[0.5] * (arms - 1)], 0.1, 20)
        for epsilon in (10.0, 1.0, 0.1, 0.01, 0.001):
            measure(f"K = 5, gap 0.05, eps {epsilon:g}", algorithm, [0.75, 0.7, 0.7, 0.7, 0.7], epsilon, 40)
        for gap in (0.2, 0.05, 0.01, 0.003, 0.001, 0.0001):
            measure(f"K = 5, gap {gap:g}, eps 1", algorithm, [0.6, *[0.6 - gap] * 4], 1.0, 20)


if __name__ == "__main__":
    main()
