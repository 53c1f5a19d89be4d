"""Parts of noise sum to the noise of the central model, exactly; halves say nothing, whatever was cut."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from bestarm.privacy import samplers
from bestarm.privacy.shares import MODULUS, Splitter, centred, other_half
from tests.chance import CLEARLY, FALSE_ALARM, fits_weights, same_law

EPSILON = Fraction(3, 4)
DRAWS = 4000
REACH = 60


def laplace_weights() -> list[float]:
    return [math.exp(-abs(z) * float(EPSILON)) for z in range(-REACH, REACH + 1)]


def test_a_polya_number_has_the_law_it_is_said_to_have() -> None:
    below, part = random.Random(1).randrange, Fraction(2, 7)
    draws = [samplers.polya(below, 1 / EPSILON, part) for _ in range(DRAWS)]
    weights, chance = [], 1.0
    for k in range(REACH):
        weights.append(chance)
        chance *= (float(part) + k) / (k + 1) * math.exp(-float(EPSILON))
    assert fits_weights(draws, 0, weights) > FALSE_ALARM
    assert fits_weights([draw + (draw > 0) for draw in draws], 0, weights) < CLEARLY


def kept(part: Fraction, far: int) -> list[Fraction]:
    """c_k: with which probability a geometric k is kept."""
    chances = [Fraction(1)]
    for k in range(1, far):
        chances.append(chances[-1] * (part + k - 1) / k)
    return chances


@pytest.mark.parametrize(("people", "sent"), [(1, 1), (2, 2), (7, 7), (7, 4), (9, 5)])
def test_parts_and_rests_convolve_to_the_geometric_law_exactly(people: int, sent: int) -> None:
    # Each part's probabilities are proportional to c_k q^k, so the sum's to the convolution times q^k: 1 for every k.
    far, total = 15, [Fraction(1)] + [Fraction(0)] * 14
    for part in [Fraction(1, people)] * sent + [Fraction(people - sent, 2 * people)] * 2:
        weights = kept(part, far)
        total = [sum((total[i] * weights[k - i] for i in range(k + 1)), Fraction(0)) for k in range(far)]
    assert total == [Fraction(1)] * far


@pytest.mark.parametrize("people", [1, 3, 10])
def test_everybodys_parts_sum_to_discrete_laplace_noise(people: int) -> None:
    below = random.Random(people).randrange
    sums = [
        sum(samplers.laplace_part(below, 1 / EPSILON, Fraction(1, people)) for _ in range(people)) for _ in range(DRAWS)
    ]
    assert fits_weights(sums, -REACH, laplace_weights()) > FALSE_ALARM


def test_missing_parts_are_noticed_and_two_rests_make_up_for_them() -> None:
    below, people, sent = random.Random(5).randrange, 4, 2

    def total(rest: Fraction) -> int:
        parts = [Fraction(1, people)] * sent + [rest] * 2
        return sum(samplers.laplace_part(below, 1 / EPSILON, part) for part in parts)

    missing = Fraction(people - sent, 2 * people)
    assert fits_weights([total(missing) for _ in range(DRAWS)], -REACH, laplace_weights()) > FALSE_ALARM
    assert fits_weights([total(Fraction(0)) for _ in range(DRAWS)], -REACH, laplace_weights()) < CLEARLY


def test_each_half_is_uniform_whatever_was_cut_by_counting_all_masks() -> None:
    small = 24
    for number, masks in product(range(-30, 31), [range(small)]):
        halves = Counter(other_half(number, mask, small) for mask in masks)
        assert halves == Counter(range(small)), "every half comes up for exactly one mask"
        assert all((other_half(number, mask, small) + mask - number) % small == 0 for mask in masks)


def splitter(key: int) -> Splitter:
    return Splitter(key.to_bytes(32, "big"), "t", Fraction(1))


def cut(key: int, outcome: int) -> tuple[list[int], list[int]]:
    one = splitter(key)
    return one.split(7, one.numbers(7, Fraction(outcome), 1, 1, 2, 50))


@pytest.mark.parametrize("server", [0, 1])
def test_neither_servers_half_depends_on_the_outcome(server: int) -> None:
    halves = {x: [cut(key, x)[server][1] for key in range(10_000 * x, 10_000 * x + 1500)] for x in (0, 1)}
    for x in (0, 1):
        assert fits_weights([half * 16 // MODULUS for half in halves[x]], 0, [1.0] * 16) > FALSE_ALARM
    assert same_law(halves[0], halves[1]) > FALSE_ALARM


def test_both_halves_together_are_the_number_and_another_outcome_has_other_halves() -> None:
    for key in range(40):
        first, second = cut(key, 1)
        numbers = splitter(key).numbers(7, Fraction(1), 1, 1, 2, 50)
        assert [centred(a + b) for a, b in zip(first, second, strict=True)] == numbers
        assert cut(key, 1) == (first, second), "sent again it is the same"
        changed = cut(key, 0)
        assert not set(first) & set(changed[0])
        assert not set(second) & set(changed[1])


def test_noise_does_not_depend_on_the_outcome_and_signs_are_kept() -> None:
    one = splitter(3)
    nought = one.numbers(9, Fraction(0), 0, 1, 2, 4)
    assert one.numbers(9, Fraction(1), 0, 1, 2, 4) == [nought[0] + 1, nought[1]]
    assert one.numbers(9, Fraction(1), 1, -1, 2, 4) == [nought[0], nought[1] - 1]
    assert one.numbers(9, Fraction(1, 3), 0, 1, 2, 4)[0] - nought[0] in (0, 1)
