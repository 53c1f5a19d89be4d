"""Pre-drawn outcomes and noise, so that an oracle and the package can be given the same people."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Tape:
    """Outcomes of each arm in the order people come to it, and the noise of each of its batches."""

    outcomes: list[list[float]]
    noise: list[list[float]]
    coins: np.random.Generator
    used: list[int] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.used = [0] * len(self.outcomes)
        self.batches = [0] * len(self.outcomes)

    def outcome(self, arm: int) -> float:
        """The next person's outcome."""
        self.used[arm] += 1
        return self.outcomes[arm][self.used[arm] - 1]

    def next_noise(self, arm: int) -> float:
        """The noise of the arm's next batch, on its sum."""
        self.batches[arm] += 1
        return self.noise[arm][self.batches[arm] - 1]


@dataclass
class Story:
    """What an oracle did: the arm of each person, each release, and the verdict."""

    arms: list[int] = field(default_factory=list)
    releases: list[tuple[int, int, float]] = field(default_factory=list)
    verdict: int = -1
