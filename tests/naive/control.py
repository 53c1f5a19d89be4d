"""Accounts against control kept by hand: what each bet pays by its formula, shares, and when a claim is made.

Which bets are placed, with what slopes, is taken from the policy: no choice of them can harm anybody.
(docs/evidence-proof.md: fair products, control)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist

from bestarm.policy.evidence.belief import Belief
from bestarm.policy.evidence.zone_tuning import ZoneTuning


def product_pays(
    l_a: float,
    l_b: float,
    r: float,
    g: float,
    sizes: tuple[float, float],
    sums: tuple[float, float],
    cash: float,
) -> float:
    """log of cash + (1 - cash) exp(l_a S_a - l_b S_b) k_a^n_a k_b^n_b, with D_g = AB - 1 - g (A - 1)(B - 1).

    With an infinite slope nothing is bet.
    """
    if l_b == math.inf:
        return 0.0
    a, b = math.exp(l_a), math.exp(l_b)
    d = a * b - 1 - g * (a - 1) * (b - 1)
    on_a, on_b = (1 + r) * (b - 1) / (r * d), (1 + r) * b * (a - 1) / d
    nats = l_a * sums[0] - l_b * sums[1] + sizes[0] * math.log(on_a) + sizes[1] * math.log(on_b)
    return math.log(cash + (1 - cash) * math.exp(nats))


@dataclass
class ControlBook:
    """Every account's logarithm by (champion, rival), one of which is control."""

    arms: int
    control: int
    line: float
    line_none: float
    staked: float
    wealth: dict[tuple[int, int], float] = field(default_factory=dict)
    reached: set[tuple[int, int]] = field(default_factory=set)
    unallotted: float = 0.0
    verdict: int | None = None

    def __post_init__(self) -> None:
        self.unallotted = 1.0 - self.staked
        for a in self.others:
            self.wealth[a, self.control] = math.log(self.staked / len(self.others))
            self.wealth[self.control, a] = 0.0

    @property
    def others(self) -> list[int]:
        return [a for a in range(self.arms) if a != self.control]

    def cash_of(self, a: int, b: int, tuning: ZoneTuning) -> float:
        """More is kept the more was lost."""
        kept = math.exp(min(-tuning.deepest - self.wealth[a, b] - math.log(len(self.others)), 0.0))
        return max(tuning.cash, min(tuning.most_cash, kept))

    def settle(self, gains: dict[tuple[int, int], float], belief: Belief) -> None:
        """Enter what was won, give out the cash (beliefs decide to whom), and see which claims are made."""
        for pair, gain in gains.items():
            if pair not in self.reached:
                self.wealth[pair] += gain
        if self.unallotted > 0:
            chances = {a: self._best(a, belief) for a in self.others}
            for a, chance in chances.items():
                part = 0.75 * chance / sum(chances.values()) + 0.25 / len(self.others)
                pair = (a, self.control)
                self.wealth[pair] = math.log(math.exp(self.wealth[pair]) + part * self.unallotted)
            self.unallotted = 0.0
        for (a, b), wealth in self.wealth.items():
            if wealth >= (self.line if b == self.control else self.line_none):
                self.reached.add((a, b))
        better = [a for a in self.others if (a, self.control) in self.reached]
        if better:
            self.verdict = max(better, key=lambda a: float(belief.mean[a]))
        elif all((self.control, a) in self.reached for a in self.others):
            self.verdict = self.control

    def _best(self, a: int, belief: Belief) -> float:
        c, chance = belief.covariance, 1.0
        for b in self.others:
            if b != a:
                spread = math.sqrt(c[a, a] + c[b, b] - 2 * c[a, b])
                chance *= NormalDist().cdf(float(belief.mean[a] - belief.mean[b]) / spread)
        return chance + 1e-9
