"""Outcomes at the desk: shown once more before they are recorded, corrected, or never to come. For operators."""

from __future__ import annotations

import re

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bestarm.errors import BestArmError, InputError
from bestarm.exact import text_of
from bestarm.service.guard import Fields, FormHolder, TrialsHere, visible
from bestarm.service.pages.desk import Person, desk_page, identify
from bestarm.service.trials import checked_outcome
from bestarm.service.trials import record as tell
from bestarm.trial.identity import looks_like_an_id
from bestarm.trial.trial import Trial

router = APIRouter(prefix="/trials/{trial}/desk")


@router.post("/review")
def review(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """Show what is about to be recorded; nothing is yet."""
    found = visible(trials, holder, trial, "operator")
    typed = fields.get("assignment", "").strip()
    try:
        person = somebody(found, typed)
        if person.held.withdrawn or person.held.voided:
            raise InputError("This participant has left the trial; nothing is recorded for them any more.")
        outcome = text_of(checked_outcome(found.design, with_a_point(fields.get("outcome", ""))))
    except BestArmError as error:
        kept = {"assignment": typed if looks_like_an_id(typed) else ""}
        return desk_page(request, trials, found, refused=("outcome", error), typed=kept)
    return desk_page(request, trials, found, review={"person": person, "outcome": outcome})


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
        kept = {"assignment": assignment if looks_like_an_id(assignment) else ""}
        return desk_page(request, trials, found, refused=("outcome", error), typed=kept)
    return desk_page(request, trials, found, done=(assignment, status))


@router.post("/correct")
def correct(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """Put another outcome in the place of one that was recorded by mistake."""
    found = visible(trials, holder, trial, "operator")
    assignment = fields.get("assignment", "").strip()
    try:
        outcome = checked_outcome(found.design, with_a_point(fields.get("outcome", "")))
        status = found.correct(assignment, outcome, fields.get("reason", ""), holder.actor)
    except BestArmError as error:
        return _with_person(request, trials, found, assignment, error)
    return desk_page(request, trials, found, done=(assignment, f"correction {status}"))


@router.post("/withdraw")
def withdraw(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """Take a participant out of the trial."""
    found = visible(trials, holder, trial, "operator")
    assignment = fields.get("assignment", "").strip()
    try:
        status = found.withdraw(assignment, fields.get("reason", ""), holder.actor)
    except BestArmError as error:
        return _with_person(request, trials, found, assignment, error)
    return desk_page(request, trials, found, done=(assignment, f"withdrawal {status}"))


def somebody(found: Trial, typed: str) -> Person:
    """Whoever was typed; a mistyped code or assignment is refused before anything is shown of it."""
    if not typed:
        raise InputError("Who is it? Type the participant's code, or the assignment shown when they were enrolled.")
    person = identify(found, typed)
    if person is None:
        raise InputError("Nobody in this trial has this code or assignment; nothing was recorded. Look for a slip.")
    return person


def with_a_point(outcome: str) -> str:
    """A decimal comma as a point, where nothing else can be meant by it; three digits after it may be thousands."""
    text = outcome.strip()
    if re.fullmatch(r"[+-]?\d+,\d+", text) is None:
        return text
    if re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", text):
        raise InputError("A comma with three digits after it can mean two things; write 3.5 for three and a half.")
    return text.replace(",", ".")


def _with_person(request: Request, trials: TrialsHere, found: Trial, assignment: str, error: Exception) -> Response:
    try:
        person = identify(found, assignment)
    except BestArmError:
        person = None
    return desk_page(request, trials, found, refused=("person" if person else "outcome", error), person=person)
