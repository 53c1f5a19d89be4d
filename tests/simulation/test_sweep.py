"""A sweep is resumable, keeps finished cells when interrupted, and says where its table comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import bestarm as ba
from bestarm.instance import Instance
from bestarm.simulation import sweep
from bestarm.simulation.runs import make_scenario, run_scenario
from bestarm.simulation.sweep import Cell, run_sweep


def make_cells(epsilons: list[float]) -> list[Cell]:
    instance = Instance.bernoulli([0.9, 0.5])
    return [
        Cell((("epsilon", epsilon),), make_scenario("dp-se", instance, epsilon=epsilon, delta=0.1), 5)
        for epsilon in epsilons
    ]


def count_runs(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    ran: list[float] = []
    real = run_scenario

    def counted(scenario: Any, **settings: Any) -> Any:
        ran.append(float(scenario.design.privacy.epsilon))
        return real(scenario, **settings)

    monkeypatch.setattr(sweep, "run_scenario", counted)
    return ran


def test_finished_cells_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = count_runs(monkeypatch)
    store = tmp_path / "results.parquet"
    first = run_sweep(make_cells([1.0, 2.0]), seed=1, store=store)
    more = run_sweep(make_cells([2.0, 3.0]), seed=1, store=store)
    assert ran == [1.0, 2.0, 3.0]
    pd.testing.assert_frame_equal(
        more[more["epsilon"] == 2.0].reset_index(drop=True), first[first["epsilon"] == 2.0].reset_index(drop=True)
    )
    run_sweep(make_cells([1.0]), seed=1, store=store)
    assert ran == [1.0, 2.0, 3.0], "cells of an earlier sweep stay in the store"


def test_another_seed_or_version_starts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = count_runs(monkeypatch)
    store = tmp_path / "results.parquet"
    run_sweep(make_cells([1.0]), seed=1, store=store)
    run_sweep(make_cells([1.0]), seed=2, store=store)
    monkeypatch.setattr(sweep, "__version__", "0.0.0")
    run_sweep(make_cells([1.0]), seed=2, store=store)
    assert ran == [1.0, 1.0, 1.0]


def test_an_interruption_keeps_finished_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = count_runs(monkeypatch)
    store = tmp_path / "results.parquet"

    def interrupt(done: int, total: int, cell: Cell) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(make_cells([1.0, 2.0, 3.0]), seed=1, store=store, progress=interrupt)
    table = run_sweep(make_cells([1.0, 2.0, 3.0]), seed=1, store=store)
    assert ran == [1.0, 2.0, 3.0]
    assert len(table) == 15
    assert [path.name for path in tmp_path.iterdir()] == ["results.parquet"], "no half-written file stays behind"


def test_the_table_carries_version_and_seed(tmp_path: Path) -> None:
    store = tmp_path / "results.parquet"
    run_sweep(make_cells([1.0]), seed=7, store=store)
    metadata = pq.read_schema(store).metadata
    assert metadata[b"bestarm.seed"] == b"7"
    assert metadata[b"bestarm.version"] == ba.__version__.encode()


def test_a_file_that_is_no_table_is_left_alone(tmp_path: Path) -> None:
    store = tmp_path / "results.parquet"
    store.write_text("my notes")
    with pytest.raises(ba.InputError, match="not a table of results"):
        run_sweep(make_cells([1.0]), seed=1, store=store)
    assert store.read_text() == "my notes"


def test_a_sweep_has_a_row_for_every_run_of_every_cell(tmp_path: Path) -> None:
    store = tmp_path / "sweep.parquet"
    run: dict[str, Any] = {"epsilon": [1.0, 2.0], "delta": 0.1, "runs": 3, "seed": 4, "max_participants": 50_000}
    worlds: dict[str, Any] = {"easy": [0.9, 0.3], "uneven": Instance.bernoulli([0.2, 0.5, 0.9])}
    frame = ba.sweep(["dp-se", "ttucb"], worlds, store=store, **run)
    assert len(frame) == 2 * (2 + 1) * 3, "an algorithm without privacy has one cell an instance"
    assert set(frame["instance"]) == {"easy", "uneven"}
    assert frame.attrs["seed"] == 4
    assert frame.attrs["version"] == ba.__version__
    assert frame.attrs["algorithms"]["dp-se"]["identity"] == "dp-se@1"
    again = ba.sweep(["dp-se", "ttucb"], worlds, store=store, jobs=2, **run)
    pd.testing.assert_frame_equal(again, frame)
    alone = ba.simulate("dp-se", means=[0.9, 0.3], epsilon=2, delta=0.1, runs=3, seed=4, max_participants=50_000)
    kept = frame[(frame["instance"] == "easy") & (frame["epsilon"] == 2.0)]
    assert kept["samples"].tolist() == alone.samples.tolist(), "a cell is what simulate gives"


@pytest.mark.parametrize(
    ("algorithms", "worlds", "more", "said"),
    [
        ([], [[0.9, 0.1]], {}, "at least one"),
        ("dp-se", [], {}, "at least one"),
        (["dp-se", "dp-se"], [[0.9, 0.1]], {}, "the same name"),
        ("dp-se", [[0.9, 0.1]], {"store": "table.csv"}, "end in .parquet"),
        ("dp-es", [[0.9, 0.1]], {}, "There is no algorithm"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused(algorithms: Any, worlds: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(ba.InputError, match=said):
        ba.sweep(algorithms, worlds, epsilon=1.0, runs=1, **more)
