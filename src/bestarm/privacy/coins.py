"""A person's coins: tossed once for all, because they are a keyed function of the trial's secret and the assignment.

Coins from the operating system would be tossed anew whenever a request is tried again, after a commit that failed or a
connection that broke, and whoever sees the leftovers of failed commits could average randomised answers until the truth
shows. Here every coin of one person is read from a stream of bits, HMAC-SHA256 in counter mode under the trial's key,
that starts at its beginning each time: trying again gives the same bits. Without the key they are fair and independent,
as far as HMAC-SHA256 is a pseudorandom function: a computational promise (docs/guarantee.md). Whoever has the key can
compute every coin and undo a randomised answer with it, so under local privacy the key of outcomes' coins is kept apart
from the store that holds the answers (`bestarm.storage.keys`).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Protocol, TypeAlias

from bestarm.errors import InputError
from bestarm.privacy import samplers

OUTCOME: Final = "outcome"
"""Coins for the outcome a person reports, and for the same person's correction of it."""
IMPUTED: Final = "imputed"
"""Coins for what is counted in a missing person's place: others than for the outcome, because the imputed value is
public, and under local privacy its answer would tell how the outcome's answer was made."""
VOID: Final = "void"
"""Coins for the worst outcome, which is counted in the place of a voided assignment; others again, as it is public."""

SHORTEST_KEY: Final = 16
_DOMAIN: Final = b"bestarm coins 1"


class Coins(Protocol):
    """What encoding needs: the coins of one person, for one purpose, which fall the same way however often asked."""

    def coin(self, p: Fraction) -> bool: ...
    def truthful(self, epsilon: Fraction) -> bool: ...
    def flips(self, p: Fraction) -> bool: ...


Deal: TypeAlias = Callable[[int, str], Coins]
"""Gives an assignment its coins for a purpose; `functools.partial(PersonalCoins, key, trial)` is one."""


@dataclass(slots=True)
class PersonalCoins:
    """The coins of one assignment in one trial, for one purpose. Nobody changes them; to have Python make sure of it
    would make dealing them take three times as long."""

    key: bytes = field(repr=False)
    trial: str
    assignment: int
    purpose: str = OUTCOME

    def __post_init__(self) -> None:
        if len(self.key) < SHORTEST_KEY:
            raise InputError(f"The trial's key has {len(self.key)} bytes; coins need at least {SHORTEST_KEY}.")

    def coin(self, p: Fraction) -> bool:
        """True with probability exactly p, over keys: whether the person's threshold, uniform on [0, 1), is below p.

        There is one threshold for each person and purpose. So equal outcomes always give equal integers, and a larger
        outcome never a smaller one.
        """
        return samplers.threshold_below(self._stream("threshold").bits, p)

    def truthful(self, epsilon: Fraction) -> bool:
        """True with probability exactly e^epsilon/(e^epsilon + 1), over keys: whether the person's answer is the truth.

        It takes no outcome and knows none. So a person whose outcome is told again, be it another one, answers with the
        same coin, and all the answers together are no more than one randomised response about which outcome it was.
        """
        return samplers.bernoulli_logistic(self._stream("truth").below, epsilon)

    def flips(self, p: Fraction) -> bool:
        """True with probability exactly p, over keys: whether the person's bit is flipped before it is summed.

        As with `truthful`, it knows no outcome, and falls the same way for another outcome of the same person.
        """
        return samplers.threshold_below(self._stream("flip").bits, p)

    def _stream(self, coin: str) -> KeyedStream:
        return KeyedStream(self.key, self.trial.encode(), b"%d" % self.assignment, self.purpose.encode(), coin.encode())


class KeyedStream:
    """Bits from HMAC-SHA256 in counter mode; another context gives another, independent stream."""

    def __init__(self, key: bytes, *context: bytes) -> None:
        # Each part is preceded by its length, so that no two contexts are written alike.
        self._start = hmac.new(
            key, b"".join(len(x).to_bytes(8, "big") + x for x in (_DOMAIN, *context)), hashlib.sha256
        )
        self._blocks = 0
        self._pool = 0
        self._size = 0

    def bits(self, count: int) -> int:
        """The next `count` bits, as a number from 0 to 2^count - 1."""
        while self._size < count:
            block = self._start.copy()
            block.update(self._blocks.to_bytes(8, "big"))
            digest = block.digest()
            self._blocks += 1
            self._pool = self._pool << 8 * len(digest) | int.from_bytes(digest, "big")
            self._size += 8 * len(digest)
        self._size -= count
        drawn = self._pool >> self._size
        self._pool &= (1 << self._size) - 1
        return drawn

    def below(self, n: int) -> int:
        """A number uniform on 0, ..., n - 1: enough bits for n - 1, and again until they are below n."""
        count = (n - 1).bit_length()
        while True:
            drawn = self.bits(count)
            if drawn < n:
                return drawn
