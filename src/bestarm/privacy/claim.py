"""What is claimed of one release, as an auditor needs it: the law of the noise on a sum, with its probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from scipy import stats

from bestarm.errors import InputError
from bestarm.release.models import AS_IS, Privacy, grid_of

WIDE: Final = 1000.0
"""From this standard deviation on a discrete Gaussian is a continuous one, midway between integers, to within 1e-8."""


@dataclass(frozen=True)
class Claim:
    """What one outcome may cost, and how it becomes an integer; claimed is noise on the sum that keeps to that.

    Whoever audits a design makes the claim from the design, with the budget shared among a person's outcomes, and not
    from the mechanism, which may have got it wrong.
    """

    privacy: Privacy
    encoding: str = AS_IS

    def __post_init__(self) -> None:
        if self.privacy.model not in ("pure", "zcdp"):
            raise InputError("Only the privacy models pure and zcdp add noise to sums, and claim a law for it.")

    @property
    def pure(self) -> bool:
        """Whether the noise is Laplace's, and not Gauss's."""
        return self.privacy.model == "pure"

    @property
    def budget(self) -> Fraction:
        """Epsilon, or rho."""
        return self.privacy.budget or Fraction(0)

    @property
    def grid(self) -> int:
        """By how much one outcome can change a sum."""
        return grid_of(self.encoding)

    @property
    def spread(self) -> float:
        """The scale of the Laplace noise, or the standard deviation of the Gaussian, in steps."""
        if self.pure:
            return float(self.grid / self.budget)
        return math.sqrt(self.grid**2 / (2 * self.budget))

    def cut(self, level: float) -> int:
        """An integer near the quantile of this level."""
        law = stats.laplace if self.pure else stats.norm
        return round(float(law.ppf(level)) * self.spread)

    def below(self, z: int) -> float:
        """P(noise < z)."""
        if self.pure:
            # P(Z >= m) = q^m/(1 + q) for m >= 1, with q = e^(-1/scale); and Z is symmetric.
            tail = math.exp(-(z if z > 0 else 1 - z) / self.spread) / (1 + math.exp(-1 / self.spread))
            return 1 - tail if z > 0 else tail
        if self.spread >= WIDE:
            return float(stats.norm.cdf((z - 0.5) / self.spread))
        chances = _gaussian_below(self.spread)
        reach = len(chances) // 2
        return 0.0 if z < -reach else 1.0 if z > reach else chances[z + reach]

    def at(self, z: int) -> float:
        """P(noise = z)."""
        if self.pure:
            return math.tanh(0.5 / self.spread) * math.exp(-abs(z) / self.spread)
        if self.spread >= WIDE:
            return math.exp(-((z / self.spread) ** 2) / 2) / (self.spread * math.sqrt(2 * math.pi))
        return self.below(z + 1) - self.below(z)

    def residue(self, r: int, modulus: int) -> float:
        """P(noise = r modulo `modulus`), for a small modulus."""
        if self.spread >= WIDE:
            return 1 / modulus
        reach = math.ceil(40 * self.spread) + modulus
        return math.fsum(self.at(z) for z in range(-reach, reach + 1) if z % modulus == r)

    @property
    def group(self) -> int:
        """How many outcomes change the law of a release by about as much as an epsilon of 1 would."""
        strength = float(self.budget) if self.pure else math.sqrt(2 * self.budget)
        return max(1, round(1 / strength))


@lru_cache(maxsize=16)
def _gaussian_below(deviation: float) -> list[float]:
    # P(Z < z) for z = -reach, ..., reach; beyond it there is nothing.
    reach = math.ceil(12 * deviation) + 12
    weights = [math.exp(-(z * z) / (2 * deviation**2)) for z in range(-reach, reach + 1)]
    total = math.fsum(weights)
    found, sum_so_far = [], 0.0
    for weight in weights:
        found.append(sum_so_far)
        sum_so_far += weight / total
    return found
