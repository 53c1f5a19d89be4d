"""The report: one self-contained HTML page and the same as JSON, from the public view alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from html import escape
from typing import Final

from bestarm._version import __version__
from bestarm.design import Design
from bestarm.exact import text_of
from bestarm.trial import figures
from bestarm.trial.answers import Report
from bestarm.trial.moments import moment
from bestarm.trial.public import (
    DIFFERENCES_MEAN,
    Estimate,
    PublicView,
    Released,
    answer_said,
    assumptions,
    coins_said,
    dates_said,
    differences_said,
    ledger_of,
    mended_said,
    outcome_said,
    people_released,
    promised,
    status_of,
)

STYLE = (
    figures.STYLE
    + """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); margin: 0; background: var(--paper);
  overflow-wrap: anywhere; }
main { max-width: 860px; margin: 0 auto; padding: 32px 20px 60px; }
h1 { font-size: 28px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 0 0 12px; }
section { background: var(--white); border: 1px solid var(--line); border-radius: 12px; padding: 20px 22px;
  margin: 18px 0; }
.lead, .said { color: var(--soft-ink); margin: 0; } .said { font-size: 15px; }
.verdict { border-left: 6px solid var(--accent); } .verdict strong { font-size: 24px; display: block; }
.alarm { color: #b45309; font-weight: 600; }
.decided { border-left-color: var(--good); }
.warning { border-left: 6px solid var(--warn); }
table { border-collapse: collapse; width: 100%; font-size: 14px; } .wide { overflow-x: auto; }
th, td { text-align: left; padding: 5px 10px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
details { margin-top: 12px; } summary { cursor: pointer; color: var(--accent); }
footer { color: var(--soft-ink); font-size: 13px; overflow-wrap: anywhere; }
@page { margin: 16mm; }
@media print {
  body { background: var(--white); font-size: 11pt; } main { max-width: none; padding: 0; } h1 { font-size: 20pt; }
  section { border: 0; border-top: 1px solid var(--line); border-radius: 0; padding: 10px 0 0; margin: 12px 0; }
  .verdict { border: 2px solid var(--ink); padding: 10px 14px; } svg, .bar, tr, .verdict { break-inside: avoid; }
  h2 { break-after: avoid; } thead { display: table-header-group; } .wide { overflow: visible; }
  details::details-content { content-visibility: visible; display: block; }
  summary { list-style: none; color: inherit; }
  * { print-color-adjust: exact; }
}
"""
)

STATES = {
    "recruiting": "The trial is recruiting.",
    "waiting": "The trial waits for outcomes; nobody is enrolled until some have come in.",
    "paused": "The trial is paused.",
    "stopped": "The trial has stopped.",
}


def report_of(view: PublicView, head: str) -> Report:
    """The report as data."""
    return Report(__version__, view.design.to_json(), status_of(view), ledger_of(view), head)


_MADE: Final[deque[tuple[PublicView, str, str]]] = deque(maxlen=8)
"""The pages that were made last, with what they were made of: many people may look between two public events."""


def report_page(view: PublicView, head: str) -> str:
    """The report as an HTML page that needs nothing else; made once, however many people look at this very view."""
    for known, known_head, page in tuple(_MADE):
        if known is view and known_head == head:
            return page
    page = _page(view, head)
    _MADE.append((view, head, page))
    return page


_PARTS: Final[deque[tuple[str, Released, int, str]]] = deque(maxlen=16)
"""Parts of pages that change with releases alone, each with the last release it shows and the number of all."""


def _once_a_release(part: str, view: PublicView, make: Callable[[PublicView], str]) -> str:
    # A release never changes, so what follows from releases and the design is the same until the next.
    if not view.releases:
        return make(view)
    last, count = view.releases[-1], len(view.releases)
    for known, released, of, text in tuple(_PARTS):
        if known == part and released is last and of == count:
            return text
    text = make(view)
    _PARTS.append((part, last, count, text))
    return text


def _page(view: PublicView, head: str) -> str:
    timeline = _once_a_release("timeline", view, figures.timeline_figure)
    sections = "".join(
        (
            _verdict(view),
            _caveat(view),
            _figure("What each arm is estimated to do", figures.estimates_figure(view), figures.estimates_said(view)),
            _figure("How far the evidence has come", figures.evidence_figure(view), figures.evidence_said(view)),
            _differences(view),
            _figure(
                "Releases so far",
                timeline,
                figures.timeline_said(view),
            ),
            _people(view),
            _once_a_release("privacy", view, _privacy),
            _assumed(view),
            _design(view),
        )
    )
    name = escape(view.name)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}: trial report</title><style>{STYLE}</style></head><body><main>"
        f'<h1>{name}</h1><p class="lead">Report of a trial with {len(view.labels)} arms, '
        f"{escape(risk_said(view.design))}, {escape(promised(view))}. "
        f"{escape(outcome_said(view.design))} {escape(dates_said(view))} "
        f"Everything here is computed from releases and public constants.</p>{sections}"
        f"<footer>bestarm {escape(__version__)} · head of the public chain: {escape(head)}</footer>"
        "</main></body></html>"
    )


def risk_said(design: Design) -> str:
    """What may be wrong with the answer, and how often, in a few words."""
    risk = f"risk of a wrong recommendation at most {text_of(design.delta)}"
    if design.control is None or design.delta_none is None:
        return risk
    return f"compared with {design.control}, {risk}, of a wrong none at most {text_of(design.delta_none)}"


def _section(title: str, body: str, kind: str = "") -> str:
    return f'<section class="{kind}"><h2>{escape(title)}</h2>{body}</section>'


def _verdict(view: PublicView) -> str:
    if view.verdict is None:
        body = f"<strong>{STATES[view.state]}</strong><p>{escape(view.explanation)}</p>"
        return _section("No verdict yet", body, "verdict")
    title, answer = answer_said(view)
    if view.verdict.arm is None:
        return _section(title, f"<p>{escape(view.verdict.reason)}</p>", "verdict")
    body = f"<strong>{escape(answer)}</strong><p>{escape(view.verdict.reason)}</p>"
    return _section(title, body, "verdict decided")


def _caveat(view: PublicView) -> str:
    if view.caveat is None:
        return ""
    return _section("Read this first", f"<p>{escape(view.caveat[0].upper() + view.caveat[1:])}.</p>", "warning")


def _figure(title: str, figure: str, said: str) -> str:
    return _section(title, figure + f'<p class="said">{escape(said)}</p>') if figure else ""


def _people(view: PublicView) -> str:
    counted = people_released(view)
    rows = [
        (label, f"{view.assigned[arm]:,}", f"{counted[arm]:,}", *_raw(view.estimates[arm]))
        for arm, label in enumerate(view.labels)
    ]
    rows.append(("all arms", f"{sum(view.assigned):,}", f"{sum(counted):,}", "", ""))
    said = coins_said(view)
    kind = "" if view.coins is None or view.coins.ok else ' class="alarm"'
    coins = f"<p{kind}>{escape(said)}</p>" if said else ""
    mended = mended_said(view)
    coins += f"<p>{escape(mended)}</p>" if mended else ""
    table = _table(("arm", "assigned", "in releases", "estimate, as it is", "interval"), rows, (1, 2, 3))
    return _section("Participants", table + coins)


def _raw(estimate: Estimate) -> tuple[str, str]:
    if estimate.mean is None:
        return "–", "–"
    band = "–" if estimate.low is None or estimate.high is None else f"{estimate.low:.4g} to {estimate.high:.4g}"
    return f"{estimate.mean:.4g}", band


def _differences(view: PublicView) -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in differences_said(view))
    said = f'<p class="said">{escape(DIFFERENCES_MEAN)}</p>'
    control = view.design.control
    title = "How far ahead the leading arm is" if control is None else f"How far ahead of {control} each arm is"
    return _section(title, f"<ul>{lines}</ul>{said}") if lines else ""


def _privacy(view: PublicView) -> str:
    ledger = ledger_of(view)
    said = [f"<p><b>Promised:</b> {escape(ledger.promised)} for every participant.</p>"]
    if ledger.spent is not None:
        name = "rho" if ledger.epsilon_exact is None else "epsilon"
        said.append(f"<p><b>Spent so far, for any one person:</b> {name} = {escape(ledger.spent)}.</p>")
    said.append(f"<p>{escape(ledger.why)}</p>")
    rows = [
        (moment(r.at)[:10], str(line.stage), line.of_arms, line.of_people, f"{line.value:.4f}", _terms(line.terms))
        for line, r in zip(ledger.releases, view.releases, strict=True)
    ]
    table = _table(("date", "stage", "arm", "people", "noisy sum", "noise"), rows, (1, 3, 4))
    said.append(f"<details><summary>All {len(rows)} releases</summary>{table}</details>" if rows else "")
    return _section("Privacy ledger", "".join(said))


def _terms(terms: dict[str, str | None]) -> str:
    shown = {k: v for k, v in terms.items() if v is not None and k not in ("mechanism", "sampler")}
    return ", ".join([str(terms.get("mechanism")), *(f"{key} {value}" for key, value in sorted(shown.items()))])


def _assumed(view: PublicView) -> str:
    items = "".join(f"<li>{escape(said)}</li>" for said in assumptions(view))
    return _section("What this rests on", f"<ul>{items}</ul>")


def _design(view: PublicView) -> str:
    rows = view.design.in_words()
    return _section("The design, fixed at creation", _table(("parameter", "value"), rows, ()))


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], numbers: tuple[int, ...]) -> str:
    def cells(row: tuple[str, ...], tag: str) -> str:
        kinds = (' class="n"' if place in numbers else "" for place in range(len(row)))
        return "".join(f"<{tag}{kind}>{escape(cell)}</{tag}>" for cell, kind in zip(row, kinds, strict=True))

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    top = f"<tr>{cells(head, 'th')}</tr>"
    table = f"<table><thead>{top}</thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="Table">{table}</div>'
