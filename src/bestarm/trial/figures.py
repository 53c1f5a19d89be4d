"""The figures of a trial, for the report and for the pages: one palette, one set of margins, one set of words.

They are HTML with inline SVG, from the public view alone: no script, no font, no outside resource, no style but the
classes of `STYLE`, which a page includes. Positions are percentages, so that lines stretch and letters do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import pairwise
from typing import Final

from bestarm.exact import text_of
from bestarm.trial.public import Estimate, PublicView, Released, claim_said

PALETTE: Final = ("#0072b2", "#d55e00", "#009e73", "#b0568b", "#b88700", "#2f9bd6", "#46545c")
"""One colour an arm, again from the start after seven; told apart under every kind of colour vision."""
MOST_SHOWN: Final = 400
"""Releases drawn; the last ones, if there are more."""
MARGIN: Final = 0.12
"""How far the timeline reaches beyond the outcome's bounds, as a share of their distance."""
LINE_AT: Final = 80.0
"""Where the stopping line stands in an evidence bar, in percent; what is beyond has more than enough."""

STYLE: Final = """:root {
  --ink: #1b2a33; --soft-ink: #55656f; --line: #dbe3e6; --paper: #f6f8f8; --white: #fff;
  --accent: #0f5c6e; --accent-dark: #0a4452; --accent-pale: #e3f0f2; --good: #00694e; --warn: #b88700;
}
.bars { display: grid; gap: 12px; margin-bottom: 14px; }
.bar { display: grid; grid-template-columns: minmax(90px, 170px) minmax(0, 1fr) 150px; gap: 18px; align-items: center; }
.bar .label { overflow-wrap: anywhere; line-height: 1.3; }
.bar .value { font-variant-numeric: tabular-nums; font-weight: 600; line-height: 1.3; }
.bar .small { display: block; color: var(--soft-ink); font-size: 15px; font-weight: 400; line-height: 1.5; }
.scale { margin-top: -8px; color: var(--soft-ink); font-size: 14px; }
.ends { display: flex; justify-content: space-between; }
svg { display: block; overflow: visible; } svg text { font: 13px system-ui, sans-serif; fill: var(--soft-ink); }
.grid { stroke: var(--line); stroke-width: 1.5; } .interval { opacity: .35; } .trough { fill: #edf1f2; }
.finish { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 4 3; }
.evidence.growing { fill: #0072b2; } .evidence.reached { fill: var(--good); }
svg .dot, svg .interval { fill: var(--arm); } .dot { stroke: var(--white); stroke-width: 1.5; }
.timeline .dot { opacity: .82; } svg .hollow { fill: var(--white); stroke: var(--arm); stroke-width: 2.5; }
figure { margin: 14px 0; } figcaption { margin-top: 10px; line-height: 1.5; }
.key { white-space: nowrap; margin-right: 14px; }
.key::before { content: ""; display: inline-block; width: 12px; height: 12px; border-radius: 50%; margin-right: 6px;
  background: var(--arm); }
@media (max-width: 700px) {
  .bar { grid-template-columns: 1fr auto; gap: 0 12px; } .bar svg, .bar .ends { grid-column: 1 / -1; grid-row: 2; }
  .scale .label, .scale .value { display: none; } .bar .value .small { display: inline; }
  .key { white-space: normal; overflow-wrap: anywhere; }
}
""" + "".join(f".arm-{arm} {{ --arm: {colour}; }}\n" for arm, colour in enumerate(PALETTE))
"""What the figures look like, with the colours that the page around them shares."""


def estimates_figure(view: PublicView) -> str:
    """Each arm's estimate with its interval, on the scale of the outcome; nothing before the first."""
    if all(estimate.mean is None for estimate in view.estimates):
        return ""
    low, high = outcome_range(view)
    better = "less" if view.design.outcomes.lower_is_better else "more"
    ends = f"<span>{low:.3g}</span><span>{better} is better</span><span>{high:.3g}</span>"
    axis = f'<div class="bar scale"><span class="label"></span><span class="ends">{ends}</span></div>'
    return _bars([*(_estimate_row(view, estimate) for estimate in view.estimates), axis])


def _estimate_row(view: PublicView, estimate: Estimate) -> str:
    label = escape(view.labels[estimate.arm])
    if view.verdict is not None and view.verdict.arm == view.labels[estimate.arm]:
        label = f"<b>{label}</b>"
    if estimate.arm in view.recruiting and foreseen_by_nobody(view):
        label += _small("recruiting")
    drawn = ['<line x1="0" x2="100%" y1="13" y2="13" class="grid"/>']
    if estimate.mean is None:
        return _row(label, svg(26, "no estimate yet", drawn), _small("no estimate yet"))
    low, high = outcome_range(view)
    colour = colour_class(estimate.arm)
    value = on_scale(estimate.mean, low, high)
    said = f"estimate {value}"
    if estimate.low is not None and estimate.high is not None:
        left, right = share_of(estimate.low, low, high), share_of(estimate.high, low, high)
        place = f'x="{left:.2f}%" y="8" width="{max(right - left, 0.5):.2f}%" height="10" rx="5"'
        drawn.append(f'<rect {place} class="interval {colour}"/>')
        said += f", between {estimate.low:.3g} and {estimate.high:.3g}"
        value += _small(f"{max(estimate.low, low):.2g} to {min(estimate.high, high):.2g}")
    drawn.append(f'<circle cx="{share_of(estimate.mean, low, high):.2f}%" cy="13" r="6.5" class="dot {colour}"/>')
    return _row(label, svg(26, said, drawn), value)


def estimates_said(view: PublicView) -> str:
    """What the dots and bands are."""
    low, high = outcome_range(view)
    said = "The dot is the mean of all released sums of the arm, noise included."
    if any(e.low is not None for e in view.estimates):
        confidence = f"{100 * (1 - float(view.design.delta)):.4g}"
        said = (
            "The dot is the estimated mean outcome. The band holds the true mean of every arm, at all times of the "
            f"trial at once, with probability at least {confidence} %."
        )
    if any(e.mean is not None and not low <= e.mean <= high for e in view.estimates):
        said += " Noise can push an estimate past the end of the scale; it is then shown at that end."
    if overlapping(view):
        said += (
            " Bands may overlap although one arm is shown to be better: each band allows for an error of its own, "
            "while the evidence below compares two arms directly."
        )
    return said


def foreseen_by_nobody(view: PublicView) -> bool:
    """Whether several arms recruit: where only one does, to name it would be to name the next participant's arm."""
    return len(view.recruiting) > 1


def on_scale(mean: float, low: float, high: float) -> str:
    """An estimate in words: noise can push it past the ends of the scale, where no mean can be."""
    if mean < low:
        return f"at most {low:.3g}"
    return f"at least {high:.3g}" if mean > high else f"{mean:.3g}"


def overlapping(view: PublicView) -> bool:
    """Whether the bands of two arms overlap."""
    bands = sorted((e.low, e.high) for e in view.estimates if e.low is not None and e.high is not None)
    return any(left[1] > right[0] for left, right in pairwise(bands))


def evidence_figure(view: PublicView) -> str:
    """How far the evidence against each rival has come towards the line where the trial stops."""
    unit = "nats" if view.design.hard_end is None else "successes"
    return _bars(
        [
            _evidence_row(claim_said(view, one) or f"against {view.labels[one.rival]}", one.value, one.needed, unit)
            for one in view.standings
        ]
    )


def _evidence_row(what: str, value: float, needed: float, unit: str) -> str:
    share = max(0.0, value / needed) if needed > 0 else float(value >= needed)
    kind = "reached" if share >= 1 else "growing"
    drawn = [
        '<rect x="0" y="6" width="100%" height="14" rx="4" class="trough"/>',
        f'<rect x="0" y="6" width="{min(share * LINE_AT, 100.0):.2f}%" height="14" rx="4" class="evidence {kind}"/>',
        f'<line x1="{LINE_AT}%" x2="{LINE_AT}%" y1="0" y2="26" class="finish"/>',
    ]
    amount = f"{value:.3g} of {needed:.3g} {unit}"
    picture = svg(26, f"{100 * share:.0f} percent of what is needed: {amount}", [f"<title>{amount}</title>", *drawn])
    said = f'<span title="{amount}">{100 * share:.0f} %</span>' + (_small("enough") if share >= 1 else "")
    return _row(escape(what), picture, said)


def evidence_said(view: PublicView) -> str:
    """What the bars and the line are."""
    asked = view.design.comparison
    if asked is not None:
        return (
            "A bar shows how much of the evidence that a claim needs is there. The trial stops when the first claim on "
            "some arm has reached the dashed line, or the second claim on every arm. " + " ".join(asked.promises)
        )
    return (
        "The leading arm is compared with each rival; a bar shows how much of the evidence that is needed is there. "
        "The trial stops when every bar has reached the dashed line; stopping then is wrong with probability at most "
        f"δ = {text_of(view.design.delta)}, however often one has looked."
    )


def timeline_figure(view: PublicView) -> str:
    """Every released sum in order: its noisy mean, the number of its people by the mark's area."""
    shown = released_sums(view)[-MOST_SHOWN:]
    if not shown:
        return ""
    low, high = outcome_range(view)
    # The noise of a sum of few people can be far outside; such marks stand at the edge, hollow.
    bottom, top = low - MARGIN * (high - low), high + MARGIN * (high - low)
    drawn = []
    for value in (low, (low + high) / 2, high):
        y = 100 - share_of(value, bottom, top)
        drawn.append(f'<line x1="9%" x2="100%" y1="{y:.2f}%" y2="{y:.2f}%" class="grid"/>')
        drawn.append(f'<text x="8%" y="{y:.2f}%" dy="4" text-anchor="end">{value:g}</text>')
    biggest = max(release.sizes[0] for release in shown)
    for order, release in enumerate(shown):
        x = 12 + 86 * (order + 0.5) / len(shown)
        drawn.append(_mark(view, release, x, 3 + 7 * (release.sizes[0] / biggest) ** 0.5, (bottom, top)))
    keys = "".join(
        f'<span class="key {colour_class(arm)}">{escape(label)}</span>' for arm, label in enumerate(view.labels)
    )
    picture = svg(220, f"{len(shown)} released sums in order, the noisy mean of each", drawn, "timeline")
    return f"<figure>{picture}<figcaption>{keys}</figcaption></figure>"


def _mark(view: PublicView, release: Released, x: float, radius: float, ends: tuple[float, float]) -> str:
    arm, people = release.arms[0], release.sizes[0]
    mean = view.design.outcomes.sum_in_units(release.value, people) / people
    hollow = "" if ends[0] <= mean <= ends[1] else " hollow"
    said = escape(f"{view.labels[arm]}, stage {release.stage}: {people:,} people, noisy mean {mean:.3g}")
    place = f'cx="{x:.2f}%" cy="{100 - share_of(mean, *ends):.2f}%" r="{radius:.1f}"'
    return f'<circle {place} class="dot {colour_class(arm)}{hollow}"><title>{said}</title></circle>'


def timeline_said(view: PublicView) -> str:
    """What the marks are."""
    left_out = len(released_sums(view)) - MOST_SHOWN
    return (
        "Each mark is the sum of one arm in one stage, in the order of release: how high, the noisy mean of its "
        "outcomes; how large, the number of people in it. Sums of few people scatter because noise hides the "
        "individuals in them; hollow marks lie outside the picture."
        + (f" The first {left_out:,} are not drawn." if left_out > 0 else "")
    )


def released_sums(view: PublicView) -> list[Released]:
    """The releases that say something of one arm by itself."""
    return [release for release in view.releases if release.kind == "sum" and release.sizes[0] > 0]


def outcome_range(view: PublicView) -> tuple[float, float]:
    """The outcome's bounds, in its own units."""
    units = view.design.outcomes.sum_in_units
    low, high = sorted((units(0.0, 1), units(1.0, 1)))
    return low, high


def share_of(value: float, low: float, high: float) -> float:
    """Where a value stands between two others, in percent, kept inside."""
    return 100 * min(max((value - low) / (high - low), 0.0), 1.0)


def colour_class(arm: int) -> str:
    """The class that gives an arm its colour."""
    return f"arm-{arm % len(PALETTE)}"


def svg(height: int, said: str, drawn: Iterable[str], kind: str = "") -> str:
    """A picture as wide as its place, and in words for those who do not see it."""
    inside = "".join(drawn)
    return f'<svg width="100%" height="{height}" role="img" aria-label="{escape(said)}" class="{kind}">{inside}</svg>'


def _bars(rows: list[str]) -> str:
    return f'<div class="bars">{"".join(rows)}</div>' if rows else ""


def _row(label: str, picture: str, value: str) -> str:
    return f'<div class="bar"><span class="label">{label}</span>{picture}<span class="value">{value}</span></div>'


def _small(text: str) -> str:
    return f' <span class="small">{escape(text)}</span>'
