"""What a design costs, by simulation, next to what any design must cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from bestarm.policy.catalogue import find
from bestarm.simulation import Results, simulate
from bestarm.theory import kl_time, refined_time
from bestarm.theory.bounds import refined_nats

WITHOUT_PRIVACY = 100.0
"""A budget at which noise has vanished: a release differs from the true sum with probability below 1e-40."""

CLOSER_LOOK = 4
"""Where much hangs on one number, so many times more trials are simulated for it."""


@dataclass(frozen=True)
class Cost:
    """Participants over many simulated trials of one design."""

    expected_samples: float
    standard_error: float
    p90_samples: float
    per_arm: tuple[float, ...]
    releases: float
    error_rate: float
    undecided: int


def is_private(algorithm: str) -> bool:
    """Whether epsilon matters to the algorithm."""
    return "pure" in find(algorithm).privacy


def lower_bound(algorithm: str, means: tuple[float, ...], epsilon: float, delta: float) -> float:
    """The refined lower bound (docs/regimes.md), or the one without privacy for an algorithm that has none."""
    time = refined_time(means, epsilon).time if is_private(algorithm) else kl_time(means).time
    return time * refined_nats(delta)


@dataclass
class Simulator:
    """Simulated costs of one algorithm, each asked for once, with progress counted over all of them."""

    algorithm: str
    delta: float
    runs: int
    seed: int
    jobs: int
    max_samples: int
    progress: Callable[[int, int], None] | None
    expected_runs: int
    _known: dict[tuple[tuple[float, ...], float], Cost] = field(default_factory=dict)
    _runs_finished: int = 0

    @property
    def private(self) -> bool:
        """Whether epsilon matters to the algorithm."""
        return is_private(self.algorithm)

    def cost(self, means: tuple[float, ...], epsilon: float) -> Cost:
        """The cost of this design at these means."""
        key = (means, epsilon if self.private else math.inf)
        if key not in self._known:
            self._known[key] = self._cost(self._simulate(means, epsilon, self.max_samples, self.runs))
        return self._known[key]

    def without_privacy(self, means: tuple[float, ...]) -> float:
        """Expected participants when privacy costs nothing: every price of privacy is measured against it."""
        results = self._simulate(means, WITHOUT_PRIVACY, self.max_samples, self.runs * CLOSER_LOOK)
        return results.summary().mean_samples

    def share_within(self, means: tuple[float, ...], epsilon: float, participants: int, runs: int) -> float:
        """The share of trials that end within this many participants; no run goes on for longer."""
        return float(self._simulate(means, epsilon, participants, runs).decided.mean())

    def _simulate(self, means: tuple[float, ...], epsilon: float, max_samples: int, runs: int) -> Results:
        results = simulate(
            self.algorithm,
            means=means,
            epsilon=epsilon,
            delta=self.delta,
            runs=runs,
            seed=self.seed,
            jobs=self.jobs,
            max_samples=max_samples,
            progress=self._report,
        )
        self._runs_finished += runs
        return results

    def _cost(self, results: Results) -> Cost:
        summary = results.summary()
        return Cost(
            expected_samples=summary.mean_samples,
            standard_error=summary.std_samples / self.runs**0.5,
            p90_samples=summary.p90_samples,
            per_arm=tuple(results.per_arm.mean(axis=0).tolist()),
            releases=summary.mean_releases,
            error_rate=summary.error_rate,
            undecided=summary.undecided,
        )

    def bound(self, means: tuple[float, ...], epsilon: float) -> float:
        """`lower_bound` for this algorithm."""
        return lower_bound(self.algorithm, means, epsilon, self.delta)

    def finish(self) -> None:
        """All is simulated, be it that a search needed less than it might have."""
        self._runs_finished = self.expected_runs
        self._report(0, 0)

    def _report(self, runs_done: int, _: int) -> None:
        if self.progress is not None:
            self.progress(min(self._runs_finished + runs_done, self.expected_runs), self.expected_runs)
