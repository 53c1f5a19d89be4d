"""What each part of coin evidence is worth: people with one part left out or changed, over those of the whole.

Run from the project's root: python -m benchmarks.evidence_ablation [--runs 100] [--seed 31]
Every part is a change of `Tuning` (src/bestarm/policy/evidence/tuning.py), none of which matters to validity. The cells
are not those of the paper's grid.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

import bestarm as ba
from bestarm.instance import Instance
from bestarm.policy.evidence.tuning import Tuning
from bestarm.policy.record import FloatArray
from bestarm.simulation.compiled import entry_point
from bestarm.simulation.people import noise_of, people_of, world_of
from bestarm.simulation.runs import make_scenario

DELTA = 0.01
CAP = 10**13
INSTANCES = ((0.8, 0.8, 0.85, 0.9), (0.55, 0.55, 0.55, 0.55, 0.6), (0.3, 0.4, 0.5), (0.1, 0.3, 0.5, 0.65, 0.8))
"""The best arm last: where nothing is known, ties go to the first."""
NOISE, CHANCE = (0.005, 0.05), (0.5, 5.0)
"""Budgets at which noise decides how many people are needed, and at which it does not."""
EVER = 1e300
WHOLE = Tuning()

PARTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("nothing kept in cash", {"cash": 1e-3, "doubt": 1e-3, "most_cash": 1e-3}),
    ("as much in cash whoever leads", {"doubt": 0.0}),
    ("one champion only", {"least_share": 2.0}),
    ("no search for slopes and caps", {"rounds": 0, "reshapings": 0}),
    ("sizes planned without a search", {"planning_rounds": 0}),
    ("nothing for ending at a release", {"finish_noise": 0.0, "finish_chance": 0.0}),
    ("arms of one size", {"cover": 1.0, "power_chance": EVER, "power_noise": EVER}),
    ("stages at most double an arm", {"growth": 2.0}),
    ("stages may bring ten times as many", {"growth": 10.0}),
    ("a first stage of a third", {"first_people": WHOLE.first_people / 3, "first_noises": WHOLE.first_noises / 3}),
    (
        "a first stage three times as large",
        {"first_people": 3 * WHOLE.first_people, "first_noises": 3 * WHOLE.first_noises},
    ),
    (
        "arms thought to differ by twice as much",
        {"first_spread": 2 * WHOLE.first_spread, "prior_spread": 2 * WHOLE.prior_spread},
    ),
    ("no second looks", {"recall": EVER}),
)


def people(means: tuple[float, ...], epsilon: float, tuning: Tuning, runs: int, seed: int) -> FloatArray:
    """How many people each run took."""
    scenario = make_scenario("evidence", Instance.bernoulli(means), epsilon=epsilon, delta=DELTA, max_participants=CAP)
    run = entry_point(scenario.algorithm)
    constants = scenario.algorithm.constants(scenario.design.numbers())
    changed = constants._replace(single=constants.single._replace(tuning=tuning))
    world = world_of(people_of(scenario.instance, False), noise_of(scenario.design.law))
    per_arm = np.zeros(len(means), np.int64)
    taken = [run(np.random.default_rng([seed, r]), world, changed, CAP, per_arm)[0] for r in range(runs)]
    return np.array(taken, float)


def over_bound(epsilons: tuple[float, ...], tuning: Tuning, runs: int, seed: int) -> float:
    """Geometric mean over cells of mean people over the refined lower bound."""
    logs = [
        math.log(
            people(means, e, tuning, runs, seed).mean()
            / ba.bounds(means=means, epsilon=e, delta=DELTA).lower_bound_refined
        )
        for means in INSTANCES
        for e in epsilons
    ]
    return math.exp(sum(logs) / len(logs))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=31)
    chosen = parser.parse_args()
    whole = [over_bound(part, WHOLE, chosen.runs, chosen.seed) for part in (NOISE, CHANCE)]
    cells = f"{len(INSTANCES) * len(NOISE)} cells each, {chosen.runs} runs a cell, seed {chosen.seed}, δ = {DELTA:g}"
    print(f"People over those of the whole; {cells}.\n")
    print(f"| what is changed | noise decides (ε = {NOISE}) | chance decides (ε = {CHANCE}) |\n|---|---|---|")
    print(f"| nothing (over the lower bound) | {whole[0]:.2f} | {whole[1]:.2f} |", flush=True)
    for name, changes in PARTS:
        tuning = WHOLE._replace(**changes)
        found = [over_bound(part, tuning, chosen.runs, chosen.seed) for part in (NOISE, CHANCE)]
        ratios = [f / w for f, w in zip(found, whole, strict=True)]
        print(f"| {name} | × {ratios[0]:.2f} | × {ratios[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
