"""The public view: releases, public constants, and what follows from them. Nothing else can be shown to anybody.

Everything a status, a ledger or a report says is computed here from a `PublicView`, which holds no outcome and no exact
sum. This module and the ones that render it do not import the storage or the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bestarm.comparison import NONE
from bestarm.design import Design
from bestarm.exact import kept, text_of
from bestarm.policy.algorithm import BETTER, Standing
from bestarm.policy.sample_ratio import SampleRatio
from bestarm.release.distributed import LEAST_SHARE, against_a_server
from bestarm.release.laws import LOCAL
from bestarm.sentences import hard_end_said
from bestarm.trial.answers import (
    ArmDifference,
    ArmEstimate,
    Ledger,
    LedgerLine,
    Release,
    ReleaseKind,
    RivalEvidence,
    SampleRatioCheck,
    StageStatus,
    State,
    Status,
    Verdict,
)
from bestarm.trial.comparisons import Difference
from bestarm.trial.moments import moment


@dataclass(frozen=True)
class Released:
    """One release: an arm's noisy sum in a stage, or the noisy difference of two arms' sums."""

    stage: int
    kind: ReleaseKind
    arms: tuple[int, ...]
    """The arm; or of a difference the arm whose sum counts, and the arm whose sum is taken off."""
    sizes: tuple[int, ...]
    voided: tuple[int, ...]
    """How many of these people were voided; they keep their place in the sizes and count as the worst outcome."""
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
    design: Design
    state: State
    recruiting: dict[int, float]
    """The arms that get the next person, with their probabilities."""
    stage: StageView | None
    """Of algorithms with coins; None for others, and once the trial has stopped."""
    assigned: list[int]
    relabelled: int
    """How often a mistyped code was put right."""
    withdrawn: int | None
    """How many people withdrew, where the design makes it public; else None."""
    began: str | None
    """When the trial was created."""
    releases: list[Released]
    estimates: list[Estimate]
    standings: list[Standing]
    differences: list[Difference]
    """The leader against each rival; empty for algorithms without coins, and before the first release."""
    by_coins: bool
    """Whether everybody's arm is a coin of their own, as algorithms with coins have it."""
    coins: SampleRatio | None
    """Whether the coins fell as announced; None for algorithms without coins, and before the first stage."""
    explanation: str
    verdict: Verdict | None
    caveat: str | None

    @property
    def labels(self) -> tuple[str, ...]:
        """The arms' labels."""
        return self.design.arms


def status_of(view: PublicView, with_releases: bool = True) -> Status:
    """Where the trial stands; without its releases for whoever has them already."""
    labels = view.labels
    return Status(
        trial=view.name,
        state=view.state,
        recruiting=tuple(labels[arm] for arm in view.recruiting),
        stage=None if view.stage is None else stage_of(view.stage, labels),
        assigned={labels[arm]: count for arm, count in enumerate(view.assigned)},
        relabelled=view.relabelled,
        withdrawn=view.withdrawn,
        began=view.began,
        releases=tuple(releases_of(view)) if with_releases else (),
        estimates=tuple(ArmEstimate(labels[e.arm], e.mean, e.low, e.high) for e in view.estimates),
        evidence=tuple(RivalEvidence(labels[s.rival], s.value, s.needed, claim_said(view, s)) for s in view.standings),
        differences=tuple(ArmDifference(labels[d.arm], labels[d.rival], d.low, d.high) for d in view.differences),
        sample_ratio=None if view.coins is None else SampleRatioCheck(view.coins.p_value, view.coins.ok),
        epsilon_spent=_spent(view)["epsilon_spent"],
        explanation=view.explanation,
        hard_end=" ".join(hard_end_said(view.design)) or None,
        verdict=view.verdict,
        caveat=view.caveat,
    )


def claim_said(view: PublicView, standing: Standing) -> str | None:
    """What a piece of evidence is for, in words, where arms are compared with control."""
    asked, label = view.design.comparison, view.labels[standing.rival]
    if asked is None:
        return None
    return asked.better(label) if standing.claim == BETTER else asked.given_up(label)


def answer_said(view: PublicView) -> tuple[str, str]:
    """The verdict's heading and its answer: the arm that is recommended, or that none is better than control."""
    arm = None if view.verdict is None else view.verdict.arm
    asked = view.design.comparison
    if arm is None:
        return "Ended without a recommendation", ""
    if asked is None:
        return "Recommended", arm
    return (
        ("The answer", f"{asked.none[0].upper()}{asked.none[1:]}")
        if arm == NONE
        else ("Recommended", asked.better(arm))
    )


def stage_of(stage: StageView, labels: tuple[str, ...]) -> StageStatus:
    """The running stage for everybody: its weights, and never the next arm."""
    weights = {labels[arm]: weight for arm, weight in enumerate(stage.weights) if weight > 0}
    return StageStatus(stage.number, weights, stage.people, stage.open)


def releases_of(view: PublicView) -> list[Release]:
    """The releases in the order in which they were made."""
    return [release_of(view.design, released) for released in view.releases]


def release_of(design: Design, released: Released) -> Release:
    """One release with the arms' names and in the outcome's own units."""
    return Release(
        stage=released.stage,
        kind=released.kind,
        arms=tuple(design.arms[arm] for arm in released.arms),
        sizes=released.sizes,
        voided=released.voided,
        value=value_in_units(design, released),
        epsilon=_number(released.terms.get("epsilon")),
    )


def people_released(view: PublicView) -> list[int]:
    """How many people of each arm are in the releases."""
    counted = [0] * len(view.labels)
    for release in view.releases:
        for arm, size in zip(release.arms, release.sizes, strict=True):
            counted[arm] += size
    return counted


def value_in_units(design: Design, release: Released) -> float:
    """A release in the outcome's own units."""
    units = design.outcomes.sum_in_units
    if release.kind == "sum":
        return units(release.value, release.sizes[0])
    return units(release.value, release.sizes[0]) - units(0.0, release.sizes[1])


def ledger_of(view: PublicView) -> Ledger:
    """The privacy ledger: every release with the law of its noise, the cost to a person, and why it is that."""
    lines = [
        LedgerLine(**vars(release), terms=r.terms) for release, r in zip(releases_of(view), view.releases, strict=True)
    ]
    return Ledger(
        trial=view.name,
        privacy=view.design.privacy.model,
        releases=tuple(lines),
        assumptions=tuple(assumptions(view)),
        **_spent(view),
    )


def promised(view: PublicView) -> str:
    """What every participant is promised, in a few words."""
    return str(_spent(view)["promised"])


def _spent(view: PublicView) -> dict[str, Any]:
    # What the releases so far cost any one person at most, and why.
    design = view.design
    any_release = bool(view.releases)
    k = design.contributions
    promise = design.privacy
    each = "one stage" if k == 1 else f"at most {k} stages, each at a {k}th of the budget"
    if promise.budget is None:
        return {
            "epsilon_spent": None,
            "promised": "no privacy",
            "why": "This design adds no noise and promises nothing.",
        }
    budget = text_of(promise.budget)
    cost = budget if any_release else "0"
    if promise.measure == "rho":
        why = f"A person's outcomes enter {each}; nothing else about a person is used, so the cost does not add up."
        return {"epsilon_spent": None, "rho_spent": cost, "promised": f"{budget}-zCDP", "why": why}
    local = design.law.kind == LOCAL
    if local:
        why = "Every outcome is randomised before it is kept; whatever is computed later costs nothing more."
    else:
        why = (
            f"A person's outcomes enter {each}, so a release costs only the people in its stage, and the total for any "
            f"one person is {budget}, however many releases there are. It is not the sum over releases."
        )
    promised = f"{budget}-{'local ' if local else ''}differential privacy"
    if design.distributed:
        promised += ", noise from everybody"
        why += (
            " Everybody adds a part of the noise before sending, and outcomes are never told: two servers hold halves, "
            "which say nothing unless both are put together. Either server by itself, which draws half of what missing "
            f"people would have added, learns at most epsilon {against_a_server(float(promise.budget), 1):.3g} if "
            f"everybody sends, {against_a_server(float(promise.budget), float(LEAST_SHARE)):.3g} if half do, which is "
            "the fewest that are summed."
        )
    if promise.shuffling is not None:
        shuffled = promise.shuffling
        delta = text_of(shuffled.delta)
        promised = f"({budget}, {delta})-differential privacy, shuffled"
        why = (
            f"Every answer is flipped with probability {text_of(shuffled.flip)} before it is kept, and enters one sum "
            f"over at least {shuffled.group} people. Whoever sees the sums, and at most {shuffled.colluders} of those "
            f"people's answers, learns of anybody else no more than epsilon {budget}, but for a chance of {delta}."
        )
    return {"epsilon_spent": _number(cost), "epsilon_exact": cost, "promised": promised, "why": why}


def assumptions(view: PublicView) -> list[str]:
    """What the promises rest on, in words."""
    design = view.design
    if view.by_coins:
        said = [
            *risks_said(design),
            "The verdict: every participant's arm is a fair coin with the stage's announced weights, and nobody's "
            "outcome depends on the arm of somebody enrolled later. Outcomes may drift and depend on each other.",
            "Estimates and intervals of single arms: an arm's outcomes are independent and of constant mean.",
            *hard_end_said(design),
        ]
    else:
        said = ["Outcomes of an arm are independent, with a mean that does not change during the trial."]
    if design.follow_up is None:
        said.append("When an outcome arrives does not depend on what it is (there is no fixed follow-up).")
    else:
        said.append("Outcomes count when due and stages are released by the clock, so arrival times tell nothing.")
    if design.withdrawal == "replace":
        said.append("Who withdraws is public, and does not depend on the outcome (people who withdraw are replaced).")
    elif design.against:
        said.append(
            "Nothing is assumed of who goes missing: a missing outcome counts against the finding, as the worst on the "
            "arm that leads its stage and as the best on every other. Estimates are of outcomes so completed."
        )
    else:
        constant = design.withdrawal[len("impute:") :]
        said.append(f"A missing outcome counts as {constant}; an arm's mean is that of outcomes so completed.")
    if design.contributions > 1 and not view.by_coins:
        said.append(f"A person has up to {design.contributions} outcomes, which are independent given the arms.")
    return said


def risks_said(design: Design) -> tuple[str, ...]:
    """What may be wrong with the two answers of a comparison with control, and how often; nothing for others."""
    asked = design.comparison
    return () if asked is None else (" ".join(["What is promised:", *asked.promises, asked.between]),)


@lru_cache(maxsize=64)
def _number(text: str | None) -> float | None:
    return None if text is None else float(kept(text, "The cost"))


def coins_said(view: PublicView) -> str:
    """Whether the coins fell as announced, for people to read; nothing for algorithms without coins."""
    if view.coins is None:
        return ""
    if view.coins.ok:
        return "Participants came to the arms in the announced proportions, as far as fair coins would have them."
    return (
        "ALARM: participants did not come to the arms in the announced proportions. With fair coins that happens in at "
        f"most one trial in a thousand (p = {view.coins.p_value:.1e}). Find out why before relying on the verdict."
    )


def dates_said(view: PublicView) -> str:
    """When the trial began, when something was last released, and when it stopped, for people to read."""
    said = [] if view.began is None else [f"Created on {view.began[:10]}."]
    if view.releases:
        said.append(f"Last release on {moment(view.releases[-1].at)[:10]}.")
    if view.verdict is not None and view.verdict.at is not None:
        said.append(f"Stopped on {view.verdict.at[:10]}.")
    return " ".join(said)


def outcome_said(design: Design) -> str:
    """What an outcome is, in words: what is measured, on which scale, and which direction is good."""
    outcomes = design.outcomes
    what = "Outcome" if outcomes.what is None else f"Outcome: {outcomes.what}"
    better = "less" if outcomes.lower_is_better else "more"
    scale = f"{outcomes.bounds(' or ')}" if outcomes.binary else f"from {outcomes.bounds(' to ')}"
    return f"{what}, {scale}; {better} is better."


def mended_said(view: PublicView) -> str:
    """Who withdrew, where that is public, and how often codes were put right and entries voided; nothing if never."""
    voided = sum(sum(release.voided) for release in view.releases)
    said = []
    if view.withdrawn:
        said.append(f"{view.withdrawn:,} withdrew; others took their places.")
    if view.relabelled:
        often = "once" if view.relabelled == 1 else f"{view.relabelled:,} times"
        said.append(f"A code was mistyped and put right {often}; that changes nobody's arm.")
    if voided:
        entry = "1 second entry of somebody was" if voided == 1 else f"{voided:,} second entries of somebody were"
        said.append(f"{entry} voided; each keeps its place and counts against what the trial finds.")
    return " ".join(said)


def differences_said(view: PublicView) -> list[str]:
    """How much the leader is ahead of each rival, for people to read."""
    return [
        f"{view.labels[d.arm]} − {view.labels[d.rival]}: between {d.low:.3g} and {d.high:.3g}" for d in view.differences
    ]


DIFFERENCES_MEAN = (
    "Each interval holds at all times of the trial at once, if the difference between two arms is the same for "
    "everybody; levels may drift. The intervals of two single arms may overlap although their difference is clear."
)
"""What an interval for a difference says, for people to read."""
