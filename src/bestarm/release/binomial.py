"""Binomial probabilities to full relative precision, far tails included.

The law of a noisy batch sum is a binomial smoothed by two-sided geometric noise. All it needs is a point probability
(in logs) and the ratio of a tail to its first term, which stays of moderate size however far out the tail begins.
Plain functions of floats: the live trial calls them as they are, the simulator compiles the same functions.
"""

from __future__ import annotations

import math

from bestarm.rules import rule

LOG_TWO_PI = math.log(2.0 * math.pi)

STIRLING_EXACT = (
    0.0,
    0.08106146679532726,
    0.04134069595540929,
    0.02767792568499834,
    0.02079067210376509,
    0.01664469118982119,
    0.01387612882307075,
    0.01189670994589177,
    0.01041126526197210,
    0.009255462182712733,
    0.008330563433362871,
    0.007573675487951841,
    0.006942840107209530,
    0.006408994188004207,
    0.005951370112758848,
    0.005554733551962801,
)
"""log n! minus Stirling's formula, for n = 1 .. 15 (the entry for 0 is not used)."""

LOCAL_VARIANCE = 1000.0
"""From this variance on, tails that begin near the mean are computed by a local expansion."""

LOCAL_DISTANCE = 2.0
"""Standard deviations from the mean beyond which the continued fraction converges in a few dozen steps anyway."""

MOST_STEPS = 100_000
"""The continued fraction stops long before; the bound only says that the loop ends."""

DIRECT_TERMS = 40
"""Tails of at most this many terms are summed as they stand."""


@rule(inline=False)
def stirling_error(n: float) -> float:
    """log n! - (n + 1/2) log n + n - log(2 pi)/2, for whole n >= 1."""
    if n < 15.5:
        return STIRLING_EXACT[int(n + 0.5)]
    s = 1.0 / (n * n)
    return (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s / 1188)))) / n


@rule(inline=False)
def deviance(x: float, mean: float) -> float:
    """x log(x/mean) + mean - x for x, mean > 0, without cancellation when they are close."""
    difference = x - mean
    if abs(difference) < 0.1 * (x + mean):
        v = difference / (x + mean)
        total = difference * v
        term = 2.0 * x * v
        square = v * v
        for j in range(1, 40):
            term *= square
            following = total + term / (2 * j + 1)
            if following == total:
                break
            total = following
        return total
    return x * math.log(x / mean) + mean - x


@rule(inline=False)
def log_point(n: float, k: float, p: float, pc: float) -> float:
    """log P(Bin(n, p) = k) for 0 <= k <= n and 0 < p < 1; pc is 1 - p, passed because it may be tiny."""
    if k == 0.0:
        return n * math.log1p(-p) if p < 0.5 else n * math.log(pc)
    if k == n:
        return n * math.log1p(-pc) if pc < 0.5 else n * math.log(p)
    return (
        stirling_error(n)
        - stirling_error(k)
        - stirling_error(n - k)
        - deviance(k, n * p)
        - deviance(n - k, n * pc)
        + 0.5 * (math.log(n / (k * (n - k))) - LOG_TWO_PI)
    )


@rule(inline=False)
def tail_by_sum(n: float, k: float, p: float, pc: float) -> float:
    """P(X >= k) / P(X = k) term by term, for tails that are short or fall fast."""
    odds = p / pc
    term = 1.0
    total = 1.0
    while k < n:
        term *= (n - k) / (k + 1.0) * odds
        if term < 1e-17 * total:
            break
        total += term
        k += 1.0
    return total


@rule(inline=False)
def tail_by_fraction(n: float, k: float, p: float, pc: float) -> float:
    """P(X >= k) / P(X = k) by the continued fraction of the incomplete beta function I_p(k, n - k + 1), k >= 1.

    Evaluated from the front (Lentz): successive convergents multiply by c times d, until that factor is 1.
    """
    c = 1.0
    d = 0.0
    value = 1.0
    for j in range(1, MOST_STEPS):
        i = j // 2
        if j % 2 == 1:
            coefficient = -(k + i) * (n + 1.0 + i) * p / ((k + 2 * i) * (k + 2 * i + 1.0))
        else:
            coefficient = i * (n - k + 1.0 - i) * p / ((k + 2 * i - 1.0) * (k + 2 * i))
        c = 1.0 + coefficient / c
        if c == 0.0:
            c = 1e-300
        d = 1.0 / (1.0 + coefficient * d)
        step = c * d
        value *= step
        if abs(step - 1.0) < 3e-16:
            break
    return pc / value


@rule(inline=False)
def mills(c: float) -> float:
    """The normal tail over its density at c, for 0 <= c <= LOCAL_DISTANCE."""
    return math.sqrt(0.5 * math.pi) * math.exp(0.5 * c * c) * math.erfc(c * math.sqrt(0.5))


@rule(inline=False)
def tail_by_expansion(n: float, k: float, p: float, pc: float) -> float:
    """P(X >= k) / P(X = k) for a k within LOCAL_DISTANCE deviations above the mean of a binomial of large variance.

    In t = logit the incomplete beta integrand is exp(a t - N log(1 + e^t)). Measured back from its end in standard
    deviations it is exp(-c s - s^2/2) times the exponential of a series whose coefficients are Bernoulli cumulants; the
    powers of s integrate to moments of the normal tail. Terms up to the fourth power of 1/variance are kept.
    """
    total = n + 1.0
    v = p * pc
    skew = pc - p
    h = 1.0 / math.sqrt(total * v)
    c = (k - total * p) * h
    c3 = 0.5 * h * skew
    c4 = -h * h / 6 * (1 - 6 * v)
    c5 = h**3 / 24 * skew * (1 - 12 * v)
    c6 = -(h**4) / 120 * (1 + v * (-30 + 120 * v))
    c7 = h**5 / 720 * skew * (1 + v * (-60 + 360 * v))
    c8 = -(h**6) / 5040 * (1 + v * (-126 + v * (1680 - 5040 * v)))
    c9 = h**7 / 40320 * skew * (1 + v * (-252 + v * (5040 - 20160 * v)))
    c10 = -(h**8) / 362880 * (1 + v * (-510 + v * (17640 + v * (-151200 + 362880 * v))))
    e2 = e3 = e4 = e5 = e6 = e7 = e8 = e9 = e10 = 0.0
    e1 = 1.0
    before = mills(c)
    moment = 1.0 - c * before
    integral = before
    for i in range(1, 25):
        e0 = (c3 * e3 + c4 * e4 + c5 * e5 + c6 * e6 + c7 * e7 + c8 * e8 + c9 * e9 + c10 * e10) / i
        integral += e0 * moment
        before, moment = moment, i * before - c * moment
        e10, e9, e8, e7, e6, e5, e4, e3, e2, e1 = e9, e8, e7, e6, e5, e4, e3, e2, e1, e0
    return pc * k * h * integral


@rule(inline=False)
def tail_over_point(n: float, k: float, p: float, pc: float) -> float:
    """P(X >= k) / P(X = k) for X ~ Bin(n, p), 1 <= k <= n, k not below the mean."""
    if n - k < DIRECT_TERMS or (n - k) * p < 0.5 * k * pc:
        return tail_by_sum(n, k, p, pc)
    variance = (n + 1.0) * p * pc
    if variance >= LOCAL_VARIANCE and k - (n + 1.0) * p < LOCAL_DISTANCE * math.sqrt(variance):
        return tail_by_expansion(n, k, p, pc)
    return tail_by_fraction(n, k, p, pc)
