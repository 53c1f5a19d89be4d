"""Draws docs/figures/models.png, what each model of privacy costs in people, and prints its tables (docs/regimes.md).

Run: python docs/figures/models.py
Left: exact sizes of the fixed design, by convolution. Right: means of simulated trials of coin evidence. Distributed
noise sums to the central model's, so that one line stands for both.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

import bestarm as ba
from bestarm.release.laws import Law, local_law, no_privacy, pure_law, shuffle_law
from bestarm.release.shuffle import flip_for
from bestarm.theory.fixed import fixed_size

ARMS, BASE, DIFFERENCE, DELTA = 5, 0.3, 0.1, 0.05
PRIVACY_DELTA = Fraction(1, 10**6)
LARGEST = 4096
"""A group of so many is enough at every budget here."""
BUDGETS = ("0.1", "0.2", "0.5", "1", "2", "4")
MEANS = (0.45, 0.35, 0.3, 0.25, 0.2)
"""The five arms of the page's first figure."""
RUNS, SEED = 200, 1
STYLES = {
    "none": ("#555555", ":", None),
    "central, distributed": ("#0072B2", "-", "o"),
    "shuffled": ("#009E73", "--", "s"),
    "local": ("#D55E00", "-.", "^"),
}


def people(law: Law) -> int:
    """People of one arm."""
    return fixed_size(ARMS, BASE, DIFFERENCE, DELTA, law)


def people_shuffled(budget: str) -> int:
    """The smallest group that is as large as the design it makes possible: more people are flipped less."""
    low, high = 2, LARGEST
    while low + 1 < high:
        middle = (low + high) // 2
        flip = float(flip_for(middle, Fraction(budget), PRIVACY_DELTA))
        if people(shuffle_law(float(budget), flip, middle)) <= middle:
            high = middle
        else:
            low = middle
    return high


def measured(model: str, budget: str) -> tuple[float, int]:
    """Mean people of coin evidence, and how many of the runs were wrong."""
    privacy = {"none": "none", "central, distributed": "pure", "shuffled": "shuffle", "local": "local"}[model]
    delta = {"privacy_delta": PRIVACY_DELTA} if privacy == "shuffle" else {}
    found = ba.simulate(
        "evidence", means=MEANS, epsilon=float(budget), delta=DELTA, privacy=privacy, runs=RUNS, seed=SEED, **delta
    ).summary()
    return found.mean_samples, round(found.error_rate * RUNS)


def main() -> None:
    """Compute, print, draw."""
    sizes = {
        "none": [people(no_privacy())] * len(BUDGETS),
        "central, distributed": [people(pure_law(float(budget))) for budget in BUDGETS],
        "shuffled": [people_shuffled(budget) for budget in BUDGETS],
        "local": [people(local_law(float(budget))) for budget in BUDGETS],
    }
    fixed = {model: [float(ARMS * n) for n in row] for model, row in sizes.items()}
    trials = {model: [measured(model, budget) for budget in BUDGETS] for model in STYLES}
    tell("the fixed design, exactly", {model: [f"{n:,.0f}" for n in row] for model, row in fixed.items()})
    tell(
        f"coin evidence, mean of {RUNS} runs (wrong)",
        {model: [f"{n:,.0f} ({wrong})" for n, wrong in row] for model, row in trials.items()},
    )
    figure, axes = plt.subplots(1, 2, figsize=(10.4, 4.2), sharey=True)
    draw(axes[0], fixed, "the fixed design (exact)")
    draw(axes[1], {model: [n for n, _ in row] for model, row in trials.items()}, f"coin evidence (mean of {RUNS} runs)")
    axes[0].set_ylabel("participants")
    axes[1].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)


def tell(title: str, rows: dict[str, list[str]]) -> None:
    """Print a table."""
    print(f"| {title} | " + " | ".join(f"ε = {budget}" for budget in BUDGETS) + " |")
    for model, row in rows.items():
        print(f"| {model} | " + " | ".join(row) + " |")


def draw(axis: Axes, rows: dict[str, list[float]], title: str) -> None:
    """A panel: people against the budget."""
    for model, row in rows.items():
        colour, line, mark = STYLES[model]
        axis.loglog([float(b) for b in BUDGETS], row, color=colour, linestyle=line, marker=mark, label=model)
    axis.set_title(title)
    axis.set_xlabel("privacy budget ε  (left: more privacy)")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(visible=True, alpha=0.25)


if __name__ == "__main__":
    main()
