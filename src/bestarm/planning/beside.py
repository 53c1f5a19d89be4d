"""What stands beside a design: the fixed design with the same promise, and what a few looks would save without privacy.

A smallest difference that matters is what makes them comparable: all promise to recommend an arm within it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bestarm.planning.question import Question
from bestarm.release.laws import Law, no_privacy, noise_variance
from bestarm.simulation.clock import day_of
from bestarm.theory.fixed import fixed_people, fixed_size_of_means
from bestarm.theory.fixed_control import fixed_control_size, fixed_control_size_of_means
from bestarm.theory.group_sequential import group_sequential


@dataclass(frozen=True)
class Alternative:
    """Another design with the same promise."""

    name: str
    private: bool
    expected_samples: float
    most_samples: int
    """However the outcomes come."""
    expected_days: float | None
    """None if nobody looks at a calendar."""
    note: str


def fixed_designs(question: Question) -> tuple[int | None, int | None]:
    """People of the fixed design with the same promise, with and without its privacy; None without a difference."""
    if question.difference == 0:
        return None, None
    return _fixed(question, question.design.law), _fixed(question, None)


def _fixed(question: Question, law: Law | None) -> int:
    if question.control is not None:
        return _fixed_against_control(question, law)
    arms, delta, difference = question.instance.arms, float(question.design.delta), question.difference
    if question.instance.binary:
        return fixed_people(arms, base_rate(question), difference, delta, law or no_privacy())
    noise = 0.0 if law is None else noise_variance(law)
    return arms * fixed_size_of_means(arms, _variances(question), difference, delta, noise)


def _fixed_against_control(question: Question, law: Law | None) -> int:
    arms, difference, risks = question.instance.arms, question.difference, _risks(question)
    if question.instance.binary:
        return arms * fixed_control_size(arms, question.runner_up, difference, risks, law or no_privacy())
    noise = 0.0 if law is None else noise_variance(law)
    variances = (question.instance.laws[question.best].variance, question.instance.laws[question.control or 0].variance)
    return arms * fixed_control_size_of_means(arms, variances, difference, risks, noise)


def _risks(question: Question) -> tuple[float, float]:
    """Of a wrong arm, and of a wrong "none"."""
    return float(question.design.delta), float(question.design.delta_none or question.design.delta)


def base_rate(question: Question) -> float:
    """The rate that all arms but one share in the least favourable case: the second best, if there is room above it."""
    return max(0.0, min(question.runner_up, 1.0 - question.difference))


def _variances(question: Question) -> tuple[float, float]:
    """Of an outcome on an arm that is just better by what matters, and on the others."""
    base = base_rate(question)
    other = 1 if question.best == 0 else 0
    rival = question.instance.laws[other if question.control is None else question.control]
    best = question.instance.laws[question.best]
    return best.with_mean(base + question.difference).variance, rival.with_mean(base).variance


def alternatives(question: Question) -> tuple[Alternative, ...]:
    """All designs to show beside this one, in people and in days; none without a difference."""
    private, plain = fixed_designs(question)
    if private is None or plain is None:
        return ()
    how = "sized exactly" if question.instance.binary else "sized by normal laws"
    if question.control is not None and question.instance.arms > 2:
        how += ", Bonferroni over arms"
    found = [
        Alternative("fixed design", False, plain, plain, days_of(question, plain), f"one look, {how}"),
    ]
    if question.private:
        found.insert(
            0,
            Alternative(
                "fixed design, same privacy", True, private, private, days_of(question, private), f"one look, {how}"
            ),
        )
    if question.instance.arms == 2:
        found.append(_looked_at(question))
    return tuple(found)


def _looked_at(question: Question) -> Alternative:
    """O'Brien and Fleming's design. Whoever is enrolled while outcomes are awaited is enrolled for nothing."""
    if question.control is None:
        design = group_sequential(_variances(question), question.difference, float(question.design.delta))
    else:
        variances = (question.instance.laws[question.best].variance, question.instance.laws[question.control].variance)
        design = group_sequential(variances, abs(question.difference), *_risks(question))
    clock = question.life.clock(question.design.follow_up)
    late = math.floor(clock.rate * clock.follow_up) if question.life.enrol is not None else 0
    by_look = [min(design.people, round(design.people * k / design.looks) + late) for k in range(1, design.looks + 1)]
    people = math.fsum(p * n for p, n in zip(design.stops, by_look, strict=True))
    days = None
    if question.life.enrol is not None:
        ends = [design.people * k / design.looks - 1 for k in range(1, design.looks + 1)]
        days = math.fsum(p * (day_of(clock, n) + clock.follow_up) for p, n in zip(design.stops, ends, strict=True))
    note = f"{design.looks} looks, by normal laws"
    return Alternative("O'Brien-Fleming, group-sequential", False, people, design.people, days, note)


def days_of(question: Question, people: int) -> float | None:
    """Days until the last of so many people's outcomes are known."""
    if question.life.enrol is None:
        return None
    clock = question.life.clock(question.design.follow_up)
    return day_of(clock, people - 1.0) + clock.follow_up
