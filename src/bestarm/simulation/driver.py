"""Drives a policy over simulated people, one run at a time.

Two loops, both plain functions that compile: `pull_by_pull` asks the policy who recruits for every person,
`release_by_release` only after each release, for policies whose answer holds until then. Nothing is drawn before a
batch closes, since nobody could see it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bestarm.policy.algorithm import NOBODY, SEVERAL, UNDECIDED
from bestarm.policy.record import FloatArray, IntArray, Record, assign, open_batch, release

DEADLOCK = "The policy recruits nobody although every outcome is in, so the run could never end."


def pull_by_pull(
    rng: np.random.Generator,
    world: Any,
    constants: Any,
    max_samples: int,
    per_arm: IntArray,
    start: Callable[..., Any],
    size: Callable[..., int],
    recruit: Callable[..., int],
    assigned: Callable[..., None],
    released: Callable[..., None],
    over: Callable[..., int],
    draw: Callable[..., float],
) -> tuple[int, int, int]:
    """One run, person by person: (people, recommended arm or UNDECIDED, releases). Fills people per arm."""
    state = start(constants)
    record = state.record
    weights = np.zeros(per_arm.size)
    people = 0
    releases = 0
    verdict = UNDECIDED
    while people < max_samples:
        arm = recruit(state, constants, weights)
        if arm == NOBODY:
            raise ValueError(DEADLOCK)
        if arm == SEVERAL:
            arm = toss(rng, weights)
        if record.assigned[arm] == record.places[arm]:
            open_batch(record, arm, size(state, constants, arm))
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
                break
    per_arm[:] = record.assigned
    return people, verdict, releases


def release_by_release(
    rng: np.random.Generator,
    world: Any,
    constants: Any,
    max_samples: int,
    per_arm: IntArray,
    start: Callable[..., Any],
    size: Callable[..., int],
    recruit: Callable[..., int],
    assigned: Callable[..., None],
    released: Callable[..., None],
    over: Callable[..., int],
    draw: Callable[..., float],
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
        if alone == NOBODY:
            raise ValueError(DEADLOCK)
        if alone != SEVERAL:
            weights[:] = 0.0
            weights[alone] = 1.0
        for arm in range(per_arm.size):
            if weights[arm] > 0.0 and record.assigned[arm] == record.places[arm]:
                open_batch(record, arm, size(state, constants, arm))
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
                break
    per_arm[:] = record.assigned
    return people, verdict, releases


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
