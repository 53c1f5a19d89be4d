"""A trial that always ends: stages of fixed sizes, and lines that fall to 0 at the last (docs/evidence-proof.md).

Every person gets one of the arms by a fair coin. Score a success on a as 1 - c, a failure as -c, on b the opposite, on
any other arm 0. The score of all people released so far, with the noise of their releases, is public: Y. After stage j
arm b is *out under* a if Y >= line j, the last line is 0, and so the arm with the highest score is always recommended.

**The chance of a wrong verdict.** V_j(y) is the largest chance that b will be out under a after stage j or later, given
Y = y, over everybody who picks each person's rates, knowing everything so far, with b better than a by the zone. V is
nondecreasing in y: by induction, since it is 1 from the line on, and a mean over steps that only shift y. So the worst
that can be picked for a person is rates exactly a zone apart. With c = 1/2 all such rates are alike (the **plain
walk**: up with probability (1 - zone)/2 for a person on a or b); with a **band** for the rates the worst of them are at
one of its ends, and V is a dynamic program over people. V_0(0) <= delta is what makes a ladder sound.

With two arms the trial ends for b where Y reaches minus the line, so V is 0 from there on: that too is nondecreasing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from scipy.signal import fftconvolve
from scipy.stats import binom, norm

from bestarm.checks import DELTA
from bestarm.errors import InputError
from bestarm.release.laws import Law, noise_variance
from bestarm.theory.fixed import fixed_people
from bestarm.theory.inputs import Floats
from bestarm.theory.lattice import noise_reach, with_noise
from bestarm.theory.walk import PARTS, Band, checked_band, checked_zone, pivot_of

LEAST_RISK: Final = 1e-9
"""No smaller risk is computed: far below it, sums in floating point are no longer exact enough."""
CHARGE: Final = 1e-11
"""Added to V for every stage, above the error of its sums."""
REACH: Final = 35.0
"""Kernels are cut where e^-REACH is left; what is cut counts as if the line were reached."""
FARTHEST: Final = 9.0
"""Deviations of a score that V is computed for."""
MOST_PEOPLE: Final = 2_000_000
MOST_IN_BAND: Final = 100_000
"""No larger trial is computed, without and with a band."""
MOST_STAGES: Final = 8
LONGER: Final = 1.2
ROOM: Final = 1.1
"""The most people over those of the fixed design for rates in the middle of the band, or over those of a single stage,
whichever is more, unless the user says otherwise."""
SHORTER: Final = (1.0, 0.85)
"""Shares of that which are tried out."""
BENDS: Final = (0.3, 0.6)
"""Lines fall as (1 - j/number)^bend; these are tried out."""
FINE: Final = 0.04
"""Grid of the normal laws that ladders are sketched with."""
LOWEST: Final = 0.8
HIGHEST: Final = 1.3
"""Lines are searched between these multiples of what normal laws say, by halving so often:"""
TRIES: Final = 6


class Ladder(NamedTuple):
    """Stages and lines."""

    stages: tuple[int, ...]
    """People in each, all arms together."""
    lines: tuple[float, ...]
    """The score at which a rival is out after each stage; the last is 0. Multiples of 1/`unit_of(pivot)`."""
    pivot: float
    """c."""

    @property
    def people(self) -> int:
        """In all: the trial always ends by here."""
        return sum(self.stages)


class Setting(NamedTuple):
    """What scores are like at the edge of the zone."""

    arms: int
    gap: float
    """The zone as it is counted."""
    law: Law
    rates: tuple[float, float] | None
    """The ends of the band as they are counted."""
    pivot: float

    @property
    def noises(self) -> int:
        """Noises in what a stage adds to a score: two arms are released as one difference."""
        return 1 if self.arms == 2 else 2

    @property
    def drift(self) -> float:
        """By how much a person moves a score on average."""
        return self.gap / self.arms

    @property
    def each(self) -> float:
        """The variance that a person adds to a score, at most."""
        c = self.pivot
        return 2.0 / self.arms * max(m * (1.0 - c) ** 2 + (1.0 - m) * c**2 for m in self.rates or (0.5,))

    def deviation(self, people: float, stages: int = 1) -> float:
        """Of the score of so many people in so many stages."""
        return math.sqrt(people * self.each + stages * self.noises * noise_variance(self.law))

    def half(self, people: int, stages: int = 1) -> int:
        """How far scores go on the lattice; beyond it V is taken as 1 above, and as at its edge below."""
        unit = unit_of(self.pivot)
        return math.ceil(FARTHEST * self.deviation(people, stages) * unit) + unit


def unit_of(pivot: float) -> int:
    """Scores are multiples of one over this."""
    return Fraction(pivot).limit_denominator(PARTS).denominator


def setting_of(arms: int, zone: float, law: Law, band: Band | None, pivot: float | None = None) -> Setting:
    """Checked; without a pivot the one next to the middle of the band."""
    checked_zone(zone)
    if arms < 2:
        raise InputError(f"At least two arms are needed to look for the best one, got {arms}.")
    rates = None if band is None else checked_band(band, zone, law)
    own = 0.5 if band is None else pivot_of(band, law)
    if band is None and pivot not in (None, 0.5):
        raise InputError(f"Without a band for the rates the pivot is 1/2, not {pivot:g}.")
    return Setting(arms, law.slope * zone, law, rates, own if pivot is None else pivot)


def wrong(ladder: Ladder, arms: int, zone: float, law: Law, band: Band | None = None) -> float:
    """The largest chance that a is recommended although one certain arm is better than it by the zone for everybody.

    There are `arms` - 1 such a at most, so a ladder keeps the promise if this is at most delta/(arms - 1).
    """
    return _wrong(ladder, setting_of(arms, zone, law, band, ladder.pivot))


def _wrong(ladder: Ladder, setting: Setting) -> float:
    unit = unit_of(ladder.pivot)
    lines = [round(line * unit) for line in ladder.lines]
    if [line / unit for line in lines] != list(ladder.lines):
        raise InputError(f"The lines of a hard end are multiples of 1/{unit}.")
    half = max(*lines, setting.half(ladder.people, len(lines))) + unit
    at = np.arange(-half, half + 1)
    value = (at >= lines[-1]).astype(np.float64)
    before: dict[int, Callable[[Floats], Floats]] = {}
    for j in range(len(lines) - 1, -1, -1):
        people = ladder.stages[j]
        if people not in before:
            before[people] = _before(people, setting)
        value = np.minimum(before[people](value) + CHARGE, 1.0)
        if j > 0:
            value[at >= lines[j - 1]] = 1.0
            if setting.arms == 2:
                value[at <= -lines[j - 1]] = 0.0
    return float(value[half])


def _before(people: int, setting: Setting) -> Callable[[Floats], Floats]:
    """Takes V after a stage to V before it: first its noise, then its people, the last to come first."""
    noise = _noise(setting)
    if setting.rates is None:
        kernel = np.maximum(fftconvolve(_walk(people, setting), noise), 0.0)
        return lambda value: _spread(value, kernel)

    def picked(value: Floats) -> Floats:
        for earlier in _picked(_spread(value, noise), people, setting):
            value = earlier
        return value

    return picked


def _spread(value: Floats, kernel: Floats) -> Floats:
    """E V(y + X), X by the kernel, whose middle stands for 0. What it lacks, and what is above all y, counts as 1."""
    half = kernel.size // 2
    padded = np.concatenate([np.full(half, value[0]), value, np.ones(half)])
    mean = fftconvolve(padded, kernel[::-1], mode="valid") + max(0.0, 1.0 - float(kernel.sum()))
    # Sums in Fourier space are exact to about 1e-16 of the largest value, and may wobble by that.
    within: Floats = np.maximum.accumulate(np.clip(mean, 0.0, 1.0))
    return within


def _noise(setting: Setting) -> Floats:
    """The law of a stage's noise on the lattice of scores."""
    if noise_variance(setting.law) == 0.0:
        return np.ones(1)
    unit = unit_of(setting.pivot)
    reach = math.ceil(noise_reach(setting.law, setting.noises, REACH))
    alone = np.zeros(2 * reach + 1)
    alone[reach] = 1.0
    noise = np.zeros(2 * reach * unit + 1)
    noise[::unit] = with_noise(alone, setting.law, setting.noises, 1, REACH)
    return noise


def _walk(people: int, setting: Setting) -> Floats:
    """The law of twice the score of so many people whose rates are a zone apart, around 0."""
    share, gap = 2.0 / setting.arms, setting.gap
    wide = min(people, math.ceil(math.sqrt(2.0 * REACH * people * share) + REACH + share * gap * people))
    if setting.arms == 2:
        law = np.zeros(2 * wide + 1)
        steps = np.arange((people + wide) % 2 - wide, wide + 1, 2)
        law[steps + wide] = binom.pmf((steps + people) // 2, people, 0.5 * (1.0 - gap))
        return law
    # A person on another arm stands still. By squaring, as powers are computed.
    one = 0.5 * share * np.array([1.0 + gap, 2.0 / share - 2.0, 1.0 - gap])
    total = np.ones(1)
    for bit in bin(people)[2:]:
        total = _cut(fftconvolve(total, total), wide)
        if bit == "1":
            total = _cut(np.convolve(total, one), wide)
    return np.maximum(total, 0.0)


def _cut(law: Floats, wide: int) -> Floats:
    over = law.size // 2 - wide
    return law[over:-over] if over > 0 else law


def _picked(value: Floats, people: int, setting: Setting) -> Iterator[Floats]:
    """V before one more person, and so on, each with the worst rates in the band, for so many people."""
    assert setting.rates is not None
    low, high = setting.rates
    gap, share, unit = setting.gap, 2.0 / setting.arms, unit_of(setting.pivot)
    loss = round(setting.pivot * unit)
    gain, size = unit - loss, value.size
    padded = np.ones(size + 2 * unit)
    won, failed = padded[unit + gain : unit + gain + size], padded[unit - loss : unit - loss + size]
    won_b, failed_b = padded[unit - gain : unit - gain + size], padded[unit + loss : unit + loss + size]
    for _ in range(people):
        padded[:unit] = value[0]
        padded[unit : unit + size] = value
        on_a, on_b = won - failed, won_b - failed_b
        least = low * on_a + (low + gap) * on_b
        moved = 0.5 * (failed + failed_b + np.maximum(least, least + (high - gap - low) * (on_a + on_b)))
        value = moved if share == 1.0 else share * moved + (1.0 - share) * value
        yield value


@lru_cache(maxsize=64)
def plan_ladder(
    arms: int,
    zone: float,
    delta: float,
    law: Law,
    band: Band | None = None,
    most: int | None = None,
    smallest: int = 1,
) -> Ladder:
    """The ladder that should take fewest people on average at the smallest difference that matters.

    It has at most `most` people, by default as LONGER and ROOM have it; no stage is smaller than `smallest`.
    Refuses a `most` that cannot be kept.
    """
    setting = setting_of(arms, zone, law, band)
    risk = delta / (arms - 1)
    single = Ladder((max(smallest, fewest(arms, zone, delta, law, band)),), (0.0,), setting.pivot)
    while _wrong(single, setting) > risk:  # one more person may be one too many: an even number can end in a draw
        single = Ladder((single.people + 1,), (0.0,), setting.pivot)
    if most is not None and most < single.people:
        raise InputError(
            f"A trial of at most {most:,} participants cannot always end with this promise; a hard end takes at least "
            f"{single.people:,}."
        )
    middle = 0.5 if band is None else 0.5 * (band.low + band.high)
    fixed = fixed_people(arms, middle - 0.5 * zone, zone, delta, law)
    allowed = most or int(max(LONGER * fixed, ROOM * single.people))
    for sketch in _sketches(setting, risk, (single.people, allowed, smallest)):
        found = _settled(sketch, setting, risk)
        if found is not None:
            return found
    return single


@lru_cache(maxsize=64)
def fewest(arms: int, zone: float, delta: float, law: Law, band: Band | None = None) -> int:
    """People of the smallest trial that always ends with the promise kept: a single stage, up to a person or two."""
    DELTA.plainly(delta)
    setting = setting_of(arms, zone, law, band)
    if delta < LEAST_RISK:
        raise InputError(f"delta is {delta:g}; a hard end is computed for risks of at least {LEAST_RISK:g}.")
    largest = MOST_PEOPLE if band is None else MOST_IN_BAND
    guess = math.ceil(1.1 * _normal_people(setting, delta / (arms - 1)))
    while guess <= largest:
        found = _first_enough(guess, setting, delta / (arms - 1))
        if found is not None:
            return found
        guess = math.ceil(1.2 * guess) + 1
    raise InputError(
        f"A hard end would need more than {largest:,} participants, the most it is computed for; state a larger "
        f"difference{'' if band is not None else ', or a band for the rates (--rates)'}."
    )


def _first_enough(most: int, setting: Setting, risk: float) -> int | None:
    """The fewest people of a single stage; None if it takes more than `most`."""
    if setting.rates is not None:
        half = setting.half(most)
        value = _spread((np.arange(-half, half + 1) >= 0).astype(np.float64), _noise(setting))
        steps = enumerate(_picked(value, most, setting), start=1)
        return next((people for people, now in steps if float(now[half]) + CHARGE <= risk), None)
    # Even numbers can end in a draw, and are worse than the odd ones next to them: odd ones are searched.
    low, high = -1, most + 1 - most % 2
    if _wrong(Ladder((high,), (0.0,), 0.5), setting) > risk:
        return None
    while high - low > 2:
        middle = (low + high) // 2
        middle += 1 - middle % 2
        enough = _wrong(Ladder((middle,), (0.0,), 0.5), setting) <= risk
        low, high = (low, middle) if enough else (middle, high)
    return high


def _normal_people(setting: Setting, risk: float) -> float:
    """People of a single stage, by normal laws."""
    z = float(norm.isf(min(risk, 0.45)))
    drift, each = setting.drift, setting.each
    shared = 4.0 * drift * drift * setting.noises * noise_variance(setting.law) / (z * z)
    return z * z * (each + math.sqrt(each * each + shared)) / (2.0 * drift * drift)


class _Sketch(NamedTuple):
    """A ladder as planned with normal laws: people are still any number."""

    number: int
    """Of stages, all alike."""
    people: float
    """In all."""
    lines: Floats
    expected: float
    """People on average at the smallest difference that matters."""


def _sketches(setting: Setting, risk: float, limits: tuple[int, int, int]) -> list[_Sketch]:
    """What normal laws say of ladders between the fewest and the most people, with stages of no less than the third:
    those with fewer people on average than a single stage has, the fewest first."""
    least, allowed, smallest = limits
    found = []
    for number in range(2, MOST_STAGES + 1):
        for people in (shorter * allowed for shorter in SHORTER):
            if people < least or people / number < smallest:
                continue
            deviation = setting.deviation(people / number)
            theta = people / number * setting.drift / deviation
            for bend in BENDS:
                falling = (1.0 - np.arange(1, number + 1) / number) ** bend
                height = _height(falling, theta, risk, setting.arms)
                if height is not None:
                    stages = _normal_run(height * falling, theta, setting.arms)[1]
                    found.append(_Sketch(number, people, height * deviation * falling, stages * people / number))
    return sorted((sketch for sketch in found if sketch.expected < least), key=lambda sketch: sketch.expected)


def _height(falling: Floats, theta: float, risk: float, arms: int) -> float | None:
    """How high lines must be, in deviations of a stage, for normal laws to keep the risk; None if none are enough."""
    low, high = 0.0, 4.0 * math.sqrt(falling.size)
    if _normal_run(high * falling, -theta, arms)[0] > risk:
        return None
    for _ in range(2 * TRIES):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _normal_run(middle * falling, -theta, arms)[0] <= risk else (middle, high)
    return high


def _normal_run(lines: Floats, theta: float, arms: int) -> tuple[float, float]:
    """For steps of mean theta and variance 1: the chance to reach a line, and the number of stages until it ends."""
    half = math.ceil((8.0 + 6.0 * math.sqrt(lines.size)) / FINE)
    at = np.arange(-half, half + 1) * FINE
    density = step = norm.pdf(at, theta, 1.0) * FINE
    reached, alive, stages = 0.0, 1.0, 0.0
    for j, line in enumerate(lines.tolist()):
        if j > 0:
            density = np.maximum(fftconvolve(density, step, mode="same"), 0.0)
        stages += alive
        above = np.clip((at - line) / FINE + 0.5, 0.0, 1.0)
        below = np.clip((-line - at) / FINE + 0.5, 0.0, 1.0) if arms == 2 else 0.0
        reached += float(density @ above)
        density = density * (1.0 - above - below)
        alive = float(density.sum())
    return reached, stages


def _settled(sketch: _Sketch, setting: Setting, risk: float) -> Ladder | None:
    """The sketch with whole people and the lowest lines, about, that keep the risk; None if none of them do."""
    unit = unit_of(setting.pivot)
    stages = (int(sketch.people / sketch.number),) * sketch.number

    def with_lines(factor: float) -> Ladder:
        lines = tuple(math.ceil(factor * line * unit) / unit for line in sketch.lines.tolist())
        return Ladder(stages, lines, setting.pivot)

    low, high = LOWEST, HIGHEST
    if _wrong(with_lines(high), setting) > risk:
        return None
    for _ in range(TRIES):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _wrong(with_lines(middle), setting) <= risk else (middle, high)
    return with_lines(high)
