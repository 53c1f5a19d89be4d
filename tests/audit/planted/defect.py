"""What a planted defect is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final

NOISE, REPLAY = "noise", "replay"
"""Which half of the audit has to see it: the black box, or the replays."""

BINARY: Final = {"epsilon": "1", "outcomes": "binary"}
FOLLOWED: Final = {"epsilon": "1", "follow_up": "7d"}


@dataclass(frozen=True)
class Planted:
    """One defect: how it is planted, the design in which it shows, and who has to see it."""

    name: str
    plant: Callable[[], AbstractContextManager[None]]
    seen_by: str
    design: Mapping[str, Any] = field(default_factory=lambda: BINARY)
    tests: tuple[str, ...] = ()
    """Tests of the suite, other than the audit's own, that fail while it is planted."""
