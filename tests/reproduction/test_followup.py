"""The follow-up's experiments: their cells, and a report that follows the measurements."""

from __future__ import annotations

from pathlib import Path

import pytest

from bestarm.cli import main
from bestarm.policy.catalogue import CATALOGUE
from bestarm.reproduction import followup
from bestarm.reproduction.cells import CellSummary
from bestarm.reproduction.figures import FOLLOWUP_STYLES


def cell(algorithm: str, instance: int, epsilon: float | None, mean: float, undecided: int = 0) -> CellSummary:
    return CellSummary(instance, algorithm, epsilon, 100, mean, 1.0, 0, undecided, 10**7, 10.0, 20.0, 0.5)


def test_every_cell_of_the_poster_has_one_here() -> None:
    cells = {tuple(value for _, value in one.labels[:3]): one for one in followup.make_cells(100, quick=False)}
    for curve in followup.POSTER:
        for name in curve.algorithms:
            for epsilon in curve.people:
                if epsilon is not None:
                    assert cells[curve.instance, name, epsilon].scenario.design.privacy.model == curve.privacy
    assert set(FOLLOWUP_STYLES) == set(followup.CENTRAL)
    assert all(CATALOGUE[name].proven or name.endswith("-published") for name in followup.CENTRAL)


def test_the_report_follows_the_measurements() -> None:
    central = [
        cell("dp-se", 1, 0.1, 465e3),
        cell("dp-se", 1, 0.464, 200e3),
        cell("dp-tt", 4, 0.1, 3.0e3, undecided=2),
        cell("eb-tci-published", 1, None, 4.1e3),
        cell("evidence", 1, 0.1, 11.5e3 / 2),
    ]
    local = [cell("ctb-tt", 1, 4.0, 54e3), cell("evidence", 1, 4.0, 40.0)]
    report = followup.write_followup(central, local, seed=1, quick=False)
    assert "| DP-SE | 1 | dp-se | 0.1: 1.00, 0.464: 1.83 | 1 of 2 |" in report
    assert "| DP-TT | 4 | dp-tt | 0.1: 1.00* | 0 of 1 |" in report, "a cell with undecided runs never agrees"
    assert "| EB-TCI | 1 | eb-tci-published (heuristic threshold, not proven) | any: 1.02 | 1 of 1 |" in report
    assert "| DP-TT | 1 | 0.1: 2.00 (575.00) | 0 of 1 |" in report
    assert "| CTB-TT | 1 | ctb-tt | 4: 2.00 | 0 of 1 |" in report
    assert "| 4 | 20 | 40 ± 1; 2.00 | 5.4e+04 ± 1; 2700.00 |" in report


def test_a_small_run_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followup, "QUICK_EPSILONS", (0.464,))
    monkeypatch.setattr(followup, "QUICK_LOCAL", (4.0,))
    monkeypatch.setattr(followup, "QUICK_RUNS", 2)
    monkeypatch.setattr(followup, "QUICK_CAP", 10**5)
    monkeypatch.setattr(followup, "CENTRAL", ("dp-se", "eb-tci-published"))
    monkeypatch.setattr(followup, "LOCAL", ("ctb-tt",))
    cells = followup.reproduce_followup(tmp_path, quick=True, seed=5)
    assert len(cells) == 5
    names = {"followup.md", "followup.png", "followup.parquet", "followup.csv"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert (tmp_path / "followup.png").read_bytes().startswith(b"\x89PNG")


def test_an_unknown_figure_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--figure", "poster", "--out", str(tmp_path / "out")]) == 2
    assert "1, 2 and followup" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
