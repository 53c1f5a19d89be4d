"""How a design and its algorithm go together: what is refused, and what is allowed but odd."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from bestarm.errors import InputError
from bestarm.exact import text_of
from bestarm.policy.algorithm import Algorithm, Staged

if TYPE_CHECKING:
    from bestarm.design import Design

WEAK_BUDGET: Final = 10
"""A larger one is warned about."""
HIGH_RISK: Final = Fraction(1, 5)
"""So is a larger risk."""


def check_fit(design: Design, algorithm: Algorithm) -> None:
    """Refuse a design that this algorithm cannot keep its promise for."""
    if design.privacy.model not in algorithm.privacy:
        raise InputError(
            f"The algorithm {algorithm.name} does not offer the privacy model {design.privacy.model!r}; "
            f"it offers: {', '.join(algorithm.privacy)}."
        )
    if isinstance(algorithm, Staged):
        _check_coins(design, algorithm)
    elif design.against:
        raise InputError(
            f"The algorithm {algorithm.name} has no champion of a stage that missing outcomes could count against; "
            "use impute:X."
        )
    if design.control is not None and not algorithm.supports_control:
        raise InputError(
            f"The algorithm {algorithm.name} cannot compare arms with control; use evidence, or leave --control out."
        )
    if design.hard_end is not None:
        check_hard_end(design, algorithm)
    if design.difference > 0 and not algorithm.supports_indifference:
        raise InputError(
            f"The algorithm {algorithm.name} takes no smallest difference that matters; use another one, or leave "
            "--difference out."
        )
    if algorithm.needs_base:
        _check_base(design, algorithm)
    elif design.base is not None:
        raise InputError(f"The algorithm {algorithm.name} takes no base rate; leave --base out.")
    if design.distributed and algorithm.noise != "discrete":
        raise InputError(f"The algorithm {algorithm.name} is not made for whole-numbered noise; use central noise.")


def check_hard_end(design: Design, algorithm: Algorithm) -> None:
    """Refuse a hard end where none can be computed."""
    if not algorithm.supports_hard_end:
        raise InputError(f"The algorithm {algorithm.name} has no hard end; leave --hard-end out.")
    if design.control is not None:
        raise InputError("A hard end recommends one of all arms; leave --hard-end or --control out.")
    if design.difference == 0:
        raise InputError("A hard end needs the smallest difference that matters: add --difference.")
    if design.against:
        raise InputError(
            "With a hard end missing outcomes cannot count against the finding, since either arm may be found; use "
            "impute:X."
        )
    if design.distributed:
        raise InputError(
            "A hard end is computed for noise of one exact law, and distributed noise varies with who is missing; "
            "leave one of the two out."
        )


def _check_base(design: Design, algorithm: Algorithm) -> None:
    # The size of the fixed design follows from these two, and from nothing that is learnt in the trial.
    if design.difference == 0 or design.base is None:
        raise InputError(
            f"The algorithm {algorithm.name} needs the smallest difference that matters, --difference, and the "
            "mean that all arms but the best are planned with, --base."
        )
    if design.outcomes.between(design.base, "The base rate") + design.difference / design.outcomes.width > 1:
        raise InputError(
            f"The base rate is {text_of(design.base)}, but it has to leave room for a better arm: the smallest "
            f"difference that matters is {text_of(design.difference)}."
        )


def _check_coins(design: Design, algorithm: Staged) -> None:
    # Whoever was assigned by a coin stays in: leaving people out because of what became of them is no fair coin.
    if design.withdrawal == "replace":
        raise InputError(
            f"The algorithm {algorithm.name} assigns by coins; nobody can be replaced, use impute:X or against."
        )
    if design.allocation == "fixed":
        raise InputError(f"The algorithm {algorithm.name} assigns by coins; its allocation is random.")


def odd_about(design: Design) -> list[str]:
    """What is allowed, but odd enough to be said before anybody is enrolled, in sentences."""
    said = []
    if design.privacy.budget is not None and design.privacy.budget > WEAK_BUDGET:
        said.append(
            f"{design.privacy.measure} is {text_of(design.privacy.budget)}; a budget above {WEAK_BUDGET} protects "
            "hardly anybody."
        )
    if design.delta > HIGH_RISK:
        said.append(f"delta is {text_of(design.delta)}; so many of such trials may recommend a wrong arm.")
    if design.delta_none is not None and design.delta_none > HIGH_RISK:
        said.append(
            f"The risk of a wrong none is {text_of(design.delta_none)}; so many of such trials may miss an arm that "
            "is better than control by what matters."
        )
    share = abs(design.difference) / design.outcomes.width
    if share > Fraction(1, 2):
        said.append(
            f"The smallest difference that matters is {text_of(design.difference)}, more than half of the outcome's "
            f"scale from {design.outcomes.bounds(' to ')}; nearly every arm is then good enough."
        )
    if 0 < share < Fraction(1, 1000):
        said.append(
            f"The smallest difference that matters is {text_of(design.difference)}, in the outcome's own units from "
            f"{design.outcomes.bounds(' to ')}; less than a thousandth of them may take very many people."
        )
    return said
