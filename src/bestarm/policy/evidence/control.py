"""Coin evidence against a control arm, as a staged policy: is any arm better than control, and which?

Two lines bound what matters: 0 and the stated difference g, which is positive for "better than control" and negative
for "not worse than control" (non-inferiority). For every other arm a there are two accounts, each a pair of `pairs`:

* W_{0|a}, of champion a against control, bet against "a is ahead of control by at most the lower line". Their shares
  over the arms sum to at most 1. Once pi_a W_{0|a} has reached 1/delta, a is recommended.
* W_{a|0}, of champion control against a, bet against "a is ahead of control by at least the upper line". Once it has
  reached 1/delta_none, a is given up. No shares: "none" needs every arm given up, a good one among them.

"None" is answered as the control arm's own index: control stays. (docs/evidence-proof.md: control)
"""

from __future__ import annotations

import math
from typing import NamedTuple

from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.evidence.belief import learn_difference, learn_sum, spread_between
from bestarm.policy.evidence.pairs import Pairs, Zone, ZoneConstants, zone_constants
from bestarm.policy.evidence.zone import log_gain
from bestarm.policy.evidence.zone_tuning import ZoneTuning
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import valid_people
from bestarm.release.laws import Law
from bestarm.rules import rule


class ControlConstants(NamedTuple):
    """What the rules read."""

    arm: int
    """The control arm; -1 if there is none."""
    difference: float
    """The distance of the two lines, on the scale of what is counted."""
    middle: float
    """Halfway between them: an arm that is ahead by more is likelier to be found better than to be given up."""
    better: ZoneConstants
    """For accounts of an arm against control."""
    none: ZoneConstants
    """For accounts of control against an arm."""
    first: ZoneConstants
    """The same distance seen from halfway, for the size of the first stage."""


def control_constants(
    arms: int, law: Law, risks: tuple[float, float], difference: float, control: int, against: bool = False
) -> ControlConstants:
    """For a law of releases, the risks of a wrong "better" and of a wrong "none", and a difference of either sign."""
    tuning = ZoneTuning()
    distance = abs(difference) * law.slope
    above = max(difference, 0.0) * law.slope
    below = distance - above
    better, none = (zone_constants(arms, law, risk, 0.0, tuning, against) for risk in risks)
    # Champion's lead and zone make up the distance: at the upper line for an arm, at the lower one for control.
    return ControlConstants(
        control,
        distance,
        0.5 * difference * law.slope,
        better._replace(zone=below, aim=above, least=tuning.least_gap * distance - below),
        none._replace(zone=above, aim=below, least=tuning.least_gap * distance - above),
        zone_constants(arms, law, min(risks), 0.5 * abs(difference), tuning, against),
    )


@rule
def open_accounts(constants: ControlConstants, pairs: Pairs, staked: float) -> None:
    """Before the first release: so much of the wealth against control in equal shares, the rest in cash; control bets
    against each arm with a whole account."""
    arms = constants.better.arms
    for a in range(arms):
        pairs.wealth[a, constants.arm] = math.log(staked / (arms - 1.0))
        pairs.wealth[constants.arm, a] = 0.0
    pairs.cash[0] = 1.0 - staked
    pairs.leader[0] = 1 if constants.arm == 0 else 0


@rule(inline=False)
def allot_against_control(constants: ControlConstants, pairs: Pairs, share: FloatArray) -> None:
    """Give out the cash, more to arms that are likelier to be the best of those tried against control.

    An arm's odds are taken as the product of those against each other arm, three quarters of them; a quarter goes to
    all alike.
    """
    belief = pairs.belief
    arms = constants.better.arms
    total = 0.0
    for a in range(arms):
        share[a] = 0.0
        if a != constants.arm:
            share[a] = 1.0
            for b in range(arms):
                if b != a and b != constants.arm:
                    z = (belief.mean[a] - belief.mean[b]) / spread_between(belief, a, b)
                    share[a] *= 0.5 * math.erfc(-z * math.sqrt(0.5))
            share[a] += 1e-9
            total += share[a]
    for a in range(arms):
        if a != constants.arm:
            part = 0.75 * share[a] / total + 0.25 / (arms - 1.0)
            pairs.wealth[a, constants.arm] = math.log(math.exp(pairs.wealth[a, constants.arm]) + pairs.cash[0] * part)
    pairs.cash[0] = 0.0


@rule
def may_bet(zone: Zone, constants: ControlConstants, slot: int, a: int, b: int) -> bool:
    """Whether champion a bets on this stage against b: both in it, the account not yet at its line, and, where missing
    outcomes count against the finding, a the champion that they are counted against."""
    weights = zone.stages.openings.weights
    if weights[slot, a] == 0.0 or weights[slot, b] == 0.0 or zone.pairs.out[a, b] == 1:
        return False
    return not constants.better.against or a == zone.stages.openings.champion[slot]


@rule(inline=False)
def settle_control(zone: Zone, constants: ControlConstants, slot: int, values: FloatArray) -> None:
    """Settle the bets of a release, then learn from it."""
    control = constants.arm
    arms = constants.better.arms
    pairs = zone.pairs
    gained = zone.scratch.gained
    for a in range(arms):
        gained[a, control] = 0.0
        gained[control, a] = 0.0
        if a != control:
            if may_bet(zone, constants, slot, a, control):
                gained[a, control] = log_gain(zone, constants.better, slot, a, control, values)
            if may_bet(zone, constants, slot, control, a):
                gained[control, a] = log_gain(zone, constants.none, slot, control, a, values)
    for a in range(arms):
        if a != control:
            pairs.wealth[a, control] += gained[a, control]
            pairs.wealth[control, a] += gained[control, a]
    learn(zone, constants.better, slot, values)
    if pairs.cash[0] > 0.0:
        allot_against_control(constants, pairs, zone.scratch.share)
    for a in range(arms):
        if a != control:
            if pairs.wealth[a, control] >= constants.better.threshold:
                pairs.out[a, control] = 1
            if pairs.wealth[control, a] >= constants.none.threshold:
                pairs.out[control, a] = 1
    choose_candidate(constants, pairs)


@rule
def learn(zone: Zone, constants: ZoneConstants, slot: int, values: FloatArray) -> None:
    """What a release says of the arms' means."""
    stages = zone.stages
    champion = int(stages.openings.champion[slot])
    for arm in range(constants.arms):
        if stages.openings.weights[slot, arm] > 0.0:
            size = valid_people(stages, slot, arm)
            if stages.openings.difference[slot] == 0:
                learn_sum(zone.pairs.belief, constants.law, arm, size, float(values[arm]))
            elif arm != champion:
                sizes = (valid_people(stages, slot, champion), size)
                learn_difference(zone.pairs.belief, constants.law, champion, arm, sizes, float(values[0]))


@rule
def choose_candidate(constants: ControlConstants, pairs: Pairs) -> None:
    """The arm most likely to be found better than control: the highest estimate of those not given up, a newcomer only
    if it is clearly ahead."""
    best = -math.inf
    candidate = int(pairs.leader[0])
    for a in range(constants.better.arms):
        if a != constants.arm and pairs.out[constants.arm, a] == 0:
            mean = pairs.belief.mean[a]
            if a == pairs.leader[0]:
                mean += constants.better.tuning.stick * constants.difference
            if mean > best:
                best = mean
                candidate = a
    pairs.leader[0] = candidate


@rule(inline=False)
def found(constants: ControlConstants, pairs: Pairs) -> int:
    """An arm that is better than control, of several the one with the highest estimate; control itself once every arm
    has been given up."""
    best = UNDECIDED
    none = True
    for a in range(constants.better.arms):
        if a != constants.arm:
            if pairs.out[a, constants.arm] == 1 and (
                best == UNDECIDED or pairs.belief.mean[a] > pairs.belief.mean[best]
            ):
                best = a
            if pairs.out[constants.arm, a] == 0:
                none = False
    if best == UNDECIDED and none:
        return constants.arm
    return best
