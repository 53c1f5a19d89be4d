"""What monitoring is told: nothing unless the server was started with a secret for it."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from bestarm.service.metrics import MEDIA_TYPE, Metrics
from bestarm.service.problems import not_found

router = APIRouter()


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Counts and times of requests, for whoever has the secret."""
    counts = cast(Metrics | None, request.app.state.metrics)
    if counts is None:
        raise not_found()
    if not counts.opens(request.headers.get("authorization", "")):
        said = "This needs the secret that the server was started with: Authorization: Bearer SECRET.\n"
        return PlainTextResponse(said, 401, {"WWW-Authenticate": "Bearer"})
    return Response(counts.text(), media_type=MEDIA_TYPE)
