"""What holds for every answer: the security headers, the size of a body, one line in the log, no traceback outside.

The log names the function that served a request, not the address, and an error's kind and place, not its message:
neither can hold a secret, a subject or an outcome.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bestarm.service.problems import LARGEST_BODY, Refusal, refusal_of

log = logging.getLogger("bestarm.service")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}

DRESS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Outermost:
    """The outermost layer of the application."""

    def __init__(
        self,
        app: ASGIApp,
        refuse: Callable[[Request, Refusal], Response],
        note: Callable[[Scope, int, float], None] | None = None,
    ) -> None:
        self._app = app
        self._refuse = refuse
        self._note = note

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0
        taken = 0

        async def limited() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > LARGEST_BODY:
                raise HTTPException(413)  # which FastAPI hands on, unlike other errors while it reads a body
            return message

        async def dressed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = dress(list(message.get("headers", [])))
            await send(message)

        try:
            await self._app(scope, limited, dressed)
        except Exception as error:
            log_failed(error)
            if status == 0:
                await self._refuse(Request(scope), refusal_of(error))(scope, receive, dressed)
        finally:
            spent = time.perf_counter() - began
            log.info(line_of(scope["method"], _served(scope), status, spent))
            if self._note is not None:
                self._note(scope, status, spent)


def line_of(method: str, served: str, status: int, seconds: float) -> str:
    """The line of a request in the log."""
    return f"{method} {served} {status} {1000 * seconds:.1f} ms"


def log_failed(error: BaseException) -> None:
    """The line of an error that nobody foresaw: its kind and its place."""
    log.error("%s at %s", type(error).__name__, _place(error))


def dress(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with those that every answer has."""
    present = {name.lower() for name, _ in headers}
    return headers + [header for header in DRESS if header[0] not in present]


def _served(scope: Scope) -> str:
    endpoint: Any = scope.get("endpoint")
    if not hasattr(endpoint, "__name__"):
        return "files" if scope["path"].startswith("/static/") else "nothing"
    return name_of(endpoint)


@lru_cache(maxsize=256)
def name_of(endpoint: Callable[..., Any]) -> str:
    """The function that serves a request, as the log names it."""
    return f"{endpoint.__module__.removeprefix('bestarm.service.')}.{endpoint.__name__}"


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-4:]))
