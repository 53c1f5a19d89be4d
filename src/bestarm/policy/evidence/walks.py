"""Bets on a walk: for binary outcomes and equal weights, without the loss of a tangent.

A person on the champion a with a success, or on the rival b with a failure, is a step up. If b is better by the zone g
or more, a step goes up with probability at most q = (1 - g) max(p_a, p_b) / (p_a + p_b), whatever happened before. So
the number of steps up among n = n_a + n_b people, S_a - S_b + n_b, lies stochastically below a binomial number of n and
q under any drift, and any nondecreasing function of y = R_a - R_b + n_b, divided by its mean under Bin(n, q) + noise,
is a bet. The stage's number of people has to be fixed when it opens. (docs/evidence-proof.md: a walk)

Here the function is 1 from a whole number `at` on, the full payment, and kept e^(steep (y - at)) below: between the
likelihood ratio, which is best for stages to come, and all or nothing, which is best if this is the last. Its mean is
summed over the binomial law, with the noise's part in closed form.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bestarm.release.binomial import log_point
from bestarm.release.laws import PURE, Law
from bestarm.rules import rule

INEXACT: Final = 1e-7
"""Nats charged for every bet, far above the rounding error of its mean."""
PRECISE: Final = 30.0
"""Nats below the bet's mean at which the binomial law is cut off; what is cut off counts as paid in full."""
SHORT: Final = 40.0
"""Sums of at most so many terms are taken term by term."""


class Noise(NamedTuple):
    """The noise in y: none, or the sum of one or two discrete Laplace numbers."""

    number: int
    epsilon: float


@rule
def noise_in(law: Law, difference: bool) -> Noise:
    """One for a difference, two for a pair of sums."""
    if law.kind == PURE:
        return Noise(1 if difference else 2, law.budget)
    return Noise(0, 1.0)


@rule(inline=False)
def beyond(noise: Noise, steep: float, kept: float, u: float) -> float:
    """E f(u + Z), u whole, with f = 1 from 0 on and kept e^(steep u) below; steep is not the noise's own."""
    if noise.number == 0:
        return 1.0 if u >= 0.0 else kept * math.exp(steep * u)
    e = noise.epsilon
    q = math.exp(-e)
    fall = math.exp(-steep)
    less = q * fall
    unit = math.tanh(0.5 * e)
    if noise.number == 1:
        if u >= 0.0:
            edge = unit * math.exp(-e * (u + 1.0))
            return 1.0 - edge / -math.expm1(-e) + kept * edge * fall / (1.0 - less)
        j = -u
        far = unit * math.exp(-e * j) / -math.expm1(-e)
        left = math.exp(-steep * j) * less / (1.0 - less)
        return far + kept * unit * (left + rising(e, steep, j, 0.0, 1.0))
    # P(Z = z) = unit^2 q^|z| (|z| + more) for the sum of two.
    more = (1.0 + q * q) / (-math.expm1(-e) * (1.0 + q))
    scale = unit * unit
    one = -math.expm1(-e)
    if u >= 0.0:
        edge = scale * math.exp(-e * (u + 1.0))
        tail = (u + 1.0 + more) / one + q / (one * one)
        paid = (u + 1.0 + more) / (1.0 - less) + less / ((1.0 - less) * (1.0 - less))
        return 1.0 - edge * tail + kept * edge * fall * paid
    j = -u
    far = scale * math.exp(-e * j) * ((j + more) / one + q / (one * one))
    left = math.exp(-steep * j) * less * ((1.0 + more) / (1.0 - less) + less / ((1.0 - less) * (1.0 - less)))
    return far + kept * scale * (left + rising(e, steep, j, 1.0, more))


@rule(inline=False)
def rising(e: float, steep: float, j: float, linear: float, more: float) -> float:
    """The sum over z = 0, ..., j - 1 of e^(-e z) (linear z + more) e^(-steep (j - z))."""
    if j <= SHORT:
        total = 0.0
        for i in range(int(j)):
            z = float(i)
            total += math.exp(-e * z - steep * (j - z)) * (linear * z + more)
        return total
    # With i = j - z: q^j sum_{i=1..j} s^i (linear (j - i) + more), s = e^(e - steep).
    apart = steep - e
    s = math.exp(-apart)
    one = -math.expm1(-apart)
    at_end = math.exp(-steep * j)
    at_start = math.exp(-e * j)
    plain = s * (at_start - at_end) / one
    weighted = s * (at_start - (j + 1.0) * at_end + j * s * at_end) / (one * one)
    return (linear * j + more) * plain - linear * weighted


@rule(inline=False)
def log_mean(noise: Noise, people: float, up: float, steep: float, kept: float, at: float, need: float) -> float:
    """log of the mean under Bin(people, up) and noise, precise for bets that pay up to `need` nats, else too large."""
    if people <= 0.0:
        return math.log(beyond(noise, steep, kept, -at))
    reach = need + PRECISE
    middle = float(math.floor(people * up))
    wide = math.sqrt(2.0 * reach * people * up * (1.0 - up)) + reach
    first = max(0.0, math.floor(middle - wide))
    last = min(people, math.ceil(middle + wide))
    chance = math.exp(log_point(people, middle, up, 1.0 - up))
    odds = up / (1.0 - up)
    total = 2.0 * math.exp(-reach)
    p = chance
    k = middle
    while k <= last:
        total += p * beyond(noise, steep, kept, k - at)
        p *= (people - k) / (k + 1.0) * odds
        k += 1.0
    p = chance
    k = middle
    while k > first:
        p *= k / ((people - k + 1.0) * odds)
        k -= 1.0
        total += p * beyond(noise, steep, kept, k - at)
    return math.log(total)


@rule(inline=False)
def place(noise: Noise, people: float, up: float, steep: float, kept: float, need: float, enough: float) -> float:
    """A whole number, about the least, from which on `need` nats are paid, as they are from `enough` on."""
    variance = people * up * (1.0 - up) + 2.0 * noise.number / (noise.epsilon * noise.epsilon)
    fine = max(1.0, math.floor(0.01 * math.sqrt(variance)))
    step = max(1.0, math.floor(0.3 * math.sqrt(variance)))
    high = enough
    low = high - step
    while -log_mean(noise, people, up, steep, kept, low, need) >= need + INEXACT:
        high = low
        step *= 1.5
        low = math.floor(low - step)
    while high - low > fine:
        middle = math.floor(0.5 * (low + high))
        if -log_mean(noise, people, up, steep, kept, middle, need) >= need + INEXACT:
            high = middle
        else:
            low = middle
    return high
