"""Replay: how many of the people in a finished experiment would have been needed, had it been run with this design?

Every replay is a trial of the design with people drawn from those of the file: on each arm with replacement, or, where
the file says when people came, from those who came at about that time, so that what drifted then drifts again. Nobody
in the file is on two arms, so what they would have done elsewhere is unknown; drawing from the others on that arm is
what can be done about it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bestarm.design import DEFAULT_ALGORITHM, Design, Outcomes, resolve_loaded
from bestarm.errors import InputError
from bestarm.exact import exact
from bestarm.instance import Bernoulli, Empirical, Instance, RewardLaw
from bestarm.planning.beside import fixed_designs
from bestarm.planning.question import Question
from bestarm.policy.record import IntArray
from bestarm.simulation import Life, run_scenario, scenario_of

if TYPE_CHECKING:
    import pandas as pd

LONGEST: Final = 20
"""A replay goes on for at most so many times the people in the file; who is needed beyond them is drawn again."""
PARTS: Final = 20
FEWEST_IN_PART: Final = 30
"""In time order the file is cut into up to so many parts, with so many people of every arm in each on average."""


@dataclass(frozen=True)
class Replay:
    """What the replays came to. In a notebook it shows itself."""

    algorithm: str
    epsilon: float
    delta: float
    difference: float
    runs: int
    seed: int
    in_time_order: bool
    people_in_file: int
    counts: dict[str, int]
    """People of each arm in the file."""
    means: dict[str, float]
    """The mean outcome of each arm in the file, in its own units."""
    mean_people: float
    standard_error: float
    median_people: float
    p90_people: float
    enough: float
    """Share of replays that ended within the people in the file."""
    undecided: float
    """Share of replays without a verdict after `LONGEST` times as many."""
    fixed_people: int | None
    """People of the fixed design with the same promise; None without a difference."""
    fixed_people_nonprivate: int | None
    recommended: dict[str, float]
    """Share of replays that recommended each arm."""
    within_difference: float
    """Share of replays that recommended the arm that did best in the file, or one within the difference of it."""
    warnings: tuple[str, ...]
    """What is allowed, but odd about the design."""
    samples: IntArray
    """People of each replay."""

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON; without the replays one by one."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "samples"}

    def rows(self) -> list[tuple[str, str]]:
        """What there is to say, line by line."""
        order = "in time order" if self.in_time_order else "drawn with replacement"
        said = [
            ("people in the file", f"{self.people_in_file:,}"),
            (f"people needed, mean of {self.runs:,} replays ({order})", f"{math.ceil(self.mean_people):,}"),
            ("people needed, 9 in 10 within", f"{math.ceil(self.p90_people):,}"),
            ("replays that the people in the file were enough for", f"{100 * self.enough:.1f} %"),
        ]
        if self.fixed_people is not None and self.fixed_people_nonprivate is not None:
            said.append(("the fixed design with the same promise", f"{self.fixed_people:,}"))
            said.append(("the fixed design without privacy", f"{self.fixed_people_nonprivate:,}"))
        said += [(f"recommended: {arm}", f"{100 * share:.1f} %") for arm, share in self.recommended.items()]
        if self.undecided:
            said.append(("no verdict", f"{100 * self.undecided:.1f} %"))
        return said

    def __str__(self) -> str:
        return "\n".join(f"{what}: {value}" for what, value in self.rows())

    def _repr_html_(self) -> str:
        from html import escape

        lines = "".join(f"<tr><th scope='row'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in self.rows())
        return f"<table>{lines}</table>"

    def plot(self) -> Any:
        """A matplotlib figure: the share of replays that ended within so many people, beside file and fixed design."""
        from matplotlib.figure import Figure as Canvas
        from matplotlib.ticker import StrMethodFormatter

        drawn = Canvas(figsize=(7.5, 4.2), layout="constrained")
        axes = drawn.subplots()
        people = np.sort(self.samples)
        axes.step(
            people, np.arange(1, people.size + 1) / people.size, where="post", color="#0072B2", label=self.algorithm
        )
        marks = [(self.people_in_file, "people in the file", "black", "-")]
        if self.fixed_people is not None:
            marks.append((self.fixed_people, "fixed design, same promise", "#D55E00", "--"))
        for place, label, colour, style in marks:
            axes.axvline(place, color=colour, linestyle=style, label=f"{label}: {place:,}")
        axes.set_xscale("log")
        for axis in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
            axis(StrMethodFormatter("{x:,.0f}"))
        axes.tick_params(axis="x", which="both", labelsize=8.5, rotation=30)
        axes.set_ylim(0, 1)
        axes.set_xlabel("people")
        axes.set_ylabel("share of replays that ended within them")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9)
        return drawn


@dataclass(frozen=True)
class Recorded:
    """A finished experiment: who got which arm, with which outcome, one entry a person, in order where it is known."""

    labels: tuple[str, ...]
    arms: IntArray
    outcomes: Any
    """In the outcome's own units; NaN where it is missing."""
    ordered: bool


def replay(
    data: str | Path | pd.DataFrame,
    *,
    arm: str = "arm",
    outcome: str = "outcome",
    time: str | None = None,
    count: str | None = None,
    epsilon: float,
    delta: float = 0.05,
    difference: object = None,
    low: object = 0,
    high: object = 1,
    lower_is_better: bool = False,
    algorithm: str = DEFAULT_ALGORITHM,
    withdrawal: str | None = None,
    runs: int = 500,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Replay a finished experiment, from a CSV file or a DataFrame with one row a person (or with a column `count`).

    `arm` and `outcome` name its columns, an empty outcome is a missing one, and with `time` people are replayed in that
    order. `low` and `high` bound the outcomes; if there are only two values, these, the outcome is yes or no.
    """
    recorded = read_experiment(data, arm, outcome, time, count)
    question = _question(recorded, epsilon, delta, difference, low, high, lower_is_better, algorithm, withdrawal)
    people = recorded.arms.size
    capped = replace(question.design, max_participants=max(LONGEST * people, len(recorded.labels)))
    scenario = scenario_of(capped, question.instance, life=question.life)
    results = run_scenario(scenario, runs=runs, seed=seed, jobs=jobs, progress=progress)
    summary = results.summary()
    fixed, plain = fixed_designs(question) if _unique_best(question) else (None, None)
    scale = question.design.outcomes
    return Replay(
        algorithm=question.design.identity,
        epsilon=float(epsilon),
        delta=float(question.design.delta),
        difference=float(question.design.difference),
        runs=runs,
        seed=seed,
        in_time_order=recorded.ordered,
        people_in_file=people,
        counts={label: int((recorded.arms == k).sum()) for k, label in enumerate(recorded.labels)},
        means={label: scale.mean_in_units(mean) for label, mean in zip(recorded.labels, results.means, strict=True)},
        mean_people=summary.mean_samples,
        standard_error=summary.standard_error,
        median_people=summary.median_samples,
        p90_people=summary.p90_samples,
        enough=float((results.decided & (results.samples <= people)).mean()),
        undecided=summary.undecided / runs,
        fixed_people=fixed,
        fixed_people_nonprivate=plain,
        recommended={label: float((results.recommended == k).mean()) for k, label in enumerate(recorded.labels)},
        within_difference=summary.within_difference,
        warnings=tuple(question.design.warnings()),
        samples=results.samples,
    )


def _unique_best(question: Question) -> bool:
    return not question.instance.tied


def _question(
    recorded: Recorded,
    epsilon: float,
    delta: object,
    difference: object,
    low: object,
    high: object,
    lower_is_better: bool,
    algorithm: str,
    withdrawal: str | None,
) -> Question:
    scale = Outcomes(low, high, False, lower_is_better)  # type: ignore[arg-type]
    known = ~np.isnan(recorded.outcomes)
    outside = (recorded.outcomes[known] < float(scale.low)) | (recorded.outcomes[known] > float(scale.high))
    if outside.any():
        raise InputError(
            f"{int(outside.sum())} outcomes lie outside of {scale.bounds(' to ')}; give their bounds with --low and "
            "--high."
        )
    binary = bool(np.isin(recorded.outcomes[known], (float(scale.low), float(scale.high))).all())
    units = (recorded.outcomes - float(scale.low)) / float(scale.width)
    units = 1.0 - units if lower_is_better else units
    laws: list[RewardLaw] = []
    for k, label in enumerate(recorded.labels):
        own = units[(recorded.arms == k) & known]
        if own.size == 0:
            raise InputError(f"The arm {label} has no outcomes in the file.")
        laws.append(Bernoulli(float(own.mean())) if binary else Empirical(own.tolist()))
    chosen = resolve_loaded(algorithm)
    instance = Instance(tuple(laws))
    base = None
    if chosen.needs_base and difference is not None:
        room = 1.0 - float(exact(difference, "The difference")) / float(scale.width)
        base = scale.mean_in_units(max(0.0, min(sorted(instance.means)[-2], room)))
    design = Design.make(
        arms=recorded.labels,
        delta=delta,
        epsilon=epsilon,
        algorithm=algorithm,
        outcomes="binary" if binary else "unit",
        low=low,
        high=high,
        lower_is_better=lower_is_better,
        difference=difference,
        base=base,
        withdrawal=withdrawal,
    )
    gone = tuple(float((~known[recorded.arms == k]).mean()) for k in range(len(recorded.labels)))
    life = Life(missing=gone if any(gone) else ())
    if recorded.ordered:
        life = replace(life, recorded=_parts(recorded, units, instance), recorded_people=recorded.arms.size)
    return Question(instance, design, epsilon, life=life)


def _parts(recorded: Recorded, units: Any, instance: Instance) -> tuple[tuple[float, ...], ...]:
    """Every arm's mean in each part of the record; where an arm has nobody in a part, its mean over the whole."""
    people, arms = recorded.arms.size, len(recorded.labels)
    parts = max(1, min(PARTS, people // (FEWEST_IN_PART * arms)))
    place = np.arange(people) * parts // people
    levels = []
    for part in range(parts):
        here = [units[(place == part) & (recorded.arms == k) & ~np.isnan(units)] for k in range(arms)]
        levels.append(tuple(float(x.mean()) if x.size else instance.means[k] for k, x in enumerate(here)))
    return tuple(levels)


def read_experiment(
    data: str | Path | pd.DataFrame, arm: str, outcome: str, time: str | None, count: str | None
) -> Recorded:
    """The experiment in a table, checked."""
    import pandas as pd

    name = "The table" if isinstance(data, pd.DataFrame) else str(data)
    if isinstance(data, pd.DataFrame):
        table = data
    else:
        try:
            table = pd.read_csv(data, dtype={arm: str})
        except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
            raise InputError(f"{name} is not a CSV file with one line of column names and one row a person.") from error
    for column in (arm, outcome, *([time] if time else []), *([count] if count else [])):
        if column not in table.columns:
            raise InputError(f"{name} has no column {column!r}; it has: {', '.join(map(str, table.columns))}.")
    if len(table) == 0 or bool(table[arm].isna().any()):
        raise InputError(f"{name} needs an arm in every row, and at least one row.")
    if count is not None:
        times = pd.to_numeric(table[count], errors="coerce")
        if bool((times.isna() | (times < 0) | (times % 1 != 0)).any()):
            raise InputError(f"The column {count!r} has to hold whole numbers of people.")
        table = table.loc[table.index.repeat(times.astype(int))]
    if time is not None:
        when = table[time]
        if bool(when.isna().any()):
            raise InputError(f"The column {time!r} is empty in some rows, so their order is not known.")
        table = table.sort_values(time, kind="stable")
    values = pd.to_numeric(table[outcome], errors="coerce")
    if bool((values.isna() & table[outcome].notna()).any()):
        raise InputError(f"The column {outcome!r} has to hold numbers; leave missing outcomes empty.")
    labels = tuple(dict.fromkeys(str(label).strip() for label in table[arm]))
    if len(labels) < 2:
        raise InputError(f"{name} has one arm only; a best one is looked for among at least two.")
    numbers = {label: k for k, label in enumerate(labels)}
    arms = np.array([numbers[str(label).strip()] for label in table[arm]], np.int64)
    return Recorded(labels, arms, values.to_numpy(float), time is not None)
