"""Confidence sequences: intervals for an arm's mean that hold at all times at once, whenever one looks and stops.

U(m) is the log of a mixture of products of bets that the mean is above m, D(m) of bets that it is below. If the mean
is m, each ever reaches log(2/alpha) with probability at most alpha/2 (Ville's inequality); the interval is what neither
has excluded. For K arms together alpha is divided by K, which is what a statement about the winner needs.

Unlike the bets that end a trial, these mixtures are fixed beforehand: they depend on an arm's own releases only, so the
interval is the same whatever algorithm recruited. Their grids have no end: level k = 0, 1, 2, ... stands for
differences of about 2^-k, with weights that sum to 1 over all levels. A level that is left out can only widen the
interval, so only those that matter are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from bestarm.errors import InputError
from bestarm.release.laws import (
    Law,
    bet_cap,
    counted_mean,
    has_pmf,
    log_mgf,
    log_outcome_mgf,
    log_pmf,
    noise_variance,
    outcome_mean,
)

Batch: TypeAlias = tuple[int, float]
"""The size of a released batch, and its release."""

EVEN_LEVELS: Final = 12
"""The first levels weigh the same, 1/16 each; the quarter that is left falls towards the finer ones."""
LEVELS_IN_USE: Final = 6
"""Levels that are looked at in the likelihood form: the one the data can just see, and coarser ones."""
FINEST: Final = 40
"""No level beyond this one is looked at."""
HALVINGS: Final = 30
"""Steps of each bisection: an interval's ends are rounded outwards by a 2^-30th."""


def confidence_interval(
    law: Law, batches: Sequence[Batch], alpha: float, *, arms: int = 1, tilted: bool | None = None
) -> tuple[float, float]:
    """The interval for one arm's mean from its releases, at level 1 - alpha at all times at once.

    With `arms` the intervals of that many arms hold together. The likelihood form is used where the law has one and
    `tilted` does not say otherwise; it needs binary (or binarised) outcomes.
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha}, but it has to lie between 0 and 1, both excluded.")
    if tilted is None:
        tilted = not has_pmf(law)
    if not tilted and not has_pmf(law):
        raise InputError("The likelihood form needs binary outcomes and a privacy model other than zcdp.")
    if not batches:
        return 0.0, 1.0
    threshold = math.log(2 * arms / alpha)
    excludes = tilted_evidence(law, batches) if tilted else likelihood_evidence(law, batches)
    centre = min(max(estimate(law, batches), 0.0), 1.0)
    low = _outer_edge(lambda m: excludes(m, True) < threshold, 0.0, centre)
    high = _outer_edge(lambda m: excludes(m, False) < threshold, 1.0, centre)
    return low, high


def estimate(law: Law, batches: Sequence[Batch]) -> float:
    """Batch means pooled by the inverse of their variance, 1/5 standing for that of an outcome."""
    noise = noise_variance(law)
    weights = [n * n / (n / 5 + noise) for n, _ in batches]
    total = sum(w * r / n for w, (n, r) in zip(weights, batches, strict=True))
    return outcome_mean(law, total / sum(weights))


def finest_level(law: Law, batches: Sequence[Batch]) -> int:
    """The level whose difference is about one standard error of all batches together."""
    noise = noise_variance(law)
    precision = sum(n * n / (n / 5 + noise) for n, _ in batches) * law.slope**2
    return min(max(math.ceil(0.5 * math.log2(precision)), 0), FINEST)


def tilted_evidence(law: Law, batches: Sequence[Batch]) -> Callable[[float, bool], float]:
    """U (above) and D of the tilted form: targets 6/2^k nats, each with a bet for every batch size."""
    levels = range(finest_level(law, batches) + 4)
    bets = [
        [(n, r, tilt, log_mgf(law, tilt)) for n, r in batches if (tilt := tilt_for(law, n, 6.0 / 2**level)) > 0]
        for level in levels
    ]

    def evidence(m: float, above: bool) -> float:
        null = counted_mean(law, m)
        side = 1.0 if above else -1.0
        return _log_sum(
            [
                log_weight(level)
                + sum(side * tilt * r - n * log_outcome_mgf(null, side * tilt) - cost for n, r, tilt, cost in bet)
                for level, bet in zip(levels, bets, strict=True)
            ]
        )

    return evidence


def tilt_for(law: Law, n: float, target: float) -> float:
    """argmax over 0 <= l < min(target, cap) of n (l target - l^2/2)/4 - psi(l), which is concave."""
    low, high = 0.0, min(target, 0.9999 * bet_cap(law))
    for _ in range(60):
        third = (high - low) / 3
        one, two = low + third, high - third
        promised = [n * (tilt * target - tilt * tilt / 2) / 4 - log_mgf(law, tilt) for tilt in (one, two)]
        if promised[0] < promised[1]:
            low = one
        else:
            high = two
    return low


def likelihood_evidence(law: Law, batches: Sequence[Batch]) -> Callable[[float, bool], float]:
    """U and D of the likelihood form: alternatives m + 2^-k and m - 2^-k, clamped to [0, 1].

    The log-likelihood is concave in the mean. So on the near side of its maximum U falls and D rises in m, and on the
    far side all their terms are at most their weights: each crosses a positive threshold once.
    """
    finest = finest_level(law, batches)
    levels = range(max(0, finest - LEVELS_IN_USE + 1), finest + 1)

    def log_likelihood(p: float) -> float:
        return sum(log_pmf(law, n, p, r) for n, r in batches)

    def evidence(m: float, above: bool) -> float:
        against = log_likelihood(m)
        if against == -math.inf:
            return math.inf
        side = 1.0 if above else -1.0
        return _log_sum(
            [
                log_weight(level) + log_likelihood(min(max(m + side * 0.5**level, 0.0), 1.0)) - against
                for level in levels
            ]
        )

    return evidence


def log_weight(level: int) -> float:
    """The weight of a level; all levels together weigh 1."""
    if level < EVEN_LEVELS:
        return -math.log(16.0)
    beyond = level - EVEN_LEVELS
    return -math.log(4.0 * (beyond + 1) * (beyond + 2))


def _log_sum(terms: Sequence[float]) -> float:
    top = max(terms)
    if top == -math.inf:
        return top
    return top + math.log(sum(math.exp(term - top) for term in terms))


def _outer_edge(inside: Callable[[float], bool], outer: float, inner: float) -> float:
    # Evidence falls towards the centre, so what is inside is an interval; its end is rounded outwards.
    if inside(outer):
        return outer
    if not inside(inner):
        return inner
    for _ in range(HALVINGS):
        middle = 0.5 * (outer + inner)
        if inside(middle):
            inner = middle
        else:
            outer = middle
    return outer
