"""The follow-up algorithms, person by person, from their descriptions: slow and obvious."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from scipy.optimize import brentq
from scipy.special import zeta

from tests.naive.paper import Phases, argmax, c_gauss, c_phase, c_private
from tests.naive.tape import Story, Tape


def kl(p: float, q: float) -> float:
    value = p * math.log(p / q) if p > 0 else 0.0
    return value + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def d_below(m: float, x: float, epsilon: float) -> float:
    """How surprising an estimate m is if the mean is x > m: the supremum over tilts of at most epsilon, found plainly.

    l m - log(1 - x + x e^l) has its maximum at the l with x e^l/(1 - x + x e^l) = m, or at -epsilon.
    """
    if x <= m:
        return 0.0
    free = math.log(m * (1 - x) / ((1 - m) * x)) if m > 0 and x < 1 else -math.inf
    if free >= -epsilon:
        return max(kl(m, x), 0.0)
    return -math.log(1 - x + x * math.exp(-epsilon)) - (epsilon * m if m > 0 else 0.0)


@cache
def transport(m: float, n: float, below: float, k: float, epsilon: float) -> float:
    """inf over x of n d(m, x) + k d(below, x), by halving where the derivative changes its sign."""
    if m <= below:
        return 0.0

    def slope(lower: float, x: float) -> float:
        tilt = min(-math.log(lower * (1 - x) / ((1 - lower) * x)), epsilon) if lower > 0 and x < 1 else epsilon
        return (1 - math.exp(-tilt)) / (1 - x + x * math.exp(-tilt))

    low, high = below, m
    for _ in range(55):
        x = (low + high) / 2
        if k * slope(below, x) < n * slope(1 - m, 1 - x):
            low = x
        else:
            high = x
    x = (low + high) / 2
    return n * d_below(1 - m, 1 - x, epsilon) + k * d_below(below, x, epsilon)


def w_bar(x: float) -> float:
    return float(brentq(lambda y: y - math.log(y) - x, 1.0, 10 * x + 10, xtol=1e-13))


class Tracking:
    """The leader while its people in rounds it led are at most half of them, this round included."""

    def __init__(self, arms: int, beta: float) -> None:
        self.led = [0] * arms
        self.pulls = [0] * arms
        self.beta = beta

    def choose(self, leader: int, challenger: Callable[[], int]) -> int:
        self.led[leader] += 1
        if self.pulls[leader] <= self.beta * self.led[leader]:
            self.pulls[leader] += 1
            return leader
        return challenger()


def star_threshold(n: int, m: int, gap: float, arms: int, epsilon: float, delta: float) -> float:
    """What the cost of AdaP-TT* has to exceed, for batches of n and m people."""
    variance = 0.25
    k = {size: math.log2(size) + 2 for size in (n, m)}
    logs = {size: math.log(3 * arms * float(zeta(2.0)) * k[size] ** 2 / delta) for size in (n, m)}
    h = {size: w_bar(2 * logs[size] + 4 * math.log(4 + math.log(size)) + 0.5) / 2 for size in (n, m)}
    if gap < 3 * epsilon:
        value = c_phase(k[n] * k[m], n, m, arms, delta / 3)
        for size in (n, m):
            value += logs[size] ** 2 / (2 * epsilon**2 * variance * size)
            value += math.sqrt(2) / (epsilon * math.sqrt(variance)) * math.sqrt(h[size] / size) * logs[size]
        return value
    noise = 3 / variance * math.log(3 * arms * float(zeta(2.0)) * max(k.values()) / delta)
    return noise + 3 * epsilon / math.sqrt(2 * variance) * sum(math.sqrt(size * h[size]) for size in (n, m))


def adap_tt_star(arms: int, epsilon: float, delta: float, tape: Tape, cap: int, beta: float = 0.5) -> Story:
    story = Story()
    p = Phases(arms, tape, story)
    tracking = Tracking(arms, beta)

    def cost(gap: float, n: float, m: float) -> float:
        return max(gap, 0.0) * min(3 * epsilon, max(gap, 0.0)) * (n * m / (n + m)) / (2 * 0.25)

    def challenger(leader: int) -> int:
        others = [a for a in range(arms) if a != leader]
        return min(others, key=lambda a: cost(p.mean[leader] - p.mean[a], p.total[leader], p.total[a]))

    while len(story.arms) < cap:
        if len(story.arms) < arms:
            arm = len(story.arms)
        else:
            index = [
                p.mean[a] + math.sqrt(p.phase[a] / p.size[a]) + p.phase[a] / (epsilon * p.size[a]) for a in range(arms)
            ]
            leader = argmax(index)
            arm = tracking.choose(leader, lambda leader=leader: challenger(leader))  # type: ignore[misc]
        if p.pull(arm) and len(story.arms) >= arms:
            best = argmax(p.mean)
            size = p.size
            gaps = {b: p.mean[best] - p.mean[b] for b in range(arms) if b != best}
            if all(
                cost(gap, size[best], size[b]) > star_threshold(size[best], size[b], gap, arms, epsilon, delta)
                for b, gap in gaps.items()
            ):
                story.verdict = best
                return story
    return story


def accumulating(
    arms: int,
    epsilon: float,
    tape: Tape,
    cap: int,
    stops: Callable[[list[float], list[int], list[int], int, int], bool],
    *,
    doubling: bool,
    beta: float = 0.5,
) -> Story:
    """Top Two on whole histories with an empirical-best leader; `stops(mean, counted, batches, best, rival)`."""
    story = Story()
    total = [0.0] * arms
    assigned, counted, batches = [0] * arms, [0] * arms, [0] * arms
    mean = [0.0] * arms
    waiting: list[list[float]] = [[] for _ in range(arms)]
    tracking = Tracking(arms, beta)

    def challenger(leader: int) -> int:
        others = [a for a in range(arms) if a != leader]
        cost = {
            a: transport(mean[leader], assigned[leader], mean[a], assigned[a], epsilon) + math.log(assigned[a])
            for a in others
        }
        return min(others, key=lambda a: cost[a])

    while len(story.arms) < cap:
        if len(story.arms) < arms:
            arm = len(story.arms)
        else:
            leader = argmax(mean)
            arm = tracking.choose(leader, lambda leader=leader: challenger(leader))  # type: ignore[misc]
        story.arms.append(arm)
        assigned[arm] += 1
        waiting[arm].append(tape.outcome(arm))
        if doubling and assigned[arm] < 2 ** batches[arm]:
            continue
        value = sum(waiting[arm]) + (tape.next_noise(arm) if doubling else 0.0)
        story.releases.append((arm, len(waiting[arm]), value))
        total[arm] += value
        counted[arm] += len(waiting[arm])
        batches[arm] += 1
        waiting[arm] = []
        mean[arm] = min(max(total[arm] / counted[arm], 0.0), 1.0)
        if len(story.arms) >= arms:
            best = argmax(mean)
            if all(stops(mean, counted, batches, best, b) for b in range(arms) if b != best):
                story.verdict = best
                return story
    return story


def surprise(y: float, x: float, noises: float, epsilon: float) -> float:
    """sup over 0 <= l < epsilon of l y - log(1 - x + x e^l) + noises log(1 - l^2/epsilon^2)."""
    if y <= x:
        return 0.0

    def slope(tilt: float) -> float:
        return y - x / (x + (1 - x) * math.exp(-tilt)) - noises * 2 * tilt / (epsilon**2 - tilt**2)

    tilt = float(brentq(slope, 0.0, epsilon * (1 - 1e-15), xtol=1e-14))
    mgf = tilt + math.log(x + (1 - x) * math.exp(-tilt))
    return tilt * y - mgf + noises * math.log(1 - (tilt / epsilon) ** 2)


def priced(m: float, n: float, k: float, below: float, n2: float, k2: float, epsilon: float) -> float:
    """inf over x between the estimates of both surprises, by trisection."""
    if m <= below:
        return 0.0

    def value(x: float) -> float:
        return n * surprise(m, x, k / n, epsilon) + n2 * surprise(1 - below, 1 - x, k2 / n2, epsilon)

    low, high = below, m
    for _ in range(90):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if value(left) < value(right):
            high = right
        else:
            low = left
    return value((low + high) / 2)


def dp_tt(arms: int, epsilon: float, delta: float, tape: Tape, cap: int) -> Story:
    def needed(k: int, k2: int) -> float:
        share = delta / ((arms - 1) * k * (k + 1) * k2 * (k2 + 1))
        return float(brentq(lambda u: math.log1p(u) - u - math.log(share), 0.0, 1e4, xtol=1e-12))

    def stops(mean: list[float], counted: list[int], batches: list[int], best: int, b: int) -> bool:
        needs = needed(batches[best], batches[b])
        if transport(mean[best], counted[best], mean[b], counted[b], epsilon) <= needs:  # never below the priced cost
            return False
        cost = priced(mean[best], counted[best], batches[best], mean[b], counted[b], batches[b], epsilon)
        return cost > needs * (1 + 1e-9)

    return accumulating(arms, epsilon, tape, cap, stops, doubling=True)


def dp_tt_published(arms: int, epsilon: float, delta: float, tape: Tape, cap: int) -> Story:
    def share(n: int) -> float:
        return math.log(1 / delta) + (math.log(n) * math.log(1 + epsilon * n / math.log(n)) if n > 1 else 0.0)

    def stops(mean: list[float], counted: list[int], batches: list[int], best: int, b: int) -> bool:
        cost = transport(mean[best], counted[best], mean[b], counted[b], epsilon)
        return cost > share(counted[best]) + share(counted[b])

    return accumulating(arms, epsilon, tape, cap, stops, doubling=True)


def eb_tci(arms: int, epsilon: float, delta: float, tape: Tape, cap: int, *, published: bool = False) -> Story:
    def stops(mean: list[float], counted: list[int], batches: list[int], best: int, b: int) -> bool:
        if published:
            cost = transport(mean[best], counted[best], mean[b], counted[b], math.inf)
            return cost >= math.log((1 + math.log(sum(counted))) / delta)
        gap = mean[best] - mean[b]
        reached = gap**2 / (2 * 0.25 * (1 / counted[best] + 1 / counted[b])) if gap > 0 else 0.0
        mean_people = (counted[best] + counted[b]) / 2
        return reached >= 2 * c_gauss(math.log((arms - 1) / delta) / 2) + 4 * math.log(4 + math.log(mean_people))

    return accumulating(arms, math.inf, tape, cap, stops, doubling=False)


def lucb_private(arms: int, epsilon: float, delta: float, tape: Tape, cap: int) -> Story:
    story = Story()
    p = Phases(arms, tape, story)

    def threshold(a: int, b: int) -> float:
        return c_private(p.phase[a], p.phase[b], p.size[a], p.size[b], arms, epsilon, delta)

    while len(story.arms) < cap:
        if len(story.arms) < arms:
            arm = len(story.arms)
        else:
            best = argmax(p.mean)
            others = [a for a in range(arms) if a != best]
            upper = {a: p.mean[a] + math.sqrt(2 * threshold(a, a) / p.size[a]) for a in others}
            rival = max(others, key=lambda a: upper[a])
            arm = best if p.total[best] <= p.total[rival] else rival
        if p.pull(arm) and len(story.arms) >= arms:
            best = argmax(p.mean)
            gaps = {b: max(p.mean[best] - p.mean[b], 0.0) for b in range(arms) if b != best}
            if all(gap**2 / (1 / p.size[best] + 1 / p.size[b]) >= 2 * threshold(best, b) for b, gap in gaps.items()):
                story.verdict = best
                return story
    return story
