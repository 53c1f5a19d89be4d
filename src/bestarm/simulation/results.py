"""What runs came to: one row a run, and a summary that never counts an undecided run as decided."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bestarm import __version__
from bestarm.instance import Instance
from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.record import IntArray

if TYPE_CHECKING:
    import pandas as pd


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


@dataclass(frozen=True)
class Results:
    """Every run of one scenario, in the order of its runs."""

    scenario: dict[str, Any]
    means: tuple[float, ...]
    seed: int
    max_samples: int
    samples: IntArray
    recommended: IntArray
    """The recommended arm's index, or UNDECIDED."""
    releases: IntArray
    per_arm: IntArray
    """People per arm, run by arm."""
    seconds: float
    """Time the runs took, without compilation."""

    @classmethod
    def of(
        cls, scenario: dict[str, Any], instance: Instance, seed: int, max_samples: int, rows: IntArray, seconds: float
    ) -> Results:
        """From the simulator's rows: people, recommended arm, releases, people per arm."""
        return cls(
            scenario, instance.means, seed, max_samples, rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3:], seconds
        )

    @property
    def decided(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which runs stopped by themselves."""
        return np.asarray(self.recommended != UNDECIDED)

    @property
    def wrong(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which runs recommended a wrong arm: not a best one, or one that is worse by a difference that matters."""
        means = np.array(self.means)
        zone = float(Fraction(self.scenario["difference"]))
        bad = means <= means.max() - zone if zone > 0 else means < means.max()
        return np.asarray(self.decided & bad[self.recommended])

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
                **{f"arm_{arm}": self.per_arm[:, arm] for arm in range(len(self.means))},
            }
        )
        frame.attrs.update(self._notes())
        return frame

    def save(self, path: str | Path) -> None:
        """Write one row a run as Parquet or CSV, by the name's ending, with version, seed and settings."""
        from bestarm.simulation.tables import write_table

        frame = self.to_dataframe()
        frame.attrs.clear()
        write_table(frame, Path(path), self._notes())

    def _notes(self) -> dict[str, Any]:
        settings = {"seed": self.seed, "max_samples": self.max_samples, "means": list(self.means)}
        return {"version": __version__, **settings, **self.scenario}
