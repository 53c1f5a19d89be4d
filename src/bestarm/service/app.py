"""The application: one store, its API, its pages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

from bestarm import __version__
from bestarm.errors import BestArmError, NoSuchTrial
from bestarm.service import api
from bestarm.service.access import Access
from bestarm.service.failures import failure_of
from bestarm.service.guard import SignInFirst
from bestarm.service.hooks import Hooks
from bestarm.service.metrics import EVERY, Metrics, template_of
from bestarm.service.middleware import Outermost
from bestarm.service.pages import error_page, router, to_sign_in
from bestarm.service.pages.trial import KeptPages
from bestarm.service.plans import Planner
from bestarm.service.problems import Problem, Refusal, problem_response, refusal_of
from bestarm.service.sending import Sender
from bestarm.service.short_way import Counter
from bestarm.service.trials import Trials
from bestarm.service.window import Window
from bestarm.storage import open_store
from bestarm.storage.contract import Store

log = logging.getLogger("bestarm.service")

STATIC = Path(__file__).parent / "static"
NOTHING_SENT: dict[str, Any] = {
    "telemetry": dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
}
"""Newer frameworks describe requests, addresses and all, to whatever collector a machine has: ours hold secrets."""
METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
ABOUT = (
    "Trials that find the best of several options with proven privacy. Outcomes go in and never come out; what is "
    "shown follows from noisy releases alone. Asking and telling are safe to repeat."
)


def create_app(
    store: str | Path | Store,
    planner: Planner | None = None,
    webhooks: bool = False,
    private_webhooks: bool = False,
    metrics: Metrics | None = None,
) -> FastAPI:
    """The application over the trials of a store: a path, a database URL, or an open store.

    With `webhooks` administrators can have public events sent elsewhere; with `private_webhooks` also to addresses of
    this machine and of private networks. With `metrics` monitoring finds its counts at /metrics.
    """
    place = open_store(store, create=True)
    plans = planner or Planner()
    access = Access(place)
    trials, hooks = Trials(place, access), Hooks(place, webhooks)
    sender = Sender(hooks, trials.look_at_all, private_webhooks)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        sender.start()
        counting = None if metrics is None else asyncio.create_task(_keep(metrics))
        yield
        if counting is not None:
            counting.cancel()
        await run_in_threadpool(sender.stop)
        plans.close()
        place.close()

    app = FastAPI(
        title="bestarm",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        **NOTHING_SENT,
    )
    app.state.trials = trials
    app.state.hooks = hooks
    app.state.access = access
    app.state.planner = plans
    app.state.metrics = metrics
    app.state.kept_pages = KeptPages()
    app.state.counter = Counter(trials, partial(_problem, trials), None if metrics is None else metrics.note)
    app.add_middleware(Window, trials=trials, refuse=_refuse)
    app.add_middleware(Outermost, refuse=_refused, note=_noted(metrics))
    for kind in (BestArmError, Refusal, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _refuse)
    app.add_exception_handler(SignInFirst, to_sign_in)
    app.include_router(api.router)
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    _document(app)
    return app


def _noted(metrics: Metrics | None) -> Callable[[Scope, int, float], None] | None:
    if metrics is None:
        return None

    def note(scope: Scope, status: int, seconds: float) -> None:
        metrics.note(scope["method"], template_of(scope, api.PREFIX), status, seconds)

    return note


async def _keep(metrics: Metrics) -> None:
    try:
        while True:
            await asyncio.sleep(EVERY)
            metrics.keep()
    finally:
        metrics.keep()


async def _refuse(request: Request, error: Exception) -> Response:
    refusal = _refusal(request.app.state.trials, error)
    if refusal.status == 405:
        refusal.headers["Allow"] = ", ".join(_allowed(request))
    return _refused(request, refusal)


def _refusal(trials: Trials, error: Exception) -> Refusal:
    if isinstance(error, NoSuchTrial):
        # Deleted by another server, and perhaps created anew: what is kept of it here is no longer so.
        trials.forget()
    failure = failure_of(error)
    if failure is not None:
        log.error("the store: %s", failure.name)
    return refusal_of(error)


def _problem(trials: Trials, error: Exception) -> Response:
    return problem_response(_refusal(trials, error))


def _allowed(request: Request) -> list[str]:
    # Every route is asked: a router names the methods of the first one that fits, and an address may have several.
    # None fits an address of files, which has been taken apart on the way to them.
    def fits(method: str) -> bool:
        asked = {**request.scope, "method": method}
        return any(route.matches(asked)[0] is Match.FULL for route in request.app.router.routes)

    return [method for method in METHODS if fits(method)] or ["GET", "HEAD"]


def _refused(request: Request, refusal: Refusal) -> Response:
    if request.url.path.startswith(api.PREFIX):
        return problem_response(refusal)
    return error_page(request, refusal)


def _document(app: FastAPI) -> None:
    # The refusals point to one schema, which no route returns as its answer.
    described = app.openapi()
    schemas = described["components"]["schemas"]
    schemas["Problem"] = Problem.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
