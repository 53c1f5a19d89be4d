"""The strongest opponent of a bet, found by enumeration.

Person by person, knowing every coin and outcome so far, the opponent chooses what the next one would do on the champion
and on the rival, within the hypothesis that the rival is on average better by `zone` or more, and may close the stage
at any moment. The largest mean that a bet can be driven to this way has to be at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import product

Outcome = Fraction


@dataclass(frozen=True)
class Seen:
    """A stage as it stands: sizes and exact sums of champion and rival."""

    n_a: int = 0
    s_a: Outcome = Fraction(0)
    n_b: int = 0
    s_b: Outcome = Fraction(0)

    def after(self, champion: bool, outcome: Outcome) -> Seen:
        if champion:
            return Seen(self.n_a + 1, self.s_a + outcome, self.n_b, self.s_b)
        return Seen(self.n_a, self.s_a, self.n_b + 1, self.s_b + outcome)


Value = Callable[[Seen, int], float]
"""The mean of a bet over the noise, given exact sums and the number of people in the stage (on other arms, too)."""


def largest_mean(
    value: Value,
    people: int,
    p_a: float,
    p_b: float,
    zone: float = 0.0,
    may_close: bool = False,
    flip: float = 0.0,
    outcomes: Sequence[Outcome] = (Fraction(0), Fraction(1)),
    constant: float | None = None,
) -> float:
    """The supremum of the bet's mean. `flip`: bits are flipped before they are counted. `constant`: no opponent at
    all, every outcome is 1 with this probability on both arms."""

    @cache
    def worth(seen: Seen, enrolled: int) -> float:
        if enrolled == people:
            return value(seen, enrolled)

        def counted(champion: bool, outcome: Outcome) -> float:
            straight = worth(seen.after(champion, outcome), enrolled + 1)
            if flip == 0:
                return straight
            return (1 - flip) * straight + flip * worth(seen.after(champion, 1 - outcome), enrolled + 1)

        on_a = {x: p_a * counted(True, x) for x in outcomes}
        on_b = {x: p_b * counted(False, x) for x in outcomes}
        if constant is not None:
            best = sum(arm[Fraction(1)] * constant + arm[Fraction(0)] * (1 - constant) for arm in (on_a, on_b))
        else:
            best = _best_within_hypothesis(on_a, on_b, zone)
        elsewhere = 1 - p_a - p_b
        if elsewhere > 1e-12:
            best += elsewhere * worth(seen, enrolled + 1)
        return max(best, value(seen, enrolled)) if may_close else best

    return worth(Seen(), 0)


def _best_within_hypothesis(on_a: dict[Outcome, float], on_b: dict[Outcome, float], zone: float) -> float:
    """The linear program over what one person would do: E x_b - E x_a >= zone. Its optimum is a pair of outcomes, or a
    mixture of two pairs that meets the constraint exactly."""
    pairs = [(float(b - a) - zone, on_a[a] + on_b[b]) for a, b in product(on_a, on_b)]
    allowed = [p for p in pairs if p[0] >= 0]
    best = max(v for _, v in allowed)
    for (slack, good), (excess, bad) in product(allowed, [p for p in pairs if p[0] < 0]):
        share = slack / (slack - excess)
        best = max(best, share * bad + (1 - share) * good)
    return best


@cache
def laplace(epsilon: float, step: float) -> list[tuple[float, float]]:
    """Discrete Laplace noise as pairs of value and probability."""
    q = math.exp(-epsilon * step)
    reach = math.ceil(45 / (epsilon * step))
    return [(z * step, (1 - q) / (1 + q) * q ** abs(z)) for z in range(-reach, reach + 1)]


@cache
def gauss(rho: float, step: float) -> list[tuple[float, float]]:
    """Discrete Gaussian noise of parameter sigma^2 = 1/(2 rho) on multiples of the step."""
    reach = math.ceil(10 / math.sqrt(2 * rho) / step)
    weights = [(z * step, math.exp(-rho * (z * step) ** 2)) for z in range(-reach, reach + 1)]
    total = sum(w for _, w in weights)
    return [(z, w / total) for z, w in weights]


def mean_of_curve(noise: Sequence[tuple[float, float]], steep: float, cap: float) -> Callable[[float], float]:
    """u -> E exp(min(steep (u + Z), cap)), summed term by term."""
    return cache(partial(_mean_of_curve, noise, steep, cap))


def _mean_of_curve(noise: Sequence[tuple[float, float]], steep: float, cap: float, u: float) -> float:
    return math.fsum(p * math.exp(min(steep * (u + z), cap)) for z, p in noise)
