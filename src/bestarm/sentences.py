"""A design read back in sentences before it is frozen, and what should be thought over first."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from bestarm.design import Design
from bestarm.durations import in_largest_unit
from bestarm.exact import text_of

UNITS: Final = {"s": "second", "m": "minute", "h": "hour", "d": "day"}
NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def sentences(design: Design) -> list[str]:
    """Everything that the design promises and decides, for people to read."""
    return [
        _arms(design),
        _outcome(design),
        _risk(design),
        _privacy(design),
        *_time(design),
        *_cap(design),
        *_contributions(design),
        f"The algorithm is {design.algorithm}, revision {design.revision}.",
        "A participant's code means the same person in capitals or not, and with or without spaces around it.",
    ]


def cautions(design: Design) -> list[str]:
    """What is allowed, but should be thought over before a trial is created."""
    said = design.warnings()
    if design.follow_up is None:
        said.append(
            "There is no follow-up: an outcome counts whenever it comes, so a single one that never comes holds up "
            "every later release. With a follow-up, such as 30 days, the trial goes on without the missing."
        )
    return said


def lasting(seconds: int) -> str:
    """A length of time in words: 30 days, 1 hour."""
    text = in_largest_unit(seconds)
    count, unit = int(text[:-1]), UNITS[text[-1]]
    return f"{count} {unit}{'' if count == 1 else 's'}"


def _arms(design: Design) -> str:
    count = len(design.arms)
    number = NUMBERS[count] if count < len(NUMBERS) else str(count)
    if design.control is not None:
        others = tuple(arm for arm in design.arms if arm != design.control)
        return f"{_listed(others)} {'is' if count == 2 else 'are'} compared with {design.control}, the control."
    return f"{number.capitalize()} arms are compared: {_listed(design.arms)}."


def _outcome(design: Design) -> str:
    outcomes = design.outcomes
    what = "" if outcomes.what is None else f": {outcomes.what}"
    if outcomes.binary:
        good = outcomes.low if outcomes.lower_is_better else outcomes.high
        return f"An outcome is one of two{what}. {text_of(good)} is a success, {text_of(outcomes.worst)} is none."
    better = "less" if outcomes.lower_is_better else "more"
    return f"An outcome is a number from {outcomes.bounds(' to ')}{what}; {better} is better."


def _risk(design: Design) -> str:
    often = f"in at most {_out_of(design.delta)} such trials"
    asked = design.comparison
    if asked is not None:
        return " ".join(
            [asked.question, f"The answer is an arm, or none: {asked.none}.", *asked.promises, asked.between]
        )
    if design.difference == 0:
        return f"The arm that is recommended at the end is the best one, except {often}."
    close = f"The arm that is recommended at the end is the best one or less than {text_of(design.difference)} from it"
    return f"{close}, which is the smallest difference that matters, except {often}."


def _privacy(design: Design) -> str:
    promise = design.privacy
    if promise.budget is None:
        return "Nothing is promised about privacy: sums are published without noise."
    budget = text_of(promise.budget)
    if promise.measure == "rho":
        return f"Privacy is {budget}-zCDP for every participant, however much is published."
    most = math.exp(float(promise.budget))
    factor = f"{most:.3g}" if most < 1000 else "so large a factor that it means little"
    where = "before it is kept" if promise.model == "local" else "by noise on every published sum"
    if design.distributed:
        where += ", of which every participant adds a part; no store is told an outcome, and two servers hold halves"
    if promise.shuffling is not None:
        group, delta = promise.shuffling.group, text_of(promise.shuffling.delta)
        return (
            f"Each outcome is flipped at random before it is kept, and only sums over {group} people or more are "
            f"published: they are at most {factor} times likelier with one outcome of a participant than with another "
            f"(epsilon {budget}), but for a chance of {delta}."
        )
    return (
        f"Each outcome is protected {where}: whatever is published is at most {factor} times likelier with one outcome "
        f"of a participant than with another (epsilon {budget})."
    )


def _time(design: Design) -> list[str]:
    kind, _, value = design.withdrawal.partition(":")
    missing = {
        "impute": f"counts as {value}",
        "against": "counts against the arm that leads: as the worst outcome on it, as the best on any other",
        "replace": "is replaced by somebody else",
    }[kind]
    if design.follow_up is None:
        said = "An outcome counts whenever it comes; a release waits until every outcome of its stage is known."
        return [said, f"Somebody who drops out {missing}."]
    due = f"An outcome is due {lasting(design.follow_up)} after enrolment."
    return [f"{due} Whoever has none by then, or drops out, {missing}."]


def _cap(design: Design) -> list[str]:
    if design.hard_end is not None:
        return [*hard_end_said(design), *_as_coins(design)]
    if design.max_participants is None:
        return ["The trial goes on until the evidence suffices, however many participants that takes."]
    return [
        f"At most {design.max_participants:,} participants are enrolled; if they do not suffice, no arm is recommended."
    ]


def hard_end_said(design: Design) -> list[str]:
    """By when the trial ends, and what its promise rests on; nothing for a design without a hard end."""
    ending = design.hard_end
    if ending is None:
        return []
    sizes = "one stage" if len(ending.stages) == 1 else f"{len(ending.stages)} stages"
    return [
        f"The trial always ends with a recommendation, after at most {ending.people:,} participants in {sizes}.",
        ending.assumption(design.outcomes),
    ]


def _as_coins(design: Design) -> list[str]:
    if design.outcomes.binary:
        return []
    return ["Each outcome counts as the best or the worst, by a coin that keeps its mean: a hard end counts people."]


def _contributions(design: Design) -> list[str]:
    if design.contributions == 1:
        return []
    return [f"One person may take part up to {design.contributions} times; the privacy budget is shared among them."]


def _out_of(risk: Fraction) -> str:
    for whole in (100, 1000, 10_000, 1_000_000):
        if (risk * whole).denominator == 1:
            return f"{risk * whole} of {whole:,}"
    return f"a share {text_of(risk)} of"


def _listed(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
