"""Where noise comes from. Live noise is exact and from the operating system; seeded noise is another type.

OpenDP is preferred when it is installed; our own samplers are always there and are checked against it. Both draw
integers. OpenDP takes its scale as a floating-point number: it is given the smallest double that is not below the
exact scale, so the promise only ever gets stronger, and `scale_used` says which it was.
"""

from __future__ import annotations

import math
import random
import secrets
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from bestarm.errors import InputError
from bestarm.privacy import samplers


class LiveNoise(ABC):
    """Noise and coins fit for real people: exact, and from the operating system's randomness."""

    name: str

    def coin(self, p: Fraction) -> bool:
        """True with probability exactly p."""
        return samplers.bernoulli(secrets.randbelow, p)

    def truthful(self, epsilon: Fraction) -> bool:
        """True with probability e^epsilon/(e^epsilon + 1): whether a randomised response tells the truth."""
        return samplers.bernoulli_logistic(secrets.randbelow, epsilon)

    @abstractmethod
    def laplace(self, scale: Fraction) -> int:
        """Discrete Laplace noise: z with probability proportional to e^(-|z|/scale_used)."""

    @abstractmethod
    def gaussian(self, variance: Fraction) -> int:
        """Discrete Gaussian noise: z with probability proportional to e^(-z^2/(2 variance_used))."""

    @abstractmethod
    def laplace_scale_used(self, scale: Fraction) -> Fraction:
        """The scale that `laplace` really has when asked for this one; never below it."""

    @abstractmethod
    def gaussian_variance_used(self, variance: Fraction) -> Fraction:
        """The variance parameter that `gaussian` really has when asked for this one; never below it."""


class SystemNoise(LiveNoise):
    """Our own exact samplers on the operating system's randomness."""

    name = "bestarm exact integer sampler"

    def laplace(self, scale: Fraction) -> int:
        return samplers.discrete_laplace(secrets.randbelow, scale)

    def gaussian(self, variance: Fraction) -> int:
        return samplers.discrete_gaussian(secrets.randbelow, variance)

    def laplace_scale_used(self, scale: Fraction) -> Fraction:
        return scale

    def gaussian_variance_used(self, variance: Fraction) -> Fraction:
        return variance


class OpenDPNoise(LiveNoise):
    """The samplers of OpenDP."""

    def __init__(self) -> None:
        try:
            import opendp.prelude as dp
        except ImportError as missing:
            raise InputError("OpenDP is not installed; install bestarm[opendp], or use SystemNoise.") from missing
        dp.enable_features("contrib")
        self._dp = dp
        self.name = f"OpenDP {version('opendp')}"
        self._measurement = lru_cache(maxsize=64)(self._make)

    def _make(self, kind: str, scale: float) -> Any:
        make = self._dp.m.make_laplace if kind == "laplace" else self._dp.m.make_gaussian
        return make(self._dp.atom_domain(T=int), self._dp.absolute_distance(T=int), scale=scale)

    def laplace(self, scale: Fraction) -> int:
        return int(self._measurement("laplace", smallest_double_from(scale))(0))

    def gaussian(self, variance: Fraction) -> int:
        return int(self._measurement("gaussian", smallest_root_from(variance))(0))

    def laplace_scale_used(self, scale: Fraction) -> Fraction:
        return Fraction(smallest_double_from(scale))

    def gaussian_variance_used(self, variance: Fraction) -> Fraction:
        return Fraction(smallest_root_from(variance)) ** 2


class SeededNoise:
    """The same samplers from a seed: for simulation and tests. Not a LiveNoise, and refused by every live trial."""

    name = "seeded noise, not private"

    def __init__(self, seed: int) -> None:
        self._below = random.Random(seed).randrange

    def coin(self, p: Fraction) -> bool:
        """True with probability p."""
        return samplers.bernoulli(self._below, p)

    def truthful(self, epsilon: Fraction) -> bool:
        """True with probability e^epsilon/(e^epsilon + 1)."""
        return samplers.bernoulli_logistic(self._below, epsilon)

    def laplace(self, scale: Fraction) -> int:
        """Discrete Laplace noise of this scale."""
        return samplers.discrete_laplace(self._below, scale)

    def gaussian(self, variance: Fraction) -> int:
        """Discrete Gaussian noise with this variance parameter."""
        return samplers.discrete_gaussian(self._below, variance)

    def laplace_scale_used(self, scale: Fraction) -> Fraction:
        """The scale itself."""
        return scale

    def gaussian_variance_used(self, variance: Fraction) -> Fraction:
        """The variance itself."""
        return variance


def smallest_double_from(x: Fraction) -> float:
    """The smallest double that is not below x."""
    near = x.numerator / x.denominator
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)


def smallest_root_from(x: Fraction) -> float:
    """The smallest double whose exact square is not below x."""
    near = math.sqrt(x.numerator / x.denominator)
    while Fraction(near) ** 2 >= x:
        near = math.nextafter(near, 0.0)
    while Fraction(near) ** 2 < x:
        near = math.nextafter(near, math.inf)
    return near


def live_noise() -> LiveNoise:
    """OpenDP's samplers when it is installed, else our own."""
    try:
        return OpenDPNoise()
    except InputError:
        return SystemNoise()
