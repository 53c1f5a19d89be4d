"""Comparing arms with control: which designs do, what they promise, and how that is said.

With a smallest difference that matters, g > 0, the question is whether any arm is better than control; the answer is
an arm, or "none" when no arm is better by g. A negative g is a margin of non-inferiority: the question is whether any
arm is at most so much worse, and "none" says that no arm is as good as control. (docs/evidence-proof.md: control)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from bestarm.checks import DELTA_NONE, Requirement
from bestarm.errors import InputError
from bestarm.exact import text_of

if TYPE_CHECKING:
    from bestarm.design import Design
    from bestarm.outcomes import Outcomes

NONE: Final = "none"
"""The verdict when no arm is better."""


@dataclass(frozen=True)
class Comparison:
    """What a design with a control arm asks, in plain words."""

    control: str
    difference: Fraction
    """In the outcome's own units; negative for non-inferiority."""
    delta: Fraction
    delta_none: Fraction
    amount: str
    """The difference without its sign, as people say it."""

    @property
    def superiority(self) -> bool:
        """Whether an arm has to be better than control, rather than not much worse."""
        return self.difference > 0

    @property
    def question(self) -> str:
        """What the trial asks."""
        if self.superiority:
            return f"Is any arm better than {self.control}?"
        return f"Is any arm not worse than {self.control} by {self.amount}?"

    def better(self, arm: str) -> str:
        """What is claimed of an arm that is recommended."""
        if self.superiority:
            return f"{arm} is better than {self.control}"
        return f"{arm} is not worse than {self.control} by {self.amount}"

    @property
    def none(self) -> str:
        """What is claimed when no arm is."""
        if self.superiority:
            return f"no arm is better than {self.control} by {self.amount}"
        return f"no arm is as good as {self.control}"

    def given_up(self, arm: str) -> str:
        """What is claimed of one arm on the way to that."""
        if self.superiority:
            return f"{arm} is not better than {self.control} by {self.amount}"
        return f"{arm} is not as good as {self.control}"

    @property
    def promises(self) -> tuple[str, str]:
        """The two error rates, each in a sentence."""
        if self.superiority:
            wrong = f"some arm that is no better than {self.control} for anybody is called better"
            missed = f"the answer is none although one arm is better than {self.control} by {self.amount} for everybody"
        else:
            wrong = f"some arm that is worse than {self.control} by {self.amount} for everybody is called not worse"
            missed = f"the answer is none although one arm is at least as good as {self.control} for everybody"
        return (
            f"With probability at most {text_of(self.delta)} {wrong}.",
            f"With probability at most {text_of(self.delta_none)} {missed}.",
        )

    @property
    def between(self) -> str:
        """What is not promised."""
        if self.superiority:
            return f"An arm that is better by less than {self.amount} may end either way."
        return f"An arm that is worse by less than {self.amount} may end either way."


def comparison_of(design: Design) -> Comparison | None:
    """What a design asks of control; None if it looks for the best arm."""
    if design.control is None or design.delta_none is None:
        return None
    amount = amount_of(design.outcomes, abs(design.difference))
    return Comparison(design.control, design.difference, design.delta, design.delta_none, amount)


def amount_of(outcomes: Outcomes, difference: Fraction) -> str:
    """A difference as people say it: of shares in percentage points, else in the outcome's own units."""
    if outcomes.binary and outcomes.low == 0 and outcomes.high == 1:
        points = text_of(100 * difference)
        return f"{points} percentage point{'' if points == '1' else 's'}"
    return text_of(difference)


def risk_of_none(delta: object, delta_none: object, control: str | None) -> Fraction | None:
    """The risk of a wrong "none": as given, else that of a wrong recommendation; None without control."""
    if control is None:
        if delta_none is not None:
            raise InputError('The risk of a wrong "none" belongs to a comparison with control; leave --delta-none out.')
        return None
    return DELTA_NONE.exactly(delta if delta_none is None else delta_none)


def labels_with_control(
    labels: Sequence[str] | None, arms: int, control: str | int | None
) -> tuple[tuple[str, ...], str | None]:
    """The arms' labels and which of them is control: a name that is none of numbered arms' is given to the first."""
    names = tuple(str(arm) for arm in range(arms)) if labels is None else tuple(labels)
    if control is None:
        return names, None
    wanted = str(control).strip()
    if wanted not in names and labels is None and not wanted.lstrip("-").isdecimal():
        names = (wanted, *names[1:])
    return names, wanted


def difference_rule(outcomes: Outcomes, control: str | None) -> Requirement:
    """What the smallest difference that matters has to be."""
    width = outcomes.width
    name = "The smallest difference that matters"
    if control is None:
        return Requirement(
            name,
            f"it has to be at least 0 and below the outcome's range, {text_of(width)} (a negative one, a margin of "
            "non-inferiority, needs --control)",
            lambda x: bool(0 <= x < width),
        )
    return Requirement(
        name,
        f"a comparison with control needs one other than 0, smaller than the outcome's range, {text_of(width)}: add "
        "--difference (negative: a margin of non-inferiority)",
        lambda x: bool(x != 0 and -width < x < width),
    )


def check_control(arms: Sequence[str], control: str | None, delta_none: Fraction | None) -> None:
    """Refuse a control that is no arm, an arm that could be taken for a verdict, and a risk without its claim."""
    if (control is None) != (delta_none is None):
        raise InputError('A comparison with control, and no other design, has a risk of a wrong "none".')
    if control is None:
        return
    if control not in arms:
        raise InputError(f"The control arm is {control!r}, but the arms are: {', '.join(arms)}.")
    if any(label.casefold() == NONE for label in arms):
        raise InputError('No arm of a comparison with control can have the label "none", which is a verdict.')
    DELTA_NONE.exactly(delta_none)
