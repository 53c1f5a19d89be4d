"""A clock that tests move, noise that tests choose, a door that follows a script, and people who answer."""

from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction

import pytest

from bestarm.privacy.coins import Coins
from bestarm.privacy.noise import LiveNoise
from bestarm.trial.trial import Trial

DAY = 86400.0


def arms_from(monkeypatch: pytest.MonkeyPatch, seed: str) -> None:
    """Let the coins that choose people's arms fall by a seed, so that no test depends on chance through them."""
    monkeypatch.setattr("bestarm.trial.desk.secrets.randbits", random.Random(seed).getrandbits)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += seconds


class ChosenNoise(LiveNoise):
    """Adds the given numbers (in integer steps), then zeros, and counts how often it was asked. For tests alone."""

    name = "chosen"

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._numbers = iter(numbers)
        self.draws = 0

    def laplace(self, scale: Fraction) -> int:
        self.draws += 1
        return next(self._numbers, 0)

    def gaussian(self, variance: Fraction) -> int:
        return next(self._numbers, 0)

    def laplace_scale_used(self, scale: Fraction) -> Fraction:
        return scale

    def gaussian_variance_used(self, variance: Fraction) -> Fraction:
        return variance


class ScriptedDoor:
    """A door that hands out releases somebody else has drawn."""

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def encode(self, outcome: Fraction, coins: Coins) -> int:
        return 0

    def release(self, total: int) -> int:
        return self.values.pop(0)

    def terms(self) -> dict[str, str | None]:
        return {}


def enrol(trial: Trial, means: dict[str, float], people: int, seed: int = 1, first: int = 0) -> int:
    """Ask and tell for this many people, or until the trial stops; how many were enrolled."""
    rng = random.Random(seed)
    for number in range(people):
        asked = trial.ask(f"subject {first + number}")
        if asked.id is None or asked.arm is None:
            return number
        trial.tell(asked.id, int(rng.random() < means[asked.arm]))
    return people
