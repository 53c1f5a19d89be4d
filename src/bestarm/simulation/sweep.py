"""Many scenarios, one long table: resumable, interruptible, the same for any number of jobs.

A cell is a scenario with its number of runs. Finished cells are kept in a Parquet file whose metadata
names the version and the seed; a cell that the file already holds is not run again.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bestarm import __version__
from bestarm.design import resolve
from bestarm.errors import InputError
from bestarm.instance import Instance
from bestarm.policy.algorithm import Algorithm
from bestarm.simulation.runs import Scenario, make_scenario, run_scenario
from bestarm.simulation.tables import read_table, write_table

if TYPE_CHECKING:
    import pandas as pd

WRITE_EVERY_SECONDS = 5.0

Means: TypeAlias = Sequence[float] | Instance
"""The means of Bernoulli arms, or an instance."""


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


def sweep(
    algorithms: str | Algorithm | Sequence[str | Algorithm],
    instances: Mapping[str, Means] | Sequence[Means],
    *,
    epsilon: float | Sequence[float] | None = None,
    delta: float = 0.01,
    runs: int = 100,
    seed: int = 0,
    jobs: int = 1,
    store: str | Path | None = None,
    progress: SweepProgress | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Simulate every algorithm on every instance at every budget: one long table, a row for every run.

    `instances` are means, or `Instance`s, by name or in a list (then numbered from 1). Algorithms without privacy have
    one cell an instance, with no epsilon. `settings` go to every scenario as `simulate` takes them: privacy,
    difference, max_participants, enrol and so on.

    With `store`, a Parquet file, finished cells are kept as the sweep goes on and are not run again, until rules,
    settings, seed or version change. Results do not depend on `jobs`; inside `joblib.parallel_config` with the backend
    of a Dask or Ray cluster, `jobs=-1` uses the cluster. `frame.attrs` says where the table comes from: version, seed,
    and every algorithm's revision and fingerprint.
    """
    named = [algorithms] if isinstance(algorithms, str | Algorithm) else list(algorithms)
    worlds = instances if isinstance(instances, Mapping) else {str(i): one for i, one in enumerate(instances, start=1)}
    budgets = list(epsilon) if isinstance(epsilon, Sequence) else [epsilon]
    if not named or not worlds or not budgets:
        raise InputError("A sweep needs at least one algorithm, one instance and one budget.")
    rules = [resolve(one) for one in named]
    if len({one.name for one in rules}) < len(rules):
        raise InputError("Two algorithms of the sweep have the same name; the table could not tell them apart.")
    place = None if store is None else Path(store)
    if place is not None and place.suffix != ".parquet":
        raise InputError(f"A sweep is kept in a Parquet file; {place.name} must end in .parquet.")
    cells = []
    for label, world in worlds.items():
        instance = world if isinstance(world, Instance) else Instance.bernoulli(world)
        for one in rules:
            private = settings.get("privacy", one.privacy[0]) != "none"
            for budget in budgets if private else [None]:
                scenario = make_scenario(one, instance, epsilon=budget, delta=delta, **settings)
                at = math.nan if budget is None else float(budget)
                cells.append(Cell((("instance", label), ("algorithm", one.name), ("epsilon", at)), scenario, runs))
    frame = run_sweep(cells, seed=seed, jobs=jobs, store=place, progress=progress)
    origin = {one.name: {"identity": one.identity, "fingerprint": one.fingerprint} for one in rules}
    frame.attrs.update(_notes(seed), algorithms=origin)
    return frame


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
