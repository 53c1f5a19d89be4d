"""The laws of releases for many releases at once: what `bestarm.release.laws` says of one, of whole arrays.

Whoever looks at a trial wants intervals over all its releases, and a call for each of them is slow. The probability of
a noisy sum is the closed form of docs/evidence-proof.md, its binomial tails from SciPy's incomplete beta function; the
few that are too far out for a floating-point number are left to the function of one release, which works in logs.
"""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bestarm.release.laws import NEGLIGIBLE, PURE, ZCDP, Law, log_binomial_laplace

FloatArray: TypeAlias = NDArray[np.float64]

SMALLEST: Final = 1e-280
"""Tails below this are taken in logs, unless they are beside something larger by NEGLIGIBLE nats."""
TINY: Final = 2.0**-53
FAR: Final = math.log(SMALLEST) + NEGLIGIBLE


def log_mgfs(law: Law, slopes: FloatArray) -> FloatArray:
    """psi(l) = log E exp(l Z) of every slope, as `laws.log_mgf` has it."""
    if law.kind == PURE:
        step = law.step
        top = -math.expm1(-law.budget * step)
        up, down = -np.expm1((slopes - law.budget) * step), -np.expm1((-slopes - law.budget) * step)
        found: FloatArray = 2.0 * math.log(top) - np.log(up) - np.log(down)
        return found
    if law.kind == ZCDP:
        return 0.25 * slopes * slopes / law.budget
    return np.zeros_like(slopes)


def log_outcome_mgfs(m: float, slopes: FloatArray) -> FloatArray:
    """h_m(l) = log(1 - m + m e^l) of every slope, as `laws.log_outcome_mgf` has it."""
    if m <= 0.0:
        return np.zeros_like(slopes)
    if m >= 1.0:
        return slopes.copy()
    low, high = math.log1p(-m), math.log(m) + slopes
    found: FloatArray = np.where(np.abs(slopes) < 1.0, np.log1p(m * np.expm1(slopes)), np.logaddexp(low, high))
    return found


def log_pmfs(law: Law, n: FloatArray, means: FloatArray, r: FloatArray) -> FloatArray:
    """log P(R = r) of every release of n binary outcomes, as `laws.log_pmf` has it: mean by release. Needs `has_pmf`.

    For means of 0 and 1, where nothing is random but the noise, the limit is taken.
    """
    from scipy import special  # not needed for anything else, and slow to import

    if law.kind == PURE:
        return _binomial_laplace(special.betainc, n, means[:, None], r, law.budget)
    possible = (r >= 0.0) & (r <= n)
    k = np.where(possible, r, 0.0)
    ways = np.where(
        possible, special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0), -np.inf
    )
    p: FloatArray = np.clip(law.slope * means + law.offset, 0.0, 1.0)[:, None]
    return np.asarray(ways + special.xlogy(k, p) + special.xlog1py(n - k, -p), dtype=np.float64)


def _binomial_laplace(betainc: Any, n: FloatArray, means: FloatArray, r: FloatArray, epsilon: float) -> FloatArray:
    # Counts up to r, then those beyond: each the whole of one side of the noise times a tail under a tilted mean.
    scale = math.log(math.tanh(0.5 * epsilon))
    shrink, m = math.exp(-epsilon), np.clip(means, TINY, 1.0 - TINY)
    mc = 1.0 - m
    k = np.clip(r, 0.0, n - 1.0)
    at_most = betainc(n - k, k + 1.0, mc * shrink / (m + mc * shrink))
    beyond = betainc(k + 1.0, n - k, m * shrink / (mc + m * shrink))
    at_most = np.where(r < 0.0, 0.0, np.where(r >= n, 1.0, at_most))
    beyond = np.where(r < 0.0, 1.0, np.where(r >= n, 0.0, beyond))
    # log(1 - m + m e^epsilon) is epsilon + log(m + (1 - m) e^-epsilon), which no budget is too large for.
    sides = n * (epsilon + np.log(m + mc * shrink)) - epsilon * r, n * np.log(mc + m * shrink) + epsilon * r
    with np.errstate(divide="ignore"):
        below, above = sides[0] + np.log(at_most), sides[1] + np.log(beyond)
    found: FloatArray = scale + np.logaddexp(below, above)
    # What is too small for a number matters only if the other side is not larger by far.
    hidden = (at_most < SMALLEST) & (r >= 0.0) & (above < sides[0] + FAR) | (
        (beyond < SMALLEST) & (r < n) & (below < sides[1] + FAR)
    )
    for i, j in np.argwhere(hidden):
        found[i, j] = log_binomial_laplace(float(n[j]), float(means[i, 0]), float(r[j]), epsilon)
    certain = np.where(means <= 0.0, scale - epsilon * np.abs(r), scale - epsilon * np.abs(r - n))
    return np.where((means <= 0.0) | (means >= 1.0), certain, found)
