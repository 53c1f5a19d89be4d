"""The one validator of designs: what a design may hold, and how its parts have to fit together."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from bestarm.checks import BETA, DELTA, EXPONENT, one_of, whole
from bestarm.codes import CODE_RULES
from bestarm.comparison import check_control, difference_rule
from bestarm.durations import duration
from bestarm.errors import InputError
from bestarm.exact import text_of
from bestarm.release.models import AS_IS, COIN, ON_GRID

if TYPE_CHECKING:
    from bestarm.design import Design

SMALLEST_BUDGET: Final = Fraction(1, 10**6)
"""Per outcome; below it no trial of this world ends, and noisy sums no longer fit the database's integers."""
LARGEST_BUDGET: Final = 10**6
LONGEST_LABEL: Final = 100
MOST_PARTICIPANTS: Final = 10**15
MOST_CONTRIBUTIONS: Final = 10**6


def check_design(design: Design) -> None:
    """The one validator: whatever way a design comes about, it fits together."""
    arms = design.arms
    if len(arms) < 2:
        raise InputError(f"A trial compares at least two arms; this one has {len(arms)}.")
    if any(not label or len(label) > LONGEST_LABEL for label in arms):
        raise InputError(f"Every arm needs a label of 1 to {LONGEST_LABEL} characters.")
    if len(set(arms)) < len(arms):
        raise InputError("Two arms have the same label; labels have to differ.")
    DELTA.exactly(design.delta)
    BETA.exactly(design.beta)
    EXPONENT.exactly(design.s)
    difference_rule(design.outcomes, design.control).exactly(design.difference)
    check_control(design.arms, design.control, design.delta_none)
    one_of("The encoding", design.encoding, (AS_IS, COIN, ON_GRID))
    one_of("The allocation", design.allocation, ("random", "fixed"))
    one_of("The rule of codes", design.codes, CODE_RULES)
    whole("The number of contributions", design.contributions, 1, MOST_CONTRIBUTIONS)
    if design.max_participants is not None:
        whole("The largest number of participants", design.max_participants, len(arms), MOST_PARTICIPANTS)
    if design.hard_end is not None and design.max_participants != design.hard_end.people:
        raise InputError("A trial with a hard end takes at most as many participants as its stages hold.")
    if design.hard_end is not None and design.encoding == ON_GRID:
        raise InputError("A trial with a hard end counts outcomes of 0 and 1; others become so by a coin.")
    if design.follow_up is not None:
        duration(design.follow_up)
    if design.contributions > 1 and design.follow_up is None:
        raise InputError(
            "A trial with several contributions of one person needs a follow-up: when somebody may take part again "
            "depends on the clock, and not on whether an outcome was reported."
        )
    if design.contributions > 1 and design.privacy.shuffling is not None:
        raise InputError("Under the privacy model shuffle a person contributes once; leave the contributions out.")
    _check_noise(design)
    _check_budget(design)
    _check_withdrawal(design)


def _check_noise(design: Design) -> None:
    if not design.distributed:
        return
    if design.privacy.model != "pure":
        raise InputError(f"Distributed noise belongs to the privacy model pure, not to {design.privacy.model}.")
    if design.contributions > 1:
        raise InputError("With distributed noise a person contributes once; leave the contributions out.")
    if design.replaces:
        raise InputError("With distributed noise nobody is replaced; use impute:X or against.")


def _check_budget(design: Design) -> None:
    budget, each = design.privacy.budget, design.per_outcome.budget
    if budget is None or each is None:
        return
    said = f"{design.privacy.measure} is {text_of(budget)}"
    if each < SMALLEST_BUDGET:
        raise InputError(f"{said}; for one outcome it has to be at least {text_of(SMALLEST_BUDGET)}.")
    if budget > LARGEST_BUDGET:
        raise InputError(f"{said}, which promises nothing; it can be at most {LARGEST_BUDGET}.")


def _check_withdrawal(design: Design) -> None:
    kind = design.withdrawal.partition(":")[0]
    if kind == "impute" and ":" in design.withdrawal:
        _ = design.imputed(on_champion=True)  # raises if it lies outside of the bounds
    elif design.withdrawal not in ("replace", "against"):
        raise InputError(
            f"The withdrawal rule is {design.withdrawal!r}; it takes impute:X (X an outcome), against or replace."
        )
    elif design.replaces and design.follow_up is not None:
        raise InputError("A trial with a follow-up imputes what is missing when it is due; it cannot replace people.")
