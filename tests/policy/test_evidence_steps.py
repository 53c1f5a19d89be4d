"""Coin evidence, release by release, against every bet worked out from its definition (tests/naive/evidence.py)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.evidence import policy
from bestarm.policy.evidence.constants import CoinConstants, coin_constants
from bestarm.policy.evidence.far import far_limit, steepest
from bestarm.policy.evidence.memory import is_in
from bestarm.policy.evidence.tuning import Tuning
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import (
    GRAIN,
    Stages,
    enter_closing,
    enter_opening,
    enter_people,
    enter_release,
    next_slot,
    round_weights,
)
from bestarm.release.laws import log_mgf, pure_law
from tests.naive.evidence import Book, log_pay, mean_pay, people_factors, plain_slopes, slope_at_zero

CLOSE = 2e-6
"""Nats by which rounding, and the differences that slopes are checked by, may be off."""


def pays(
    constants: CoinConstants, state: policy.Coin, slot: int, a: int, b: int, share: float, values: FloatArray
) -> float:
    """What a stake of 1 has become, from the definition of the bet that the policy chose."""
    stages, epsilon, step = state.stages, constants.law.budget, constants.law.step
    placed = policy.stake(constants, state.memory, stages.openings, slot, a, b, share, state.scratch.gaps)
    n_a, n_b = (float(stages.size[slot, arm]) for arm in (a, b))
    bet = policy.fitted(constants, placed, (n_a, n_b), state.scratch.gaps)
    assert (bet.up, bet.down) == (placed.bet.up, placed.bet.down)  # slopes never look at the sizes
    pivot, cash, shape = placed.prospect.pivot, placed.prospect.cash, bet.pays
    if shape.cap == math.inf:
        cost = log_mgf(constants.law, shape.up) + log_mgf(constants.law, shape.down)
        tangent = 1.0
    else:
        cost = math.log(mean_pay(0.0, shape.up, shape.down, shape.cap, epsilon))
        tangent = slope_at_zero(shape.up, shape.down, shape.cap, epsilon)
    assert bet.up == pytest.approx(tangent * shape.up, rel=1e-5)
    assert bet.down == pytest.approx(tangent * (shape.down or shape.up), rel=1e-5)
    at_a, at_b = n_a * pivot, n_b * pivot
    if stages.openings.difference[slot] == 1:
        seen = values[0] if stages.openings.champion[slot] == a else -values[0]
        y = shape.up * (seen - at_a + at_b)
    else:
        y = shape.up * (values[a] - at_a) + shape.down * (at_b - values[b])
    won = y if shape.cap == math.inf else log_pay(y, shape.up, shape.down, shape.cap, step)
    ratio = stages.openings.weights[slot, a] / stages.openings.weights[slot, b]
    on_a, on_b = people_factors(bet.up, bet.down, ratio)
    nats = won - cost + bet.up * at_a - bet.down * at_b + n_a * math.log(on_a) + n_b * math.log(on_b)
    return cash + (1.0 - cash) * math.exp(nats)


def gain(constants: CoinConstants, state: policy.Coin, slot: int, b: int, values: FloatArray) -> float:
    """The mixture over those who may be the best, with the shares that the policy gave them."""
    weights = state.stages.openings.weights[slot]
    names, shares = state.scratch.champions.tolist(), state.scratch.shares.tolist()
    chosen: list[tuple[int, float]] = []
    for a, share in zip(names, shares, strict=True):
        if a >= 0 and a != b and weights[a] > 0:
            if chosen and share < constants.tuning.least_share * sum(s for _, s in chosen):
                break
            chosen.append((a, share))
    if not chosen:
        return 0.0
    total = sum(share for _, share in chosen)
    mean = sum(s / total * pays(constants, state, slot, a, b, s / total, values) for a, s in chosen)
    return math.log(mean)


class Totals:
    """Every arm's released sums added up, and the people in them."""

    def __init__(self, arms: int) -> None:
        self.total = np.zeros(arms)
        self.people = np.zeros(arms)

    def plain(self, constants: CoinConstants, state: policy.Coin, slot: int, b: int, values: FloatArray) -> float:
        """The logarithm of the plain bet against b, from its definition (Theorem 5)."""
        estimates = np.clip(self.total / np.maximum(self.people, 1.0), 1e-12, 1 - 1e-12)
        weights = state.stages.openings.weights[slot]
        a = max((arm for arm in range(weights.size) if is_in(state.memory, arm)), key=lambda arm: estimates[arm])
        if estimates[a] <= estimates[b]:
            return 0.0
        v, w = float(weights[a]), float(weights[b])
        up, down = plain_slopes(float(estimates[a]), float(estimates[b]), v, w, steepest(constants))
        on_a, on_b = people_factors(up, down, v / w)
        n_a, n_b = (float(state.stages.size[slot, arm]) for arm in (a, b))
        noise = log_mgf(constants.law, up) + log_mgf(constants.law, down)
        return float(up * values[a] - down * values[b] + n_a * math.log(on_a) + n_b * math.log(on_b) - noise)


FAR = Tuning()._replace(far=1.5, plain=0.3)
"""Far out from the second or third stage on."""


def check_plain_stage(constants: CoinConstants, book: Book, stages: Stages, slot: int) -> None:
    """What Theorem 5 asks of a stage far out."""
    tuning, openings = constants.tuning, stages.openings
    assert openings.difference[slot] == 0
    wanted = [1 / len(book.left) if b in book.left else 0.0 for b in range(constants.arms)]
    assert openings.weights[slot] == pytest.approx(wanted, abs=constants.arms * GRAIN)
    size = tuning.far_share * book.people * (far_limit(constants) / book.people) ** tuning.far_power
    assert openings.planned[slot] == math.ceil(size)


@pytest.mark.parametrize(
    ("means", "epsilon", "seed", "tuning"),
    [
        ((0.7, 0.4, 0.3), 0.3, 0, Tuning()),
        ((0.55, 0.5), 0.05, 1, Tuning()),
        ((0.9, 0.6, 0.8, 0.2), 2.0, 2, Tuning()),
        ((0.5, 0.5), 1.0, 3, Tuning()),
        ((0.7, 0.65, 0.5), 0.3, 4, FAR),
        ((1.0, 0.98), 5.0, 5, FAR),
    ],
)
def test_every_release_of_a_trial(means: tuple[float, ...], epsilon: float, seed: int, tuning: Tuning) -> None:
    constants = coin_constants(len(means), pure_law(epsilon), 0.05, tuning)
    totals = Totals(len(means))
    state = policy.start_coin(constants)
    stages = state.stages
    book = Book(constants.threshold, tuning.recall, tuning.recall_nats, [0.0] * len(means))
    rng = np.random.default_rng(seed)
    fail = -math.expm1(-epsilon)
    for _ in range(6):
        slot = next_slot(stages)
        far = book.people >= far_limit(constants)
        policy.open_stage(state, constants, slot)
        round_weights(stages.openings, slot)
        enter_opening(stages)
        if far:
            check_plain_stage(constants, book, stages, slot)
        sizes = rng.multinomial(int(stages.openings.planned[slot]), stages.openings.weights[slot])
        sums = rng.binomial(sizes, means) + 0.0
        noise = rng.geometric(fail, len(means)) - rng.geometric(fail, len(means))
        for arm, people in enumerate(sizes):
            enter_people(stages, arm, int(people))
        enter_closing(stages)
        if stages.openings.difference[slot] == 1:
            a = int(stages.openings.champion[slot])
            b = next(arm for arm in range(len(means)) if arm != a and sizes[arm] > 0)
            values = np.array([sums[a] - sums[b] + noise[0], *[0.0] * (len(means) - 1)])
        else:
            values = np.where(stages.openings.weights[slot] > 0, sums + noise, 0.0)
        policy.contend(constants, state.memory, state.scratch.champions, state.scratch.shares)
        gains = [
            gain(constants, state, slot, b, values) if b in book.left and stages.openings.weights[slot, b] > 0 else 0.0
            for b in range(len(means))
        ]
        if far:
            for b in book.left:
                plain = tuning.plain * math.exp(totals.plain(constants, state, slot, b, values))
                gains[b] = math.log((1 - tuning.plain) * math.exp(gains[b]) + plain)
                assert gains[b] >= math.log((1 - tuning.plain) * tuning.cash)
        if stages.openings.difference[slot] == 0:
            totals.total += values
            totals.people += sizes
        book.settle(gains, float(sum(sizes)))
        policy.settle(state, constants, slot, values)
        enter_release(stages)
        assert state.memory.wealth == pytest.approx(book.wealth, abs=CLOSE * (1 + float(sum(sizes)) ** 0.5))
        assert [b for b in range(len(means)) if is_in(state.memory, b)] == book.left
        verdict = policy.over(state, constants)
        assert (verdict != UNDECIDED) == (len(book.left) <= 1)
        if verdict != UNDECIDED:
            assert book.left in ([verdict], [])
            return
