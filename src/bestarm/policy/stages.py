"""The public record of an algorithm that assigns by coins, stage by stage.

A stage's weights, form, champion and planned size are fixed when it opens; every person in it gets an arm by a coin of
their own with these weights. Sizes are random and public. One stage is open at a time; those that are closed wait for
outcomes and are released in the order in which they opened. What was fixed at the opening is kept apart from what the
coins made of it, so that a rule that may look only at the former is simply not given the latter (see
"What a bet may look at" in docs/evidence-proof.md).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from bestarm.policy.record import FloatArray, IntArray
from bestarm.rules import rule

PENDING: Final = 64
"""Stages that may be unreleased at a time, the open one included; with so many, the open one is extended."""

OPENED, CLOSED, RELEASED = 0, 1, 2
"""Places in `Stages.progress`."""

GRAIN: Final = 2.0**-24
"""Weights are multiples of this, so that a coin with exactly these probabilities can be drawn from whole numbers."""

FEW_ENOUGH: Final = 1e-9
"""The chance that coins leave an arm of a full stage with fewer people than a group, so that it is not released."""


class Openings(NamedTuple):
    """What was fixed when each unreleased stage opened; the stage of number i (from 0) stands at i modulo PENDING."""

    weights: FloatArray
    """Each arm's probability, stage by arm."""
    difference: IntArray
    """1: released as one signed difference, the champion's sum less the other arm's. 0: a sum for every arm."""
    champion: IntArray
    """The arm whose lead the stage is about: missing outcomes are never counted in its favour."""
    planned: IntArray
    """How many people it was planned for, with those of stages that were merged into it."""


class Stages(NamedTuple):
    """Everything public about the stages."""

    openings: Openings
    progress: IntArray
    """How many stages were opened, closed and released; one that was merged into the next counts as released."""
    assigned: IntArray
    """People assigned to each arm so far."""
    size: IntArray
    """People assigned to each arm in each unreleased stage, stage by arm."""
    voided: IntArray
    """How many of them were voided, known when the stage is released. Each counts 0 in its arm's sum."""


@rule(allocates=True)
def new_stages(arms: int) -> Stages:
    """Before the first person."""
    return Stages(
        Openings(
            np.zeros((PENDING, arms)),
            np.zeros(PENDING, np.int64),
            np.zeros(PENDING, np.int64),
            np.zeros(PENDING, np.int64),
        ),
        np.zeros(3, np.int64),
        np.zeros(arms, np.int64),
        np.zeros((PENDING, arms), np.int64),
        np.zeros((PENDING, arms), np.int64),
    )


@rule
def next_slot(stages: Stages) -> int:
    """Where the stage that opens next will stand."""
    return int(stages.progress[OPENED]) % PENDING


@rule
def oldest_slot(stages: Stages) -> int:
    """Where the oldest unreleased stage stands."""
    return int(stages.progress[RELEASED]) % PENDING


@rule
def newest_slot(stages: Stages) -> int:
    """Where the stage that opened last stands."""
    return (int(stages.progress[OPENED]) - 1) % PENDING


@rule
def is_open(stages: Stages) -> bool:
    """Whether a stage is open."""
    return bool(stages.progress[OPENED] > stages.progress[CLOSED])


@rule
def waiting_stages(stages: Stages) -> int:
    """How many stages have closed and are not released."""
    return int(stages.progress[CLOSED] - stages.progress[RELEASED])


@rule
def may_close(stages: Stages) -> bool:
    """Whether there is room for another stage to open once this one has closed."""
    return bool(stages.progress[OPENED] - stages.progress[RELEASED] < PENDING)


@rule
def in_stage(stages: Stages, slot: int) -> int:
    """People in a stage."""
    people = 0
    for arm in range(stages.assigned.size):
        people += stages.size[slot, arm]
    return people


@rule
def least_people(openings: Openings, slot: int, group: int) -> int:
    """How many people a stage needs so that every sum it releases is over at least `group` of them.

    Coins may favour an arm; this many are enough but for a chance of FEW_ENOUGH (Chernoff's bound for each arm: of M
    people expected, fewer than M - sqrt(2 M L) come with a chance of at most e^-L). It depends on the weights alone
    and not on how the coins fall: a stage that closed by its own sizes would make a bet of its coins. A difference of
    two sums is over both arms' people together, whose number is certain.
    """
    if group <= 1:
        return 1
    if openings.difference[slot] == 1:
        return group
    positive = 0
    least = 1.0
    for arm in range(openings.weights.shape[1]):
        if openings.weights[slot, arm] > 0.0:
            positive += 1
            least = min(least, openings.weights[slot, arm])
    return enough_for_groups(positive, least, group)


@rule
def enough_for_groups(arms: int, least: float, group: int) -> int:
    """For so many arms, the rarest of which has this weight."""
    nats = math.log(arms / FEW_ENOUGH)
    root = 0.5 * (math.sqrt(2.0 * nats) + math.sqrt(2.0 * nats + 4.0 * group))
    return math.ceil(root * root / least)


def fewest_in_stage(arms: int, group: int) -> int:
    """The same for a stage of equal weights; of two arms, released as a difference."""
    if arms == 2 or group <= 1:
        return group
    return enough_for_groups(arms, 1.0 / arms, group)


@rule
def makes_groups(stages: Stages, slot: int, group: int) -> bool:
    """Whether every sum that this stage would release is over at least `group` people; else it may not be released."""
    if group <= 1:
        return True
    if stages.openings.difference[slot] == 1:
        return in_stage(stages, slot) >= group
    for arm in range(stages.assigned.size):
        if stages.openings.weights[slot, arm] > 0.0 and stages.size[slot, arm] < group:
            return False
    return True


@rule
def sound_opening(openings: Openings, slot: int) -> bool:
    """Whether the opening that a policy wrote can be used: a planned size, and at least two arms that may come up."""
    total = 0.0
    positive = 0
    for arm in range(openings.weights.shape[1]):
        weight = openings.weights[slot, arm]
        if not 0.0 <= weight <= 1.0:
            return False
        total += weight
        if weight > 0.0:
            positive += 1
    if openings.difference[slot] == 1 and positive != 2:
        return False
    champion = openings.champion[slot]
    if champion < 0 or champion >= openings.weights.shape[1]:
        return False
    return openings.planned[slot] >= 1 and positive >= 2 and abs(total - 1.0) < 1e-6


@rule
def round_weights(openings: Openings, slot: int) -> None:
    """Round the opening's weights to whole grains that sum to exactly 1; no positive weight becomes 0."""
    left = 1.0
    largest = 0
    for arm in range(openings.weights.shape[1]):
        weight = openings.weights[slot, arm]
        if weight > openings.weights[slot, largest]:
            largest = arm
        if weight > 0.0:
            weight = max(1.0, math.floor(weight / GRAIN + 0.5)) * GRAIN
        openings.weights[slot, arm] = weight
        left -= weight
    openings.weights[slot, largest] += left


@rule
def enter_opening(stages: Stages) -> None:
    """The stage whose opening stands at `next_slot` is open from here on."""
    slot = next_slot(stages)
    for arm in range(stages.assigned.size):
        stages.size[slot, arm] = 0
        stages.voided[slot, arm] = 0
    stages.progress[OPENED] += 1


@rule
def enter_people(stages: Stages, arm: int, people: int) -> None:
    """So many more people of the open stage came to this arm."""
    slot = newest_slot(stages)
    stages.size[slot, arm] += people
    stages.assigned[arm] += people


@rule
def valid_people(stages: Stages, slot: int, arm: int) -> float:
    """People of a stage on an arm whose outcomes say something of it: all but those who were voided."""
    return float(stages.size[slot, arm] - stages.voided[slot, arm])


@rule
def against_rival(stages: Stages, slot: int, rival: int, value: float) -> float:
    """The rival's sum as a bet against it counts it: with 1 for each person of it who was voided.

    A void comes when the arm is known. Counted 0 on the champion and 1 on its rival it can only spoil a finding, so
    whoever is voided, for whatever reason, the bet stays fair (docs/evidence-proof.md: missing outcomes).
    """
    return value + float(stages.voided[slot, rival])


@rule
def difference_for(stages: Stages, slot: int, a: int, b: int, value: float) -> float:
    """A released difference as a bet of a against b counts it: a's sum less b's, voids counted against the finding."""
    mine = value if stages.openings.champion[slot] == a else -value
    return mine - float(stages.voided[slot, b])


@rule
def enter_closing(stages: Stages) -> None:
    """The open stage takes nobody any more."""
    stages.progress[CLOSED] += 1


@rule
def next_is_alike(stages: Stages) -> bool:
    """Whether the oldest unreleased stage could as well have gone on: another one has opened after it, with the same
    weights to the last grain, the same form and the same champion.

    Whether that one has closed is not asked: its own coins may have touched that, and who merges stages chooses with
    which bets its people are met ("What a bet may look at" in docs/evidence-proof.md).
    """
    if stages.progress[RELEASED] + 2 > stages.progress[OPENED]:
        return False
    openings = stages.openings
    one = oldest_slot(stages)
    two = (one + 1) % PENDING
    if openings.difference[one] != openings.difference[two] or openings.champion[one] != openings.champion[two]:
        return False
    for arm in range(stages.assigned.size):  # noqa: SIM110 (compiled)
        if openings.weights[one, arm] != openings.weights[two, arm]:
            return False
    return True


@rule
def enter_merging(stages: Stages) -> None:
    """The oldest unreleased stage goes on in the next one, which is alike: its people are released with that one's."""
    one = oldest_slot(stages)
    two = (one + 1) % PENDING
    stages.openings.planned[two] += in_stage(stages, one)
    for arm in range(stages.assigned.size):
        stages.size[two, arm] += stages.size[one, arm]
    stages.progress[RELEASED] += 1


@rule
def enter_release(stages: Stages) -> None:
    """The oldest unreleased stage has been released, and everything that follows from it is settled."""
    stages.progress[RELEASED] += 1
