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

import numpy as np

from bestarm.errors import InputError
from bestarm.release.arrays import FloatArray, log_mgfs, log_outcome_mgfs, log_pmfs
from bestarm.release.laws import Law, bet_cap, counted_mean, has_pmf, noise_variance, outcome_mean

Batch: TypeAlias = tuple[int, float]
"""The size of a released batch, and its release."""

EVEN_LEVELS: Final = 12
"""The first levels weigh the same, 1/16 each; the quarter that is left falls towards the finer ones."""
LEVELS_IN_USE: Final = 6
"""Levels that are looked at in the likelihood form: the one the data can just see, and coarser ones."""
FINEST: Final = 40
"""No level beyond this one is looked at."""
CLOSE: Final = 1e-5
"""At an interval's end the evidence is beyond its line by at most this many nats: ends are rounded outwards."""
TRISECTIONS: Final = 40
"""Steps of the search for a tilt: found but for a 10^-7th of its range."""
MOST_HEIGHT: Final = 1e6
"""Stands for the root of infinite evidence."""
MOST_KEPT: Final = 20_000
"""Sizes whose bets are kept, a few hundred bytes each; beyond that all are found anew."""
NARROW: Final = 2.0**-30
"""An end is not looked for more closely than this."""


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
    reach = math.sqrt(2.0 * (threshold + math.log(16.0)) / _precision(law, batches))
    low = _outer_edge(lambda m: excludes(m, True), threshold, 0.0, centre, reach)
    high = _outer_edge(lambda m: excludes(m, False), threshold, 1.0, centre, reach)
    return low, high


def estimate(law: Law, batches: Sequence[Batch]) -> float:
    """Batch means pooled by the inverse of their variance, 1/5 standing for that of an outcome."""
    noise = noise_variance(law)
    weights = [n * n / (n / 5 + noise) for n, _ in batches]
    total = sum(w * r / n for w, (n, r) in zip(weights, batches, strict=True))
    return outcome_mean(law, total / sum(weights))


def finest_level(law: Law, batches: Sequence[Batch]) -> int:
    """The level whose difference is about one standard error of all batches together."""
    return min(max(math.ceil(0.5 * math.log2(_precision(law, batches))), 0), FINEST)


def _precision(law: Law, batches: Sequence[Batch]) -> float:
    noise = noise_variance(law)
    return sum(n * n / (n / 5 + noise) for n, _ in batches) * law.slope**2


def tilted_evidence(law: Law, batches: Sequence[Batch]) -> Callable[[float, bool], float]:
    """U (above) and D of the tilted form: targets 6/2^k nats, each with a bet for every batch size."""
    levels = np.arange(finest_level(law, batches) + 4, dtype=np.float64)
    weights = np.array([log_weight(int(level)) for level in levels])
    sizes, values = _columns(batches)
    tilts, costs = _bets(law, sizes, levels.size)
    won, cost = tilts @ values, costs.sum(axis=1)

    def evidence(m: float, above: bool) -> float:
        side = 1.0 if above else -1.0
        expected = log_outcome_mgfs(counted_mean(law, m), side * tilts) @ sizes
        return _log_sum(weights + side * won - expected - cost)

    return evidence


def _bets(law: Law, sizes: FloatArray, levels: int) -> tuple[FloatArray, FloatArray]:
    # The tilt of every level and batch, and what it costs. Both follow from the batch's size alone, so those that were
    # found once are kept: to find them takes nine tenths of an interval's time.
    kept, wanted = _KEPT.setdefault((law, levels), {}), sizes.tolist()
    new = [size for size in dict.fromkeys(wanted) if size not in kept]
    if new:
        if sum(map(len, _KEPT.values())) + len(new) > MOST_KEPT:
            _KEPT.clear()
            kept, new = _KEPT.setdefault((law, levels), {}), list(dict.fromkeys(wanted))
        tilts = tilts_for(law, np.array(new), 6.0 / 2.0 ** np.arange(levels, dtype=np.float64))
        by_size = np.stack([tilts, log_mgfs(law, tilts)]).transpose(2, 0, 1).copy()
        kept.update(zip(new, by_size, strict=True))
    tilts, costs = np.stack([kept[size] for size in wanted], axis=-1)
    return tilts, costs


_KEPT: dict[tuple[Law, int], dict[float, FloatArray]] = {}
"""For a law and so many levels: tilts and costs of a batch by its size."""


def tilts_for(law: Law, sizes: FloatArray, targets: FloatArray) -> FloatArray:
    """argmax over 0 <= l < min(target, cap) of n (l target - l^2/2)/4 - psi(l), which is concave; target by size."""
    n, target = sizes[None, :], targets[:, None]
    low, high = np.zeros((targets.size, sizes.size)), np.minimum(target, 0.9999 * bet_cap(law)) + 0.0 * n
    for _ in range(TRISECTIONS):
        third = (high - low) / 3
        one, two = low + third, high - third
        promised = [n * (tilt * target - tilt * tilt / 2) / 4 - log_mgfs(law, tilt) for tilt in (one, two)]
        rising = promised[0] < promised[1]
        low, high = np.where(rising, one, low), np.where(rising, high, two)
    return low


def likelihood_evidence(law: Law, batches: Sequence[Batch]) -> Callable[[float, bool], float]:
    """U and D of the likelihood form: alternatives m + 2^-k and m - 2^-k, clamped to [0, 1].

    The log-likelihood is concave in the mean. So on the near side of its maximum U falls and D rises in m, and on the
    far side all their terms are at most their weights: each crosses a positive threshold once.
    """
    finest = finest_level(law, batches)
    levels = range(max(0, finest - LEVELS_IN_USE + 1), finest + 1)
    sizes, values = _columns(batches)

    weights = np.array([log_weight(level) for level in levels])
    apart = 0.5 ** np.array([*levels], dtype=np.float64)

    def evidence(m: float, above: bool) -> float:
        others = np.clip(m + (apart if above else -apart), 0.0, 1.0)
        against, *for_others = log_pmfs(law, sizes, np.array([m, *others]), values).sum(axis=1)
        return math.inf if against == -math.inf else _log_sum(weights + np.array(for_others) - against)

    return evidence


def _columns(batches: Sequence[Batch]) -> tuple[FloatArray, FloatArray]:
    return np.array([float(n) for n, _ in batches]), np.array([float(r) for _, r in batches])


def log_weight(level: int) -> float:
    """The weight of a level; all levels together weigh 1."""
    if level < EVEN_LEVELS:
        return -math.log(16.0)
    beyond = level - EVEN_LEVELS
    return -math.log(4.0 * (beyond + 1) * (beyond + 2))


def _log_sum(terms: FloatArray) -> float:
    top = float(terms.max())
    if top == -math.inf:
        return top
    return top + math.log(float(np.exp(terms - top).sum()))


def _outer_edge(evidence: Callable[[float], float], line: float, outer: float, inner: float, reach: float) -> float:
    """Where evidence that falls from `outer` to `inner` passes the line; a point from which on it is beyond it.

    The root of evidence is about straight, since evidence is about a parabola with its bottom at the inner point: so
    the end is found by secants of it (the Illinois rule), from a first guess at `reach` from there.
    """
    target = math.sqrt(line + 0.5 * CLOSE)
    ahead, behind = math.inf, -target
    beyond, side = math.inf, 0
    while abs(outer - inner) > NARROW and beyond > line + CLOSE:
        if math.isinf(ahead):  # nothing beyond the line is known yet
            guess = outer if reach >= abs(outer - inner) else inner + math.copysign(reach, outer - inner)
        else:
            share = min(max(ahead / (ahead - behind), 0.001), 0.999)
            guess = outer + (inner - outer) * share
        found = evidence(guess)
        height = math.sqrt(max(found, 0.0)) - target
        if found >= line:
            behind *= 0.5 if side == 1 else 1.0
            outer, beyond, ahead, side = guess, found, min(height, MOST_HEIGHT), 1
        elif guess == outer:
            return outer
        else:
            ahead *= 0.5 if side == -1 else 1.0
            inner, behind, side = guess, height, -1
            reach *= 1.5
    return outer
