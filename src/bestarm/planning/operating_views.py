"""Operating characteristics to look at: as Markdown, CSV, HTML and a figure."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bestarm.errors import InputError
from bestarm.files import replacing

if TYPE_CHECKING:
    from bestarm.planning.operating import Characteristic, Figure, OperatingCharacteristics

ENDINGS: Final = (".md", ".html", ".csv", ".png")
# Okabe and Ito's colours, with a hatch each, so that print and the colour-blind lose nothing.
ENDS: Final = (
    ("correct", "the best arm", "#009E73", ""),
    ("within", "another within the difference", "#56B4E9", "//"),
    ("undecided", "no verdict by the cap", "#BBBBBB", ".."),
    ("wrong", "a wrong arm", "#D55E00", "xx"),
)


ENDS_WITH_CONTROL: Final = {"correct": "an arm, rightly", "within": "none, rightly", "wrong": "a wrong answer"}


def caption(table: OperatingCharacteristics) -> str:
    """What the figures are of."""
    odd = "".join(f". Mind: {sentence.removesuffix('.')}" for sentence in table.warnings)
    return (
        f"{table.algorithm}; {table.promise}; {table.runs:,} simulated trials a scenario (seed {table.seed}), no "
        f"verdict after {table.cap:,} people; ± one standard error of the simulation{odd}"
    )


def columns(table: OperatingCharacteristics) -> list[str]:
    """The table's head."""
    dated = any(row.mean_days is not None for row in table.rows)
    people = ["people: mean", "median", "80 %", "90 %", "sd"]
    days = ["days: mean", "90 %"] if dated else []
    ends = ["best arm", "within the difference", "wrong", "no verdict"]
    if table.control is not None:
        ends = ["an arm better", "none", "wrong", "no verdict"]
    return ["scenario", "means", *people, *days, *ends, "people per arm", "bias of the winner's estimate"]


def cells(table: OperatingCharacteristics, row: Characteristic) -> list[str]:
    """One line of the table."""
    dated = any(one.mean_days is not None for one in table.rows)
    days = []
    if dated:
        days = [
            "–" if row.mean_days is None else _people(row.mean_days),
            "–" if row.p90_days is None else f"{row.p90_days:,.0f}",
        ]
    return [
        row.name,
        _means(row.means),
        _people(row.mean_samples),
        *(f"{value:,.0f}" for value in (row.median_samples, row.p80_samples, row.p90_samples, row.std_samples)),
        *days,
        *(_percent(share) for share in (row.found, row.none or row.within_difference, row.wrong, row.undecided)),
        ", ".join(f"{people:,.0f}" for people in row.per_arm),
        "–" if row.bias is None else f"{row.bias.value:+.2g} ± {row.bias.error:.1g}",
    ]


def _means(means: tuple[float, ...]) -> str:
    shown = ", ".join(f"{mean:.4g}" for mean in means[:6])
    return shown + (", …" if len(means) > 6 else "")


def _people(figure: Figure) -> str:
    return (
        f"{figure.value:,.0f} ± {math.ceil(figure.error):,}" if math.isfinite(figure.error) else f"{figure.value:,.0f}"
    )


def _percent(share: Figure) -> str:
    return f"{100 * share.value:.1f} ± {100 * share.error:.1f} %"


def markdown(table: OperatingCharacteristics) -> str:
    """For a page."""
    head = columns(table)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cells(table, row)) + " |" for row in table.rows]
    return "\n".join([*lines, "", caption(table) + "."]) + "\n"


def html(table: OperatingCharacteristics) -> str:
    """By itself, without styles of its own but for numbers to the right."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns(table))
    body = []
    for row in table.rows:
        name, means, *numbers = cells(table, row)
        first = f'<th scope="row" title="{escape(row.about)}">{escape(name)}</th><td>{escape(means)}</td>'
        rest = "".join(f'<td style="text-align:right">{escape(one)}</td>' for one in numbers)
        body.append(f"<tr>{first}{rest}</tr>")
    return (
        f"<table><caption>{escape(caption(table))}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def save(table: OperatingCharacteristics, path: str | Path) -> None:
    """Write the table whole or not at all; the ending of the file's name says how."""
    target = Path(path)
    if target.suffix not in ENDINGS:
        raise InputError(f"{target.name} cannot be written; its name must end in {', '.join(ENDINGS)}.")
    with replacing(target) as temporary:
        if target.suffix == ".png":
            drawn = figure(table)
            drawn.savefig(temporary, dpi=160, format="png")
        elif target.suffix == ".csv":
            table.to_dataframe().to_csv(temporary, index=False)
        else:
            text = markdown(table) if target.suffix == ".md" else page(table)
            temporary.write_text(text, encoding="utf-8")


def page(table: OperatingCharacteristics) -> str:
    """The table as a page of its own."""
    style = "body{font-family:sans-serif;margin:2rem}table{border-collapse:collapse}th,td{padding:.3rem .6rem;"
    style += "border-bottom:1px solid #ccc;text-align:left}caption{text-align:left;margin-bottom:.6rem}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Operating characteristics</title>'
        f"<style>{style}</style></head><body><h1>Operating characteristics</h1>{html(table)}</body></html>\n"
    )


def figure(table: OperatingCharacteristics) -> Any:
    """People by scenario on the left (mean, and from the median to nine in ten), how trials end on the right."""
    from matplotlib.figure import Figure as Canvas

    drawn = Canvas(figsize=(10.5, 0.55 * len(table.rows) + 1.9), layout="constrained")
    people, ends = drawn.subplots(1, 2, sharey=True, width_ratios=[1.15, 1.0])
    places = range(len(table.rows))
    for place, row in zip(places, table.rows, strict=True):
        people.plot([row.median_samples, row.p90_samples], [place, place], color="#0072B2", linewidth=3, alpha=0.45)
        people.plot([row.mean_samples.value], [place], marker="o", color="#0072B2")
        people.annotate(
            f"{row.mean_samples.value:,.0f}", (row.p90_samples, place), (6, 0), textcoords="offset points", va="center",
            fontsize=8.5,
        )  # fmt: skip
        left = 0.0
        shares = {
            "correct": row.correct.value,
            "within": max(0.0, row.within_difference.value - row.correct.value),
            "undecided": row.undecided.value,
            "wrong": row.wrong.value,
        }
        for key, _, colour, hatch in ENDS:
            ends.barh(place, shares[key], left=left, color=colour, hatch=hatch, edgecolor="white", height=0.62)
            left += shares[key]
    people.set_yticks(list(places), [row.name for row in table.rows])
    people.invert_yaxis()
    people.set_xlim(0, 1.16 * max(row.p90_samples for row in table.rows))
    people.set_xlabel("people: mean (dot), from the median to 9 in 10 (bar)")
    ends.set_xlim(0, 1)
    ends.set_xlabel("share of trials that end with")
    for axes in (people, ends):
        axes.spines[["top", "right"]].set_visible(False)
    from matplotlib.patches import Patch

    names = {key: label for key, label, _, _ in ENDS} | (ENDS_WITH_CONTROL if table.control is not None else {})
    keys = [Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=names[key]) for key, _, colour, hatch in ENDS]
    drawn.legend(handles=keys, frameon=False, fontsize=9, loc="outside lower right", ncols=4)
    drawn.suptitle(
        f"{table.algorithm}: {table.promise}; {table.runs:,} trials a scenario", fontsize=10.5, x=0.01, ha="left"
    )
    return drawn
