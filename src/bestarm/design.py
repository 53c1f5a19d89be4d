"""The design: everything that is fixed before the first person, exactly. Simulations, plans and trials all read this.

It is public, and says what is promised (privacy, risk), by which algorithm, of which outcomes, and what happens to
people who drop out. Nothing in it can be changed later.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from bestarm.checks import BETA, DELTA, EXPONENT, one_of
from bestarm.codes import AS_TYPED, FOLDED
from bestarm.comparison import NONE, Comparison, comparison_of, difference_rule, risk_of_none
from bestarm.design_checks import check_design
from bestarm.design_fit import check_fit, check_hard_end, odd_about
from bestarm.durations import duration, in_largest_unit
from bestarm.ending import Ending, checked_rates, plan_ending, sound
from bestarm.errors import InputError
from bestarm.exact import exact, kept, text_of
from bestarm.naming import resolve, resolve_loaded, unversioned
from bestarm.outcomes import Outcomes
from bestarm.policy.algorithm import Algorithm
from bestarm.policy.numbers import Numbers
from bestarm.release.distributed import CENTRAL, DISTRIBUTED, WHO_ADDS_NOISE
from bestarm.release.laws import Law, randomised
from bestarm.release.models import AS_IS, COIN, NO_PRIVACY, ON_GRID, PRIVACY_MODELS, Privacy, grid_of, law_of

DEFAULT_ALGORITHM: Final = "evidence"

IMPUTED: Final = "The imputed outcome"


@dataclass(frozen=True)
class Design:
    """The frozen parameters of a trial, simulated or real. `make` builds one from what people write."""

    arms: tuple[str, ...]
    delta: Fraction
    """The risk of a wrong recommendation."""
    privacy: Privacy
    """What one person's part in the trial may cost in all."""
    outcomes: Outcomes
    algorithm: str
    revision: int
    encoding: str
    """How outcomes become integers: "as-is", "coin" or "grid"; it follows from algorithm, privacy and outcomes."""
    withdrawal: str
    """"impute:X" (in the outcome's own units), "against" (the finding) or "replace"."""
    difference: Fraction = Fraction(0)
    """The smallest difference between two arms that matters, in the outcome's own units; 0 if any does. Against control
    it may be negative: the margin of non-inferiority."""
    control: str | None = None
    """The arm that the others are compared with; None if the best of all is looked for."""
    delta_none: Fraction | None = None
    """The risk to answer "none" although an arm is better than control by the difference; only with control."""
    base: Fraction | None = None
    """The planned mean of all arms but the best, in the outcome's own units; only the fixed design has one."""
    max_participants: int | None = None
    follow_up: int | None = None
    """Seconds from an assignment until its outcome is due; None if an outcome counts whenever it comes."""
    contributions: int = 1
    """How many assignments one person may hold; the budget is shared among them."""
    allocation: str = "random"
    """"random" or "fixed": how the next person is assigned when several arms recruit."""
    beta: Fraction = Fraction(1, 2)
    """The leader's share in the paper's Top Two sampling."""
    s: Fraction = Fraction(2)
    """The exponent of the paper's thresholds."""
    hard_end: Ending | None = None
    """The stages and lines with which the trial always ends, and what its promise then rests on; None without."""
    codes: str = FOLDED
    """When two ways of writing a participant's code mean the same person: see `bestarm.codes`."""
    distributed: bool = False
    """Whether everybody adds a part of the noise before sending and two servers hold halves, so that no store is ever
    told an outcome (`bestarm.distributed`); else the store adds it to sums."""

    def __post_init__(self) -> None:
        check_design(self)

    @classmethod
    def make(
        cls,
        *,
        arms: Sequence[str] | int,
        delta: object,
        epsilon: object = None,
        rho: object = None,
        privacy: str | None = None,
        privacy_delta: object = None,
        group: int | None = None,
        colluders: int | None = None,
        algorithm: str | Algorithm = DEFAULT_ALGORITHM,
        outcomes: str = "unit",
        low: object = 0,
        high: object = 1,
        lower_is_better: bool = False,
        what: str | None = None,
        difference: object = None,
        indifference: object = None,
        control: str | None = None,
        delta_none: object = None,
        base: object = None,
        max_participants: int | None = None,
        hard_end: bool = False,
        rates: Sequence[object] | None = None,
        follow_up: str | int | None = None,
        withdrawal: str | None = None,
        contributions: int = 1,
        allocation: str = "random",
        beta: object = "0.5",
        s: object = 2,
        distributed: bool = False,
    ) -> Design:
        """The design that people mean by these words and numbers; raises InputError for the first that cannot be.

        `arms` are labels, or how many there are; `indifference` is another name for `difference`; numbers are kept as
        written, whether they come as text, as integers or in floating point. With `hard_end` the trial always ends with
        a recommendation, by `max_participants` or by as many as it takes; `rates` are the lowest and the highest mean
        that any arm may ever have, in the outcome's own units, if the promise may rest on that.
        """
        rules = resolve(algorithm)
        model = privacy or rules.privacy[0]
        one_of("The kind of outcomes", outcomes, ("unit", "binary"))
        scale = Outcomes(low, high, outcomes == "binary", bool(lower_is_better), what)  # type: ignore[arg-type]
        if difference is not None and indifference is not None:
            raise InputError("The indifference is another name for the difference; give one of the two.")
        seconds = None if follow_up is None else duration(follow_up)
        promise = Privacy.of(model, epsilon, rho, delta=privacy_delta, group=group, colluders=colluders)
        band = checked_rates(rates, scale)
        if band is not None and not hard_end:
            raise InputError("A band for the rates is what a hard end may rest on; leave it out, or add --hard-end.")
        design = cls(
            arms=_labels(arms),
            delta=DELTA.exactly(delta),
            privacy=promise,
            outcomes=scale,
            algorithm=unversioned(algorithm) if isinstance(algorithm, str) else rules.name,
            revision=rules.revision,
            encoding=_encoding(rules, promise, scale, hard_end or distributed),
            difference=difference_rule(scale, control).exactly(indifference or 0 if difference is None else difference),
            control=control,
            delta_none=risk_of_none(delta, delta_none, control),
            base=None if base is None else exact(base, "The base rate"),
            max_participants=max_participants,
            follow_up=seconds,
            withdrawal=_withdrawal(withdrawal, scale),
            contributions=contributions,
            allocation=allocation,
            beta=BETA.exactly(beta),
            s=EXPONENT.exactly(s),
            distributed=bool(distributed),
        )
        design.check(rules)
        return design._ending(rules, band, max_participants) if hard_end else design

    def _ending(self, rules: Algorithm, rates: tuple[Fraction, Fraction] | None, most: int | None) -> Design:
        """The same design with a hard end, by so many participants or by as many as it takes."""
        check_hard_end(self, rules)
        zone, delta = float(self.difference / self.outcomes.width), float(self.delta)
        ending = plan_ending(len(self.arms), zone, delta, self.law, self.outcomes, rates, most)
        return replace(self, hard_end=ending, max_participants=ending.people)

    def check(self, algorithm: Algorithm) -> None:
        """Refuse a design that this algorithm cannot keep its promise for."""
        check_fit(self, algorithm)

    @property
    def sound(self) -> bool:
        """Whether a hard end's stages and lines, if there are any, keep the promise; computed anew, which takes a while
        with a band for the rates."""
        ending = self.hard_end
        zone, delta = float(self.difference / self.outcomes.width), float(self.delta)
        return ending is None or sound(ending, len(self.arms), zone, delta, self.law, self.outcomes)

    def with_privacy(self, privacy: Privacy) -> Design:
        """The same design with another promise of privacy."""
        bits = self.hard_end is not None or self.distributed
        return self._changed(privacy=privacy, encoding=_encoding(resolve(self.identity), privacy, self.outcomes, bits))

    def with_difference(self, difference: Fraction) -> Design:
        """The same design with another smallest difference that matters; without one there is no hard end either."""
        return self._changed(difference=difference)

    def _changed(self, **changes: Any) -> Design:
        # A hard end is planned anew, by as many participants as it takes.
        rules, ending = resolve(self.identity), self.hard_end
        most = self.max_participants if ending is None else None
        changed = replace(self, **{"hard_end": None, "max_participants": most} | changes)
        changed.check(rules)
        return changed if ending is None or changed.difference == 0 else changed._ending(rules, ending.rates, None)

    @property
    def identity(self) -> str:
        """The algorithm with its revision, as in evidence@1."""
        return f"{self.algorithm}@{self.revision}"

    @cached_property
    def law(self) -> Law:
        """The law of the trial's releases."""
        return law_of(self.per_outcome, self.encoding)

    @property
    def per_outcome(self) -> Privacy:
        """What one outcome may cost."""
        return self.privacy.shared(self.contributions)

    @cached_property
    def coins_apart(self) -> bool:
        """Whether people's own coins are what protects them, so that the coins' key is kept apart from the store."""
        return randomised(self.law)

    @property
    def grid(self) -> int:
        """Integer steps in one outcome of 1."""
        return grid_of(self.encoding)

    @property
    def replaces(self) -> bool:
        """Whether somebody else takes the place of whoever withdraws."""
        return self.withdrawal == "replace"

    @property
    def against(self) -> bool:
        """Whether missing outcomes count against the finding, so that nothing is assumed of who goes missing."""
        return self.withdrawal == "against"

    def imputed(self, on_champion: bool) -> Fraction | None:
        """What counts for a missing outcome in [0, 1], on a stage's champion or on one of its rivals: one value for
        each arm of a stage, fixed when the stage opens. None if people are replaced."""
        if self.against:
            return Fraction(0 if on_champion else 1)
        rule, _, value = self.withdrawal.partition(":")
        return self.outcomes.between(kept(value, IMPUTED), IMPUTED) if rule == "impute" else None

    @property
    def comparison(self) -> Comparison | None:
        """What is asked of the arms against control, in words; None where the best arm is looked for."""
        return comparison_of(self)

    def answer(self, arm: int) -> str:
        """The verdict's word for an arm: its label, or "none" for control, which stays when no arm is better."""
        return NONE if self.arms[arm] == self.control else self.arms[arm]

    def claim(self, arm: int) -> str:
        """What is claimed when a comparison with control ends with an arm, as a sentence; nothing in other designs."""
        asked = self.comparison
        if asked is None:
            return ""
        said = asked.none if self.arms[arm] == asked.control else asked.better(self.arms[arm])
        return f"{said[0].upper()}{said[1:]}."

    def numbers(self) -> Numbers:
        """The design as the policy reads it: numbers in floating point, the difference on the scale from 0 to 1."""
        return Numbers(
            arms=len(self.arms),
            delta=float(self.delta),
            law=self.law,
            difference=float(self.difference / self.outcomes.width),
            base=math.nan if self.base is None else float(self.outcomes.between(self.base, "The base rate")),
            beta=float(self.beta),
            s=float(self.s),
            against=self.against,
            control=-1 if self.control is None else self.arms.index(self.control),
            delta_none=math.nan if self.delta_none is None else float(self.delta_none),
            ladder=None if self.hard_end is None else self.hard_end.ladder(),
        )

    def warnings(self) -> list[str]:
        """What is allowed, but odd enough to be said before anybody is enrolled."""
        return odd_about(self)

    def in_words(self) -> list[tuple[str, str]]:
        """Every parameter that is set, with its value, for people to read."""
        usual = {"beta": "0.5", "s": "2", "codes": FOLDED}
        rows = []
        for key, value in self.to_json().items():
            if key == "hard_end" and self.hard_end is not None:
                rows += self.hard_end.in_words()
            elif value is not None and value != usual.get(key):
                shown = ", ".join(value) if isinstance(value, list) else str(value)
                rows.append((key.replace("_", " "), in_largest_unit(int(value)) if key == "follow_up" else shown))
        return rows

    def to_json(self) -> dict[str, Any]:
        """As plain data, every number as exact text."""
        return {
            "arms": list(self.arms),
            **self.privacy.to_json(),
            "delta": text_of(self.delta),
            "algorithm": self.identity,
            **self.outcomes.to_json(),
            "difference": text_of(self.difference),
            "max_participants": self.max_participants,
            "follow_up": self.follow_up,
            "withdrawal": self.withdrawal,
            "contributions": self.contributions,
            "allocation": self.allocation,
            "encoding": self.encoding,
            "beta": text_of(self.beta),
            "s": text_of(self.s),
            "codes": self.codes,
            **({} if self.base is None else {"base": text_of(self.base)}),
            **({} if self.delta_none is None else {"control": self.control, "delta_none": text_of(self.delta_none)}),
            **({} if self.hard_end is None else {"hard_end": self.hard_end.to_json()}),
            **({"noise": DISTRIBUTED} if self.distributed else {}),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Design:
        """From plain data, also as version 0.1.0 wrote it: with no revision, and an indifference from 0 to 1."""
        try:
            outcomes = Outcomes.from_json(data)
            name, _, revision = str(data["algorithm"]).partition("@")
            old_difference = kept(data.get("indifference", 0), "indifference") * outcomes.width
            return cls(
                arms=tuple(data["arms"]),
                delta=kept(data["delta"], "delta"),
                privacy=Privacy.from_json(data),
                outcomes=outcomes,
                algorithm=name,
                revision=_revision(revision),
                encoding=data["encoding"],
                difference=kept(data["difference"], "difference") if "difference" in data else old_difference,
                control=data.get("control"),
                delta_none=kept(data["delta_none"], "delta_none") if "delta_none" in data else None,
                base=kept(data["base"], "base") if "base" in data else None,
                max_participants=data["max_participants"],
                follow_up=data["follow_up"],
                withdrawal=data["withdrawal"],
                contributions=data["contributions"],
                allocation=data["allocation"],
                beta=kept(data.get("beta", "1/2"), "beta"),
                s=kept(data.get("s", 2), "s"),
                hard_end=Ending.from_json(data["hard_end"]) if "hard_end" in data else None,
                codes=data.get("codes", AS_TYPED),
                distributed=one_of("Who adds the noise", data.get("noise", CENTRAL), WHO_ADDS_NOISE) == DISTRIBUTED,
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"This is not a design of bestarm: {error}.") from error


def _revision(text: str) -> int:
    if not re.fullmatch(r"[0-9]{0,9}", text):
        raise InputError("An algorithm's revision is a whole number.")
    return int(text or 1)


def _encoding(rules: Algorithm, privacy: Privacy, outcomes: Outcomes, bits: bool) -> str:
    # Proofs for continuous noise are kept on the fine grid; integer noise takes 0/1 outcomes as they are. A hard end
    # counts steps of a walk and distributed noise counts bits, so other outcomes become 0 or 1 by a coin.
    if privacy.model in ("local", "shuffle") or bits or (rules.noise == "discrete" and rules.binarises):
        return AS_IS if outcomes.binary else COIN
    return AS_IS if rules.noise == "discrete" and outcomes.binary else ON_GRID


def _labels(arms: Sequence[str] | int) -> tuple[str, ...]:
    if isinstance(arms, str):
        raise InputError("The arms have to be a list of labels, not one text.")
    return tuple(str(arm).strip() for arm in (range(arms) if isinstance(arms, int) else arms))


def _withdrawal(rule: str | None, outcomes: Outcomes) -> str:
    if rule is None:
        return f"impute:{text_of(outcomes.worst)}"
    kind, colon, value = rule.partition(":")
    return f"impute:{text_of(exact(value, 'The imputed outcome'))}" if kind == "impute" and colon else rule


__all__ = [
    "DEFAULT_ALGORITHM",
    "NO_PRIVACY",
    "PRIVACY_MODELS",
    "Design",
    "Outcomes",
    "Privacy",
    "resolve",
    "resolve_loaded",
]
