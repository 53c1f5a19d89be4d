"""A hard end: how large a trial must be to always end, what that costs on average, and how often it is wrong.

Run from the project's root: python -m benchmarks.hard_end [--runs 2000] [--error-runs 5000] [PART ...]
with parts `sizes`, `people` and `errors`; all of them if none is named.
"""

from __future__ import annotations

import argparse
from typing import Any

import bestarm as ba
from bestarm.design import Design
from bestarm.theory.fixed import fixed_people
from bestarm.theory.ladder import fewest
from bestarm.theory.walk import Band

Setting = tuple[tuple[float, ...], float, float, float, tuple[float, float] | None]
SETTINGS: tuple[Setting, ...] = (
    ((0.525, 0.475), 0.05, 1.0, 0.05, None),
    ((0.525, 0.475), 0.05, 1.0, 0.01, None),
    ((0.525, 0.475), 0.05, 0.1, 0.05, None),
    ((0.525, 0.475), 0.05, 0.01, 0.01, None),
    ((0.55, 0.45), 0.1, 1.0, 0.2, None),
    ((0.75, 0.7), 0.05, 1.0, 0.05, None),
    ((0.75, 0.7), 0.05, 1.0, 0.05, (0.65, 0.8)),
    ((0.035, 0.03), 0.005, 1.0, 0.05, (0.03, 0.035)),
    ((0.035, 0.03), 0.005, 1.0, 0.05, (0.02, 0.05)),
    ((0.575, 0.425, 0.425, 0.425, 0.425), 0.15, 1.0, 0.05, None),
    ((0.525, 0.475, 0.475, 0.475, 0.475), 0.05, 1.0, 0.01, None),
    ((0.75, 0.7, 0.7, 0.7, 0.7), 0.05, 1.0, 0.01, (0.65, 0.8)),
)
"""Means a smallest difference apart, that difference, epsilon, delta, the band that is assumed."""


def designed(setting: Setting) -> Design:
    """The design with a hard end."""
    means, g, epsilon, delta, band = setting
    return Design.make(
        arms=len(means), epsilon=epsilon, delta=delta, difference=g, outcomes="binary", hard_end=True, rates=band
    )


def named(setting: Setting) -> str:
    """The first cells of a line."""
    means, g, epsilon, delta, band = setting
    assumed = "nothing" if band is None else f"rates in {list(band)}"
    others = f"{means[1]:g}" + (f" x {len(means) - 1}" if len(means) > 2 else "")
    return f"| {means[0]:g}, {others} | {g:g} | {epsilon:g} | {delta:g} | {assumed} |"


def sizes(runs: int) -> None:
    """The people by which it always ends, over the fixed design whose base rate is guessed right."""
    print("\n| means | g | eps | delta | assumed | N_max | over the fixed design | stages | one stage only |")
    print("|" + "---|" * 9)
    for setting in SETTINGS:
        means, g, _, delta, _ = setting
        design = designed(setting)
        ending = design.hard_end
        assert ending is not None
        fixed = fixed_people(len(means), min(means), g, delta, design.law)
        band = None if setting[4] is None else Band(*setting[4])
        least = fewest(len(means), g, delta, design.law, band)
        over = f"{ending.people / fixed:.2f}"
        print(f"{named(setting)} {ending.people} | {over} | {len(ending.stages)} | {least / fixed:.2f} |", flush=True)


def people(runs: int) -> None:
    """Mean people with and without a hard end, at the difference that matters, at twice that, and without any."""
    print("\n| means | g | eps | delta | assumed | gap | with, over fixed | without (mean, 90%) | with / without |")
    print("|" + "---|" * 9)
    for setting in SETTINGS:
        means, g, epsilon, delta, band = setting
        fixed = fixed_people(len(means), min(means), g, delta, designed(setting).law)
        for times in (1, 2, 0):
            now = (round(min(means) + times * g, 6), *means[1:])
            if band is not None and now[0] > band[1]:
                continue
            options: dict[str, Any] = {"means": now, "epsilon": epsilon, "delta": delta, "difference": g, "seed": 41}
            end = ba.simulate("evidence", runs=runs, hard_end=True, rates=band, **options).summary()
            free = ba.simulate("evidence", runs=runs, max_samples=10**13, **options).summary()
            assert end.undecided == 0
            print(
                f"{named(setting)} {times} g | {end.mean_samples / fixed:.2f} | {free.mean_samples / fixed:.2f}, "
                f"{free.p90_samples / fixed:.2f} | {end.mean_samples / free.mean_samples:.2f} |",
                flush=True,
            )


TRENDS = (None, "linear:0.3", "step:0.3", "bump:0.3", "season:0.3")
EDGE: tuple[tuple[tuple[float, ...], float, float, tuple[float, float] | None, tuple[str | None, ...]], ...] = (
    ((0.3, 0.4), 0.1, 0.2, None, TRENDS),
    ((0.3, 0.3, 0.4), 0.1, 0.2, None, TRENDS),
    ((0.3, 0.4), 0.1, 0.05, None, TRENDS),
    ((0.05, 0.15), 0.1, 0.2, (0.05, 0.25), (None, "linear:0.1", "bump:0.1")),
    ((0.05, 0.15), 0.1, 0.05, (0.05, 0.25), (None, "linear:0.1", "bump:0.1")),
)
"""At the edge of the zone, within what is assumed: means, g, delta, band, trends. Draws go to the first arm, which is
wrong."""


def errors(runs: int) -> None:
    """Wrong verdicts at the edge of the zone, where the computed chance is the worst that can be."""
    print("\n| means | g | delta | assumed | what happens | wrong | allowed | undecided | a fifth outstanding |")
    print("|" + "---|" * 9)
    for means, g, delta, band, trends in EDGE:
        for trend in trends:
            options: dict[str, Any] = {"epsilon": 1.0, "delta": delta, "difference": g, "seed": 43, "runs": runs}
            options |= {"means": means, "hard_end": True, "rates": band}
            now = ba.simulate("evidence", trend=trend, **options).summary()
            most = designed((means, g, 1.0, delta, band)).max_participants
            assert most is not None
            late = ba.simulate(
                "evidence", trend=trend, enrol=float(most), follow_up=f"{round(0.2 * 86400)}s", **options
            ).summary()
            assumed = "nothing" if band is None else f"rates in {list(band)}"
            shown = ", ".join(f"{mean:g}" for mean in means)
            wrong, later = round(now.error_rate * runs), round(late.error_rate * runs)
            print(
                f"| {shown} | {g:g} | {delta:g} | {assumed} | {trend or 'nothing'} | {wrong} "
                f"| {delta * runs:g} | {now.undecided + late.undecided} | {later} |",
                flush=True,
            )


def main() -> None:
    parts = {"sizes": sizes, "people": people, "errors": errors}
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--error-runs", type=int, default=5000)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    chosen = parser.parse_args()
    for name in chosen.parts or parts:
        parts[name](chosen.error_runs if name == "errors" else chosen.runs)


if __name__ == "__main__":
    main()
