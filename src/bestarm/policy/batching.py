"""How many people an arm's next batch holds. The size is a function of the public record, fixed when a batch opens."""

from __future__ import annotations

from typing import Any

from bestarm.policy.algorithm import State
from bestarm.rules import rule


@rule
def doubling(state: State, constants: Any, arm: int) -> int:
    """1, 1, 2, 4, 8, ...: an arm's total doubles with each batch (Algorithm 2, line 5).

    Counts batches opened, not released, so that recruitment never waits for outcomes that come late.
    """
    opened = int(state.record.opened[arm])
    return 1 if opened == 0 else 2 ** (opened - 1)


@rule
def every_outcome(state: State, constants: Any, arm: int) -> int:
    """A batch of one: each outcome is released by itself, as algorithms without central privacy do."""
    return 1
