"""What is fixed when a trial is created, kept exactly: numbers are decimal strings, never rounded.

The design is public. It says what is promised (epsilon, delta), by which algorithm, of which outcomes, and what happens
to people who drop out. Nothing in it can be changed later.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any, Final

from bestarm.errors import InputError
from bestarm.policy.algorithm import PRIVACY_MODELS, Algorithm, Design
from bestarm.policy.catalogue import find
from bestarm.privacy.encoding import AS_IS, COIN, ON_GRID, Scale, exact, text_of

DEFAULT_ALGORITHM: Final = "evidence"
SMALLEST_BUDGET: Final = Fraction(1, 10**6)
"""Per outcome; below it no trial of this world ends, and noisy sums no longer fit the database's integers."""
LONGEST_LABEL: Final = 100

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(frozen=True)
class TrialDesign:
    """The frozen parameters of one trial, as exact text where they are numbers."""

    arms: tuple[str, ...]
    epsilon: str | None
    """What one person's part in the trial may cost in all; None without privacy and for zCDP."""
    delta: str
    algorithm: str
    privacy: str
    rho: str | None
    outcomes: str
    """"unit" (anything between the bounds) or "binary" (one of the bounds)."""
    low: str
    high: str
    lower_is_better: bool
    indifference: str
    max_participants: int | None
    follow_up: int | None
    """Seconds from an assignment until its outcome is due; None if an outcome counts whenever it comes."""
    withdrawal: str
    """"impute:X" (in the outcome's own units) or "replace"."""
    contributions: int
    """How many assignments one subject may hold; the budget is shared among them."""
    allocation: str
    """"random" or "fixed": how the next person is assigned when several arms recruit."""
    encoding: str
    """How outcomes become integers: "as-is", "coin" or "grid"."""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {"arms": list(self.arms)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TrialDesign:
        """From plain data."""
        return cls(**{f.name: data[f.name] for f in fields(cls)} | {"arms": tuple(data["arms"])})

    @property
    def scale(self) -> Scale:
        """The outcome's bounds."""
        return Scale(Fraction(self.low), Fraction(self.high), self.lower_is_better, self.outcomes == "binary")

    @property
    def budget(self) -> Fraction | None:
        """What one outcome may cost. k outcomes of one person in pure DP cost k times that, in zCDP k^2 times."""
        if self.privacy == "zcdp" and self.rho is not None:
            return Fraction(self.rho) / self.contributions**2
        return None if self.epsilon is None else Fraction(self.epsilon) / self.contributions

    @property
    def imputed(self) -> Fraction | None:
        """What counts for a missing outcome, in [0, 1]; None if people are replaced."""
        if self.withdrawal == "replace":
            return None
        value = self.scale
        return Scale(value.low, value.high, value.lower_is_better).to_unit(Fraction(self.withdrawal[len("impute:") :]))

    def for_policy(self) -> Design:
        """The design as the policy reads it: numbers in floating point, the budget that of one outcome."""
        budget = self.budget
        zcdp = self.privacy == "zcdp"
        return Design(
            arms=len(self.arms),
            delta=float(Fraction(self.delta)),
            epsilon=1.0 if budget is None or zcdp else float(budget),
            privacy=self.privacy,
            rho=float(budget) if zcdp and budget is not None else None,
            indifference=float(Fraction(self.indifference)),
            binary=self.encoding != ON_GRID,
        )


def make_design(
    arms: list[str] | tuple[str, ...],
    epsilon: object,
    delta: object,
    algorithm: str | Algorithm,
    privacy: str | None,
    rho: object,
    outcomes: str,
    low: object,
    high: object,
    lower_is_better: bool,
    indifference: object,
    max_participants: int | None,
    follow_up: str | int | None,
    withdrawal: str | None,
    contributions: int,
    allocation: str,
) -> tuple[TrialDesign, Algorithm]:
    """Check everything and fix it; raises InputError for the first thing that cannot be."""
    labels = _labels(arms)
    rules = resolve(algorithm)
    model = privacy or rules.privacy[0]
    if model not in PRIVACY_MODELS:
        raise InputError(f"The privacy model is {model!r}; there are: {', '.join(PRIVACY_MODELS)}.")
    _one_of("The outcomes", outcomes, ("unit", "binary"))
    _one_of("The allocation", allocation, ("random", "fixed"))
    contributions = _count("The number of contributions", contributions, 1)
    if max_participants is not None:
        max_participants = _count("The largest number of participants", max_participants, len(labels))
    bottom, top = exact(low, "The lower bound"), exact(high, "The upper bound")
    if bottom >= top:
        raise InputError(f"The lower bound {text_of(bottom)} has to be below the upper bound {text_of(top)}.")
    seconds = None if follow_up is None else duration(follow_up)
    if contributions > 1 and seconds is None:
        raise InputError(
            "A trial with several contributions of one person needs a follow-up: when somebody may take part again "
            "depends on the clock, and not on whether an outcome was reported."
        )
    design = TrialDesign(
        arms=labels,
        epsilon=_budget("epsilon", epsilon, contributions) if model in ("pure", "local") else None,
        delta=_between("delta", delta, Fraction(0), Fraction(1)),
        algorithm=algorithm if isinstance(algorithm, str) else rules.name,
        privacy=model,
        rho=_budget("rho", rho, contributions**2) if model == "zcdp" else None,
        outcomes=outcomes,
        low=text_of(bottom),
        high=text_of(top),
        lower_is_better=bool(lower_is_better),
        indifference=_indifference(indifference),
        max_participants=max_participants,
        follow_up=seconds,
        withdrawal=_withdrawal(withdrawal, bottom, top, lower_is_better, seconds),
        contributions=contributions,
        allocation=allocation,
        encoding=_encoding(rules, model, outcomes),
    )
    rules.check(design.for_policy())
    return design, rules


def resolve(algorithm: str | Algorithm) -> Algorithm:
    """An algorithm of the catalogue, one's own, or "module:name" of one's own."""
    if isinstance(algorithm, Algorithm) or ":" not in algorithm:
        return find(algorithm)
    module, _, name = algorithm.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"There is no algorithm {algorithm!r}: {error}.") from error
    if not isinstance(found, Algorithm):
        raise InputError(f"{algorithm!r} is not an Algorithm of bestarm.")
    return found


def design_in_words(design: TrialDesign) -> list[tuple[str, str]]:
    """Every parameter that is set, with its value, for people to read."""
    rows = []
    for key, value in design.to_json().items():
        if value is not None:
            shown = ", ".join(value) if isinstance(value, list) else str(value)
            rows.append((key.replace("_", " "), in_largest_unit(int(value)) if key == "follow_up" else shown))
    return rows


def in_largest_unit(seconds: int) -> str:
    """The same length of time as `duration` takes it: 30d, 12h, 90m or 45s."""
    unit = next(unit for unit in "dhms" if seconds % _UNITS[unit] == 0)
    return f"{seconds // _UNITS[unit]}{unit}"


def duration(text: str | int) -> int:
    """Whole seconds of a text such as 30d, 12h, 90m, 45s or 2w."""
    if isinstance(text, int) and not isinstance(text, bool):
        seconds = text
    else:
        match = re.fullmatch(r"(\d{1,9})([smhdw])", str(text).strip())
        if match is None:
            raise InputError(f"The follow-up is {text!r}; it takes a number with a unit: s, m, h, d or w, such as 30d.")
        seconds = int(match[1]) * _UNITS[match[2]]
    if not 0 < seconds <= 100 * 366 * 86400:
        raise InputError("The follow-up has to be longer than nothing and shorter than a century.")
    return seconds


def _encoding(rules: Algorithm, model: str, outcomes: str) -> str:
    # Proofs for continuous noise are kept on the fine grid; integer noise takes 0/1 outcomes as they are.
    if model == "local" or (rules.noise == "discrete" and rules.binarises):
        return AS_IS if outcomes == "binary" else COIN
    if rules.noise == "discrete" and outcomes == "binary":
        return AS_IS
    return ON_GRID


def _labels(arms: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(arms, str):
        raise InputError("The arms have to be a list of labels, not one text.")
    labels = tuple(str(arm).strip() for arm in arms)
    if len(labels) < 2:
        raise InputError(f"A trial compares at least two arms; this one has {len(labels)}.")
    if any(not label or len(label) > LONGEST_LABEL for label in labels):
        raise InputError(f"Every arm needs a label of 1 to {LONGEST_LABEL} characters.")
    if len(set(labels)) < len(labels):
        raise InputError("Two arms have the same label; labels have to differ.")
    return labels


def _withdrawal(rule: str | None, low: Fraction, high: Fraction, lower_is_better: bool, seconds: int | None) -> str:
    if rule is None:
        return f"impute:{text_of(high if lower_is_better else low)}"
    if rule == "replace":
        if seconds is not None:
            raise InputError(
                "A trial with a follow-up imputes what is missing when it is due; it cannot replace people."
            )
        return rule
    if not rule.startswith("impute:"):
        raise InputError(f"The withdrawal rule is {rule!r}; it takes impute:X (X an outcome) or replace.")
    value = exact(rule[len("impute:") :], "The imputed outcome")
    if not low <= value <= high:
        raise InputError(
            f"The imputed outcome is {text_of(value)}, but it has to lie between {text_of(low)} and {text_of(high)}."
        )
    return f"impute:{text_of(value)}"


def _budget(name: str, value: object, shared_by: int) -> str:
    if value is None:
        raise InputError(f"The privacy budget {name} is missing; it takes a positive number.")
    number = exact(value, name)
    if not number > 0:
        raise InputError(f"{name} is {text_of(number)}, but it has to be positive.")
    if number / shared_by < SMALLEST_BUDGET:
        raise InputError(f"{name} is {text_of(number)}; for one outcome it has to be at least 0.000001.")
    if number > 10**6:
        raise InputError(f"{name} is {text_of(number)}, which promises nothing; it can be at most 1000000.")
    return text_of(number)


def _between(name: str, value: object, low: Fraction, high: Fraction) -> str:
    number = exact(value, name)
    if not low < number < high:
        raise InputError(f"{name} is {text_of(number)}, but it has to lie between {low} and {high}, both excluded.")
    return text_of(number)


def _indifference(value: object) -> str:
    number = exact(value, "The indifference zone")
    if not 0 <= number < 1:
        raise InputError(f"The indifference zone is {text_of(number)}, but it has to be at least 0 and below 1.")
    return text_of(number)


def _count(what: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{what} is {value}, but it has to be a whole number, at least {least}.")
    return value


def _one_of(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{what} are {value!r}; allowed: {', '.join(allowed)}.")
