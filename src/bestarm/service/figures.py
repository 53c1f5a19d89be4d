"""The figure of the plan page. The figures of a trial are those of its report: `bestarm.trial.figures`."""

from __future__ import annotations

import math
from typing import Any

from markupsafe import Markup

from bestarm.trial.figures import share_of, svg


def cost_curve(plan: dict[str, Any], epsilon: float, expected: float, shades: tuple[float, ...]) -> Markup:
    """Participants against epsilon, both in logs, and where we are. The darker shade ends where privacy no longer
    decides what the best method must pay, the lighter one where it costs that method nothing any more; without shades
    nothing is known of that."""
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
    for end, shade in zip(shades, ("regime", "regime lighter"), strict=False):
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
    said = f"Participants by privacy budget; at epsilon {epsilon:g} about {expected:.0f}"
    return Markup(svg(300, said, parts))


def _power(exponent: int) -> str:
    return f"{10**exponent:,}" if 0 <= exponent <= 5 else f"1e{exponent}"
