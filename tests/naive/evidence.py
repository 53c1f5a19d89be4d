"""Evidence Top Two from its description: lists and dictionaries, sums over all counts, searches instead of formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binom

POINTS, TILTS = 64, 32


@dataclass(frozen=True)
class Model:
    """Pure epsilon-DP on binary outcomes; epsilon None means no privacy."""

    epsilon: float | None
    tilted: bool = False

    @property
    def noise(self) -> float:
        if self.epsilon is None:
            return 0.0
        q = math.exp(-self.epsilon)
        return 2 * q / (1 - q) ** 2

    def psi(self, tilt: float) -> float:
        if self.epsilon is None:
            return 0.0
        q = math.exp(-self.epsilon)
        return 2 * math.log(1 - q) - math.log(1 - q * math.exp(tilt)) - math.log(1 - q * math.exp(-tilt))

    def resolution(self, n: float) -> float:
        return math.sqrt(0.2 / n + self.noise / 2 / n**2)


@cache
def log_pmf(model: Model, n: int, m: float, r: int) -> float:
    if model.epsilon is None:
        return float(binom.logpmf(r, n, m))
    k = np.arange(n + 1)
    noise = math.log(math.tanh(model.epsilon / 2)) - model.epsilon * np.abs(r - k)
    return float(np.logaddexp.reduce(binom.logpmf(k, n, m) + noise))


def h(m: float, tilt: float) -> float:
    return math.log(1 - m + m * math.exp(tilt))


@cache
def information(model: Model, p: float, m: float) -> float:
    """sup over 0 <= l <= epsilon of l p - h_m(l)."""
    if p <= m:
        return 0.0
    if m <= 0:
        return math.inf if model.epsilon is None else model.epsilon * p
    cap = 60.0 if model.epsilon is None else model.epsilon
    found = minimize_scalar(lambda t: h(m, t) - t * p, bounds=(0, cap), method="bounded", options={"xatol": 1e-13})
    return max(-float(found.fun), 0.0, cap * p - h(m, cap))


@cache
def reaching(model: Model, nats: float, m: float) -> float:
    top = 1 - 1e-9
    if m <= 0:
        return 1e-9 if model.epsilon is None else min(nats / model.epsilon, top)
    if information(model, top, m) <= nats:
        return top
    return float(brentq(lambda p: information(model, p, m) - nats, m, top, xtol=1e-15, rtol=1e-14))


@dataclass
class Cell:
    low: float
    high: float
    wealth: float


@dataclass
class Belief:
    point: list[float] = field(default_factory=lambda: [(k + 0.5) / POINTS for k in range(POINTS)])
    log: list[float] = field(default_factory=lambda: [0.0] * POINTS)
    mean: float = 0.5
    spread: float = 0.29

    def weights(self) -> list[float]:
        edges = [0.0, *self.point, 1.0]
        top = max(self.log)
        return [math.exp(x - top) * (edges[k + 2] - edges[k]) / 2 for k, x in enumerate(self.log)]

    def learn(self, densities: list[float]) -> None:
        self.log = [a + b for a, b in zip(self.log, densities, strict=True)]
        pairs = list(zip(self.point, self.weights(), strict=True))
        mass = math.fsum(w for _, w in pairs)
        self.mean = math.fsum(w * p for p, w in pairs) / mass
        self.spread = math.sqrt(math.fsum(w * (p - self.mean) ** 2 for p, w in pairs) / mass) + 1e-12
        core = 0.5 * self.spread
        offsets = core * np.sinh((2 * np.arange(POINTS) + 1 - POINTS) / POINTS * math.asinh(1.2 / core))
        fresh = np.clip(self.mean + offsets, 1e-7, 1 - 1e-7)
        self.log = np.interp(fresh, self.point, self.log).tolist()
        self.point = fresh.tolist()


class Oracle:
    """One trial: `take` a release, and see the cells, the leader and the next stage's sizes."""

    def __init__(self, model: Model, arms: int, delta: float) -> None:
        self.model, self.arms, self.threshold = model, arms, math.log(1 / delta)
        self.cells = [[Cell(0.0, 1.0, 0.0)] for _ in range(arms)]
        self.beliefs = [Belief() for _ in range(arms)]
        self.counted = [0] * arms
        self.out_since = [0] * arms
        self.leader = -1
        first = math.ceil(max(8.0, 8.5 * math.sqrt(model.noise)))
        self.stage = dict.fromkeys(range(arms), first)
        self.waiting = set(range(arms))

    def champion(self, b: int) -> int:
        if self.leader not in (-1, b):
            return self.leader
        others = [a for a in range(self.arms) if a != b and self.cells[a]]
        return max(others, key=lambda a: (self.beliefs[a].mean, -a)) if others else -1

    def take(self, arm: int, n: int, r: int) -> None:
        own = self.beliefs[arm]
        champions = {b: self.champion(b) for b in range(self.arms) if self.cells[b]}
        trust = {b: self.trust(b, champion) for b, champion in champions.items()}
        for b, champion in champions.items():
            if champion >= 0 and arm in (b, champion):
                self.settle(b, champion, own, n, r, trust[b] if arm == champion else 1.0, arm == champion)
        own.learn([self.explained(n, r, p) for p in own.point])
        self.counted[arm] += n
        heard = [a for a in range(self.arms) if self.cells[a] and self.counted[a]]
        if heard:
            self.leader = max(heard, key=lambda a: (self.beliefs[a].mean, -a))
        self.waiting = {a for a in self.waiting - {arm} if self.cells[a]}
        if not self.waiting and sum(bool(c) for c in self.cells) > 1:
            self.plan()

    def explained(self, n: int, r: int, p: float) -> float:
        if self.model.tilted:
            return -0.5 * (r - n * p) ** 2 / (0.2 * n + self.model.noise)
        return log_pmf(self.model, n, p, r)

    def trust(self, b: int, champion: int) -> float:
        trust = 1.0
        for a in range(self.arms):
            if a not in (b, champion) and self.cells[a]:
                c, o = self.beliefs[champion], self.beliefs[a]
                trust /= 1 + math.exp(-(c.mean - o.mean) / math.hypot(c.spread, o.spread))
        return trust

    def settle(self, b: int, champion: int, own: Belief, n: int, r: int, trust: float, up: bool) -> None:
        self.cut(b, champion)
        for cell in self.cells[b]:
            aim = math.log1p(math.expm1(min(self.threshold - cell.wealth, 200.0)) / trust)
            won = self.average(own, n, r, cell.high if up else cell.low, aim, up)
            cell.wealth += math.log(1 - trust + trust * won) - 1e-9
        self.cells[b] = [cell for cell in self.cells[b] if cell.wealth < self.threshold]

    def average(self, own: Belief, n: int, r: int, m: float, aim: float, up: bool) -> float:
        """The weighted average of bets; mirrored when it is bet that the mean is lower than m."""
        if m in (0.0, 1.0) and (m == 1.0) == up:
            return 1.0
        blur = self.model.resolution(n)
        pairs = list(zip(own.point, own.weights(), strict=True))
        if not up:
            pairs, m, r = [(1 - p, w) for p, w in reversed(pairs)], 1 - m, n - r
        kept = sum(0.3 * w / (blur + m - p) for p, w in pairs if p <= m)
        beyond = [(p, w / (blur + p - m)) for p, w in pairs if p > m]
        total = kept + sum(w for _, w in beyond)
        if total == 0:
            return 1.0
        if self.model.tilted:
            won = self.tilted_sum(beyond, n, r, m, aim)
        else:
            far = reaching(self.model, aim / n, m)
            null = log_pmf(self.model, n, m, r)
            won = sum(w * math.exp(min(log_pmf(self.model, n, min(p, far), r) - null, 600)) for p, w in beyond)
        return (won + kept) / total

    def tilted_sum(self, beyond: list[tuple[float, float]], n: int, r: int, m: float, aim: float) -> float:
        cap = 8.0 if self.model.epsilon is None else min(8.0, 0.999 * self.model.epsilon)
        low = min(0.2 / math.sqrt(0.2 * n + self.model.noise), 0.1 * cap)
        tilts = np.geomspace(low, cap, TILTS).tolist()
        last = int(np.argmin([(aim + n * h(m, t) + self.model.psi(t)) / t for t in tilts]))
        slopes = [(self.model.psi(t * (1 + 1e-6)) - self.model.psi(t * (1 - 1e-6))) / (2e-6 * t) for t in tilts]
        worth = [n * m * (1 - m) * t + s for t, s in zip(tilts, slopes, strict=True)]
        won = 0.0
        for p, w in beyond:
            suits = [i for i in range(1, last + 1) if worth[i] <= n * (p - m)]
            t = tilts[max(suits, default=0)]
            won += w * math.exp(min(t * r - n * h(m, t) - self.model.psi(t), 600))
        return won

    def cut(self, b: int, champion: int) -> None:
        lower, upper = self.beliefs[b].mean, self.beliefs[champion].mean
        blur = self.beliefs[b].spread + self.beliefs[champion].spread

        def widest(low: float, high: float) -> float:
            away = max(0.0, low - max(lower, upper), min(lower, upper) - high)
            return 0.025 * max(abs(upper - lower), blur) + 0.1 * away

        def pieces(cell: Cell) -> list[Cell]:
            if cell.high - cell.low <= widest(cell.low, cell.high):
                return [cell]
            middle = (cell.low + cell.high) / 2
            return pieces(Cell(cell.low, middle, cell.wealth)) + pieces(Cell(middle, cell.high, cell.wealth))

        if len(self.cells[b]) > 120:
            joined = [self.cells[b][0]]
            for cell in self.cells[b][1:]:
                last = joined[-1]
                if last.high == cell.low and cell.high - last.low <= widest(last.low, cell.high) / 2:
                    joined[-1] = Cell(last.low, cell.high, min(last.wealth, cell.wealth))
                else:
                    joined.append(cell)
            self.cells[b] = joined
        self.cells[b] = [piece for cell in self.cells[b] for piece in pieces(cell)]
        assert len(self.cells[b]) <= 240, "the package has no room for more"

    def expected(self, n: float, rate: float) -> float:
        x = n * rate
        if self.model.noise == 0 or x <= 0:
            return x
        share = self.model.noise / (self.model.noise + 0.2 * n)
        if not self.model.tilted:
            return x - share * (1 - math.exp(-x))
        found = minimize_scalar(lambda u: -(u * x + math.log(1 - u * u)), bounds=(0, 1 - 1e-12), method="bounded")
        return (1 - share) * x - share * float(found.fun)

    def rival_size(self, rates: list[tuple[float, float, float]], leaders: float, least: float) -> float:
        """The smallest size, to a few parts in ten thousand, that brings every cell up to the line and half a nat."""
        size = 0.0
        for wealth, up, down in rates:
            missing = self.threshold + 0.5 - wealth - self.expected(leaders, up)
            if missing <= 0:
                continue
            if down <= 0:
                return math.inf
            if size and self.expected(size, down) >= missing:
                continue
            low = max(size, least)
            if self.expected(low, down) >= missing:
                size = low
            else:
                size = float(brentq(lambda n, d=down, m=missing: self.expected(n, d) - m, low, 1e15))
        return size

    def plan(self) -> None:
        leader = self.leader
        lead = self.counted[leader]
        for b in range(self.arms):
            if self.cells[b]:
                self.out_since[b] = 0
            elif self.out_since[b] == 0:
                self.out_since[b] = lead
            elif lead >= 6 * self.out_since[b]:
                self.cells[b] = [Cell(0.0, 1.0, self.threshold - 2.3)]
        rivals = [b for b in range(self.arms) if b != leader and self.cells[b]]
        rates = {}
        for b in rivals:
            self.cut(b, leader)
            top = min(self.beliefs[leader].mean + 0.25 * self.beliefs[leader].spread, 1 - 1e-9)
            bottom = max(self.beliefs[b].mean - 0.25 * self.beliefs[b].spread, 1e-9)
            rates[b] = [
                (c.wealth, information(self.model, top, c.high), information(self.model, 1 - bottom, 1 - c.low))
                for c in self.cells[b]
            ]
        hungry = [b for b in rivals if self.counted[b] < 0.15 * lead]

        def sizes(leaders: float) -> dict[int, float]:
            return {b: self.rival_size(rates[b], leaders, 0.05 * self.counted[b]) for b in rivals}

        best = 0.0
        if not hungry:
            tried = [0.0]
            while (following := max(1.2 * tried[-1], 0.05 * lead)) <= 2 * lead:
                tried.append(following)

            def cost(leaders: float) -> float:
                total = leaders
                for b, size in sizes(leaders).items():
                    total += size if size <= 2 * self.counted[b] else 1e18 * (1 + lead / (leaders + 1))
                return total

            best = min(tried, key=cost)
        chosen = {b: min(size, 2 * self.counted[b]) for b, size in sizes(best).items() if not hungry or b in hungry}
        chosen[leader] = best
        if not any(chosen.values()):
            chosen[leader] = 0.05 * lead
        self.stage = {a: math.ceil(size) for a, size in chosen.items() if size > 0}
        self.waiting = set(self.stage)
