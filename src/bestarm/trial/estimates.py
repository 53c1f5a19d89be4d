"""Each arm's mean and a confidence interval, from releases alone and for every algorithm alike.

The interval is the confidence sequence of spec: evidence, tilted form. For a bet l on a batch of n outcomes with
release R, exp(l R - n h_m(l) - psi(l)) has mean at most 1 if the true mean is at most m; a mixture over targets of
products of such bets ever exceeds 2K/alpha with probability at most alpha/(2K). What neither side excludes is the
interval; it holds for all K arms and all times at once with probability 1 - alpha.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

from bestarm.privacy.encoding import GRID_BITS, ON_GRID
from bestarm.release import laws
from bestarm.release.laws import Law
from bestarm.trial.design import TrialDesign
from bestarm.trial.public import Estimate, Released, in_outcome_units

TARGETS = tuple(6.0 / 2**i for i in range(24))
"""What bets aim at: the gap, in nats an outcome of variance 1/4, between the truth and what is to be excluded."""
REST = 1.0 / (len(TARGETS) + 1)
"""The weight of all smaller targets, on which nothing is bet: weights 1/((i+1)(i+2)) sum to 1 over all i."""

STEPS = 40
"""Of every search here; more precision than a report can show."""


def estimates_of(design: TrialDesign, releases: list[Released]) -> list[Estimate]:
    """Every arm's estimate in the outcome's own units."""
    law = law_of(design)
    units = in_outcome_units(design)
    threshold = math.log(2 * len(design.arms) / float(Fraction(design.delta)))
    found = []
    for arm in range(len(design.arms)):
        groups = by_size((r.size, r.value) for r in releases if r.arm == arm)
        if not groups:
            found.append(Estimate(arm, None, None, None))
            continue
        ends = sorted(units(end, 1) for end in interval(law, groups, threshold))
        found.append(Estimate(arm, units(pooled_mean(law, groups), 1), ends[0], ends[1]))
    return found


def law_of(design: TrialDesign) -> Law:
    """The law of the design's releases."""
    bits = GRID_BITS if design.encoding == ON_GRID else 0
    budget = 0.0 if design.budget is None else float(design.budget)
    if design.privacy == "pure":
        return laws.pure_law(budget, bits)
    if design.privacy == "zcdp":
        return laws.zcdp_law(budget, bits)
    return laws.local_law(budget) if design.privacy == "local" else laws.no_privacy()


def by_size(batches: Iterable[tuple[int, float]]) -> dict[int, tuple[int, float]]:
    """Batches of the same size count together: how many, and the sum of their releases."""
    groups: dict[int, tuple[int, float]] = {}
    for size, value in batches:
        count, total = groups.get(size, (0, 0.0))
        groups[size] = (count + 1, total + value)
    return groups


def pooled_mean(law: Law, groups: dict[int, tuple[int, float]]) -> float:
    """The mean of batch means, weighted by the inverse of their variance, 1/5 standing for that of an outcome."""
    noise = laws.noise_variance(law)
    weight = {size: size * size / (size / 5 + noise) for size in groups}
    total = sum(weight[size] * value / size for size, (_, value) in groups.items())
    return laws.outcome_mean(law, total / sum(weight[size] * count for size, (count, _) in groups.items()))


def interval(law: Law, groups: dict[int, tuple[int, float]], threshold: float) -> tuple[float, float]:
    """The means in [0, 1] that neither side's evidence excludes."""
    low = _edge(lambda m: evidence_above(law, groups, m) < threshold, 0.0, 1.0)
    high = _edge(lambda m: evidence_below(law, groups, m) < threshold, 1.0, 0.0)
    return low, high


def evidence_above(law: Law, groups: dict[int, tuple[int, float]], m: float) -> float:
    """U(m): the log of the evidence that the mean is above m."""
    return _mixture(law, groups, laws.counted_mean(law, m), 1.0)


def evidence_below(law: Law, groups: dict[int, tuple[int, float]], m: float) -> float:
    """D(m): the log of the evidence that the mean is below m."""
    return _mixture(law, groups, laws.counted_mean(law, m), -1.0)


def _mixture(law: Law, groups: dict[int, tuple[int, float]], m: float, side: float) -> float:
    logs = [math.log(REST)]
    for place, target in enumerate(TARGETS):
        won = -math.log((place + 1) * (place + 2))
        for size, (count, total) in groups.items():
            stake = bet(law, size, target)
            cost = size * laws.log_outcome_mgf(m, side * stake) + laws.log_mgf(law, stake)
            won += side * stake * total - count * cost
        logs.append(won)
    top = max(logs)
    return top + math.log(sum(math.exp(one - top) for one in logs))


@lru_cache(maxsize=4096)
def bet(law: Law, size: int, target: float) -> float:
    """argmax over 0 <= l < min(target, cap) of n (l target - l^2/2)/4 - psi(l), a concave function, by thirds."""
    low, high = 0.0, min(target, laws.bet_cap(law))
    for _ in range(STEPS):
        third = (high - low) / 3
        one, two = low + third, high - third
        if _promise(law, size, target, one) < _promise(law, size, target, two):
            low = one
        else:
            high = two
    return low


def _promise(law: Law, size: int, target: float, stake: float) -> float:
    return size * (stake * target - stake * stake / 2) / 4 - laws.log_mgf(law, stake)


def _edge(inside: Callable[[float], bool], outer: float, inner: float) -> float:
    # The end of the interval towards `outer`, rounded outwards; if even the far end is excluded, that end.
    if inside(outer):
        return outer
    for _ in range(STEPS):
        middle = (outer + inner) / 2
        if inside(middle):
            inner = middle
        else:
            outer = middle
    return outer
