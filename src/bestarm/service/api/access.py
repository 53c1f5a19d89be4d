"""Tokens and view links: made, listed, taken back. For administrators of all trials."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import BeforeValidator

from bestarm.exact import is_plain
from bestarm.service import schemas_of_access as schemas
from bestarm.service.access import Grant
from bestarm.service.guard import AccessHere, TrialsHere, WholeAdmin
from bestarm.service.problems import documented, not_found

router = APIRouter(tags=["access"])


def _plain(text: Any) -> Any:
    if isinstance(text, str) and not is_plain(text):
        raise ValueError("a number is written in the digits 0 to 9")
    return text


Number = Annotated[int, BeforeValidator(_plain), Path(ge=1, le=2**31 - 1, description="The grant's number, as listed.")]


@router.get("/tokens", responses=documented(403))
def list_tokens(holder: WholeAdmin, access: AccessHere) -> schemas.GrantList:
    """The tokens and view links that are good now, without their secrets."""
    return schemas.GrantList(grants=[schemas.GrantInfo(**_described(grant)) for grant in access.grants()])


@router.post("/tokens", status_code=201, responses=documented(403, 404))
def make_token(holder: WholeAdmin, access: AccessHere, trials: TrialsHere, new: schemas.NewToken) -> schemas.NewGrant:
    """A new token; its secret is in this answer and nowhere else."""
    if new.trial is not None:
        trials.find(new.trial)
    secret, grant = access.issue("token", new.role, new.label, new.trial)
    return schemas.NewGrant(**_described(grant), secret=secret, path=None)


@router.post("/view-links", status_code=201, responses=documented(403, 404))
def make_view_link(
    holder: WholeAdmin, access: AccessHere, trials: TrialsHere, new: schemas.NewViewLink
) -> schemas.NewGrant:
    """A link that shows one trial's public view to whoever has it; it is in this answer and nowhere else."""
    trials.find(new.trial)
    secret, grant = access.issue("view", "viewer", new.label, new.trial)
    return schemas.NewGrant(**_described(grant), secret=secret, path=f"/view/{secret}")


@router.delete("/tokens/{number}", status_code=204, responses=documented(403, 404))
def end_token(holder: WholeAdmin, access: AccessHere, number: Number) -> Response:
    """Take back a token or a view link, and every session it let in."""
    if not access.end(number):
        raise not_found("There is no token or view link of this number.")
    return Response(status_code=204)


def _described(grant: Grant) -> dict[str, Any]:
    return {
        "id": grant.id,
        "kind": grant.kind,
        "role": grant.role,
        "trial": grant.trial,
        "label": grant.label,
        "created_at": grant.created,
    }
