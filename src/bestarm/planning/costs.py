"""What a design costs, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

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
    _known: dict[Any, Summary] = field(default_factory=dict)
    _runs_finished: int = 0

    def cost(self, question: Question) -> Summary:
        """The cost of this design at these means."""
        key = (question.instance, question.design, question.life)
        if key not in self._known:
            self._known[key] = self.results(question, question.runs).summary()
        return self._known[key]

    def without_privacy(self, question: Question) -> float:
        """Expected participants when privacy costs nothing: every price of privacy is measured against it."""
        return self.results(question.without_privacy(), question.runs * CLOSER_LOOK).summary().mean_samples

    def share_within(self, question: Question, participants: int, runs: int) -> float:
        """The share of trials that end within this many participants; no run goes on for longer."""
        return float(self.results(question.within(participants), runs).decided.mean())

    def results(self, question: Question, runs: int) -> Results:
        """Simulated trials of this design."""
        scenario = scenario_of(question.design, question.instance, life=question.life)
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
