"""The demonstration: two servers in processes of their own, and a trial over both."""

from __future__ import annotations

from pathlib import Path

from bestarm.demo_distributed import outcomes_in, run_two_servers, stored


def test_two_servers_run_a_trial_and_neither_sees_an_outcome(tmp_path: Path) -> None:
    said: list[str] = []
    found = run_two_servers(tmp_path, said.append, seed=3, doses={"low": 0.05, "high": 0.95})
    assert found.recommended == "high"
    assert found.verified
    assert found.outcomes_stored == 0
    first, second = (stored(tmp_path / name) for name in ("first.db", "second.db"))
    assert set(first) == set(second)
    assert len(first) == found.participants
    assert not any(set(first[who]) & set(second[who]) for who in first)
    assert outcomes_in(tmp_path / "first.db") == 0
    assert sum("answers at" in line for line in said) == 2
    assert any("released" in line for line in said)
