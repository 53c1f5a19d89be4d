"""Theorem 5 beside what trials take: mean people over T_eps log(1/delta), for delta down to 1e-100, and the limit T=.

Run from the project's root: python -m benchmarks.evidence_bound [--runs 100] [--seed 41]
In the second table trials are far out from their first stages on, and only the plain rule bets, as in the proof; there
log(1/delta) goes beyond what a risk can be written as, since wealth is a logarithm.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from bestarm.instance import Instance
from bestarm.policy.evidence.far import steepest
from bestarm.policy.evidence.tuning import Tuning
from bestarm.simulation.compiled import entry_point
from bestarm.simulation.people import noise_of, people_of, world_of
from bestarm.simulation.runs import make_scenario
from bestarm.theory import refined_time
from bestarm.theory.equal import equal_time

CASES = (
    ((0.75, 0.7), 1.0),
    ((0.75, 0.7, 0.7, 0.7, 0.7), 1.0),
    ((0.9, 0.85, 0.8, 0.8), 0.05),
    ((0.6, 0.5, 0.3), 0.2),
    ((0.1, 0.05, 0.04), 1.0),
)
RISKS = (2.0, 6.0, 20.0, 100.0)
"""Powers of ten."""
BEYOND = (100.0, 1000.0, 10_000.0)
CAP = 10**13
ONLY_PLAIN = Tuning()._replace(far=3.0, plain=0.999999, rounds=0, reshapings=0)


class Case:
    """Means and a budget, with the lower bound's time and the theorem's."""

    def __init__(self, means: tuple[float, ...], epsilon: float) -> None:
        instance = Instance.bernoulli(means)
        scenario = make_scenario("evidence", instance, epsilon=epsilon, delta=0.01, max_participants=CAP)
        self.best = int(np.argmax(means))
        self.arms = len(means)
        self.run = entry_point(scenario.algorithm)
        self.constants = scenario.algorithm.constants(scenario.design.numbers())
        self.world = world_of(people_of(instance, False), noise_of(scenario.design.law))
        self.time = refined_time(means, epsilon).time
        self.limit = equal_time(means, steepest(self.constants.single)) / self.time
        self.name = f"{', '.join(f'{m:g}' for m in means)}; ε = {epsilon:g}"

    def measure(self, nats: float, tuning: Tuning, runs: int, seed: int) -> tuple[str, int]:
        """Mean people over T_eps log(1/delta) with its standard error, and how many runs were wrong."""
        changed = self.constants.single._replace(tuning=tuning, threshold=nats)
        constants = self.constants._replace(single=changed)
        per_arm = np.zeros(self.arms, np.int64)
        found = [self.run(np.random.default_rng([seed, r]), self.world, constants, CAP, per_arm) for r in range(runs)]
        ratios = np.array([people for people, *_ in found]) / (self.time * nats)
        shown = f"{ratios.mean():.2f} ± {ratios.std() / math.sqrt(runs):.2f}"
        return shown, sum(verdict != self.best for _, verdict, *_ in found)


def table(title: str, risks: tuple[float, ...], tuning: Tuning, runs: int, seed: int) -> None:
    """One line for each case."""
    print(f"\n{title}\n\n| means | " + " | ".join(f"δ = 1e-{risk:g}" for risk in risks) + " | limit, at most |")
    print("|---" * (len(risks) + 2) + "|")
    wrong = 0
    for means, epsilon in CASES:
        case = Case(means, epsilon)
        cells = []
        for risk in risks:
            shown, errors = case.measure(risk * math.log(10.0), tuning, runs, seed)
            cells.append(shown)
            wrong += errors
        print(f"| {case.name} | " + " | ".join(cells) + f" | {case.limit:.2f} |", flush=True)
    print(f"\nWrong: {wrong} of {runs * len(CASES) * len(risks)} runs.")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=41)
    chosen = parser.parse_args()
    table(f"As it runs, {chosen.runs} runs a cell.", RISKS, Tuning(), chosen.runs, chosen.seed)
    table(f"The plain rule alone, {chosen.runs} runs a cell.", BEYOND, ONLY_PLAIN, chosen.runs, chosen.seed)


if __name__ == "__main__":
    main()
