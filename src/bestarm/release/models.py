"""The privacy models by name: the one place that turns a promise of privacy into the law of what is released.

Whoever needs to know the model (the simulator, the door of a live trial, the evidence, intervals, the ledger) asks the
law. "No privacy" is `NO_PRIVACY`: the model none, without a budget; its law has no noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, get_args

from bestarm.checks import EPSILON, RHO, Requirement, one_of
from bestarm.errors import InputError
from bestarm.exact import kept, text_of
from bestarm.release.laws import Law, local_law, no_privacy, pure_law, zcdp_law

Model: TypeAlias = Literal["pure", "none", "local", "zcdp"]
PRIVACY_MODELS: Final[tuple[str, ...]] = get_args(Model)
BUDGETS: Final[dict[str, Requirement | None]] = {"pure": EPSILON, "none": None, "local": EPSILON, "zcdp": RHO}
"""What measures each model's budget."""

AS_IS, COIN, ON_GRID = "as-is", "coin", "grid"
"""How outcomes in [0, 1] become integers: 0/1 as they are, by a coin of that probability, or on the grid."""
GRID_BITS: Final = 20
GRID: Final = 2**GRID_BITS
"""Outcomes that stay between 0 and 1 are rounded at random to multiples of 1/GRID before central noise is added."""


@dataclass(frozen=True)
class Privacy:
    """A promise of privacy: the model, and the budget that it may cost a person, exactly; None without privacy."""

    model: str
    budget: Fraction | None = None

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

    @classmethod
    def of(cls, model: str, epsilon: object = None, rho: object = None) -> Privacy:
        """The model with its own of the budgets that were given; the others play no part."""
        rule = BUDGETS[one_of("The privacy model", model, PRIVACY_MODELS)]
        given = None if rule is None else {"epsilon": epsilon, "rho": rho}[rule.name]
        return cls(model, given)  # type: ignore[arg-type]  # made exact there

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
        return {"privacy": self.model} | {k: None if v is None else text_of(v) for k, v in numbers.items()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Privacy:
        """From plain data."""
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
    return zcdp_law(budget, bits) if privacy.model == "zcdp" else pure_law(budget, bits)


def grid_of(encoding: str) -> int:
    """How many integer steps make one outcome of 1."""
    return GRID if encoding == ON_GRID else 1


def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else kept(text, "The budget")
