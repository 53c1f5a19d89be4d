"""Who recruits next: Top Two sampling in its variants, and uniform sampling.

A Top Two rule has a leader (the arm believed best) and a challenger (the arm that could most easily be better), and
splits the people between them. Estimates and the leader change only with releases; the challenger also depends on
how many people each arm has, and so may change with every one of them. Ties go to the lowest index throughout.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from bestarm.policy.algorithm import SEVERAL, State
from bestarm.policy.record import FloatArray, IntArray, Record, new_record
from bestarm.rules import rule


class SamplingConstants(Protocol):
    """What the sampling rules read from an algorithm's constants."""

    @property
    def arms(self) -> int: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def beta(self) -> float: ...


class Estimates(NamedTuple):
    """A state with one estimate an arm: enough for any rule that samples from estimated means and counts."""

    record: Record
    mean: FloatArray


class TopTwo(NamedTuple):
    """What Top Two sampling remembers. `leader[0]` is -1 until every arm has been released once."""

    record: Record
    mean: FloatArray
    leader: IntArray
    led: IntArray
    """L: rounds in which the arm led."""
    led_pulls: IntArray
    """N_BB: people it got in those rounds."""
    width: FloatArray
    """1/sqrt(N), kept for bonuses that change with every person."""


@rule(allocates=True)
def start_estimates(constants: SamplingConstants) -> Estimates:
    """The state of rules that need estimates only."""
    return Estimates(new_record(constants.arms), np.zeros(constants.arms))


@rule(allocates=True)
def start_top_two(constants: SamplingConstants) -> TopTwo:
    """The state of Top Two rules."""
    arms = constants.arms
    leader = np.full(1, -1)
    led = np.zeros(arms, np.int64)
    return TopTwo(new_record(arms), np.zeros(arms), leader, led, np.zeros(arms, np.int64), np.zeros(arms))


@rule
def first_release_missing(record: Record) -> bool:
    """Whether some arm has not been released yet, so that estimates are incomplete."""
    for arm in range(record.released.size):  # noqa: SIM110 (compiled)
        if record.released[arm] == 0:
            return True
    return False


@rule
def fewest_assigned(record: Record) -> int:
    """The arm with the fewest people."""
    least = 0
    for arm in range(1, record.assigned.size):
        if record.assigned[arm] < record.assigned[least]:
            least = arm
    return least


@rule
def people_counted(record: Record) -> int:
    """Outcomes in released batches, over all arms."""
    people = 0
    for arm in range(record.counted.size):
        people += record.counted[arm]
    return people


@rule
def highest(values: FloatArray) -> int:
    """The index of the largest value."""
    best = 0
    for arm in range(1, values.size):
        if values[arm] > values[best]:
            best = arm
    return best


@rule
def transportation_challenger(mean: FloatArray, assigned: IntArray, leader: int, widening: float) -> int:
    """argmin over a != B of (mean_B - mean_a + widening) / sqrt(1/N_B + 1/N_a), the TC challenger.

    Compares the signed squares of the costs, which have the same order and need no root. `widening` is 0 in the
    paper and positive in the published variants.
    """
    challenger = -1
    least = math.inf
    top = mean[leader] + widening
    n = float(assigned[leader])
    for arm in range(mean.size):
        if arm != leader:
            gap = top - mean[arm]
            m = float(assigned[arm])
            cost = gap * abs(gap) * (n * m / (n + m))
            if cost < least:
                least = cost
                challenger = arm
    return challenger


@rule
def uniform(state: State, constants: SamplingConstants, weights: FloatArray) -> int:
    """Everyone in turn: the arm with the fewest people."""
    return fewest_assigned(state.record)


class Tracked(Protocol):
    """A state that counts the rounds an arm led, and the people it got in them."""

    @property
    def leader(self) -> IntArray: ...
    @property
    def led(self) -> IntArray: ...
    @property
    def led_pulls(self) -> IntArray: ...


@rule
def leader_is_due(state: Tracked, constants: SamplingConstants) -> bool:
    """Whether the leader B gets the next person: N_BB <= beta L_B, this round included in L_B."""
    leader = state.leader[0]
    return bool(state.led_pulls[leader] <= constants.beta * (state.led[leader] + 1))


@rule
def top_two(state: TopTwo, constants: SamplingConstants, weights: FloatArray) -> int:
    """Algorithm 2, lines 15-16: the leader B while N_BB <= beta L_B (this round included in L_B), else the challenger.

    Before the leader is known, everyone in turn; then the initial people are one an arm, and a live trial whose first
    outcomes are late keeps enrolling.
    """
    leader = int(state.leader[0])
    if leader < 0:
        return fewest_assigned(state.record)
    if leader_is_due(state, constants):
        return leader
    return transportation_challenger(state.mean, state.record.assigned, leader, 0.0)


@rule
def track(state: Tracked, constants: SamplingConstants, arm: int, people: int) -> None:
    """Algorithm 2, line 18: count the rounds the leader led, and the people it got in them."""
    leader = state.leader[0]
    if leader >= 0:
        state.led[leader] += people
        if arm == leader:
            state.led_pulls[leader] += people


@rule
def latest_mean(state: Estimates, constants: SamplingConstants, arm: int) -> None:
    """Forgetting (Algorithm 2, line 8): an arm's estimate is the mean of its last released batch alone."""
    state.mean[arm] = state.record.last_value[arm] / state.record.last_size[arm]


@rule
def lead_private(state: TopTwo, constants: SamplingConstants, arm: int) -> None:
    """Algorithm 2, line 14: B = argmax of mean + sqrt(k/Ñ) + k/(epsilon Ñ) over forgetting estimates."""
    _lead_by_phase(state, arm, 1.0 / constants.epsilon)


@rule
def lead_nonprivate(state: TopTwo, constants: SamplingConstants, arm: int) -> None:
    """The leader of non-private AdaP-TT: B = argmax of mean + sqrt(k/Ñ)."""
    _lead_by_phase(state, arm, 0.0)


@rule
def _lead_by_phase(state: TopTwo, arm: int, noise_scale: float) -> None:
    record = state.record
    state.mean[arm] = record.last_value[arm] / record.last_size[arm]
    if first_release_missing(record):
        return
    leader = 0
    largest = -math.inf
    for a in range(record.released.size):
        per_person = record.released[a] / record.last_size[a]
        bonus = math.sqrt(per_person) + per_person * noise_scale
        if state.mean[a] + bonus > largest:
            largest = state.mean[a] + bonus
            leader = a
    state.leader[0] = leader


@rule
def lead_ttucb(state: TopTwo, constants: SamplingConstants, arm: int) -> None:
    """TTUCB: means over the whole history, B = argmax of mean + sqrt(6 log(n)/N) in round n (people so far + 1)."""
    record = state.record
    state.mean[arm] = record.total[arm] / record.counted[arm]
    state.width[arm] = 1.0 / math.sqrt(record.counted[arm])
    if state.leader[0] < 0 and first_release_missing(record):
        return
    bonus = math.sqrt(6.0 * math.log(people_counted(record) + 1))
    leader = 0
    largest = -math.inf
    for a in range(record.counted.size):
        index = state.mean[a] + bonus * state.width[a]
        if index > largest:
            largest = index
            leader = a
    state.leader[0] = leader


@rule
def lead_published(state: TopTwo, constants: SamplingConstants, arm: int) -> None:
    """The released code's leader: mean + sqrt(log(n)/(2 Ñ)) + log(n)/(epsilon Ñ), n people in closed batches."""
    record = state.record
    state.mean[arm] = record.last_value[arm] / record.last_size[arm]
    if first_release_missing(record):
        return
    log_people = math.log(people_counted(record))
    leader = 0
    largest = -math.inf
    for a in range(record.released.size):
        size = record.last_size[a]
        index = state.mean[a] + math.sqrt(log_people / (2 * size)) + log_people / (constants.epsilon * size)
        if index > largest:
            largest = index
            leader = a
    state.leader[0] = leader


@rule
def lead_empirical(state: TopTwo, constants: SamplingConstants, arm: int) -> None:
    """The released TTUCB's leader: the arm with the best mean over its whole history."""
    record = state.record
    state.mean[arm] = record.total[arm] / record.counted[arm]
    if state.leader[0] >= 0 or not first_release_missing(record):
        state.leader[0] = highest(state.mean)


@rule
def published_leader(state: TopTwo, constants: SamplingConstants) -> int:
    """The leader of the released AdaP-TT; -1 before every arm has been released."""
    return int(state.leader[0])


@rule
def published_challenger(state: TopTwo, constants: SamplingConstants) -> int:
    """The challenger of the released AdaP-TT, whose gap is widened by 1/(1 + sqrt(n))."""
    widening = 1.0 / (1.0 + math.sqrt(people_counted(state.record)))
    return transportation_challenger(state.mean, state.record.assigned, int(state.leader[0]), widening)


@rule
def published_coin(state: TopTwo, constants: SamplingConstants, weights: FloatArray) -> int:
    """The released AdaP-TT: a coin between leader (beta) and challenger."""
    leader = published_leader(state, constants)
    if leader < 0:
        return fewest_assigned(state.record)
    for arm in range(weights.size):
        weights[arm] = 0.0
    weights[leader] = constants.beta
    weights[published_challenger(state, constants)] = 1.0 - constants.beta
    return SEVERAL


@rule
def published_ttucb_coin(state: TopTwo, constants: SamplingConstants, weights: FloatArray) -> int:
    """The released TTUCB: the same coin, with the gap widened by log(1 + n)^(-1/4)."""
    leader = int(state.leader[0])
    if leader < 0:
        return fewest_assigned(state.record)
    widening = math.log(1.0 + people_counted(state.record)) ** -0.25
    challenger = transportation_challenger(state.mean, state.record.assigned, leader, widening)
    for arm in range(weights.size):
        weights[arm] = 0.0
    weights[leader] = constants.beta
    weights[challenger] = 1.0 - constants.beta
    return SEVERAL
