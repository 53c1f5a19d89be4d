"""The plan page: say what difference matters, choose arms, a hoped-for gap and a risk; move epsilon and see what
privacy costs, in people and in days, beside the fixed design with the same promise."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bestarm.design import DEFAULT_ALGORITHM
from bestarm.errors import BestArmError, InputError
from bestarm.planning.beside import fixed_designs
from bestarm.planning.question import Question
from bestarm.policy.catalogue import CATALOGUE
from bestarm.sentences import hard_end_said
from bestarm.service.figures import cost_curve
from bestarm.service.guard import PageHolder, PlannerHere
from bestarm.service.pages.render import render
from bestarm.service.plans import Planner, to_be_planned
from bestarm.theory import Bounds, bounds, free_epsilon

router = APIRouter()

STEPS_PER_DECADE = 10
SMALLEST_EXPONENT, LARGEST_EXPONENT = -2, 1
STEPS = STEPS_PER_DECADE * (LARGEST_EXPONENT - SMALLEST_EXPONENT)
RUNS = 100
CURVE_EPSILON = 1.0
"""The whole curve is simulated once, whatever epsilon is looked at."""

BLANK = {
    "arms": "placebo\n5 mg\n10 mg",
    "difference": "0.1",
    "control": "",
    "gap": "",
    "enrol": "",
    "follow_up": "",
    "base": "",
    "cap": "",
    "lowest": "",
    "highest": "",
    "delta": "0.05",
    "step": str(STEPS_PER_DECADE * 2),
    "algorithm": DEFAULT_ALGORITHM,
}


@dataclass(frozen=True)
class Outlook:
    """A plan at the epsilon that is looked at."""

    epsilon: float
    labels: list[str]
    gap: float
    delta: float
    expected: float
    p90: float
    bound: float | None
    """None with a smallest difference that matters: no bound is known then."""
    difference: float
    fixed: int | None
    """People of the fixed design with the same promise."""
    fixed_nonprivate: int | None
    days: float | None
    p90_days: float | None
    without_privacy: float
    half_gap: float
    theory: Bounds | None
    """None in a comparison with control: the theory is about the best arm."""
    free_epsilon: float | None
    warnings: list[str]
    """What is odd about the design at this epsilon."""
    promises: list[str]
    """What is promised of a comparison with control; nothing where the best arm is looked for."""
    hard_end: int | None
    """By so many participants every trial has ended with a recommendation; None if it may go on."""
    assumed: list[str]
    """What the hard end rests on."""
    undecided: bool
    figure: str
    next_page: str


@router.get("/plan")
def show(request: Request, holder: PageHolder, planner: PlannerHere) -> Response:
    """The whole page."""
    values = _values(request)
    algorithms = [a for a in CATALOGUE.values() if a.privacy != ("none",)]
    return render(
        request, "plan.html", values=values, algorithms=algorithms, steps=STEPS, **_result(request, planner, values)
    )


@router.get("/plan/result")
def result(request: Request, holder: PageHolder, planner: PlannerHere) -> Response:
    """The part that changes with the form; asks for itself again while it is being computed."""
    return render(request, "plan_result.html", **_result(request, planner, _values(request)))


def _values(request: Request) -> dict[str, str]:
    return BLANK | {key: value[:5000] for key, value in request.query_params.items() if key in BLANK}


def _result(request: Request, planner: Planner, values: dict[str, str]) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "outlook": None,
        "problem": None,
        "again": "/plan/result?" + urlencode(values),
        "epsilon": epsilon_at(values["step"]),
    }
    try:
        labels = [line.strip() for line in values["arms"].replace(",", "\n").splitlines() if line.strip()]
        control = values["control"].strip() or None
        ends = values["cap"] == "end"
        band = [values["lowest"].strip(), values["highest"].strip()]
        difference, gap = _maybe("The difference", values["difference"]), _maybe("The gap", values["gap"])
        if ends and difference is None:
            raise InputError("A hard end needs the smallest difference that matters: say it above.")
        if difference is None and gap is None:
            raise InputError("Say the smallest difference that matters, or the gap that you hope for.")
        question = to_be_planned(
            epsilon=CURVE_EPSILON,
            delta=_number("The risk", values["delta"]),
            arms=len(labels),
            difference=difference if _takes_difference(values["algorithm"]) else None,
            gap=gap if gap is not None or control else difference,
            control=control,
            labels=labels if control else None,
            enrol=_maybe("The number of people a day", values["enrol"]),
            follow_up=values["follow_up"].strip() or None,
            base=_maybe("The others' rate", values["base"]),
            hard_end=ends,
            rates=band if ends and any(band) else None,
            algorithm=values["algorithm"],
            runs=RUNS,
        )
        plan = planner.ask(question)
        if plan is not None:
            answer["outlook"] = _outlook(question, plan, labels, values)
    except BestArmError as error:
        answer["problem"] = str(error)
    return answer


def _outlook(question: Question, plan: dict[str, Any], labels: list[str], values: dict[str, str]) -> Outlook:
    epsilon = epsilon_at(values["step"])
    asked = question.design.comparison
    theory = bounds(plan["means"], epsilon, plan["delta"]) if asked is None else None
    looked_at = question.with_epsilon(epsilon)
    ending = looked_at.design.hard_end
    fixed, fixed_nonprivate = fixed_designs(looked_at)
    dated = plan["by_epsilon"][0].get("expected_days") is not None
    expected = between(plan["by_epsilon"], epsilon, "expected_samples")
    free = None if theory is None else free_epsilon(plan["means"])
    half = plan["sensitivity"][-1]["expected_samples"] / plan["expected_samples"]
    p90 = between(plan["by_epsilon"], epsilon, "p90_samples")
    design = {
        "arms": "\n".join(labels),
        "epsilon": f"{epsilon:g}",
        "delta": values["delta"],
        "difference": f"{question.difference:g}",
        "follow_up": values["follow_up"],
        "algorithm": values["algorithm"],
        "expected": f"{expected:.0f}",
        "enough": f"{p90:.0f}",
        **({} if question.design.control is None else {"control": question.design.control}),
        **({} if ending is None else {key: values[key] for key in ("cap", "lowest", "highest")}),
    }
    return Outlook(
        epsilon=epsilon,
        labels=labels,
        gap=plan["gap"],
        delta=plan["delta"],
        expected=expected,
        p90=p90,
        bound=None if question.difference or theory is None else theory.lower_bound_refined,
        difference=question.difference,
        fixed=fixed,
        fixed_nonprivate=fixed_nonprivate,
        days=between(plan["by_epsilon"], epsilon, "expected_days") if dated else None,
        p90_days=between(plan["by_epsilon"], epsilon, "p90_days") if dated else None,
        without_privacy=plan["without_privacy"],
        half_gap=half,
        theory=theory,
        free_epsilon=free,
        warnings=looked_at.warnings(),
        promises=[] if asked is None else [asked.question, *asked.promises, asked.between],
        hard_end=None if ending is None else ending.people,
        assumed=hard_end_said(looked_at.design)[1:],
        undecided=any(point["undecided"] for point in plan["by_epsilon"]),
        figure=cost_curve(
            plan, epsilon, expected, () if theory is None or free is None else (theory.regime_epsilon, free)
        ),
        next_page="/new-trial?" + urlencode(design),
    )


def epsilon_at(step: str) -> float:
    """The budget at a position of the slider: ten a decade, with two digits."""
    place = int(step) if step.isascii() and step.isdecimal() and len(step) < 4 else STEPS_PER_DECADE * 2
    exponent = SMALLEST_EXPONENT + min(place, STEPS) / STEPS_PER_DECADE
    return float(f"{10**exponent:.2g}")


def between(points: list[dict[str, Any]], epsilon: float, key: str) -> float:
    """A value of the curve at any epsilon, on straight lines between the simulated points in logs."""
    below = max((p for p in points if p["epsilon"] <= epsilon), key=lambda p: p["epsilon"], default=points[0])
    above = min((p for p in points if p["epsilon"] >= epsilon), key=lambda p: p["epsilon"], default=points[-1])
    if below["epsilon"] == above["epsilon"]:
        return float(below[key])
    share = math.log(epsilon / below["epsilon"]) / math.log(above["epsilon"] / below["epsilon"])
    return float(math.exp((1 - share) * math.log(below[key]) + share * math.log(above[key])))


def _takes_difference(algorithm: str) -> bool:
    """Whether it can be told what matters; to others the field means the gap that is hoped for."""
    return algorithm not in CATALOGUE or CATALOGUE[algorithm].supports_indifference


def _maybe(what: str, text: str) -> float | None:
    return _number(what, text) if text.strip() else None


def _number(what: str, text: str) -> float:
    # Python would also take 1_0 and digits of other scripts, which are more likely slips.
    if not re.fullmatch(r"[+-]?[0-9]*\.?[0-9]+(e[+-]?[0-9]+)?", text.strip(), re.ASCII | re.IGNORECASE):
        raise InputError(f"{what} has to be a number, such as 0.05.")
    return float(text)
