"""What better stage sizes could still bring: the best there are, by dynamic programming, beside a rule of thumb.

Run from the project's root: python -m benchmarks.stage_sizes [--runs 20000] [--sweeps 8]

A reduced model in which the best can be computed: two arms, releases of their difference, noise and nothing else. A
stage of n people on each arm releases n g + L, where g is the difference and L has Laplace's law of scale 1 (so g
stands for epsilon times the difference). What is believed of g after some releases is taken to be normal, and is then
known by its ratio z of mean to standard deviation; together with the nats y that are missing to the line, that is the
whole state, on any scale. Cost is people times g: nobody knows g, and a trial whose g is half as large may take twice
the people.

- *Rule of thumb*: size and bet that should bring most nats for the people, as coin evidence plans: pay-offs are capped
  exponentials, and ending at a release is worth a little more.
- *Same bets*: sizes and bets of that kind which make the whole trial cheapest.
- *Any bet*: the same for any pay-off at all whose mean without a difference is 1, fair under drift or not.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numba import njit

from bestarm.policy.record import FloatArray, IntArray

Rule = TypeVar("Rule", bound=Callable[..., Any])

LINE: Final = math.log(100.0)
RATIOS: Final = np.arange(-2.0, 10.01, 0.5)
MISSING: Final = np.concatenate([[0.05, 0.2, 0.4, 0.7], np.linspace(1.0, 9.0, 17)])
SIZES: Final = np.geomspace(0.25, 8.0, 14)
"""People of a stage, over the people whose single release would have the precision of the belief."""
STEEP: Final = np.array([0.3, 0.5, 0.7, 0.9, 1.2, 1.6, 2.2, 3.0])
KINKS: Final = np.concatenate([np.linspace(-1.0, 7.0, 17), [8.0, 9.0, 10.0, 12.0, 14.0]])
"""A capped exponential pays in full from here on, and less by e^-steep for each unit below."""
CASH: Final = 0.05
FINISH, CLOSE = 0.4, 0.3
DIFFERENCES, NOISES = 9, 16
"""Equally likely values that stand for a belief and for the noise."""
STEP: Final = 0.25
GRID: Final = np.arange(-9.0, 26.0, STEP)
"""Values of a release, where any pay-off may be chosen."""
PAID: Final = 36
FIRST: Final = (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)


def compiled(function: Rule) -> Rule:
    """The same, quicker."""
    quicker: Rule = njit(function)
    return quicker


class Plan(NamedTuple):
    """For every state a size, and the logarithm of what each value of the release pays."""

    size: IntArray
    pays: FloatArray


def beliefs() -> FloatArray:
    """Equally likely differences for each ratio, in standard deviations: any scale is as likely as any other."""
    values = np.linspace(0.02, 16.0, 4000)
    found = []
    for ratio in RATIOS:
        mass = np.cumsum(np.exp(-0.5 * (values - ratio) ** 2) / np.maximum(values, 0.3))
        found.append(np.interp((np.arange(DIFFERENCES) + 0.5) / DIFFERENCES, mass / mass[-1], values))
    return np.array(found)


def laplace_below(x: Any) -> Any:
    """Laplace's distribution function."""
    return np.where(x < 0.0, 0.5 * np.exp(np.minimum(x, 0.0)), 1.0 - 0.5 * np.exp(-np.maximum(x, 0.0)))


def masses(shift: float) -> FloatArray:
    """How likely each value of the release is."""
    edges = np.concatenate([[-np.inf], GRID[:-1] + STEP / 2, [np.inf]])
    return np.diff(laplace_below(edges - shift))


def capped() -> FloatArray:
    """Logarithms of all capped exponentials on the grid, with cash, normalised where there is no difference."""
    found = []
    for steep in STEEP:
        for kink in KINKS:
            pays = np.exp(-steep * np.maximum(kink - GRID, 0.0))
            found.append(np.log(CASH + (1.0 - CASH) * pays / float(masses(0.0) @ pays)))
    return np.array(found)


BELIEFS: Final = beliefs()
NONE: Final = masses(0.0)
CAPPED: Final = capped()
SEEN: Final = np.array(
    [[np.mean([masses(math.sqrt(2.0) * m * g) for g in differences], axis=0) for m in SIZES] for differences in BELIEFS]
)
"""For each ratio and size: how likely each value of the release is believed to be."""


@compiled
def cost_to_go(costs: FloatArray, ratio: float, missing: float) -> float:
    """By interpolation; nothing beyond the line."""
    if missing <= 0.0:
        return 0.0
    at = (ratio - RATIOS[0]) / (RATIOS[1] - RATIOS[0])
    i = int(min(max(math.floor(at), 0), RATIOS.size - 2))
    across = min(max(at - i, 0.0), 1.0)
    j = min(max(int(np.searchsorted(MISSING, missing)) - 1, 0), MISSING.size - 2)
    up = max((missing - MISSING[j]) / (MISSING[j + 1] - MISSING[j]), 0.0)
    low = (1.0 - up) * costs[i, j] + up * costs[i, j + 1]
    high = (1.0 - up) * costs[i + 1, j] + up * costs[i + 1, j + 1]
    return float((1.0 - across) * low + across * high)


@compiled
def ratio_after(ratio: float, m: float, release: float) -> float:
    """The ratio once a stage of this size was released."""
    return (ratio + m * release / math.sqrt(2.0)) / math.sqrt(1.0 + m * m)


@compiled
def by_thumb(size: IntArray, pays: FloatArray) -> None:
    """Most nats up to the line for the people, a little more for ending."""
    for i in range(RATIOS.size):
        for j in range(MISSING.size):
            best = -1e300
            for k in range(SIZES.size):
                for c in range(CAPPED.shape[0]):
                    total = 0.0
                    for r in range(GRID.size):
                        short = max(MISSING[j] - CAPPED[c, r], 0.0)
                        total += SEEN[i, k, r] * (MISSING[j] - short + FINISH * math.exp(-short / CLOSE))
                    if total / SIZES[k] > best:
                        best = total / SIZES[k]
                        size[i, j] = k
                        pays[i, j] = CAPPED[c]


@compiled
def sweep(costs: FloatArray, better: FloatArray, anything: bool, size: IntArray, pays: FloatArray) -> None:
    """One step of value iteration: for each state the cheapest size and pay-off, if `costs` come after it."""
    levels = np.zeros(PAID)
    after = np.zeros((GRID.size, PAID))
    chosen = np.zeros(GRID.size)
    for i in range(RATIOS.size):
        for j in range(MISSING.size):
            best = 1e300
            for k in range(SIZES.size):
                people = math.sqrt(2.0) * SIZES[k] * BELIEFS[i].mean()
                if people >= best:
                    break
                if not anything:
                    for c in range(CAPPED.shape[0]):
                        total = people
                        for r in range(GRID.size):
                            ratio = ratio_after(RATIOS[i], SIZES[k], GRID[r])
                            total += SEEN[i, k, r] * cost_to_go(costs, ratio, MISSING[j] - CAPPED[c, r])
                            if total >= best:
                                break
                        if total < best:
                            best = total
                            size[i, j] = k
                            pays[i, j] = CAPPED[c]
                    continue
                for p in range(PAID):
                    levels[p] = -3.5 + (MISSING[j] + 3.5) * p / (PAID - 1)
                for r in range(GRID.size):
                    ratio = ratio_after(RATIOS[i], SIZES[k], GRID[r])
                    for p in range(PAID):
                        after[r, p] = cost_to_go(costs, ratio, MISSING[j] - levels[p])
                low, high = math.log(1e-6), math.log(1e4)
                for _ in range(22):  # the price of a mean of 1 without a difference
                    price = math.exp(0.5 * (low + high))
                    spent = 0.0
                    total = people
                    for r in range(GRID.size):
                        least = 1e300
                        for p in range(PAID):
                            cost = SEEN[i, k, r] * after[r, p] + price * NONE[r] * math.exp(levels[p])
                            if cost < least:
                                least = cost
                                chosen[r] = levels[p]
                                left = after[r, p]
                        spent += NONE[r] * math.exp(chosen[r])
                        total += SEEN[i, k, r] * left
                    if spent > 1.0:
                        low = math.log(price)
                    else:
                        high = math.log(price)
                        if total < best:
                            best = total
                            size[i, j] = k
                            pays[i, j] = chosen
            better[i, j] = best


@compiled
def simulated(rng: np.random.Generator, size: IntArray, pays: FloatArray, first: float, runs: int) -> float:
    """Mean people times g on each arm, the first stage, which has `first`, included."""
    everybody = 0.0
    for _ in range(runs):
        precision = 0.5 * first * first
        mean = (first + rng.exponential() - rng.exponential()) / first
        missing = LINE
        people = first
        while missing > 1e-9:
            at = round((mean * math.sqrt(precision) - RATIOS[0]) / (RATIOS[1] - RATIOS[0]))
            i = int(min(max(at, 0), RATIOS.size - 1))
            j = min(int(np.searchsorted(MISSING, missing - 1e-9)), MISSING.size - 1)
            n = SIZES[size[i, j]] * math.sqrt(2.0 * precision)
            release = n + rng.exponential() - rng.exponential()
            people += n
            r = int(min(max(round((release - GRID[0]) / STEP), 0), GRID.size - 1))
            missing = min(missing - pays[i, j, r], MISSING[-1])
            mean = (mean * precision + 0.5 * n * release) / (precision + 0.5 * n * n)
            precision += 0.5 * n * n
        everybody += people
    return everybody / runs


def new_plan() -> Plan:
    """To be filled in."""
    states = (RATIOS.size, MISSING.size)
    return Plan(np.zeros(states, np.int64), np.zeros((*states, GRID.size)))


def show(name: str, plan: Plan, runs: int) -> None:
    """One line."""
    found = [f"{simulated(np.random.default_rng(1), plan.size, plan.pays, first, runs):.2f}" for first in FIRST]
    print(f"| {name} | " + " | ".join(found) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--sweeps", type=int, default=8)
    chosen = parser.parse_args()
    print(f"People on each arm times epsilon times the difference, {chosen.runs} runs; by the first stage's.\n")
    print("| sizes and bets | " + " | ".join(f"{first:g}" for first in FIRST) + " |\n|" + "---|" * (len(FIRST) + 1))
    plan = new_plan()
    by_thumb(plan.size, plan.pays)
    show("rule of thumb", plan, chosen.runs)
    costs = 10.0 + 3.0 * np.outer(np.ones(RATIOS.size), MISSING)
    for name, anything in (("the best, same bets", False), ("the best, any bet", True)):
        for _ in range(chosen.sweeps):
            better = costs.copy()
            sweep(costs, better, anything, plan.size, plan.pays)
            costs = better
        show(name, plan, chosen.runs)


if __name__ == "__main__":
    main()
