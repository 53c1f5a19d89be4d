"""What a design costs, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bestarm.design import Design
from bestarm.instance import Instance
from bestarm.planning.question import Question
from bestarm.simulation import Results, Summary, run_scenario, scenario_of

CLOSER_LOOK = 4
"""Where much hangs on one number, so many times more trials are simulated for it."""


@dataclass
class Simulator:
    """Simulated costs, each asked for once, with progress counted over all of them."""

    jobs: int
    progress: Callable[[int, int], None] | None
    expected_runs: int
    _known: dict[tuple[tuple[float, ...], Design], Summary] = field(default_factory=dict)
    _runs_finished: int = 0

    def cost(self, question: Question) -> Summary:
        """The cost of this design at these means."""
        key = (question.means, question.design)
        if key not in self._known:
            self._known[key] = self._simulate(question, question.runs).summary()
        return self._known[key]

    def without_privacy(self, question: Question) -> float:
        """Expected participants when privacy costs nothing: every price of privacy is measured against it."""
        return self._simulate(question.without_privacy(), question.runs * CLOSER_LOOK).summary().mean_samples

    def share_within(self, question: Question, participants: int, runs: int) -> float:
        """The share of trials that end within this many participants; no run goes on for longer."""
        return float(self._simulate(question.within(participants), runs).decided.mean())

    def _simulate(self, question: Question, runs: int) -> Results:
        scenario = scenario_of(question.design, Instance.bernoulli(question.means))
        results = run_scenario(scenario, runs=runs, seed=question.seed, jobs=self.jobs, progress=self._report)
        self._runs_finished += runs
        return results

    def finish(self) -> None:
        """All is simulated, be it that a search needed less than it might have."""
        self._runs_finished = self.expected_runs
        self._report(0, 0)

    def _report(self, runs_done: int, _: int) -> None:
        if self.progress is not None:
            self.progress(min(self._runs_finished + runs_done, self.expected_runs), self.expected_runs)
