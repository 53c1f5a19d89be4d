# ruff: noqa: F821 (a loop finds the rules it drives under names that `driving` gives it)
"""The loops that go by the clock: people come in over time, outcomes are known after a follow-up, means may change.

Templates like those of `driver`. Releases happen when they are due, in the order in which batches or stages closed;
enrolment goes on meanwhile. Whoever comes at the very moment of a release comes after it, as in a live trial. Once the
largest number of people is enrolled, what is still due comes in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bestarm.policy.algorithm import NOBODY, SEVERAL, UNDECIDED
from bestarm.policy.record import FloatArray, IntArray, assign, open_batch, release
from bestarm.policy.stages import (
    CLOSED,
    OPENED,
    PENDING,
    RELEASED,
    enter_closing,
    enter_merging,
    enter_opening,
    enter_people,
    enter_release,
    in_stage,
    least_people,
    makes_groups,
    may_close,
    newest_slot,
    next_is_alike,
    next_slot,
    oldest_slot,
    round_weights,
    sound_opening,
)
from bestarm.rules import rule
from bestarm.simulation.clock import NEVER, come, day_of, due_after, is_before, next_after
from bestarm.simulation.driver import DEADLOCK, check_arm, check_weights, checked_size, split, toss
from bestarm.simulation.people import count_against

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
    merges: Callable[..., bool]
    count: Callable[..., float]
    blur: Callable[..., float]
    holds: bool

NO_SUCH_STAGE = (
    "The policy opened a stage that cannot be: it needs a planned size of at least 1, an arm as its champion, and "
    "weights that sum to 1 with at least two positive (exactly two for a difference)."
)

ARM, SIZE, SUM, DUE = range(4)
"""What is kept of a batch that waits for its outcomes."""


def batch_by_batch(
    rng: np.random.Generator, world: Any, constants: Any, max_samples: int, per_arm: IntArray
) -> tuple[int, int, int, int]:
    """One run of a batched policy. While nobody recruits, whoever comes is turned away."""
    state = start(constants)
    record = state.record
    weights = np.zeros(per_arm.size)
    drawn = np.zeros(per_arm.size, np.int64)
    sums = np.zeros(per_arm.size)
    waiting = np.zeros((64, 4))  # closed batches, in a ring: arm, size, sum, when due
    people = 0
    closed = 0
    releases = 0
    now = 0.0
    coming = next_after(rng, world.clock, 0.0)
    verdict = UNDECIDED
    while verdict == UNDECIDED:
        due = waiting[releases % waiting.shape[0], DUE] if closed > releases else NEVER
        if people < max_samples and is_before(coming, due):
            arm = recruit(state, constants, weights)
            if arm == NOBODY:
                if closed == releases:
                    raise ValueError(DEADLOCK)
                coming = next_after(rng, world.clock, due)
                continue
            if arm == SEVERAL:
                check_weights(weights)
                if not holds:
                    arm = toss(rng, weights)
            else:
                check_arm(arm, per_arm.size)
            # Mostly a single arm recruits; then nothing has to be asked of the others.
            first, last = (0, per_arm.size) if arm == SEVERAL else (arm, arm + 1)
            most = min(max_samples - people, world.longest_step) if holds else 1
            for one in range(first, last):
                if arm != SEVERAL or weights[one] > 0.0:
                    if record.assigned[one] == record.places[one]:
                        open_batch(record, one, checked_size(size(state, constants, one)))
                    most = min(most, record.places[one] - record.assigned[one])
            begin = coming
            step, now, coming = come(rng, world.clock, coming, due, most)
            if arm == SEVERAL:
                split(rng, record, weights, step, drawn)
            else:
                drawn[arm] = step
            people += step
            for one in range(first, last):
                if drawn[one] > 0:
                    assign(record, one, drawn[one])
                    assigned(state, constants, one, drawn[one])
                    sums[one] += count(rng, world, one, drawn[one], 0.5 * (begin + now))
                    if record.assigned[one] == record.places[one]:
                        if closed - releases == waiting.shape[0]:
                            waiting = longer_ring(waiting, releases)
                        place = closed % waiting.shape[0]
                        waiting[place, ARM] = one
                        waiting[place, SIZE] = record.newest_size[one]
                        waiting[place, SUM] = sums[one]
                        waiting[place, DUE] = due_after(world.clock, now)
                        sums[one] = 0.0
                        closed += 1
        elif closed > releases:
            place = releases % waiting.shape[0]
            arm = int(waiting[place, ARM])
            now = max(now, due)
            release(record, arm, int(waiting[place, SIZE]), waiting[place, SUM] + blur(rng, world))
            releases += 1
            note_release(world, releases, now)
            released(state, constants, arm)
            verdict = over(state, constants)
        else:
            break
    if verdict != UNDECIDED:
        check_arm(verdict, per_arm.size)
    per_arm[:] = record.assigned
    world.tally[0] = record.total
    world.tally[1] = record.counted
    world.diary[0] = day_of(world.clock, now)
    return people, verdict, releases, people - record.counted.sum()


def stage_by_stage(
    rng: np.random.Generator, world: Any, constants: Any, max_samples: int, per_arm: IntArray
) -> tuple[int, int, int, int]:
    """One run of a staged policy. A stage opens when somebody comes and none is open."""
    state = start(constants)
    stages = state.stages
    due_at = np.zeros(PENDING)
    sums = np.zeros((PENDING, per_arm.size))
    drawn = np.zeros(per_arm.size, np.int64)
    values = np.zeros(per_arm.size)
    people = 0
    used = 0
    releases = 0
    target = 0
    world.tally[:] = 0.0
    now = 0.0
    coming = next_after(rng, world.clock, 0.0)
    verdict = UNDECIDED
    while verdict == UNDECIDED:
        oldest = oldest_slot(stages)
        due = due_at[oldest] if stages.progress[CLOSED] > stages.progress[RELEASED] else NEVER
        if people < max_samples and is_before(coming, due):
            if stages.progress[OPENED] == stages.progress[CLOSED]:
                slot = next_slot(stages)
                open_stage(state, constants, slot)
                if not sound_opening(stages.openings, slot):
                    raise ValueError(NO_SUCH_STAGE)
                round_weights(stages.openings, slot)
                least = least_people(stages.openings, slot, world.group)
                stages.openings.planned[slot] = max(stages.openings.planned[slot], least)
                enter_opening(stages)
                count_against(world, stages.openings.champion[slot])
                sums[slot, :] = 0.0
                target = stages.openings.planned[slot]
            newest = newest_slot(stages)
            most = min(max_samples - people, world.longest_step)
            if may_close(stages):
                most = min(most, max(1, target - in_stage(stages, newest)))
            begin = coming
            step, now, coming = come(rng, world.clock, coming, due, most)
            toss_for(rng, stages.openings.weights, newest, step, drawn)
            people += step
            for arm in range(per_arm.size):
                if drawn[arm] > 0:
                    enter_people(stages, arm, drawn[arm])
                    sums[newest, arm] += count(rng, world, arm, drawn[arm], 0.5 * (begin + now))
            if people == max_samples or (may_close(stages) and in_stage(stages, newest) >= target):
                enter_closing(stages)
                due_at[newest] = due_after(world.clock, now)
        elif stages.progress[CLOSED] > stages.progress[RELEASED]:
            if next_is_alike(stages) and merges(state, constants):
                after = (oldest + 1) % PENDING
                sums[after, :] += sums[oldest, :]
                if after == newest_slot(stages):
                    target += in_stage(stages, oldest)
                enter_merging(stages)
                continue
            if not makes_groups(stages, oldest, world.group):
                break
            now = max(now, due)
            one_noise = stages.openings.difference[oldest] == 1
            values[:] = 0.0
            for arm in range(per_arm.size):
                if stages.openings.weights[oldest, arm] > 0.0:
                    if not one_noise:
                        values[arm] = sums[oldest, arm] + blur(rng, world)
                        world.tally[0, arm] += values[arm]
                        world.tally[1, arm] += stages.size[oldest, arm]
                    elif arm == stages.openings.champion[oldest]:
                        values[0] += sums[oldest, arm]
                    else:
                        values[0] += blur(rng, world) - sums[oldest, arm]
            releases += 1
            note_release(world, releases, now)
            used += in_stage(stages, oldest)
            settle(state, constants, oldest, values)
            enter_release(stages)
            verdict = over(state, constants)
            if verdict == UNDECIDED and stages.progress[OPENED] > stages.progress[CLOSED]:
                newest = newest_slot(stages)
                target = max(
                    extent(state, constants, in_stage(stages, newest)),
                    least_people(stages.openings, newest, world.group),
                )
                if may_close(stages) and in_stage(stages, newest) >= target:
                    enter_closing(stages)
                    due_at[newest] = due_after(world.clock, now)
        else:
            break
    if verdict != UNDECIDED:
        check_arm(verdict, per_arm.size)
    per_arm[:] = stages.assigned
    world.diary[0] = day_of(world.clock, now)
    return people, verdict, releases, people - used


@rule
def note_release(world: Any, number: int, now: float) -> None:
    """Note the date of a release in the world's diary, while there is room."""
    if number < world.diary.size:
        world.diary[number] = day_of(world.clock, now)


@rule(allocates=True)
def longer_ring(ring: FloatArray, oldest: int) -> FloatArray:
    """Twice the room, for a full ring whose oldest entry is that number; entries keep their numbers."""
    size = ring.shape[0]
    longer = np.zeros((2 * size, ring.shape[1]))
    for number in range(oldest, oldest + size):
        for column in range(ring.shape[1]):
            longer[number % (2 * size), column] = ring[number % size, column]
    return longer


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
