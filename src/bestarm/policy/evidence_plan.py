"""How large the next batches are: the fewest people after which the evidence should suffice.

Sizes follow from the public record when a stage begins. They decide how many people a trial needs, never whether its
verdict can be trusted. All arms that take part in a stage recruit side by side; the next stage begins when every batch
of this one is released.

Small batches are poor value: the noise of a release costs about a nat, whatever the batch. So batches grow as fast as
`GROWTH` allows while the difference is not clear, and then aim at the line.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from bestarm.policy.evidence_belief import TYPICAL_VARIANCE
from bestarm.policy.evidence_bets import information
from bestarm.policy.evidence_cells import MOST_CELLS, Cells
from bestarm.policy.record import FloatArray, IntArray
from bestarm.release.laws import PURE, Law, noise_variance
from bestarm.rules import rule

FIRST_BATCH: Final = 8.0
"""People in an arm's first batch when there is no noise."""
FIRST_BATCH_NOISES: Final = 8.5
"""People in an arm's first batch for each standard deviation of the noise."""
GROWTH: Final = 3.0
"""An arm's total grows by at most this factor in one stage."""
LEAST_GROWTH: Final = 0.05
"""A new batch is at least this share of what its arm has."""
LEAST_SHARE: Final = 0.15
"""A rival that has a smaller share of the leader's total recruits alone: a best arm that was unlucky, and is harder to
strike out than foreseen, must not starve while others fight it out at ever larger sizes."""
MARGIN: Final = 0.5
"""Nats beyond the line that a stage aims at."""
OPTIMISM: Final = 0.25
"""Standard deviations by which the difference of two arms is taken larger than estimated, for either arm."""
FINER: Final = 1.2
"""Ratio of the leader's batch sizes that are tried out."""
LARGEST: Final = 2.0**50
"""No batch is larger."""


class Plan(NamedTuple):
    """The stage in progress, and scratch to plan the next."""

    size: IntArray
    """People of each arm's batch in this stage; 0 for arms that do not take part."""
    due: IntArray
    """Releases that an arm has made once its batch of this stage is in."""
    up: FloatArray
    """Nats per outcome of the leader against each cell of a rival."""
    down: FloatArray
    """Nats per outcome of the rival itself."""


@rule(allocates=True)
def new_plan(arms: int, first: int) -> Plan:
    """The first stage: the same batch for every arm."""
    cells = (arms, MOST_CELLS)
    return Plan(np.full(arms, first), np.ones(arms, np.int64), np.zeros(cells), np.zeros(cells))


@rule(inline=False)
def first_batch(law: Law) -> int:
    """Size of every arm's first batch."""
    size = max(FIRST_BATCH, FIRST_BATCH_NOISES * math.sqrt(noise_variance(law))) / (law.slope * law.slope)
    return math.ceil(min(size, LARGEST))


@rule(inline=False)
def expected_evidence(law: Law, tilted: bool, n: float, rate: float) -> float:
    """Nats that a batch of n brings on average when each outcome is worth `rate` before noise.

    Where noise dominates, a likelihood ratio of shifted Laplace laws loses 1 - e^-x of x nats, a tilted one somewhat
    more; Gaussian noise lowers the rate itself.
    """
    x = n * rate
    noise = noise_variance(law)
    if noise == 0.0 or x <= 0.0:
        return x
    dominance = noise / (noise + n * TYPICAL_VARIANCE)
    if law.kind != PURE:
        return x * (1.0 - dominance)
    if not tilted:
        return x + dominance * math.expm1(-x)
    root = math.sqrt(1.0 + x * x) - 1.0
    under_noise = root + math.log(2.0 * root / (x * x)) if x > 1e-4 else 0.25 * x * x
    return (1.0 - dominance) * x + dominance * under_noise


@rule(inline=False)
def batch_for(law: Law, tilted: bool, nats: float, rate: float, least: float) -> float:
    """The smallest batch, `least` or more, that brings so many nats on average; beyond LARGEST if none does."""
    low = least
    high = max(2.0 * least, 1.0)
    while expected_evidence(law, tilted, high, rate) < nats:
        low = high
        high *= 2.0
        if high > LARGEST:
            return high
    for _ in range(12):
        middle = 0.5 * (low + high)
        if expected_evidence(law, tilted, middle, rate) < nats:
            low = middle
        else:
            high = middle
    return high


@rule(inline=False)
def rate_cells(
    plan: Plan, cells: Cells, law: Law, rival: int, of_leader: float, of_rival: float, indifference: float
) -> None:
    """What an outcome of either arm is worth against each cell of the rival, if these are their means."""
    for i in range(cells.left[rival]):
        plan.up[rival, i] = information(law, of_leader, cells.high[rival, i] - indifference)
        plan.down[rival, i] = information(law, 1.0 - of_rival, 1.0 - cells.low[rival, i])


@rule(inline=False)
def rival_batch(
    plan: Plan, cells: Cells, law: Law, tilted: bool, rival: int, leaders: float, enough: float, least: float
) -> float:
    """The rival's smallest batch with which, next to the leader's, every cell should get enough; or infinity."""
    size = 0.0
    for i in range(cells.left[rival]):
        missing = enough - cells.wealth[rival, i] - expected_evidence(law, tilted, leaders, plan.up[rival, i])
        if missing > 0.0:
            rate = plan.down[rival, i]
            if rate <= 0.0:
                return math.inf
            if size == 0.0 or expected_evidence(law, tilted, size, rate) < missing:
                size = batch_for(law, tilted, missing, rate, max(size, least))
    return size


@rule(inline=False)
def plan_stage(
    plan: Plan,
    cells: Cells,
    law: Law,
    tilted: bool,
    threshold: float,
    indifference: float,
    leader: int,
    mean: FloatArray,
    spread: FloatArray,
    counted: IntArray,
) -> None:
    """Choose the next stage: of several batches for the leader the one that should need the fewest people in all."""
    arms = mean.size
    for b in range(arms):
        if b != leader and cells.left[b] > 0:
            of_leader = min(mean[leader] + OPTIMISM * spread[leader], 1.0 - 1e-9)
            of_rival = max(mean[b] - OPTIMISM * spread[b], 1e-9)
            rate_cells(plan, cells, law, b, of_leader, of_rival, indifference)
    enough = threshold + MARGIN
    catching_up = anybody_starves(cells, leader, counted)
    leaders = 0.0 if catching_up else cheapest_for_leader(plan, cells, law, tilted, enough, leader, counted)
    plan_batch(plan, leader, leaders)
    anybody = leaders > 0.0
    for b in range(arms):
        if b != leader:
            size = 0.0
            if cells.left[b] > 0 and starves(b, leader, counted) == catching_up:
                size = rival_batch(plan, cells, law, tilted, b, leaders, enough, LEAST_GROWTH * counted[b])
                size = min(size, (GROWTH - 1.0) * counted[b])
            plan_batch(plan, b, size)
            anybody = anybody or size > 0.0
    if not anybody:
        plan_batch(plan, leader, LEAST_GROWTH * counted[leader])


@rule(inline=False)
def starves(rival: int, leader: int, counted: IntArray) -> bool:
    """Whether a rival has so few outcomes that it has to catch up first."""
    return bool(counted[rival] < LEAST_SHARE * counted[leader])


@rule(inline=False)
def anybody_starves(cells: Cells, leader: int, counted: IntArray) -> bool:
    """Whether some rival that is still in has to catch up."""
    for b in range(counted.size):  # noqa: SIM110 (compiled)
        if b != leader and cells.left[b] > 0 and starves(b, leader, counted):
            return True
    return False


@rule(inline=False)
def cheapest_for_leader(
    plan: Plan, cells: Cells, law: Law, tilted: bool, enough: float, leader: int, counted: IntArray
) -> float:
    """The leader's batch with which all arms together should need the fewest people."""
    most = (GROWTH - 1.0) * counted[leader]
    best = most
    cheapest = math.inf
    leaders = 0.0
    while leaders <= most:
        cost = leaders
        for b in range(counted.size):
            if b != leader and cells.left[b] > 0:
                size = rival_batch(plan, cells, law, tilted, b, leaders, enough, LEAST_GROWTH * counted[b])
                if size <= (GROWTH - 1.0) * counted[b]:
                    cost += size
                else:
                    cost += 1e18 * (1.0 + counted[leader] / (leaders + 1.0))
        if cost < cheapest:
            cheapest = cost
            best = leaders
        leaders = max(FINER * leaders, LEAST_GROWTH * counted[leader])
    return float(best)


@rule(inline=False)
def plan_batch(plan: Plan, arm: int, size: float) -> None:
    """Enter an arm's batch of the next stage."""
    plan.size[arm] = math.ceil(min(size, LARGEST))
