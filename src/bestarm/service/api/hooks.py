"""Webhooks: made, listed, taken back. For administrators of all trials, where the server's owner turned them on."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from bestarm.service import schemas_of_access as schemas
from bestarm.service.guard import HooksHere, TrialsHere, WholeAdmin
from bestarm.service.hooks import Hook
from bestarm.service.problems import documented, not_found

router = APIRouter(prefix="/webhooks", tags=["webhooks"])
Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="The webhook's number, as listed.")]


@router.get("", responses=documented(403))
def list_hooks(holder: WholeAdmin, hooks: HooksHere) -> schemas.HookList:
    """The webhooks there are, without their keys."""
    return schemas.HookList(webhooks=[schemas.HookInfo(**_described(hook)) for hook in hooks.all()])


@router.post("", status_code=201, responses=documented(403, 404, 409))
def make_hook(holder: WholeAdmin, hooks: HooksHere, trials: TrialsHere, new: schemas.NewHook) -> schemas.MadeHook:
    """Have public events sent to an address: a stage released, the trial stopped or paused, a verification failed."""
    if new.trial is not None:
        trials.find(new.trial)
    key, hook = hooks.add(new.url, new.trial)
    return schemas.MadeHook(**_described(hook), key=key)


@router.delete("/{number}", status_code=204, responses=documented(403, 404))
def end_hook(holder: WholeAdmin, hooks: HooksHere, number: Number) -> Response:
    """Take a webhook back, with what was still to be delivered."""
    if not hooks.remove(number):
        raise not_found("There is no webhook of this number.")
    return Response(status_code=204)


def _described(hook: Hook) -> dict[str, Any]:
    return vars(hook) | {"created_at": hook.created}
