"""Pausing, resuming, ending and deleting a trial from its desk. For administrators."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from bestarm.errors import BestArmError
from bestarm.service.guard import Fields, FormHolder, TrialsHere, demand_everything, visible
from bestarm.service.pages.desk import desk_page

router = APIRouter(prefix="/trials/{trial}/manage")


@router.post("")
def manage(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """Do what the button says."""
    found = visible(trials, holder, trial, "admin")
    what, reason = fields.get("what", ""), fields.get("reason", "").strip()
    steps = {"pause": found.pause, "resume": found.resume, "end": found.end}
    step = steps.get(what)
    try:
        if what == "delete":
            demand_everything(holder)
            trials.remove(found.name)
            return RedirectResponse("/?deleted=yes", 303)
        if step is not None:
            step(reason, holder.actor)
    except BestArmError as error:
        return desk_page(request, trials, found, refused=("manage", error))
    return desk_page(request, trials, found, managed=what)
