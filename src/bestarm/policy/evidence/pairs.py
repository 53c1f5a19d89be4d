"""Accounts for a stated smallest difference g: one for every ordered pair of a champion a and a rival b.

W_{b|a} is bet against "everybody would on average do better on b than on a by g or more". Accounts start with shares of
1 and get the rest as cash later, in all at most 1 for every rival b; wealth never moves between them. b is out under a
once its account has ever reached 1/delta, and **a is recommended when every other arm is out under a itself**. If b is
better than some arms by g or more for everybody, the sum of these arms' accounts against b is a supermartingale that
starts at 1 or less: with probability 1 - delta or more none of them reaches 1/delta, so none of these arms is ever
recommended. (docs/evidence-proof.md: zone)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.evidence.belief import Belief, new_belief, spread_between
from bestarm.policy.evidence.zone_tuning import ZoneTuning
from bestarm.policy.record import FloatArray, IntArray
from bestarm.policy.stages import Stages
from bestarm.release.laws import Law, noise_variance
from bestarm.rules import rule


class ZoneConstants(NamedTuple):
    """What the rules read."""

    arms: int
    law: Law
    threshold: float
    """log(1/delta)."""
    zone: float
    """g on the scale of what is counted: an account is bet against its rival being better by g or more."""
    aim: float
    """The lead of the champion that is bet on and planned for, unless it is clearly larger or smaller."""
    least: float
    """No smaller lead is bet on."""
    noise: float
    """Variance of a release's noise."""
    tuning: ZoneTuning
    against: bool
    """Missing outcomes count against the lead of a stage's champion, so nobody else is bet on in that stage."""


class Pairs(NamedTuple):
    """What is remembered of the releases so far."""

    wealth: FloatArray
    """log of share times W_{b|a}, champion a by rival b."""
    out: IntArray
    """1 once b is out under a, champion by rival."""
    cash: FloatArray
    """One number: what is still to be allotted, for every rival."""
    leader: IntArray
    """One number: the arm that the next stage is about."""
    belief: Belief


class PairScratch(NamedTuple):
    """Work space."""

    size: FloatArray
    gained: FloatArray
    share: FloatArray
    belief: Belief


class Zone(NamedTuple):
    """The parts of the state that the zone's rules work on."""

    stages: Stages
    pairs: Pairs
    scratch: PairScratch


def zone_constants(
    arms: int, law: Law, delta: float, difference: float, tuning: ZoneTuning | None = None, against: bool = False
) -> ZoneConstants:
    """For a law of releases, a risk and the smallest difference that matters."""
    chosen = tuning or ZoneTuning()
    zone = difference * law.slope
    line = math.log(1.0 / delta)
    return ZoneConstants(arms, law, line, zone, zone, chosen.least_gap * zone, noise_variance(law), chosen, against)


@rule(allocates=True)
def new_pairs(constants: ZoneConstants, staked: float) -> Pairs:
    """Before the first release: so much of the wealth in equal shares, the rest in cash."""
    arms = constants.arms
    return Pairs(
        np.full((arms, arms), math.log(staked / (arms - 1.0))),
        np.zeros((arms, arms), np.int64),
        np.full(1, 1.0 - staked),
        np.zeros(1, np.int64),
        new_belief(arms, constants.law, constants.tuning.spread * constants.zone),
    )


@rule(allocates=True)
def new_scratch(constants: ZoneConstants) -> PairScratch:
    """Work space for the zone's rules."""
    arms = constants.arms
    return PairScratch(np.zeros(arms), np.zeros((arms, arms)), np.zeros(arms), new_belief(arms, constants.law, 0.0))


@rule(inline=False)
def allot(pairs: Pairs, share: FloatArray) -> None:
    """Give out the cash, more to likelier champions: for every rival b in all what there is.

    An arm's odds to be the best are taken as the product of those against each other arm, three quarters of them; a
    quarter goes to all alike.
    """
    belief = pairs.belief
    arms = belief.mean.size
    total = 0.0
    for a in range(arms):
        share[a] = 1e-9
        likely = 1.0
        for b in range(arms):
            if b != a:
                z = (belief.mean[a] - belief.mean[b]) / spread_between(belief, a, b)
                likely *= 0.5 * math.erfc(-z * math.sqrt(0.5))
        share[a] += likely
        total += share[a]
    for a in range(arms):
        share[a] = 0.75 * share[a] / total + 0.25 / arms
    for b in range(arms):
        others = 0.0
        for a in range(arms):
            if a != b:
                others += share[a]
        for a in range(arms):
            if a != b:
                pairs.wealth[a, b] = math.log(math.exp(pairs.wealth[a, b]) + pairs.cash[0] * share[a] / others)
    pairs.cash[0] = 0.0


@rule(inline=False)
def strike_out(constants: ZoneConstants, pairs: Pairs) -> None:
    """Accounts that have reached the line stay there."""
    for a in range(constants.arms):
        for b in range(constants.arms):
            if a != b and pairs.wealth[a, b] >= constants.threshold:
                pairs.out[a, b] = 1


@rule(inline=False)
def choose_leader(constants: ZoneConstants, pairs: Pairs) -> None:
    """The highest estimate leads; a newcomer only if it is clearly ahead."""
    best = -math.inf
    leader = int(pairs.leader[0])
    for a in range(constants.arms):
        mean = pairs.belief.mean[a]
        if a == pairs.leader[0]:
            mean += constants.tuning.stick * constants.zone
        if mean > best:
            best = mean
            leader = a
    pairs.leader[0] = leader


@rule(inline=False)
def recommended(constants: ZoneConstants, pairs: Pairs) -> int:
    """The arm under which every other is out; of several the one with the highest estimate."""
    best = UNDECIDED
    for a in range(constants.arms):
        alone = True
        for b in range(constants.arms):
            if b != a and pairs.out[a, b] == 0:
                alone = False
        if alone and (best == UNDECIDED or pairs.belief.mean[a] > pairs.belief.mean[best]):
            best = a
    return best
