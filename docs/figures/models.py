"""Draws docs/figures/models.png, what each model of privacy costs in people, and prints its table (docs/regimes.md).

Run: python docs/figures/models.py
Exact sizes of the fixed design, by convolution; nothing is simulated.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from bestarm.release.laws import Law, local_law, no_privacy, pure_law, shuffle_law
from bestarm.release.shuffle import flip_for
from bestarm.theory.fixed import fixed_size

ARMS, BASE, DIFFERENCE, DELTA = 5, 0.3, 0.1, 0.05
PRIVACY_DELTA = Fraction(1, 10**6)
LARGEST = 4096
"""A group of so many is enough at every budget here."""
BUDGETS = ("0.1", "0.2", "0.5", "1", "2", "4")
STYLES = {
    "none": ("#555555", ":", None),
    "central": ("#0072B2", "-", "o"),
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


def main() -> None:
    """Compute, print, draw."""
    sizes = {
        "none": [people(no_privacy())] * len(BUDGETS),
        "central": [people(pure_law(float(budget))) for budget in BUDGETS],
        "shuffled": [people_shuffled(budget) for budget in BUDGETS],
        "local": [people(local_law(float(budget))) for budget in BUDGETS],
    }
    print("| model | " + " | ".join(f"ε = {budget}" for budget in BUDGETS) + " |")
    for model, row in sizes.items():
        print(f"| {model} | " + " | ".join(f"{ARMS * n:,}" for n in row) + " |")
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    for model, row in sizes.items():
        colour, line, mark = STYLES[model]
        x = [float(budget) for budget in BUDGETS]
        axes.loglog(x, [ARMS * n for n in row], color=colour, linestyle=line, marker=mark, label=model)
    axes.set_xlabel("privacy budget ε  (left: more privacy)")
    axes.set_ylabel("participants of the fixed design")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, alpha=0.25)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)


if __name__ == "__main__":
    main()
