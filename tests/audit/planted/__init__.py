"""Defects planted into the running code, one at a time, each of which the audit and the tests have to catch.

A defect is a context manager that patches the very classes a trial is made of. `LISTED` are the twenty of
docs/security.md, `MORE` some others; each names the design in which it shows.
"""

from __future__ import annotations

from typing import Final

from tests.audit.planted.defect import Planted
from tests.audit.planted.noise import NOISE
from tests.audit.planted.trials import MORE_TRIALS, TRIALS

LISTED: Final[tuple[Planted, ...]] = (*NOISE, *TRIALS)
MORE: Final[tuple[Planted, ...]] = MORE_TRIALS
DEFECTS: Final[dict[str, Planted]] = {one.name: one for one in (*LISTED, *MORE)}

__all__ = ["DEFECTS", "LISTED", "MORE", "Planted"]
