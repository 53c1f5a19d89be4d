"""The transportation cost under privacy: what moving two arms' means together costs, in closed form.

d_eps(m, x) = inf over phi of eps |m - phi| + kl(phi, x) says how surprising an estimate m is if the mean is x: kl(m, x)
as long as m is within reach of x, and only eps a unit beyond, because so far the noise may have carried it. It is the
Legendre transform of log(1 - x + x e^l) restricted to |l| <= eps; with an infinite eps it is kl. The cost of two arms

    C = inf over x of n_a d_eps(m_a, x) + n_b d_eps(m_b, x),   m_a > m_b,

has a convex objective whose derivative is rational piece by piece, so its minimiser solves a linear or a quadratic
equation (the DP-TT poster, NeurIPS 2025; docs/algorithms.md). Plain rules, compiled by the simulator.
"""

from __future__ import annotations

import math

from bestarm.rules import rule


@rule
def kl(m: float, x: float) -> float:
    """kl(m, x) of Bernoulli means, for 0 < x < 1."""
    value = 0.0
    if m > 0.0:
        value += m * math.log(m / x)
    if m < 1.0:
        value += (1.0 - m) * math.log((1.0 - m) / (1.0 - x))
    return max(value, 0.0)


@rule
def reach_above(m: float, decay: float) -> float:
    """g(m) = m / (m + (1 - m) e^-eps): the largest mean x for which d_eps(m, x) is still kl(m, x)."""
    return m / (m + (1.0 - m) * decay) if m > 0.0 else 0.0


@rule
def divergence_above(m: float, x: float, epsilon: float, decay: float) -> float:
    """d+_eps(m, x): how surprising an estimate m is when the mean is x >= m; 0 when x is not above m."""
    if x <= m:
        return 0.0
    if x <= reach_above(m, decay):
        return kl(m, x)
    return -math.log(1.0 - x + x * decay) - (epsilon * m if m > 0.0 else 0.0)


@rule
def slope_above(m: float, x: float, decay: float) -> float:
    """The derivative of d+_eps(m, x) in x, for m <= x."""
    if x <= reach_above(m, decay):
        return (x - m) / (x * (1.0 - x)) if x > m else 0.0
    return (1.0 - decay) / (1.0 - x + x * decay)


@rule
def meeting_beyond(m: float, n: float, other: float, decay: float) -> float:
    """Where n kl(m, x) + other d+ is least once d+ is out of reach: n (m - x)(1 - c x) = other c x (1 - x), x < m.

    With c = 1 - e^-eps the equation is quadratic; its smaller root lies in (0, m].
    """
    c = 1.0 - decay
    square = (n + other) * c
    linear = n + n * m * c + other * c
    return 2.0 * n * m / (linear + math.sqrt(max(linear * linear - 4.0 * square * n * m, 0.0)))


@rule
def meeting_point(m: float, n: float, below: float, n_below: float, decay: float) -> float:
    """The x between two means, below < m, at which the cost of moving both there is least."""
    pooled = (n * m + n_below * below) / (n + n_below)
    if decay == 0.0:
        return pooled
    up = reach_above(below, decay)
    down = 1.0 - reach_above(1.0 - m, decay)
    if down <= pooled <= up:
        return pooled
    past_up = up < m and n_below * slope_above(below, up, decay) < n * slope_above(1.0 - m, 1.0 - up, decay)
    past_down = down > below and n_below * slope_above(below, down, decay) > n * slope_above(1.0 - m, 1.0 - down, decay)
    if past_up and past_down:
        x = (n - n_below * decay) / ((1.0 - decay) * (n + n_below))
    elif past_up:
        x = meeting_beyond(m, n, n_below, decay)
    else:
        x = 1.0 - meeting_beyond(1.0 - below, n_below, n, decay)
    return min(max(x, below), m)


@rule
def transport_cost(m: float, n: float, below: float, n_below: float, epsilon: float, decay: float) -> float:
    """C for an arm of mean m and weight n against one of mean `below`; 0 unless it is above. `decay` is e^-eps."""
    if m <= below:
        return 0.0
    x = meeting_point(m, n, below, n_below, decay)
    below_cost = divergence_above(below, x, epsilon, decay)
    return n * divergence_above(1.0 - m, 1.0 - x, epsilon, decay) + n_below * below_cost
