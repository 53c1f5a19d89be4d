"""A plan in plain words: a clinician understands it without the paper, a statistician finds every symbol."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from bestarm.design import Design, resolve_loaded
from bestarm.planning import words_control
from bestarm.planning.inverse import CONFIDENCE, TOLERANCE
from bestarm.planning.planner import FREE_WITHIN, Plan
from bestarm.sentences import hard_end_said


def in_words(plan: Plan) -> list[str]:
    """The plan as short paragraphs, most important first."""
    if plan.control is not None:
        return [
            words_control.headline(plan),
            words_control.promise(plan),
            _where_they_go(plan),
            _price_of_privacy(plan),
            words_control.if_it_is_less(plan),
            *words_control.turned_round(plan),
            *_cautions(plan),
        ]
    return [
        _headline(plan),
        _difference(plan),
        *_hard_end(plan),
        _where_they_go(plan),
        _against_the_bound(plan),
        _price_of_privacy(plan),
        _if_the_gap_is_smaller(plan),
        *_turned_round(plan),
        *_cautions(plan),
    ]


def in_html(plan: Plan) -> str:
    """The plan as a notebook shows it: the paragraphs, this design beside the others, and what privacy costs."""
    odd = [f"Mind: {warning}" for warning in plan.warnings]
    paragraphs = "".join(f"<p>{escape(text)}</p>" for text in [*odd, *in_words(plan)])
    own = [("this design", plan.expected_samples, plan.p90_samples, plan.expected_days)]
    others = [(one.name, one.expected_samples, one.most_samples, one.expected_days) for one in plan.alternatives]
    beside = _table(
        ("design", "participants on average", "9 in 10 within", "days"),
        [(n, _people(a), _people(p), "–" if d is None else f"{d:,.0f}") for n, a, p, d in (*own, *others)],
    )
    curve = _table(
        ("ε", "participants on average", "9 in 10 within"),
        [(f"{x.epsilon:g}", _people(x.expected_samples), _people(x.p90_samples)) for x in plan.by_epsilon],
    )
    table = "" if plan.scenarios is None else plan.scenarios.to_html()
    return f"{paragraphs}{beside}{curve}{table}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _people(value: float) -> str:
    return f"{math.ceil(value - 1e-9):,}"


def _headline(plan: Plan) -> str:
    best = plan.unit_means.index(max(plan.unit_means))
    rivals = [mean for arm, mean in enumerate(plan.means) if arm != best]
    others = f"{min(rivals):g}" if min(rivals) == max(rivals) else f"{min(rivals):g} to {max(rivals):g}"
    days = ""
    if plan.expected_days is not None and plan.p90_days is not None:
        days = f" That is {plan.expected_days:,.0f} days on average, and within {plan.p90_days:,.0f} in 9 of 10."
    wrong = "an arm that is worse by that difference or more" if plan.difference else "a wrong answer"
    stated = f" The smallest difference that matters is {plan.difference:g}." if plan.difference else ""
    return (
        f"Question: which of {len(plan.means)} arms is best, if the best has mean {plan.means[best]:g} and the others "
        f"{others} (gap {plan.gap:g})?{stated} At most {100 * plan.delta:g} % of trials may end with {wrong} "
        f"(δ = {plan.delta:g}), with privacy budget ε = {plan.epsilon:g}. "
        f"Answer: plan for {_people(plan.expected_samples)} participants on average "
        f"(standard error {_people(plan.standard_error)}, {plan.runs} simulated trials with {plan.algorithm}); "
        f"9 trials in 10 end within {_people(plan.p90_samples)}.{days}"
    )


def _difference(plan: Plan) -> str:
    """What the smallest difference that matters promises, and what it costs to do without."""
    if plan.difference:
        without = ""
        if plan.without_difference is not None:
            without = f" Without stating one it would need {_people(plan.without_difference)} on average."
        fixed = ""
        if plan.fixed_samples is not None and plan.fixed_samples_nonprivate is not None:
            private = f" ({_people(plan.fixed_samples_nonprivate)} without privacy)" if plan.private else ""
            fixed = f" The fixed design with the same promise needs {_people(plan.fixed_samples)}{private}."
        return (
            f"The recommended arm is within {plan.difference:g} of the best, except with probability δ; which of two "
            f"arms that close is recommended does not matter.{without}{fixed}"
        )
    if plan.with_difference is None:
        return "No smallest difference that matters is stated: the recommended arm is the best, however small its lead."
    return (
        "No smallest difference that matters is stated: the trial goes on until the very best arm is found, however "
        f"small its lead. If {plan.gap:g} were stated (--difference {plan.gap:g}), the recommended arm would be within "
        f"that of the best, and the same trial would need {_people(plan.with_difference)} participants on average."
    )


def _hard_end(plan: Plan) -> list[str]:
    if plan.hard_end is None:
        return []
    over = f", {plan.hard_end / plan.fixed_samples:.2f} times the fixed design" if plan.fixed_samples else ""
    said = hard_end_said(Design.from_json(plan.design))
    return [f"Every trial ends with a recommendation by {_people(plan.hard_end)} participants{over}. {said[-1]}"]


def _where_they_go(plan: Plan) -> str:
    names = [label if not label.isdecimal() else f"arm {label}" for label in plan.design["arms"]]
    shares = ", ".join(f"{name}: {_people(people)}" for name, people in zip(names, plan.per_arm, strict=True))
    late = ""
    if plan.outstanding >= 0.5:
        late = f" The outcomes of {_people(plan.outstanding)} come too late, or in a stage too late, to be used."
    return f"On average they go to {shares}; totals are released {plan.releases:,.0f} times on the way.{late}"


def _against_the_bound(plan: Plan) -> str:
    if plan.lower_bound_refined is None:
        what = "a smallest difference that matters" if plan.difference else "outcomes other than yes and no"
        return f"No lower bound is known for a design with {what}."
    ratio = plan.expected_samples / plan.lower_bound_refined if plan.lower_bound_refined > 0 else math.inf
    time = "T_ε" if plan.private else "T*_KL"
    return (
        f"No method with the same promises can do with fewer than {_people(plan.lower_bound_refined)} on average "
        f"(lower bound {time} · kl(1−δ, δ)); this design needs {ratio:.2g} times as many."
    )


def _price_of_privacy(plan: Plan) -> str:
    if not plan.private:
        return f"Privacy has no price here, because {plan.algorithm} protects nobody; ε plays no part in its numbers."
    extra = plan.expected_samples / plan.without_privacy
    if extra < 1.01:
        price = "costs nothing that can be seen"
    elif extra < 1.5:
        price = f"adds {100 * (extra - 1):.0f} % to the participants"
    else:
        price = f"multiplies the participants by {extra:.2g}"
    start = (
        f"Privacy at ε = {plan.epsilon:g} {price}: without it the same design needs {_people(plan.without_privacy)}."
    )
    free = (
        f" Privacy is free (it adds at most {100 * FREE_WITHIN:g} %) from ε = {plan.free_epsilon:g} on."
        if plan.free_epsilon is not None
        else f" It is not free anywhere up to ε = {plan.by_epsilon[-1].epsilon:g}."
    )
    if plan.regime_epsilon is None:
        return start + free
    regime = (
        f" In the paper's terms this is the {plan.regime} regime; the two regimes meet at "
        f"ε = T*_TV/(6 T*_KL) = {plan.regime_epsilon:.2g}."
    )
    return start + free + regime


def _if_the_gap_is_smaller(plan: Plan) -> str:
    half = plan.sensitivity[-1]
    return (
        f"If the gap is only {half.gap:g} instead of {plan.gap:g}, the same design needs "
        f"{_people(half.expected_samples)} participants on average, "
        f"{half.expected_samples / plan.expected_samples:.2g} times as many; "
        f"9 trials in 10 end within {_people(half.p90_samples)}."
    )


def _turned_round(plan: Plan) -> list[str]:
    if plan.participants is None:
        return []
    people = f"{plan.participants:,} participants"
    enough = f"{100 * CONFIDENCE:g} % of trials end within them; found to about {100 * TOLERANCE:g} %"
    privacy = (
        f"With {people} the strongest privacy at this gap is ε = {plan.smallest_epsilon:g} ({enough})."
        if plan.smallest_epsilon is not None
        else f"{people.capitalize()} are too few at this gap, even with no privacy at all."
    )
    gap = (
        f"With {people} and ε = {plan.epsilon:g} the smallest gap that can be resolved is {plan.smallest_gap:g}."
        if plan.smallest_gap is not None
        else f"{people.capitalize()} resolve no gap at ε = {plan.epsilon:g}, not even a best arm that always succeeds."
    )
    chance = (
        f"As hoped, {100 * plan.chance_of_verdict:.0f} % of trials have their verdict within them."
        if plan.chance_of_verdict is not None
        else ""
    )
    difference = (
        f"The smallest difference that may be stated with {people}, if the best leads by just that, is "
        f"{plan.smallest_difference:g}."
        if plan.smallest_difference is not None
        else ""
    )
    return [*([privacy] if plan.private else []), gap, *([difference] if difference else []), chance]


def _cautions(plan: Plan) -> list[str]:
    algorithm = resolve_loaded(plan.algorithm)
    cautions = []
    if not algorithm.proven:
        cautions.append(f"Caution: {plan.algorithm} has a heuristic threshold, not proven.")
    elsewhere = [point.undecided for point in plan.by_epsilon] + [row.undecided for row in plan.sensitivity]
    if plan.undecided or any(elsewhere):
        cautions.append(
            f"Caution: where a number is marked with ≥, some of the {plan.runs} simulated trials had not ended after "
            f"{plan.max_samples:,} participants; they count with that number, so the truth is larger. "
            f"In this plan: {plan.undecided}."
        )
    return cautions
