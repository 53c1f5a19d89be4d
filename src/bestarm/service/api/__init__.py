"""The HTTP API, version 1."""

from __future__ import annotations

from fastapi import APIRouter

from bestarm.service.api import access, halves, hooks, planning, trials

PREFIX = "/api/v1"

router = APIRouter(prefix=PREFIX)
for _part in (planning.router, trials.router, halves.router, access.router, hooks.router):
    router.include_router(_part)
