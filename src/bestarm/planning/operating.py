"""Operating characteristics: how one design does if things are as hoped, better, worse, drifting, missing or late.

One row a scenario, every figure with its simulation error, in people and in days. Trials that have no verdict at the
largest number of participants count as such; where the design has no such number, a generous one is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bestarm.durations import in_largest_unit
from bestarm.planning.costs import Simulator
from bestarm.planning.question import Question
from bestarm.simulation import Results

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from bestarm.design import Outcomes

MISSING: Final = 0.1
"""The share of missing outcomes in that scenario."""
LATE: Final = 0.5
"""Late outcomes: so large a share of the people expected is enrolled while one is awaited."""
GENEROUS: Final = 4
"""The cap where the design has none: so many times what nine trials in ten need as hoped."""
DAY: Final = 86400


@dataclass(frozen=True)
class Figure:
    """A simulated number with its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class Characteristic:
    """How the design does in one scenario; shares are of all trials."""

    name: str
    about: str
    means: tuple[float, ...]
    """In the outcome's own units."""
    mean_samples: Figure
    median_samples: float
    p80_samples: float
    p90_samples: float
    std_samples: float
    mean_days: Figure | None
    p90_days: float | None
    correct: Figure
    """A best arm is recommended. Against control: an arm is, and rightly."""
    within_difference: Figure
    """A best arm, or one within the difference of it. Against control: the answer is right, be it an arm or none."""
    wrong: Figure
    """An arm that is worse by a difference that matters."""
    undecided: Figure
    """No verdict by the cap."""
    per_arm: tuple[float, ...]
    bias: Figure | None
    """Of the recommended arm's estimate, in the outcome's own units; None if no run has one."""
    none: Figure | None = None
    """No arm is found better than control; None where the best arm is looked for."""

    @property
    def found(self) -> Figure:
        """The best arm is recommended; against control: some arm is, rightly or not."""
        if self.none is None:
            return self.correct
        share = max(0.0, 1.0 - self.none.value - self.undecided.value)
        return Figure(share, math.hypot(self.none.error, self.undecided.error))


@dataclass(frozen=True)
class Case:
    """A scenario: what happens in it, in words, and the question it makes of the one that was asked."""

    name: str
    about: str
    of: Callable[[Question, float], Question]
    """From the question and the people expected as hoped."""


def _alike(question: Question, expected: float) -> Question:
    return question.with_means([question.runner_up] * question.instance.arms)


def _least_favourable(question: Question, expected: float) -> Question:
    if question.difference < 0:  # every arm is worse than control by just the margin
        worse = [max(question.runner_up + question.difference, 0.0)] * question.instance.arms
        worse[question.control or 0] = question.runner_up
        return question.with_means([_tidy(mean) for mean in worse])
    lead = question.difference or question.gap
    base = min(question.runner_up, 1.0 - lead)
    means = [base] * question.instance.arms
    means[question.best] = base + lead
    return question.with_means([_tidy(mean) for mean in means])


def _as_hoped(question: Question, expected: float) -> Question:
    return question


def _twice(question: Question, expected: float) -> Question:
    return question.with_gap(2 * question.gap if question.gap > 0 else question.gap + abs(question.difference))


def _bad_arm(question: Question, expected: float) -> Question:
    means = list(question.means)
    others = [arm for arm in range(len(means)) if arm not in (question.best, question.control)]
    worst = min(others or [question.best], key=lambda arm: means[arm])
    means[worst] = _tidy(means[worst] / 2)
    return question.with_means(means)


def _trend(question: Question, expected: float) -> Question:
    gap = question.gap if question.control is None else max(question.gap, abs(question.difference))
    size = gap if max(question.means) + gap <= 1.0 else -gap
    return replace(question, life=replace(question.life, trend="linear", size=_tidy(size)))


def _missing(question: Question, expected: float) -> Question:
    return replace(question, life=replace(question.life, missing=(MISSING,) * question.instance.arms))


def _late(question: Question, expected: float) -> Question:
    rate = question.life.enrol or 1.0
    seconds = max(1, round(DAY * LATE * expected / rate)) + (question.design.follow_up or 0)
    return replace(question, design=replace(question.design, follow_up=min(seconds, 100 * 365 * DAY)))


SCENARIOS: Final = (
    Case("nothing differs", "all arms are as good as the second best", _alike),
    Case("least favourable", "the best leads by just the difference that matters, all others tie", _least_favourable),
    Case("as hoped", "the means that were planned with", _as_hoped),
    Case("twice as good", "the best leads by twice the gap", _twice),
    Case("one bad arm", "the worst arm is half as good", _bad_arm),
    Case("a trend", "as hoped, while all arms drift by the size of the gap", _trend),
    Case("10 % missing", "as hoped, but a tenth of the outcomes never come", _missing),
    Case("late outcomes", "as hoped, but half of the people expected come in before an outcome is known", _late),
)


AGAINST_CONTROL: Final = {
    "nothing differs": "all arms are as good as control",
    "least favourable": "one arm is better than control by just the difference that matters, the others are not",
    "twice as good": "the best arm's lead over control is twice as large",
    "one bad arm": "the worst arm, control apart, is half as good",
    "a trend": "as hoped, while all arms drift by the size of the difference",
}
"""What some scenarios are where arms are compared with control."""
NON_INFERIORITY: Final = {
    "least favourable": "every arm is worse than control by just the margin",
    "twice as good": "the best arm is better than hoped by the margin",
}


@dataclass(frozen=True)
class OperatingCharacteristics:
    """The table: one row a scenario. In a notebook it shows itself; `save` writes Markdown, CSV or HTML."""

    rows: tuple[Characteristic, ...]
    algorithm: str
    promise: str
    runs: int
    seed: int
    cap: int
    outcomes: Outcomes
    control: str | None = None
    """The arm that the others are compared with; None where the best is looked for."""
    warnings: tuple[str, ...] = ()
    """What is allowed, but odd about what was asked, in sentences."""

    def to_json(self) -> list[dict[str, Any]]:
        """A plain object for every scenario; standard errors under names that end in `_se`."""
        return [_plain(row) for row in self.rows]

    def to_dataframe(self) -> pd.DataFrame:
        """One row a scenario, one column a figure, standard errors beside them."""
        import pandas as pd

        flat = []
        for row in self.to_json():
            arms = {f"arm_{arm}": people for arm, people in enumerate(row.pop("per_arm"))}
            flat.append({**row, "means": ", ".join(f"{mean:g}" for mean in row["means"]), **arms})
        return pd.DataFrame(flat)

    def to_markdown(self) -> str:
        """The table for a page."""
        from bestarm.planning.operating_views import markdown

        return markdown(self)

    def to_html(self) -> str:
        """The table by itself, as HTML."""
        from bestarm.planning.operating_views import html

        return html(self)

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: str | Path) -> None:
        """Write it by the name's ending: .md, .html, .csv, or .png for the figure."""
        from bestarm.planning.operating_views import save

        save(self, path)

    def plot(self) -> Any:
        """A matplotlib figure: people by scenario, and how trials end."""
        from bestarm.planning.operating_views import figure

        return figure(self)


def operating_characteristics(
    means: Sequence[float] | None = None,
    *,
    epsilon: float,
    delta: float = 0.01,
    difference: object = None,
    runs: int = 1000,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    **more: Any,
) -> OperatingCharacteristics:
    """How a design does over eight scenarios; options as in `plan`.

    Nothing differs, least favourable, as hoped, twice as good, one bad arm, a trend, 10 % missing, late outcomes: for
    each the people and days, the chance of the right arm, of one within the difference, of a wrong one and of no
    verdict, people per arm, and the bias of the recommended arm's estimate.
    """
    question = Question.ask(means, epsilon=epsilon, delta=delta, difference=difference, runs=runs, **more)
    simulator = Simulator(jobs, progress, runs * (len(SCENARIOS) + 1))
    found = characteristics_of(question, simulator)
    simulator.finish()
    return found


def characteristics_of(question: Question, simulator: Simulator) -> OperatingCharacteristics:
    """The table of a question's design."""
    own = simulator.cost(question)
    cap = question.design.max_participants or _round_up(GENEROUS * own.p90_samples)
    capped = question.within(max(cap, question.instance.arms))
    rows = []
    for case in SCENARIOS:
        asked = case.of(capped, own.mean_samples)
        dated = asked.life.enrol is not None
        if not dated:
            # Runs that go by the clock also say what the arms were estimated to be.
            asked = replace(asked, life=replace(asked.life, enrol=1.0))
        rows.append(_row(case, asked, simulator.results(asked, question.runs), dated))
    design = question.design
    return OperatingCharacteristics(
        rows=tuple(rows),
        algorithm=design.identity,
        promise=_promise(question),
        runs=question.runs,
        seed=question.seed,
        cap=cap,
        outcomes=design.outcomes,
        control=design.control,
        warnings=tuple(question.warnings()),
    )


def _about(case: Case, question: Question) -> str:
    if question.control is None:
        return case.about
    known = AGAINST_CONTROL | (NON_INFERIORITY if question.difference < 0 else {})
    return known.get(case.name, case.about)


def _promise(question: Question) -> str:
    design = question.design
    privacy = f"ε = {question.epsilon:g}" if question.private else "no privacy"
    zone = f", difference that matters {float(design.difference):g}" if design.difference else ""
    parts = question.life.in_words()
    if design.follow_up is not None:
        parts.append(f"follow-up {in_largest_unit(design.follow_up)}")
    life = "".join(f", {part}" for part in parts)
    if design.delta_none is not None:
        zone = f", δ of none = {float(design.delta_none):g}{zone}, control {design.control}"
    return f"{privacy}, δ = {float(design.delta):g}{zone}{life}"


def _row(case: Case, question: Question, results: Results, dated: bool) -> Characteristic:
    summary = results.summary()
    scale = question.design.outcomes
    runs = summary.runs
    means = np.array(results.means)
    best = results.decided & (means[results.recommended] == means.max())
    if results.control is not None:
        best = results.good_enough & ~results.none
    return Characteristic(
        name=case.name,
        about=_about(case, question),
        means=tuple(scale.mean_in_units(mean) for mean in results.means),
        mean_samples=Figure(summary.mean_samples, summary.standard_error),
        median_samples=summary.median_samples,
        p80_samples=float(np.quantile(results.samples, 0.8, method="higher")),
        p90_samples=summary.p90_samples,
        std_samples=summary.std_samples,
        mean_days=_mean(results.days) if dated and results.days is not None else None,
        p90_days=summary.p90_days if dated else None,
        correct=_share(int(best.sum()), runs),
        within_difference=_share(int(results.good_enough.sum()), runs),
        wrong=_share(int(results.wrong.sum()), runs),
        undecided=_share(summary.undecided, runs),
        per_arm=summary.per_arm,
        bias=_bias(results, scale),
        none=None if results.control is None else _share(int(results.none.sum()), runs),
    )


def _bias(results: Results, scale: Outcomes) -> Figure | None:
    if results.estimates is None:
        return None
    recommends = results.decided & ~results.none
    picked = results.recommended[recommends]
    off = results.estimates[recommends, picked] - np.array(results.means)[picked]
    off = off[np.isfinite(off)] * float(scale.width) * (-1.0 if scale.lower_is_better else 1.0)
    return _mean(off) if off.size else None


def _mean(values: Any) -> Figure:
    array = np.asarray(values, float)
    spread = float(array.std(ddof=1)) if array.size > 1 else math.nan
    return Figure(float(array.mean()), spread / math.sqrt(array.size))


def _share(hits: int, runs: int) -> Figure:
    # The error is Agresti and Coull's, which is not nothing where nothing, or everything, was hit.
    near = (hits + 2) / (runs + 4)
    return Figure(hits / runs, math.sqrt(near * (1 - near) / (runs + 4)))


def _plain(row: Characteristic) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name in row.__dataclass_fields__:
        value = getattr(row, name)
        if isinstance(value, Figure):
            plain |= {name: value.value, f"{name}_se": value.error}
        else:
            plain[name] = value
            if value is None and name in ("mean_days", "bias", "none"):
                plain[f"{name}_se"] = None
    return plain


def _round_up(people: float) -> int:
    """Up to two meaningful digits."""
    digit = 10 ** max(0, math.floor(math.log10(max(people, 1.0))) - 1)
    return int(math.ceil(people / digit) * digit)


def _tidy(value: float) -> float:
    return float(f"{value:.12g}")


__all__ = [
    "SCENARIOS",
    "Characteristic",
    "Figure",
    "OperatingCharacteristics",
    "characteristics_of",
    "operating_characteristics",
]
