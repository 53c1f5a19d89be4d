"""How hard two Bernoulli laws are to tell apart: relative entropy, total variation, and both under privacy.

Everything is written in terms of the *difference* of the two means, which the caller may know more exactly than the
means themselves; so a gap of 1e-6 or a mean of 0 or 1 costs no digits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bestarm.theory.inputs import Floats

_SERIES_BELOW = 0.04
# (1 + t) log(1 + t) - t = t^2 (1/2 - t/6 + t^2/12 - ...), coefficient of t^(k+2): (-1)^k / ((k+1)(k+2))
_SERIES = tuple((-1.0) ** k / ((k + 1) * (k + 2)) for k in range(9))


def entropy_excess(t: Floats) -> Floats:
    """(1 + t) log(1 + t) - t for t >= -1, without the cancellation near 0 (1 at t = -1)."""
    small = np.abs(t) < _SERIES_BELOW
    near = np.where(small, t, 0.0)
    series = np.full_like(near, _SERIES[-1])
    for coefficient in reversed(_SERIES[:-1]):
        series = series * near + coefficient
    # Only the product with 1 + t matters at t = -1, where it is 0: keep the logarithm finite there.
    log = np.log1p(np.maximum(t, -1.0 + 1e-16))
    return np.where(small, near * near * series, np.maximum(1.0 + t, 0.0) * log - t)


def _kl_from_difference(difference: Floats, m: Floats, one_minus_m: Floats) -> Floats:
    """kl(m + difference, m) for 0 < m < 1: a sum of two non-negative terms, so nothing cancels."""
    far = difference > 1e15 * m  # m may be so small that difference/m overflows; then m itself no longer matters
    ratio = np.where(far, 1.0, difference / np.where(far, 1.0, m))
    both = entropy_excess(np.stack((ratio, -difference / one_minus_m)))
    from_above = difference * (np.log(np.where(far, difference, 1.0)) - np.log(m)) - difference
    total: Floats = np.where(far, from_above, m * both[0]) + one_minus_m * both[1]
    return total


def kl(x: ArrayLike, y: ArrayLike) -> Floats:
    """Relative entropy kl(x, y) of Bernoulli(x) from Bernoulli(y); infinite where y excludes what x allows."""
    return d_eps(x, y, math.inf)


def tv(x: ArrayLike, y: ArrayLike) -> Floats:
    """Total variation distance of Bernoulli(x) and Bernoulli(y): |x - y|."""
    return np.abs(np.asarray(x, dtype=np.float64) - np.asarray(y, dtype=np.float64))


def reach(m: Floats, one_minus_m: Floats, epsilon: float) -> tuple[Floats, Floats]:
    """How far above and below m the divergence d_eps(., m) is still kl.

    Those are the means whose logit differs from that of m by epsilon; beyond them d_eps grows with slope epsilon.
    """
    decay, span = math.exp(-epsilon), -math.expm1(-epsilon)
    product = span * m * one_minus_m
    return product / (m + one_minus_m * decay), product / (one_minus_m + m * decay)


def d_eps(x: ArrayLike, m: ArrayLike, epsilon: float) -> Floats:
    """The refined bound's divergence: d_eps(x, m) = sup over |l| <= epsilon of l x - log(1 - m + m e^l).

    Equal to inf over z of kl(z, m) + epsilon |x - z|: the part of the way that is cheaper to undo by privacy than
    to observe costs epsilon per unit. `epsilon = inf` gives kl(x, m).
    """
    x, m = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(m, dtype=np.float64))
    inside = (m > 0.0) & (m < 1.0)
    m_inside = np.where(inside, m, 0.5)
    difference = np.where(inside, x - m, 0.0)
    above, below = reach(m_inside, 1.0 - m_inside, epsilon)
    kept = np.clip(difference, -below, above)
    excess = np.abs(difference - kept)
    value = _kl_from_difference(kept, m_inside, 1.0 - m_inside)
    if math.isfinite(epsilon):
        value = value + epsilon * excess
    at_end = np.where(x == m, 0.0, epsilon * np.where(x == m, 1.0, np.abs(x - m)))
    return np.where(inside, value, at_end)
