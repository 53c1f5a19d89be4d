"""A hard end for two arms: how large a trial must be to always end with a recommendation (docs/evidence-proof.md).

Every person gets one of two arms by a fair coin, all N are foreseen when the first comes. Score a success on a as
1 - c, a failure as -c, and on b the opposite. If b is better than a by the zone g or more, whatever happened before,
the score T falls in the mean by g/2 a person at least. At the end T + noise is public, and

* T + noise >= 0 speaks for a, T + noise <= 0 for b, and one of the two always holds;
* the bet 1{T + noise >= 0}, divided by the largest probability that it can have when b is better by g, is fair;
* a share w of the wealth in this bet reaches 1/delta if that probability is at most w delta.

With c = 1/2 a score is a coin that shows heads with probability (1 - g)/2 at most: 2T lies below the **plain walk**
under any drift, and nothing else need be known. Its variance is that of rates near 1/2, though. Where a **band** for
all rates at all times can be stated, an adversary who picks every person's rates in it, knowing everything so far, is
a small dynamic program: T is monotone, so he takes rates exactly g apart, at the lower or the upper end of the band.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from bestarm.checks import DELTA
from bestarm.errors import InputError
from bestarm.release.laws import Law, counted_mean, noise_variance
from bestarm.theory.inputs import Floats
from bestarm.theory.lattice import at_least, lattice_of, law_on, noise_reach, with_noise

REACH: Final = 45.0
"""Windows are cut at e^-REACH; what is cut counts as if the line were reached."""
PARTS: Final = 4
"""The pivot c is a multiple of 1/PARTS, so that scores stay on a lattice."""
MOST_PEOPLE: Final = 400_000
"""The dynamic program goes no further."""
LARGEST: Final = 2**50
"""The plain walk goes no further."""


class Band(NamedTuple):
    """All rates of both arms lie in here, at all times: an assumption the hard end then rests on."""

    low: float
    high: float


class HardEnd(NamedTuple):
    """A trial of two arms that always ends."""

    people: int
    """N_max, both arms together."""
    pivot: float
    """c: what is taken off every outcome before the two arms are compared; 1/2 for the plain walk."""
    tail: float
    """The largest probability of T + noise >= 0 when b is better by the zone: what the bet is divided by."""


def walk_tail(people: int, zone: float, law: Law, noises: int = 1) -> float:
    """P(walk + 2 (Z_1 + ... + Z_noises) >= 0), the plain walk of so many steps up with probability (1 - zone)/2.

    No drift of two binary arms of which the second is better by the zone can make it larger. `noises` is the number of
    releases, fixed beforehand: one for each difference, two for a pair of sums.
    """
    checked_zone(zone)
    if people < 1 or noises < 1:
        raise InputError(f"A walk of {people} people and {noises} releases is none; it takes at least one of each.")
    up = 0.5 * (1.0 - law.slope * zone)
    lattice = lattice_of(people, up, 0.5, law, noises, REACH)
    line = (people + 1) // 2
    tail = at_least(lattice, law_on(lattice, people, up, law, noises))
    if lattice.step == 1:
        return float(tail[int(line - lattice.at[0])])
    return float(np.exp(np.interp(line, lattice.at, np.log(np.maximum(tail, 1e-300)))))


def band_tails(people: int, zone: float, law: Law, band: Band, noises: int = 1, pivot: float | None = None) -> Floats:
    """For 0, 1, ... people: the largest P(T + noise >= 0) over all who pick rates in the band, b better by the zone.

    One pass backwards in time: v_k(t) is the adversary's value with k people to come, so v_k(0) is the answer for k.
    Beyond the window v is taken as 1 above, and as at its edge below: never less than it is.
    """
    low, high = checked_band(band, zone, law)
    if people > MOST_PEOPLE:
        raise InputError(f"The hard end within a band is computed for at most {MOST_PEOPLE} people, not {people}.")
    # Scores in whole units: a success is worth `gain`, a failure costs `loss`, on the other arm the reverse.
    c = pivot_of(band, law) if pivot is None else pivot
    loss, unit = Fraction(c).limit_denominator(PARTS).as_integer_ratio()
    gain = unit - loss
    gap = law.slope * zone
    # Bernstein's reach: one person's score has at most this second moment.
    spread = max(m * gain**2 + (1.0 - m) * loss**2 for m in (low, high))
    drift = 0.5 * gap * unit * people
    most = math.sqrt(2.0 * people * spread * REACH) + unit * (REACH + noise_reach(law, noises, REACH)) + drift
    half = unit * math.ceil(most / unit)
    value = _noise_beyond(half, unit, law, noises)
    size = value.size
    tails = np.empty(people + 1)
    tails[0] = value[half]
    padded = np.ones(size + 2 * unit)
    won, failed = padded[unit + gain : unit + gain + size], padded[unit - loss : unit - loss + size]
    won_b, failed_b = padded[unit - gain : unit - gain + size], padded[unit + loss : unit + loss + size]
    for k in range(1, people + 1):
        padded[:unit] = value[0]
        padded[unit : unit + size] = value
        on_a, on_b = won - failed, won_b - failed_b
        least = low * on_a + (low + gap) * on_b
        value = 0.5 * (failed + failed_b + np.maximum(least, least + (high - gap - low) * (on_a + on_b)))
        tails[k] = value[half]
    return tails


def pivot_of(band: Band, law: Law) -> float:
    """The pivot next to the middle of the band: there the score varies least."""
    return round(PARTS * 0.5 * (counted_mean(law, band.low) + counted_mean(law, band.high))) / PARTS


def hard_end(zone: float, delta: float, share: float, law: Law, noises: int = 1, band: Band | None = None) -> HardEnd:
    """The fewest people with which a share of the wealth in the last bet always ends the trial, whoever is better."""
    DELTA.plainly(delta)
    if not 0.0 < share <= 1.0:
        raise InputError(f"The share of the last bet is {share:g}, but it has to be positive and at most 1.")
    risk = share * delta
    plain = _plain_end(zone, risk, law, noises)
    if band is None:
        return plain
    people = min(64, plain.people)
    while True:
        tails = band_tails(people, zone, law, band, noises)
        enough = np.flatnonzero(tails[1:] <= risk)
        if enough.size > 0:
            return HardEnd(int(enough[0]) + 1, pivot_of(band, law), float(tails[enough[0] + 1]))
        if people == min(plain.people, MOST_PEOPLE):
            return plain
        people = min(2 * people, plain.people, MOST_PEOPLE)


def _plain_end(zone: float, risk: float, law: Law, noises: int) -> HardEnd:
    # An even number of people can end in a draw of the walk, so odd numbers come first; they are searched by halving.
    enough = 1
    while walk_tail(enough, zone, law, noises) > risk:
        enough = 2 * enough + 1
        if enough > LARGEST:
            raise InputError(f"A hard end would need more than {LARGEST} people; state a larger difference.")
    too_few = (enough - 1) // 2
    too_few -= 1 - too_few % 2
    while enough - too_few > 2:
        middle = (too_few + enough) // 2
        middle += 1 - middle % 2
        if middle >= enough:
            middle -= 2
        if walk_tail(middle, zone, law, noises) <= risk:
            enough = middle
        else:
            too_few = middle
    if enough > 1 and walk_tail(enough - 1, zone, law, noises) <= risk:
        enough -= 1
    return HardEnd(enough, 0.5, walk_tail(enough, zone, law, noises))


def _noise_beyond(half: int, unit: int, law: Law, noises: int) -> Floats:
    """P(noise >= -t) for scores of t = -half/unit, ..., half/unit."""
    if noise_variance(law) == 0.0:
        return (np.arange(-half, half + 1) >= 0).astype(np.float64)
    reach = math.ceil(noise_reach(law, noises, REACH)) + half // unit + 1
    alone = np.zeros(2 * reach + 1)
    alone[reach] = 1.0
    noise = with_noise(alone, law, noises, 1, REACH)
    tail = np.minimum(np.cumsum(noise[::-1])[::-1], 1.0)
    beyond: Floats = tail[reach - np.arange(-half, half + 1) // unit]
    return beyond


def checked_zone(zone: float) -> None:
    """Refuse what cannot be the smallest difference that matters of a hard end."""
    if not 0.0 < zone < 1.0:
        raise InputError(f"The smallest difference that matters is {zone:g}, but a hard end needs one between 0 and 1.")


def checked_band(band: Band, zone: float, law: Law) -> tuple[float, float]:
    """Refuse what cannot be a band; its ends as they are counted."""
    checked_zone(zone)
    if not 0.0 <= band.low < band.high <= 1.0 or band.high - band.low < zone:
        raise InputError(
            f"The band goes from {band.low:g} to {band.high:g}, but it has to lie in [0, 1] and to be at least as wide "
            f"as the smallest difference that matters, {zone:g}."
        )
    return counted_mean(law, band.low), counted_mean(law, band.high)
