"""The paper's experimental claims, one by one, against measured cells. Writes the reproduction's report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import geometric_mean, median
from typing import Final, TypeAlias

from scipy.stats import beta

from bestarm import __version__
from bestarm.instance import PAPER_MEANS
from bestarm.policy.catalogue import CATALOGUE
from bestarm.reproduction.cells import CellSummary, label, spread

Summaries: TypeAlias = Sequence[CellSummary]

CLAIMED: Final = {"adap-tt": "Algorithm 2 as written", "adap-tt-published": "the released code"}
"""Whom the paper's claims are about; the follow-ups stand beside them."""


def write_report(cells: Summaries, *, seed: int, quick: bool, figure: int, delta: float) -> str:
    """The report as Markdown: the claims with their verdicts, then every cell."""
    runs = max(cell.runs for cell in cells)
    how = "--quick" if quick else f"--runs {runs}"
    parts = [
        "# The paper's experiments, measured",
        "",
        f"Made by `bestarm reproduce --figure {figure} {how} --seed {seed}` (version {__version__}); "
        f"{runs} runs a cell, delta = {delta}. A sample is one person.",
        "",
        "Two things go by the name AdaP-TT: Algorithm 2 of the paper (`adap-tt`, proven), and what the released code "
        "runs (`adap-tt-published`: heuristic threshold, not proven). The paper's figures show the second. "
        "`ttucb-published` is that code's TTUCB: heuristic threshold, not proven.",
        "",
        *(["**Quick run: few runs a cell, fewer budgets, a lower cap. See the shape, not the figures.**", ""] * quick),
        f"![Samples against epsilon on the paper's instances](figure{figure}.png)",
        "",
        *_fewer_than_dp_se(cells),
        *_two_regimes(cells),
        *_four_times_ttucb(cells),
        *_error_rates(cells, delta),
        *_undecided(cells),
        *_to_the_bound(cells),
        *_every_cell(cells),
    ]
    return "\n".join(parts) + "\n"


def _fewer_than_dp_se(cells: Summaries) -> list[str]:
    lines = [
        "## Claim 1: AdaP-TT needs fewer samples than DP-SE",
        "",
        "Cells in which the mean is below DP-SE's. A cell with undecided runs does not count: its mean is too small.",
        "",
        "| algorithm | fewer samples than DP-SE | the same, below the regime line | median ratio to DP-SE "
        "| largest ratio | cells with undecided runs |",
        "|---|---|---|---|---|---|",
    ]
    dp_se = {(cell.instance, cell.epsilon): cell.mean for cell in _of(cells, "dp-se")}
    verdicts = []
    for name in _private(cells):
        if name == "dp-se":
            continue
        ours = _of(cells, name)
        ratios = [cell.mean / dp_se[cell.instance, cell.epsilon] for cell in ours]
        fewer = [ratio < 1 and cell.undecided == 0 for ratio, cell in zip(ratios, ours, strict=True)]
        high = [less for less, cell in zip(fewer, ours, strict=True) if cell.high_privacy]
        lines.append(
            f"| {label(name)} | {_count(fewer)} | {_count(high)} | {median(ratios):.3g} | {max(ratios):.3g} "
            f"| {sum(cell.undecided > 0 for cell in ours)} |"
        )
        if name in CLAIMED:
            verdicts.append(
                f"- For {CLAIMED[name]}: {_verdict(high)} below the regime line ({_count(high)} cells), "
                f"{_verdict(fewer)} over all budgets ({_count(fewer)} cells)."
            )
    return [*lines, "", *verdicts, ""]


def _two_regimes(cells: Summaries) -> list[str]:
    shown = [name for name in ("adap-tt-published", "dp-se", "evidence") if name in _private(cells)]
    lines = [
        "## Claim 2: two regimes; below epsilon = 0.2 the samples depend on epsilon, above they do not",
        "",
        "A slope is that of log(samples) against log(epsilon) between neighbouring budgets: -1 where privacy sets the "
        "price, 0 where it is free. The turn is the largest budget at which the mean is still twice that at epsilon = "
        "10.",
        "",
        "| instance | regime line (theory) | "
        + " | ".join(f"{label(name)}: turn; slope at the smallest, at the largest budgets" for name in shown)
        + " |",
        "|---|---|" + "---|" * len(shown),
    ]
    falls, flats = [], []
    for number in _instances(cells):
        row = []
        for name in shown:
            curve = [(cell.epsilon or 0.0, cell.mean) for cell in _of(cells, name) if cell.instance == number]
            turn = max((epsilon for epsilon, mean in curve if mean >= 2 * curve[-1][1]), default=math.nan)
            first, last = _slope(curve[0], curve[1]), _slope(curve[-2], curve[-1])
            row.append(f"{turn:g}; {first:.2f}, {last:.2f}")
            if name == "adap-tt-published":
                falls.append(first < -0.7)
                flats.append(last > -0.1)
        line = next(cell.regime_epsilon for cell in cells if cell.instance == number)
        lines.append(f"| {number} | {line:.3g} | " + " | ".join(row) + " |")
    both = [fall and flat for fall, flat in zip(falls, flats, strict=True)]
    return [
        *lines,
        "",
        f"That there are two regimes: {_verdict(both)} ({_count(both)} instances, released code: slope below -0.7 at "
        "the smallest budgets and above -0.1 at the largest). Where they meet depends on the instance "
        "and on the algorithm; epsilon = 0.2 is not a constant of the problem.",
        "",
    ]


def _slope(a: tuple[float, float], b: tuple[float, float]) -> float:
    return math.log(b[1] / a[1]) / math.log(b[0] / a[0])


def _four_times_ttucb(cells: Summaries) -> list[str]:
    pairs = (
        ("adap-tt-published", "ttucb-published", "released AdaP-TT / released TTUCB"),
        ("adap-tt", "ttucb", "Algorithm 2 / TTUCB"),
        ("adap-tt-nonprivate", "ttucb", "AdaP-TT without noise / TTUCB"),
        ("dp-se", "ttucb", "DP-SE / TTUCB"),
    )
    lines = [
        "## Claim 3: at large epsilon, at most four times the samples of TTUCB",
        "",
        "Ratio of mean samples, private algorithms at epsilon = 10. The first column compares the two heuristics of "
        "the released code (not proven), the others are proven against proven.",
        "",
        "| instance | " + " | ".join(title for _, _, title in pairs) + " |",
        "|---|" + "---|" * len(pairs),
    ]
    mean = {(cell.instance, cell.algorithm): cell.mean for cell in cells if cell.epsilon in (None, 10.0)}
    table = [[mean[number, a] / mean[number, b] for a, b, _ in pairs] for number in _instances(cells)]
    for number, row in zip(_instances(cells), table, strict=True):
        lines.append(f"| {number} | " + " | ".join(f"{ratio:.3g}" for ratio in row) + " |")
    verdicts = []
    for column, (_, _, title) in enumerate(pairs):
        within = [row[column] <= 4 for row in table]
        verdicts.append(f"- {title}: {_verdict(within)} ({_count(within)} instances within four times).")
    return [*lines, "", *verdicts, ""]


def _error_rates(cells: Summaries, delta: float) -> list[str]:
    above = []
    for cell in cells:
        low = float(beta.ppf(0.005, cell.wrong, cell.runs - cell.wrong + 1)) if cell.wrong else 0.0
        if low > delta:
            where = f"instance {cell.instance}, epsilon {cell.epsilon}, {label(cell.algorithm)}"
            above.append(f"- {where}: {cell.wrong} of {cell.runs} wrong, 99% interval from {low:.3f} up")
    runs = max(cell.runs for cell in cells)
    lines = [
        "## Claim 4: the error rate is at most delta in every cell",
        "",
        f"{sum(cell.wrong for cell in cells)} wrong recommendations in {sum(cell.runs for cell in cells)} runs of "
        f"{len(cells)} cells. With {runs} runs, a cell without an error has a 99% interval from 0 to "
        f"{1 - 0.005 ** (1 / runs):.3f}: compatible with delta, and no more can be said from so few runs.",
        "",
        "| algorithm | wrong recommendations | runs | 99% interval of the error rate, all cells together |",
        "|---|---|---|---|",
    ]
    for name in dict.fromkeys(cell.algorithm for cell in cells):
        wrong = sum(cell.wrong for cell in _of(cells, name))
        total = sum(cell.runs for cell in _of(cells, name))
        low = float(beta.ppf(0.005, wrong, total - wrong + 1)) if wrong else 0.0
        high = float(beta.ppf(0.995, wrong + 1, total - wrong))
        lines.append(f"| {label(name)} | {wrong} | {total} | {low:.2g} to {high:.2g} |")
    lines.append("")
    if above:
        return [*lines, "**Not reproduced** in these cells, whose interval lies above delta:", "", *above, ""]
    return [*lines, "**Reproduced**: no cell's 99% interval lies above delta.", ""]


def _undecided(cells: Summaries) -> list[str]:
    lines = [
        "## What the paper does not show: Algorithm 2 as written stalls",
        "",
        "An arm whose first noisy mean is far too low has a bonus that grows only with its own phases, so it may be "
        "neither leader nor challenger for a very long time. Runs that had not stopped at the cap:",
        "",
        "| algorithm | cap | undecided runs | share | worst cell |",
        "|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(cell.algorithm for cell in cells):
        ours = _of(cells, name)
        undecided, runs = sum(cell.undecided for cell in ours), sum(cell.runs for cell in ours)
        worst = max(ours, key=lambda cell: cell.undecided / cell.runs)
        place = f"{worst.undecided / worst.runs:.0%}, instance {worst.instance}, epsilon {worst.epsilon}"
        lines.append(
            f"| {label(name)} | {ours[0].cap:.0e} | {undecided} of {runs} | {undecided / runs:.1%} "
            f"| {place if undecided else 'none'} |"
        )
    return [*lines, ""]


def _to_the_bound(cells: Summaries) -> list[str]:
    lines = [
        "## How far each is from the refined lower bound",
        "",
        "Mean samples divided by the refined lower bound (`bestarm bounds`), over all instances and budgets. Undecided "
        "runs count at the cap, so a ratio with many of them is too small.",
        "",
        "| algorithm | proven | least | geometric mean | largest | cells with undecided runs |",
        "|---|---|---|---|---|---|",
    ]
    for name in _private(cells):
        ours = _of(cells, name)
        ratios = [cell.mean / cell.lower_bound_refined for cell in ours]
        lines.append(
            f"| {name} | {'yes' if CATALOGUE[name].proven else 'no, heuristic threshold'} | {min(ratios):.3g} "
            f"| {geometric_mean(ratios):.3g} | {max(ratios):.3g} | {sum(cell.undecided > 0 for cell in ours)} |"
        )
    return [*lines, ""]


def _every_cell(cells: Summaries) -> list[str]:
    lines = [
        "## Every cell",
        "",
        "Mean ± standard deviation of the samples; * marks cells with undecided runs, counted at the cap.",
        "",
    ]
    private = _private(cells)
    for number in _instances(cells):
        here = [cell for cell in cells if cell.instance == number]
        lines += [
            f"### Instance {number}: {', '.join(f'{mean:g}' for mean in PAPER_MEANS[number - 1])}",
            "",
            "| epsilon | lower bound (Corollary) | refined | " + " | ".join(label(name) for name in private) + " |",
            "|" + "---|" * (3 + len(private)),
        ]
        for epsilon in sorted({cell.epsilon for cell in here if cell.epsilon is not None}):
            row = {cell.algorithm: cell for cell in here if cell.epsilon == epsilon}
            bound = next(iter(row.values()))
            lines.append(
                f"| {epsilon:g} | {bound.lower_bound_corollary:.3g} | {bound.lower_bound_refined:.3g} | "
                + " | ".join(spread(row[name]) for name in private)
                + " |"
            )
        free = [f"- {label(cell.algorithm)}, any epsilon: {spread(cell)}" for cell in here if cell.epsilon is None]
        lines += ["", *free, ""]
    return lines


def _of(cells: Summaries, name: str) -> list[CellSummary]:
    ours = [cell for cell in cells if cell.algorithm == name]
    return sorted(ours, key=lambda cell: (cell.instance, cell.epsilon or 0.0))


def _private(cells: Summaries) -> list[str]:
    return list(dict.fromkeys(cell.algorithm for cell in cells if cell.epsilon is not None))


def _instances(cells: Summaries) -> list[int]:
    return sorted({cell.instance for cell in cells})


def _count(held: Iterable[bool]) -> str:
    list_of = list(held)
    return f"{sum(list_of)} of {len(list_of)}"


def _verdict(held: Sequence[bool]) -> str:
    if all(held):
        return "**reproduced**"
    return "**not reproduced**" if sum(held) < len(held) / 2 else "**differs** (it holds in part)"
