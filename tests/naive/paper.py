"""The paper's algorithms and the published variants, person by person, from their descriptions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

from scipy.optimize import minimize_scalar
from scipy.special import zeta

from tests.naive.tape import Story, Tape


@cache
def c_gauss(x: float) -> float:
    """min over l of (g(l) + x)/l, by a bounded search from many starting intervals."""

    def objective(lam: float) -> float:
        g = 2 * lam - 2 * lam * math.log(4 * lam) + math.log(float(zeta(2 * lam))) - math.log(1 - lam) / 2
        return (g + x) / lam

    edges = [0.5 + 1e-9, 0.55, 0.6, 0.7, 0.8, 0.9, 0.97, 0.99, 0.999, 0.9999, 0.99999, 1 - 1e-7]
    found = [
        minimize_scalar(objective, bounds=(a, b), method="bounded", options={"xatol": 1e-12}).fun
        for a, b in pairwise(edges)
    ]
    return float(min(found))


def c_phase(k: float, n: float, m: float, arms: int, delta: float) -> float:
    x = math.log((arms - 1) * float(zeta(2.0)) ** 2 * k**2 / delta) / 2
    return 2 * c_gauss(x) + 2 * math.log(4 + math.log(n)) + 2 * math.log(4 + math.log(m))


def c_private(k1: int, k2: int, n: float, m: float, arms: int, epsilon: float, delta: float) -> float:
    value = 2 * c_phase(k1 * k2, n, m, arms, delta / 2)
    for k, size in ((k1, n), (k2, m)):
        value += math.log(2 * arms * k**2 * float(zeta(2.0)) / delta) ** 2 / (size * epsilon**2)
    return value


def argmax(values: Sequence[float]) -> int:
    return max(range(len(values)), key=lambda i: values[i])


def challenger(mean: list[float], total: list[int], leader: int, widening: float = 0.0) -> int:
    """The least transportation cost, by its signed square.

    The paper's cost is gap/sqrt(1/n + 1/m). Without noise different arms often tie exactly; squares of the cost then
    round alike here and in the package, where roots would break the tie by rounding.
    """
    others = [a for a in range(len(mean)) if a != leader]
    cost = {}
    for a in others:
        gap = mean[leader] + widening - mean[a]
        n, m = float(total[leader]), float(total[a])
        cost[a] = gap * abs(gap) * (n * m / (n + m))
        assert math.isclose(
            math.copysign(math.sqrt(abs(cost[a])), gap), gap / math.sqrt(1 / n + 1 / m), rel_tol=1e-9, abs_tol=1e-12
        )
    return min(others, key=lambda a: cost[a])


def glr_stop(mean: list[float], size: list[int], candidate: int, threshold: Callable[[int, int], float]) -> bool:
    for b in range(len(mean)):
        if b != candidate:
            gap = mean[candidate] - mean[b]
            reached = gap**2 / (1 / size[candidate] + 1 / size[b]) if gap > 0 else 0.0
            if reached < 2 * threshold(candidate, b):
                return False
    return True


class Phases:
    """Doubling and forgetting: an arm's estimate is the mean of its last batch, batches are 1, 1, 2, 4, ..."""

    def __init__(self, arms: int, tape: Tape, story: Story) -> None:
        self.mean = [0.0] * arms
        self.total = [0] * arms
        self.phase = [0] * arms
        self.size = [0] * arms
        self.batch: list[list[float]] = [[] for _ in range(arms)]
        self.tape = tape
        self.story = story

    def pull(self, arm: int) -> bool:
        """One more person; whether a batch was released."""
        self.story.arms.append(arm)
        self.batch[arm].append(self.tape.outcome(arm))
        self.total[arm] += 1
        due = 1 if self.phase[arm] == 0 else 2 * (self.total[arm] - len(self.batch[arm]))
        if self.total[arm] < due:
            return False
        self.size[arm] = len(self.batch[arm])
        value = sum(self.batch[arm]) + self.tape.next_noise(arm)
        self.mean[arm] = value / self.size[arm]
        self.phase[arm] += 1
        self.batch[arm] = []
        self.story.releases.append((arm, self.size[arm], value))
        return True


def adap_tt(
    arms: int, epsilon: float, delta: float, tape: Tape, cap: int, *, private: bool = True, beta: float = 0.5
) -> Story:
    story = Story()
    p = Phases(arms, tape, story)
    led = [0] * arms
    led_pulls = [0] * arms
    leader = -1

    def threshold(a: int, b: int) -> float:
        k1, k2, n, m = p.phase[a], p.phase[b], p.size[a], p.size[b]
        if private:
            return c_private(k1, k2, n, m, arms, epsilon, delta)
        return c_phase(k1 * k2, n, m, arms, delta)

    while len(story.arms) < cap:
        n = len(story.arms)
        if n < arms:
            arm = n
        else:
            index = [p.mean[a] + math.sqrt(p.phase[a] / p.size[a]) for a in range(arms)]
            if private:
                index = [index[a] + p.phase[a] / (epsilon * p.size[a]) for a in range(arms)]
            leader = argmax(index)
            led[leader] += 1
            if led_pulls[leader] <= beta * led[leader]:
                arm = leader
                led_pulls[leader] += 1
            else:
                arm = challenger(p.mean, p.total, leader)
        released = p.pull(arm)
        if released and len(story.arms) >= arms:
            best = argmax(p.mean)
            if glr_stop(p.mean, p.size, best, threshold):
                story.verdict = best
                return story
    return story


def uniform(arms: int, epsilon: float, delta: float, tape: Tape, cap: int) -> Story:
    story = Story()
    p = Phases(arms, tape, story)
    while len(story.arms) < cap:
        released = p.pull(len(story.arms) % arms)
        if released and len(story.arms) >= arms:
            best = argmax(p.mean)
            if glr_stop(
                p.mean,
                p.size,
                best,
                lambda a, b: c_private(p.phase[a], p.phase[b], p.size[a], p.size[b], arms, epsilon, delta),
            ):
                story.verdict = best
                return story
    return story


def adap_tt_published(arms: int, epsilon: float, delta: float, tape: Tape, cap: int, beta: float = 0.5) -> Story:
    story = Story()
    p = Phases(arms, tape, story)
    leader = in_a_row = -1
    risk = math.log(1 / delta)

    def threshold(a: int, b: int) -> float:
        n, m = p.size[a], p.size[b]
        return risk + math.log(1 + math.log(n)) + math.log(1 + math.log(m)) + (1 / n + 1 / m) * risk**2 / epsilon**2

    while len(story.arms) < cap:
        if len(story.arms) < arms:
            arm = len(story.arms)
        else:
            # A coin for every person: how many come to the leader in a row, then one who does not.
            closed = sum(size for _, size, _ in story.releases)
            if in_a_row < 0:
                in_a_row = int(tape.coins.geometric(1 - beta)) - 1
            arm = leader if in_a_row > 0 else challenger(p.mean, p.total, leader, 1 / (1 + math.sqrt(closed)))
            in_a_row -= 1
        released = p.pull(arm)
        if released:
            in_a_row = -1
        if released and len(story.arms) >= arms:
            log_n = math.log(sum(size for _, size, _ in story.releases))
            leader = argmax(
                [p.mean[a] + log_n / (epsilon * p.size[a]) + math.sqrt(log_n / (2 * p.size[a])) for a in range(arms)]
            )
            if glr_stop(p.mean, p.size, leader, threshold):
                story.verdict = leader
                return story
    return story


def toss(tape: Tape, weights: dict[int, float]) -> int:
    """One arm by its weight, arms laid out in the order of their index."""
    u = float(tape.coins.random())
    first, second = sorted(weights)
    return first if u < weights[first] else second


def ttucb(
    arms: int, epsilon: float, delta: float, tape: Tape, cap: int, *, published: bool = False, beta: float = 0.5
) -> Story:
    story = Story()
    sums = [0.0] * arms
    total = [0] * arms
    led = [0] * arms
    led_pulls = [0] * arms
    while len(story.arms) < cap:
        n = len(story.arms)
        mean = [sums[a] / total[a] if total[a] else 0.0 for a in range(arms)]
        if n < arms:
            arm = n
        elif published:
            leader = argmax(mean)
            arm = toss(tape, {leader: beta, challenger(mean, total, leader, math.log(1 + n) ** -0.25): 1 - beta})
        else:
            leader = argmax([mean[a] + math.sqrt(6 * math.log(n + 1) / total[a]) for a in range(arms)])
            led[leader] += 1
            if led_pulls[leader] <= beta * led[leader]:
                arm = leader
                led_pulls[leader] += 1
            else:
                arm = challenger(mean, total, leader)
        outcome = tape.outcome(arm)
        story.arms.append(arm)
        story.releases.append((arm, 1, outcome))
        sums[arm] += outcome
        total[arm] += 1
        if len(story.arms) < arms:
            continue
        mean = [sums[a] / total[a] for a in range(arms)]
        best = argmax(mean)
        people = len(story.arms)

        def threshold(a: int, b: int, people: int = people) -> float:
            if published:
                return math.log((1 + math.log(people)) / delta)
            base = 2 * c_gauss(math.log((arms - 1) / delta) / 2)
            return base + 2 * math.log(4 + math.log(total[a])) + 2 * math.log(4 + math.log(total[b]))

        if glr_stop(mean, total, best, threshold):
            story.verdict = best
            return story
    return story


def dp_se(arms: int, epsilon: float, delta: float, tape: Tape, cap: int) -> Story:
    story = Story()
    active = list(range(arms))
    epoch = 0
    while len(active) > 1:
        epoch += 1
        gap = 2.0**-epoch
        a8 = math.log(8 * len(active) * epoch**2 / delta)
        a4 = math.log(4 * len(active) * epoch**2 / delta)
        size = math.floor(max(32 * a8 / gap**2, 8 * a4 / (gap * epsilon)) + 1)
        mean = {}
        for arm in active:
            batch = []
            for _ in range(size):
                if len(story.arms) == cap:
                    return story
                story.arms.append(arm)
                batch.append(tape.outcome(arm))
            value = sum(batch) + tape.next_noise(arm)
            story.releases.append((arm, size, value))
            mean[arm] = value / size
        slack = 2 * (math.sqrt(a8 / (2 * size)) + a4 / (size * epsilon))
        best = max(mean.values())
        active = [arm for arm in active if best - mean[arm] <= slack]
    story.verdict = active[0]
    return story
