"""A progress bar for Python sessions and notebooks: hand it over wherever a function takes `progress`."""

from __future__ import annotations

import sys
from typing import Final, TextIO

WIDTH: Final = 30


class ProgressBar:
    """Draws itself on one line as work goes on: `ba.plan(..., progress=ba.ProgressBar("Planning"))`."""

    def __init__(self, label: str = "", stream: TextIO | None = None) -> None:
        self.label = label
        self._stream = stream
        self._shown = ""

    def __call__(self, done: int, total: int) -> None:
        """So much of all is done."""
        share = done / total if total else 1.0
        full = int(share * WIDTH)
        line = f"{self.label} {'█' * full}{'░' * (WIDTH - full)} {100 * share:3.0f} %".strip()
        if line != self._shown:
            stream = self._stream or sys.stderr
            stream.write(f"\r{line}" + ("\n" if done >= total else ""))
            stream.flush()
            self._shown = line
