"""The time of equal weights: what one nat against every rival costs if all arms that are still in take turns.

Against rival b a person on the best arm and one on b earn W_b(1, 1) together, so b is out after D_b = 1/W_b(1, 1) such
pairs for every nat; the best arm goes on until the last rival is out. The bound on the expected number of people
(docs/evidence-proof.md, Theorem 5) is in this time.
"""

from __future__ import annotations

from collections.abc import Sequence

from scipy.optimize import minimize_scalar

from bestarm.theory.divergences import d_eps
from bestarm.theory.inputs import Floats, checked_unique_best


def equal_time(means: Sequence[float] | Floats, slope: float) -> float:
    """T= = max over rivals of D_b + sum over rivals of D_b, with the divergence d of slopes up to `slope`.

    Never more than K times the characteristic time of the same d, and about twice it at most where gaps are small.
    """
    array = checked_unique_best(means)
    best = float(array.max())
    pairs = [1.0 / _pair_value(best, float(rival), slope) for rival in array if rival < best]
    return max(pairs) + sum(pairs)


def _pair_value(best: float, rival: float, slope: float) -> float:
    """W_b(1, 1): the least d(best, m) + d(rival, m) over common means m."""

    def told(share: float) -> float:
        m = rival + share * (best - rival)
        return float(d_eps(best, m, slope) + d_eps(rival, m, slope))

    return float(minimize_scalar(told, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9}).fun)
