"""The installation qualification: every check passes here, each can fail, and the record says so."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from bestarm.cli import main
from bestarm.privacy.noise import SystemNoise
from bestarm.qualification import checks as all_checks
from bestarm.qualification import qualify, write_record
from bestarm.qualification.checks import CHECKS, FROZEN
from tests.storage.freeze import SHIPPED, frozen

SLOW = ("error rate under a trend",)
"""Compiles the default algorithm."""
QUICK = tuple(check for check in CHECKS if check[0] not in SLOW)


class Off(SystemNoise):
    """Noise of half the scale."""

    def laplace(self, scale: Fraction) -> int:
        return super().laplace(scale / 2)

    def gaussian(self, variance: Fraction) -> int:
        return super().gaussian(variance / 4)


@pytest.fixture(autouse=True)
def only_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_checks, "CHECKS", QUICK)


def test_this_installation_passes_and_the_record_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["qualify", "--out", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] is True
    assert [check["name"] for check in found["checks"]] == [name for name, *_ in QUICK]
    assert all(check["expected"] and check["found"] for check in found["checks"])
    assert json.loads((tmp_path / "qualification.json").read_text())["passed"] is True
    assert "Installation qualification: passed" in (tmp_path / "qualification.html").read_text()


def broken_bounds(*_: Any) -> Any:
    raise ValueError("out of order")


def always_first(weights: Any) -> int:
    return 0


@pytest.mark.parametrize(
    ("place", "planted", "name"),
    [
        ("bestarm.privacy.noise.live_noise", Off, "noise of live trials, discrete Laplace"),
        ("bestarm.privacy.noise.live_noise", Off, "noise of live trials, discrete Gaussian"),
        ("bestarm.trial.desk.pick_secretly", always_first, "coins of live trials"),
        ("bestarm.theory.bounds", broken_bounds, "reference numbers: bounds"),
        ("bestarm.theory.group_sequential.obrien_fleming_constant", lambda *_: 1.96, "reference numbers: designs"),
    ],
)
def test_what_is_broken_fails(
    place: str, planted: Any, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(place, planted)
    monkeypatch.setattr(all_checks, "CHECKS", tuple(check for check in QUICK if check[0] == name))
    record = qualify()
    assert [check.passed for check in record.checks] == [False]
    paths = write_record(record, tmp_path)
    assert "FAIL" in Path(paths["html"]).read_text()


def test_a_failed_check_is_exit_status_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(all_checks, "CHECKS", (("one", "right", lambda: ("wrong", False)),))
    assert main(["qualify"]) == 1
    assert "FAIL" in capsys.readouterr().out


def test_a_frozen_trial_that_was_changed_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sqlalchemy as sa

    from bestarm.trial.trial import Trial

    copy = tmp_path / FROZEN
    copy.write_bytes((files("bestarm.qualification") / FROZEN).read_bytes())
    engine = sa.create_engine(f"sqlite:///{copy}")
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE events SET actor = 'somebody' WHERE seq = 5"))
    engine.dispose()
    trial = Trial.open(copy, name="frozen")
    assert not trial.verify().ok
    trial.close()


def test_the_shipped_trial_is_one_of_the_frozen_ones() -> None:
    assert (files("bestarm.qualification") / FROZEN).read_bytes() == frozen(SHIPPED).read_bytes()
