"""Errors as problem+json (RFC 9457): one plain sentence, what is wrong and what is allowed.

Nothing that somebody sent is repeated, because it may be an outcome; nor is what a database says of itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from bestarm.errors import BestArmError, InputError, NoSuchTrial
from bestarm.service.failures import failure_of

MEDIA_TYPE = "application/problem+json"
LARGEST_BODY = 2 * 1024 * 1024
"""Bytes; ten thousand outcomes fit."""

LATER = {"Retry-After": "1"}

TITLES = {
    401: "Not signed in",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Cannot be done now",
    413: "Too large",
    422: "Bad input",
    500: "Internal error",
    503: "Store not available",
}


class Problem(BaseModel):
    """What went wrong."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Bad input",
                    "status": 422,
                    "detail": "A binary outcome is 0 or 1.",
                    "fields": [],
                }
            ]
        }
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str = Field(description="One sentence: what is wrong, and what is allowed.")
    fields: list[str] = Field(default=[], description="The parts of the request that cannot be used, if known.")


class Refusal(Exception):
    """An answer other than the one asked for."""

    def __init__(
        self, status: int, detail: str, fields: Sequence[str] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.fields = list(fields)
        self.headers = dict(headers or {})


def not_found(what: str = "There is nothing at this address.") -> Refusal:
    """404."""
    return Refusal(404, what)


def no_such_trial() -> Refusal:
    """The same words for a trial that is not there and for one that is somebody else's."""
    return Refusal(404, "There is no trial of this name that you may see.")


def refusal_of(error: Exception) -> Refusal:
    """The refusal that an error amounts to."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    if isinstance(error, HTTPException):
        # 400 means a body that cannot be read, which is bad input like any other.
        return Refusal(422 if error.status_code == 400 else error.status_code, _said(error))
    if isinstance(error, NoSuchTrial):
        return no_such_trial()
    if isinstance(error, InputError):
        return Refusal(422, str(error))
    if isinstance(error, BestArmError):
        failure = failure_of(error)
        return Refusal(409, str(error)) if failure is None else Refusal(503, failure.said, headers=LATER)
    return Refusal(500, "Something failed inside the server; what was not acknowledged is safe to send again.")


def _said(error: HTTPException) -> str:
    if error.status_code == 404:
        return "There is nothing at this address."
    if error.status_code == 405:
        return "This address does not take this method."
    if error.status_code == 413:
        return f"The body is too large; at most {LARGEST_BODY} bytes are taken."
    if error.status_code == 400:
        return "The request's body cannot be read; it takes one JSON object."
    return f"{TITLES.get(error.status_code, 'Refused')}."


def _invalid(error: RequestValidationError) -> Refusal:
    # Only where and what rule: the values themselves stay out of it.
    found: list[dict[str, Any]] = list(error.errors())
    fields = [".".join(str(part) for part in e["loc"][1:]) or str(e["loc"][0]) for e in found]
    first = found[0]
    if first["type"] == "json_invalid":
        return Refusal(422, "The request's body is not JSON; it takes one JSON object.")
    where = fields[0] if fields[0] not in ("body", "") else "The body"
    rule = {"missing": "is required", "extra_forbidden": "is not known here"}.get(first["type"])
    return Refusal(422, f"{where} {rule or 'cannot be used: ' + first['msg'].lower()}.", sorted(set(fields)))


def problem_response(refusal: Refusal) -> JSONResponse:
    """The refusal as problem+json."""
    problem = Problem(
        title=TITLES.get(refusal.status, "Refused"),
        status=refusal.status,
        detail=refusal.detail,
        fields=refusal.fields,
    )
    headers = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else {}
    return JSONResponse(problem.model_dump(), refusal.status, headers | refusal.headers, MEDIA_TYPE)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI document: these refusals may come."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {"description": TITLES[status], "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in sorted({*statuses, 401, 413, 422, 503})
    }
