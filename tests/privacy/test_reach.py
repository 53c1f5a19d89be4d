"""Noise is never clamped: at the largest scales a design allows, by either source, every draw is one of the law."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bestarm.design_checks import SMALLEST_BUDGET
from bestarm.errors import InputError
from bestarm.policy.record import LARGEST_STAGE
from bestarm.privacy.mechanism import live_mechanism, mechanism_of
from bestarm.privacy.noise import LiveNoise, OpenDPNoise, SystemNoise
from bestarm.privacy.reach import STORED_BITS, gaussian_bits_beyond, laplace_bits_beyond
from bestarm.release.models import AS_IS, GRID, ON_GRID, Privacy
from tests.chance import CLEARLY, FALSE_ALARM, fits
from tests.privacy.sources import every_source, needs_opendp, sources

DRAWS = 4000
QUANTILES = (0.0005, 0.005, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.995, 0.9995)

EPSILONS = [SMALLEST_BUDGET, Fraction("0.001"), Fraction("0.1") / 100]
"""For one outcome: the smallest allowed, and two ordinary ones of which the second is shared by 100 contributions."""
RHOS = [SMALLEST_BUDGET, Fraction("0.01") / 100**2]


def clamped(draw: int) -> bool:
    """Whether a number is the end of some type's range, and not a number that came up."""
    return any(draw in (2**bits - 1, -(2**bits - 1), -(2**bits)) for bits in (31, 32, 53, 63, 64))


def check(draws: list[int], law: Any, steps: int = 1) -> None:
    """The draws, divided by `steps`, have this law in all its quantiles; draws two fifths narrower have not.

    The draws are so fine that the discrete law is the continuous one to within 2^-20 at any cut. The fit is at a rate
    of 1e-7; of the narrower draws (Laplace) 43 are expected below the lowest 5%, and 118,
    eleven standard deviations more, would still be seen.
    """
    cuts = [round(law.ppf(q) * steps) for q in QUANTILES]
    assert fits(draws, cuts, lambda cut: float(law.cdf(cut / steps))) > FALSE_ALARM
    assert fits([draw * 3 // 5 for draw in draws], cuts, lambda cut: float(law.cdf(cut / steps))) < CLEARLY


def check_not_clamped(draws: list[int]) -> None:
    """For noise whose law gives no integer a chance above 2^-30.

    Then two of 4000 draws hit one of the 15 ends of ranges with a chance below 1e-8, and three are equal with a chance
    below 1e-7.
    """
    assert sum(clamped(draw) for draw in draws) < 2
    assert max(Counter(draws).values()) < 3


@every_source
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_widest_laplace_noise_is_not_clamped(source: LiveNoise, epsilon: Fraction) -> None:
    mechanism = live_mechanism(Privacy("pure", epsilon), ON_GRID, source)
    draws = [mechanism.release(0) for _ in range(DRAWS)]
    check_not_clamped(draws)
    check(draws, stats.laplace(scale=float(GRID / epsilon)))


@every_source
@pytest.mark.parametrize("rho", RHOS)
def test_the_widest_gaussian_noise_is_not_clamped(source: LiveNoise, rho: Fraction) -> None:
    mechanism = live_mechanism(Privacy("zcdp", rho), ON_GRID, source)
    draws = [mechanism.release(0) for _ in range(DRAWS)]
    check_not_clamped(draws)
    check(draws, stats.norm(scale=math.sqrt(GRID**2 / (2 * rho))))


@every_source
@pytest.mark.parametrize("exponent", [56, 58, 62, 100, 1100])
def test_scales_beyond_any_design_are_not_clamped_either(source: LiveNoise, exponent: int) -> None:
    for kind, law in (("laplace", stats.laplace), ("gaussian", stats.norm)):
        parameter = Fraction(2) ** (exponent if kind == "laplace" else 2 * exponent)
        draws = [getattr(source, kind)(parameter) for _ in range(DRAWS)]
        check_not_clamped(draws)
        check([draw * 2**30 // 2**exponent for draw in draws], law, 2**30)


@needs_opendp
def test_clamped_noise_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_32_bits(self: OpenDPNoise, kind: str, scale: float) -> Any:
        make = self._dp.m.make_laplace if kind == "laplace" else self._dp.m.make_gaussian
        return make(self._dp.atom_domain(T=int), self._dp.absolute_distance(T=int), scale=scale)

    monkeypatch.setattr(OpenDPNoise, "_make", of_32_bits)
    for epsilon in EPSILONS:
        with pytest.raises(AssertionError):
            test_the_widest_laplace_noise_is_not_clamped(OpenDPNoise(), epsilon)
    for rho in RHOS:
        with pytest.raises(AssertionError):
            test_the_widest_gaussian_noise_is_not_clamped(OpenDPNoise(), rho)


@needs_opendp
def test_the_ledger_says_whose_draws_they_are() -> None:
    opendp = OpenDPNoise()
    for exponent, name in (
        (56, opendp.name),
        (57, SystemNoise.name),
        (400, SystemNoise.name),
        (-65, SystemNoise.name),
    ):
        scale = Fraction(2) ** exponent
        assert opendp.laplace_sampler(scale) == name
        terms = mechanism_of(Privacy("pure", 1 / scale), AS_IS, opendp).terms()
        assert terms["sampler"] == name
        assert opendp.laplace_scale_used(scale) == scale
    for exponent, name in (
        (59, opendp.name),
        (60, SystemNoise.name),
        (400, SystemNoise.name),
        (-65, SystemNoise.name),
    ):
        variance = Fraction(4) ** exponent
        assert opendp.gaussian_sampler(variance) == name
        terms = mechanism_of(Privacy("zcdp", 1 / (2 * variance)), AS_IS, opendp).terms()
        assert terms["sampler"] == name
        assert opendp.gaussian_variance_used(variance) == variance


@needs_opendp
def test_where_opendp_is_not_asked_its_scale_is_not_rounded() -> None:
    odd = Fraction(2**70 + 1, 3)
    assert OpenDPNoise().laplace_scale_used(odd) == odd
    assert OpenDPNoise().gaussian_variance_used(odd**2) == odd**2


@given(st.fractions(min_value=Fraction(1, 100), max_value=50), st.integers(1, 200))
def test_the_bounds_on_tails_hold(parameter: Fraction, reach: int) -> None:
    q = math.exp(-1 / parameter)
    assert 2 * q**reach / (1 + q) <= 2.0 ** -laplace_bits_beyond(parameter, reach)
    weights = [math.exp(-z * z / (2 * float(parameter))) for z in range(1, 1000)]
    tail = 2 * sum(weights[reach - 1 :]) / (1 + 2 * sum(weights))
    assert tail <= 2.0 ** -gaussian_bits_beyond(parameter, reach)


def test_the_bounds_on_tails_are_not_far_off() -> None:
    exactly = math.log2(math.e) * 1000 - 1
    assert exactly - 15 < laplace_bits_beyond(Fraction(1), 1000) <= exactly
    assert exactly - 15 < gaussian_bits_beyond(Fraction(500), 1000) <= exactly


@pytest.mark.parametrize("encoding", [AS_IS, ON_GRID])
def test_every_release_that_a_design_allows_can_be_stored(encoding: str) -> None:
    for model in ("pure", "zcdp"):
        for source in sources():
            live_mechanism(Privacy(model, SMALLEST_BUDGET), encoding, source).check_fit(LARGEST_STAGE)
            live_mechanism(Privacy(model, SMALLEST_BUDGET), encoding, source).check_fit(4 * LARGEST_STAGE)


def test_a_release_that_might_not_be_stored_is_refused_in_a_sentence() -> None:
    for model, name, budget in (("pure", "epsilon", Fraction(1, 10**12)), ("zcdp", "rho", Fraction(1, 10**26))):
        with pytest.raises(
            InputError, match=f"{name} is 0.0+1 for one outcome, which is too small: its noise might not"
        ):
            live_mechanism(Privacy(model, budget), ON_GRID, SystemNoise())
        live_mechanism(Privacy(model, budget), AS_IS, SystemNoise())
    with pytest.raises(InputError, match="people does not fit"):
        live_mechanism(Privacy("local", Fraction(1)), ON_GRID, SystemNoise()).check_fit(2**STORED_BITS // GRID)
