"""One cell of the paper's experiments, summed up and held against the bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bestarm.instance import PAPER_MEANS
from bestarm.policy.catalogue import CATALOGUE
from bestarm.theory import bounds

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class CellSummary:
    """What the runs of one algorithm on one of the paper's instances came to."""

    instance: int
    algorithm: str
    epsilon: float | None
    """None for algorithms without privacy, which have one cell an instance."""
    runs: int
    mean: float
    std: float
    wrong: int
    undecided: int
    cap: int
    lower_bound_corollary: float
    lower_bound_refined: float
    regime_epsilon: float

    @property
    def high_privacy(self) -> bool:
        """Whether the budget lies where privacy costs samples."""
        return self.epsilon is not None and self.epsilon < self.regime_epsilon


def summarise(rows: pd.DataFrame, delta: float) -> list[CellSummary]:
    """Sum up the sweep's long table, cell by cell, in its order. Undecided runs count at the cap."""
    summaries = []
    for _, cell in rows.groupby(["instance", "algorithm", "epsilon"], sort=False, dropna=False):
        number, name, budget = (
            int(cell["instance"].iloc[0]),
            str(cell["algorithm"].iloc[0]),
            float(cell["epsilon"].iloc[0]),
        )
        epsilon = None if math.isnan(budget) else budget  # a table has no other word for a missing number
        held = bounds(PAPER_MEANS[number - 1], epsilon, delta)
        samples = np.asarray(cell["samples"], float)
        summaries.append(
            CellSummary(
                instance=number,
                algorithm=name,
                epsilon=epsilon,
                runs=samples.size,
                mean=float(samples.mean()),
                std=float(samples.std(ddof=1)) if samples.size > 1 else 0.0,
                wrong=int(np.asarray(cell["wrong"], bool).sum()),
                undecided=int((~np.asarray(cell["decided"], bool)).sum()),
                cap=int(np.asarray(cell["max_samples"])[0]),
                lower_bound_corollary=held.lower_bound_corollary,
                lower_bound_refined=held.lower_bound_refined,
                regime_epsilon=held.regime_epsilon,
            )
        )
    return summaries


def spread(cell: CellSummary) -> str:
    """Mean ± standard deviation, with a star if runs were undecided and count at the cap."""
    return f"{cell.mean:.3g} ± {cell.std:.2g}" + "*" * (cell.undecided > 0)


def label(name: str) -> str:
    """The algorithm's name, with what must stand beside its results."""
    caveat = CATALOGUE[name].caveat
    return f"{name} ({caveat})" if caveat else name
