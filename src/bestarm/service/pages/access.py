"""Who has access: tokens and view links, made, listed and taken back. For administrators of all trials."""

from __future__ import annotations

from typing import Any

import segno
from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup

from bestarm.errors import BestArmError, InputError
from bestarm.service.access import LINK_SECONDS, ROLES, Access, Role
from bestarm.service.guard import (
    AccessHere,
    Fields,
    FormHolder,
    HooksHere,
    PageHolder,
    TrialsHere,
    demand_everything,
)
from bestarm.service.hooks import Hooks
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
    trial = fields.get("trial", "") or None
    try:
        role = _role(fields, trials)
        secret, grant = access.issue("token", role, fields.get("label", ""), trial)
    except (InputError, Refusal) as error:
        return _page(request, access, trials, problem=str(error))
    return _page(request, access, trials, made={"secret": secret, "grant": grant, "url": None, "code": None})


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
    return _page(request, access, trials, made={"secret": secret, "grant": grant, "url": url, "code": None})


@router.post("/links")
def make_link(request: Request, holder: FormHolder, fields: Fields, access: AccessHere, trials: TrialsHere) -> Response:
    """A one-time link that signs a phone in, as a QR code; shown on this page and never again."""
    demand_everything(holder)
    trial = fields.get("trial", "") or None
    try:
        role = _role(fields, trials)
        secret, grant = access.issue("link", role, fields.get("label", ""), trial, LINK_SECONDS)
    except (InputError, Refusal) as error:
        return _page(request, access, trials, problem=str(error), chosen=trial or "")
    url = str(request.base_url) + f"sign-in#{secret}"
    return _page(request, access, trials, made={"secret": secret, "grant": grant, "url": url, "code": qr_code(url)})


def _role(fields: dict[str, str], trials: Trials) -> Role:
    # The role that is chosen, if there is such a role, and the trial that it is for.
    role = fields.get("role", "")
    if role not in ROLES:
        raise InputError(f"The role is one of {', '.join(ROLES)}.")
    if fields.get("trial"):
        trials.find(fields["trial"])
    return role


def qr_code(text: str) -> Markup:
    """The text as a picture that phones read."""
    drawn = segno.make(text, error="m", micro=False).svg_inline(scale=5, border=4, omitsize=True, light="#fff")
    return Markup(drawn)


@router.post("/webhooks")
def make_hook(
    request: Request, holder: FormHolder, fields: Fields, access: AccessHere, trials: TrialsHere, hooks: HooksHere
) -> Response:
    """A new webhook; the key of its signatures is shown on this page and never again."""
    demand_everything(holder)
    trial = fields.get("trial", "") or None
    try:
        if trial is not None:
            trials.find(trial)
        key, hook = hooks.add(fields.get("url", "").strip(), trial)
    except (BestArmError, Refusal) as error:
        return _page(request, access, trials, problem=str(error), chosen=trial or "")
    return _page(request, access, trials, hooked={"key": key, "hook": hook})


@router.post("/webhooks/end")
def end_hook(holder: FormHolder, fields: Fields, hooks: HooksHere) -> Response:
    """Take a webhook back."""
    demand_everything(holder)
    number = fields.get("id", "")
    if number.isascii() and number.isdecimal() and len(number) < 10:
        hooks.remove(int(number))
    return RedirectResponse("/access#webhooks", 303)


@router.post("/end")
def end(holder: FormHolder, fields: Fields, access: AccessHere) -> Response:
    """Take a token or a link back."""
    demand_everything(holder)
    number = fields.get("id", "")
    if number.isascii() and number.isdecimal() and len(number) < 10:
        access.end(int(number))
    return RedirectResponse("/access", 303)


def _page(request: Request, access: Access, trials: Trials, **happened: Any) -> Response:
    hooks: Hooks = request.app.state.hooks
    known = {"made": None, "hooked": None, "problem": None, "chosen": "", "hooks": hooks.all(), "on": hooks.enabled}
    known |= happened
    rows = [(grant, grant.created) for grant in access.grants()]
    status = 200 if known["problem"] is None else 422
    return render(request, "access.html", status, rows=rows, trials=trials.names(), roles=ROLES, **known)
