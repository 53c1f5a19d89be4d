"""The desk: assign the next participant, record outcomes, see what is awaited. For operators."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bestarm.errors import BestArmError, InputError
from bestarm.service.guard import Fields, FormHolder, PageHolder, TrialsHere, visible
from bestarm.service.pages.render import render
from bestarm.service.problems import Refusal, refusal_of
from bestarm.service.trials import Trials, checked_outcome
from bestarm.service.trials import record as tell
from bestarm.trial.trial import Trial

router = APIRouter(prefix="/trials/{trial}/desk")

MOST_LISTED = 200
PLACES = ("assign", "outcome", "correct", "withdraw", "manage")
"""Where on the page something can go wrong."""


@router.get("")
def show(request: Request, holder: PageHolder, trials: TrialsHere, trial: str, assignment: str = "") -> Response:
    """The desk."""
    found = visible(trials, holder, trial, "operator")
    return desk_page(request, trials, found, typed={"assignment": assignment[:60]})


@router.post("/assign")
def assign(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """The participant's arm. Sending it again shows the same."""
    found = visible(trials, holder, trial, "operator")
    subject = fields.get("subject", "").strip()
    try:
        asked = found.ask(subject, holder.actor)
    except BestArmError as error:
        return desk_page(request, trials, found, refused=("assign", error), typed={"subject": subject})
    return desk_page(request, trials, found, asked=asked, subject=subject)


@router.post("/review")
def review(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """Show what is about to be recorded; nothing is yet."""
    found = visible(trials, holder, trial, "operator")
    typed = {"assignment": fields.get("assignment", "").strip(), "outcome": fields.get("outcome", "").strip()}
    try:
        if not typed["assignment"]:
            raise InputError("Which assignment is it? Its id was shown when the participant was assigned.")
        checked_outcome(found.design, typed["outcome"])
    except BestArmError as error:
        return desk_page(
            request,
            trials,
            found,
            refused=("outcome", error),
            typed={"assignment": _id_or_nothing(typed["assignment"])},
        )
    awaited = {a.id: a for a in found.open_assignments()}
    return desk_page(request, trials, found, review=typed | {"awaited": awaited.get(typed["assignment"].lower())})


@router.post("/record")
def record(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """Record the outcome that was confirmed."""
    found = visible(trials, holder, trial, "operator")
    assignment = fields.get("assignment", "").strip()
    if fields.get("change") is not None:
        typed = {"assignment": assignment, "outcome": fields.get("outcome", "")}
        return desk_page(request, trials, found, typed=typed)
    try:
        outcome = checked_outcome(found.design, fields.get("outcome", ""))
        status = tell(found, [(assignment, outcome)], holder)[0]
    except BestArmError as error:
        return desk_page(
            request, trials, found, refused=("outcome", error), typed={"assignment": _id_or_nothing(assignment)}
        )
    return desk_page(request, trials, found, done=(assignment, status))


@router.post("/correct")
def correct(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """Replace an outcome that was recorded by mistake."""
    found = visible(trials, holder, trial, "operator")
    assignment = fields.get("assignment", "").strip()
    try:
        outcome = checked_outcome(found.design, fields.get("outcome", ""))
        status = found.correct(assignment, outcome, fields.get("reason", ""), holder.actor)
    except BestArmError as error:
        return desk_page(
            request, trials, found, refused=("correct", error), typed={"assignment": _id_or_nothing(assignment)}
        )
    return desk_page(request, trials, found, done=(assignment, f"correction {status}"))


@router.post("/withdraw")
def withdraw(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """Take a participant out of the trial."""
    found = visible(trials, holder, trial, "operator")
    assignment = fields.get("assignment", "").strip()
    try:
        status = found.withdraw(assignment, fields.get("reason", ""), holder.actor)
    except BestArmError as error:
        return desk_page(
            request, trials, found, refused=("withdraw", error), typed={"assignment": _id_or_nothing(assignment)}
        )
    return desk_page(request, trials, found, done=(assignment, f"withdrawal {status}"))


def _id_or_nothing(typed: str) -> str:
    # What was typed is not shown again unless it looks like an id: it may be an outcome in the wrong field.
    return typed if re.fullmatch(r"[0-9]{1,18}-[0-9a-fA-F]{4}", typed) else ""


def desk_page(request: Request, trials: Trials, found: Trial, **happened: Any) -> Response:
    """The desk with what just happened on it."""
    refused: tuple[str, Exception] | None = happened.pop("refused", None)
    refusal: Refusal | None = None if refused is None else refusal_of(refused[1])
    awaited = found.open_assignments()
    known = {"asked": None, "subject": "", "review": None, "done": None, "managed": None} | happened
    known["typed"] = {"subject": "", "assignment": "", "outcome": ""} | happened.get("typed", {})
    known["problem"] = dict.fromkeys(PLACES) | (
        {} if refused is None or refusal is None else {refused[0]: refusal.detail}
    )
    known["enrolling"] = not (known["review"] or known["done"] or known["typed"]["assignment"])
    return render(
        request,
        "desk.html",
        200 if refusal is None else refusal.status,
        view=trials.view(found.name),
        design=found.design.to_json(),
        awaited=awaited[:MOST_LISTED],
        awaited_count=len(awaited),
        **known,
    )
