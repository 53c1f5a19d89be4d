"""What local privacy must cost, where everybody randomises their own outcome (docs/regimes.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.optimize import minimize_scalar

from bestarm.checks import DELTA, EPSILON
from bestarm.theory.characteristic import gaussian_beta_time, kl_time
from bestarm.theory.inputs import Floats


def squared_tv_time(means: Sequence[float] | Floats) -> float:
    """T*_TV2, the characteristic time with the squared total variation: half the Gaussian one, the best share free."""
    found = minimize_scalar(
        lambda beta: gaussian_beta_time(means, beta).time, bounds=(1e-6, 1 - 1e-6), method="bounded"
    )
    return float(found.fun) / 2


def local_lower_bound(means: Sequence[float] | Floats, epsilon: float, delta: float) -> float:
    """max{T*_KL, T*_TV2/c(eps)} log(1/(2.4 delta)) people, with c(eps) = min{4, e^(2 eps)} (e^eps - 1)^2.

    For Bernoulli arms, from the authors' slides on local privacy; nothing once delta >= 1/2.4.
    """
    budget = EPSILON.plainly(epsilon)
    nats = max(0.0, -math.log(2.4 * DELTA.plainly(delta)))
    if budget > 100.0:  # e^(2 eps) is beyond any time that matters
        return kl_time(means).time * nats
    contraction = min(4.0, math.exp(2 * budget)) * math.expm1(budget) ** 2
    return max(kl_time(means).time, squared_tv_time(means) / contraction) * nats
