"""Halves over HTTP: what one of the two servers of a trial with distributed noise is told and asked.

The trial may live on the other server, or elsewhere; here only random numbers are kept (`bestarm.distributed`).
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from bestarm.service import schemas
from bestarm.service import schemas_of_halves as halved
from bestarm.service.guard import HalvesToAddUp, HalvesToFill
from bestarm.service.problems import documented

router = APIRouter(prefix="/halves", tags=["halves"])
REFUSALS = documented(403, 404, 409)


@router.post("/{trial}", responses=REFUSALS)
def put_half(halves: HalvesToFill, sent: halved.SentHalf) -> schemas.Done:
    """Keep this server's half of what a person sent: "recorded" or "already recorded". For operators."""
    status = halves.put(sent.assignment, sent.stage, sent.people, sent.epsilon, sent.half)
    return schemas.Done(status=status)


@router.post("/{trial}/held", response_model=halved.HeldHalves, responses=REFUSALS)
def held_halves(halves: HalvesToAddUp, asked: halved.OfStage) -> dict[str, Any]:
    """Whose halves of a stage are here, and whose were added up. For administrators."""
    return halves.held(asked.stage).to_json()


@router.post("/{trial}/add-up", responses=REFUSALS)
def add_up(halves: HalvesToAddUp, asked: halved.AddUp) -> halved.HalfSums:
    """The sums of these people's halves, once for a stage; asked again, the same. For administrators."""
    return halved.HalfSums(sums=halves.add_up(asked.stage, asked.assignments))
