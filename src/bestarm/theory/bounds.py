"""What a problem must cost: lower bounds on the expected number of participants, and the paper's upper rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from bestarm.checks import BETA, DELTA, EPSILON
from bestarm.release.models import Privacy
from bestarm.theory.characteristic import gaussian_beta_time, kl_time, private_time, refined_time, tv_time
from bestarm.theory.divergences import kl
from bestarm.theory.inputs import Floats, checked_means, checked_unique_best

Regime = Literal["high-privacy", "low-privacy"]


@dataclass(frozen=True)
class Bounds:
    """The characteristic times of one problem, the bounds they give, and the allocations that attain them."""

    t_kl: float  # T*_KL: without privacy
    t_tv: float  # T*_TV: what privacy alone asks for, times epsilon
    t_private: float  # T*(nu; eps) of Theorem 2
    t_refined: float  # T_eps of the refined bound
    t_kl_beta_gaussian: float  # T*_{KL,beta} of the paper's analysis
    lower_bound: float  # Theorem 2
    lower_bound_corollary: float  # the Corollary's maximum
    lower_bound_refined: float  # the strongest of the three
    upper_bound_rate: float  # Theorem 5: AdaP-TT's expected samples per log(1/delta), as delta tends to 0
    regime: Regime  # whether privacy or chance decides the cost, by the Corollary
    regime_epsilon: float  # where the two meet
    allocation: dict[str, tuple[float, ...]]  # kl, tv, private, refined: shares in the arms' own order

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON."""
        return asdict(self)


def bounds(means: Sequence[float] | Floats, epsilon: float | None, delta: float, beta: float = 0.5) -> Bounds:
    """Every bound of one problem (the paper's Theorems 2 and 5): the arms' means, the privacy budget epsilon (None
    without privacy), the risk delta.

    `beta` is the leader's share in the paper's algorithm and touches the Gaussian time and Theorem 5's rate only.
    """
    array = checked_unique_best(means)
    budget = math.inf if epsilon is None else EPSILON.plainly(epsilon)
    delta, beta = DELTA.plainly(delta), BETA.plainly(beta)
    no_privacy, privacy_only = kl_time(array), tv_time(array)
    private = no_privacy if epsilon is None else private_time(array, epsilon)
    refined = no_privacy if epsilon is None else refined_time(array, epsilon)
    gaussian = gaussian_beta_time(array, beta)
    regime_epsilon = privacy_only.time / (6.0 * no_privacy.time)
    nats = paper_nats(delta)
    return Bounds(
        t_kl=no_privacy.time,
        t_tv=privacy_only.time,
        t_private=private.time,
        t_refined=refined.time,
        t_kl_beta_gaussian=gaussian.time,
        lower_bound=private.time * nats,
        lower_bound_corollary=max(no_privacy.time, privacy_only.time / (6.0 * budget)) * nats,
        lower_bound_refined=refined.time * refined_nats(delta),
        upper_bound_rate=upper_bound_rate(gaussian.time, float(array.max() - array.min()), budget),
        regime="high-privacy" if budget < regime_epsilon else "low-privacy",
        regime_epsilon=regime_epsilon,
        allocation={
            "kl": no_privacy.weights,
            "tv": privacy_only.weights,
            "private": private.weights,
            "refined": refined.weights,
        },
    )


def lower_bound(
    means: Sequence[float] | Floats, privacy: Privacy, delta: float, difference: float = 0.0
) -> float | None:
    """The least that any method needs on average: the refined bound, and without privacy that of T*_KL.

    None where there is none: for a tied best arm, where a difference has to matter, and in other privacy models.
    """
    array = checked_means(means)
    tied = bool((array == array.max()).sum() > 1)
    if tied or difference != 0 or privacy.model not in ("pure", "none"):
        return None
    needed = kl_time(array) if privacy.budget is None else refined_time(array, float(privacy.budget))
    return needed.time * refined_nats(DELTA.plainly(delta))


def paper_nats(delta: float) -> float:
    """log(1/(3 delta)), the evidence that Theorem 2 and its Corollary ask for; nothing once delta >= 1/3."""
    return max(0.0, -math.log(3.0 * delta))


def refined_nats(delta: float) -> float:
    """kl(1 - delta, delta), the evidence that the refined bound asks for; nothing once a coin flip would do."""
    return float(kl(1.0 - delta, delta)) if delta < 0.5 else 0.0


def upper_bound_rate(gaussian_time: float, widest_gap: float, epsilon: float) -> float:
    """Theorem 5: 4 T*_{KL,beta} (1 + sqrt(1 + D_max^2/(2 eps^2)))."""
    return 4.0 * gaussian_time * (1.0 + float(np.hypot(1.0, widest_gap / (math.sqrt(2.0) * epsilon))))
