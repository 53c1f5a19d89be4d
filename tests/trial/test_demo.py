"""The demonstration runs through: planned, crashed, recovered, stopped, reported."""

from __future__ import annotations

from pathlib import Path

from bestarm.demo import CRASH_AFTER, DOSES, NAME, run_demo
from bestarm.trial.trial import Trial


def test_the_demonstration(tmp_path: Path) -> None:
    said: list[str] = []
    found = run_demo(tmp_path / "demo", said.append, seed=3)
    assert found.recommended in DOSES
    assert found.recovered
    assert found.verified
    assert found.participants >= CRASH_AFTER
    assert found.epsilon_spent == 1
    assert found.planned.lower_bound < found.planned.expected < found.planned.paper
    assert any("SIGKILL" in line for line in said)
    assert "Recommended" in Path(found.report).read_text()
    assert Path(found.figure).read_bytes().startswith(b"\x89PNG")
    with Trial.open(found.store, name=NAME) as trial:
        verdict = trial.verdict
        assert verdict is not None
        assert verdict.arm == found.recommended
