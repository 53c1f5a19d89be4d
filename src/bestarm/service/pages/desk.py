"""The desk: look a participant up, enrol a new one, mend a wrong code, see what is awaited. For operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bestarm.codes import another_number, code_of
from bestarm.errors import BestArmError, InputError
from bestarm.service.awaited import listed_page
from bestarm.service.guard import Fields, FormHolder, PageHolder, TrialsHere, visible
from bestarm.service.pages.render import render
from bestarm.service.problems import Refusal, refusal_of
from bestarm.service.trials import Trials
from bestarm.trial.answers import HeldAssignment
from bestarm.trial.identity import looks_like_an_id
from bestarm.trial.telling import CONFLICT
from bestarm.trial.trial import Trial

router = APIRouter(prefix="/trials/{trial}/desk")

PLACES = ("person", "outcome", "manage")
"""Where on the page something can go wrong."""
ON_THIS_PAGE = {
    CONFLICT: "Another outcome is recorded for this participant already. To correct it, look the participant up above.",
}
"""What is said elsewhere of commands, said of this page."""


@dataclass(frozen=True)
class Person:
    """Somebody who was looked up, or enrolled just now."""

    typed: str
    """What staff call them; the assignment if that was typed."""
    held: HeldAssignment
    earlier: int = 0
    """How many assignments they held before this one."""
    enrolled: bool = False
    """Whether this is the first time that they are shown."""


@dataclass(frozen=True)
class Stranger:
    """A code that nobody in the trial has, and those that are much like it."""

    typed: str
    near: list[str]
    """Those that were most likely meant, if any."""
    series: list[str]
    """Those that differ in a number alone, as the next one of a series does."""


@router.get("")
def show(request: Request, holder: PageHolder, trials: TrialsHere, trial: str, assignment: str = "") -> Response:
    """The desk."""
    found = visible(trials, holder, trial, "operator")
    return desk_page(request, trials, found, typed={"assignment": assignment[:60]})


@router.post("/find")
def find(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """Who this is; nobody is enrolled by looking."""
    found = visible(trials, holder, trial, "operator")
    typed = fields.get("who", "").strip()
    try:
        person = identify(found, typed)
        if person is not None:
            return desk_page(request, trials, found, person=person)
        return desk_page(request, trials, found, stranger=_stranger(found, typed))
    except BestArmError as error:
        return desk_page(request, trials, found, refused=("person", error), typed={"who": typed})


@router.post("/assign")
def assign(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """The participant's arm. Sending it again shows the same."""
    found = visible(trials, holder, trial, "operator")
    subject = fields.get("subject", "").strip()
    try:
        known = found.look_up(subject)
        found.ask(subject, holder.actor)
        held = found.look_up(subject)
    except BestArmError as error:
        return desk_page(request, trials, found, refused=("person", error), typed={"who": subject})
    if not held:  # the trial has stopped, and this is nobody in it
        return desk_page(request, trials, found)
    person = Person(subject, held[-1], len(held) - 1, len(held) > len(known))
    return desk_page(request, trials, found, person=person)


@router.post("/relabel")
def relabel(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """Put a mistyped code right."""
    found = visible(trials, holder, trial, "operator")
    assignment, right = fields.get("assignment", ""), fields.get("subject", "").strip()
    try:
        found.relabel(assignment, right, fields.get("reason", ""), holder.actor)
    except BestArmError as error:
        return _again(request, trials, found, assignment, error)
    return desk_page(request, trials, found, person=identify(found, right), mended="relabelled")


@router.post("/void")
def void(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """Void a second entry of somebody who is in the trial."""
    found = visible(trials, holder, trial, "operator")
    assignment, stands = fields.get("assignment", ""), fields.get("duplicate_of", "").strip()
    try:
        found.void(assignment, stands, fields.get("reason", ""), holder.actor)
    except BestArmError as error:
        return _again(request, trials, found, assignment, error)
    return desk_page(request, trials, found, person=identify(found, stands), mended="voided")


@router.post("/awaited")
def awaited(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere, trial: str) -> Response:
    """Another page of the outcomes that are awaited, or those that are looked for."""
    found = visible(trials, holder, trial, "operator")
    return desk_page(request, trials, found, search=fields.get("search", ""), page=fields.get("page", "1"))


def identify(found: Trial, typed: str) -> Person | None:
    """Whoever was typed, by assignment or by code; None if nobody in the trial is."""
    if looks_like_an_id(typed):
        try:
            return Person(typed, found.look_up(assignment=typed)[0])
        except InputError:  # it is no assignment, but may be a code
            pass
    held = found.look_up(typed)
    return Person(typed, held[-1], len(held) - 1) if held else None


def _stranger(found: Trial, typed: str) -> Stranger:
    code, near = code_of(typed, found.design.codes), found.near(typed)
    series = [other for other in near if another_number(code, other)]
    return Stranger(typed, [other for other in near if other not in series], series)


def _again(request: Request, trials: Trials, found: Trial, assignment: str, error: Exception) -> Response:
    # The person stays on the page, with what is wrong beside them.
    person = identify(found, assignment) if looks_like_an_id(assignment) else None
    return desk_page(request, trials, found, refused=("person", error), person=person)


def desk_page(request: Request, trials: Trials, found: Trial, **happened: Any) -> Response:
    """The desk with what just happened on it."""
    refused: tuple[str, Exception] | None = happened.pop("refused", None)
    refusal: Refusal | None = None if refused is None else refusal_of(refused[1])
    known = {"person": None, "stranger": None, "mended": None, "review": None, "done": None, "managed": None} | happened
    known["typed"] = {"who": "", "assignment": "", "outcome": ""} | happened.get("typed", {})
    known["problem"] = dict.fromkeys(PLACES)
    if refused is not None and refusal is not None:
        known["problem"][refused[0]] = ON_THIS_PAGE.get(refusal.detail, refusal.detail)
    known["enrolling"] = (
        not any(known[one] for one in ("review", "done", "stranger")) and not known["typed"]["assignment"]
    )
    return render(
        request,
        "desk.html",
        200 if refusal is None else refusal.status,
        view=trials.view(found.name),
        design=found.design.to_json(),
        outcomes=found.design.outcomes,
        staff=found.staff_status(),
        awaited=listed_page(found, known.pop("search", ""), known.pop("page", "1")),
        correctable=not found.design.coins_apart,
        **known,
    )
