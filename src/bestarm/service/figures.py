"""Figures of the pages as inline SVG. Positions are percentages, so that lines stretch and letters do not."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from markupsafe import Markup

from bestarm.trial.figures import released_sums
from bestarm.trial.public import Estimate, PublicView

COLOURS = 7
"""Arms take the classes arm-0 to arm-6 in turn; the stylesheet gives each its colour."""
MOST_SHOWN = 400
"""Releases drawn; the last ones, if there are more."""


def outcome_range(view: PublicView) -> tuple[float, float]:
    """The outcome's bounds, in its own units."""
    units = view.design.outcomes.sum_in_units
    low, high = sorted((units(0.0, 1), units(1.0, 1)))
    return low, high


def share_of(value: float, low: float, high: float) -> float:
    """Where a value stands between two others, in percent, kept inside."""
    return 100 * min(max((value - low) / (high - low), 0.0), 1.0)


def estimate_bar(view: PublicView, estimate: Estimate) -> Markup:
    """One arm's estimate with its interval, on the scale of the outcome."""
    low, high = outcome_range(view)
    if estimate.mean is None:
        return _svg(26, "no release yet", _axis())
    parts = [_axis()]
    ink = f"arm-{estimate.arm % COLOURS}"
    said = f"estimate {estimate.mean:.3g}"
    if estimate.low is not None and estimate.high is not None:
        left, right = share_of(estimate.low, low, high), share_of(estimate.high, low, high)
        parts.append(f'<rect x="{left:.2f}%" y="8" width="{max(right - left, 0.5):.2f}%" height="10" rx="5" ')
        parts.append(f'class="interval {ink}"/>')
        said += f", between {estimate.low:.3g} and {estimate.high:.3g}"
    parts.append(f'<circle cx="{share_of(estimate.mean, low, high):.2f}%" cy="13" r="6.5" class="dot {ink}"/>')
    return _svg(26, said, "".join(parts))


LINE_AT = 80.0
"""Where the stopping line stands in an evidence bar, in percent; what is beyond has more than enough."""


def evidence_bar(value: float, needed: float) -> Markup:
    """How far the evidence has come towards the line."""
    share = max(0.0, value / needed) if needed > 0 else 1.0
    width = min(share * LINE_AT, 100.0)
    kind = "reached" if share >= 1 else "growing"
    bar = f'<rect x="0" y="6" width="{width:.2f}%" height="14" rx="4" class="evidence {kind}"/>'
    line = f'<line x1="{LINE_AT}%" x2="{LINE_AT}%" y1="0" y2="26" class="finish"/>'
    back = '<rect x="0" y="6" width="100%" height="14" rx="4" class="trough"/>'
    return _svg(26, f"{100 * share:.0f} percent of what is needed", back + bar + line)


def timeline(view: PublicView) -> Markup:
    """Every release in order: its noisy mean, its size by the mark's area."""
    shown = released_sums(view)[-MOST_SHOWN:]
    if not shown:
        return Markup()
    units = view.design.outcomes.sum_in_units
    low, high = outcome_range(view)
    # A small batch's noise can be far outside; such marks stand at the edge, hollow.
    margin = 0.12 * (high - low)
    bottom, top = low - margin, high + margin
    biggest = max(r.sizes[0] for r in shown)
    parts = []
    for value in (low, (low + high) / 2, high):
        y = 100 - share_of(value, bottom, top)
        parts.append(f'<line x1="9%" x2="100%" y1="{y:.2f}%" y2="{y:.2f}%" class="grid"/>')
        parts.append(f'<text x="8%" y="{y:.2f}%" dy="4" text-anchor="end">{value:g}</text>')
    for order, release in enumerate(shown):
        mean = units(release.value, release.sizes[0]) / release.sizes[0]
        x = 12 + 86 * (order + 0.5) / len(shown)
        hollow = "" if bottom <= mean <= top else " hollow"
        arm, people = release.arms[0], release.sizes[0]
        said = f"{view.labels[arm]}, stage {release.stage}: {people:,} people, noisy mean {mean:.3g}"
        parts.append(
            f'<circle cx="{x:.2f}%" cy="{100 - share_of(mean, bottom, top):.2f}%" '
            f'r="{3 + 7 * (people / biggest) ** 0.5:.1f}" class="dot arm-{arm % COLOURS}{hollow}">'
            f"<title>{escape(said)}</title></circle>"
        )
    return _svg(220, f"{len(shown)} releases in order, each sum's noisy mean", "".join(parts), "timeline")


def cost_curve(plan: dict[str, Any], epsilon: float, expected: float, shades: tuple[float, float]) -> Markup:
    """Participants against epsilon, both in logs, and where we are. The darker shade ends where privacy no longer
    decides what the best method must pay, the lighter one where it costs that method nothing any more."""
    points = plan["by_epsilon"]
    names = ("p90_samples", "expected_samples", "lower_bound_refined")
    known = [p[name] for p in points for name in names if p[name] and p[name] > 0]
    left, right = math.log10(points[0]["epsilon"]), math.log10(points[-1]["epsilon"])
    bottom, top = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))

    def x_of(value: float) -> float:
        return 11 + 0.87 * share_of(math.log10(value), left, right)

    def y_of(value: float) -> float:
        return 88 - 0.84 * share_of(math.log10(max(value, 1e-300)), bottom, top)

    parts = []
    for end, shade in zip(shades, ("regime", "regime lighter"), strict=True):
        width = x_of(min(end, points[-1]["epsilon"])) - 11
        parts.append(f'<rect x="11%" y="4%" width="{width:.2f}%" height="84%" class="{shade}"/>')
    for exponent in range(bottom, top + 1):
        y = y_of(10.0**exponent)
        parts.append(f'<line x1="11%" x2="98%" y1="{y:.2f}%" y2="{y:.2f}%" class="grid"/>')
        parts.append(f'<text x="10%" y="{y:.2f}%" dy="4" text-anchor="end">{_power(exponent)}</text>')
    parts += [
        f'<text x="{x_of(10.0**exponent):.2f}%" y="95%" text-anchor="middle">{10.0**exponent:g}</text>'
        for exponent in range(math.ceil(left), math.floor(right) + 1)
    ]
    lines = "".join(
        f'<polyline class="{kind}" points="'
        + " ".join(f"{x_of(p['epsilon']):.2f},{y_of(p[name]):.2f}" for p in points if p[name])
        + '"/>'
        for name, kind in zip(names, ("curve p90", "curve expected", "curve bound"), strict=True)
    )
    parts.append(f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="100%">{lines}</svg>')
    parts += [
        f'<circle cx="{x_of(p["epsilon"]):.2f}%" cy="{y_of(p["expected_samples"]):.2f}%" r="3.5" class="simulated"/>'
        for p in points
    ]
    here = x_of(epsilon)
    parts.append(f'<line x1="{here:.2f}%" x2="{here:.2f}%" y1="4%" y2="88%" class="here"/>')
    parts.append(f'<circle cx="{here:.2f}%" cy="{y_of(expected):.2f}%" r="8" class="marker"/>')
    return _svg(300, f"Participants by privacy budget; at epsilon {epsilon:g} about {expected:.0f}", "".join(parts))


def _power(exponent: int) -> str:
    return f"{10**exponent:,}" if 0 <= exponent <= 5 else f"1e{exponent}"


def _axis() -> str:
    return '<line x1="0" x2="100%" y1="13" y2="13" class="grid"/>'


def _svg(height: int, said: str, inside: str, kind: str = "") -> Markup:
    return Markup(
        f'<svg width="100%" height="{height}" role="img" aria-label="{escape(said)}" class="{kind}">{inside}</svg>'
    )
