"""Stages that go on in the next one: the record's rules, fairness against an opponent, and every release as it pays."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.evidence import policy
from bestarm.policy.evidence.bets import factors
from bestarm.policy.evidence.constants import CoinConstants, coin_constants
from bestarm.policy.evidence.plan import plan_stage
from bestarm.policy.evidence.tuning import Tuning
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import (
    CLOSED,
    GRAIN,
    OPENED,
    PENDING,
    RELEASED,
    Stages,
    enter_closing,
    enter_merging,
    enter_opening,
    enter_people,
    enter_release,
    in_stage,
    may_close,
    new_stages,
    newest_slot,
    next_is_alike,
    next_slot,
    oldest_slot,
    round_weights,
    waiting_stages,
)
from bestarm.release.laws import pure_law
from tests.naive.evidence import Book
from tests.policy.test_evidence_steps import CLOSE, gain


def opened(stages: Stages, weights: tuple[float, ...], people: tuple[int, ...], difference: int = 0) -> int:
    """Another stage, with these people; it is closed if one opens after it."""
    if stages.progress[OPENED] > stages.progress[CLOSED]:
        enter_closing(stages)
    slot = next_slot(stages)
    stages.openings.weights[slot] = weights
    stages.openings.difference[slot] = difference
    stages.openings.champion[slot] = 0
    stages.openings.planned[slot] = sum(people)
    enter_opening(stages)
    for arm, count in enumerate(people):
        enter_people(stages, arm, count)
    return slot


HALVES = (0.5, 0.5)


def test_only_a_stage_of_the_same_weights_form_and_champion_is_alike() -> None:
    stages = new_stages(2)
    first = opened(stages, HALVES, (3, 4))
    assert not next_is_alike(stages)  # there is no next one
    second = opened(stages, HALVES, (2, 5))
    assert next_is_alike(stages)
    stages.openings.weights[second] = (0.5 + GRAIN, 0.5 - GRAIN)
    assert not next_is_alike(stages)
    stages.openings.weights[second] = HALVES
    stages.openings.champion[second] = 1
    assert not next_is_alike(stages)
    stages.openings.champion[second] = 0
    stages.openings.difference[second] = 1
    assert not next_is_alike(stages)
    stages.openings.difference[first] = 1
    assert next_is_alike(stages)


def test_whether_the_next_stage_has_closed_is_not_asked() -> None:
    stages = new_stages(2)
    opened(stages, HALVES, (3, 4))
    opened(stages, HALVES, (0, 0))
    before = next_is_alike(stages)
    enter_people(stages, 0, 7)
    enter_closing(stages)
    assert before
    assert next_is_alike(stages)


def test_people_of_a_merged_stage_are_in_the_next_one_and_in_nothing_else() -> None:
    stages = new_stages(2)
    opened(stages, HALVES, (3, 4))
    second = opened(stages, HALVES, (2, 5))
    enter_merging(stages)
    assert oldest_slot(stages) == second
    assert stages.size[second].tolist() == [5, 9]
    assert stages.openings.planned[second] == 14
    assert stages.assigned.tolist() == [5, 9]
    assert stages.progress[RELEASED] == 1


# Fairness. Two people in a first stage, two in a second one, two arms, no noise. Slopes of the first two are fixed; the
# others are met with the same slopes if the stages are merged, and with other ones if not.

STEEP, MILD = (1.2, 0.9), (0.3, 0.4)
EACH = 2
Person = tuple[bool, int]
"""Whether the coin chose the champion, and the outcome."""
History = tuple[Person, ...]
Extremes = ((0, 0), (1, 1), (0, 1))
"""What one person would do on champion and rival, at the corners of the hypothesis."""


def wealth(history: History, merged: bool) -> float:
    nats = 0.0
    for place, (champion, outcome) in enumerate(history):
        up, down = STEEP if merged or place < EACH else MILD
        paid = factors(up, down, 1.0, 0.0)
        nats += up * outcome + paid.champion if champion else -down * outcome + paid.rival
    return math.exp(nats)


def largest_mean(merges: Callable[[History], bool], may_close: bool) -> float:
    """The most that an opponent can make of the wealth who chooses outcomes person by person, knowing everything so
    far, and, if `may_close`, how many people the second stage gets."""

    def worth(history: History) -> float:
        now = wealth(history, merges(history))
        if len(history) == 2 * EACH:
            return now
        best = max(
            0.5 * worth((*history, (True, on_champion))) + 0.5 * worth((*history, (False, on_rival)))
            for on_champion, on_rival in Extremes
        )
        return max(best, now) if may_close and len(history) > EACH else best

    return worth(())


def champions(history: History) -> int:
    return sum(champion for champion, _ in history)


def test_merging_by_what_was_known_before_the_next_stage_is_fair() -> None:
    for merges in (
        lambda history: True,
        lambda history: False,
        lambda history: champions(history[:EACH]) == 1,
        lambda history: champions(history[:EACH]) == 2,
        lambda history: sum(outcome for _, outcome in history[:EACH]) > 0,
    ):
        assert largest_mean(merges, may_close=True) <= 1.0 + 1e-12


def test_merging_by_the_next_stages_own_coins_or_size_would_not_be() -> None:
    assert largest_mean(lambda history: champions(history[EACH:]) == EACH, may_close=False) > 1.01
    assert largest_mean(lambda history: champions(history[EACH:]) == 0, may_close=False) > 1.01
    assert largest_mean(lambda history: len(history) == 2 * EACH, may_close=True) > 1.01
    assert largest_mean(lambda history: len(history) < 2 * EACH, may_close=True) > 1.01


# A trial whose outcomes are late, release by release.


def drawn(stages: Stages, slot: int, means: tuple[float, ...], rng: np.random.Generator, fail: float) -> FloatArray:
    """A release of all people in this stage, those merged into it among them."""
    sizes, arms = stages.size[slot], len(means)
    sums = rng.binomial(sizes, means) + 0.0
    noise = rng.geometric(fail, arms) - rng.geometric(fail, arms)
    if stages.openings.difference[slot] == 0:
        return np.where(stages.openings.weights[slot] > 0, sums + noise, 0.0)
    a = int(stages.openings.champion[slot])
    b = next(arm for arm in range(arms) if arm != a and stages.openings.weights[slot, arm] > 0)
    return np.array([sums[a] - sums[b] + noise[0], *[0.0] * (arms - 1)])


def enrol_stage(state: policy.Coin, constants: CoinConstants, rng: np.random.Generator) -> None:
    slot = next_slot(state.stages)
    policy.open_stage(state, constants, slot)
    round_weights(state.stages.openings, slot)
    enter_opening(state.stages)
    planned = int(state.stages.openings.planned[slot])
    for arm, people in enumerate(rng.multinomial(planned, state.stages.openings.weights[slot])):
        enter_people(state.stages, arm, int(people))
    enter_closing(state.stages)


@pytest.mark.parametrize(
    ("means", "epsilon", "seed", "ahead"),
    [((0.7, 0.4, 0.3), 0.3, 0, 6), ((0.55, 0.45), 0.3, 1, 12), ((0.5, 0.7, 0.65), 2.0, 2, 20)],
)
def test_every_release_of_a_late_trial(means: tuple[float, ...], epsilon: float, seed: int, ahead: int) -> None:
    constants = coin_constants(len(means), pure_law(epsilon), 0.05)
    tuning: Tuning = constants.tuning
    state = policy.start_coin(constants)
    stages, memory = state.stages, state.memory
    book = Book(constants.threshold, tuning.recall, tuning.recall_nats, [0.0] * len(means))
    rng = np.random.default_rng(seed)
    merged = released = 0
    people = np.zeros(len(means))
    while policy.over(state, constants) == UNDECIDED and released < 12:
        while stages.progress[OPENED] - stages.progress[RELEASED] <= ahead:
            enrol_stage(state, constants, rng)
        slot = oldest_slot(stages)
        if next_is_alike(stages) and policy.merges(state, constants):
            assert released > 0  # nothing is known yet by which the first stage could be too small
            assert in_stage(stages, slot) < memory.wanted[0]
            enter_merging(stages)
            merged += 1
            continue
        assert (memory.wanted[0] > 0.0) == (released > 0)
        values = drawn(stages, slot, means, rng, -math.expm1(-epsilon))
        policy.contend(constants, memory, state.scratch.champions, state.scratch.shares)
        inside = [b in book.left and stages.openings.weights[slot, b] > 0 for b in range(len(means))]
        gains = [gain(constants, state, slot, b, values) if inside[b] else 0.0 for b in range(len(means))]
        book.settle(gains, float(in_stage(stages, slot)))
        people += stages.size[slot]
        policy.settle(state, constants, slot, values)
        enter_release(stages)
        released += 1
        assert memory.wealth == pytest.approx(book.wealth, abs=CLOSE * (1 + people.sum() ** 0.5))
        assert memory.people.tolist() == people.tolist()
    assert merged > 0
    assert newest_slot(stages) != oldest_slot(stages)


def test_without_news_the_next_stage_is_what_the_whole_plan_would_make_of_it() -> None:
    constants = coin_constants(4, pure_law(0.5), 0.05)
    state = policy.start_coin(constants)
    stages, memory = state.stages, state.memory
    rng = np.random.default_rng(4)
    for _ in range(30):
        enrol_stage(state, constants, rng)
    slot = oldest_slot(stages)
    policy.settle(state, constants, slot, drawn(stages, slot, (0.6, 0.5, 0.4, 0.5), rng, 0.4))
    enter_release(stages)
    enrol_stage(state, constants, rng)  # on the news
    for _ in range(5):
        policy.count_enrolled(state)
        assert policy.is_without_news(state, constants)
        sizes = np.zeros(4)
        scratch = state.scratch
        course = plan_stage(constants, memory, scratch.enrolled, waiting_stages(stages), scratch.offers, sizes)
        enrol_stage(state, constants, rng)
        newest, openings = newest_slot(stages), stages.openings
        assert openings.weights[newest] == pytest.approx(sizes / sizes.sum(), abs=4 * GRAIN)
        assert abs(openings.planned[newest] - course.people) <= 1
        assert (bool(openings.difference[newest]), int(openings.champion[newest])) == (False, course.champion)
        assert not course.difference


def test_without_delay_nothing_is_merged_and_every_stage_is_as_planned() -> None:
    constants = coin_constants(3, pure_law(1.0), 0.05)
    state = policy.start_coin(constants)
    rng = np.random.default_rng(0)
    for _ in range(4):
        enrol_stage(state, constants, rng)
        slot = oldest_slot(state.stages)
        assert state.memory.wanted[0] == 0.0
        assert not next_is_alike(state.stages)
        policy.settle(state, constants, slot, drawn(state.stages, slot, (0.5, 0.5, 0.5), rng, 0.6))
        enter_release(state.stages)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_in_the_dark_there_is_room_for_many_times_the_people_of_the_first_stage(epsilon: float) -> None:
    constants = coin_constants(3, pure_law(epsilon), 0.05)
    state = policy.start_coin(constants)
    rng = np.random.default_rng(6)
    planned: list[int] = []
    while may_close(state.stages) or not planned:
        enrol_stage(state, constants, rng)
        planned.append(int(state.stages.openings.planned[newest_slot(state.stages)]))
    assert len(planned) == PENDING
    # Small as long as there is room, then ever larger: nobody has to wait in a stage that cannot close.
    assert planned[1] < 0.1 * sum(planned[:32])
    assert sum(planned) > 1000 * planned[0]
    before = np.cumsum(planned)
    assert all(planned[k] <= 0.6 * before[k - 1] for k in range(3, PENDING))
