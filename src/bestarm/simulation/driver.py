# ruff: noqa: F821 (a loop finds the rules it drives under names that `driving` gives it)
"""Drives a policy over simulated people, one run at a time.

Three loops, each a template: plain functions that find the rules of the algorithm they drive, and the world they draw
from, under the names declared below. `driving` makes a copy of a loop with an algorithm's own rules under these names,
to be run as it stands or compiled. `pull_by_pull` asks a batched policy who recruits for every person,
`release_by_release` only after each release, for policies whose answer holds until then; `stage_by_stage` drives staged
policies. Nothing is drawn before a batch or a stage closes, unless somebody could see it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bestarm.policy.algorithm import NOBODY, SEVERAL, UNDECIDED, Algorithm, Batched
from bestarm.policy.record import LARGEST_SIMULATED, FloatArray, IntArray, Record, assign, open_batch, release
from bestarm.policy.stages import (
    CLOSED,
    OPENED,
    PENDING,
    RELEASED,
    enter_closing,
    enter_opening,
    enter_people,
    enter_release,
    in_stage,
    may_close,
    newest_slot,
    next_slot,
    oldest_slot,
    round_weights,
    sound_opening,
)
from bestarm.rules import rule

Run: TypeAlias = Callable[[np.random.Generator, Any, Any, int, IntArray], tuple[int, int, int]]
"""One run, from (rng, world, constants, the most people, an array for the people of each arm): how many people it took,
the recommended arm or UNDECIDED, and how many releases."""

if TYPE_CHECKING:
    start: Callable[..., Any]
    over: Callable[..., int]
    size: Callable[..., int]
    recruit: Callable[..., int]
    assigned: Callable[..., None]
    released: Callable[..., None]
    open_stage: Callable[..., None]
    extent: Callable[..., int]
    settle: Callable[..., None]
    draw: Callable[..., float]
    count: Callable[..., float]
    blur: Callable[..., float]

DEADLOCK = "The policy recruits nobody although every outcome is in, so the run could never end."
NO_SUCH_ARM = "The policy named an arm that does not exist; arms are numbered from 0."
NO_SUCH_WEIGHTS = "The policy's weights are not probabilities: each has to lie between 0 and 1, and all must sum to 1."
NO_SUCH_SIZE = "The policy asked for a batch of fewer than 1 or more than 2^60 people."
NO_SUCH_STAGE = (
    "The policy opened a stage that cannot be: it needs a planned size of at least 1, an arm as its champion, and "
    "weights that sum to 1 with at least two positive (exactly two for a difference)."
)


def driving(algorithm: Algorithm, world: dict[str, Callable[..., Any]]) -> Run:
    """The loop for this algorithm. `world` draws: `draw` a release for batches; `count` and `blur`, a sum of outcomes
    and the noise of one release, for stages."""
    if isinstance(algorithm, Batched):
        loop = release_by_release if algorithm.holds else pull_by_pull
    else:
        loop = stage_by_stage
    assert isinstance(loop, FunctionType)
    name = f"run_{algorithm.name.replace('-', '_')}"
    run = FunctionType(loop.__code__, {**loop.__globals__, **algorithm.rules, **world}, name)
    run.__qualname__ = name
    return run


def pull_by_pull(
    rng: np.random.Generator, world: Any, constants: Any, max_samples: int, per_arm: IntArray
) -> tuple[int, int, int]:
    """One run of a batched policy, person by person."""
    state = start(constants)
    record = state.record
    weights = np.zeros(per_arm.size)
    people = 0
    releases = 0
    verdict = UNDECIDED
    while people < max_samples:
        arm = recruit(state, constants, weights)
        if arm == SEVERAL:
            check_weights(weights)
            arm = toss(rng, weights)
        check_arm(arm, per_arm.size)
        if record.assigned[arm] == record.places[arm]:
            open_batch(record, arm, checked_size(size(state, constants, arm)))
        assign(record, arm, 1)
        assigned(state, constants, arm, 1)
        people += 1
        if record.assigned[arm] == record.places[arm]:
            batch = record.newest_size[arm]
            release(record, arm, batch, draw(rng, world, arm, batch))
            releases += 1
            released(state, constants, arm)
            verdict = over(state, constants)
            if verdict != UNDECIDED:
                check_arm(verdict, per_arm.size)
                break
    per_arm[:] = record.assigned
    return people, verdict, releases


def release_by_release(
    rng: np.random.Generator, world: Any, constants: Any, max_samples: int, per_arm: IntArray
) -> tuple[int, int, int]:
    """The same for policies that hold their answer: everyone who is assigned between two releases at once."""
    state = start(constants)
    record = state.record
    weights = np.zeros(per_arm.size)
    drawn = np.zeros(per_arm.size, np.int64)
    people = 0
    releases = 0
    verdict = UNDECIDED
    while people < max_samples:
        alone = recruit(state, constants, weights)
        if alone == SEVERAL:
            check_weights(weights)
        else:
            check_arm(alone, per_arm.size)
            weights[:] = 0.0
            weights[alone] = 1.0
        for arm in range(per_arm.size):
            if weights[arm] > 0.0 and record.assigned[arm] == record.places[arm]:
                open_batch(record, arm, checked_size(size(state, constants, arm)))
        full = -1
        while full < 0 and people < max_samples:
            step = split(rng, record, weights, max_samples - people, drawn)
            people += step
            for arm in range(per_arm.size):
                if drawn[arm] > 0:
                    assign(record, arm, drawn[arm])
                    assigned(state, constants, arm, drawn[arm])
                    if record.assigned[arm] == record.places[arm]:
                        full = arm
        if full >= 0:
            batch = record.newest_size[full]
            release(record, full, batch, draw(rng, world, full, batch))
            releases += 1
            released(state, constants, full)
            verdict = over(state, constants)
            if verdict != UNDECIDED:
                check_arm(verdict, per_arm.size)
                break
    per_arm[:] = record.assigned
    return people, verdict, releases


def stage_by_stage(
    rng: np.random.Generator, world: Any, constants: Any, max_samples: int, per_arm: IntArray
) -> tuple[int, int, int]:
    """One run of a staged policy. Outcomes are known once `world.outstanding` more people have been enrolled after the
    stage closed; enrolment goes on meanwhile. Once `max_samples` are enrolled the outcomes still due come in."""
    state = start(constants)
    stages = state.stages
    closed_at = np.zeros(PENDING, np.int64)
    sums = np.zeros((PENDING, per_arm.size))
    drawn = np.zeros(per_arm.size, np.int64)
    values = np.zeros(per_arm.size)
    people = 0
    releases = 0
    target = 0
    verdict = UNDECIDED
    while verdict == UNDECIDED:
        waiting = stages.progress[CLOSED] > stages.progress[RELEASED]
        oldest = oldest_slot(stages)
        due = waiting and people >= closed_at[oldest] + world.outstanding
        if stages.progress[OPENED] == stages.progress[CLOSED] and people < max_samples and not due:
            slot = next_slot(stages)
            open_stage(state, constants, slot)
            if not sound_opening(stages.openings, slot):
                raise ValueError(NO_SUCH_STAGE)
            round_weights(stages.openings, slot)
            enter_opening(stages)
            sums[slot, :] = 0.0
            target = stages.openings.planned[slot]
        newest = newest_slot(stages)
        is_open = stages.progress[OPENED] > stages.progress[CLOSED]
        step = 0
        if is_open and people < max_samples and not due:
            step = max_samples - people
            if may_close(stages):
                step = min(step, max(0, target - in_stage(stages, newest)))
            if waiting:
                step = min(step, max(0, closed_at[oldest] + world.outstanding - people))
            step = min(step, world.longest_step)
        if step > 0:
            toss_for(rng, stages.openings.weights, newest, step, drawn)
            for arm in range(per_arm.size):
                if drawn[arm] > 0:
                    enter_people(stages, arm, drawn[arm])
                    sums[newest, arm] += count(rng, world, arm, drawn[arm], people)
            people += step
        elif due or (waiting and not is_open):
            one_noise = stages.openings.difference[oldest] == 1
            values[:] = 0.0
            for arm in range(per_arm.size):
                if stages.openings.weights[oldest, arm] > 0.0:
                    if not one_noise:
                        values[arm] = sums[oldest, arm] + blur(rng, world)
                    elif arm == stages.openings.champion[oldest]:
                        values[0] += sums[oldest, arm]
                    else:
                        values[0] += blur(rng, world) - sums[oldest, arm]
            releases += 1
            settle(state, constants, oldest, values)
            enter_release(stages)
            verdict = over(state, constants)
            if is_open and verdict == UNDECIDED:
                target = max(1, extent(state, constants, in_stage(stages, newest)))
        elif is_open:
            enter_closing(stages)
            closed_at[newest] = people
        else:
            break
    if verdict != UNDECIDED:
        check_arm(verdict, per_arm.size)
    per_arm[:] = stages.assigned
    return people, verdict, releases


@rule
def check_arm(arm: int, arms: int) -> None:
    """End a run whose policy names an arm that is not there."""
    if arm == NOBODY:
        raise ValueError(DEADLOCK)
    if arm < 0 or arm >= arms:
        raise ValueError(NO_SUCH_ARM)


@rule
def check_weights(weights: FloatArray) -> None:
    """End a run whose policy names weights that are no probabilities."""
    total = 0.0
    for arm in range(weights.size):
        if not 0.0 <= weights[arm] <= 1.0:
            raise ValueError(NO_SUCH_WEIGHTS)
        total += weights[arm]
    if not abs(total - 1.0) < 1e-6:
        raise ValueError(NO_SUCH_WEIGHTS)


@rule
def checked_size(people: int) -> int:
    """A batch's size, if it can be."""
    if people < 1 or people > LARGEST_SIMULATED:
        raise ValueError(NO_SUCH_SIZE)
    return people


@rule
def toss(rng: np.random.Generator, weights: FloatArray) -> int:
    """One arm drawn with these weights, which sum to 1."""
    u = rng.random()
    last = 0
    for arm in range(weights.size):
        if weights[arm] > 0.0:
            last = arm
            u -= weights[arm]
            if u < 0.0:
                break
    return last


@rule
def toss_for(rng: np.random.Generator, weights: FloatArray, slot: int, people: int, drawn: IntArray) -> None:
    """How many of so many people each arm gets, each by a coin of their own with the stage's weights."""
    left = people
    mass = 1.0
    for arm in range(drawn.size):
        drawn[arm] = 0
        weight = weights[slot, arm]
        if weight > 0.0 and left > 0:
            drawn[arm] = left if weight >= mass else rng.binomial(left, weight / mass)
            left -= drawn[arm]
            mass -= weight


@rule
def split(rng: np.random.Generator, record: Record, weights: FloatArray, most: int, drawn: IntArray) -> int:
    """Toss for as many people as surely fit (at least one), all at once; `drawn` says how many each arm got.

    With n the smallest number of free places among recruiting arms, n people overfill no batch; which arm the last
    of them came to does not matter, since a batch is full only if all n came to it. So no order needs drawing.
    """
    n = most
    for arm in range(weights.size):
        drawn[arm] = 0
        if weights[arm] > 0.0:
            n = min(n, record.places[arm] - record.assigned[arm])
    left = n
    mass = 1.0
    last = -1
    for arm in range(weights.size):
        if weights[arm] > 0.0 and left > 0:
            share = min(weights[arm] / mass, 1.0)
            drawn[arm] = left if share == 1.0 else rng.binomial(left, share)
            left -= drawn[arm]
            mass -= weights[arm]
            last = arm
    if left > 0:
        drawn[last] += left  # the weights' rounding error
    return n
