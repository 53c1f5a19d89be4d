"""The attack lets honest noise pass, at every scale and from every source, and finds each planted defect."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

import pytest

from bestarm.errors import InputError
from bestarm.privacy.attack import Examination, Seen, examine, probes, watch
from bestarm.privacy.claim import Claim
from bestarm.privacy.counts import bounds_on
from bestarm.privacy.leakage import epsilon_at_least, rho_at_least
from bestarm.privacy.mechanism import Mechanism, live_mechanism
from bestarm.privacy.noise import LiveNoise, SystemNoise
from bestarm.release.models import AS_IS, ON_GRID, Privacy
from tests.chance import FALSE_ALARM, fits_weights
from tests.privacy.planted import DEFECTS, Release, clamped, floating_point_rounded
from tests.privacy.sources import every_source

DRAWS = 16_000
"""Enough for every defect: the hardest, a scale 20% too small on the grid, has p-values of 1e-48, give or take 1e5."""
SURELY = 1 - FALSE_ALARM
"""At this confidence an honest mechanism fails once in five million attacks."""

DESIGNS = [
    ("pure", "1", AS_IS),
    ("pure", "0.000001", ON_GRID),
    ("zcdp", "0.5", AS_IS),
    ("zcdp", "0.000001", ON_GRID),
]


Design: TypeAlias = tuple[str, str, str]


def claim_of(model: str, budget: str, encoding: str = AS_IS) -> Claim:
    return Claim(Privacy(model, Fraction(budget)), encoding)


def door_of(claim: Claim, noise: LiveNoise | None = None) -> Mechanism:
    return live_mechanism(claim.privacy, claim.encoding, noise or SystemNoise())


def attack(release: Release, claim: Claim, draws: int = DRAWS, confidence: float = SURELY) -> Examination:
    return examine(watch(release, claim, draws, seed=1), claim, confidence)


@every_source
@pytest.mark.parametrize("design", DESIGNS, ids=" ".join)
def test_what_is_honest_passes(design: Design, source: LiveNoise) -> None:
    claim = claim_of(*design)
    found = attack(door_of(claim, source).release, claim, 6000)
    assert found.passed, found.says
    assert 0 < found.lower_bound <= found.claimed
    assert "Nothing in 6000 releases" in found.says


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("design", DESIGNS, ids=" ".join)
def test_what_is_planted_is_found(design: Design, defect: str) -> None:
    claim = claim_of(*design)
    found = attack(DEFECTS[defect](door_of(claim)), claim)
    assert not found.passed
    assert found.says.endswith(".")


@pytest.mark.parametrize("model", ["pure", "zcdp"])
def test_rounded_floating_point_is_found_by_a_probe_at_small_scales(model: str) -> None:
    claim = claim_of(model, "0.001", ON_GRID)
    probing = probes(door_of(claim), claim)
    assert [(door.encoder.grid, claimed.grid) for door, claimed in probing] == [(2**20, 2**20), (1, 1), (1, 1)]
    assert all(attack(door.release, claimed, 2000).passed for door, claimed in probing)
    assert not all(attack(floating_point_rounded(door), claimed).passed for door, claimed in probing)


def test_the_loss_alone_refutes_half_the_scale() -> None:
    # Of rho two thresholds show at most 2/pi, and less of it after so few draws.
    for model, budget, share in (("pure", "1", 0.4), ("pure", "0.01", 0.4), ("zcdp", "0.01", 0.1)):
        claim = claim_of(model, budget)
        assert share < attack(door_of(claim).release, claim, 20_000).lower_bound / float(claim.budget) <= 1
        quarter = attack(door_of(claim_of(model, str(4 * float(budget)))).release, claim, 20_000)
        assert quarter.lower_bound > quarter.claimed
        assert "The loss is at least" in quarter.says


def test_clamping_far_out_needs_more_draws_than_it_got() -> None:
    # What the attack cannot see it does not claim to see: at 15 scales one release in a million is clamped.
    claim = claim_of("pure", "1")
    assert attack(clamped(15.0, 5.5)(door_of(claim)), claim, 2000).passed


@pytest.mark.parametrize(("model", "budget"), [("pure", "0.3"), ("pure", "5"), ("zcdp", "0.5"), ("zcdp", "0.01")])
def test_a_claim_knows_its_law(model: str, budget: str) -> None:
    claim = claim_of(model, budget)
    spread = claim.spread
    support = range(-400, 401)
    weights = [math.exp(-abs(z) / spread if model == "pure" else -z * z / (2 * spread**2)) for z in support]
    total = math.fsum(weights)
    for place, z in enumerate(support):
        assert claim.at(z) == pytest.approx(weights[place] / total, abs=1e-12)
    for z in range(-30, 31):
        assert claim.below(z) == pytest.approx(math.fsum(weights[: z + 400]) / total, abs=1e-12)
    for r in range(3):
        assert claim.residue(r, 3) == pytest.approx(
            math.fsum(w for z, w in zip(support, weights, strict=True) if z % 3 == r) / total, abs=1e-12
        )
    draws = [door_of(claim).release(0) for _ in range(4000)]
    assert fits_weights(draws, -400, weights) > FALSE_ALARM


def test_wide_laws_meet_narrow_ones() -> None:
    for model in ("pure", "zcdp"):
        wide = claim_of(model, "0.0009" if model == "pure" else "0.00000049")
        assert wide.spread > 1000
        assert wide.below(1) + wide.below(0) == pytest.approx(1, abs=1e-12)
        assert wide.at(7) == pytest.approx(wide.below(8) - wide.below(7), rel=1e-6)
        assert wide.residue(0, 8) == 1 / 8
    assert claim_of("pure", "0.001").group == 1000
    assert claim_of("zcdp", "0.005").group == 10
    assert claim_of("pure", "9").group == 1
    with pytest.raises(InputError, match="add noise to sums"):
        claim_of("local", "1")


def test_bounds_on_rho() -> None:
    assert rho_at_least(50, 50, 100) == 0
    assert rho_at_least(0, 50, 100) == 0
    # Two normal laws one deviation apart have rho = 1/2 and events of .691 and .309: up to .31 of rho can be shown.
    assert 0.25 < rho_at_least(69_100, 30_900, 100_000) < 0.5
    assert rho_at_least(999, 1, 1000) > 1.5
    assert epsilon_at_least(69_100, 30_900, 100_000) < math.log(691 / 309)


def test_clopper_and_pearson() -> None:
    assert bounds_on(0, 10, 0.01)[0] == 0
    assert bounds_on(10, 10, 0.01)[1] == 1
    assert bounds_on(5, 10, 0.025) == pytest.approx((0.1871, 0.8129), abs=1e-4)


@pytest.mark.parametrize("odd", [math.inf, math.nan, 3.0, "3", None, True])
def test_whatever_is_no_whole_number_is_seen(odd: object) -> None:
    one = Seen("no outcome", 0, odd)
    assert not one.whole
    assert isinstance(one.noise, int)
    claim = claim_of("pure", "1")
    assert not attack(lambda _: odd, claim, 700).passed
    with pytest.raises(InputError, match="at least 700"):
        watch(lambda _: 1, claim, 10, 1)
