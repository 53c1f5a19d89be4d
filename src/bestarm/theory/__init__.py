"""What identification must cost: divergences, characteristic times, optimal allocations, bounds, regimes."""

from bestarm.theory.bounds import Bounds, Regime, bounds, lower_bound
from bestarm.theory.characteristic import (
    CharacteristicTime,
    free_epsilon,
    gaussian_beta_time,
    kl_time,
    private_time,
    refined_time,
    tv_time,
)
from bestarm.theory.divergences import d_eps, kl, tv
from bestarm.theory.local import local_lower_bound

__all__ = [
    "Bounds",
    "CharacteristicTime",
    "Regime",
    "bounds",
    "d_eps",
    "free_epsilon",
    "gaussian_beta_time",
    "kl",
    "kl_time",
    "local_lower_bound",
    "lower_bound",
    "private_time",
    "refined_time",
    "tv",
    "tv_time",
]
