"""Many scenarios, one long table: resumable, interruptible, the same for any number of jobs.

A cell is a scenario with its number of runs. Finished cells are kept in a Parquet file whose metadata
names the version and the seed; a cell that the file already holds is not run again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bestarm import __version__
from bestarm.simulation.runs import Scenario, run_scenario
from bestarm.simulation.tables import read_table, write_table

if TYPE_CHECKING:
    import pandas as pd

WRITE_EVERY_SECONDS = 5.0


@dataclass(frozen=True)
class Cell:
    """One scenario of a study, with the labels it carries in the table."""

    labels: tuple[tuple[str, Any], ...]
    scenario: Scenario
    runs: int

    def key(self) -> str:
        """Names everything that decides this cell's rows but the seed and the version, the rules' sources included."""
        rules = self.scenario.algorithm.fingerprint
        return json.dumps([self.scenario.describe(), rules, self.runs, self.scenario.cap], sort_keys=True)


SweepProgress: TypeAlias = Callable[[int, int, Cell], None]
"""Told (cells finished, cells in all, the cell just finished)."""


def run_sweep(
    cells: Sequence[Cell],
    *,
    seed: int,
    jobs: int = 1,
    store: Path | None = None,
    progress: SweepProgress | None = None,
) -> pd.DataFrame:
    """Run every cell that `store` does not hold yet and return the long table, one row a run, in the cells' order.

    Finished cells are written to `store` as the sweep goes on, and once more if it is interrupted.
    """
    import pandas as pd

    frames = {} if store is None else _read(store, seed)
    wanted = [cell.key() for cell in cells]
    written = time.monotonic()
    try:
        for done, (cell, key) in enumerate(zip(cells, wanted, strict=True), start=1):
            if key not in frames:
                frames[key] = _run(cell, key, seed, jobs)
                if store is not None and time.monotonic() - written > WRITE_EVERY_SECONDS:
                    write_table(pd.concat(frames.values(), ignore_index=True), store, _notes(seed))
                    written = time.monotonic()
            if progress:
                progress(done, len(cells), cell)
    finally:
        if store is not None and frames:
            write_table(pd.concat(frames.values(), ignore_index=True), store, _notes(seed))
    return pd.concat([frames[key] for key in wanted], ignore_index=True).drop(columns="cell")


def _run(cell: Cell, key: str, seed: int, jobs: int) -> pd.DataFrame:
    results = run_scenario(cell.scenario, runs=cell.runs, seed=seed, jobs=jobs)
    frame = results.to_dataframe()
    for position, (name, value) in enumerate(cell.labels):
        frame.insert(position, name, value)
    frame["max_samples"] = cell.scenario.cap
    frame["seconds"] = results.seconds / cell.runs
    frame["cell"] = key
    frame.attrs.clear()
    return frame


def _read(store: Path, seed: int) -> dict[str, pd.DataFrame]:
    if not store.exists():
        return {}
    frame, notes = read_table(store)
    if notes != {key: str(value) for key, value in _notes(seed).items()}:
        return {}
    return {str(key): rows for key, rows in frame.groupby("cell", sort=False)}


def _notes(seed: int) -> dict[str, Any]:
    return {"version": __version__, "seed": seed}
