"""What is unknown in life and known in simulation: the arms and the laws of their outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bestarm.errors import InputError

PAPER_MEANS: tuple[tuple[float, ...], ...] = (
    (0.95, 0.9, 0.9, 0.9, 0.5),
    (0.75, 0.7, 0.7, 0.7, 0.7),
    (0.0, 0.25, 0.5, 0.75, 1.0),
    (0.75, 0.625, 0.5, 0.375, 0.25),
    (0.75, 0.53125, 0.375, 0.28125, 0.25),
    (0.75, 0.71875, 0.625, 0.46875, 0.25),
)
"""The six Bernoulli instances of the paper's experiments."""

PAPER_EPSILONS: tuple[float, ...] = (0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 10.0)
"""The privacy budgets of the paper's experiments."""


class RewardLaw(Protocol):
    """The law of one arm's outcomes, on [0, 1]."""

    @property
    def mean(self) -> float: ...
    @property
    def variance(self) -> float: ...
    def with_mean(self, mean: float) -> RewardLaw:
        """A law of the same kind with this mean, for what-if questions."""


def _possible(mean: float) -> float:
    if not 0 <= mean <= 1:
        raise InputError(f"A mean of {mean:g} is impossible; every mean must lie between 0 and 1.")
    return mean


@dataclass(frozen=True)
class Bernoulli:
    """Outcome 1 with probability `mean`, else 0."""

    mean: float

    def __post_init__(self) -> None:
        _possible(self.mean)

    @property
    def variance(self) -> float:
        """m(1 - m)."""
        return self.mean * (1 - self.mean)

    def with_mean(self, mean: float) -> Bernoulli:
        """The other coin."""
        return Bernoulli(mean)


@dataclass(frozen=True)
class Beta:
    """Outcomes with the Beta(a, b) density."""

    a: float
    b: float

    def __post_init__(self) -> None:
        if not (0 < self.a < math.inf and 0 < self.b < math.inf):
            raise InputError("A Beta law needs two positive, finite parameters.")

    @property
    def mean(self) -> float:
        """a/(a + b)."""
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> float:
        """m(1 - m)/(a + b + 1)."""
        return self.mean * (1 - self.mean) / (self.a + self.b + 1)

    def with_mean(self, mean: float) -> Beta:
        """The same a + b; at 0 or 1, which no Beta law has, as near as can be."""
        inside = min(max(_possible(mean), 1e-9), 1 - 1e-9)
        return Beta(inside * (self.a + self.b), (1 - inside) * (self.a + self.b))

    @classmethod
    def of(cls, mean: float, sd: float) -> Beta:
        """By mean and standard deviation."""
        if not 0 < mean < 1 or not 0 < sd * sd < mean * (1 - mean):
            raise InputError(
                f"No Beta law has mean {mean:g} and standard deviation {sd:g} on a scale from 0 to 1; the deviation "
                f"has to be below {math.sqrt(max(0.0, mean * (1 - mean))):.3g} of it."
            )
        total = mean * (1 - mean) / (sd * sd) - 1
        return cls(mean * total, (1 - mean) * total)


@dataclass(frozen=True)
class TruncatedNormal:
    """A normal law with this location and scale, conditioned on [0, 1]."""

    location: float
    scale: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.location) and 0 < self.scale < math.inf):
            raise InputError("A truncated normal law needs a finite location and a positive, finite scale.")
        if self._mass() < 0.01:
            raise InputError("A truncated normal law needs at least 1% of the normal law's mass inside [0, 1].")

    def _mass(self) -> float:
        root = self.scale * math.sqrt(2)
        return (math.erf((1 - self.location) / root) - math.erf(-self.location / root)) / 2

    def _cut(self) -> tuple[float, float]:
        # The densities at both ends over the mass between them, on the standard scale.
        low, high = -self.location / self.scale, (1 - self.location) / self.scale
        over = math.sqrt(2 * math.pi) * self._mass()
        return math.exp(-low * low / 2) / over, math.exp(-high * high / 2) / over

    @property
    def mean(self) -> float:
        """The mean of the law as conditioned, not its location."""
        at_low, at_high = self._cut()
        return self.location + self.scale * (at_low - at_high)

    @property
    def variance(self) -> float:
        """The variance of the law as conditioned."""
        at_low, at_high = self._cut()
        low, high = -self.location / self.scale, (1 - self.location) / self.scale
        return self.scale**2 * (1 + low * at_low - high * at_high - (at_low - at_high) ** 2)

    def with_mean(self, mean: float) -> TruncatedNormal:
        """The same scale, moved."""
        return TruncatedNormal.of(mean, self.scale)

    @classmethod
    def of(cls, mean: float, sd: float) -> TruncatedNormal:
        """By its mean after it was cut to [0, 1], and the normal law's standard deviation before."""
        low, high = -2.0 * sd, 1.0 + 2.0 * sd  # beyond, less than some 2 % of the normal law's mass would be left
        if not 0 < sd < math.inf or not cls(low, sd).mean < mean < cls(high, sd).mean:
            raise InputError(
                f"No normal law with standard deviation {sd:g} has mean {mean:g} once it is cut to [0, 1]."
            )
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if cls(middle, sd).mean < mean else (low, middle)
        return cls(0.5 * (low + high), sd)


@dataclass(frozen=True)
class Empirical:
    """Outcomes drawn with replacement from a sample of one's own data."""

    sample: tuple[float, ...]

    def __init__(self, sample: Sequence[float]) -> None:
        values = tuple(sorted(float(x) for x in sample))
        if not values or not all(0 <= x <= 1 for x in values):
            raise InputError("An empirical law needs at least one outcome, and every outcome must lie in [0, 1].")
        object.__setattr__(self, "sample", values)

    @property
    def mean(self) -> float:
        """The sample's mean."""
        return math.fsum(self.sample) / len(self.sample)

    @property
    def variance(self) -> float:
        """The sample's variance."""
        return math.fsum((x - self.mean) ** 2 for x in self.sample) / len(self.sample)

    def with_mean(self, mean: float) -> Empirical:
        """Every outcome moved by the same share of its way to 1, or to 0."""
        own = self.mean
        if _possible(mean) >= own:
            share = 0.0 if own == 1 else (mean - own) / (1 - own)
            return Empirical([min(x + share * (1 - x), 1.0) for x in self.sample])
        return Empirical([x * mean / own for x in self.sample])


@dataclass(frozen=True)
class Sampled:
    """Outcomes drawn by a function of one's own: `draw(rng, arm)` returns one outcome in [0, 1].

    The function serves all arms of an instance, gets a `numpy.random.Generator`, and is compiled with the simulator,
    so it must stay within what numba compiles.
    """

    draw: Callable[[Any, int], float]
    mean: float

    @property
    def variance(self) -> float:
        """Unknown; never more than that of a coin with this mean."""
        return self.mean * (1 - self.mean)

    def with_mean(self, mean: float) -> RewardLaw:
        """Refused: nobody knows how the function's outcomes would move."""
        raise InputError("A sampler of one's own cannot be moved to another mean; give its laws by name.")


@dataclass(frozen=True)
class Instance:
    """Arms with their reward laws, in the arms' own order."""

    laws: tuple[RewardLaw, ...]
    means: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        if len(self.laws) < 2:
            raise InputError(f"{len(self.laws)} arm given; finding the best one needs at least two.")
        drawn = [law for law in self.laws if isinstance(law, Sampled)]
        if drawn and (len(drawn) < len(self.laws) or len({law.draw for law in drawn}) > 1):
            raise InputError("An instance with a sampler of one's own needs that one sampler for all of its arms.")
        object.__setattr__(self, "means", tuple(float(law.mean) for law in self.laws))

    @classmethod
    def bernoulli(cls, means: Sequence[float]) -> Instance:
        """Bernoulli arms with these means."""
        return cls(tuple(Bernoulli(float(mean)) for mean in means))

    @classmethod
    def sampled(cls, draw: Callable[[Any, int], float], means: Sequence[float]) -> Instance:
        """Arms whose outcomes come from `draw(rng, arm)` and whose true means are known to be `means`."""
        return cls(tuple(Sampled(draw, Bernoulli(float(mean)).mean) for mean in means))

    def with_means(self, means: Sequence[float]) -> Instance:
        """The same kinds of laws with other means."""
        pairs = zip(self.laws, means, strict=True)
        return Instance(tuple(law if law.mean == mean else law.with_mean(mean) for law, mean in pairs))

    @property
    def arms(self) -> int:
        """How many there are."""
        return len(self.laws)

    @property
    def binary(self) -> bool:
        """Whether every outcome is 0 or 1."""
        return all(isinstance(law, Bernoulli) for law in self.laws)

    @property
    def tied(self) -> bool:
        """Whether the best mean is shared by several arms."""
        return self.means.count(max(self.means)) > 1

    @property
    def best(self) -> int:
        """The best arm (the first of them, where several are)."""
        return self.means.index(max(self.means))
