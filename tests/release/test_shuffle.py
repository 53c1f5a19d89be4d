"""What shuffling promises: against brute force over every table of bits, the clone bound, and numbers known before."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import bestarm as ba
from bestarm.design import Design, Privacy
from bestarm.privacy.coins import PersonalCoins
from bestarm.privacy.mechanism import mechanism_of
from bestarm.privacy.noise import SystemNoise
from bestarm.release.laws import SHUFFLE, counted_mean, outcome_mean
from bestarm.release.models import Shuffling, law_of
from bestarm.release.shuffle import delta_of, flip_for, worst_delta
from bestarm.simulation.people import RANDOMISED_RESPONSE, noise_of
from tests.chance import CLEARLY, FALSE_ALARM, proportion
from tests.naive.clones import clone_delta


def law_of_sum(bits: tuple[int, ...], flip: float) -> list[float]:
    """P(the sum of the flipped bits = s), by going through every way the coins can fall."""
    law = [0.0] * (len(bits) + 1)
    for flips in itertools.product((0, 1), repeat=len(bits)):
        chance = math.prod(flip if f else 1 - flip for f in flips)
        law[sum(b ^ f for b, f in zip(bits, flips, strict=True))] += chance
    return law


def brute_force(people: int, flip: float, epsilon: float) -> float:
    """The worst over every table of the others' bits, and over both ways of telling a person's 0 from a 1."""
    worst = 0.0
    for others in itertools.product((0, 1), repeat=people - 1):
        one, zero = law_of_sum((1, *others), flip), law_of_sum((0, *others), flip)
        for p, q in ((one, zero), (zero, one)):
            worst = max(worst, sum(max(a - math.exp(epsilon) * b, 0.0) for a, b in zip(p, q, strict=True)))
    return worst


@pytest.mark.parametrize("people", [2, 3, 5, 7])
@pytest.mark.parametrize("flip", [0.02, 0.15, 0.4])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_promise_is_the_worst_over_all_tables(people: int, flip: float, epsilon: float) -> None:
    assert worst_delta(people, flip, epsilon) == pytest.approx(brute_force(people, flip, epsilon), rel=1e-8, abs=1e-15)


@pytest.mark.parametrize(
    ("people", "flip", "epsilon"), [(8, 0.1, 0.5), (60, 0.2, 1.0), (300, 0.08, 1.0), (1000, 0.3, 0.1)]
)
def test_the_exact_promise_is_never_above_the_clone_bound(people: int, flip: float, epsilon: float) -> None:
    exact = worst_delta(people, flip, epsilon)
    assert 0 < exact <= clone_delta(people, flip, epsilon)


def test_the_worst_others_are_not_always_all_alike() -> None:
    deltas = [delta_of(1000, 0.305714, 0.1, k) for k in range(1000)]
    assert 0 < int(np.argmax(deltas)) < 999
    assert max(deltas) > max(deltas[0], deltas[-1])


@pytest.mark.parametrize(
    ("people", "epsilon", "flip", "spread"),
    [(300, "1", 0.084, 5.8), (1000, "1", 0.031, 5.8), (1000, "0.1", 0.306, 37.5)],
)
def test_known_flip_probabilities(people: int, epsilon: str, flip: float, spread: float) -> None:
    f = float(flip_for(people, Fraction(epsilon), Fraction(1, 10**6)))
    assert f == pytest.approx(flip, abs=5e-4)
    assert math.sqrt(people * f * (1 - f)) / (1 - 2 * f) == pytest.approx(spread, abs=0.05)


@pytest.mark.parametrize("people", [2, 30, 300])
def test_the_smallest_flip_keeps_the_promise_and_a_smaller_one_does_not(people: int) -> None:
    epsilon, delta = Fraction(1, 2), Fraction(1, 10**5)
    flip = flip_for(people, epsilon, delta)
    assert worst_delta(people, float(flip), 0.5) <= delta
    assert worst_delta(people, float(flip) - 2e-6, 0.5) > delta
    assert flip <= Fraction(math.ceil(10**6 / (1 + math.exp(0.5))), 10**6), "never more than local privacy"


def test_more_people_more_budget_or_more_risk_flip_less() -> None:
    base = flip_for(200, Fraction(1), Fraction(1, 10**6))
    assert flip_for(400, Fraction(1), Fraction(1, 10**6)) < base
    assert flip_for(200, Fraction(2), Fraction(1, 10**6)) < base
    assert flip_for(200, Fraction(1), Fraction(1, 10**4)) < base


def shuffled(**changes: object) -> Privacy:
    given: dict[str, object] = {"delta": "0.000001", "group": 300} | changes
    return Privacy.of("shuffle", "1", **given)  # type: ignore[arg-type]


def test_colluders_are_taken_off_the_group() -> None:
    alone, with_colluders = shuffled().shuffling, shuffled(colluders=100).shuffling
    assert alone is not None
    assert with_colluders is not None
    assert with_colluders.flip == flip_for(200, Fraction(1), Fraction(1, 10**6)) > alone.flip
    assert with_colluders.kept(Fraction(1))
    assert not Shuffling(alone.delta, alone.flip, 300, 100).kept(Fraction(1)), "less noise than colluders ask for"


def test_law_mechanism_and_simulator_agree() -> None:
    privacy = shuffled()
    assert privacy.shuffling is not None
    law = law_of(privacy, "as-is")
    flip = float(privacy.shuffling.flip)
    assert (law.kind, law.group) == (SHUFFLE, 300)
    assert counted_mean(law, 0.7) == pytest.approx(0.7 * (1 - flip) + 0.3 * flip)
    assert outcome_mean(law, counted_mean(law, 0.7)) == pytest.approx(0.7)
    assert noise_of(law) == (RANDOMISED_RESPONSE, 1 - flip, 1, 300)
    door = mechanism_of(privacy, "as-is", SystemNoise())
    assert door.release(17) == 17, "answers were flipped when they came, and nothing is added"
    assert door.terms() == {
        "mechanism": "shuffled randomised response",
        "epsilon": "1",
        "scale": None,
        "sampler": "bestarm keyed coins (HMAC-SHA256)",
        "delta": "0.000001",
        "flip": "0.084187",
        "group": "300",
    }


def test_answers_are_flipped_as_often_as_promised() -> None:
    privacy = shuffled(group=50)
    assert privacy.shuffling is not None
    door, flip = mechanism_of(privacy, "coin", SystemNoise()), float(privacy.shuffling.flip)
    people = [PersonalCoins(b"k" * 32, "t", number) for number in range(6000)]
    ones = sum(door.encode(Fraction(1), coins) for coins in people)
    halves = sum(door.encode(Fraction(1, 2), coins) for coins in people)
    assert proportion(ones, len(people), 1 - flip) > FALSE_ALARM
    assert proportion(ones, len(people), 1 - 0.6 * flip) < CLEARLY
    assert proportion(halves, len(people), 0.5) > FALSE_ALARM
    assert all(door.encode(Fraction(1), coins) == door.encode(Fraction(1), coins) for coins in people[:50])
    assert all(door.encode(Fraction(1), coins) + door.encode(Fraction(0), coins) == 1 for coins in people[:50])


def test_a_design_keeps_what_was_computed_for_it() -> None:
    design = Design.make(arms=2, delta="0.1", epsilon="1", privacy="shuffle", privacy_delta="0.000001", group=500)
    data = design.to_json()
    assert (data["privacy"], data["privacy_delta"], data["group"], data["colluders"]) == ("shuffle", "0.000001", 500, 0)
    assert Design.from_json(data) == design
    assert design.encoding == "coin"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"privacy_delta": None}, "--privacy-delta"),
        ({"privacy_delta": "0.5"}, "between 1e-12 and 0.01"),
        ({"group": 1}, "The smallest group is 1"),
        ({"group": 10, "colluders": 9}, "The number of colluders is 9"),
        ({"epsilon": None}, "--epsilon"),
        ({"contributions": 2, "follow_up": "1d"}, "contributes once"),
        ({"privacy": "pure", "group": 30}, "shuffle alone"),
        ({"algorithm": "adap-tt"}, "does not offer the privacy model 'shuffle'"),
    ],
)
def test_what_cannot_be_promised_is_refused(given: dict[str, object], said: str) -> None:
    plain: dict[str, object] = {
        "arms": 2,
        "delta": "0.1",
        "epsilon": "1",
        "privacy": "shuffle",
        "privacy_delta": "1e-6",
    }
    with pytest.raises(ba.InputError, match=said):
        Design.make(**(plain | given))  # type: ignore[arg-type]
