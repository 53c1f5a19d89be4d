"""Hard cases for Evidence Top Two: every run has to end, and most to end right; delta = 0.01.

Run from the project's root: python -m benchmarks.evidence_hard [--runs 100]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import bestarm as ba
from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.catalogue import CATALOGUE
from bestarm.policy.numbers import Numbers
from bestarm.release import pure_law
from bestarm.simulation.compiled import make_entry_point

CAP = 10**9
CASES: dict[str, list[float]] = {
    "20 arms, 19 tied for second": [0.6, *[0.55] * 19],
    "all within 0.01 but one": [0.500, 0.502, 0.504, 0.506, 0.508, 0.53],
    "means near 0": [0.0, 0.001, 0.004, 0.02],
    "means near 1": [0.999, 0.99, 0.995, 0.97],
    "K = 2, gap 0.05": [0.55, 0.5],
    "K = 50, gap 0.1": [0.6, *[0.5] * 49],
}


def draw_unlucky(rng: np.random.Generator, world: Any, arm: int, size: int) -> float:
    """Means, batches so far and the noise's rate; the first batch of arm 0 has no success at all."""
    means, seen, rate = world
    seen[arm] += 1
    noise = float(rng.geometric(rate) - rng.geometric(rate))
    return noise if arm == 0 and seen[arm] == 1 else float(rng.binomial(size, means[arm])) + noise


def unlucky(epsilon: float, runs: int) -> tuple[float, int, int]:
    """Mean people, wrong and undecided runs when the best arm's first batch is as bad as can be."""
    algorithm = CATALOGUE["evidence"]
    run = make_entry_point(algorithm, {"draw": draw_unlucky}, cached=False)
    constants = algorithm.constants(Numbers(5, 0.01, pure_law(epsilon)))
    people = wrong = undecided = 0
    for seed in range(runs):
        world = (np.array([0.75, 0.7, 0.7, 0.7, 0.7]), np.zeros(5, np.int64), 1 - float(np.exp(-epsilon)))
        taken, verdict, _ = run(np.random.default_rng(seed), world, constants, CAP, np.zeros(5, np.int64))
        people += taken
        undecided += verdict == UNDECIDED
        wrong += verdict not in (0, UNDECIDED)
    return people / runs, wrong, undecided


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    print("| case | eps | mean people | over the refined bound | wrong | undecided |\n|---|---|---|---|---|---|")
    for epsilon in (0.1, 1.0):
        for case, means in CASES.items():
            options = {"epsilon": epsilon, "delta": 0.01, "runs": runs, "seed": 3, "max_samples": CAP}
            found = ba.simulate("evidence", means=means, **options).summary()
            ratio = found.mean_samples / ba.bounds(means=means, epsilon=epsilon, delta=0.01).lower_bound_refined
            wrong = round(found.error_rate * runs)
            print(f"| {case} | {epsilon:g} | {found.mean_samples:.3g} | {ratio:.2f} | {wrong} | {found.undecided} |")
        people, wrong, undecided = unlucky(epsilon, runs)
        print(
            f"| first batch of the best arm without a success | {epsilon:g} | {people:.3g} | | {wrong} | {undecided} |"
        )
    for gap in (0.003, 0.001):
        options = {"epsilon": 1.0, "delta": 0.01, "runs": runs, "seed": 4, "max_samples": 10**12}
        found = ba.simulate("evidence", means=[0.5 + gap, 0.5, 0.5], **options).summary()
        ratio = found.mean_samples / ba.bounds(means=[0.5 + gap, 0.5, 0.5], epsilon=1.0, delta=0.01).lower_bound_refined
        wrong = round(found.error_rate * runs)
        print(f"| K = 3, gap {gap:g} | 1 | {found.mean_samples:.3g} | {ratio:.2f} | {wrong} | {found.undecided} |")


if __name__ == "__main__":
    main()
