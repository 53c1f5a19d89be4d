"""The hard end against an adversary who picks every person's rates, knowing everything so far, by brute force."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import binom

from bestarm.errors import InputError
from bestarm.release.laws import Law, local_law, no_privacy, pure_law, zcdp_law
from bestarm.theory.fixed import fixed_size
from bestarm.theory.walk import Band, band_tails, hard_end, walk_tail

Points = tuple[tuple[float, float], ...]


def laplace(epsilon: float) -> dict[int, float]:
    """Discrete Laplace probabilities."""
    weights = {z: math.exp(-epsilon * abs(z)) for z in range(-int(60 / epsilon), int(60 / epsilon) + 1)}
    return {z: w / sum(weights.values()) for z, w in weights.items()}


def gaussian(rho: float) -> dict[int, float]:
    """Discrete Gaussian probabilities."""
    weights = {z: math.exp(-rho * z * z) for z in range(-60, 61)}
    return {z: w / sum(weights.values()) for z, w in weights.items()}


def twice(noise: dict[int, float]) -> dict[int, float]:
    """The sum of two such noises."""
    total: dict[int, float] = {}
    for x, v in noise.items():
        for y, w in noise.items():
            total[x + y] = total.get(x + y, 0.0) + v * w
    return total


def supremum(
    people: int, points: Points, speaks: Callable[[int, int, int, int], float], pa: float = 0.5, close: bool = False
) -> float:
    """The most that an adversary can make of E speaks(n_a, S_a, n_b, S_b): full state, all points, step by step."""

    @lru_cache(None)
    def v(i: int, na: int, sa: int, nb: int, sb: int) -> float:
        if i == people:
            return speaks(na, sa, nb, sb)
        best = speaks(na, sa, nb, sb) if close else 0.0
        for ma, mb in points:
            w = pa * ((1 - ma) * v(i + 1, na + 1, sa, nb, sb) + ma * v(i + 1, na + 1, sa + 1, nb, sb))
            w += (1 - pa) * ((1 - mb) * v(i + 1, na, sa, nb + 1, sb) + mb * v(i + 1, na, sa, nb + 1, sb + 1))
            best = max(best, w)
        return best

    return v(0, 0, 0, 0, 0)


def score_at_end(pivot: float, noise: dict[int, float]) -> Callable[[int, int, int, int], float]:
    """P(score + noise >= 0) for these counts."""

    @lru_cache(None)
    def beyond(score: float) -> float:
        return sum(w for z, w in noise.items() if score + z >= -1e-9)

    return lambda na, sa, nb, sb: beyond(round(sa - sb - pivot * (na - nb), 9))


EVERYTHING = Band(0.0, 1.0)


def corners(zone: float, band: Band = EVERYTHING, more: int = 3) -> Points:
    """Pairs of rates in the band with b better by the zone: the corners, and a grid between them."""
    grid = np.linspace(band.low, band.high, more + 2)
    inside = [(float(a), float(b)) for a in grid for b in grid if b >= a + zone - 1e-12]
    return (
        (band.low, band.low + zone),
        (band.high - zone, band.high),
        (band.low, band.high),
        *inside,
    )


@pytest.mark.parametrize(
    ("law", "noise"),
    [(pure_law(0.5), laplace(0.5)), (zcdp_law(0.1), gaussian(0.1)), (no_privacy(), {0: 1.0})],
)
@pytest.mark.parametrize("people", [1, 4, 9])
def test_plain_walk_is_the_worst_drift(law: Law, noise: dict[int, float], people: int) -> None:
    """Under any drift the last look is at most as likely as under the plain walk, and some drift attains it."""
    found = supremum(people, corners(0.2), score_at_end(0.5, noise))
    assert walk_tail(people, 0.2, law) == pytest.approx(found, rel=1e-9)
    two = supremum(people, corners(0.2), score_at_end(0.5, twice(noise)))
    assert walk_tail(people, 0.2, law, noises=2) == pytest.approx(two, rel=1e-9)


def test_flipped_bits() -> None:
    """Under the local model the zone shrinks as the flipped rates do."""
    truth = 1 / (1 + math.exp(-1.0))
    flipped = tuple((m * truth + (1 - m) * (1 - truth), n * truth + (1 - n) * (1 - truth)) for m, n in corners(0.3))
    found = supremum(8, flipped, score_at_end(0.5, {0: 1.0}))
    assert walk_tail(8, 0.3, local_law(1.0)) == pytest.approx(found, rel=1e-9)
    assert walk_tail(8, 0.3, no_privacy()) < 0.99 * found  # the zone g on flipped bits would be unfair


@pytest.mark.parametrize("band", [Band(0.0, 0.3), Band(0.1, 0.2), Band(0.6, 0.9), Band(0.3, 0.7)])
@pytest.mark.parametrize(("law", "noise"), [(pure_law(1.0), laplace(1.0)), (no_privacy(), {0: 1.0})])
def test_band_is_the_adversarys_program(band: Band, law: Law, noise: dict[int, float]) -> None:
    """The value of each number of people is the brute-force supremum over all rates in the band."""
    for pivot in (0.0, 0.25, 0.5, 0.75, 1.0):
        tails = band_tails(7, 0.1, law, band, pivot=pivot)
        for people in (1, 4, 7):
            found = supremum(people, corners(0.1, band), score_at_end(pivot, noise))
            assert tails[people] == pytest.approx(found, rel=1e-9)


def test_whole_band_at_one_half_is_the_walk() -> None:
    """Without a band the program and the closed form say the same, also far out."""
    tails = band_tails(300, 0.1, pure_law(0.3), Band(0.0, 1.0))
    for people in (1, 10, 299, 300):
        assert tails[people] == pytest.approx(walk_tail(people, 0.1, pure_law(0.3)), rel=1e-8)
    far = band_tails(300, 0.4, no_privacy(), Band(0.0, 1.0))[300]
    assert far == pytest.approx(binom.sf(149, 300, 0.3), rel=1e-6)


def test_planted_errors() -> None:
    """Each of these would make the last bet unfair: its mean exceeds 1."""
    drift, quiet = corners(0.2), score_at_end(0.5, laplace(2.0))
    fair = walk_tail(9, 0.2, pure_law(2.0))
    assert supremum(9, drift, quiet) / fair == pytest.approx(1.0, abs=1e-9)
    planted = {
        "unequal weights": supremum(9, drift, quiet, pa=0.6) / fair,
        "closed by looking": supremum(9, drift, quiet, close=True) / fair,
        "a zone that is too large": supremum(9, corners(0.1), quiet) / fair,
        "noise of one release for two": supremum(9, drift, score_at_end(0.5, twice(laplace(0.5))))
        / walk_tail(9, 0.2, pure_law(0.5)),
        "a band that is left": supremum(9, corners(0.1, Band(0.0, 0.5)), score_at_end(0.0, laplace(2.0)))
        / band_tails(9, 0.1, pure_law(2.0), Band(0.0, 0.15))[9],
    }
    for name, mean in planted.items():
        assert mean > 1.005, name


@pytest.mark.parametrize(
    ("zone", "delta", "share", "law", "noises"),
    [
        (0.05, 0.01, 0.5, pure_law(1.0), 1),
        (0.1, 0.2, 0.7, pure_law(0.1), 3),
        (0.3, 0.05, 1.0, no_privacy(), 1),
        (0.2, 0.05, 0.5, zcdp_law(0.01), 2),
    ],
)
def test_end_is_the_first_that_suffices(zone: float, delta: float, share: float, law: Law, noises: int) -> None:
    """The last bet then pays 1/delta from its share alone, whichever arm it is for; no smaller trial does."""
    end = hard_end(zone, delta, share, law, noises)
    assert end.tail == walk_tail(end.people, zone, law, noises)
    assert share / end.tail >= 1 / delta
    for fewer in range(max(1, end.people - 40), end.people):
        assert walk_tail(fewer, zone, law, noises) > share * delta


def test_end_within_a_band() -> None:
    """A band shortens it where rates are far from 1/2, and the adversary in the band is held to the share."""
    law, band = pure_law(1.0), Band(0.03, 0.08)
    plain, end = hard_end(0.05, 0.1, 0.7, law), hard_end(0.05, 0.1, 0.7, law, band=band)
    assert end.people < 0.4 * plain.people
    tails = band_tails(end.people, 0.05, law, band)
    assert tails[end.people] <= 0.07 < tails[1 : end.people].min()


def test_against_the_fixed_design() -> None:
    """At rates near 1/2 a trial that always ends needs at most 1.3 times the fixed design, with its promise kept."""
    for delta, share, epsilon in ((0.01, 0.5, 1.0), (0.05, 0.7, 1.0), (0.05, 0.7, 0.1), (0.01, 0.5, 0.01)):
        law = pure_law(epsilon)
        fixed = 2 * fixed_size(2, 0.475, 0.05, delta, law)
        assert hard_end(0.05, delta, share, law).people <= 1.3 * fixed
    fixed = 2 * fixed_size(2, 0.03, 0.02, 0.05, pure_law(1.0))
    assert hard_end(0.02, 0.05, 0.7, pure_law(1.0)).people > 5 * fixed
    assert hard_end(0.02, 0.05, 0.7, pure_law(1.0), band=Band(0.03, 0.05)).people <= 1.3 * fixed


@pytest.mark.parametrize(
    ("zone", "delta", "share", "band"),
    [
        (0.0, 0.1, 0.5, None),
        (1.0, 0.1, 0.5, None),
        (0.1, 0.1, 0.0, None),
        (0.1, 1.0, 0.5, None),
        (0.1, 0.1, 0.5, Band(0.2, 0.25)),
        (0.1, 0.1, 0.5, Band(-0.1, 0.5)),
        (0.1, 0.1, 0.5, Band(math.nan, 0.5)),
    ],
)
def test_bad_input(zone: float, delta: float, share: float, band: Band | None) -> None:
    """What makes no hard end is refused in one sentence."""
    with pytest.raises(InputError, match=r"^[A-Za-z].*\.$"):
        hard_end(zone, delta, share, pure_law(1.0), band=band)


def test_nobody() -> None:
    """A walk needs steps and a release; the program has a limit."""
    with pytest.raises(InputError, match="at least one"):
        walk_tail(0, 0.1, pure_law(1.0))
    with pytest.raises(InputError, match="at most"):
        band_tails(10**9, 0.1, pure_law(1.0), Band(0.1, 0.3))
