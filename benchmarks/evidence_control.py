"""Arms compared with control: wrong answers on either line, and people beside the fixed design with the same promises.

Run from the project's root: python -m benchmarks.evidence_control [--runs 400] [--error-runs 5000] [PART ...]
with parts `errors`, `people` and `rare`; all of them if none is named.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import bestarm as ba
from bestarm.release.laws import Law, no_privacy, pure_law
from bestarm.theory.fixed import fixed_people
from bestarm.theory.fixed_control import fixed_control_size

CAP = 10**7
TRENDS = (None, "linear:0.3", "step:0.3", "bump:0.3", "season:0.3")
LINES: tuple[tuple[str, tuple[float, ...], float], ...] = (
    ("an arm called better, none is", (0.4, 0.4), 0.1),
    ("an arm called better, none of nine is", (0.4,) * 10, 0.1),
    ("none, one arm is better by just g", (0.4, 0.5, 0.4), 0.1),
    ("an arm called not worse, all are by just the margin", (0.5, 0.4, 0.4), -0.1),
    ("none, one arm is just as good", (0.4, 0.4, 0.2), -0.1),
)
"""What would be wrong, means with control first, the difference."""
SETTINGS: tuple[tuple[tuple[float, ...], float, float], ...] = (
    ((0.3, 0.4), 0.1, 1.0),
    ((0.3, 0.3), 0.1, 1.0),
    ((0.3, 0.4, 0.3, 0.3, 0.3), 0.1, 1.0),
    ((0.3,) * 5, 0.1, 1.0),
    ((0.3, 0.4), 0.1, 0.05),
    ((0.3, 0.3), 0.1, 0.05),
    ((0.5, 0.55), 0.05, 1.0),
    ((0.05, 0.1), 0.05, 1.0),
    ((0.05, 0.05), 0.05, 1.0),
    ((0.3, 0.3), -0.1, 1.0),
    ((0.3, 0.2), -0.1, 1.0),
)
RARE: tuple[tuple[tuple[float, ...], float], ...] = (
    ((0.05, 0.02), 0.03),
    ((0.05, 0.02, 0.02, 0.02, 0.02), 0.03),
    ((0.03, 0.03), 0.06),
    ((0.98, 0.95), 0.03),
    ((0.98, 0.95, 0.95, 0.95, 0.95), 0.03),
)


def errors(runs: int) -> None:
    """Wrong answers on either line at delta = .2, trends included."""
    print("\n| wrong would be | means | g | trend | wrong | promised at most |\n|" + "---|" * 6)
    for what, means, g in LINES:
        for trend in TRENDS if len(means) < 10 else TRENDS[:2]:
            options: dict[str, Any] = {"control": 0, "difference": g, "delta": 0.2, "epsilon": 1, "trend": trend}
            found = ba.simulate("evidence", means=means, runs=runs, seed=21, max_samples=CAP, **options)
            wrong = int(found.wrong.sum())
            print(f"| {what} | {means} | {g:g} | {trend or '–'} | {wrong} | {round(0.2 * runs)} |", flush=True)


def people(runs: int) -> None:
    """Beside the fixed design that compares once, both risks .05."""
    print("\n| means | g | eps | people | fixed | mean / fixed | 90% / fixed | none | wrong |\n|" + "---|" * 9)
    for means, g, epsilon in SETTINGS:
        options: dict[str, Any] = {"control": 0, "difference": g, "delta": 0.05, "epsilon": epsilon}
        found = ba.simulate("evidence", means=means, runs=runs, seed=22, max_samples=CAP, **options).summary()
        arms = len(means)
        fixed = arms * fixed_control_size(arms, means[0], g, (0.05, 0.05), pure_law(epsilon))
        ratio, error = found.mean_samples / fixed, found.standard_error / fixed
        print(
            f"| {means} | {g:g} | {epsilon:g} | {found.mean_samples:,.0f} | {fixed:,} | {ratio:.2f} ± {error:.2f} "
            f"| {found.p90_samples / fixed:.2f} | {found.none or 0:.2f} | {round(found.error_rate * runs)} |",
            flush=True,
        )


def rare(runs: int) -> None:
    """The best arm where the difference is of the size of the rates, or of the failures, beside the fixed design."""
    print("\n| means | g | eps | people | fixed | mean / fixed | wrong | undecided |\n|" + "---|" * 8)
    for means, g in RARE:
        for epsilon in (1.0, 10.0, None):
            law: Law = no_privacy() if epsilon is None else pure_law(epsilon)
            model = {"privacy": "none"} if epsilon is None else {"epsilon": epsilon}
            options: dict[str, Any] = {"difference": g, "delta": 0.05, "max_samples": 10**6} | model
            found = ba.simulate("evidence", means=means, runs=runs, seed=23, **options).summary()
            fixed = fixed_people(len(means), min(min(means), 1 - g), g, 0.05, law)
            print(
                f"| {means} | {g:g} | {epsilon or 'none'} | {found.mean_samples:,.0f} | {fixed:,} "
                f"| {found.mean_samples / fixed:.2f} | {round(found.error_rate * runs)} | {found.undecided} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--error-runs", type=int, default=5000)
    parser.add_argument("parts", nargs="*", metavar="PART")
    chosen = parser.parse_args()
    parts: dict[str, tuple[Callable[[int], None], int]] = {
        "errors": (errors, chosen.error_runs),
        "people": (people, chosen.runs),
        "rare": (rare, chosen.runs),
    }
    for name in chosen.parts or parts:
        measure, runs = parts[name]
        measure(runs)


if __name__ == "__main__":
    main()
