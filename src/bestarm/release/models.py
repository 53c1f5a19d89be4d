"""The privacy models by name: the one place that turns a promise of privacy into the law of what is released.

Whoever needs to know the model (the simulator, the door of a live trial, the evidence, intervals, the ledger) asks the
law. "No privacy" is `NO_PRIVACY`: the model none, without a budget; its law has no noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, get_args

from bestarm.checks import EPSILON, RHO, Requirement, one_of, whole
from bestarm.errors import InputError
from bestarm.exact import kept, text_of
from bestarm.release.laws import Law, local_law, no_privacy, pure_law, shuffle_law, zcdp_law

Model: TypeAlias = Literal["pure", "none", "local", "zcdp", "shuffle"]
PRIVACY_MODELS: Final[tuple[str, ...]] = get_args(Model)
BUDGETS: Final[dict[str, Requirement | None]] = {
    "pure": EPSILON,
    "none": None,
    "local": EPSILON,
    "zcdp": RHO,
    "shuffle": EPSILON,
}
"""What measures each model's budget."""
DEFAULT_GROUP: Final = 300
"""The fewest people of an arm in a stage of the shuffled model, unless others are asked for."""
SMALLEST_DELTA: Final = Fraction(1, 10**12)
"""A smaller privacy delta could not be computed to the last digit that matters."""
PRIVACY_DELTA: Final = Requirement(
    "the privacy delta",
    "the chance that the promise fails has to lie between 1e-12 and 0.01",
    lambda x: SMALLEST_DELTA <= x <= Fraction(1, 100),
)

AS_IS, COIN, ON_GRID = "as-is", "coin", "grid"
"""How outcomes in [0, 1] become integers: 0/1 as they are, by a coin of that probability, or on the grid."""
GRID_BITS: Final = 20
GRID: Final = 2**GRID_BITS
"""Outcomes that stay between 0 and 1 are rounded at random to multiples of 1/GRID before central noise is added."""


@dataclass(frozen=True)
class Shuffling:
    """What the shuffled model fixes besides epsilon: with which probability bits are flipped, in groups of whom.

    The promise holds if at least `group` people's answers enter a sum of which at most `colluders` are known to whoever
    would find out about another one: the flip probability is the one for `group - colluders` people.
    """

    delta: Fraction
    flip: Fraction
    group: int = DEFAULT_GROUP
    colluders: int = 0

    @classmethod
    def of(cls, epsilon: Fraction, delta: object, group: int | None, colluders: int | None) -> Shuffling:
        """With the smallest flip probability that keeps the promise."""
        from bestarm.release.shuffle import LARGEST_GROUP, SMALLEST_GROUP, flip_for

        if delta is None:
            raise InputError("The privacy model shuffle needs the chance that its promise fails, --privacy-delta.")
        allowed = PRIVACY_DELTA.exactly(delta)
        people = whole("The smallest group", DEFAULT_GROUP if group is None else group, SMALLEST_GROUP, LARGEST_GROUP)
        known = whole("The number of colluders", colluders or 0, 0, people - SMALLEST_GROUP)
        return cls(allowed, flip_for(people - known, epsilon, allowed), people, known)

    def kept(self, epsilon: Fraction) -> bool:
        """Whether the promise holds, by the exact worst case over what the others have."""
        from bestarm.release.shuffle import worst_delta

        return worst_delta(self.group - self.colluders, float(self.flip), float(epsilon)) <= self.delta

    def to_json(self) -> dict[str, Any]:
        """As plain data: privacy_delta, flip, group, colluders."""
        return {
            "privacy_delta": text_of(self.delta),
            "flip": text_of(self.flip),
            "group": self.group,
            "colluders": self.colluders,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Shuffling:
        """From plain data."""
        return cls(Fraction(data["privacy_delta"]), Fraction(data["flip"]), data["group"], data["colluders"])


@dataclass(frozen=True)
class Privacy:
    """A promise of privacy: the model, and the budget that it may cost a person, exactly; None without privacy."""

    model: str
    budget: Fraction | None = None
    shuffling: Shuffling | None = None
    """Of the shuffled model alone."""

    def __post_init__(self) -> None:
        one_of("The privacy model", self.model, PRIVACY_MODELS)
        rule = BUDGETS[self.model]
        if rule is None:
            if self.budget is not None:
                raise InputError("The privacy model none takes no budget.")
        elif self.budget is None:
            raise InputError(
                f"The privacy model {self.model} needs its budget --{rule.name}, a positive, finite number."
            )
        else:
            object.__setattr__(self, "budget", rule.exactly(self.budget))
        if (self.shuffling is None) != (self.model != "shuffle"):
            raise InputError("The privacy model shuffle, and no other, has a flip probability and a smallest group.")

    @classmethod
    def of(
        cls,
        model: str,
        epsilon: object = None,
        rho: object = None,
        *,
        delta: object = None,
        group: int | None = None,
        colluders: int | None = None,
    ) -> Privacy:
        """The model with its own of the budgets that were given; the others play no part."""
        rule = BUDGETS[one_of("The privacy model", model, PRIVACY_MODELS)]
        given = None if rule is None else {"epsilon": epsilon, "rho": rho}[rule.name]
        if model != "shuffle":
            if group is not None or colluders is not None:
                raise InputError("A smallest group and colluders belong to the privacy model shuffle alone.")
            return cls(model, given)  # type: ignore[arg-type]  # made exact there
        if given is None:
            raise InputError("The privacy model shuffle needs its budget --epsilon, a positive, finite number.")
        budget = EPSILON.exactly(given)
        return cls(model, budget, Shuffling.of(budget, delta, group, colluders))

    @property
    def measure(self) -> str | None:
        """What the budget is called: epsilon, rho; None without privacy."""
        rule = BUDGETS[self.model]
        return None if rule is None else rule.name

    @property
    def epsilon(self) -> Fraction | None:
        """The budget, where it is an epsilon."""
        return self.budget if self.measure == "epsilon" else None

    @property
    def rho(self) -> Fraction | None:
        """The budget, where it is a rho."""
        return self.budget if self.measure == "rho" else None

    def shared(self, outcomes: int) -> Privacy:
        """What one of a person's so many outcomes may cost: k of them cost k times that in pure and in local DP, and
        k^2 times in zCDP."""
        if self.budget is None:
            return self
        return replace(self, budget=self.budget / (outcomes**2 if self.measure == "rho" else outcomes))

    def to_json(self) -> dict[str, Any]:
        """As plain data: privacy, epsilon, rho."""
        numbers = {"epsilon": self.epsilon, "rho": self.rho}
        shuffling = {} if self.shuffling is None else self.shuffling.to_json()
        return {"privacy": self.model} | {k: None if v is None else text_of(v) for k, v in numbers.items()} | shuffling

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Privacy:
        """From plain data."""
        if data["privacy"] == "shuffle":
            return cls("shuffle", _fraction(data["epsilon"]), Shuffling.from_json(data))
        return cls.of(data["privacy"], *(_fraction(data.get(key)) for key in ("epsilon", "rho")))


NO_PRIVACY: Final = Privacy("none")


def law_of(privacy: Privacy, encoding: str) -> Law:
    """The law of releases whose outcomes may cost this much each, and become integers in this way."""
    bits = GRID_BITS if encoding == ON_GRID else 0
    if privacy.budget is None:
        return no_privacy(bits)
    budget = float(privacy.budget)
    if privacy.model == "local":
        return local_law(budget)
    if privacy.shuffling is not None:
        return shuffle_law(budget, float(privacy.shuffling.flip), privacy.shuffling.group)
    return zcdp_law(budget, bits) if privacy.model == "zcdp" else pure_law(budget, bits)


def grid_of(encoding: str) -> int:
    """How many integer steps make one outcome of 1."""
    return GRID if encoding == ON_GRID else 1


def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else kept(text, "The budget")
