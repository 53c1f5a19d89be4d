"""Who has access: tokens and view links, made, listed and taken back. For administrators of all trials."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from bestarm.errors import InputError
from bestarm.service.access import ROLES, Access
from bestarm.service.guard import AccessHere, Fields, FormHolder, PageHolder, TrialsHere, demand_everything
from bestarm.service.pages.render import render
from bestarm.service.problems import Refusal
from bestarm.service.trials import Trials

router = APIRouter(prefix="/access")


@router.get("")
def show(request: Request, holder: PageHolder, access: AccessHere, trials: TrialsHere, trial: str = "") -> Response:
    """The list and the forms."""
    demand_everything(holder)
    return _page(request, access, trials, chosen=trial)


@router.post("/tokens")
def make_token(
    request: Request, holder: FormHolder, fields: Fields, access: AccessHere, trials: TrialsHere
) -> Response:
    """A new token, shown on this page and never again."""
    demand_everything(holder)
    role, trial = fields.get("role", ""), fields.get("trial", "") or None
    try:
        if role not in ROLES:
            raise InputError(f"The role is one of {', '.join(ROLES)}.")
        if trial is not None:
            trials.find(trial)
        secret, grant = access.issue("token", role, fields.get("label", ""), trial)
    except (InputError, Refusal) as error:
        return _page(request, access, trials, problem=str(error))
    return _page(request, access, trials, made={"secret": secret, "grant": grant, "url": None})


@router.post("/views")
def make_view(request: Request, holder: FormHolder, fields: Fields, access: AccessHere, trials: TrialsHere) -> Response:
    """A new public link, shown on this page and never again."""
    demand_everything(holder)
    trial = fields.get("trial", "")
    try:
        trials.find(trial)
        secret, grant = access.issue("view", "viewer", fields.get("label", ""), trial)
    except (InputError, Refusal) as error:
        return _page(request, access, trials, problem=str(error), chosen=trial)
    url = str(request.base_url) + f"view/{secret}"
    return _page(request, access, trials, made={"secret": secret, "grant": grant, "url": url})


@router.post("/end")
def end(holder: FormHolder, fields: Fields, access: AccessHere) -> Response:
    """Take a token or a link back."""
    demand_everything(holder)
    number = fields.get("id", "")
    if number.isascii() and number.isdecimal() and len(number) < 10:
        access.end(int(number))
    return RedirectResponse("/access", 303)


def _page(request: Request, access: Access, trials: Trials, **happened: Any) -> Response:
    known = {"made": None, "problem": None, "chosen": ""} | happened
    rows = [(grant, grant.created) for grant in access.grants()]
    status = 200 if known["problem"] is None else 422
    return render(request, "access.html", status, rows=rows, trials=trials.names(), roles=ROLES, **known)
