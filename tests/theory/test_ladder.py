"""Ladders of stages and lines against an opponent who picks every person's rates, knowing everything so far."""

from __future__ import annotations

import math
from functools import cache

import pytest

from bestarm.errors import InputError
from bestarm.release.laws import Law, local_law, no_privacy, pure_law, zcdp_law
from bestarm.theory.fixed import fixed_size
from bestarm.theory.ladder import LEAST_RISK, MOST_STAGES, Ladder, fewest, plan_ladder, unit_of, wrong
from bestarm.theory.walk import Band, walk_tail
from tests.theory.test_walk import EVERYTHING, Points, corners, gaussian, laplace, twice

TWO = Ladder((3, 2), (1.0, 0.0), 0.5)
THREE = Ladder((2, 1, 3), (1.5, 0.5, 0.0), 0.5)
QUIET = {0: 1.0}


def supremum(
    ladder: Ladder,
    points: Points,
    noise: dict[int, float],
    share: float = 1.0,
    stops_below: bool = True,
    pa: float = 0.5,
    early: bool = False,
) -> float:
    """The most that the opponent can make of P(a is ever at a line): plain recursion, all points, person by person.

    Errors can be planted: `pa` is the share of a, with `early` he may close a stage whenever he likes.
    """

    @cache
    def after(stage: int, score: float) -> float:
        if score >= ladder.lines[stage]:
            return 1.0
        if stage == len(ladder.lines) - 1 or (stops_below and score <= -ladder.lines[stage]):
            return 0.0
        return person(stage + 1, ladder.stages[stage + 1], score)

    @cache
    def released(stage: int, score: float) -> float:
        return math.fsum(w * after(stage, score + z) for z, w in noise.items())

    @cache
    def person(stage: int, left: int, score: float) -> float:
        if left == 0:
            return released(stage, score)
        c = ladder.pivot
        best = released(stage, score) if early else 0.0
        for ma, mb in points:
            on_a = ma * person(stage, left - 1, score + 1 - c) + (1 - ma) * person(stage, left - 1, score - c)
            on_b = mb * person(stage, left - 1, score - 1 + c) + (1 - mb) * person(stage, left - 1, score + c)
            moved = pa * on_a + (1 - pa) * on_b
            best = max(best, moved if share == 1.0 else share * moved + (1 - share) * person(stage, left - 1, score))
        return best

    return person(0, ladder.stages[0], 0.0)


@pytest.mark.parametrize(
    ("law", "noise"),
    [(pure_law(1.5), laplace(1.5)), (zcdp_law(0.5), gaussian(0.5)), (no_privacy(), QUIET)],
    ids=["pure", "zcdp", "none"],
)
@pytest.mark.parametrize("ladder", [TWO, THREE], ids=["two", "three"])
def test_the_worst_drift_of_two_arms(ladder: Ladder, law: Law, noise: dict[int, float]) -> None:
    """What is computed is what the opponent can reach, and no more."""
    assert wrong(ladder, 2, 0.2, law) == pytest.approx(supremum(ladder, corners(0.2), noise), rel=1e-9)


@pytest.mark.parametrize("arms", [3, 5])
def test_the_worst_drift_of_more_arms(arms: int) -> None:
    """With other arms a person may stand still; sums have a noise each, and the trial does not end below."""
    noise = twice(laplace(1.5))
    found = supremum(TWO, corners(0.2), noise, share=2 / arms, stops_below=False)
    assert wrong(TWO, arms, 0.2, pure_law(1.5)) == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("band", [Band(0.0, 0.3), Band(0.6, 0.9), Band(0.1, 0.4)], ids=str)
@pytest.mark.parametrize("arms", [2, 3])
def test_the_worst_drift_in_a_band(band: Band, arms: int) -> None:
    """The same where no rate may leave the band, with any pivot."""
    noise = laplace(2.0) if arms == 2 else twice(laplace(2.0))
    for pivot in (0.0, 0.25, 0.5, 0.75, 1.0):
        ladder = Ladder((3, 2), (1.0, 0.0), pivot)
        found = supremum(ladder, corners(0.1, band), noise, 2 / arms, arms == 2)
        assert wrong(ladder, arms, 0.1, pure_law(2.0), band) == pytest.approx(found, rel=1e-9)


def test_flipped_bits() -> None:
    """Under the local model the zone shrinks as the rates do."""
    truth = 1 / (1 + math.exp(-1.0))
    flipped = tuple((m * truth + (1 - m) * (1 - truth), n * truth + (1 - n) * (1 - truth)) for m, n in corners(0.3))
    found = supremum(TWO, flipped, QUIET)
    assert wrong(TWO, 2, 0.3, local_law(1.0)) == pytest.approx(found, rel=1e-9)
    assert wrong(TWO, 2, 0.3, no_privacy()) < 0.99 * found  # the zone itself on flipped bits would promise too much


def test_a_single_stage_is_the_walk() -> None:
    """Far out, too, where nothing can be enumerated."""
    for law in (pure_law(0.3), zcdp_law(0.02), no_privacy()):
        found = wrong(Ladder((301,), (0.0,), 0.5), 2, 0.1, law)
        assert found == pytest.approx(walk_tail(301, 0.1, law), rel=1e-7)
        whole = wrong(Ladder((61,), (0.0,), 0.5), 2, 0.1, law, EVERYTHING)
        assert whole == pytest.approx(walk_tail(61, 0.1, law), rel=1e-7)


def test_planted_errors() -> None:
    """Each of these is more than what was computed for the ladder."""
    law, noise = pure_law(1.5), laplace(1.5)
    fair = wrong(TWO, 2, 0.2, law)
    lower = Ladder(TWO.stages, (0.5, 0.0), 0.5)
    planted = {
        "unequal weights": supremum(TWO, corners(0.2), noise, pa=0.6),
        "closed by looking": supremum(TWO, corners(0.2), noise, early=True),
        "a smaller difference": supremum(TWO, corners(0.1), noise),
        "a noise forgotten": supremum(TWO, corners(0.2), twice(noise)),
        "a line too low": supremum(lower, corners(0.2), noise),
        "going on below": supremum(TWO, corners(0.2), noise, stops_below=False),
    }
    for name, chance in planted.items():
        assert chance > 1.002 * fair, name
    low = Ladder(TWO.stages, TWO.lines, 0.0)
    left = supremum(low, corners(0.1, Band(0.0, 0.5)), noise)
    assert left > 1.002 * wrong(low, 2, 0.1, law, Band(0.0, 0.15))


CASES = [
    (2, 0.1, 0.05, pure_law(1.0), None),
    (2, 0.1, 0.2, pure_law(0.1), None),
    (2, 0.2, 0.01, no_privacy(), None),
    (2, 0.2, 0.05, zcdp_law(0.01), None),
    (2, 0.3, 0.05, local_law(1.0), None),
    (4, 0.15, 0.05, pure_law(1.0), None),
    (2, 0.05, 0.1, pure_law(1.0), Band(0.03, 0.12)),
]


@pytest.mark.parametrize(("arms", "zone", "delta", "law", "band"), CASES)
def test_what_is_planned(arms: int, zone: float, delta: float, law: Law, band: Band | None) -> None:
    """It keeps the promise, it ends, and a trial with a cap keeps to it."""
    found = plan_ladder(arms, zone, delta, law, band)
    risk = delta / (arms - 1)
    assert wrong(found, arms, zone, law, band) <= risk
    assert 1 <= len(found.stages) == len(found.lines) <= MOST_STAGES
    assert found.lines[-1] == 0.0
    assert list(found.lines) == sorted(found.lines, reverse=True)
    least = fewest(arms, zone, delta, law, band)
    assert wrong(Ladder((least,), (0.0,), found.pivot), arms, zone, law, band) <= risk
    if least > 2:
        assert all(wrong(Ladder((n,), (0.0,), found.pivot), arms, zone, law, band) > risk for n in (1, least - 2))
    assert plan_ladder(arms, zone, delta, law, band, most=least).people == least
    with pytest.raises(InputError, match=f"at least {least:,}"):
        plan_ladder(arms, zone, delta, law, band, most=least - 1)


@pytest.mark.parametrize(
    ("arms", "zone", "delta", "epsilon"),
    [(2, 0.05, 0.05, 1.0), (2, 0.05, 0.01, 0.01), (2, 0.1, 0.05, 0.1), (5, 0.15, 0.05, 1.0)],
)
def test_against_the_fixed_design(arms: int, zone: float, delta: float, epsilon: float) -> None:
    """At rates near 1/2, under any drift, it takes at most 1.3 times the people of the fixed design."""
    law = pure_law(epsilon)
    fixed = arms * fixed_size(arms, 0.5 - zone / 2, zone, delta, law)
    assert plan_ladder(arms, zone, delta, law).people <= 1.3 * fixed


def test_against_the_fixed_design_in_a_band() -> None:
    """Far from 1/2 that takes a band: without one it is several times as many."""
    law, band = pure_law(1.0), Band(0.03, 0.05)
    fixed = 2 * fixed_size(2, 0.03, 0.02, 0.05, law)
    assert plan_ladder(2, 0.02, 0.05, law, band).people <= 1.3 * fixed
    assert fewest(2, 0.02, 0.05, law) > 4 * fixed


def test_groups() -> None:
    """No stage is smaller than it may be."""
    found = plan_ladder(2, 0.1, 0.05, local_law(2.0), None, None, 150)
    assert min(found.stages) >= 150
    alone = plan_ladder(2, 0.4, 0.2, local_law(2.0), None, None, 150)
    assert alone.people >= 150
    assert wrong(alone, 2, 0.4, local_law(2.0)) <= 0.2


@pytest.mark.parametrize(
    ("arms", "zone", "delta", "band"),
    [
        (1, 0.1, 0.1, None),
        (2, 0.0, 0.1, None),
        (2, 0.1, 1.0, None),
        (2, 0.1, LEAST_RISK / 2, None),
        (2, 1e-5, 0.1, None),
        (2, 0.0005, 0.1, Band(0.3, 0.6)),
        (2, 0.1, 0.1, Band(0.2, 0.25)),
    ],
)
def test_bad_input(arms: int, zone: float, delta: float, band: Band | None) -> None:
    """What makes no hard end is refused in one sentence."""
    with pytest.raises(InputError, match=r"^[A-Za-z].*\.$"):
        plan_ladder(arms, zone, delta, pure_law(1.0), band)


def test_lines_are_scores() -> None:
    """A line that no score can be at is refused, and so is a pivot that takes a band."""
    assert [unit_of(c) for c in (0.0, 0.25, 0.5, 0.75, 1.0)] == [1, 4, 2, 4, 1]
    with pytest.raises(InputError, match="multiples"):
        wrong(Ladder((3, 2), (1.25, 0.0), 0.5), 2, 0.1, pure_law(1.0))
    with pytest.raises(InputError, match="pivot"):
        wrong(Ladder((3,), (0.0,), 0.25), 2, 0.1, pure_law(1.0))
