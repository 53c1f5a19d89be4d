"""The reproduction's figures. Colours are told apart by the colour-blind and, with line styles and marks, in print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bestarm.files import replacing
from bestarm.instance import PAPER_MEANS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bestarm.reproduction.cells import CellSummary

Styles: TypeAlias = Mapping[str, Mapping[str, Any]]
TITLE_HEIGHT: Final = 0.12
"""Inches above the panels, besides what the title takes."""

# Okabe and Ito's palette; the order of this table is the order of the legend.
STYLES: Final[dict[str, dict[str, Any]]] = {
    "evidence": {"color": "#0072B2", "marker": "o", "label": "Coin evidence (ours, proven)", "linewidth": 2.2},
    "dp-se": {"color": "#D55E00", "marker": "s", "label": "DP-SE (proven)"},
    "adap-tt-published": {
        "color": "#009E73",
        "marker": "^",
        "linestyle": "--",
        "label": "AdaP-TT, released code (heuristic threshold, not proven)",
    },
    "adap-tt": {"color": "#CC79A7", "marker": "v", "label": "AdaP-TT, Algorithm 2 as written (proven)"},
    "uniform": {"color": "#E69F00", "marker": "D", "label": "Uniform in the paper's wrapper (proven)"},
    "adap-tt-star": {
        "color": "#CC79A7",
        "marker": "<",
        "linestyle": "-.",
        "label": "AdaP-TT* (proven)",
    },
    "dp-tt": {"color": "#56B4E9", "marker": "P", "label": "DP-TT, threshold of ours (proven)"},
    "ttucb": {"color": "#555555", "linestyle": "-", "label": "TTUCB, no privacy (proven)"},
    "ttucb-published": {
        "color": "#555555",
        "linestyle": ":",
        "label": "TTUCB, released code, no privacy (heuristic, not proven)",
    },
}

FOLLOWUP_STYLES: Final[dict[str, dict[str, Any]]] = {
    "evidence": STYLES["evidence"],
    "dp-tt": STYLES["dp-tt"],
    "dp-tt-published": {
        "color": "#56B4E9",
        "marker": "X",
        "linestyle": "--",
        "label": "DP-TT, printed threshold (heuristic, not proven)",
    },
    "adap-tt-star": STYLES["adap-tt-star"],
    "adap-tt-published": STYLES["adap-tt-published"],
    "dp-se": STYLES["dp-se"],
    "eb-tci": {"color": "#555555", "linestyle": "-", "label": "EB-TCI, no privacy (proven)"},
    "eb-tci-published": {"color": "#555555", "linestyle": ":", "label": "EB-TCI, no privacy (heuristic, not proven)"},
}


def draw_reproduction(cells: Sequence[CellSummary], path: Path) -> None:
    """Samples against epsilon for each instance: mean ± std, the two regimes, the lower bounds."""
    _draw(cells, path, STYLES, {})


def draw_followup(cells: Sequence[CellSummary], path: Path) -> None:
    """The same for the follow-up's algorithms, with the poster's values as hollow marks in their colours."""
    from bestarm.reproduction.followup import POSTER

    read_off: dict[tuple[int, str], dict[float, float]] = {}
    for curve in POSTER:
        people = {epsilon: value for epsilon, value in curve.people.items() if epsilon is not None}
        if people and curve.privacy == "pure":
            read_off[curve.instance, curve.algorithms[0]] = people
    _draw(cells, path, FOLLOWUP_STYLES, read_off)


def _draw(
    cells: Sequence[CellSummary], path: Path, styles: Styles, read_off: Mapping[tuple[int, str], Mapping[float, float]]
) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    numbers = sorted({cell.instance for cell in cells})
    rows = max(1, len(numbers) // 2)
    with plt.rc_context({"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(rows, 2, figsize=(10.5, 3.5 * rows + 1.6), sharex=True, squeeze=False)
        for axis, number in zip(axes.flat, numbers, strict=True):
            _draw_instance(axis, [cell for cell in cells if cell.instance == number], number, styles)
            for (instance, name), people in read_off.items():
                if instance == number:
                    style = {**styles[name], "linestyle": "none", "fillstyle": "none", "label": None}
                    axis.plot(list(people), list(people.values()), markersize=7, **style)
        if read_off:
            axes[0, 0].plot([], [], "ks", fillstyle="none", label="hollow marks: what the poster reports")
        for axis in axes[-1]:
            axis.set_xlabel("privacy budget ε  (left: more privacy)")
        for axis in axes[:, 0]:
            axis.set_ylabel("people until the trial stops")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncol=2, frameon=False)
        runs = max(cell.runs for cell in cells)
        figure.suptitle(f"People needed to find the best arm, δ = 0.01, mean ± std over {runs} runs", fontsize=12)
        legend_height = 0.19 * ((len(labels) + 1) // 2)
        height = figure.get_figheight()
        figure.tight_layout(rect=(0, legend_height / height, 1, 1 - TITLE_HEIGHT / height))
        with replacing(path) as temporary:
            figure.savefig(temporary, dpi=160, format="png")
        plt.close(figure)


def _draw_instance(axis: Axes, cells: Sequence[CellSummary], number: int, styles: Styles) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_title(f"$\\mu_{number}$ = ({', '.join(f'{mean:g}' for mean in PAPER_MEANS[number - 1])})")
    for name, style in styles.items():
        ours = sorted((cell for cell in cells if cell.algorithm == name), key=lambda cell: cell.epsilon or 0.0)
        if ours and ours[0].epsilon is None:
            axis.axhline(ours[0].mean, linewidth=1.2, **style)
        elif ours:
            _draw_curve(axis, ours, style)
    budgets = sorted({cell.epsilon: cell for cell in cells if cell.epsilon is not None}.items())
    x = [epsilon for epsilon, _ in budgets]
    axis.plot(x, [cell.lower_bound_refined for _, cell in budgets], "k-", linewidth=1.6, label="lower bound, refined")
    corollary = [cell.lower_bound_corollary for _, cell in budgets]
    axis.plot(x, corollary, "k-.", linewidth=1.0, label="lower bound, the paper's Corollary")
    axis.axvline(cells[0].regime_epsilon, color="#999999", linewidth=5, alpha=0.35, label="the two regimes meet")
    axis.plot([], [], "kx", label="some runs undecided at the cap")
    axis.set_xlim(x[0] / 1.3, x[-1] * 1.3)
    axis.grid(visible=True, which="major", alpha=0.25)


def _draw_curve(axis: Axes, cells: Sequence[CellSummary], style: Mapping[str, Any]) -> None:
    x = [cell.epsilon or 0.0 for cell in cells]
    axis.plot(x, [cell.mean for cell in cells], markersize=4, **{"linewidth": 1.4, **style})
    low = [max(cell.mean - cell.std, cell.mean / 3) for cell in cells]
    axis.fill_between(x, low, [cell.mean + cell.std for cell in cells], color=style["color"], alpha=0.13, linewidth=0)
    stalled = [cell for cell in cells if cell.undecided]
    axis.plot([cell.epsilon or 0.0 for cell in stalled], [cell.mean for cell in stalled], "kx", markersize=6)
