"""The coin that chooses an arm: exactly the announced weights, from the operating system's randomness."""

from __future__ import annotations

import secrets

import pytest

from bestarm.trial.desk import pick_secretly
from tests.chance import CLEARLY, FALSE_ALARM, fits_weights

FROM_THE_SYSTEM = secrets.randbits
"""As it was before any test put a seed in its place."""


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.25, 0.0, 0.75), (0.0, 0.125, 0.375, 0.5), (0.0, 1.0)])
def test_each_arm_gets_exactly_its_share_of_all_coins(
    weights: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [0] * len(weights)
    for eighth in range(8):
        # The first and the last coin of every eighth of them all.
        for coin in (eighth * 2**50, (eighth + 1) * 2**50 - 1):
            monkeypatch.setattr("bestarm.trial.desk.secrets.randbits", lambda bits, coin=coin: coin)
            found[pick_secretly(weights)] += 1
    assert found == [16 * weight for weight in weights]


def test_coins_of_the_system_fall_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestarm.trial.desk.secrets.randbits", FROM_THE_SYSTEM)
    weights = (0.5, 0.0, 0.375, 0.125)
    arms = [pick_secretly(weights) for _ in range(20_000)]
    assert fits_weights(arms, 0, weights) > FALSE_ALARM
    assert fits_weights(arms, 0, (0.45, 0.0, 0.425, 0.125)) < CLEARLY
    assert 1 not in arms
