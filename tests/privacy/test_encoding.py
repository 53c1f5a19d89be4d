"""Outcomes are read exactly, checked against their bounds, and become integers without bias."""

from __future__ import annotations

import math
import secrets
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestarm.errors import InputError
from bestarm.exact import exact, text_of
from bestarm.outcomes import Outcomes
from bestarm.privacy.coins import PersonalCoins
from bestarm.privacy.encoding import Encoder
from bestarm.privacy.mechanism import live_mechanism, mechanism_of
from bestarm.privacy.noise import SeededNoise, SystemNoise
from bestarm.release.models import AS_IS, COIN, GRID, ON_GRID, Privacy
from tests.chance import CLEARLY, FALSE_ALARM, proportion

RUNS = 20_000
"""Enough that a probability .04 off lies 12 standard deviations away, of which `CLEARLY` asks for 6."""


@pytest.mark.parametrize("value", ["0.1", 0.1, Fraction(1, 10), np.float64(0.1), " 1e-1 "])
def test_the_same_number_in_any_form(value: object) -> None:
    assert exact(value, "The outcome") == Fraction(1, 10)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "one",
        "nan",
        float("nan"),
        float("inf"),
        "1e999999",
        "0." + "1" * 60,
        None,
        "1_0",
        "0._1",
        "\u0661",
        "\uff10.5",
    ],
)
def test_what_is_no_number(value: object) -> None:
    with pytest.raises(InputError):
        exact(value, "The outcome")


@given(st.fractions())
def test_text_is_exact(number: Fraction) -> None:
    assert Fraction(text_of(number)) == number


def test_bounds_are_mapped_and_never_clipped() -> None:
    pain = Outcomes(Fraction(0), Fraction(10), lower_is_better=True)
    assert pain.to_unit(Fraction(2)) == Fraction(4, 5)
    for outside in (Fraction(-1, 100), Fraction(1001, 100)):
        with pytest.raises(InputError, match="between 0 and 10"):
            pain.to_unit(outside)
    with pytest.raises(InputError, match="0 or 1"):
        Outcomes(binary=True).to_unit(Fraction(1, 2))


def people(count: int) -> list[PersonalCoins]:
    """The coins of so many people in a new trial, whose key nobody has."""
    key = secrets.token_bytes(32)
    return [PersonalCoins(key, "t", number) for number in range(count)]


@given(st.fractions(min_value=0, max_value=1), st.integers(0, 2**32))
def test_rounding_goes_to_a_neighbour_on_the_grid(outcome: Fraction, person: int) -> None:
    value = Encoder(ON_GRID).encode(outcome, PersonalCoins(b"k" * 32, "t", person))
    assert 0 <= value <= GRID
    assert value in (math.floor(outcome * GRID), math.ceil(outcome * GRID))


@pytest.mark.parametrize("encoding", [COIN, ON_GRID])
def test_coins_keep_the_mean(encoding: str) -> None:
    encoder = Encoder(encoding)
    outcome = Fraction(3, 10) / GRID if encoding == ON_GRID else Fraction(3, 10)
    ups = sum(encoder.encode(outcome, coins) for coins in people(RUNS))
    assert proportion(ups, RUNS, 0.3) > FALSE_ALARM
    assert proportion(ups, RUNS, 0.35) < CLEARLY


def test_binary_outcomes_need_no_coin() -> None:
    encoder = Encoder(AS_IS)
    assert [encoder.encode(Fraction(x), people(1)[0]) for x in (0, 1)] == [0, 1]


def test_randomised_response_tells_the_truth_as_often_as_promised() -> None:
    epsilon = Fraction(1)
    mechanism = mechanism_of(Privacy("local", epsilon), AS_IS, SystemNoise())
    ones = sum(mechanism.encode(Fraction(1), coins) for coins in people(RUNS))
    assert proportion(ones, RUNS, 1 / (1 + math.exp(-1))) > FALSE_ALARM
    assert proportion(ones, RUNS, 1 / (1 + math.exp(-1.25))) < CLEARLY
    assert mechanism.release(7) == 7


def test_terms_name_the_exact_epsilon_and_the_scale_used() -> None:
    terms = mechanism_of(Privacy("pure", Fraction("0.3")), ON_GRID, SystemNoise()).terms()
    assert terms["epsilon"] == "0.3"
    assert Fraction(str(terms["scale"])) == Fraction(10, 3)
    gaussian = mechanism_of(Privacy("zcdp", Fraction("0.5")), ON_GRID, SystemNoise()).terms()
    assert gaussian["rho"] == "0.5"
    assert gaussian["variance"] == "1"


def test_a_live_mechanism_refuses_seeded_noise() -> None:
    with pytest.raises(InputError, match="seeded noise"):
        live_mechanism(Privacy("pure", Fraction(1)), AS_IS, SeededNoise(1))
