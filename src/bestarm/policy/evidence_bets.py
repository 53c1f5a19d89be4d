"""Bets against "the mean is at most m", one release at a time: what the evidence is made of.

A bet is a non-negative function of the release whose mean is at most 1 whenever the null holds; its logarithm is the
evidence that the release brings. Both forms are weighted averages of such functions with weights fixed beforehand:

* likelihood form (binary outcomes): f_p(R) / f_m(R) with p > m, of mean at most 1 under every mean up to m because the
  likelihood ratio of a release is monotone;
* tilted form (any outcomes in [0, 1]): exp(l R - n h_m(l) - psi(l)) with l >= 0.

Bets against "at least m" are the same bets seen in a mirror: n - R for R, 1 - m for m. (spec: evidence)
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from bestarm.policy.evidence_belief import POINTS, TYPICAL_VARIANCE, highest_belief, interval_around, resolution
from bestarm.policy.record import FloatArray
from bestarm.release.laws import (
    PURE,
    ZCDP,
    Law,
    bet_cap,
    counted_mean,
    log_mgf,
    log_outcome_mgf,
    log_pmf,
    noise_variance,
    outcome_mean,
)
from bestarm.rules import rule

TILTS: Final = 32
"""Bets that the tilted form chooses from."""
LARGEST_TILT: Final = 8.0
"""No outcome in [0, 1] is worth a larger bet."""
DOUBT: Final = 0.3
"""Weight of "no difference" against the belief on the far side of m: what keeps a mistaken bet from ruining."""
BLUR: Final = 1.0
"""Differences below this many resolutions of the batch are all alike to the prior on the difference."""
MOST_NEEDED: Final = 200.0
"""Evidence that a single bet aims at, at most, in nats; keeps exponentials finite."""
ROUNDING: Final = 1e-9
"""Subtracted from every bet's logarithm, far above the error of its computation."""


class Slip(NamedTuple):
    """All that the bets on one release have in common, seen in one direction; filled by `write_slip`."""

    point: FloatArray
    weight: FloatArray
    density: FloatArray
    tilt: FloatArray
    cost: FloatArray
    """psi of each tilt."""
    marginal: FloatArray
    """The derivative of psi at each tilt."""
    stake: FloatArray


@rule(allocates=True)
def new_slip() -> Slip:
    """An empty slip."""
    return Slip(
        np.zeros(POINTS),
        np.zeros(POINTS),
        np.zeros(POINTS),
        np.zeros(TILTS),
        np.zeros(TILTS),
        np.zeros(TILTS),
        np.zeros(TILTS),
    )


@rule(inline=False)
def write_slip(
    slip: Slip,
    law: Law,
    tilted: bool,
    n: float,
    point: FloatArray,
    belief: FloatArray,
    density: FloatArray,
    arm: int,
    up: bool,
) -> None:
    """Copy an arm's belief, mirrored for bets that its mean is low, and choose the tilts for a batch of n."""
    top = highest_belief(belief, arm)
    for k in range(POINTS):
        j = k if up else POINTS - 1 - k
        slip.point[k] = point[arm, j] if up else 1.0 - point[arm, j]
        slip.weight[k] = math.exp(belief[arm, j] - top) * interval_around(point, arm, j)
        slip.density[k] = density[j]
    if tilted:
        largest = min(LARGEST_TILT, 0.999 * bet_cap(law))
        smallest = min(0.2 / math.sqrt(n * TYPICAL_VARIANCE + noise_variance(law)), 0.1 * largest)
        ratio = (largest / smallest) ** (1.0 / (TILTS - 1))
        for i in range(TILTS):
            slip.tilt[i] = smallest * ratio**i
            slip.cost[i] = log_mgf(law, slip.tilt[i])
            slip.marginal[i] = log_mgf_slope(law, slip.tilt[i])


@rule(inline=False)
def log_mgf_slope(law: Law, l: float) -> float:  # noqa: E741
    """The derivative of psi."""
    if law.kind == PURE:
        step = law.step
        return step / math.expm1((law.budget - l) * step) - step / math.expm1((law.budget + l) * step)
    if law.kind == ZCDP:
        return 0.5 * l / law.budget
    return 0.0


@rule(inline=False)
def log_bet(slip: Slip, law: Law, tilted: bool, n: float, r: float, m: float, need: float, trust: float) -> float:
    """Evidence against "the mean is at most m" from a release r of n outcomes; `need` nats would be enough.

    `trust` is the share of the wealth that is staked; the rest is kept. Never above the true logarithm.
    """
    if m >= 1.0 or trust <= 0.0:
        return 0.0
    aim = math.log1p(math.expm1(min(need, MOST_NEEDED)) / trust)
    if tilted:
        won = tilted_bet(slip, law, n, r, counted_mean(law, m), m, aim)
    else:
        won = likelihood_bet(slip, law, n, r, m, aim)
    return math.log(max(1.0 - trust + trust * won, 1e-300)) - ROUNDING


@rule(inline=False)
def likelihood_bet(slip: Slip, law: Law, n: float, r: float, m: float, aim: float) -> float:
    """The average of f_p(r)/f_m(r) over the belief that p > m; what lies on the other side of m is not bet.

    No p beyond the one whose ratio can just reach the aim is used: anything above the aim would be won in vain, and a
    nearer p wins it for more releases.
    """
    against = log_pmf(law, n, m, r)
    farthest = point_reaching(law, aim / n, m)
    blur = BLUR * resolution(law, n)
    won = 0.0
    staked = 0.0
    beyond = 0.0
    kept = 0.0
    for k in range(POINTS):
        gap = slip.point[k] - m
        if gap <= 0.0:
            kept += DOUBT * slip.weight[k] / (blur - gap)
        else:
            weight = slip.weight[k] / (blur + gap)
            staked += weight
            if slip.point[k] < farthest:
                won += weight * math.exp(min(slip.density[k] - against, 600.0))
            else:
                beyond += weight
    if beyond > 0.0:
        won += beyond * math.exp(min(log_pmf(law, n, farthest, r) - against, 600.0))
    total = staked + kept
    return (won + kept) / total if total > 0.0 else 1.0


@rule(inline=False)
def tilted_bet(slip: Slip, law: Law, n: float, r: float, null: float, m: float, aim: float) -> float:
    """The average of exp(l r - n h(l) - psi(l)) over tilts l, each standing for the differences that it suits best.

    `null` is the mean of what is counted when outcomes have mean m. Tilts beyond the one that reaches the aim with the
    smallest release are not used.
    """
    variance = null * (1.0 - null)
    blur = BLUR * resolution(law, n)
    last = 0
    least = math.inf
    for i in range(TILTS):
        slip.stake[i] = 0.0
        release_needed = (aim + n * log_outcome_mgf(null, slip.tilt[i]) + slip.cost[i]) / slip.tilt[i]
        if release_needed < least:
            least = release_needed
            last = i
    kept = 0.0
    i = 0
    for k in range(POINTS):
        gap = slip.point[k] - m
        if gap <= 0.0:
            kept += DOUBT * slip.weight[k] / (blur - gap)
        else:
            edge = n * law.slope * gap
            while i < last and n * variance * slip.tilt[i + 1] + slip.marginal[i + 1] <= edge:
                i += 1
            slip.stake[i] += slip.weight[k] / (blur + gap)
    won = kept
    total = kept
    for i in range(last + 1):
        if slip.stake[i] > 0.0:
            payoff = slip.tilt[i] * r - n * log_outcome_mgf(null, slip.tilt[i]) - slip.cost[i]
            won += slip.stake[i] * math.exp(min(payoff, 600.0))
            total += slip.stake[i]
    return won / total if total > 0.0 else 1.0


@rule(inline=False)
def information(law: Law, p: float, m: float) -> float:
    """Evidence per outcome that the mean is above m when it is p > m, for large batches: d_eps(p, m), or kl."""
    if p <= m:
        return 0.0
    x = counted_mean(law, p)
    y = counted_mean(law, m)
    if y <= 0.0 or y >= 1.0:
        return math.inf if y <= 0.0 and law.kind != PURE else (law.budget * x if y <= 0.0 else 0.0)
    if law.kind == PURE and x > tilted_mean(law.budget, y):
        return law.budget * x - log_outcome_mgf(y, law.budget)
    return kl(x, y)


@rule(inline=False)
def kl(x: float, y: float) -> float:
    """Bernoulli relative entropy for x in (0, 1], y in (0, 1)."""
    low = (1.0 - x) * math.log((1.0 - x) / (1.0 - y)) if x < 1.0 else 0.0
    return x * math.log(x / y) + low


@rule(inline=False)
def tilted_mean(epsilon: float, m: float) -> float:
    """The mean whose log-odds are epsilon above those of m: where d_eps turns from kl into a line."""
    return m / (m + (1.0 - m) * math.exp(-epsilon))


@rule(inline=False)
def point_reaching(law: Law, nats: float, m: float) -> float:
    """The p > m with `information(law, p, m)` = nats, or as near to 1 as points go."""
    top = counted_mean(law, 1.0 - 1e-9)
    y = counted_mean(law, m)
    if y <= 0.0:
        return outcome_mean(law, min(nats / law.budget, top)) if law.kind == PURE else 1e-9
    high = top
    if law.kind == PURE:
        turn = tilted_mean(law.budget, y)
        p = (nats + log_outcome_mgf(y, law.budget)) / law.budget
        if p >= turn:
            return min(p, top)
        high = turn
    if y >= high or kl(high, y) <= nats:
        return outcome_mean(law, max(high, y))
    low = y
    x = min(y + math.sqrt(2.0 * nats * y * (1.0 - y)), 0.5 * (low + high))
    for _ in range(60):
        excess = kl(x, y) - nats
        if excess > 0.0:
            high = x
        else:
            low = x
        slope = math.log(x * (1.0 - y) / (y * (1.0 - x)))
        step = excess / slope if slope > 0.0 else 0.0
        following = x - step
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - x) <= 1e-9 * (x - y):
            break
        x = following
    return outcome_mean(law, x)
