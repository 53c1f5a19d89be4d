"""What an observer can prove about epsilon from counts: Clopper-Pearson bounds on the privacy that is really there."""

from __future__ import annotations

import math

CONFIDENCE = 0.999


def epsilon_at_least(hits: int, hits_elsewhere: int, runs: int, confidence: float = CONFIDENCE) -> float:
    """A lower bound on epsilon, from how often an event came up in `runs` runs on each of two neighbouring tables.

    epsilon-DP says P(event | one table) <= e^epsilon P(event | the other). With the first probability bounded below and
    the second above, each failing with half of 1 - confidence, the log of their ratio bounds epsilon below. Never
    negative: epsilon = 0 needs no proof.
    """
    from scipy.stats import beta

    slack = (1 - confidence) / 2
    low = beta.ppf(slack, hits, runs - hits + 1) if hits > 0 else 0.0
    high = beta.ppf(1 - slack, hits_elsewhere + 1, runs - hits_elsewhere) if hits_elsewhere < runs else 1.0
    return max(0.0, math.log(low / high)) if low > 0 else 0.0
