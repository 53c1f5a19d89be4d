"""What a plan is asked about: how good the arms may be, by how much the best one leads, and under which design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bestarm.checks import EPSILON, one_of
from bestarm.comparison import labels_with_control
from bestarm.design import DEFAULT_ALGORITHM, NO_PRIVACY, Design, Outcomes, Privacy, resolve, resolve_loaded
from bestarm.errors import InputError
from bestarm.exact import exact
from bestarm.instance import Instance
from bestarm.planning.laws import laws_of, unit_mean
from bestarm.simulation import Life
from bestarm.theory import lower_bound
from bestarm.theory.inputs import checked_means, checked_unique_best

WEAKEST_PRIVACY = 100.0
"""A budget at which noise has vanished: a release differs from the true sum with probability below 1e-40. It stands for
no privacy with algorithms that offer nothing else."""


@dataclass(frozen=True)
class Question:
    """The hoped-for laws of the arms' outcomes, in their own order, the design to be planned, and the life it will
    meet. Equal questions have equal answers.

    The gap can be changed; the rivals then stay and the best moves. So can the privacy budget and the difference.
    """

    instance: Instance
    design: Design
    epsilon: float
    """The budget asked about; it plays no part in a design without privacy."""
    runs: int = 200
    seed: int = 0
    participants: int | None = None
    life: Life = field(default_factory=Life)
    scenarios: bool = False
    """Whether operating characteristics are asked for."""

    @classmethod
    def ask(
        cls,
        means: Sequence[float] | None = None,
        *,
        epsilon: float,
        delta: object = 0.01,
        arms: int | None = None,
        gap: float | None = None,
        base: float | None = None,
        algorithm: str = DEFAULT_ALGORITHM,
        difference: object = None,
        control: str | int | None = None,
        delta_none: object = None,
        runs: int = 200,
        seed: int = 0,
        participants: int | None = None,
        max_participants: int | None = None,
        hard_end: bool = False,
        rates: Sequence[object] | None = None,
        enrol: float | None = None,
        arrivals: str = "constant",
        ramp: str | int | None = None,
        follow_up: str | int | None = None,
        missing: float | Sequence[float] | None = None,
        withdrawal: str | None = None,
        trend: str | None = None,
        outcomes: str = "binary",
        low: object = 0,
        high: object = 1,
        lower_is_better: bool = False,
        what: str | None = None,
        law: str | None = None,
        sd: float | Sequence[float] | None = None,
        values: Sequence[Sequence[float]] | None = None,
        labels: Sequence[str] | None = None,
        scenarios: bool = False,
    ) -> Question:
        """From the means themselves, or from a number of arms that tie at `base` but for one that leads by `gap`, by
        default by the smallest difference that matters. All in the outcome's own units.

        Ties below the best are the hardest case for a given gap, and without a base the arms straddle the middle of
        the scale, where outcomes vary most: what is planned so is enough for all other means with that gap.

        `control` is the arm that the others are compared with, by label or number; any other name is given to the first
        arm. The gap is then the best arm's lead over control: by default the difference, and with a negative one, the
        margin of non-inferiority, 0.
        """
        epsilon = EPSILON.plainly(epsilon)
        one_of("The kind of outcomes", outcomes, ("unit", "binary"))
        scale = Outcomes(low, high, outcomes == "binary", bool(lower_is_better))  # type: ignore[arg-type]
        names, against = labels_with_control(labels, _count(means, arms, values, labels), control)
        place = None if against is None else names.index(against) if against in names else 0
        hoped = _hoped(scale, means, arms, gap, base, difference, values, place)
        chosen = resolve_loaded(algorithm)  # a plan may be asked for over the network
        instance = Instance(laws_of(scale, hoped, law, sd, values))
        if against is None:
            checked_unique_best(instance.means)
        planned = None
        if chosen.needs_base and difference is not None:
            planned = _planned_base(scale, instance, float(exact(difference, "The difference")))
        design = Design.make(
            arms=names if labels is not None or against is not None else instance.arms,
            delta=delta,
            epsilon=epsilon,
            algorithm=algorithm,
            outcomes=outcomes,
            low=low,
            high=high,
            lower_is_better=lower_is_better,
            what=what,
            difference=difference,
            control=against,
            delta_none=delta_none,
            base=planned,
            max_participants=max_participants,
            hard_end=hard_end,
            rates=rates,
            follow_up=follow_up,
            withdrawal=withdrawal,
        )
        life = Life.of(instance.arms, enrol=enrol, arrivals=arrivals, ramp=ramp, missing=missing, trend=trend)
        if design.follow_up is not None and life.enrol is None:
            raise InputError("What a follow-up costs depends on how many people come in meanwhile; give --enrol.")
        if hard_end and participants is not None:
            raise InputError(
                "With a hard end the design itself says how many people it takes; leave --participants out."
            )
        if runs < 2:
            raise InputError(f"{runs} runs asked for, but a standard error needs at least 2.")
        if participants is not None and participants < instance.arms:
            raise InputError(
                f"{participants} participants cannot try {instance.arms} arms; give at least one for every arm."
            )
        return cls(instance, design, epsilon, runs, seed, participants, life, scenarios)

    @property
    def means(self) -> tuple[float, ...]:
        """On the scale from 0 to 1, larger being better."""
        return self.instance.means

    @property
    def difference(self) -> float:
        """The smallest difference that matters, on the scale from 0 to 1."""
        return float(self.design.difference / self.design.outcomes.width)

    @property
    def control(self) -> int | None:
        """The arm that the others are compared with; None where the best is looked for."""
        return None if self.design.control is None else self.design.arms.index(self.design.control)

    @property
    def best(self) -> int:
        """The best arm, control apart."""
        return max((arm for arm in range(len(self.means)) if arm != self.control), key=lambda arm: self.means[arm])

    @property
    def runner_up(self) -> float:
        """The second-best mean, or that of control: what the best arm's lead is over."""
        if self.control is not None:
            return self.means[self.control]
        return max(mean for arm, mean in enumerate(self.means) if arm != self.best)

    @property
    def gap(self) -> float:
        """The best arm's lead over the second best, or over control, on the scale from 0 to 1."""
        return _tidy(self.means[self.best] - self.runner_up)

    @property
    def margin(self) -> float:
        """How far the lead is from what would make the answer wrong: the lead itself, or with a margin of
        non-inferiority what is left of it."""
        return _tidy(self.gap - min(self.difference, 0.0))

    @property
    def widest_gap(self) -> float:
        """The largest lead the best arm could have over these rivals."""
        return _tidy(1.0 - self.runner_up)

    @property
    def private(self) -> bool:
        """Whether epsilon matters."""
        return self.design.privacy != NO_PRIVACY

    @property
    def takes_difference(self) -> bool:
        """Whether the algorithm can be told the smallest difference that matters."""
        return resolve(self.design.identity).supports_indifference

    def warnings(self) -> list[str]:
        """What is allowed, but odd enough to be said before anything is simulated or frozen."""
        said = self.design.warnings()
        if self.control is not None:
            return said + self._odd_against_control()
        if self.difference > 0 and self.difference > 2 * self.gap:
            own = self.design.outcomes.gap_in_units
            said.append(
                f"The smallest difference that matters, {own(self.difference):g}, is more than twice the hoped-for "
                f"gap, {own(self.gap):g}: every arm may then be good enough, and the answer may be any of them."
            )
        return said

    def _odd_against_control(self) -> list[str]:
        own, low, high = self.design.outcomes.gap_in_units, min(self.difference, 0.0), max(self.difference, 0.0)
        if self.gap <= low:
            return [f"The best arm's hoped-for lead over control is {own(self.gap):g}: the right answer is then none."]
        if self.gap < high:
            return [
                f"The best arm's hoped-for lead over control is {own(self.gap):g}, less than the difference that "
                f"matters, {own(high):g}: such a trial may end either way, and takes the most participants."
            ]
        return []

    def lower_bound(self) -> float | None:
        """What no method can do with less of: `theory.lower_bound`; unknown for outcomes other than yes and no."""
        if not self.instance.binary:
            return None
        return lower_bound(self.means, self.design.privacy, float(self.design.delta), self.difference)

    def with_means(self, means: Sequence[float]) -> Question:
        """Other means, on the scale from 0 to 1, of laws of the same kinds."""
        return replace(self, instance=self.instance.with_means(means))

    def with_gap(self, gap: float) -> Question:
        """The same rivals, with a best arm that leads by `gap`, on the scale from 0 to 1."""
        means = list(self.means)
        means[self.best] = _tidy(min(max(self.runner_up + gap, 0.0), 1.0))
        return self.with_means(means)

    def with_difference(self, difference: float) -> Question:
        """Another smallest difference that matters, on the scale from 0 to 1; 0 for none."""
        own = exact(f"{self.design.outcomes.gap_in_units(difference):.12g}", "The difference")
        return replace(self, design=self.design.with_difference(own))

    def with_epsilon(self, epsilon: float) -> Question:
        """The same design with another privacy budget, where it has one."""
        privacy = Privacy.of(self.design.privacy.model, epsilon)
        return replace(self, epsilon=epsilon, design=self.design.with_privacy(privacy))

    def without_privacy(self) -> Question:
        """The same design without privacy."""
        if not self.private or "none" in resolve(self.design.identity).privacy:
            return replace(self, design=self.design.with_privacy(NO_PRIVACY))
        return self.with_epsilon(WEAKEST_PRIVACY)

    def within(self, participants: int) -> Question:
        """The same design, ended undecided after so many people."""
        return replace(self, design=replace(self.design, max_participants=participants))


def _count(
    means: Sequence[float] | None,
    arms: int | None,
    values: Sequence[Sequence[float]] | None,
    labels: Sequence[str] | None,
) -> int:
    """How many arms are asked about, as far as can be told before they are checked."""
    if means is not None:
        return len(means)
    return arms if arms is not None else len(labels or values or ())


def _hoped(
    scale: Outcomes,
    means: Sequence[float] | None,
    arms: int | None,
    gap: float | None,
    base: float | None,
    difference: object,
    values: Sequence[Sequence[float]] | None,
    control: int | None = None,
) -> tuple[float, ...] | None:
    """The hoped-for means on the scale from 0 to 1; None if they are those of measured values."""
    checked = checked_unique_best if control is None else checked_means
    if means is not None:
        if not (arms is gap is base is None):
            raise InputError("Give either the means, or the number of arms and the gap, and not both.")
        if values is not None and len(values) > 1:
            raise InputError("These values have a law for every arm, and so means of their own; leave --means out.")
        return tuple(checked([unit_mean(scale, mean) for mean in means]).tolist())
    if values is not None and len(values) > 1:
        if not (arms is gap is base is None):
            raise InputError("These values have a law for every arm; leave --arms, --gap and --base out.")
        return None
    stated = gap is None and difference is not None
    if stated:
        gap = float(exact(difference, "The difference"))
        gap = gap if control is None else max(gap, 0.0)
    if arms is None or gap is None:
        raise InputError(
            "Give the means, or the number of arms together with the gap or the smallest difference that matters "
            "(and, if known, a base rate)."
        )
    if arms < 2:
        given = "1 arm" if arms == 1 else f"{arms} arms"
        raise InputError(f"{given} given, but finding the best one needs at least two.")
    width = float(scale.width)
    lead = gap / width
    if not (0.0 < lead <= 1.0 or (control is not None and -1.0 <= lead <= 0.0)):
        name = "difference" if stated else "gap"
        raise InputError(f"The {name} is {gap:g}, but it must be above 0 and at most {width:g}.")
    start = (1.0 - lead) / 2.0
    if base is not None:
        start = unit_mean(scale, base)
    elif values is not None:
        pilot = values[0]
        start = sum(unit_mean(scale, value) for value in pilot) / len(pilot)
    if not (0.0 <= start and 0.0 <= start + lead <= 1.0 + 1e-12):
        raise InputError(
            f"A base rate of {scale.mean_in_units(start):g} and a gap of {gap:g} are impossible together: "
            f"both rates, with and without the gap, must lie between {scale.bounds(' and ')}."
        )
    hoped = [_tidy(start)] * arms
    hoped[1 if control == 0 else 0] = _tidy(min(start + lead, 1.0))
    return tuple(checked(hoped).tolist())


def _planned_base(scale: Outcomes, instance: Instance, difference: float) -> float:
    """The base rate that the fixed design is planned with: the second best mean, or what leaves room for the gap."""
    second = sorted(instance.means)[-2]
    return scale.mean_in_units(max(0.0, min(second, 1.0 - difference / float(scale.width))))


def _tidy(value: float) -> float:
    """Twelve digits: 0.3 + 0.15 is meant to be 0.45."""
    return float(f"{value:.12g}")
