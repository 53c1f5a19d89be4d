"""Defects of the noise: in the mechanism, and in its source."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from fractions import Fraction
from typing import Any, Final, TypeAlias
from unittest.mock import patch

from bestarm.privacy.mechanism import Mechanism
from bestarm.privacy.noise import LiveNoise, OpenDPNoise, SystemNoise
from bestarm.release.models import Privacy
from tests.audit.planted import defect
from tests.audit.planted.defect import Planted
from tests.privacy import planted as releases

ATTACK: Final = ("tests/privacy/test_attack.py::test_what_is_honest_passes",)
WIDE: Final = {"epsilon": "0.001"}
"""On the grid of 2^20, with noise of a billion steps."""
HONEST_RELEASE: Final = Mechanism.release
Laplace: TypeAlias = Callable[[Any, Fraction], int]
HONEST_LAPLACE: Final[dict[type[LiveNoise], Laplace]] = {
    SystemNoise: SystemNoise.laplace,
    OpenDPNoise: OpenDPNoise.laplace,
}


class Honest(Mechanism):
    """The mechanism as it is, also while a defect is planted in its class."""

    release = HONEST_RELEASE


def in_the_mechanism(made: releases.Defect) -> Callable[[], AbstractContextManager[None]]:
    """Plant what turns an honest mechanism into another release function."""

    @contextmanager
    def planted() -> Iterator[None]:
        made_of: list[tuple[Mechanism, releases.Release]] = []

        def release(self: Mechanism, total: int) -> object:
            for mechanism, planted_release in made_of:
                if mechanism is self:
                    return planted_release(total)
            made_of.append((self, made(Honest(self.law, self.budget, self.encoder, self.noise))))
            return made_of[-1][1](total)

        with patch.object(Mechanism, "release", release):
            yield

    return planted


def in_the_source(make: Callable[[Laplace], Laplace]) -> Callable[[], AbstractContextManager[None]]:
    """Plant what turns a source's honest Laplace noise into another, in every source."""

    @contextmanager
    def planted() -> Iterator[None]:
        with ExitStack() as stack:
            for source, honest in HONEST_LAPLACE.items():
                stack.enter_context(patch.object(source, "laplace", make(honest)))
            yield

    return planted


def reused(honest: Laplace) -> Laplace:
    """Twenty noises are drawn and handed out again and again."""
    kept: dict[Fraction, list[int]] = {}

    def laplace(self: LiveNoise, scale: Fraction) -> int:
        mine = kept.setdefault(scale, [])
        if len(mine) < 20:
            mine.append(honest(self, scale))
            return mine[-1]
        return secrets.choice(mine)

    return laplace


def floating(honest: Laplace) -> Laplace:
    """Laplace's inverse distribution function in floating point, rounded."""

    def laplace(self: LiveNoise, scale: Fraction) -> int:
        u = secrets.randbits(53) * 2.0**-53 - 0.5
        return round(-float(scale) * math.copysign(math.log(max(1 - 2 * abs(u), 1e-300)), u))

    return laplace


@contextmanager
def variance_halved() -> Iterator[None]:
    """Gaussian noise of half the variance."""
    honest = Mechanism._gaussian_variance
    with patch.object(Mechanism, "_gaussian_variance", lambda self: honest(self) / 2):
        yield


@contextmanager
def budget_not_shared() -> Iterator[None]:
    """Each of a person's outcomes gets the whole budget."""
    with patch.object(Privacy, "shared", lambda self, outcomes: self):
        yield


def _in_mechanism(name: str, made: releases.Defect, **design: str) -> Planted:
    return Planted(name, in_the_mechanism(made), defect.NOISE, design or defect.BINARY, ATTACK)


NOISE: Final = (
    _in_mechanism("scale halved", releases.narrower("0.5")),
    _in_mechanism("scale 20% too small", releases.narrower("0.8"), **WIDE),
    _in_mechanism("noise reused in the mechanism", releases.reused_in_the_mechanism),
    Planted("noise reused in the source", in_the_source(reused), defect.NOISE, WIDE, ATTACK),
    _in_mechanism("noise depends on parity", releases.of_the_parity_of_the_sum),
    _in_mechanism("half as wide if odd", releases.half_as_wide_if_odd, **WIDE),
    _in_mechanism("clamped at 4 scales", releases.clamped(4.0, 4.0)),
    _in_mechanism("one-sided above a sum", releases.one_sided_above_a_sum),
    _in_mechanism("floating point in the mechanism", releases.floating_point_rounded, **WIDE),
    Planted("floating point in the source", in_the_source(floating), defect.NOISE, WIDE, ATTACK),
    Planted(
        "zCDP variance halved",
        variance_halved,
        defect.NOISE,
        {"privacy": "zcdp", "rho": "0.5", "outcomes": "binary"},
        ATTACK,
    ),
    Planted(
        "contributions do not share epsilon",
        budget_not_shared,
        defect.NOISE,
        {"epsilon": "1", "contributions": 2, "follow_up": "7d", "outcomes": "binary"},
        ("tests/trial/test_dropouts.py::test_contributions_share_the_budget[sqlite]",),
    ),
)
