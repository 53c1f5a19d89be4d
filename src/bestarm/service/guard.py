"""Every request's holder, and whether it may do what it asks. Tokens for the API, sessions for the pages.

What looks into the store is a plain function, which runs in a thread of its own; what does not is `async`, which spares
the change of threads.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Annotated, cast
from urllib.parse import urlsplit

from fastapi import Depends, Path, Request
from fastapi.security import HTTPBearer

from bestarm.distributed.halves import Halves
from bestarm.service.access import Access, Grant, Role, csrf_token, demand, good_token, trial_reached
from bestarm.service.hooks import Hooks
from bestarm.service.plans import Planner
from bestarm.service.problems import Refusal, no_such_trial
from bestarm.service.trials import Trials
from bestarm.text import is_text
from bestarm.trial.trial import Trial

COOKIE = "bestarm_session"

bearer = HTTPBearer(auto_error=False, description="A token from the page Access, or from POST /api/v1/tokens.")

TrialName = Annotated[
    str, Path(description="The trial's name.", min_length=1, max_length=100, examples=["dose finding"])
]


async def trials_of(request: Request) -> Trials:
    """The app's trials."""
    return cast(Trials, request.app.state.trials)


async def access_of(request: Request) -> Access:
    """The app's grants."""
    return cast(Access, request.app.state.access)


async def hooks_of(request: Request) -> Hooks:
    """The app's webhooks."""
    return cast(Hooks, request.app.state.hooks)


async def planner_of(request: Request) -> Planner:
    """The app's planner."""
    return cast(Planner, request.app.state.planner)


TrialsHere = Annotated[Trials, Depends(trials_of)]
AccessHere = Annotated[Access, Depends(access_of)]
HooksHere = Annotated[Hooks, Depends(hooks_of)]
PlannerHere = Annotated[Planner, Depends(planner_of)]


def token_holder(request: Request, access: AccessHere, _: Annotated[object, Depends(bearer)]) -> Grant:
    """The grant of the request's token."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return good_token(access.find(secret.strip()) if scheme.lower() == "bearer" else None)


Holder = Annotated[Grant, Depends(token_holder)]


def holder_as(role: Role) -> Callable[[Grant], Awaitable[Grant]]:
    """The holder, who must be at least this."""

    async def check(holder: Holder) -> Grant:
        return demand(holder, role)

    return check


def demand_everything(holder: Grant) -> Grant:
    """The holder, who must be an administrator of all trials."""
    if not holder.runs_everything:
        raise Refusal(403, "This needs an administrator's access that is not limited to one trial.")
    return holder


async def whole_admin(holder: Holder) -> Grant:
    """The holder, who must be an administrator of all trials."""
    return demand_everything(holder)


def trial_for(role: Role) -> Callable[[Trials, Grant, str], Trial]:
    """The trial in the address, for a holder who is at least this; others' trials are as if they were not there."""

    def find(trials: TrialsHere, holder: Holder, trial: TrialName) -> Trial:
        trial_reached(holder, trial, role)
        return trials.find(trial)

    return find


Viewer = Annotated[Grant, Depends(holder_as("viewer"))]
WholeAdmin = Annotated[Grant, Depends(whole_admin)]
TrialToView = Annotated[Trial, Depends(trial_for("viewer"))]
TrialToRun = Annotated[Trial, Depends(trial_for("operator"))]
TrialToManage = Annotated[Trial, Depends(trial_for("admin"))]


def halves_for(role: Role) -> Callable[[Trials, Grant, str], Halves]:
    """This server's halves of a trial, for a holder who is at least this. The trial itself may be elsewhere."""

    def find(trials: TrialsHere, holder: Holder, trial: TrialName) -> Halves:
        demand(holder, role)
        if not holder.reaches(trial):
            raise no_such_trial()
        return Halves(trials.store, trial)

    return find


HalvesToFill = Annotated[Halves, Depends(halves_for("operator"))]
HalvesToAddUp = Annotated[Halves, Depends(halves_for("admin"))]


class SignInFirst(Exception):
    """A page needs a session, and there is none."""


def session_holder(request: Request, access: AccessHere) -> Grant:
    """The grant of the browser's session; forms must also prove that they came from our own pages."""
    secret = request.cookies.get(COOKIE, "")
    grant = access.find(secret)
    if grant is None or grant.kind != "session":
        raise SignInFirst
    request.state.holder = grant
    request.state.csrf = csrf_token(secret)
    return grant


async def same_origin(request: Request) -> None:
    """Refuse a form that another site sent: browsers say where it comes from."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    own = {request.url.netloc, request.headers.get("host", "")}
    foreign = (site is not None and site not in ("same-origin", "none")) or (
        origin is not None and urlsplit(origin).netloc not in own
    )
    if foreign:
        raise Refusal(403, "This form was sent by another site, and nothing was done.")


async def own_form(request: Request, holder: Annotated[Grant, Depends(session_holder)]) -> Grant:
    """The session's grant, for a form that carries the session's own mark."""
    await same_origin(request)
    fields = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
    if not all(is_text(part) for field in fields.items() for part in field):
        raise Refusal(422, "The form holds text that cannot be written as UTF-8, and nothing was done.")
    if not hmac.compare_digest(fields.get("csrf", "").encode(), request.state.csrf.encode()):
        raise Refusal(403, "This page is too old to be used; go back, load it again, and repeat what you did.")
    request.state.fields = fields
    return holder


async def own_fields(request: Request, _: Annotated[Grant, Depends(own_form)]) -> dict[str, str]:
    """What the form says."""
    return cast(dict[str, str], request.state.fields)


PageHolder = Annotated[Grant, Depends(session_holder)]
FormHolder = Annotated[Grant, Depends(own_form)]
Fields = Annotated[dict[str, str], Depends(own_fields)]


def visible(trials: Trials, holder: Grant, name: str, role: Role = "viewer") -> Trial:
    """The trial of a page, for this holder."""
    if not holder.reaches(name):
        raise no_such_trial()
    found = trials.find(name)
    demand(holder, role)
    return found
