"""How many people a trial needs, and what privacy costs, before it starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bestarm.design import DEFAULT_ALGORITHM, Outcomes, resolve_loaded
from bestarm.planning.beside import Alternative, alternatives, fixed_designs
from bestarm.planning.costs import CLOSER_LOOK, Simulator
from bestarm.planning.inverse import (
    USUAL_DESIGNS,
    chance_of_verdict,
    smallest_difference,
    smallest_epsilon,
    smallest_gap,
)
from bestarm.planning.operating import SCENARIOS, OperatingCharacteristics, characteristics_of
from bestarm.planning.question import Question
from bestarm.simulation import DEFAULT_MAX_SAMPLES, Summary, one_cap
from bestarm.theory import Regime, bounds

LADDER = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""The privacy budgets of the cost-of-privacy curve; the trial's own budget joins them."""

GAP_FACTORS = (1.0, 0.75, 0.5)
FREE_WITHIN = 0.1
"""Privacy counts as free where it adds at most this share of participants."""


@dataclass(frozen=True)
class PrivacyCost:
    """One point of the cost-of-privacy curve."""

    epsilon: float
    expected_samples: float
    standard_error: float
    p90_samples: float
    lower_bound_refined: float | None
    undecided: int
    expected_days: float | None
    p90_days: float | None
    regime: Regime | None


@dataclass(frozen=True)
class GapCost:
    """What if the gap is this?"""

    gap: float
    expected_samples: float
    standard_error: float
    p90_samples: float
    lower_bound_refined: float | None
    undecided: int
    expected_days: float | None
    p90_days: float | None


@dataclass(frozen=True)
class Plan:
    """A design's cost by simulation, next to what any design must cost; every number of people is a mean or a 90 %
    quantile over `runs` simulated trials, with undecided ones counted at `max_samples`.

    Means, gaps and differences are in the outcome's own units.
    """

    algorithm: str
    privacy: str
    """The privacy model."""
    means: tuple[float, ...]
    unit_means: tuple[float, ...]
    """The means on the scale from 0 to 1, larger being better."""
    gap: float
    epsilon: float
    delta: float
    difference: float
    control: str | None
    """The arm that the others are compared with; None where the best is looked for."""
    delta_none: float | None
    runs: int
    seed: int
    max_samples: int
    hard_end: int | None
    """By so many participants the trial always ends with a recommendation; None if it may end without."""
    expected_samples: float
    standard_error: float
    p90_samples: float
    expected_days: float | None
    """Until the trial ends; None if nobody looks at a calendar."""
    p90_days: float | None
    per_arm: tuple[float, ...]
    releases: float
    outstanding: float
    """People whose outcome was not used when the trial ended."""
    error_rate: float
    within_difference: float
    """Share of trials that recommend the best arm, or one within the difference of it."""
    none: float | None
    """Share of trials that find no arm better than control; None where the best arm is looked for."""
    undecided: int
    lower_bound_refined: float | None
    fixed_samples: int | None
    """People of the fixed design with the same promise; None without a difference."""
    fixed_samples_nonprivate: int | None
    """The same without any privacy."""
    alternatives: tuple[Alternative, ...]
    """Designs with the same promise to show beside this one; none without a difference."""
    regime: Regime | None
    regime_epsilon: float | None
    """Of the paper's two regimes, which are about the best arm; None in a comparison with control."""
    by_epsilon: tuple[PrivacyCost, ...]
    without_privacy: float
    """Expected participants of the same algorithm when privacy costs nothing."""
    free_epsilon: float | None
    """The smallest budget of the curve from which on privacy is free; None if it is not, or if there is none."""
    with_difference: float | None
    """Without a difference: expected participants if the hoped-for gap were stated as the one that matters."""
    without_difference: float | None
    """With a difference: expected participants if none were stated."""
    sensitivity: tuple[GapCost, ...]
    """The same trial if the best arm leads by less than hoped; its rivals stay as they are."""
    participants: int | None
    smallest_epsilon: float | None
    """The strongest privacy that `participants` afford; None if they are too few at any, or were not given."""
    smallest_gap: float | None
    """The smallest gap that `participants` resolve at `epsilon`; None if they resolve none, or were not given."""
    smallest_difference: float | None
    """The smallest difference that may be stated with `participants`; None if there is none, or they were not given."""
    chance_of_verdict: float | None
    """The share of trials that end within `participants`, as hoped."""
    life: dict[str, Any]
    """How people come in and what becomes of them, where it is not as by default."""
    design: dict[str, Any]
    """The design that was planned, as exact text."""
    scenarios: OperatingCharacteristics | None
    """The operating characteristics, if they were asked for."""
    warnings: tuple[str, ...]
    """What is allowed, but odd enough to be thought over before anything is frozen."""

    @property
    def private(self) -> bool:
        """Whether epsilon matters."""
        return self.privacy != "none"

    @property
    def outcomes(self) -> Outcomes:
        """The outcome's scale."""
        return Outcomes.from_json(self.design)

    def protocol(self, path: str | Path) -> None:
        """Write a statistical analysis plan of the design: .md, .html, or .docx."""
        from bestarm.planning.protocol_files import write_protocol

        write_protocol(self, path)

    def plot(self) -> Any:
        """A matplotlib figure: what privacy costs."""
        from bestarm.planning.figure import figure_of

        return figure_of(self)

    def __str__(self) -> str:
        from bestarm.planning.words import in_words

        return "\n\n".join(in_words(self))

    def _repr_html_(self) -> str:
        from bestarm.planning.words import in_html

        return in_html(self)

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("by_epsilon", "sensitivity", "alternatives"):
            plain[name] = tuple(asdict(row) for row in plain[name])
        plain["scenarios"] = None if self.scenarios is None else self.scenarios.to_json()
        return plain


def plan(
    means: Sequence[float] | None = None,
    *,
    epsilon: float,
    delta: float = 0.01,
    difference: object = None,
    arms: int | None = None,
    gap: float | None = None,
    base: float | None = None,
    algorithm: str = DEFAULT_ALGORITHM,
    runs: int = 200,
    seed: int = 0,
    participants: int | None = None,
    jobs: int = 1,
    max_participants: int | None = None,
    max_samples: int | None = None,
    scenarios: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **more: Any,
) -> Plan:
    """Plan a trial from the arms' hoped-for `means`, or from (`arms`, `gap`, `base`): see `Question.ask`.

    With `control` the others are compared with that arm, for which the difference may be negative (non-inferiority);
    `delta_none` is the risk to find none although an arm is better by the difference: see `Question.ask`.

    The first question is the smallest `difference` that matters: the recommended arm is then within it of the best,
    except with probability delta. With `participants`, also what so many people afford: the strongest privacy, the
    smallest gap and the smallest difference (90 % of simulated trials end within them, found to about 5 %), and the
    chance of a verdict. With `scenarios`, the design's operating characteristics. The same seed gives the same plan.

    More options: `enrol`, `arrivals`, `ramp`, `follow_up`, `missing`, `withdrawal` and `trend` as in `simulate`;
    `hard_end` for a trial that always ends, with `rates` for a band that its arms' means never leave;
    `outcomes="unit"` with `low`, `high` and `lower_is_better` for outcomes on a scale, whose laws come as measured
    `values` (one list an arm, or one pilot) or as `law` ("beta" or "normal") with `sd`. Everything is in the outcome's
    own units.
    """
    question = Question.ask(
        means,
        epsilon=epsilon,
        delta=delta,
        arms=arms,
        gap=gap,
        base=base,
        algorithm=algorithm,
        difference=difference,
        runs=runs,
        seed=seed,
        participants=participants,
        max_participants=one_cap(max_participants, max_samples),
        scenarios=scenarios,
        **more,
    )
    return answer(question, jobs=jobs, progress=progress)


def answer(question: Question, *, jobs: int = 1, progress: Callable[[int, int], None] | None = None) -> Plan:
    """The plan that answers a question."""
    design, epsilon, participants = question.design, question.epsilon, question.participants
    budgets = sorted({*LADDER, epsilon})
    designs = len(budgets) + CLOSER_LOOK + len(GAP_FACTORS) + (3 * USUAL_DESIGNS if participants else 0)
    designs += len(SCENARIOS) if question.scenarios else 0
    simulator = Simulator(jobs, progress, question.runs * designs)
    delta = float(design.delta)
    theory = bounds(question.means, epsilon, delta) if question.control is None else None
    turn = None if theory is None else theory.regime_epsilon
    own = simulator.cost(question)
    curve = tuple(_privacy_cost(simulator, question.with_epsilon(x), turn) for x in budgets)
    without = simulator.without_privacy(question)
    sensitivity = tuple(_gap_cost(simulator, _nearer(question, f)) for f in GAP_FACTORS)
    with_difference, without_difference = _price_of_silence(simulator, question)
    afforded = _afforded(simulator, question)
    characteristics = characteristics_of(question, simulator) if question.scenarios else None
    simulator.finish()
    fixed, fixed_nonprivate = fixed_designs(question)
    scale = design.outcomes
    return Plan(
        algorithm=design.algorithm,
        privacy=design.privacy.model,
        means=tuple(scale.mean_in_units(mean) for mean in question.means),
        unit_means=question.means,
        gap=scale.gap_in_units(question.gap),
        epsilon=epsilon,
        delta=delta,
        difference=float(design.difference),
        control=design.control,
        delta_none=None if design.delta_none is None else float(design.delta_none),
        runs=question.runs,
        seed=question.seed,
        max_samples=design.max_participants or DEFAULT_MAX_SAMPLES,
        hard_end=None if design.hard_end is None else design.hard_end.people,
        per_arm=own.per_arm,
        releases=own.mean_releases,
        outstanding=own.mean_outstanding,
        error_rate=own.error_rate,
        within_difference=own.within_difference,
        none=own.none,
        fixed_samples=fixed,
        fixed_samples_nonprivate=fixed_nonprivate,
        alternatives=alternatives(question),
        regime=None if theory is None else theory.regime,
        regime_epsilon=turn,
        by_epsilon=curve,
        without_privacy=without,
        free_epsilon=_free_from(curve, without) if question.private else None,
        with_difference=with_difference,
        without_difference=without_difference,
        sensitivity=sensitivity,
        participants=participants,
        life=question.life.describe(),
        design=design.to_json(),
        scenarios=characteristics,
        warnings=tuple(question.warnings()),
        **afforded,
        **_statistics(own, question),
    )


def _price_of_silence(simulator: Simulator, question: Question) -> tuple[float | None, float | None]:
    """What stating the hoped-for gap as the difference that matters would cost, or stating none."""
    if (
        question.control is not None
        or not question.takes_difference
        or resolve_loaded(question.design.identity).needs_base
    ):
        return None, None
    if question.difference > 0:
        return None, simulator.cost(question.with_difference(0.0)).mean_samples
    return simulator.cost(question.with_difference(min(question.gap, 0.99))).mean_samples, None


def _afforded(simulator: Simulator, question: Question) -> dict[str, Any]:
    """What the given number of people affords."""
    people, scale = question.participants, question.design.outcomes
    found: dict[str, Any] = dict.fromkeys(
        ("smallest_epsilon", "smallest_gap", "smallest_difference", "chance_of_verdict")
    )
    if people is None:
        return found
    if question.private:
        found["smallest_epsilon"] = smallest_epsilon(simulator, question, people)
    gap, difference = smallest_gap(simulator, question, people), smallest_difference(simulator, question, people)
    found["smallest_gap"] = None if gap is None else scale.gap_in_units(gap)
    found["smallest_difference"] = None if difference is None else scale.gap_in_units(difference)
    found["chance_of_verdict"] = chance_of_verdict(simulator, question, people)
    return found


def _statistics(cost: Summary, question: Question) -> dict[str, Any]:
    """The figures that stand in every row of a plan."""
    return {
        "expected_samples": cost.mean_samples,
        "standard_error": cost.standard_error,
        "p90_samples": cost.p90_samples,
        "lower_bound_refined": question.lower_bound(),
        "undecided": cost.undecided,
        "expected_days": cost.mean_days,
        "p90_days": cost.p90_days,
    }


def _nearer(question: Question, factor: float) -> Question:
    """The best arm so much nearer to what would make the answer wrong."""
    return question.with_gap(question.gap - (1.0 - factor) * question.margin)


def _privacy_cost(simulator: Simulator, question: Question, regime_epsilon: float | None) -> PrivacyCost:
    regime: Regime | None = None
    if regime_epsilon is not None:
        regime = "high-privacy" if question.epsilon < regime_epsilon else "low-privacy"
    return PrivacyCost(question.epsilon, regime=regime, **_statistics(simulator.cost(question), question))


def _gap_cost(simulator: Simulator, question: Question) -> GapCost:
    gap = question.design.outcomes.gap_in_units(question.gap)
    return GapCost(gap, **_statistics(simulator.cost(question), question))


def _free_from(curve: tuple[PrivacyCost, ...], without: float) -> float | None:
    """The smallest budget from which on every point of the curve is as cheap as no privacy at all."""
    free = None
    for point in reversed(curve):
        if point.expected_samples > without * (1.0 + FREE_WITHIN):
            break
        free = point.epsilon
    return free
