"""What runs came to: one row a run, and a summary that never counts an undecided run as decided."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bestarm import __version__
from bestarm.design import Design
from bestarm.instance import Instance
from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.record import FloatArray, IntArray
from bestarm.release.laws import outcome_mean
from bestarm.simulation.people import MOST_DATES

if TYPE_CHECKING:
    import pandas as pd

ROUNDING: Final = 1e-12
"""Two means that differ by less are the same number, written in decimals."""


@dataclass(frozen=True)
class Rows:
    """What the simulator counted, run by run."""

    counts: IntArray
    """People, recommended arm, releases, people whose outcome was in none of them."""
    per_arm: IntArray
    days: FloatArray
    """The day on which the run ended, then those of its releases; NaN where there is none."""
    tally: FloatArray
    """Sums and people of all releases, run by arm."""

    @classmethod
    def empty(cls, runs: int, arms: int, days: int) -> Rows:
        """Room for so many runs, with so many dates each."""
        counts, per_arm = np.zeros((runs, 4), np.int64), np.zeros((runs, arms), np.int64)
        return cls(counts, per_arm, np.zeros((runs, days)), np.zeros((runs, 2, arms)))

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        """One after the other."""
        return cls(
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.per_arm for part in parts]),
            np.concatenate([part.days for part in parts]),
            np.concatenate([part.tally for part in parts]),
        )

    @property
    def samples(self) -> IntArray:
        """People of each run."""
        return self.counts[:, 0]


@dataclass(frozen=True)
class Summary:
    """The figures of one scenario. Samples are over all runs, undecided ones at the cap."""

    algorithm: str
    runs: int
    mean_samples: float
    std_samples: float
    median_samples: float
    p90_samples: float
    mean_samples_decided: float
    error_rate: float
    undecided: int
    mean_releases: float
    seconds: float
    standard_error: float
    """Of the mean of the samples."""
    per_arm: tuple[float, ...]
    """Mean people in each arm."""
    mean_days: float | None
    """Until the trial ended; None if nobody looked at a calendar."""
    p90_days: float | None
    mean_outstanding: float
    """People whose outcome was not used at the stop."""
    within_difference: float
    """Share of all runs that recommend an arm that is good enough: best, or worse by less than what matters. Against
    control: of those whose answer is not wrong."""
    none: float | None
    """Share of all runs that found no arm better than control; None where the best arm is looked for."""


@dataclass(frozen=True)
class Results:
    """Every run of one scenario, in the order of its runs."""

    scenario: dict[str, Any]
    means: tuple[float, ...]
    seed: int
    max_samples: int
    samples: IntArray
    recommended: IntArray
    """The recommended arm's index, or UNDECIDED; control's own for "none"."""
    releases: IntArray
    per_arm: IntArray
    """People per arm, run by arm."""
    outstanding: IntArray
    """People whose outcome was in no release."""
    days: FloatArray | None
    """How many days it took; None if nobody looked at a calendar."""
    release_days: FloatArray | None
    """On which day each release was made, run by release, NaN where there was none; the first ones of very many."""
    estimates: FloatArray | None
    """Each arm's mean as all releases of its own sums have it, run by arm, NaN where there is none; None for runs that
    did not go by the clock."""
    zone: float
    """The smallest difference that matters, on the scale from 0 to 1; negative for non-inferiority."""
    control: int | None
    """The arm that the others are compared with; None where the best is looked for."""
    seconds: float
    """Time the runs took, without compilation."""
    warnings: tuple[str, ...]
    """What is allowed, but odd about the design, in sentences."""

    @classmethod
    def of(
        cls,
        scenario: dict[str, Any],
        instance: Instance,
        design: Design,
        seed: int,
        rows: Rows,
        seconds: float,
        cap: int,
    ) -> Results:
        """From the simulator's rows."""
        samples, recommended, releases, outstanding = rows.counts.T
        timed = "enrol" in scenario
        most = min(int(releases.max()), MOST_DATES)
        return cls(
            scenario=scenario,
            means=instance.means,
            seed=seed,
            max_samples=cap,
            samples=samples,
            recommended=recommended,
            releases=releases,
            per_arm=rows.per_arm,
            outstanding=outstanding,
            days=rows.days[:, 0] if timed else None,
            release_days=rows.days[:, 1 : 1 + most] if timed else None,
            estimates=_estimates(rows.tally, design) if timed else None,
            zone=float(design.difference / design.outcomes.width),
            control=None if design.control is None else design.arms.index(design.control),
            seconds=seconds,
            warnings=tuple(design.warnings()),
        )

    @property
    def decided(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which runs stopped by themselves."""
        return np.asarray(self.recommended != UNDECIDED)

    @property
    def wrong(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which runs recommended a wrong arm: not a best one, or one that is worse by a difference that matters.

        Against control: an arm that is not ahead of the lower of the two lines, 0 and the difference; or none, although
        an arm has reached the upper one.
        """
        means = np.array(self.means)
        if self.control is not None:
            ahead = np.round(means - means[self.control], 12)
            bad = ahead <= min(self.zone, 0.0)
            bad[self.control] = np.delete(ahead, self.control).max() >= max(self.zone, 0.0)
            return np.asarray(self.decided & bad[self.recommended])
        # 0.15 - 0.1 is less than 0.05 in floating point: a mean just at the edge is wrong all the same.
        bad = means <= means.max() - self.zone + ROUNDING if self.zone > 0 else means < means.max()
        return np.asarray(self.decided & bad[self.recommended])

    @property
    def none(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which runs found no arm better than control."""
        if self.control is None:
            return np.zeros(self.samples.size, bool)
        return np.asarray(self.recommended == self.control)

    @property
    def good_enough(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which runs recommended a best arm, or one that is worse by less than a difference that matters."""
        return np.asarray(self.decided & ~self.wrong)

    def summary(self) -> Summary:
        """Mean, spread, quantiles, error rate, undecided runs."""
        samples = self.samples.astype(float)
        decided = samples[self.decided]
        spread = float(samples.std(ddof=1)) if samples.size > 1 else math.nan
        return Summary(
            algorithm=str(self.scenario["algorithm"]),
            runs=samples.size,
            mean_samples=float(samples.mean()),
            std_samples=spread,
            median_samples=float(np.median(samples)),
            p90_samples=float(np.quantile(samples, 0.9, method="higher")),
            mean_samples_decided=float(decided.mean()) if decided.size else math.nan,
            error_rate=float(self.wrong.mean()),
            undecided=int((~self.decided).sum()),
            mean_releases=float(self.releases.mean()),
            seconds=self.seconds,
            standard_error=spread / math.sqrt(samples.size),
            per_arm=tuple(self.per_arm.mean(axis=0).tolist()),
            mean_days=None if self.days is None else float(self.days.mean()),
            p90_days=None if self.days is None else float(np.quantile(self.days, 0.9, method="higher")),
            mean_outstanding=float(self.outstanding.mean()),
            within_difference=float(self.good_enough.mean()),
            none=None if self.control is None else float(self.none.mean()),
        )

    def to_dataframe(self) -> pd.DataFrame:
        """One row a run, with what it came to; the version, seed and scenario are in the frame's `attrs`."""
        import pandas as pd

        frame = pd.DataFrame(
            {
                "run": np.arange(self.samples.size),
                "samples": self.samples,
                "recommended": self.recommended,
                "decided": self.decided,
                "wrong": self.wrong,
                "releases": self.releases,
                "outstanding": self.outstanding,
                **({} if self.days is None else {"days": self.days}),
                **{f"arm_{arm}": self.per_arm[:, arm] for arm in range(len(self.means))},
            }
        )
        frame.attrs.update(self._notes())
        return frame

    def rows(self) -> list[tuple[str, str]]:
        """What the runs came to, line by line."""
        summary = self.summary()
        said = [
            ("runs", f"{summary.runs:,}"),
            ("people, mean", f"{summary.mean_samples:,.0f} ± {summary.standard_error:,.0f}"),
            ("people, median", f"{summary.median_samples:,.0f}"),
            ("people, 9 in 10 within", f"{summary.p90_samples:,.0f}"),
            (
                "wrong answers" if self.control is not None else "wrong recommendations",
                f"{100 * summary.error_rate:.1f} %",
            ),
            (f"undecided at {self.max_samples:,} people", f"{summary.undecided:,}"),
            ("releases, mean", f"{summary.mean_releases:,.1f}"),
        ]
        if summary.none is not None:
            said.insert(5, ("no arm better than control", f"{100 * summary.none:.1f} %"))
        if summary.mean_days is not None and summary.p90_days is not None:
            said.insert(4, ("days, mean", f"{summary.mean_days:,.0f}"))
            said.insert(5, ("days, 9 in 10 within", f"{summary.p90_days:,.0f}"))
        return said + [("mind", warning) for warning in self.warnings]

    def __str__(self) -> str:
        means = ", ".join(f"{mean:g}" for mean in self.means)
        return "\n".join([f"{self.scenario['algorithm']} on means {means}", *(f"{k}: {v}" for k, v in self.rows())])

    def _repr_html_(self) -> str:
        lines = "".join(f"<tr><th scope='row'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in self.rows())
        means = ", ".join(f"{mean:g}" for mean in self.means)
        return f"<table><caption>{escape(str(self.scenario['algorithm']))} on means {means}</caption>{lines}</table>"

    def plot(self) -> Any:
        """A matplotlib figure: the share of runs that ended within so many people."""
        from matplotlib.figure import Figure as Canvas

        drawn = Canvas(figsize=(7.0, 4.0), layout="constrained")
        axes = drawn.subplots()
        ended = np.sort(self.samples[self.decided])
        axes.step(ended, np.arange(1, ended.size + 1) / self.samples.size, where="post", color="#0072B2")
        axes.axvline(self.samples.mean(), color="#555555", linestyle=":", label=f"mean: {self.samples.mean():,.0f}")
        axes.set_ylim(0, 1)
        axes.set_xlabel("people")
        axes.set_ylabel("share of runs that ended within them")
        axes.set_title(f"{self.scenario['algorithm']}, {self.samples.size:,} runs", fontsize=10.5)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        return drawn

    def releases_by_date(self) -> pd.DataFrame:
        """One row a release: run, release (from 1), day. Empty if nobody looked at a calendar."""
        import pandas as pd

        dates = np.zeros((0, 0)) if self.release_days is None else self.release_days
        run, number = np.nonzero(~np.isnan(dates))
        return pd.DataFrame({"run": run, "release": number + 1, "day": dates[run, number]})

    def save(self, path: str | Path) -> None:
        """Write one row a run as Parquet or CSV, by the name's ending, with version, seed and settings."""
        from bestarm.simulation.tables import write_table

        frame = self.to_dataframe()
        frame.attrs.clear()
        write_table(frame, Path(path), self._notes())

    def _notes(self) -> dict[str, Any]:
        settings = {"seed": self.seed, "max_samples": self.max_samples, "means": list(self.means)}
        return {"version": __version__, **settings, **self.scenario}


def _estimates(tally: FloatArray, design: Design) -> FloatArray:
    with np.errstate(invalid="ignore"):
        means = tally[:, 0] / tally[:, 1]
    return np.asarray(np.vectorize(lambda mean: outcome_mean(design.law, mean), otypes=[float])(means))
