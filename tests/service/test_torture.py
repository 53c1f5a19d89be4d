"""Servers that share a store are killed while others ask and tell: the short version of `benchmarks.torture`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KILLS, RELEASES = 15, 8
"""At least; servers are killed until so many releases, two stages' sums of four arms, were seen meanwhile."""


def test_killing_two_servers_loses_doubles_and_redraws_nothing(place: str) -> None:
    numbers = [str(number) for number in (KILLS, 2, 8, 7, RELEASES)]
    command = [sys.executable, "-W", "ignore", "-m", "tests.service.torture", place, *numbers]
    quiet = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kills"] >= KILLS
    assert found["outcomes"] > 0
    assert found["releases_seen"] >= RELEASES
    assert found["problems"] == found["lost"] == found["redrawn"] == []
    assert found["doubled"] == 0
    assert found["verified"] == found["trials"] > 0
