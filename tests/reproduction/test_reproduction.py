"""The reproduction writes its files, answers every claim, and never passes a heuristic off as proven."""

from __future__ import annotations

from pathlib import Path

import pytest

import bestarm as ba
from bestarm.instance import PAPER_EPSILONS
from bestarm.policy.catalogue import CATALOGUE
from bestarm.reproduction import experiments
from bestarm.reproduction.cells import CellSummary
from bestarm.reproduction.claims import write_report
from bestarm.reproduction.figures import STYLES


def test_the_full_figure_has_every_cell() -> None:
    cells = experiments.make_cells(2, 100, quick=False)
    shown = [CATALOGUE[name] for name in experiments.ALGORITHMS]
    private = sum("pure" in algorithm.privacy for algorithm in shown)
    assert len(cells) == 6 * (private * len(PAPER_EPSILONS) + len(shown) - private)
    assert {cell.scenario.cap for cell in cells if cell.scenario.algorithm.name == "adap-tt"} == {10**7}


def test_whatever_has_a_line_style_is_run() -> None:
    assert set(STYLES) <= set(experiments.ALGORITHMS)


def test_a_small_reproduction_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "QUICK_EPSILONS", (0.1, 1.0, 10.0))
    monkeypatch.setattr(experiments, "QUICK_RUNS", 3)
    monkeypatch.setattr(experiments, "QUICK_CAP", 10**5)
    cells = experiments.reproduce(tmp_path, figure=1, quick=True, seed=5)
    assert {path.name for path in tmp_path.iterdir()} == {"figure1.png", "results.parquet", "results.csv", "report.md"}
    assert (tmp_path / "figure1.png").read_bytes().startswith(b"\x89PNG")
    report = (tmp_path / "report.md").read_text()
    for claim in range(1, 5):
        assert f"## Claim {claim}" in report
    for line in report.splitlines():
        if line.startswith(("| adap-tt-published", "| ttucb-published")):
            assert "not proven" in line or "heuristic" in line
    assert all(cell.runs == 3 for cell in cells)


def made_up(algorithm: str, epsilon: float | None, mean: float, wrong: int = 0, undecided: int = 0) -> CellSummary:
    return CellSummary(1, algorithm, epsilon, 100, mean, 1.0, wrong, undecided, 10**7, 10.0, 20.0, 0.5)


def story(published: float, wrong: int = 0, undecided: int = 0) -> list[CellSummary]:
    cells = [made_up("ttucb", None, 100.0), made_up("ttucb-published", None, 50.0)]
    cells.append(made_up("adap-tt-nonprivate", None, 300.0))
    for epsilon in (0.1, 0.2, 1.0, 10.0):
        factor = max(1.0, 1 / epsilon)
        cells.append(made_up("dp-se", epsilon, 200.0 * factor))
        cells.append(made_up("adap-tt", epsilon, 900.0 * factor, undecided=undecided))
        cells.append(made_up("adap-tt-published", epsilon, published * factor, wrong=wrong))
    return cells


def report_on(cells: list[CellSummary]) -> str:
    return write_report(cells, seed=1, quick=False, figure=1, delta=0.01)


def test_claims_follow_the_measurements() -> None:
    good = report_on(story(published=150.0))
    assert "For the released code: **reproduced** below the regime line (2 of 2 cells)" in good
    assert "released AdaP-TT / released TTUCB: **reproduced** (1 of 1" in good
    assert "no cell's 99% interval lies above delta" in good
    bad = report_on(story(published=250.0, wrong=9))
    assert "For the released code: **not reproduced** below the regime line (0 of 2 cells)" in bad
    assert "released AdaP-TT / released TTUCB: **not reproduced** (0 of 1" in bad
    assert "9 of 100 wrong" in bad


def test_undecided_runs_never_count_as_fewer_samples() -> None:
    cells = [
        made_up(cell.algorithm, cell.epsilon, 1.0, undecided=1) if cell.algorithm == "adap-tt" else cell
        for cell in story(published=150.0)
    ]
    assert "For Algorithm 2 as written: **not reproduced** below the regime line (0 of 2 cells)" in report_on(cells)


def test_there_is_no_third_figure(tmp_path: Path) -> None:
    with pytest.raises(ba.InputError, match="1 and 2"):
        experiments.reproduce(tmp_path / "out", figure=3)
    assert not (tmp_path / "out").exists()
