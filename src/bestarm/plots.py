"""Figures. Colours are told apart by the colour-blind and, with line styles and markers, in print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bestarm.files import replacing
from bestarm.instance import PAPER_MEANS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Okabe and Ito's palette; the order of this table is the order of the legend.
STYLES: Final[dict[str, dict[str, Any]]] = {
    "evidence": {"color": "#0072B2", "marker": "o", "label": "Evidence Top Two (ours, proven)", "linewidth": 2.2},
    "dp-se": {"color": "#D55E00", "marker": "s", "label": "DP-SE (proven)"},
    "adap-tt-published": {
        "color": "#009E73",
        "marker": "^",
        "linestyle": "--",
        "label": "AdaP-TT, released code (heuristic threshold, not proven)",
    },
    "adap-tt": {"color": "#CC79A7", "marker": "v", "label": "AdaP-TT, Algorithm 2 as written (proven)"},
    "uniform": {"color": "#E69F00", "marker": "D", "label": "Uniform in the paper's wrapper (proven)"},
    "ttucb": {"color": "#555555", "linestyle": "-", "label": "TTUCB, no privacy (proven)"},
    "ttucb-published": {
        "color": "#555555",
        "linestyle": ":",
        "label": "TTUCB, released code, no privacy (heuristic, not proven)",
    },
}


def draw_reproduction(summary: pd.DataFrame, path: Path) -> None:
    """Samples against epsilon for each instance: mean ± std, the two regimes, the lower bounds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    numbers = sorted(int(n) for n in summary["instance"].unique())
    rows = max(1, len(numbers) // 2)
    with plt.rc_context({"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(rows, 2, figsize=(10.5, 3.5 * rows + 1.3), sharex=True, squeeze=False)
        for axis, number in zip(axes.flat, numbers, strict=True):
            _draw_instance(axis, summary[summary["instance"] == number], number)
        for axis in axes[-1]:
            axis.set_xlabel("privacy budget ε  (left: more privacy)")
        for axis in axes[:, 0]:
            axis.set_ylabel("people until the trial stops")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncol=2, frameon=False)
        runs = int(summary["runs"].max())
        figure.suptitle(f"People needed to find the best arm, δ = 0.01, mean ± std over {runs} runs", fontsize=12)
        legend_height = 0.2 * (1 + (len(labels) + 1) // 2)
        figure.tight_layout(rect=(0, legend_height / figure.get_figheight(), 1, 1))
        with replacing(path) as temporary:
            figure.savefig(temporary, dpi=160, format="png")
        plt.close(figure)


def _draw_instance(axis: Axes, rows: pd.DataFrame, number: int) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_title(f"$\\mu_{number}$ = ({', '.join(f'{mean:g}' for mean in PAPER_MEANS[number - 1])})")
    budgets = sorted(rows["epsilon"].dropna().unique())
    for name, style in STYLES.items():
        cells = rows[rows["algorithm"] == name].sort_values("epsilon")
        if cells.empty:
            continue
        if cells["epsilon"].isna().all():
            axis.axhline(float(cells["mean"].iloc[0]), linewidth=1.2, **style)
            continue
        x, mean, std = cells["epsilon"], cells["mean"], cells["std"]
        axis.plot(x, mean, markersize=4, **{"linewidth": 1.4, **style})
        axis.fill_between(x, (mean - std).clip(lower=mean / 3), mean + std, color=style["color"], alpha=0.13, linewidth=0)
        stalled = cells[cells["undecided"] > 0]
        axis.plot(stalled["epsilon"], stalled["mean"], linestyle="", marker="x", color="black", markersize=6)
    bound = rows[rows["epsilon"].notna()].drop_duplicates("epsilon").sort_values("epsilon")
    axis.plot(
        bound["epsilon"], bound["lower_bound_refined"], color="black", linewidth=1.6, label="lower bound, refined"
    )
    axis.plot(
        bound["epsilon"],
        bound["lower_bound_corollary"],
        color="black",
        linewidth=1.0,
        linestyle="-.",
        label="lower bound, the paper's Corollary",
    )
    line = float(rows["regime_epsilon"].iloc[0])
    axis.axvline(line, color="#999999", linewidth=5, alpha=0.35, label="the two regimes meet")
    axis.plot([], [], linestyle="", marker="x", color="black", label="some runs undecided at the cap")
    axis.set_xlim(budgets[0] / 1.3, budgets[-1] * 1.3)
    axis.grid(visible=True, which="major", alpha=0.25)
