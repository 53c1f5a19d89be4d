"""The cost-of-privacy curve as a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bestarm.files import replacing
from bestarm.planning.planner import FREE_WITHIN, Plan
from bestarm.release import Privacy
from bestarm.theory import lower_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, each with its own line style, so that print and the colour-blind lose nothing.
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"


def draw_plan(plan: Plan, path: Path) -> None:
    """Write the figure as a PNG, whole or not at all."""
    with replacing(path) as temporary:
        figure_of(plan).savefig(temporary, dpi=160, format="png")


def figure_of(plan: Plan) -> Figure:
    """The figure itself, for a notebook to show."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Canvas(figsize=(8.0, 6.0), layout="constrained")
        axes = figure.subplots()
        _draw_curves(axes, plan)
        _mark_regimes(axes, plan)
        _mark_people(axes, plan)
        axes.set_xlabel("privacy budget ε  (left: more privacy)")
        axes.set_ylabel("participants")
        means = ", ".join(f"{mean:g}" for mean in plan.means[:8]) + (", ..." if len(plan.means) > 8 else "")
        axes.set_title(f"What privacy costs: means ({means}), δ = {plan.delta:g}, {plan.algorithm}", fontsize=11)
        figure.legend(frameon=False, fontsize=9.5, loc="outside lower center", ncols=2)
    return figure


def _draw_curves(axes: Axes, plan: Plan) -> None:
    budgets = [point.epsilon for point in plan.by_epsilon]
    expected = np.array([point.expected_samples for point in plan.by_epsilon])
    p90 = [point.p90_samples for point in plan.by_epsilon]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot(budgets, p90, color=VERMILION, linestyle="--", marker="^", label="9 trials in 10 end within")
    axes.errorbar(
        budgets,
        expected,
        yerr=[2 * point.standard_error for point in plan.by_epsilon],
        color=BLUE,
        marker="o",
        capsize=3,
        label=f"on average (± 2 standard errors, {plan.runs} simulated trials)",
    )
    if plan.lower_bound_refined:  # a risk of 1/2 or more can be had for nothing, which no log scale shows
        fine = np.geomspace(budgets[0], budgets[-1], 80).tolist()
        privacy = [Privacy.of(plan.privacy, epsilon) for epsilon in fine]
        bound = [lower_bound(plan.unit_means, one, plan.delta) or 0.0 for one in privacy]
        axes.plot(fine, bound, color="black", linestyle="-.", label="no method can do with fewer (refined bound)")
    if plan.fixed_samples is not None:
        axes.plot(
            [plan.epsilon],
            [plan.fixed_samples],
            marker="s",
            color=GREEN,
            linestyle="none",
            label="fixed design with the same promise",
        )
    axes.axhline(plan.without_privacy, color=GREY, linestyle=":", label="same design, no privacy")


def _mark_regimes(axes: Axes, plan: Plan) -> None:
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    axes.set_xlim(low, high)
    axes.set_ylim(bottom / (top / bottom) ** 0.12, top)  # room for the labels, below all curves
    label: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "fontsize": 9.5, "va": "bottom"}
    if plan.regime_epsilon is not None and plan.regime_epsilon > low:
        axes.axvspan(low, min(plan.regime_epsilon, high), color="#E69F00", alpha=0.16, linewidth=0)
        axes.text(low * 1.06, 0.02, "high-privacy\nregime", color="#7A5200", **label)
    if plan.free_epsilon is not None:
        axes.axvline(plan.free_epsilon, color=GREEN, linestyle=(0, (1, 1)), linewidth=2)
        right = plan.free_epsilon > (low * high) ** 0.5
        axes.text(
            plan.free_epsilon * (0.93 if right else 1.08),
            0.02,
            f"privacy is free from here\n(adds at most {100 * FREE_WITHIN:g} %)",
            color="#00664B",
            ha="right" if right else "left",
            **label,
        )


def _mark_people(axes: Axes, plan: Plan) -> None:
    axes.plot(
        [plan.epsilon],
        [plan.expected_samples],
        marker="o",
        markersize=13,
        fillstyle="none",
        color=BLUE,
        linestyle="none",
        label=f"this plan: ε = {plan.epsilon:g}",
    )
    if plan.participants is not None:
        axes.axhline(plan.participants, color="black", linewidth=1, label=f"{plan.participants:,} participants")
        if plan.smallest_epsilon is not None:
            axes.plot(
                [plan.smallest_epsilon],
                [plan.participants],
                marker="D",
                color="black",
                linestyle="none",
                label=f"strongest privacy they afford: ε = {plan.smallest_epsilon:g}",
            )
