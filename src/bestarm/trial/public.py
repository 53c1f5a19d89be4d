"""The public view: releases, public constants, and what follows from them. Nothing else can be shown to anybody.

Everything a status, a ledger or a report says is computed here from a `PublicView`, which holds no outcome and no exact
sum. This module and the ones that render it do not import the storage or the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from bestarm.policy.algorithm import Standing
from bestarm.trial.answers import Verdict
from bestarm.trial.design import TrialDesign


ReleaseKind: TypeAlias = Literal["sum", "difference"]


@dataclass(frozen=True)
class Released:
    """One release: an arm's noisy sum in a stage, or the noisy difference of two arms' sums."""

    stage: int
    kind: ReleaseKind
    arms: tuple[int, ...]
    """The arm; or of a difference the arm whose sum counts, and the arm whose sum is taken off."""
    sizes: tuple[int, ...]
    value: float
    """In [0, 1] units."""
    at: int
    terms: dict[str, str | None]


@dataclass(frozen=True)
class StageView:
    """The stage that people join now, or the one that opens with the next person."""

    number: int
    weights: tuple[float, ...]
    people: int
    open: bool


@dataclass(frozen=True)
class Estimate:
    """An arm's estimated mean and its interval in the outcome's own units; None where there is none."""

    arm: int
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class PublicView:
    """Everything that may be known about a trial."""

    name: str
    design: TrialDesign
    state: str
    """"recruiting", "waiting" (nobody is enrolled until outcomes come in), "paused" or "stopped"."""
    recruiting: dict[int, float]
    """The arms that get the next person, with their probabilities."""
    stage: StageView | None
    """Of algorithms with coins; None for others, and once the trial has stopped."""
    assigned: list[int]
    releases: list[Released]
    estimates: list[Estimate]
    standings: list[Standing]
    explanation: str
    verdict: Verdict | None
    caveat: str | None

    @property
    def labels(self) -> tuple[str, ...]:
        """The arms' labels."""
        return self.design.arms


def in_outcome_units(design: TrialDesign) -> Callable[[float, float], float]:
    """Turns a sum of n outcomes in [0, 1] into the same sum in the outcome's own units."""
    low, width = float(Fraction(design.low)), float(Fraction(design.high) - Fraction(design.low))
    if design.lower_is_better:
        return lambda total, n: n * (low + width) - width * total
    return lambda total, n: n * low + width * total


def status_of(view: PublicView) -> dict[str, Any]:
    """The status as plain data."""
    labels = view.labels
    return {
        "trial": view.name,
        "state": view.state,
        "recruiting": [labels[arm] for arm in view.recruiting],
        "stage": None if view.stage is None else stage_of(view.stage, labels),
        "assigned": {labels[arm]: count for arm, count in enumerate(view.assigned)},
        "releases": releases_of(view),
        "estimates": [{"arm": labels[e.arm], "mean": e.mean, "low": e.low, "high": e.high} for e in view.estimates],
        "evidence": [{"rival": labels[s.rival], "value": s.value, "needed": s.needed} for s in view.standings],
        "epsilon_spent": spent(view)["epsilon_spent"],
        "explanation": view.explanation,
        "verdict": None if view.verdict is None else view.verdict.to_json(),
        "caveat": view.caveat,
    }


def stage_of(stage: StageView, labels: tuple[str, ...]) -> dict[str, Any]:
    """The running stage as plain data: its weights, and never the next arm."""
    weights = {labels[arm]: weight for arm, weight in enumerate(stage.weights) if weight > 0}
    return {"number": stage.number, "weights": weights, "people": stage.people, "open": stage.open}


def releases_of(view: PublicView) -> list[dict[str, Any]]:
    """The releases as plain data, in the order in which they were made."""
    return [
        {
            "stage": r.stage,
            "kind": r.kind,
            "arms": [view.labels[arm] for arm in r.arms],
            "sizes": list(r.sizes),
            "value": value_in_units(view.design, r),
            "epsilon": _number(r.terms.get("epsilon")),
        }
        for r in view.releases
    ]


def value_in_units(design: TrialDesign, release: Released) -> float:
    """A release in the outcome's own units."""
    units = in_outcome_units(design)
    if release.kind == "sum":
        return units(release.value, release.sizes[0])
    return units(release.value, release.sizes[0]) - units(0.0, release.sizes[1])


def ledger_of(view: PublicView) -> dict[str, Any]:
    """The privacy ledger: every release with the law of its noise, the cost to a person, and why it is that."""
    lines = [line | {"terms": r.terms} for line, r in zip(releases_of(view), view.releases, strict=True)]
    return {"trial": view.name, "privacy": view.design.privacy, "releases": lines, **spent(view)} | {
        "assumptions": assumptions(view.design),
    }


def spent(view: PublicView) -> dict[str, Any]:
    """What the releases so far cost any one person at most, and why."""
    design = view.design
    any_release = bool(view.releases)
    k = design.contributions
    epsilon = design.epsilon if any_release else "0"
    each = "one stage" if k == 1 else f"at most {k} stages, each at a {k}th of the budget"
    if design.privacy == "none":
        return {
            "epsilon_spent": None,
            "promised": "no privacy",
            "why": "This design adds no noise and promises nothing.",
        }
    if design.privacy == "zcdp":
        rho = design.rho if any_release else "0"
        why = f"A person's outcomes enter {each}; nothing else about a person is used, so the cost does not add up."
        return {"epsilon_spent": None, "rho_spent": rho, "promised": f"{design.rho}-zCDP", "why": why}
    if design.privacy == "local":
        why = "Every outcome is randomised before it is kept; whatever is computed later costs nothing more."
    else:
        why = (
            f"A person's outcomes enter {each}, so a release costs only the people in its stage, and the total for any "
            f"one person is {design.epsilon}, however many releases there are. It is not the sum over releases."
        )
    promised = f"{design.epsilon}-{'local ' if design.privacy == 'local' else ''}differential privacy"
    return {"epsilon_spent": _number(epsilon), "epsilon_exact": epsilon, "promised": promised, "why": why}


def assumptions(design: TrialDesign) -> list[str]:
    """What the promises rest on, in words."""
    said = ["Outcomes of an arm are independent, with a mean that does not change during the trial."]
    if design.follow_up is None:
        said.append("When an outcome arrives does not depend on what it is (there is no fixed follow-up).")
    else:
        said.append("Outcomes count when they are due and stages are released by the clock, so arrival times tell nothing.")
    if design.withdrawal == "replace":
        said.append("Who withdraws is public, and does not depend on the outcome (people who withdraw are replaced).")
    else:
        constant = design.withdrawal[len("impute:") :]
        said.append(f"A missing outcome counts as {constant}; an arm's mean is that of outcomes so completed.")
    if design.contributions > 1:
        said.append(f"A person has up to {design.contributions} outcomes, which are independent given the arms.")
    return said


def _number(text: str | None) -> float | None:
    return None if text is None else float(Fraction(text))
