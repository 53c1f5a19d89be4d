"""Stopping thresholds of the generalised likelihood ratio (GLR), with and without privacy.

`c_gauss` is the calibration function C_G for Gaussian mixtures (eq. def_C_gaussian_KK18Mixtures), `c_nonprivate` the
threshold c_k of the appendix (with the square on zeta(s) that the main text lacks), `c_private` the threshold
c_{eps,k1,k2} of eq. private_threshold. `c_phases` keeps C_G for every pair of phases, so that compiled rules look
up what would take a minimisation.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import zeta

from bestarm.errors import InputError
from bestarm.policy.record import FloatArray

MAX_PHASES = 63
"""Phase 63 of a doubling arm holds 2^61 people: more than any run can have."""

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_STEPS = 75


def c_gauss(x: FloatArray | float) -> FloatArray:
    """C_G(x) = min over l in (1/2, 1] of (g(l) + x)/l, for every x > 0 at once.

    Golden section over t with l = 1 - 1/(2 + 2 e^t): it spreads out both ends of (1/2, 1), where the minimiser sits
    for large and for small x, and the objective has one minimum in t as it has in l.
    """
    values = np.asarray(x, float)
    if not np.all(values > 0):
        raise InputError("C_G is defined for positive x only.")
    low = np.full(values.shape, -12.0)
    high = np.full(values.shape, 40.0)
    for _ in range(_STEPS):
        left = high - _GOLDEN * (high - low)
        right = low + _GOLDEN * (high - low)
        go_left = _objective(left, values) < _objective(right, values)
        high = np.where(go_left, right, high)
        low = np.where(go_left, low, left)
    return _objective((low + high) / 2, values)


def _objective(t: FloatArray, x: FloatArray) -> FloatArray:
    one_minus = 1 / (2 + 2 * np.exp(t))
    lam = 1 - one_minus
    g = 2 * lam - 2 * lam * np.log(4 * lam) + np.log(zeta(2 * lam)) - np.log(one_minus) / 2
    return np.asarray((g + x) / lam, float)


def c_nonprivate(k: float, n: float, m: float, arms: int, delta: float, s: float = 2.0) -> float:
    """c_k(n, m, delta) = 2 C_G(log((K-1) zeta(s)^2 k^s / delta)/2) + 2 log(4 + log n) + 2 log(4 + log m)."""
    x = math.log((arms - 1) * float(zeta(s)) ** 2 * k**s / delta) / 2
    return 2 * float(c_gauss(x)) + 2 * math.log(4 + math.log(n)) + 2 * math.log(4 + math.log(m))


def c_private(k1: int, k2: int, n: float, m: float, arms: int, epsilon: float, delta: float, s: float = 2.0) -> float:
    """c_{eps,k1,k2}(n, m, delta), eq. private_threshold: twice c_{k1 k2} at delta/2, plus the price of the noise."""
    return (
        2 * c_nonprivate(k1 * k2, n, m, arms, delta / 2, s)
        + laplace_log(k1, arms, delta, s) ** 2 / (n * epsilon**2)
        + laplace_log(k2, arms, delta, s) ** 2 / (m * epsilon**2)
    )


def laplace_log(k: int, arms: int, delta: float, s: float) -> float:
    """log(2 K k^s zeta(s) / delta): how far phase k's Laplace noise may stray, in units of its scale."""
    return math.log(2 * arms * k**s * float(zeta(s)) / delta)


@lru_cache(maxsize=256)
def c_phases(arms: int, delta: float, s: float) -> FloatArray:
    """2 C_G(log((K-1) zeta(s)^2 (k1 k2)^s / delta)/2) for all phases k1, k2 from 0 (unused) to MAX_PHASES."""
    k = np.maximum(np.arange(MAX_PHASES + 1), 1).astype(float)
    return 2 * c_gauss(np.log((arms - 1) * zeta(s) ** 2 * np.outer(k, k) ** s / delta) / 2)


def laplace_logs(arms: int, delta: float, s: float) -> FloatArray:
    """`laplace_log` for all phases from 0 (unused) to MAX_PHASES."""
    return np.array([laplace_log(max(k, 1), arms, delta, s) for k in range(MAX_PHASES + 1)])
