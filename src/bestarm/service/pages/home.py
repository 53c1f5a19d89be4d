"""The list of trials."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bestarm.errors import BestArmError
from bestarm.service.guard import AccessHere, PageHolder, TrialsHere
from bestarm.service.pages.render import render
from bestarm.service.trials import Trials
from bestarm.trial.public import PublicView

router = APIRouter()


@dataclass(frozen=True)
class ListedTrial:
    """A trial in the list; without a view if it cannot be opened here."""

    name: str
    view: PublicView | None


@router.get("/")
def show(request: Request, holder: PageHolder, trials: TrialsHere, access: AccessHere) -> Response:
    """All trials that the holder reaches."""
    rows = [_row(trials, name) for name in trials.names() if holder.reaches(name)]
    no_token = holder.runs_everything and not any(g.kind == "token" and g.runs_everything for g in access.grants())
    deleted = request.query_params.get("deleted") == "yes"
    return render(request, "home.html", rows=rows, no_token=no_token, deleted=deleted)


def _row(trials: Trials, name: str) -> ListedTrial:
    try:
        return ListedTrial(name, trials.view(name))
    except BestArmError:  # its algorithm is one's own and not known to this server, say
        return ListedTrial(name, None)
