"""How many people a trial needs, and what privacy costs, before it starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bestarm.checks import DELTA, EPSILON
from bestarm.errors import InputError
from bestarm.planning.costs import CLOSER_LOOK, Simulator
from bestarm.planning.inverse import USUAL_DESIGNS, smallest_epsilon, smallest_gap
from bestarm.planning.question import Question, checked_participants
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
    lower_bound_refined: float
    undecided: int
    regime: Regime


@dataclass(frozen=True)
class GapCost:
    """What if the gap is this?"""

    gap: float
    expected_samples: float
    standard_error: float
    p90_samples: float
    lower_bound_refined: float
    undecided: int


@dataclass(frozen=True)
class Plan:
    """A design's cost by simulation, next to what any design must cost; every number of people is a mean or a 90 %
    quantile over `runs` simulated trials, with undecided ones counted at `max_samples`."""

    algorithm: str
    means: tuple[float, ...]
    gap: float
    epsilon: float
    delta: float
    runs: int
    seed: int
    max_samples: int
    expected_samples: float
    standard_error: float
    p90_samples: float
    per_arm: tuple[float, ...]
    releases: float
    error_rate: float
    undecided: int
    lower_bound_refined: float
    regime: Regime
    regime_epsilon: float
    by_epsilon: tuple[PrivacyCost, ...]
    without_privacy: float
    """Expected participants of the same algorithm when privacy costs nothing (epsilon = 100)."""
    free_epsilon: float | None
    """The smallest budget of the curve from which on privacy is free; None if it is not, or if there is none."""
    sensitivity: tuple[GapCost, ...]
    """The same trial if the best arm leads by less than hoped; its rivals stay as they are."""
    participants: int | None
    smallest_epsilon: float | None
    """The strongest privacy that `participants` afford; None if they are too few at any, or were not given."""
    smallest_gap: float | None
    """The smallest gap that `participants` resolve at `epsilon`; None if they resolve none, or were not given."""

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON."""
        return asdict(self)


def plan(
    means: Sequence[float] | None = None,
    *,
    epsilon: float,
    delta: float = 0.01,
    arms: int | None = None,
    gap: float | None = None,
    base: float | None = None,
    algorithm: str = "evidence",
    runs: int = 200,
    seed: int = 0,
    participants: int | None = None,
    jobs: int = 1,
    max_samples: int = 10**8,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """Plan a trial from the arms' hoped-for `means`, or from (`arms`, `gap`, `base`): see `Question.ask`.

    With `participants`, also the strongest privacy and the smallest gap that so many people afford: 90 % of simulated
    trials end within them, found to about 5 %. The same seed gives the same plan.
    """
    question = Question.ask(means, arms, gap, base)
    epsilon, delta = EPSILON.plainly(epsilon), DELTA.plainly(delta)
    if runs < 2:
        raise InputError(f"{runs} runs asked for, but a standard error needs at least 2.")
    if participants is not None:
        checked_participants(participants, len(question.means))
    budgets = sorted({*LADDER, epsilon})
    simulator = Simulator(
        algorithm=algorithm,
        delta=delta,
        runs=runs,
        seed=seed,
        jobs=jobs,
        max_samples=max_samples,
        progress=progress,
        expected_runs=runs
        * (len(budgets) + CLOSER_LOOK + len(GAP_FACTORS) - 1 + (2 * USUAL_DESIGNS if participants else 0)),
    )
    theory = bounds(question.means, epsilon, delta)
    own = simulator.cost(question.means, epsilon)
    curve = tuple(_privacy_cost(simulator, question, budget, theory.regime_epsilon) for budget in budgets)
    without = simulator.without_privacy(question.means)
    sensitivity = tuple(_gap_cost(simulator, question.with_gap(f * question.gap), epsilon) for f in GAP_FACTORS)
    affordable_epsilon = affordable_gap = None
    if participants is not None:
        if simulator.private:
            affordable_epsilon = smallest_epsilon(simulator, question, participants)
        affordable_gap = smallest_gap(simulator, question, epsilon, participants)
    simulator.finish()
    return Plan(
        algorithm=algorithm,
        means=question.means,
        gap=question.gap,
        epsilon=epsilon,
        delta=delta,
        runs=runs,
        seed=seed,
        max_samples=max_samples,
        expected_samples=own.expected_samples,
        standard_error=own.standard_error,
        p90_samples=own.p90_samples,
        per_arm=own.per_arm,
        releases=own.releases,
        error_rate=own.error_rate,
        undecided=own.undecided,
        lower_bound_refined=simulator.bound(question.means, epsilon),
        regime=theory.regime,
        regime_epsilon=theory.regime_epsilon,
        by_epsilon=curve,
        without_privacy=without,
        free_epsilon=_free_from(curve, without) if simulator.private else None,
        sensitivity=sensitivity,
        participants=participants,
        smallest_epsilon=affordable_epsilon,
        smallest_gap=affordable_gap,
    )


def _privacy_cost(simulator: Simulator, question: Question, epsilon: float, regime_epsilon: float) -> PrivacyCost:
    cost = simulator.cost(question.means, epsilon)
    return PrivacyCost(
        epsilon=epsilon,
        expected_samples=cost.expected_samples,
        standard_error=cost.standard_error,
        p90_samples=cost.p90_samples,
        lower_bound_refined=simulator.bound(question.means, epsilon),
        undecided=cost.undecided,
        regime="high-privacy" if epsilon < regime_epsilon else "low-privacy",
    )


def _gap_cost(simulator: Simulator, question: Question, epsilon: float) -> GapCost:
    cost = simulator.cost(question.means, epsilon)
    return GapCost(
        gap=question.gap,
        expected_samples=cost.expected_samples,
        standard_error=cost.standard_error,
        p90_samples=cost.p90_samples,
        lower_bound_refined=simulator.bound(question.means, epsilon),
        undecided=cost.undecided,
    )


def _free_from(curve: tuple[PrivacyCost, ...], without: float) -> float | None:
    """The smallest budget from which on every point of the curve is as cheap as no privacy at all."""
    free = None
    for point in reversed(curve):
        if point.expected_samples > without * (1.0 + FREE_WITHIN):
            break
        free = point.epsilon
    return free
