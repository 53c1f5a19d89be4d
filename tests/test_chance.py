"""The helper itself: p-values that are what they say, for claims that are true and for claims that are not."""

from __future__ import annotations

import random

from tests.chance import CLEARLY, FALSE_ALARM, at_least, at_most, fits, fits_weights, mean_is, proportion, same_law


def test_a_true_claim_comes_out_at_or_below_x_at_most_that_often() -> None:
    # Of 400 p-values under a true claim, how many are at or below .05: itself a claim with a computed rate.
    rng = random.Random(1)
    below = [0] * 5
    for _ in range(400):
        draws = [rng.randrange(6) for _ in range(60)]
        twos = sum(draw < 2 for draw in draws)
        found = [
            proportion(twos, 60, 1 / 3),
            mean_is(sum(draws) / 5, 60, 0.5),
            fits(draws, range(1, 6), lambda cut: cut / 6),
            fits_weights(draws, 0, [1.0] * 6),
            same_law(draws[:30], draws[30:]),
        ]
        below = [count + (p <= 0.05) for count, p in zip(below, found, strict=True)]
    assert all(at_most(count, 400, 0.05) > FALSE_ALARM for count in below)


def test_false_claims_are_seen() -> None:
    rng = random.Random(2)
    draws = [rng.randrange(6) for _ in range(4000)]
    loaded = [max(0, draw - rng.randrange(2)) for draw in draws]
    assert proportion(1333, 4000, 0.25) < CLEARLY
    assert at_most(1333, 4000, 0.25) < CLEARLY < 0.9 < at_most(1333, 4000, 0.4)
    assert at_least(1333, 4000, 0.4) < CLEARLY < 0.9 < at_least(1333, 4000, 0.25)
    assert mean_is(sum(loaded) / 5, 4000, 0.5) < CLEARLY
    assert fits(loaded, range(1, 6), lambda cut: cut / 6) < CLEARLY
    assert fits_weights(loaded, 0, [1.0] * 6) < CLEARLY
    assert same_law(draws, loaded) < CLEARLY


def test_numbers_of_any_size_are_compared_exactly() -> None:
    big = [2**80 + n % 4 for n in range(400)]
    assert fits(big, [2**80 + k for k in (1, 2, 3)], lambda cut: (cut - 2**80) / 4) == 1
    assert same_law(big, [2**80 + (n + 1) % 4 for n in range(400)]) == 1


def test_what_cannot_be_is_refuted_by_one_draw() -> None:
    assert proportion(1, 10, 0.0) == 0
    assert fits([7], [3], lambda _: 1.0) == 0
