# ruff: noqa: F821 (the loop finds the rules it drives under names that `main` gives it)
"""Version 0.1's default, Evidence Top Two, under trends common to all arms, which its proof does not allow.

Run from the project's root with the sources of the last commit that had it, which knew no trends itself:

    git archive e10c888^ src | tar -x -C /tmp/first && PYTHONPATH=/tmp/first/src python benchmarks/first_version.py

Every person is drawn on their own, in the order in which they come; otherwise as `benchmarks.evidence_life drift`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from bestarm.design import resolve
from bestarm.instance import Instance
from bestarm.policy.algorithm import SEVERAL, UNDECIDED, Batched
from bestarm.policy.record import FloatArray, assign, open_batch, release
from bestarm.rules import DECLARED
from bestarm.simulation.compiled import register
from bestarm.simulation.driver import toss
from bestarm.simulation.people import draw_noise, noise_of
from bestarm.simulation.runs import make_scenario

if TYPE_CHECKING:
    start: Callable[..., Any]
    over: Callable[..., int]
    size: Callable[..., int]
    recruit: Callable[..., int]
    assigned: Callable[..., None]
    released: Callable[..., None]

NONE, LINEAR, STEP, BUMP, SEASON, HOUSEHOLDS = range(6)
NAMES = ("nothing", "linear trend", "step", "rise and fall", "four seasons", "households of two")
SIZE = 0.3
MOST = 6000
DELTA = 0.2


def one_by_one(
    rng: np.random.Generator, noise: Any, constants: Any, means: FloatArray, trend: int, length: float
) -> tuple[int, int]:
    """One run of a batched policy whose answer holds until the next release: people, and the verdict."""
    state = start(constants)
    record = state.record
    weights = np.zeros(means.size)
    sums = np.zeros(means.size)
    cause = 0.0
    fresh = True
    for person in range(MOST):
        if fresh:
            alone = recruit(state, constants, weights)
            if alone != SEVERAL:
                weights[:] = 0.0
                weights[alone] = 1.0
            for arm in range(means.size):
                if weights[arm] > 0.0 and record.assigned[arm] == record.places[arm]:
                    open_batch(record, arm, size(state, constants, arm))
            fresh = False
        course = min(person / length, 1.0)
        level = 0.0
        if trend == LINEAR:
            level = course
        elif trend == STEP:
            level = 1.0 if course > 0.5 else 0.0
        elif trend == BUMP:
            level = 4.0 * course * (1.0 - course)
        elif trend == SEASON:
            level = math.sin(8.0 * math.pi * person / length)
        if trend != HOUSEHOLDS or person % 2 == 0:
            cause = rng.random()
        arm = toss(rng, weights)
        if cause < min(max(means[arm] + SIZE * level, 0.0), 1.0):
            sums[arm] += 1.0
        assign(record, arm, 1)
        assigned(state, constants, arm, 1)
        if record.assigned[arm] == record.places[arm]:
            release(record, arm, record.newest_size[arm], sums[arm] + draw_noise(rng, noise))
            sums[arm] = 0.0
            released(state, constants, arm)
            verdict = over(state, constants)
            if verdict != UNDECIDED:
                return person + 1, verdict
            fresh = True
    return MOST, UNDECIDED


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=51)
    chosen = parser.parse_args()
    algorithm = resolve("evidence")
    if not isinstance(algorithm, Batched):
        raise SystemExit("This is not the first version: see how to run it at the head of the file.")
    for rule, declaration in list(DECLARED.items()):
        register(rule, declaration)
    loop = FunctionType(one_by_one.__code__, {**one_by_one.__globals__, **algorithm.rules}, "one_by_one")
    run = njit(error_model="numpy")(loop)
    print("| what happens | means | difference | wrong | of | undecided | people |\n|" + "---|" * 7)
    for means, g in (((0.5, 0.4, 0.4), 0.1), ((0.502, 0.5), 0.0)):
        scenario = make_scenario("evidence", Instance.bernoulli(means), epsilon=1.0, delta=DELTA, difference=g)
        constants = algorithm.constants(scenario.design.numbers())
        noise, at = noise_of(scenario.design.law), np.array(means)
        length = 1.0
        for trend, name in enumerate(NAMES):
            found = [
                run(np.random.default_rng([chosen.seed, r]), noise, constants, at, trend, length)
                for r in range(chosen.runs)
            ]
            people = float(np.mean([taken for taken, _ in found]))
            if trend == NONE:
                length = people
            undecided = sum(arm == UNDECIDED for _, arm in found)
            wrong = sum(arm != UNDECIDED and means[arm] <= max(means) - max(g, 1e-9) + 1e-12 for _, arm in found)
            print(f"| {name} | {means} | {g:g} | {wrong} | {chosen.runs} | {undecided} | {people:.0f} |", flush=True)


if __name__ == "__main__":
    main()
