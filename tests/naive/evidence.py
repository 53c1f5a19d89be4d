"""Coin evidence without a stated difference, settled the long way: every bet from its definition.

Which bets are placed, with what slopes and shares, is taken from the policy: no choice of them can harm anybody. What
they pay, what becomes of the wealth, and who is out, is worked out here from the proof's own formulas, by sums over the
noise (docs/evidence-proof.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from bestarm.theory import d_eps


def mean_of_one(at: float, steep: float, cap: float, epsilon: float) -> float:
    """E exp(min(at + steep L, cap)) for one Laplace law: the integral below the kink, and e^cap beyond."""
    kink = (cap - at) / steep
    beyond = 0.5 * math.exp(-epsilon * kink) if kink >= 0 else 1.0 - 0.5 * math.exp(epsilon * kink)
    if kink <= 0:
        below = 0.5 * epsilon * math.exp(at + (epsilon + steep) * kink) / (epsilon + steep)
    else:
        rate = steep - epsilon
        grown = kink if rate == 0 else math.expm1(rate * kink) / rate
        below = 0.5 * epsilon * math.exp(at) * (1.0 / (epsilon + steep) + grown)
    return below + math.exp(cap) * beyond


def mean_pay(y: float, up: float, down: float, cap: float, epsilon: float) -> float:
    """H(y) = E exp(min(y + up L + down L', cap)); `down` = 0 for one release."""
    if down == 0.0:
        return mean_of_one(y, up, cap, epsilon)

    def pays(x: float) -> float:
        return mean_of_one(y + down * x, up, cap, epsilon) * 0.5 * epsilon * math.exp(-epsilon * abs(x))

    far = 60.0 / epsilon
    edges = sorted({-far, 0.0, min(max((cap - y) / down, -far), far), far})
    pieces = pairwise(edges)
    return float(sum(quad(pays, low, high, epsabs=0, epsrel=1e-10, limit=200)[0] for low, high in pieces))


def slope_at_zero(up: float, down: float, cap: float, epsilon: float) -> float:
    """(log H)'(0), by differences."""
    h = 1e-4
    low, high = (math.log(mean_pay(y, up, down, cap, epsilon)) for y in (-h, h))
    return (high - low) / (2 * h)


def people_factors(l_a: float, l_b: float, r: float) -> tuple[float, float]:
    """What an outcome of 0 is worth on either arm: (1+r)(B-1)/(r D) and (1+r) B (A-1)/D with D = AB - 1."""
    a, b = math.exp(l_a), math.exp(l_b)
    d = a * b - 1
    return (1 + r) * (b - 1) / (r * d), (1 + r) * b * (a - 1) / d


def log_pay(y: float, up: float, down: float, cap: float, step: float) -> float:
    """The smooth minimum of y and the cap, as wide as the fraction that discrete noise throws away."""
    soft = step * math.sqrt((up * up + down * down) / 6)
    return 0.5 * (cap + y - math.hypot(cap - y, soft))


def hardest(high: float, low: float, v: float, w: float, most: float) -> tuple[float, float]:
    """The common mean m that is hardest to tell from two, v d(high, m) + w d(low, m) at its least, and this value."""

    def told(m: float) -> float:
        return float(v * d_eps(high, m, most) + w * d_eps(low, m, most))

    found = minimize_scalar(told, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    return float(found.x), float(found.fun)


def plain_slopes(high: float, low: float, v: float, w: float, most: float) -> tuple[float, float]:
    """The slopes that grow fastest with these means and weights, at the common mean that is hardest to tell."""
    m, _ = hardest(high, low, v, w, most)
    odds = [math.log(x / (1 - x)) for x in (high, m, low)]
    return min(odds[0] - odds[1], most), min(odds[1] - odds[2], most)


def growth(means: tuple[float, float], slopes: tuple[float, float], v: float, w: float) -> float:
    """Nats a person is worth on average, champion first, if champion and rival have weights v and w."""
    on_a, on_b = people_factors(*slopes, v / w)
    return v * (slopes[0] * means[0] + math.log(on_a)) + w * (math.log(on_b) - slopes[1] * means[1])


@dataclass
class Book:
    """Wealth of every arm, who is out since when, and the people in all releases."""

    line: float
    recall: float
    recall_nats: float
    wealth: list[float]
    out_since: list[float] = field(default_factory=list)
    people: float = 0.0

    def __post_init__(self) -> None:
        self.out_since = [0.0] * len(self.wealth)

    def settle(self, gains: list[float], people: float) -> None:
        """Enter what each arm's bets have made of its wealth, then strike out and recall."""
        self.people += people
        self.wealth = [w + g for w, g in zip(self.wealth, gains, strict=True)]
        for b in self.left:
            if self.wealth[b] >= self.line:
                self.out_since[b] = self.people
        if len(self.left) > 1:
            late = [b for b, since in enumerate(self.out_since) if 0 < self.recall * since <= self.people]
            for b in late:
                self.out_since[b] = 0.0
                self.wealth[b] = self.line - self.recall_nats

    @property
    def left(self) -> list[int]:
        """The arms that are in."""
        return [b for b, since in enumerate(self.out_since) if since == 0]
