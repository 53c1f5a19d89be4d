"""Before a trial: algorithms, bounds, plans. And whether the service is up, and ready."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from bestarm import __version__
from bestarm.design import DEFAULT_ALGORITHM
from bestarm.policy import catalogue
from bestarm.service import schemas
from bestarm.service.guard import AccessHere, PlannerHere, Viewer
from bestarm.service.plans import to_be_planned
from bestarm.service.problems import documented
from bestarm.theory import bounds as bounds_of
from bestarm.trial.plain import plain

router = APIRouter()


@router.get("/health", tags=["service"])
def health() -> schemas.Health:
    """Whether the service is up. Needs no token."""
    return schemas.Health(status="ok", version=__version__)


@router.get("/ready", tags=["service"], responses=documented())
def ready(access: AccessHere) -> schemas.Ready:
    """Whether the store answers, too; 503 if not. Needs no token."""
    access.try_store()
    return schemas.Ready(status="ready")


@router.get("/me", tags=["access"], responses=documented())
def me(holder: Viewer) -> schemas.Me:
    """What your token is."""
    return schemas.Me(role=holder.role, trial=holder.trial, label=holder.label)


@router.get("/algorithms", tags=["planning"], responses=documented())
def algorithms(holder: Viewer) -> schemas.AlgorithmList:
    """The algorithms there are."""
    return schemas.AlgorithmList(
        algorithms=[
            schemas.AlgorithmInfo(
                name=a.name, summary=a.summary, privacy=list(a.privacy), proven=a.proven, source=a.source
            )
            for a in catalogue.CATALOGUE.values()
        ]
    )


@router.post("/bounds", tags=["planning"], responses=documented())
def bounds(holder: Viewer, question: schemas.BoundsQuestion) -> schemas.BoundsAnswer:
    """How many participants any method must use, and whether privacy or chance decides that."""
    found = bounds_of(question.means, question.epsilon, question.delta, question.beta)
    return schemas.BoundsAnswer(**plain(found.to_dict()))


@router.post(
    "/plan",
    tags=["planning"],
    response_model=schemas.PlanAnswer,
    responses=documented(409) | {202: {"model": schemas.PlanPending, "description": "Being computed; ask again."}},
)
def plan(holder: Viewer, planner: PlannerHere, question: schemas.PlanRequest) -> Any:
    """How many participants a trial needs and what privacy costs, by simulation. Repeat the question until the
    answer is 200: the same question is computed once."""
    asked = question.model_dump()
    asked["algorithm"] = question.algorithm or DEFAULT_ALGORITHM
    answer = planner.ask(to_be_planned(**asked))
    if answer is None:
        return JSONResponse({"state": "computing"}, 202, {"Retry-After": "1"})
    return {"state": "done", "plan": plain(answer)}
