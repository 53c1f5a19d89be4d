"""`bestarm reproduce` as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bestarm.cli import main


def test_reproduce_refuses_an_unknown_figure_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "--figure", "7", "--out", str(tmp_path / "here")]) == 2
    assert "figure" in capsys.readouterr().err
    assert not (tmp_path / "here").exists()
