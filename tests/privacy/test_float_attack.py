"""Why noise is made of integers: the low bits of a floating-point release can betray the secret.

The attack looks at one number. If noise was added to 1 in double precision, a small result is a multiple of 2^-53;
if it was added to 0, all its low bits are there. Other low bits prove that the secret was 0, whatever was promised.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from bestarm.privacy.mechanism import mechanism_of
from bestarm.privacy.noise import SystemNoise
from bestarm.release.models import ON_GRID, Privacy

RUNS = 4000


def proves_zero(release: float) -> bool:
    return abs(release) < 1 and (release * 2.0**53) % 1 != 0


def certain_wins(release: Callable[[int], float]) -> tuple[int, int]:
    """How often the attack is certain of 0 when the secret is 0, and (wrongly) when it is 1."""
    return sum(proves_zero(release(0)) for _ in range(RUNS)), sum(proves_zero(release(1)) for _ in range(RUNS))


def test_the_attack_breaks_floating_point_noise() -> None:
    rng = np.random.default_rng(1)
    right, wrong = certain_wins(lambda secret: secret + rng.laplace(0.0, 1.0))
    assert right > RUNS / 20
    assert wrong == 0


def test_the_attack_learns_nothing_from_integer_noise() -> None:
    mechanism = mechanism_of(Privacy("pure", Fraction(1)), ON_GRID, SystemNoise())
    grid = mechanism.encoder.grid
    assert certain_wins(lambda secret: mechanism.release(secret * grid) / grid) == (0, 0)
