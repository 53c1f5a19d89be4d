# ruff: noqa: F821 (a loop finds the rules it drives under names that `driving` gives it)
"""Drives a policy over simulated people, one run at a time.

Loops are templates: plain functions that find the rules of the algorithm they drive, and the world they draw from,
under the names declared below. `driving` makes a copy of a loop with an algorithm's own rules under these names, to be
run as it stands or compiled. Where outcomes are known at once, `pull_by_pull` asks a batched policy who recruits for
every person, `release_by_release` only after each release, for policies whose answer holds until then. Two more loops
go by the clock (`by_the_clock`): for batched policies where outcomes come late or means change, and for staged ones.
Nothing is drawn before a batch or a stage closes, unless somebody could see it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bestarm.policy.algorithm import NOBODY, SEVERAL, UNDECIDED, Algorithm, Batched
from bestarm.policy.record import LARGEST_SIMULATED, FloatArray, IntArray, Record, assign, open_batch, release
from bestarm.rules import rule

Run: TypeAlias = Callable[[np.random.Generator, Any, Any, int, IntArray], tuple[int, int, int, int]]
"""One run, from (rng, world, constants, the most people, an array for the people of each arm): how many people it took,
the recommended arm or UNDECIDED, how many releases, and how many people's outcomes were in none of them."""

if TYPE_CHECKING:
    start: Callable[..., Any]
    over: Callable[..., int]
    size: Callable[..., int]
    recruit: Callable[..., int]
    assigned: Callable[..., None]
    released: Callable[..., None]
    draw: Callable[..., float]
    leads: Callable[..., int]
    challenges: Callable[..., int]

DEADLOCK = "The policy recruits nobody although every outcome is in, so the run could never end."
NO_SUCH_ARM = "The policy named an arm that does not exist; arms are numbered from 0."
NO_SUCH_WEIGHTS = "The policy's weights are not probabilities: each has to lie between 0 and 1, and all must sum to 1."
NO_SUCH_SIZE = "The policy asked for a batch of fewer than 1 or more than 2^60 people."


def driving(algorithm: Algorithm, world: dict[str, Callable[..., Any]], timed: bool = False) -> Run:
    """The loop for this algorithm; `timed` runs go by the clock, as those of staged algorithms always do.

    `world` draws: `draw` a release for batches whose outcomes are known at once; `count` and `blur`, a sum of outcomes
    and the noise of one release, for everything else.
    """
    from bestarm.simulation import by_the_clock

    name = f"run_{algorithm.name.replace('-', '_')}"
    own: dict[str, Any] = {}
    loop: Callable[..., Any] = by_the_clock.stage_by_stage
    if isinstance(algorithm, Batched):
        loop = release_by_release if algorithm.holds else pull_by_pull if algorithm.leads is None else run_by_run
        if timed:
            loop, own, name = by_the_clock.batch_by_batch, {"holds": algorithm.holds}, f"{name}_timed"
    assert isinstance(loop, FunctionType)
    run = FunctionType(loop.__code__, {**loop.__globals__, **algorithm.rules, **world, **own}, name)
    run.__qualname__ = name
    return run


def pull_by_pull(
    rng: np.random.Generator, world: Any, constants: Any, max_samples: int, per_arm: IntArray
) -> tuple[int, int, int, int]:
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
    return people, verdict, releases, people - record.counted.sum()


def run_by_run(
    rng: np.random.Generator, world: Any, constants: Any, max_samples: int, per_arm: IntArray
) -> tuple[int, int, int, int]:
    """The same for policies whose every step is a coin between a leader, who stays until a release, and a challenger.

    How many people come to the leader before one who does not is geometric, and has no memory: a run that a full batch
    cuts short is forgotten.
    """
    state = start(constants)
    record = state.record
    weights = np.zeros(per_arm.size)
    people = 0
    releases = 0
    verdict = UNDECIDED
    turned = False
    while people < max_samples:
        arm = leads(state, constants)
        step = 1
        if arm < 0:
            arm = recruit(state, constants, weights)
            check_arm(arm, per_arm.size)
        elif turned:
            arm = challenges(state, constants)
            turned = False
        else:
            step = min(rng.geometric(1.0 - constants.beta) - 1, max_samples - people)
            turned = True
            if step == 0:
                continue
        if record.assigned[arm] == record.places[arm]:
            open_batch(record, arm, checked_size(size(state, constants, arm)))
        step = min(step, record.places[arm] - record.assigned[arm])
        assign(record, arm, step)
        assigned(state, constants, arm, step)
        people += step
        if record.assigned[arm] == record.places[arm]:
            turned = False
            batch = record.newest_size[arm]
            release(record, arm, batch, draw(rng, world, arm, batch))
            releases += 1
            released(state, constants, arm)
            verdict = over(state, constants)
            if verdict != UNDECIDED:
                check_arm(verdict, per_arm.size)
                break
    per_arm[:] = record.assigned
    return people, verdict, releases, people - record.counted.sum()


def release_by_release(
    rng: np.random.Generator, world: Any, constants: Any, max_samples: int, per_arm: IntArray
) -> tuple[int, int, int, int]:
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
    return people, verdict, releases, people - record.counted.sum()


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
