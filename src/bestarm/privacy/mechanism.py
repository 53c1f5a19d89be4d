"""The door: the one place where an exact sum of outcomes becomes a release.

A mechanism states exactly what it promises about one person's outcome in one batch; `release` adds the noise that keeps
the promise. It is called once for each batch, inside the transaction that closes the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol

from bestarm.errors import InputError
from bestarm.exact import text_of
from bestarm.policy.record import LARGEST_STAGE
from bestarm.privacy.coins import Coins
from bestarm.privacy.encoding import Encoder
from bestarm.privacy.noise import LiveNoise, SeededNoise
from bestarm.privacy.reach import STORED_BITS, gaussian_fits, laplace_fits
from bestarm.release.laws import LOCAL, PURE, SHUFFLE, ZCDP, Law
from bestarm.release.models import Privacy, Shuffling, law_of

COIN_SAMPLER: Final = "bestarm keyed coins (HMAC-SHA256)"
SHARE_SAMPLER: Final = "bestarm keyed parts of noise (HMAC-SHA256)"


class Door(Protocol):
    """What a trial needs from the confidential wing: integers for outcomes, and releases for sums."""

    def encode(self, outcome: Fraction, coins: Coins) -> int: ...
    def release(self, total: int) -> int: ...
    def terms(self) -> dict[str, str | None]: ...


@dataclass(frozen=True)
class Mechanism:
    """Noise for sums of encoded outcomes, of the law that is promised. `budget` is what one outcome may cost, exactly:
    epsilon, or rho for zCDP.

    One outcome changes a sum by at most `encoder.grid`. Pure: discrete Laplace of scale grid/epsilon. zCDP: discrete
    Gaussian with variance parameter grid^2/(2 rho). Local and shuffled: the outcomes were randomised one by one when
    they were encoded, and the sum is released as it is. None: as it is, with no promise.
    """

    law: Law
    budget: Fraction | None
    encoder: Encoder
    noise: LiveNoise | SeededNoise
    shuffling: Shuffling | None = None
    distributed: bool = False
    """Whether the noise is in the sums already, everybody having added a part of it."""

    def encode(self, outcome: Fraction, coins: Coins) -> int:
        """The integer of an outcome in [0, 1], by the coins of the person whose outcome it is."""
        return self.encoder.encode(outcome, coins)

    def release(self, total: int) -> int:
        """The noisy sum, in integer steps."""
        if self.distributed:
            return total
        if self.law.kind == PURE:
            return total + self.noise.laplace(self._laplace_scale())
        if self.law.kind == ZCDP:
            return total + self.noise.gaussian(self._gaussian_variance())
        return total

    def terms(self) -> dict[str, str | None]:
        """What the ledger says of each release: the law of its noise, in outcome units, and what it costs."""
        grid = self.encoder.grid
        terms: dict[str, str | None] = {"mechanism": "no noise", "epsilon": None, "scale": None, "sampler": None}
        if self.distributed:
            terms |= {"mechanism": "distributed discrete Laplace", "scale": _short(self._laplace_scale() / grid)}
            terms["sampler"] = SHARE_SAMPLER
        elif self.law.kind == PURE:
            used = self.noise.laplace_scale_used(self._laplace_scale()) / grid
            sampler = self.noise.laplace_sampler(self._laplace_scale())
            terms |= {"mechanism": "discrete Laplace", "scale": _short(used), "sampler": sampler}
        elif self.law.kind == ZCDP:
            variance = self.noise.gaussian_variance_used(self._gaussian_variance()) / grid**2
            sampler = self.noise.gaussian_sampler(self._gaussian_variance())
            terms |= {"mechanism": "discrete Gaussian", "variance": _short(variance), "sampler": sampler}
        elif self.law.kind == LOCAL:
            terms |= {"mechanism": "randomised response", "sampler": COIN_SAMPLER}
        elif self.law.kind == SHUFFLE and self.shuffling is not None:
            shuffled = self.shuffling.to_json()
            terms |= {"mechanism": "shuffled randomised response", "sampler": COIN_SAMPLER}
            terms |= {"delta": shuffled["privacy_delta"], "flip": shuffled["flip"], "group": str(shuffled["group"])}
        if self.budget is not None:
            terms["rho" if self.law.kind == ZCDP else "epsilon"] = text_of(self.budget)
        return terms

    def check_fit(self, people: int = LARGEST_STAGE) -> None:
        """Refuse noise that might carry a sum of so many people's outcomes out of the integers a release is stored in.

        Such a sum lies between -people * grid and people * grid (a difference of two sums too), so a release fits 64
        bits unless |Z| >= 2^63 - people * grid; the chance of that has to be at most 2^-100.
        """
        room = 2**STORED_BITS - people * self.encoder.grid
        if room <= 0:
            raise InputError(f"A sum over {people} people does not fit the 64-bit integers that are stored.")
        fits = True
        if self.law.kind == PURE:
            fits = laplace_fits(self.noise.laplace_scale_used(self._laplace_scale()), room)
        elif self.law.kind == ZCDP:
            fits = gaussian_fits(self.noise.gaussian_variance_used(self._gaussian_variance()), room)
        if not fits:
            name = "rho" if self.law.kind == ZCDP else "epsilon"
            raise InputError(
                f"{name} is {text_of(self._spend())} for one outcome, which is too small: "
                "its noise might not fit the 64-bit integers that are stored."
            )

    def _laplace_scale(self) -> Fraction:
        return self.encoder.grid / self._spend()

    def _gaussian_variance(self) -> Fraction:
        return self.encoder.grid**2 / (2 * self._spend())

    def _spend(self) -> Fraction:
        if self.budget is None or self.budget <= 0:
            raise InputError("A private release needs a positive budget.")
        return self.budget


def _short(number: Fraction) -> str:
    # A double's shortest decimal form names it exactly; written out in full it may have fifty digits.
    near = float(number)
    return repr(near) if Fraction(near) == number and not near.is_integer() else text_of(number)


def mechanism_of(
    privacy: Privacy, encoding: str, noise: LiveNoise | SeededNoise, distributed: bool = False
) -> Mechanism:
    """The mechanism that keeps what is promised of one outcome, for outcomes that become integers in this way."""
    law = law_of(privacy, encoding)
    flip = None if privacy.shuffling is None else privacy.shuffling.flip
    encoder = Encoder(encoding, privacy.budget if law.kind == LOCAL else None, flip)
    return Mechanism(law, privacy.budget, encoder, noise, privacy.shuffling, distributed)


def live_mechanism(privacy: Privacy, encoding: str, noise: object, distributed: bool = False) -> Mechanism:
    """The mechanism of a live trial; refuses noise that is not live, and a budget whose noise might not fit."""
    if not isinstance(noise, LiveNoise):
        raise InputError("A live trial takes live noise only; seeded noise would let anyone with the seed undo it.")
    mechanism = mechanism_of(privacy, encoding, noise, distributed)
    mechanism.check_fit()
    return mechanism
