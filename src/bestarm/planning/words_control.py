"""A plan of a comparison with control in plain words."""

from __future__ import annotations

import math

from bestarm.comparison import Comparison
from bestarm.design import Design
from bestarm.planning.inverse import CONFIDENCE, TOLERANCE
from bestarm.planning.planner import Plan


def question_of(plan: Plan) -> Comparison:
    """What the planned design asks."""
    asked = Design.from_json(plan.design).comparison
    assert asked is not None
    return asked


def headline(plan: Plan) -> str:
    """The question, what may be wrong, and how many participants."""
    asked = question_of(plan)
    labels = plan.design["arms"]
    means = ", ".join(f"{label} {mean:g}" for label, mean in zip(labels, plan.means, strict=True))
    days = ""
    if plan.expected_days is not None and plan.p90_days is not None:
        days = f" That is {plan.expected_days:,.0f} days on average, and within {plan.p90_days:,.0f} in 9 of 10."
    return (
        f"Question: {asked.question} Planned with means {means}. Answer: plan for {people(plan.expected_samples)} "
        f"participants on average (standard error {people(plan.standard_error)}, {plan.runs} simulated trials with "
        f"{plan.algorithm}, privacy budget ε = {plan.epsilon:g}); 9 trials in 10 end within "
        f"{people(plan.p90_samples)}.{days} {ends(plan, asked)}"
    )


def ends(plan: Plan, asked: Comparison) -> str:
    """How often each answer is given, as hoped."""
    none = plan.none or 0.0
    found = 1.0 - none - plan.undecided / plan.runs
    some = "some arm is better" if asked.superiority else f"some arm is not worse by {asked.amount}"
    return f"As hoped, {100 * found:.0f} % of trials find that {some}, and {100 * none:.0f} % that {asked.none}."


def promise(plan: Plan) -> str:
    """The two error rates, and the fixed design with the same."""
    asked = question_of(plan)
    fixed = ""
    if plan.fixed_samples is not None and plan.fixed_samples_nonprivate is not None:
        private = f" ({people(plan.fixed_samples_nonprivate)} without privacy)" if plan.private else ""
        fixed = f" The fixed design with the same two promises needs {people(plan.fixed_samples)}{private}."
    return f"{' '.join(asked.promises)} {asked.between}{fixed}"


def if_it_is_less(plan: Plan) -> str:
    """What if the best arm is not as good as hoped?"""
    half = plan.sensitivity[-1]
    return (
        f"If the best arm's lead over {plan.control} is {half.gap:g} instead of {plan.gap:g}, the same design needs "
        f"{people(half.expected_samples)} participants on average; 9 trials in 10 end within "
        f"{people(half.p90_samples)}."
    )


def turned_round(plan: Plan) -> list[str]:
    """What a given number of participants affords."""
    if plan.participants is None:
        return []
    asked = question_of(plan)
    those = f"{plan.participants:,} participants"
    enough = f"{100 * CONFIDENCE:g} % of trials end within them; found to about {100 * TOLERANCE:g} %"
    said = []
    if plan.private:
        said.append(
            f"With {those} the strongest privacy as hoped is ε = {plan.smallest_epsilon:g} ({enough})."
            if plan.smallest_epsilon is not None
            else f"{those.capitalize()} are too few as hoped, even with no privacy at all."
        )
    if plan.smallest_difference is not None:
        what = "difference that may be stated" if asked.superiority else "margin that may be stated"
        just = ", if the best arm leads by just that," if asked.superiority else ""
        said.append(f"The smallest {what} with {those}{just} is {plan.smallest_difference:g}.")
    if plan.chance_of_verdict is not None:
        said.append(f"As hoped, {100 * plan.chance_of_verdict:.0f} % of trials have their verdict within them.")
    return said


def people(value: float) -> str:
    """Rounded up to whole people."""
    return f"{math.ceil(value - 1e-9):,}"
