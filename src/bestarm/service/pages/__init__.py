"""The web pages: rendered here, made lively by htmx, usable without a script."""

from __future__ import annotations

from fastapi import APIRouter

from bestarm.service.pages import access, create, desk, docs, home, manage, metrics, outcomes, plan, sign_in, trial
from bestarm.service.pages.render import error_page, to_sign_in

__all__ = ["error_page", "router", "to_sign_in"]

router = APIRouter(include_in_schema=False)
for _part in (sign_in, home, plan, create, trial, desk, outcomes, manage, access, docs, metrics):
    router.include_router(_part.router)
