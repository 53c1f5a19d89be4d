"""Draws docs/figures/regimes.png, the figure of docs/regimes.md, from the theory alone.

Run: python docs/figures/regimes.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from bestarm.theory import bounds, refined_time, tv_time
from bestarm.theory.bounds import refined_nats

MEANS = (0.45, 0.35, 0.3, 0.25, 0.2)
DELTA = 0.01
BLUE, VERMILION, GREEN, ORANGE, GREY = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#555555"


def draw_cost(axes: Axes) -> None:
    """Lower bounds on the expected number of participants against the privacy budget."""
    budgets = np.geomspace(1e-3, 10, 161)
    every = [bounds(MEANS, float(epsilon), DELTA) for epsilon in budgets]
    one = every[0]
    chance, privacy = one.t_kl * refined_nats(DELTA), one.t_tv * refined_nats(DELTA)
    axes.loglog(budgets, [b.lower_bound_refined for b in every], color=BLUE, linewidth=2.6, label="refined bound")
    axes.loglog(budgets, [b.lower_bound for b in every], color=VERMILION, linestyle="--", label="Theorem 2")
    axes.loglog(budgets, [b.lower_bound_corollary for b in every], color="black", linestyle=":", label="Corollary")
    axes.axhline(chance, color=GREY, linewidth=1)
    axes.text(9.5, chance * 1.12, "price of chance:\nT*_KL · kl(1−δ, δ)", color=GREY, fontsize=9, ha="right")
    steep = budgets[budgets < 0.2]
    axes.loglog(steep, privacy / steep, color=GREY, linewidth=1)
    axes.text(0.027, privacy / 0.03 * 1.3, "price of privacy:\nT*_TV/ε · kl(1−δ, δ)", color=GREY, fontsize=8.5)
    axes.axvspan(budgets[0], one.regime_epsilon, color=ORANGE, alpha=0.16, linewidth=0)
    free = next(float(epsilon) for epsilon, b in zip(budgets, every, strict=True) if b.t_refined <= 1.05 * b.t_kl)
    axes.axvline(free, color=GREEN, linestyle=(0, (1, 1)), linewidth=2)
    axes.text(one.regime_epsilon * 0.9, 75, "high-privacy\nregime", color="#7A5200", fontsize=9, ha="right")
    axes.text(free * 1.1, 75, f"privacy is free\n(within 5 %)\nfrom ε = {free:.2f}", color="#00664B", fontsize=9)
    axes.set_xlim(budgets[0], budgets[-1])
    axes.set_ylim(60, None)
    axes.set_ylabel("participants needed on average, at least")
    axes.set_title("What it must cost", fontsize=11)
    axes.legend(facecolor="white", framealpha=1, edgecolor="none", fontsize=9, loc="upper right")


def draw_allocation(axes: Axes) -> None:
    """The refined bound's optimal shares against the privacy budget."""
    budgets = np.geomspace(1e-3, 10, 161)
    shares = np.array([refined_time(MEANS, float(epsilon)).weights for epsilon in budgets])
    styles = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
    for arm, (colour, style) in enumerate(zip((BLUE, VERMILION, GREEN, "black", "#CC79A7"), styles, strict=True)):
        axes.semilogx(budgets, 100 * shares[:, arm], color=colour, linestyle=style, linewidth=2)
        axes.text(10.8, 100 * shares[-1, arm], f"mean {MEANS[arm]:g}", color=colour, fontsize=9, va="center")
        axes.plot([budgets[0]], [100 * tv_time(MEANS).weights[arm]], marker="o", color=colour, clip_on=False)
    axes.set_xlim(budgets[0], budgets[-1])
    axes.set_ylim(0, None)
    axes.set_ylabel("share of the participants, %")
    axes.set_title("Where they should go (dots: privacy alone)", fontsize=11)


def main() -> None:
    with plt.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
        draw_cost(left)
        draw_allocation(right)
        for axes in (left, right):
            axes.set_xlabel("privacy budget ε  (left: more privacy)")
        means = ", ".join(f"{mean:g}" for mean in MEANS)
        figure.suptitle(f"Five arms with means ({means}), risk δ = {DELTA:g}", fontsize=11)
        figure.savefig(Path(__file__).with_name("regimes.png"), dpi=150)


if __name__ == "__main__":
    main()
