"""What an observer can prove about the privacy that is really there, from counts: Clopper-Pearson bounds."""

from __future__ import annotations

import math
from typing import Final

CONFIDENCE: Final = 0.999
ORDERS: Final = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0)
"""Orders of Renyi divergence that a bound on rho tries; 1 stands for Kullback and Leibler's."""


def epsilon_at_least(hits: int, hits_elsewhere: int, runs: int, confidence: float = CONFIDENCE) -> float:
    """A lower bound on epsilon, from how often an event came up in `runs` runs on each of two neighbouring tables.

    epsilon-DP says P(event | one table) <= e^epsilon P(event | the other). With the first probability bounded below and
    the second above, each failing with half of 1 - confidence, the log of their ratio bounds epsilon below. Never
    negative: epsilon = 0 needs no proof.
    """
    low, high = _apart(hits, hits_elsewhere, runs, confidence)
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


def rho_at_least(hits: int, hits_elsewhere: int, runs: int, confidence: float = CONFIDENCE) -> float:
    """A lower bound on rho of zCDP, from the same counts.

    rho-zCDP says D_a(P || Q) <= a rho for every order a >= 1, and to look at one event alone never raises a divergence.
    For p > q the divergence between a coin of probability p and one of q grows with p and falls with q, so with p at
    its lower and q at its upper bound D_a/a bounds rho below. A single event shows at most about 2/pi of rho.
    """
    p, q = _apart(hits, hits_elsewhere, runs, confidence)
    if not 0 < q < p:
        return 0.0
    return max(_divergence(p, q, order) / order for order in ORDERS)


def _apart(hits: int, hits_elsewhere: int, runs: int, confidence: float) -> tuple[float, float]:
    # The first probability bounded below, the other above.
    from bestarm.privacy.counts import bounds_on

    slack = (1 - confidence) / 2
    return bounds_on(hits, runs, slack)[0], bounds_on(hits_elsewhere, runs, slack)[1]


def _divergence(p: float, q: float, order: float) -> float:
    # Renyi's divergence of this order, of a coin with probability p from one with q; 0 < q < p < 1.
    yes, no = math.log(p / q), math.log1p(-p) - math.log1p(-q)
    if order == 1:
        return p * yes + (1 - p) * no
    return math.log(p * math.exp((order - 1) * yes) + (1 - p) * math.exp((order - 1) * no)) / (order - 1)
