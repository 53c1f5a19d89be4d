"""Bets on walks: their means summed by hand, and their fairness against an adversary who picks every person's rates."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import pytest

from bestarm.policy.evidence.walks import INEXACT, Noise, beyond, log_mean, noise_in, place
from bestarm.release.laws import local_law, no_privacy, pure_law


def laplace(noise: Noise) -> dict[int, float]:
    """Probabilities of the sum of so many discrete Laplace numbers."""
    if noise.number == 0:
        return {0: 1.0}
    reach = int(60 / noise.epsilon) + 200
    one = {z: math.exp(-noise.epsilon * abs(z)) for z in range(-reach, reach + 1)}
    total = sum(one.values())
    one = {z: w / total for z, w in one.items()}
    if noise.number == 1:
        return one
    two: dict[int, float] = {}
    for x, v in one.items():
        for y, w in one.items():
            two[x + y] = two.get(x + y, 0.0) + v * w
    return two


def payment(y: float, steep: float, kept: float) -> float:
    """What y from the full payment's place is paid."""
    return 1.0 if y >= 0 else kept * math.exp(steep * y)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_noise_in_closed_form(number: int, epsilon: float) -> None:
    """The mean over the noise is the sum over its values, near and far, steeper and flatter than the noise."""
    noise = Noise(number, epsilon)
    law = laplace(noise)
    for steep in (0.05, 0.9 * epsilon, 1.05 * epsilon, 6 * epsilon, 30.0):
        for u in (-120, -41, -40, -3, -1, 0, 1, 9):
            by_hand = sum(w * payment(u + z, steep, 0.3) for z, w in law.items())
            if by_hand > 1e-200:
                assert beyond(noise, steep, 0.3, float(u)) == pytest.approx(by_hand, rel=1e-8)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_mean_and_place(number: int) -> None:
    """The mean over the walk, and the least place that pays enough."""
    noise, people, up, steep, kept = Noise(number, 0.5), 37, 0.42, 0.3, 0.4
    law = laplace(noise)
    for at in (5, 17, 25, 36):
        by_hand = sum(
            math.comb(people, k) * up**k * (1 - up) ** (people - k) * w * payment(k + z - at, steep, kept)
            for k in range(people + 1)
            for z, w in law.items()
        )
        assert log_mean(noise, 37.0, up, steep, kept, float(at), 20.0) == pytest.approx(math.log(by_hand), abs=1e-9)
    least = place(noise, 37.0, up, steep, kept, 3.0, 60.0)
    assert -log_mean(noise, 37.0, up, steep, kept, least, 3.0) >= 3.0 + INEXACT
    assert -log_mean(noise, 37.0, up, steep, kept, least - 1.0, 3.0) < 3.0 + INEXACT


def test_large_walks() -> None:
    """A hundred thousand people: the tail of a binomial law, to many digits."""
    from scipy.stats import binom

    found = log_mean(Noise(0, 1.0), 1e5, 0.475, 60.0, 1e-12, 48_100.0, 30.0)
    assert found == pytest.approx(math.log(binom.sf(48_099, 100_000, 0.475)), rel=1e-9)


def supremum(
    people: int, pa: float, zone: float, value: Callable[[int, int, int, int], float], close: bool = False
) -> float:
    """The most that an adversary can make of E value, who knows everything so far and may close the stage."""
    points = ((0.0, zone), (1.0 - zone, 1.0), (0.0, 1.0), (0.4, 0.4 + zone))

    @lru_cache(None)
    def v(i: int, na: int, sa: int, nb: int, sb: int) -> float:
        if i == people:
            return value(na, sa, nb, sb)
        best = value(na, sa, nb, sb) if close else 0.0
        for ma, mb in points:
            w = pa * ((1 - ma) * v(i + 1, na + 1, sa, nb, sb) + ma * v(i + 1, na + 1, sa + 1, nb, sb))
            w += (1 - pa) * ((1 - mb) * v(i + 1, na, sa, nb + 1, sb) + mb * v(i + 1, na, sa, nb + 1, sb + 1))
            best = max(best, w)
        return best

    return v(0, 0, 0, 0, 0)


def bet(
    noise: Noise, people: int, up: float, steep: float, kept: float, at: int
) -> Callable[[int, int, int, int], float]:
    """The bet's mean over the noise, for these counts."""
    law = laplace(noise)
    mean = math.exp(log_mean(noise, float(people), up, steep, kept, float(at), 10.0))

    @lru_cache(None)
    def paid(k: int) -> float:
        return sum(w * payment(k + z - at, steep, kept) for z, w in law.items()) / mean

    return lambda na, sa, nb, sb: paid(sa - sb + nb)


@pytest.mark.parametrize("noise", [Noise(0, 1.0), Noise(1, 0.7), Noise(2, 1.5)])
@pytest.mark.parametrize("pa", [0.5, 0.5 + 1e-6])
def test_fair_under_any_drift(noise: Noise, pa: float) -> None:
    """Whatever rates are picked person by person, the mean is 1 at most, also with weights rounded to a grid."""
    for zone, steep, kept, at in ((0.1, 0.2, 1.0, 6), (0.3, 1.1, 0.2, 5), (0.05, 8.0, 0.01, 8)):
        up = (1 - zone) * max(pa, 1 - pa)
        worst = supremum(9, pa, zone, bet(noise, 9, up, steep, kept, at))
        assert 1 - 1e-6 < worst <= 1 + 1e-9


def test_planted_errors() -> None:
    """Closed by looking, unequal weights, a zone too large, one noise instead of two: each is worth more than 1."""
    noise = Noise(1, 1.0)
    fair = bet(noise, 9, 0.45, 0.5, 0.3, 6)
    assert supremum(9, 0.5, 0.1, fair) <= 1 + 1e-9
    by_size = [bet(noise, n, 0.45, 0.5, 0.3, round(0.45 * n) + 2) for n in range(10)]
    assert supremum(9, 0.5, 0.1, lambda na, sa, nb, sb: by_size[na + nb](na, sa, nb, sb)) <= 1 + 1e-9
    assert supremum(9, 0.5, 0.1, lambda na, sa, nb, sb: by_size[na + nb](na, sa, nb, sb), close=True) > 1.01
    assert supremum(9, 0.6, 0.1, fair) > 1.01
    assert supremum(9, 0.5, 0.05, fair) > 1.01
    mean = math.exp(log_mean(noise, 9.0, 0.45, 0.5, 0.3, 6.0, 10.0))
    two = laplace(Noise(2, 1.0))
    forgotten = sum(
        math.comb(9, k) * 0.45**k * 0.55 ** (9 - k) * w * payment(k + z - 6, 0.5, 0.3) / mean
        for k in range(10)
        for z, w in two.items()
    )
    assert forgotten > 1.01


def test_noise_of_a_release() -> None:
    """One noise in a difference, two in a pair of sums, none where bits were flipped or nothing is promised."""
    assert noise_in(pure_law(0.5), True) == Noise(1, 0.5)
    assert noise_in(pure_law(0.5), False) == Noise(2, 0.5)
    assert noise_in(local_law(1.0), False).number == noise_in(no_privacy(), True).number == 0
