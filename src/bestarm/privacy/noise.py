"""Where noise comes from. Live noise is exact and from the operating system; seeded noise is another type.

OpenDP is preferred when it is installed; our own samplers are always there and are checked against it. Both draw
integers. OpenDP takes its scale as a floating-point number: it is given the smallest double that is not below the
exact scale, so the promise only ever gets stronger, and `scale_used` says which it was. OpenDP's integers have 64 bits
and saturate: a scale that might not fit them is never given to OpenDP but drawn by our own samplers, whose integers
have no end; `laplace_sampler` and `gaussian_sampler` say whose draws they are.
"""

from __future__ import annotations

import math
import random
import secrets
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final

from bestarm.errors import InputError
from bestarm.privacy import samplers
from bestarm.privacy.reach import STORED_BITS, gaussian_fits, laplace_fits

FINEST_FOR_OPENDP: Final = Fraction(1, 2**64)
"""Scales below this, as doubles, are near the end of what floating point can square; our own samplers take them."""


class LiveNoise(ABC):
    """Noise fit for real people: exact, and from the operating system's randomness."""

    name: str

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

    def laplace_sampler(self, scale: Fraction) -> str:
        """Whose draws `laplace` hands out when asked for this scale."""
        return self.name

    def gaussian_sampler(self, variance: Fraction) -> str:
        """Whose draws `gaussian` hands out when asked for this variance."""
        return self.name


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
    """The samplers of OpenDP, for every scale whose draws fit its integers; for the others, our own.

    OpenDP draws an integer of any size and then clamps it to the type: with `T=int` to 32 bits, with `i64` to 64.
    A clamped draw says what the sum was. So `i64` is asked for by name, and for a scale at which |Z| >= 2^63 has a
    chance above 2^-100 (see `reach`) nothing is asked of OpenDP.
    """

    def __init__(self) -> None:
        try:
            import opendp.prelude as dp
        except ImportError as missing:
            raise InputError("OpenDP is not installed; install bestarm[opendp], or use SystemNoise.") from missing
        dp.enable_features("contrib")
        self._dp = dp
        self._ours = SystemNoise()
        self.name = f"OpenDP {version('opendp')}"
        self._measurement = lru_cache(maxsize=64)(self._make)

    def _make(self, kind: str, scale: float) -> Any:
        make = self._dp.m.make_laplace if kind == "laplace" else self._dp.m.make_gaussian
        return make(self._dp.atom_domain(T="i64"), self._dp.absolute_distance(T="i64"), scale=scale)

    def laplace(self, scale: Fraction) -> int:
        double = self._laplace_double(scale)
        return self._ours.laplace(scale) if double is None else int(self._measurement("laplace", double)(0))

    def gaussian(self, variance: Fraction) -> int:
        root = self._gaussian_double(variance)
        return self._ours.gaussian(variance) if root is None else int(self._measurement("gaussian", root)(0))

    def laplace_scale_used(self, scale: Fraction) -> Fraction:
        double = self._laplace_double(scale)
        return self._ours.laplace_scale_used(scale) if double is None else Fraction(double)

    def gaussian_variance_used(self, variance: Fraction) -> Fraction:
        root = self._gaussian_double(variance)
        return self._ours.gaussian_variance_used(variance) if root is None else Fraction(root) ** 2

    def laplace_sampler(self, scale: Fraction) -> str:
        return self._ours.name if self._laplace_double(scale) is None else self.name

    def gaussian_sampler(self, variance: Fraction) -> str:
        return self._ours.name if self._gaussian_double(variance) is None else self.name

    @staticmethod
    def _laplace_double(scale: Fraction) -> float | None:
        # The scale OpenDP is asked for; None if it cannot be asked.
        if scale < FINEST_FOR_OPENDP or not laplace_fits(scale, 2**STORED_BITS):
            return None
        double = smallest_double_from(scale)
        return double if laplace_fits(Fraction(double), 2**STORED_BITS) else None

    @staticmethod
    def _gaussian_double(variance: Fraction) -> float | None:
        # The standard deviation OpenDP is asked for; None if it cannot be asked.
        if variance < FINEST_FOR_OPENDP**2 or not gaussian_fits(variance, 2**STORED_BITS):
            return None
        root = smallest_root_from(variance)
        return root if gaussian_fits(Fraction(root) ** 2, 2**STORED_BITS) else None


class SeededNoise:
    """The same samplers from a seed: for simulation and tests. Not a LiveNoise, and refused by every live trial."""

    name = "seeded noise, not private"

    def __init__(self, seed: int) -> None:
        self._below = random.Random(seed).randrange

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

    def laplace_sampler(self, scale: Fraction) -> str:
        """Its name, at any scale."""
        return self.name

    def gaussian_sampler(self, variance: Fraction) -> str:
        """Its name, at any variance."""
        return self.name


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
