"""A trial as everybody may see it: signed in, or by a link that an ethics board can be given."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from fastapi import APIRouter, Request
from fastapi.responses import Response
from markupsafe import Markup

from bestarm.service.guard import AccessHere, PageHolder, TrialsHere, visible
from bestarm.service.pages.render import render, trial_path
from bestarm.service.problems import Refusal
from bestarm.service.reports import report_response, safe_filename
from bestarm.service.trials import Trials
from bestarm.trial import figures
from bestarm.trial.moments import moment
from bestarm.trial.public import (
    DIFFERENCES_MEAN,
    PublicView,
    answer_said,
    coins_said,
    dates_said,
    differences_said,
    ledger_of,
    mended_said,
    outcome_said,
    people_released,
    stage_of,
)

router = APIRouter()

MOST_KEPT: Final = 100
"""Pages kept at most."""


@router.get("/figures.css")
async def figures_style() -> Response:
    """What the figures look like, the same here as in a report."""
    return Response(figures.STYLE, media_type="text/css")


@dataclass(frozen=True)
class Entrance:
    """Where the page's own addresses begin, and whether its reader is signed in."""

    base: str
    signed_in: bool


@router.get("/trials/{trial}")
def show(request: Request, holder: PageHolder, trials: TrialsHere, trial: str) -> Response:
    """The public view for people who are signed in."""
    visible(trials, holder, trial)
    return _page(request, trials, trial, Entrance(trial_path(trial), True))


@router.get("/trials/{trial}/live")
def live(request: Request, holder: PageHolder, trials: TrialsHere, trial: str, mark: str = "") -> Response:
    """What changes on that page; nothing if nothing did."""
    visible(trials, holder, trial)
    return _live(request, trials, trial, Entrance(trial_path(trial), True), mark)


@router.get("/trials/{trial}/report")
def report(holder: PageHolder, trials: TrialsHere, trial: str) -> Response:
    """The report, to be saved."""
    visible(trials, holder, trial)
    return report_response(trials.report_page(trial), safe_filename(trial, "-report.html"))


@router.get("/trials/{trial}/report.json")
def report_json(holder: PageHolder, trials: TrialsHere, trial: str) -> Response:
    """The report as data, to be saved."""
    visible(trials, holder, trial)
    return _json_file(trials, trial)


@router.get("/view/{link}")
def show_link(request: Request, access: AccessHere, trials: TrialsHere, link: str) -> Response:
    """The public view for whoever has the link."""
    return _page(request, trials, _linked(access, link), Entrance(f"/view/{link}", False))


@router.get("/view/{link}/live")
def live_link(request: Request, access: AccessHere, trials: TrialsHere, link: str, mark: str = "") -> Response:
    """What changes on that page; nothing if nothing did."""
    return _live(request, trials, _linked(access, link), Entrance(f"/view/{link}", False), mark)


@router.get("/view/{link}/report")
def report_link(access: AccessHere, trials: TrialsHere, link: str) -> Response:
    """The report, to be saved."""
    trial = _linked(access, link)
    return report_response(trials.report_page(trial), safe_filename(trial, "-report.html"))


@router.get("/view/{link}/report.json")
def report_json_link(access: AccessHere, trials: TrialsHere, link: str) -> Response:
    """The report as data, to be saved."""
    return _json_file(trials, _linked(access, link))


def _linked(access: AccessHere, link: str) -> str:
    grant = access.find(link)
    if grant is None or grant.kind != "view" or grant.trial is None:
        raise Refusal(404, "This link does not lead anywhere; it may have been taken back.")
    return grant.trial


class KeptPages:
    """Pages that were made for whoever has a link: the next one who looks gets the same, until the view is another.

    Those who are signed in have names and forms of their own on theirs.
    """

    def __init__(self) -> None:
        self._pages: dict[tuple[str, str], tuple[PublicView, Response]] = {}
        self._lock = threading.Lock()

    def page(self, template: str, door: Entrance, view: PublicView, make: Callable[[], Response]) -> Response:
        """The page of that link for this very view; of those who look at once the first one makes it."""
        if door.signed_in:
            return make()
        with self._lock:
            seen, page = self._pages.get((template, door.base), (None, None))
            if page is None or seen is not view:
                page = make()
                if len(self._pages) >= MOST_KEPT:
                    self._pages.clear()
                self._pages[template, door.base] = (view, page)
            return Response(page.body, page.status_code, media_type=page.media_type)


def _page(request: Request, trials: Trials, name: str, door: Entrance) -> Response:
    view = trials.view(name)
    created, mark = request.query_params.get("created") == "yes", mark_of(view)
    return _kept(request).page(
        "trial.html",
        door,
        view,
        lambda: render(request, "trial.html", created=created and door.signed_in, mark=mark, **_shown(view, door)),
    )


def _kept(request: Request) -> KeptPages:
    return cast(KeptPages, request.app.state.kept_pages)


def _live(request: Request, trials: Trials, name: str, door: Entrance, mark: str) -> Response:
    view = trials.view(name)
    now = mark_of(view)
    if mark == now:
        return Response(status_code=204)
    return _kept(request).page(
        "trial_live.html",
        door,
        view,
        lambda: render(request, "trial_live.html", mark=now, news=news_of(view), **_shown(view, door)),
    )


def mark_of(view: PublicView) -> str:
    """A short name of what is shown. It is made from public things alone, unlike the number of events, which would
    tell when outcomes come in."""
    shown = (
        view.state,
        view.recruiting,
        view.stage,
        view.assigned,
        view.relabelled,
        len(view.releases),
        view.explanation,
        view.verdict,
    )
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:16]


def news_of(view: PublicView) -> str:
    """What changed, for those who hear the page: not every participant, but releases and the end."""
    if view.verdict is not None:
        if view.design.control is not None and view.verdict.arm is not None:
            return f"The trial has stopped. {answer_said(view)[1]}."
        return f"The trial has stopped. {view.verdict.arm or 'No arm'} is recommended."
    count = len(view.releases)
    return f"The trial is {view.state}, with {count} release{'' if count == 1 else 's'}."


def _json_file(trials: Trials, name: str) -> Response:
    text = json.dumps(trials.report(name).to_json(), indent=2, ensure_ascii=False)
    headers = {"Content-Disposition": f'attachment; filename="{safe_filename(name, "-report.json")}"'}
    return Response(text, media_type="application/json", headers=headers)


def _shown(view: PublicView, door: Entrance) -> dict[str, Any]:
    labels = view.labels
    return {
        "view": view,
        "answer": answer_said(view),
        "door": door,
        "design": view.design.to_json(),
        "design_in_words": view.design.in_words(),
        "recruiting": [labels[arm] for arm in view.recruiting],
        "stage": None if view.stage is None else stage_of(view.stage, labels),
        "people": sum(view.assigned),
        "people_released": sum(people_released(view)),
        "estimates": Markup(figures.estimates_figure(view)),
        "estimates_said": figures.estimates_said(view),
        "evidence": Markup(figures.evidence_figure(view)),
        "evidence_said": figures.evidence_said(view),
        "differences": differences_said(view),
        "differences_mean": DIFFERENCES_MEAN,
        "coins": coins_said(view),
        "mended": mended_said(view),
        "dates": dates_said(view),
        "outcome": outcome_said(view.design),
        "several": figures.foreseen_by_nobody(view),
        "timeline": Markup(figures.timeline_figure(view)),
        "timeline_said": figures.timeline_said(view),
        "ledger": ledger_of(view),
        "moments": [moment(r.at) for r in view.releases],
    }
