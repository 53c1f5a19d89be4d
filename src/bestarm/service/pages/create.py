"""Creating a trial, from a plan or from nothing."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from bestarm.design import DEFAULT_ALGORITHM
from bestarm.errors import InputError
from bestarm.policy.catalogue import CATALOGUE
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
    "follow_up": "",
    "max_participants": "",
    "withdrawal": "",
    "difference": "0",
    "allocation": "random",
    "algorithm": DEFAULT_ALGORITHM,
}
LONGEST = 5000


@router.get("/new-trial")
def show(request: Request, holder: PageHolder) -> Response:
    """The form; a plan carries its design over in the address."""
    demand_everything(holder)
    given = {key: value[:LONGEST] for key, value in request.query_params.items() if key in BLANK}
    return _form(request, BLANK | given)


@router.post("/new-trial")
def create(request: Request, holder: FormHolder, fields: Fields, trials: TrialsHere) -> Response:
    """Create the trial, or say what is wrong and keep what was typed."""
    demand_everything(holder)
    values = BLANK | {key: value[:LONGEST] for key, value in fields.items() if key in BLANK}
    try:
        trials.create(values["name"].strip(), holder.actor, _design(values))
    except (InputError, Refusal) as error:
        return _form(request, values, str(error))
    return RedirectResponse(trial_path(values["name"].strip(), "?created=yes"), 303)


def _form(request: Request, values: dict[str, str], problem: str | None = None) -> Response:
    algorithms = [a for a in CATALOGUE.values() if a.privacy != ("none",)]
    status = 200 if problem is None else 422
    return render(request, "create.html", status, values=values, problem=problem, algorithms=algorithms)


def _design(values: dict[str, str]) -> dict[str, Any]:
    design: dict[str, Any] = {
        "arms": [line.strip() for line in values["arms"].replace(",", "\n").splitlines() if line.strip()],
        "epsilon": values["epsilon"],
        "delta": values["delta"],
        "algorithm": values["algorithm"],
        "outcomes": values["outcomes"],
        "low": values["low"],
        "high": values["high"],
        "lower_is_better": values["better"] == "less",
        "difference": values["difference"] or "0",
        "allocation": values["allocation"],
    }
    for key in ("what", "follow_up", "withdrawal"):
        if values[key].strip():
            design[key] = values[key].strip()
    if values["max_participants"].strip():
        design["max_participants"] = _whole(values["max_participants"])
    return design


def _whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text.strip()):
        raise InputError("The largest number of participants has to be a whole number.")
    return int(text)
