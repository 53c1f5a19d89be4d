"""Far out: plain stages and a plain bet, the part of coin evidence that the bound on the number of people rests on.

Plan and bets are tuned for trials of an ordinary length and are too intricate for a proof of how long they take. Once a
trial has `far` times the people of its first stage, its stages become plain: all arms that are in get the same weight,
every arm's sum is released, and sizes grow a little slower than the people there are. A small share of each arm's
wealth is then staked by a rule that can be followed on paper: the bet without a cap that grows fastest if the means are
what the sums so far say. The rest is staked as always. The expected number of people is bounded by that share alone.
(docs/evidence-proof.md: Theorem 5)
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bestarm.policy.evidence.bets import joint_on_sums, log_joint
from bestarm.policy.evidence.constants import CoinConstants, first_size
from bestarm.policy.evidence.memory import Memory, is_in, released_people
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import Stages, against_rival
from bestarm.release.joint import joint
from bestarm.release.laws import bet_cap
from bestarm.rules import rule

HALVINGS: Final = 50
"""Of the interval in which the log-odds of the hardest common mean lie."""
EDGE: Final = 1e-12
"""Estimates are kept so far from 0 and 1."""


@rule
def far_limit(constants: CoinConstants) -> float:
    """The people from which on a trial is far out."""
    return constants.tuning.far * constants.arms * first_size(constants)


@rule
def is_far(constants: CoinConstants, people: float) -> bool:
    """Whether a trial with so many people is far out."""
    return people >= far_limit(constants)


@rule
def far_size(constants: CoinConstants, people: float) -> float:
    """The people of the next stage: a share of those there are that falls to 0, so slowly that stages stay few."""
    tuning = constants.tuning
    return float(math.ceil(tuning.far_share * people * (far_limit(constants) / people) ** tuning.far_power))


@rule
def estimate(memory: Memory, arm: int) -> float:
    """An arm's mean as its sums say."""
    mean: float = memory.total[arm] / max(memory.counted[arm], 1.0)
    return min(max(mean, EDGE), 1.0 - EDGE)


class FarSlopes(NamedTuple):
    """Of a champion and a rival."""

    up: float
    down: float


@rule
def steepest(constants: CoinConstants) -> float:
    """The plain rule's largest slope."""
    return min(constants.tuning.plain_noise * bet_cap(constants.law), constants.tuning.plain_steepest)


@rule
def log_odds(m: float) -> float:
    """log m/(1 - m)."""
    return math.log(m) - math.log1p(-m)


@rule
def pull(slope: float, m: float) -> float:
    """(e^l - 1)/(1 - m + m e^l), the derivative of log(1 - m + m e^l) by m."""
    grown = math.expm1(slope)
    return grown / (1.0 + m * grown)


@rule(inline=False)
def fastest(high: float, low: float, champion: float, rival: float, most: float) -> FarSlopes:
    """The slopes up to `most` that grow fastest with means high > low and these two weights.

    They belong to the common mean m that is hardest to tell from the two, inf over m of champion d(high, m) + rival
    d(low, m), whose derivative rises from `low` to `high` (Lemma 3).
    """
    bottom = log_odds(low)
    top = log_odds(high)
    slopes = FarSlopes(0.0, 0.0)
    for _ in range(HALVINGS):
        odds = 0.5 * (bottom + top)
        m = 1.0 / (1.0 + math.exp(-odds))
        slopes = FarSlopes(min(log_odds(high) - odds, most), min(odds - log_odds(low), most))
        if champion * pull(slopes.up, m) + rival * pull(-slopes.down, m) > 0.0:
            bottom = odds
        else:
            top = odds
    return slopes


@rule(inline=False)
def log_plain(
    constants: CoinConstants, memory: Memory, stages: Stages, slot: int, a: int, b: int, values: FloatArray
) -> float:
    """The logarithm of the plain bet of champion a against b. Its slopes look at the opening and at earlier sums."""
    weights = stages.openings.weights
    champion = float(weights[slot, a])
    rival = float(weights[slot, b])
    slopes = fastest(estimate(memory, a), estimate(memory, b), champion, rival, steepest(constants))
    if not (slopes.up > 0.0 and slopes.down > 0.0):
        return 0.0
    bet = joint_on_sums(joint(constants.law, slopes.up, slopes.down, math.inf), champion / rival, 0.0)
    sizes = (float(stages.size[slot, a]), float(stages.size[slot, b]))
    return log_joint(bet, 0.5, sizes, (values[a], against_rival(stages, slot, b, float(values[b]))))


@rule
def plain_champion(constants: CoinConstants, memory: Memory, stages: Stages, slot: int) -> int:
    """The arm of the highest estimate among those in the stage that are in; the stage's own where missing outcomes
    count against the lead of that one."""
    if constants.against:
        return int(stages.openings.champion[slot])
    best = -1
    for arm in range(constants.arms):
        better = best < 0 or estimate(memory, arm) > estimate(memory, best)
        if better and is_in(memory, arm) and stages.openings.weights[slot, arm] > 0.0:
            best = arm
    return best


@rule(inline=False)
def with_plain(
    constants: CoinConstants, memory: Memory, stages: Stages, slot: int, b: int, values: FloatArray, others: float
) -> float:
    """The logarithm of what all bets against b have made of a stake of 1, with that of all `others` given.

    A logarithm throughout: what a stage far out can win is beyond any number that can be written down.
    """
    share = constants.tuning.plain
    if stages.openings.difference[slot] == 1 or not is_far(constants, released_people(memory)):
        return others
    a = plain_champion(constants, memory, stages, slot)
    won = 0.0
    if a >= 0 and a != b and estimate(memory, a) > estimate(memory, b):
        won = log_plain(constants, memory, stages, slot, a, b, values)
    first = math.log1p(-share) + others
    second = math.log(share) + won
    larger = max(first, second)
    return larger + math.log1p(math.exp(min(first, second) - larger))
