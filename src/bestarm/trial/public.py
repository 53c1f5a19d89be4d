"""The public view: releases, public constants, and what follows from them. Nothing else can be shown to anybody.

Everything a status, a ledger or a report says is computed here from a `PublicView`, which holds no outcome and no exact
sum. This module and the ones that render it do not import the storage or the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bestarm.policy.algorithm import Standing
from bestarm.trial.answers import ArmEstimate, Ledger, LedgerLine, Release, RivalEvidence, State, Status, Verdict
from bestarm.trial.design import TrialDesign


@dataclass(frozen=True)
class Released:
    """One release."""

    arm: int
    batch: int
    size: int
    value: float
    """The noisy sum in [0, 1] units."""
    at: int
    terms: dict[str, str | None]


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
    state: State
    recruiting: dict[int, float]
    """The arms that get the next person, with their probabilities."""
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


def status_of(view: PublicView) -> Status:
    """Where the trial stands."""
    labels = view.labels
    return Status(
        trial=view.name,
        state=view.state,
        recruiting=tuple(labels[arm] for arm in view.recruiting),
        assigned={labels[arm]: count for arm, count in enumerate(view.assigned)},
        releases=tuple(releases_of(view)),
        estimates=tuple(ArmEstimate(labels[e.arm], e.mean, e.low, e.high) for e in view.estimates),
        evidence=tuple(RivalEvidence(labels[s.rival], s.value, s.needed) for s in view.standings),
        epsilon_spent=_spent(view)["epsilon_spent"],
        explanation=view.explanation,
        verdict=view.verdict,
        caveat=view.caveat,
    )


def releases_of(view: PublicView) -> list[Release]:
    """The releases in the order in which they were made."""
    units = in_outcome_units(view.design)
    return [
        Release(view.labels[r.arm], r.batch, r.size, units(r.value, r.size), _number(r.terms.get("epsilon")))
        for r in view.releases
    ]


def ledger_of(view: PublicView) -> Ledger:
    """The privacy ledger: every release with the law of its noise, the cost to a person, and why it is that."""
    lines = [
        LedgerLine(**vars(release), terms=r.terms) for release, r in zip(releases_of(view), view.releases, strict=True)
    ]
    return Ledger(
        trial=view.name,
        privacy=view.design.privacy,
        releases=tuple(lines),
        assumptions=tuple(assumptions(view.design)),
        **_spent(view),
    )


def _spent(view: PublicView) -> dict[str, Any]:
    # What the releases so far cost any one person at most, and why.
    design = view.design
    any_release = bool(view.releases)
    k = design.contributions
    epsilon = design.epsilon if any_release else "0"
    each = "one batch" if k == 1 else f"at most {k} batches, each at a {k}th of the budget"
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
            f"A person's outcomes enter {each}, so a release costs only the people in its batch, and the total for any "
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
        said.append("Outcomes count when they are due and batches close by the clock, so arrival times tell nothing.")
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
