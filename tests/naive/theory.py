"""Slow, obvious oracles for the theory: forty decimal digits, and linear programmes in place of insight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext

import numpy as np
from scipy.optimize import linprog

Divergence = Callable[[Decimal, Decimal], Decimal]

DIGITS = 40
ZERO, ONE = Decimal(0), Decimal(1)


def _term(x: Decimal, m: Decimal) -> Decimal:
    if x == 0:
        return ZERO
    return x * (x / m).ln() if m > 0 else Decimal("Infinity")


def kl(x: Decimal, m: Decimal, digits: int = DIGITS) -> Decimal:
    """Relative entropy of two Bernoulli laws."""
    with localcontext() as context:
        context.prec = digits
        return _term(x, m) + _term(ONE - x, ONE - m)


def d_eps(epsilon: float, digits: int = DIGITS) -> Divergence:
    """l x - log(1 - m + m e^l) at the best l in [-epsilon, epsilon]."""
    limit = Decimal(epsilon)

    def divergence(x: Decimal, m: Decimal) -> Decimal:
        with localcontext() as context:
            context.prec = digits
            sign = ONE if x > m else -ONE
            edge = sign * limit * x - (ONE - m + m * (sign * limit).exp()).ln()
            if 0 < x < 1 and 0 < m < 1:
                best = ((x / m) * ((ONE - m) / (ONE - x))).ln()
                return kl(x, m, digits) if abs(best) <= limit else edge
            return ZERO if x == m else edge

    return divergence


def closest(best_weight: Decimal, rival_weight: Decimal, best: Decimal, rival: Decimal, d: Divergence) -> Decimal:
    """The m that minimises best_weight d(best, m) + rival_weight d(rival, m), by thirds."""
    low, high = rival, best

    def cost(m: Decimal) -> Decimal:
        return best_weight * d(best, m) + rival_weight * d(rival, m)

    with localcontext() as context:
        context.prec = DIGITS
        for _ in range(110):
            third = (high - low) / 3
            if cost(low + third) < cost(high - third):
                high -= third
            else:
                low += third
        return (low + high) / 2


def pair_costs(
    means: Sequence[float], weights: Sequence[float], d: Divergence
) -> list[tuple[Decimal, Decimal, Decimal]]:
    """For every rival, at the closest confusing world: (value, d(best, m), d(rival, m))."""
    mu, w = [Decimal(x) for x in means], [Decimal(x) for x in weights]
    best = max(range(len(mu)), key=lambda arm: mu[arm])
    rows = []
    with localcontext() as context:
        context.prec = DIGITS
        for rival in range(len(mu)):
            if rival != best:
                m = closest(w[best], w[rival], mu[best], mu[rival], d)
                ahead, behind = d(mu[best], m), d(mu[rival], m)
                rows.append((w[best] * ahead + w[rival] * behind, ahead, behind))
    return rows


def certified_interval(means: Sequence[float], weights: Sequence[float], d: Divergence) -> tuple[float, float]:
    """(lower, upper) limits of T for 1/T = max over w of min over rivals of the pair's cost.

    Upper: what the given weights earn. Lower, by duality: for any confusing worlds m_b and any mixture p of them,
    no weights earn more than max(sum p_b d(best, m_b), max p_b d(b, m_b)); with p_b proportional to 1/d(b, m_b).
    """
    rows = pair_costs(means, weights, d)
    earned = min(row[0] for row in rows)
    mixture = sum((ONE / row[2] for row in rows), ZERO)
    return float(mixture / max(sum((row[1] / row[2] for row in rows), ZERO), ONE)), float(ONE / earned)


def private_value(means: Sequence[float], weights: Sequence[float], epsilon: float) -> float:
    """What weights earn in Theorem 2's game: the smaller of the kl cost and 6 epsilon times the TV cost."""
    mu, w = [Decimal(x) for x in means], [Decimal(x) for x in weights]
    best = max(range(len(mu)), key=lambda arm: mu[arm])
    earned_tv = min(min(w[best], w[b]) * (mu[best] - mu[b]) for b in range(len(mu)) if b != best)
    return float(min(min(row[0] for row in pair_costs(means, weights, kl)), 6 * Decimal(epsilon) * earned_tv))


def kelley(means: Sequence[float], d: Divergence, epsilon_tv: float | None = None, rounds: int = 30) -> float:
    """1/T by Kelley's cutting planes: a linear programme whose confusing worlds are added until nothing changes.

    With `epsilon_tv` the total variation cost of Theorem 2 joins the minimum.
    """
    size = len(means)
    best = int(np.argmax(means))
    rivals = [arm for arm in range(size) if arm != best]
    scale = float(min(d(Decimal(means[best]), (Decimal(means[best]) + Decimal(means[b])) / 2) for b in rivals))
    rows: list[list[float]] = []

    def confuse(b: int, ahead: float, behind: float) -> None:
        row = [0.0] * size + [1.0]  # value <= w_best ahead + w_b behind
        row[best], row[b] = -ahead / scale, -behind / scale
        rows.append(row)

    weights = [1.0 / size] * size
    if epsilon_tv is not None:
        for b in rivals:
            gap = means[best] - means[b]
            confuse(b, 6 * epsilon_tv * gap, 0.0)
            confuse(b, 0.0, 6 * epsilon_tv * gap)
    bound = np.inf
    for _ in range(rounds):
        costs = pair_costs(means, [max(w, 1e-12) for w in weights], d)
        for b, (_, ahead, behind) in zip(rivals, costs, strict=True):
            confuse(b, float(ahead), float(behind))
        answer = linprog(
            [0.0] * size + [-1.0],
            A_ub=np.array(rows),
            b_ub=np.zeros(len(rows)),
            A_eq=[[1.0] * size + [0.0]],
            b_eq=[1.0],
            bounds=[(0, 1)] * size + [(0, None)],
            method="highs",
        )
        assert answer.x is not None
        assert answer.fun is not None
        weights, before, bound = list(answer.x[:size]), bound, -float(answer.fun)
        if before - bound <= 1e-8 * bound:
            break
    return bound * scale
