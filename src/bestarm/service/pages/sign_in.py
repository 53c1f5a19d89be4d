"""Signing in with a token or a one-time code, and out again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from bestarm.service.access import SESSION_SECONDS, Grant
from bestarm.service.guard import COOKIE, AccessHere, FormHolder, same_origin
from bestarm.service.pages.render import render, trial_path

router = APIRouter()


@router.get("/sign-in")
def show(request: Request, next: str = "") -> Response:
    """The sign-in page. The code of a one-time link stands behind the #, which browsers keep to themselves."""
    return render(request, "sign_in.html", next=_own(next), wrong=False)


@router.post("/sign-in", dependencies=[Depends(same_origin)])
def enter(
    request: Request, access: AccessHere, secret: Annotated[str, Form()] = "", next: Annotated[str, Form()] = ""
) -> Response:
    """Begin a session."""
    session = access.sign_in(secret.strip())
    if session is None:
        return render(request, "sign_in.html", 401, next=_own(next), wrong=True)
    answer = RedirectResponse(_own(next) or _first_page(session[1]), 303)
    answer.set_cookie(
        COOKIE,
        session[0],
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/sign-out")
def leave(holder: FormHolder, access: AccessHere) -> Response:
    """End the session, here and in the store."""
    access.end(holder.id, ("session",))
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _own(path: str) -> str:
    # Only pages of ours: "//elsewhere" and "/\elsewhere" lead away.
    safe = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if safe else ""


def _first_page(holder: Grant) -> str:
    if holder.trial is None:
        return "/"
    return trial_path(holder.trial, "/desk" if holder.may("operator") else "")
