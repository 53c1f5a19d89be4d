"""Creating a trial, from a plan or from nothing: a form, the design read back in sentences, and only then the trial."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from bestarm.design import DEFAULT_ALGORITHM
from bestarm.durations import duration, in_largest_unit
from bestarm.errors import InputError
from bestarm.policy.catalogue import CATALOGUE
from bestarm.sentences import cautions, sentences
from bestarm.service.guard import Fields, FormHolder, PageHolder, TrialsHere, demand_everything
from bestarm.service.pages.render import render, trial_path
from bestarm.service.problems import Refusal

router = APIRouter()

BLANK = {
    "name": "",
    "arms": "",
    "epsilon": "1",
    "delta": "0.05",
    "outcomes": "binary",
    "low": "0",
    "high": "1",
    "better": "more",
    "what": "",
    "due": "after",
    "after": "30",
    "unit": "d",
    "cap": "no",
    "max_participants": "",
    "end_by": "",
    "lowest": "",
    "highest": "",
    "missing": "worst",
    "imputed": "",
    "difference": "0",
    "control": "",
    "delta_none": "",
    "allocation": "random",
    "algorithm": DEFAULT_ALGORITHM,
    "expected": "",
    "enough": "",
}
"""What the form holds before anybody typed; a follow-up is proposed, as a trial without one waits for the slowest."""
LONGEST = 5000


@router.get("/new-trial")
def show(request: Request, holder: PageHolder) -> Response:
    """The form; a plan carries its design over in the address."""
    demand_everything(holder)
    given = {key: value[:LONGEST] for key, value in request.query_params.items() if key in BLANK}
    return _form(request, BLANK | given | _carried(request))


@router.post("/new-trial")
def review(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere) -> Response:
    """Read the design back, or say what is wrong and keep what was typed; nothing is created yet."""
    demand_everything(holder)
    values = _typed(fields)
    if fields.get("change") is not None:
        return _form(request, values)
    try:
        design = trials.rehearse(values["name"].strip(), _design(values))
    except (InputError, Refusal) as error:
        return _form(request, values, str(error))
    said = [*sentences(design), *_planned(values)]
    return render(request, "create_review.html", values=values, said=said, cautions=cautions(design), design=design)


@router.post("/new-trial/create")
def create(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere) -> Response:
    """Create the trial that was read back."""
    demand_everything(holder)
    values = _typed(fields)
    try:
        trials.create(values["name"].strip(), holder.actor, _design(values))
    except (InputError, Refusal) as error:
        return _form(request, values, str(error))
    return RedirectResponse(trial_path(values["name"].strip(), "?created=yes"), 303)


def _typed(fields: dict[str, str]) -> dict[str, str]:
    return BLANK | {key: value[:LONGEST] for key, value in fields.items() if key in BLANK}


def _carried(request: Request) -> dict[str, str]:
    # What a plan says of time and size, in the words of the form.
    given: dict[str, str] = {}
    follow_up, most = request.query_params.get("follow_up", ""), request.query_params.get("max_participants", "")
    if follow_up:
        try:
            text = in_largest_unit(duration(follow_up[:20]))
            given |= {"due": "after", "after": text[:-1], "unit": text[-1]}
        except InputError:
            pass
    return given | ({"cap": "yes"} if most else {})


def _form(request: Request, values: dict[str, str], problem: str | None = None) -> Response:
    algorithms = [a for a in CATALOGUE.values() if a.privacy != ("none",) and not a.needs_base]
    status = 200 if problem is None else 422
    return render(
        request,
        "create.html",
        status,
        values=values,
        problem=problem,
        algorithms=algorithms,
        planned=_planned(values),
    )


def _design(values: dict[str, str]) -> dict[str, Any]:
    binary = values["outcomes"] == "binary"
    design: dict[str, Any] = {
        "arms": [line.strip() for line in values["arms"].replace(",", "\n").splitlines() if line.strip()],
        "epsilon": values["epsilon"],
        "delta": values["delta"],
        "algorithm": values["algorithm"],
        "outcomes": values["outcomes"],
        "low": "0" if binary else values["low"],
        "high": "1" if binary else values["high"],
        "lower_is_better": values["better"] == "less",
        "difference": values["difference"].strip() or "0",
        "allocation": values["allocation"],
    }
    if values["control"].strip():
        design["control"] = values["control"].strip()
    if values["delta_none"].strip():
        design["delta_none"] = values["delta_none"].strip()
    if values["what"].strip():
        design["what"] = values["what"].strip()
    if values["due"] == "after":
        design["follow_up"] = values["after"].strip() + values["unit"]
    if values["missing"] == "value":
        design["withdrawal"] = f"impute:{values['imputed'].strip()}"
    elif values["missing"] in ("replace", "against"):
        design["withdrawal"] = values["missing"]
    if values["cap"] == "yes":
        design["max_participants"] = _whole(values["max_participants"])
    elif values["cap"] == "end":
        design["hard_end"] = True
        if values["end_by"].strip():
            design["max_participants"] = _whole(values["end_by"])
        if values["lowest"].strip() or values["highest"].strip():
            design["rates"] = [values["lowest"].strip(), values["highest"].strip()]
    return design


def _planned(values: dict[str, str]) -> list[str]:
    # The figures of the plan that this design came from; they are said, and bind nobody.
    expected, enough = values["expected"], values["enough"]
    if not (
        (expected + enough).isascii() and expected.isdecimal() and enough.isdecimal() and len(expected + enough) < 24
    ):
        return []
    often = f"{int(enough):,} are enough in 9 of 10 trials"
    return [f"The plan expects about {int(expected):,} participants on average; {often}."]


def _whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text.strip()):
        raise InputError("The largest number of participants has to be a whole number.")
    return int(text)
