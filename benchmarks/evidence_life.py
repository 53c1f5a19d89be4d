"""Coin evidence as life would have it: a stated difference beside the fixed design, late outcomes, near ties, drift.

Run from the project's root: python -m benchmarks.evidence_life [--runs 200] [--error-runs 5000] [PART ...]
with parts `pair`, `difference`, `twice`, `late`, `edges` and `drift`; all of them if none is named.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import bestarm as ba
from bestarm.instance import Instance
from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.catalogue import CATALOGUE
from bestarm.policy.numbers import Numbers
from bestarm.release.laws import pure_law
from bestarm.simulation.compiled import make_entry_point
from bestarm.simulation.people import World, draw_blur, draw_release, noise_of, people_of, world_of

CAP = 10**13
SIX = (
    ((0.035, 0.03, 0.03, 0.03, 0.03), 1.0, 0.05),
    ((0.45, 0.3, 0.3, 0.3, 0.3), 1.0, 0.05),
    ((0.45, 0.3, 0.3, 0.3, 0.3), 0.1, 0.05),
    ((0.55, 0.5), 1.0, 0.05),
    ((0.75, 0.7, 0.7, 0.7, 0.7), 0.01, 0.01),
    ((0.75, 0.7, 0.7, 0.7, 0.7), 1.0, 0.01),
)
"""Means whose gap is exactly the difference that matters, epsilon, delta."""


def pair(runs: int) -> None:
    """Two arms, nothing stated: people over the refined bound."""
    print("\n| means | eps | people | over the bound | wrong |\n|---|---|---|---|---|")
    for epsilon in (0.001, 0.1, 1.0):
        means = (0.75, 0.7)
        found = ba.simulate("evidence", means=means, epsilon=epsilon, runs=runs, seed=11, max_samples=CAP).summary()
        bound = ba.bounds(means=means, epsilon=epsilon, delta=0.01).lower_bound_refined
        ratio, error = found.mean_samples / bound, found.standard_error / bound
        wrong = round(found.error_rate * runs)
        print(f"| {means} | {epsilon:g} | {found.mean_samples:.4g} | {ratio:.2f} ± {error:.2f} | {wrong} |", flush=True)


def beside_fixed(means: tuple[float, ...], epsilon: float, delta: float, g: float, runs: int) -> None:
    """One line: people over the fixed design with the same promise, mean and 90%."""
    options: dict[str, Any] = {"means": means, "epsilon": epsilon, "delta": delta, "difference": g, "seed": 12}
    found = ba.simulate("evidence", runs=runs, max_samples=CAP, **options).summary()
    # The fixed design has to keep its promise at the gap g, whatever the gap really is.
    planned = options | {"means": (min(means) + g, *[min(means)] * (len(means) - 1))}
    fixed = ba.simulate("fixed", runs=1, max_samples=CAP, **planned).summary().mean_samples
    ratio, error = found.mean_samples / fixed, found.standard_error / fixed
    print(
        f"| {means} | {g:g} | {epsilon:g} | {delta:g} | {fixed:.5g} | {ratio:.2f} ± {error:.2f} "
        f"| {found.p90_samples / fixed:.2f} | {round(found.error_rate * runs)} | {found.undecided} |",
        flush=True,
    )


HEADER = "\n| means | g | eps | delta | fixed | mean / fixed | 90% / fixed | wrong | undecided |\n|" + "---|" * 9


def difference(runs: int) -> None:
    """The gap is exactly the difference that matters."""
    print(HEADER)
    for means, epsilon, delta in SIX:
        beside_fixed(means, epsilon, delta, round(means[0] - means[1], 6), runs)


def twice(runs: int) -> None:
    """The gap is twice the difference that matters."""
    print(HEADER)
    for means in ((0.6, 0.5), (0.8, 0.7, 0.7, 0.7, 0.7)):
        for epsilon in (1.0, 0.01):
            beside_fixed(means, epsilon, 0.01, 0.05, runs)


def late(runs: int) -> None:
    """Outcomes that are known only once so many more people have been enrolled."""
    print(
        "\n| means | eps | people without delay | outstanding / that | people / (that + outstanding) "
        "| the same if it were known which arms need how many |\n|" + "---|" * 6
    )
    for means, epsilon in (((0.6, 0.5, 0.45, 0.4, 0.3), 1.0), ((0.75, 0.7), 1.0), ((0.75, 0.7, 0.7, 0.7, 0.7), 0.1)):
        options: dict[str, Any] = {"means": means, "epsilon": epsilon, "delta": 0.05, "runs": runs, "seed": 13}
        undelayed = ba.simulate("evidence", max_samples=CAP, **options)
        plain = undelayed.summary().mean_samples
        for share in (0.3, 1.0, 3.0):
            # A person a minute: as many are enrolled while an outcome is awaited as the follow-up has minutes.
            outstanding = round(share * plain)
            waiting: dict[str, Any] = {"enrol": 24 * 60, "follow_up": f"{outstanding + 1}m"}
            found = ba.simulate("evidence", max_samples=CAP, **options, **waiting).summary()
            ratio, error = (x / (plain + outstanding) for x in (found.mean_samples, found.standard_error))
            least = (least_used(undelayed.per_arm, outstanding) + outstanding) / (plain + outstanding)
            shown = f"{ratio:.2f} ± {error:.2f} | {least:.2f}"
            print(f"| {means} | {epsilon:g} | {plain:.4g} | {share:g} | {shown} |", flush=True)


def least_used(per_arm: Any, outstanding: float) -> float:
    """People whose outcomes are used if every arm needs as many of them as in the same run without delay, and all are
    placed where they are needed once the first outcome is known; until then all arms get the same, needed or not. The
    two arms that take longest would need the same pair of sizes made equal."""
    needed = np.asarray(per_arm, float)
    arms = needed.shape[1]
    second, first = np.sort(needed, axis=1)[:, -2:].T
    equal = arms * 2.0 / (1.0 / first + 1.0 / second)
    later = outstanding + np.maximum(needed - outstanding / arms, 0.0).sum(axis=1)
    return float(np.where(equal <= outstanding, equal, later).mean())


def edges(runs: int) -> None:
    """Cases that never ended once, or took ever more than the bound."""
    print("\n| means | eps | people | over the bound | wrong | undecided | ms a run |\n|" + "---|" * 7)
    cases = (
        ((0.5 + 1e-6, 0.5), 10.0),
        ((9e-8, 0.0), 10.0),
        ((1.0, 1 - 5e-8), 10.0),
        ((0.6, *[0.55] * 19), 1.0),
        ((0.6, *[0.5] * 49), 0.1),
        ((0.5, 0.502, 0.504, 0.506, 0.508, 0.53), 1.0),
        ((0.0, 0.001, 0.004, 0.02), 1.0),
        ((0.999, 0.99, 0.995, 0.97), 0.1),
    )
    for means, epsilon in cases:
        count = max(10, runs // 4)
        found = ba.simulate("evidence", means=means, epsilon=epsilon, runs=count, seed=14, max_samples=10**15).summary()
        ratio = found.mean_samples / ba.bounds(means=means, epsilon=epsilon, delta=0.01).lower_bound_refined
        shown = f"{len(means)} arms: {means[0]:g}, {means[1]:g}, ..."
        print(
            f"| {shown} | {epsilon:g} | {found.mean_samples:.4g} | {ratio:.2f} | {round(found.error_rate * count)} of "
            f"{count} | {found.undecided} | {1e3 * found.seconds / count:.1f} |",
            flush=True,
        )


class Scene(NamedTuple):
    """Where the least difference is that makes a verdict wrong, and what life does to it."""

    means: tuple[float, ...]
    difference: float
    trend: str | None = None
    outstanding: int = 0
    missing: tuple[float, ...] | None = None
    """Share of outcomes that never come, by arm; they count against the finding."""


TRENDS = (None, "linear:0.3", "step:0.3", "bump:0.3", "season:0.3")
SCENES = (
    *[Scene((0.5, 0.4, 0.4), 0.1, trend) for trend in TRENDS],
    Scene((0.5, 0.4, 0.4), 0.1, "linear:0.3", 300),
    Scene((0.5, 0.4, 0.4), 0.1, None, 0, (0.1, 0.0, 0.0)),
    Scene((0.5, 0.4, 0.4), 0.1, None, 0, (0.0, 0.1, 0.05)),
    *[Scene((0.502, 0.5), 0.0, trend) for trend in TRENDS],
    Scene((0.502, 0.5), 0.0, "season:0.3", 300),
    Scene((0.502, 0.5), 0.0, None, 0, (0.05, 0.0)),
)


def drift(runs: int) -> None:
    """Error rates at delta = 0.2 where all arms are alike but for the least difference that makes a verdict wrong."""
    print("\n| means | difference | trend | outstanding | missing | wrong | of | undecided |\n|" + "---|" * 8)
    for scene in SCENES:
        waiting: dict[str, Any] = {}
        if scene.outstanding:
            waiting = {"enrol": 24 * 60, "follow_up": f"{scene.outstanding + 1}m"}
        if scene.missing:
            waiting |= {"missing": scene.missing, "withdrawal": "against"}
        options: dict[str, Any] = {"means": scene.means, "epsilon": 1.0, "delta": 0.2, "difference": scene.difference}
        found = ba.simulate("evidence", runs=runs, seed=15, max_samples=6000, trend=scene.trend, **options, **waiting)
        summary = found.summary()
        print(
            f"| {scene.means} | {scene.difference:g} | {scene.trend or 'none'} | {scene.outstanding} | "
            f"{scene.missing or 'none'} | {round(summary.error_rate * runs)} | {runs} | {summary.undecided} |",
            flush=True,
        )
    households(runs)


HOUSEHOLD = 2


def households(runs: int) -> None:
    """The same where two people enrolled one after the other share what decides their outcomes."""
    algorithm = CATALOGUE["evidence"]

    def count(rng: np.random.Generator, world: World, arm: int, size: int, at: float) -> float:
        # One person at a time; the first of a household draws the cause, which the second finds.
        if int(at) % HOUSEHOLD == 0:
            world.changes.levels[0, 0] = rng.random()
        return 1.0 if world.changes.levels[0, 0] < world.people.mean[arm] else 0.0

    run = make_entry_point(algorithm, {"draw": draw_release, "count": count, "blur": draw_blur}, cached=False)
    for means, g in (((0.5, 0.4, 0.4), 0.1), ((0.502, 0.5), 0.0)):
        law = pure_law(1.0)
        constants = algorithm.constants(Numbers(len(means), 0.2, law, g))
        world = world_of(people_of(Instance.bernoulli(means), False), noise_of(law))._replace(longest_step=1)
        per_arm = np.zeros(len(means), np.int64)
        found = [run(np.random.default_rng([16, r]), world, constants, 6000, per_arm)[1] for r in range(runs)]
        undecided = sum(arm == UNDECIDED for arm in found)
        wrong = sum(arm != UNDECIDED and means[arm] <= max(means) - max(g, 1e-9) for arm in found)
        print(f"| {means} | {g:g} | households | 0 | none | {wrong} | {runs} | {undecided} |", flush=True)


PARTS: dict[str, Callable[[int], None]] = {
    "pair": pair,
    "difference": difference,
    "twice": twice,
    "late": late,
    "edges": edges,
    "drift": drift,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--error-runs", type=int, default=5000)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    chosen = parser.parse_args()
    for name in chosen.parts or PARTS:
        print(f"\n{PARTS[name].__doc__} {chosen.error_runs if name == 'drift' else chosen.runs} runs.")
        PARTS[name](chosen.error_runs if name == "drift" else chosen.runs)


if __name__ == "__main__":
    main()
