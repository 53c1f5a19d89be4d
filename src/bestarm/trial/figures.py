"""Figures of the public view as inline SVG: no script, no font, no outside resource. Colours come from the page."""

from __future__ import annotations

from html import escape

from bestarm.trial.public import PublicView, Released, in_outcome_units

WIDTH = 720
LEFT = 150
RIGHT = 24
ROW = 36
TOP = 26

PALETTE = ("#0b6e99", "#c2410c", "#4d7c0f", "#7e22ce", "#db2777", "#334155", "#a16207", "#14b8a6")
"""One colour an arm, again from the start after eight."""


def colour(arm: int) -> str:
    """The arm's colour."""
    return PALETTE[arm % len(PALETTE)]


def estimates_figure(view: PublicView) -> str:
    """Each arm's estimate with its interval."""
    known = [e for e in view.estimates if e.mean is not None]
    if not known:
        return ""
    axis = _Axis(*outcome_range(view))
    height = TOP + ROW * len(view.estimates) + 40
    parts = [axis.ticks(height - 46, f"mean outcome ({'less' if view.design.lower_is_better else 'more'} is better)")]
    best = None if view.verdict is None else view.verdict.arm
    for row, estimate in enumerate(view.estimates):
        y = TOP + ROW * row
        label = view.labels[estimate.arm]
        parts.append(_label(y, label, bold=label == best))
        if estimate.mean is None:
            parts.append(f'<text x="{LEFT + 8}" y="{y + 4}" class="muted">no release yet</text>')
            continue
        ink = colour(estimate.arm)
        if estimate.low is not None and estimate.high is not None:
            x1, x2 = axis.at(estimate.low), axis.at(estimate.high)
            parts.append(f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y}" y2="{y}" stroke="{ink}" class="whisker"/>')
        parts.append(f'<circle cx="{axis.at(estimate.mean):.1f}" cy="{y}" r="6" fill="{ink}"/>')
        parts.append(_value(axis.at(estimate.mean), y - 10, f"{estimate.mean:.3g}"))
    return _svg(height, "Estimated mean of each arm", parts)


def evidence_figure(view: PublicView) -> str:
    """How far the evidence against each rival has come towards the line where the trial stops."""
    if not view.standings:
        return ""
    height = TOP + ROW * len(view.standings) + 40
    most = max(1.0, *(s.value / s.needed for s in view.standings if s.needed > 0))
    axis = _Axis(0.0, min(most, 1.6))
    line = axis.at(1.0)
    parts = [axis.ticks(height - 46, "evidence as a share of what is needed")]
    for row, standing in enumerate(view.standings):
        y = TOP + ROW * row
        share = max(0.0, standing.value / standing.needed)
        reached = share >= 1
        end = axis.at(min(share, 1.6))
        parts.append(_label(y, f"against {view.labels[standing.rival]}"))
        parts.append(
            f'<rect x="{LEFT}" y="{y - 9}" width="{max(end - LEFT, 1):.1f}" height="18" rx="3" '
            f'class="{"reached" if reached else "bar"}"/>'
        )
        said = f"{100 * share:.0f} %"
        parts.append(_value(end - 30, y + 4, said, "inside") if share > 0.8 else _value(end + 28, y + 4, said))
    parts.append(f'<line x1="{line:.1f}" x2="{line:.1f}" y1="2" y2="{height - 46}" class="finish"/>')
    return _svg(height, "Evidence against each rival", parts)


def timeline_figure(view: PublicView) -> str:
    """Every released sum in order: its noisy mean, the number of its people by the mark's area."""
    sums = released_sums(view)
    if not sums:
        return ""
    units = in_outcome_units(view.design)
    means = [units(r.value, r.sizes[0]) / r.sizes[0] for r in sums]
    low, high = outcome_range(view)
    # A small batch's noise can be far outside; such marks are drawn at the edge, hollow.
    margin = 0.15 * (high - low)
    bottom, top = low - margin, high + margin
    height = 270
    left, right, foot = 56, WIDTH - RIGHT, height - 44
    biggest = max(r.sizes[0] for r in sums)

    def x_of(order: int) -> float:
        return left + 12 + (right - left - 24) * order / max(1, len(means) - 1)

    def y_of(mean: float) -> float:
        return foot - (foot - 10) * (min(max(mean, bottom), top) - bottom) / (top - bottom)

    parts = [
        f'<line x1="{left}" x2="{right}" y1="{y_of(v):.1f}" y2="{y_of(v):.1f}" class="grid"/>' for v in (low, high)
    ]
    parts += [f'<text x="{left - 8}" y="{y_of(v) + 4:.1f}" text-anchor="end">{v:g}</text>' for v in (low, high)]
    for order, (release, mean) in enumerate(zip(sums, means, strict=True)):
        radius = 2.5 + 8 * (release.sizes[0] / biggest) ** 0.5
        outside = not bottom <= mean <= top
        fill = "none" if outside else colour(release.arms[0])
        parts.append(
            f'<circle cx="{x_of(order):.1f}" cy="{y_of(mean):.1f}" r="{radius:.1f}" fill="{fill}" fill-opacity="0.75" '
            f'stroke="{colour(release.arms[0])}"><title>{_told(view, release, mean)}</title></circle>'
        )
    parts.append(f'<text x="{(left + right) / 2}" y="{height - 22}" text-anchor="middle">releases in order</text>')
    parts.append(_legend(view, height - 4))
    return _svg(height, "Noisy mean of each released sum", parts)


def released_sums(view: PublicView) -> list[Released]:
    """The releases that say something of one arm by itself."""
    return [release for release in view.releases if release.kind == "sum" and release.sizes[0] > 0]


def outcome_range(view: PublicView) -> tuple[float, float]:
    """The outcome's bounds."""
    units = in_outcome_units(view.design)
    ends = sorted((units(0.0, 1), units(1.0, 1)))
    return ends[0], ends[1]


def _told(view: PublicView, release: Released, mean: float) -> str:
    return escape(f"{view.labels[release.arms[0]]}, stage {release.stage}: {release.sizes[0]} people, noisy mean {mean:.4g}")


def _legend(view: PublicView, y: float) -> str:
    parts, x = [], 56.0
    for arm, label in enumerate(view.labels):
        if x > WIDTH - 90:
            parts.append(f'<text x="{x}" y="{y}">…</text>')
            break
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="5" fill="{colour(arm)}"/>')
        parts.append(f'<text x="{x + 9}" y="{y}">{escape(_short(label))}</text>')
        x += 26 + 7.2 * len(_short(label))
    return "".join(parts)


class _Axis:
    """A horizontal axis from low to high."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high if high > low else low + 1.0

    def at(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)  # noise can carry an estimate over the edge
        return LEFT + (WIDTH - LEFT - RIGHT) * (inside - self.low) / (self.high - self.low)

    def ticks(self, y: float, title: str) -> str:
        parts = []
        for step in range(5):
            value = self.low + (self.high - self.low) * step / 4
            x = self.at(value)
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{y}" class="grid"/>')
            parts.append(f'<text x="{x:.1f}" y="{y + 16}" text-anchor="middle">{value:.3g}</text>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(f'<text x="{middle}" y="{y + 36}" text-anchor="middle" class="muted">{escape(title)}</text>')
        return "".join(parts)


def _label(y: float, text: str, bold: bool = False) -> str:
    weight = ' font-weight="700"' if bold else ""
    return f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end"{weight}>{escape(_short(text))}</text>'


def _value(x: float, y: float, text: str, kind: str = "value") -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="middle" class="{kind}">{escape(text)}</text>'


def _short(text: str) -> str:
    return text if len(text) <= 20 else text[:19] + "…"


def _svg(height: float, title: str, parts: list[str]) -> str:
    inside = "".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{escape(title)}</title>{inside}</svg>'
    )
