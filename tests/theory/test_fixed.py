"""The fixed design: its error against sums written out, its size against a search one by one, and both simulated."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from bestarm.errors import InputError
from bestarm.release.laws import Law, local_law, no_privacy, pure_law, zcdp_law
from bestarm.theory import lattice
from bestarm.theory.fixed import fixed_error, fixed_size

LAWS = {"pure": pure_law(0.7), "zcdp": zcdp_law(0.2), "local": local_law(1.0), "none": no_privacy()}


def noise_by_hand(name: str) -> dict[int, float]:
    """Probabilities of the noise, from its definition."""
    if name == "pure":
        weights = {z: math.exp(-0.7 * abs(z)) for z in range(-90, 91)}
    elif name == "zcdp":
        weights = {z: math.exp(-z * z / (2 * 2.5)) for z in range(-30, 31)}
    else:
        weights = {0: 1.0}
    total = sum(weights.values())
    return {z: w / total for z, w in weights.items()}


def release_by_hand(name: str, people: int, mean: float) -> dict[int, float]:
    """The law of one arm's release, count by count and noise by noise."""
    if name == "local":
        truth = math.e / (1 + math.e)
        mean = mean * truth + (1 - mean) * (1 - truth)
    law: dict[int, float] = {}
    for k in range(people + 1):
        for z, w in noise_by_hand(name).items():
            law[k + z] = law.get(k + z, 0.0) + w * math.comb(people, k) * mean**k * (1 - mean) ** (people - k)
    return law


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("arms", [2, 3, 6])
def test_error_is_the_sum_over_all_releases(name: str, arms: int) -> None:
    """The best arm wins only by being strictly above every other."""
    people, base, difference = 7, 0.3, 0.25
    rival, best = release_by_hand(name, people, base), release_by_hand(name, people, base + difference)
    below = {x: sum(w for y, w in rival.items() if y < x) for x in best}
    by_hand = 1.0 - sum(w * below[x] ** (arms - 1) for x, w in best.items())
    assert fixed_error(arms, base, difference, people, LAWS[name]) == pytest.approx(by_hand, rel=1e-9)


def test_three_arms_outcome_by_outcome() -> None:
    """Every outcome of every person, with no noise: nothing but counting."""
    wrong = 0.0
    rates = (0.2,) * 2 + (0.2,) * 2 + (0.7,) * 2
    for outcomes in itertools.product((0, 1), repeat=6):
        sums = [sum(outcomes[i : i + 2]) for i in (0, 2, 4)]
        if sums[2] <= max(sums[:2]):
            wrong += math.prod(r if x else 1 - r for x, r in zip(outcomes, rates, strict=True))
    assert fixed_error(3, 0.2, 0.5, 2, no_privacy()) == pytest.approx(wrong, rel=1e-12)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("arms", "base", "difference", "delta"), [(2, 0.5, 0.3, 0.1), (5, 0.05, 0.2, 0.05)])
def test_size_is_the_first_that_suffices(name: str, arms: int, base: float, difference: float, delta: float) -> None:
    """No smaller number does, tried one by one, so that the error need not fall at every step."""
    size = fixed_size(arms, base, difference, delta, LAWS[name])
    first = next(n for n in range(1, 10**6) if fixed_error(arms, base, difference, n, LAWS[name]) <= delta)
    assert size == first


@pytest.mark.parametrize(
    ("arms", "base", "difference", "delta", "law"),
    [
        (5, 0.3, 0.15, 0.05, pure_law(1.0)),
        (5, 0.7, 0.05, 0.01, pure_law(0.01)),
        (3, 0.03, 0.02, 0.1, zcdp_law(0.005)),
        (2, 0.5, 0.1, 0.05, local_law(1.0)),
    ],
)
def test_simulated(arms: int, base: float, difference: float, delta: float, law: Law) -> None:
    """400,000 designs drawn: as many err as computed, and one tenth fewer people are told apart.

    The number of errors is binomial; the test alarms falsely with probability below 1e-7.
    """
    runs, size = 400_000, fixed_size(arms, base, difference, delta, law)
    rng = np.random.default_rng(11)
    wrong = 0
    for _ in range(runs // 20_000):
        means = np.full(arms, law.slope * base + law.offset)
        means[-1] += law.slope * difference
        sums = rng.binomial(size, means, (20_000, arms)).astype(float)
        if law.kind == pure_law(1.0).kind:
            q = math.exp(-law.budget)
            sums += rng.geometric(1 - q, sums.shape) - rng.geometric(1 - q, sums.shape)
        elif law.kind == zcdp_law(1.0).kind:
            sums += np.rint(rng.normal(0.0, math.sqrt(0.5 / law.budget), sums.shape))
        wrong += int((sums[:, :-1].max(axis=1) >= sums[:, -1]).sum())

    def plausible(error: float) -> bool:
        return bool(binom.ppf(2.5e-8, runs, error) <= wrong <= binom.isf(2.5e-8, runs, error))

    assert plausible(fixed_error(arms, base, difference, size, law))
    assert not plausible(fixed_error(arms, base, difference, int(0.9 * size), law))


@pytest.mark.parametrize("law", [pure_law(0.01), zcdp_law(5e-5), no_privacy()])
def test_coarse_lattice(monkeypatch: pytest.MonkeyPatch, law: Law) -> None:
    """The lattice of large designs moves the size by less than one in a thousand."""
    fine = fixed_size(3, 0.3, 0.01, 0.05, law)
    monkeypatch.setattr(lattice, "FINEST", 0)
    coarse = fixed_size(3, 0.3, 0.01, 0.05, law)
    assert coarse == pytest.approx(fine, rel=1e-3)


def test_extremes() -> None:
    """Rates of 0 and 1, risks far out, differences that need trillions, and a risk that guessing keeps."""
    assert fixed_error(2, 0.0, 1.0, 1, no_privacy()) == 0.0
    assert fixed_error(2, 0.0, 0.1, 50, no_privacy()) == pytest.approx(0.9**50, rel=1e-9)
    size = fixed_size(4, 0.01, 0.001, 1e-20, pure_law(0.1))
    assert 0.99e-20 < fixed_error(4, 0.01, 0.001, size, pure_law(0.1)) <= 1e-20
    assert 2.6e12 < fixed_size(2, 0.5, 1e-6, 0.01, pure_law(1.0)) < 2.8e12
    assert fixed_size(2, 0.0, 1.0, 0.9, no_privacy()) == 1


@pytest.mark.parametrize(
    ("arms", "base", "difference", "delta"),
    [
        (1, 0.5, 0.1, 0.1),
        (2, -0.1, 0.1, 0.1),
        (2, 1.0, 0.1, 0.1),
        (2, 0.5, 0.0, 0.1),
        (2, 0.5, 0.6, 0.1),
        (2, 0.5, 0.1, 0.0),
        (2, math.nan, 0.1, 0.1),
        (2, 0.5, math.nan, 0.1),
        (2, 0.5, 0.1, math.nan),
    ],
)
def test_bad_input(arms: int, base: float, difference: float, delta: float) -> None:
    """What makes no design is refused in one sentence."""
    with pytest.raises(InputError, match=r"^[A-Za-z].*\.$"):
        fixed_size(arms, base, difference, delta, pure_law(1.0))


def test_nobody() -> None:
    """A design of nobody is refused."""
    with pytest.raises(InputError, match="at least one"):
        fixed_error(2, 0.5, 0.1, 0, pure_law(1.0))
