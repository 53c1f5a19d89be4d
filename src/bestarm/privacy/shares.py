"""What a person's own machine does to an outcome before it sends it: adds a part of the noise, and splits the result.

Every sum of the stage gets a number from everybody: their outcome, if it belongs into that sum, and their part of its
noise. The number is cut into two halves modulo a large number: one is uniform, whatever was cut, and the other is the
number less the first, which is uniform too. A server that holds one half of it learns nothing; both servers' sums
together give the sum of all numbers, which is the release. All draws are a keyed function of the person's assignment,
so that sending again sends the same. (docs/regimes.md: the noise of everybody.)
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from bestarm.privacy import samplers
from bestarm.privacy.coins import KeyedStream, PersonalCoins
from bestarm.privacy.encoding import Encoder
from bestarm.release.models import AS_IS, COIN

MODULUS_BITS: Final = 62
MODULUS: Final = 2**MODULUS_BITS
"""Halves and their sums are numbers below this; a noisy sum leaves it with a chance of less than 2^-100."""
SPLIT: Final = "split"


def centred(residue: int) -> int:
    """The number nearest to 0 with this residue."""
    residue %= MODULUS
    return residue - MODULUS if residue >= MODULUS // 2 else residue


def other_half(number: int, mask: int, modulus: int = MODULUS) -> int:
    """What is left of a number when a uniform mask is taken off: uniform as well, whatever the number."""
    return (number - mask) % modulus


def rest_of_noise(epsilon: Fraction, part: Fraction) -> int:
    """A part of the noise that nobody sent, from the operating system's randomness: drawn by a server, once."""
    return samplers.laplace_part(secrets.randbelow, 1 / epsilon, part)


@dataclass(frozen=True)
class Splitter:
    """Cuts the outcomes of one trial, with a key that is the sender's own: no server may have it."""

    key: bytes = field(repr=False)
    trial: str
    epsilon: Fraction

    def numbers(self, assignment: int, outcome: Fraction, place: int, sign: int, sums: int, people: int) -> list[int]:
        """What a person adds to each of the stage's sums: noise of part 1/people, and the outcome in its place.

        The outcome, in [0, 1], becomes a bit first, by the person's own coin, unless it is 0 or 1.
        """
        encoding = AS_IS if outcome in (0, 1) else COIN
        bit = Encoder(encoding).encode(outcome, PersonalCoins(self.key, self.trial, assignment, SPLIT))
        scale, part = 1 / self.epsilon, Fraction(1, people)
        noise = [samplers.laplace_part(self._stream(assignment, "noise", i).below, scale, part) for i in range(sums)]
        noise[place] += sign * bit
        return noise

    def split(self, assignment: int, numbers: list[int]) -> tuple[list[int], list[int]]:
        """The two halves of each number. Other numbers have other halves, so that a corrected outcome shows nothing."""
        said = ",".join(str(number) for number in numbers)
        masks = [self._stream(assignment, f"mask {said}", i).bits(MODULUS_BITS) for i in range(len(numbers))]
        return masks, [other_half(number, mask) for number, mask in zip(numbers, masks, strict=True)]

    def _stream(self, assignment: int, purpose: str, index: int) -> KeyedStream:
        return KeyedStream(self.key, self.trial.encode(), b"%d" % assignment, purpose.encode(), b"%d" % index)
