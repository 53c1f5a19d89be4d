"""Offers that were worked out once are those that would be worked out again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bestarm.policy.evidence.constants import CoinConstants, coin_constants
from bestarm.policy.evidence.memory import Memory, new_memory
from bestarm.policy.evidence.plan import Offers, no_offers, plan_stage
from bestarm.release.laws import pure_law

LAW = pure_law(1.0)
CONSTANTS = coin_constants(3, LAW, 0.05)


def remembered(arms: int = 3) -> Memory:
    memory = new_memory(arms, LAW, CONSTANTS.tuning.first_spread)
    memory.people[:] = (200.0, 180.0, 150.0)
    memory.mean[:] = (0.6, 0.52, 0.5)
    memory.variance[:] = (0.0012, 0.0012, 0.0014)
    memory.wealth[:] = (-0.1, 0.4, 0.9)
    return memory


def planned(constants: CoinConstants, memory: Memory, offers: Offers) -> tuple[Any, ...]:
    sizes = np.zeros(3)
    course = plan_stage(constants, memory, np.array(memory.people), 0, offers, sizes)
    return (*course, *sizes.tolist())


CHANGES: dict[str, Callable[[Memory], None]] = {
    "wealth": lambda memory: memory.wealth.__setitem__(1, 2.6),
    "mean": lambda memory: memory.mean.__setitem__(2, 0.4),
    "variance": lambda memory: memory.variance.__setitem__(1, 0.02),
    "people": lambda memory: memory.people.__setitem__(2, 170.0),
    "leader": lambda memory: memory.out_since.__setitem__(0, 500.0),
    "tie": lambda memory: memory.tie.__setitem__(0, 0.001),
    "one tied arm": lambda memory: memory.tied.__setitem__(0, 2),
    "the other": lambda memory: memory.tied.__setitem__(1, 2),
}


@pytest.mark.parametrize("what", CHANGES)
def test_offers_are_worked_out_again_whenever_anything_they_follow_from_has_changed(what: str) -> None:
    memory, offers = remembered(), no_offers(3, CONSTANTS.gaps.size)
    memory.tied[:], memory.tie[0] = (0, 1), -0.005
    before = planned(CONSTANTS, memory, offers)
    CHANGES[what](memory)
    after = planned(CONSTANTS, memory, offers)
    assert after != before
    assert after == planned(CONSTANTS, memory, no_offers(3, CONSTANTS.gaps.size))


def test_without_a_change_nothing_is_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, offers = remembered(), no_offers(3, CONSTANTS.gaps.size)
    before = planned(CONSTANTS, memory, offers)
    monkeypatch.delattr("bestarm.policy.evidence.plan.best_offer")
    assert planned(CONSTANTS, memory, offers) == before
