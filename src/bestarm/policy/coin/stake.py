"""Which bet: the search for slopes and curves that should win most, before anything of the stage is known.

A prospect is a stage as a bet on one pair sees it beforehand: how many people on either arm are expected, where their
outcomes should lie and what is missing to the line. Nothing in it can come from the stage's coins or outcomes.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bestarm.policy.coin.bets import JointBet, joint_on_difference, joint_on_sums, slope_of_rival
from bestarm.policy.coin.constants import CoinConstants
from bestarm.release.joint import joint
from bestarm.release.laws import PURE
from bestarm.rules import rule

BALANCING: Final = 3
"""Steps to a rival's steepness that goes with the champion's."""


class Prospect(NamedTuple):
    """What a bet on a champion and a rival is chosen for."""

    champions: float
    rivals: float
    """People expected on either arm."""
    ratio: float
    """Of the two arms' weights."""
    pivot: float
    """The mean of outcomes under the hypothesis."""
    sampling: float
    """Variance of an outcome."""
    difference: bool
    """One release of the difference, instead of two sums."""
    need: float
    """Nats to the line."""


class Candidate(NamedTuple):
    """A bet and what it should bring."""

    bet: JointBet
    steep: float
    cap: float
    worth: float


@rule(inline=False)
def bet_of(constants: CoinConstants, prospect: Prospect, steep: float, cap: float) -> JointBet:
    """The bet of this steepness for the champion's sum and this cap; the rival's steepness follows from the pivot."""
    if prospect.difference:
        return joint_on_difference(joint(constants.law, steep, 0.0, cap), 0.0)
    pays = joint(constants.law, steep, steep * prospect.ratio, cap)
    for _ in range(BALANCING):
        slope = slope_of_rival(pays.tangent * steep, prospect.ratio, prospect.pivot, 0.0)
        if slope == math.inf or not pays.tangent > 0.0:
            break
        pays = joint(constants.law, steep, slope / pays.tangent, cap)
        if cap == math.inf:
            break
    return joint_on_sums(pays, prospect.ratio, 0.0)


@rule
def fixed_part(bet: JointBet, prospect: Prospect) -> float:
    """What the bet's logarithm has beside the pay-off, if sizes come as expected."""
    people = prospect.champions * bet.factors.champion + prospect.rivals * bet.factors.rival
    at = bet.up * prospect.champions - bet.down * prospect.rivals
    return at * prospect.pivot + people - bet.pays.cost


@rule(inline=False)
def worth(constants: CoinConstants, prospect: Prospect, bet: JointBet, gap: float) -> float:
    """What the bet should bring if the difference is `gap`, in nats up to the line, and more for reaching it.

    The law of what is paid for, sampling and noise together, is represented by a few equally likely points between
    those of a normal and of a Laplace law.
    """
    tuning = constants.tuning
    pays = bet.pays
    if not pays.cost < 1e300:
        return -1e300
    base = fixed_part(bet, prospect)
    above = prospect.ratio * gap / (1.0 + prospect.ratio)
    below = gap / (1.0 + prospect.ratio)
    down = pays.up if prospect.difference else pays.down
    middle = pays.up * prospect.champions * above + down * prospect.rivals * below
    chance = prospect.sampling * (pays.up * pays.up * prospect.champions + down * down * prospect.rivals)
    noise = constants.noise * (pays.up * pays.up + pays.down * pays.down)
    spread = math.sqrt(chance + noise)
    share = noise / (chance + noise)
    finish = tuning.finish_chance + (tuning.finish_noise - tuning.finish_chance) * share
    if not prospect.difference:
        share *= tuning.two_noises
    floor = math.log(tuning.cash)
    total = 0.0
    for i in range(constants.normal.size):
        off = constants.normal[i] + share * (constants.laplace[i] - constants.normal[i])
        y = middle + spread * off
        if pays.cap < math.inf:
            short = abs(pays.cap - y)
            y = min(y, pays.cap) - 0.5 * pays.soft * pays.soft / (short + math.hypot(short, pays.soft) + 1e-300)
        missing = max(prospect.need - max(base + y, floor), 0.0)
        total -= missing
        if missing < 8.0 * tuning.close:
            total += finish * math.exp(-missing / tuning.close)
    return prospect.need + total / constants.normal.size


@rule
def candidate(constants: CoinConstants, prospect: Prospect, gap: float, steep: float, cap: float) -> Candidate:
    """A bet of this steepness and cap."""
    bet = bet_of(constants, prospect, steep, cap)
    return Candidate(bet, steep, cap, worth(constants, prospect, bet, gap))


@rule(inline=False)
def choose_bet(constants: CoinConstants, prospect: Prospect, gap: float, rounds: int) -> Candidate:
    """The bet that should bring most if the difference is `gap`.

    The search starts from what is best for a known shift of a release: where noise dominates, about the likelihood
    ratio of two Laplace laws, of twice their steepness and a cap at the shift; where it does not, of two normal laws.
    """
    tuning = constants.tuning
    shift = prospect.champions * prospect.ratio * gap / (1.0 + prospect.ratio)
    chance = prospect.champions * prospect.sampling
    if prospect.difference:
        shift += prospect.rivals * gap / (1.0 + prospect.ratio)
        chance += prospect.rivals * prospect.sampling
    scale = math.sqrt(0.5 * constants.noise)
    capped = constants.law.kind == PURE
    steep = shift / (chance + 2.0 * scale * scale)
    cap = math.inf
    if capped:
        releases = 1.0 if prospect.difference else 2.0
        steep = min(shift / (chance + (1.0 if prospect.difference else 1.4) * scale * scale), tuning.steepest / scale)
        cap = max(steep * math.hypot(releases * shift, tuning.kink * releases * scale), 1e-3)
    best = candidate(constants, prospect, gap, steep, cap)
    if capped:
        for _ in range(2):
            best = better(best, candidate(constants, prospect, gap, best.steep, cap_at_line(prospect, best)))
    wide = 0.35
    for _ in range(rounds):
        before = best.worth
        best = better(best, candidate(constants, prospect, gap, best.steep * (1.0 + wide), best.cap))
        best = better(best, candidate(constants, prospect, gap, best.steep / (1.0 + wide), best.cap))
        if capped:
            best = better(best, candidate(constants, prospect, gap, best.steep, best.cap * (1.0 + wide)))
            best = better(best, candidate(constants, prospect, gap, best.steep, best.cap / (1.0 + wide)))
            best = better(best, candidate(constants, prospect, gap, best.steep, cap_at_line(prospect, best)))
        if best.worth <= before + 1e-3:
            wide *= 0.4
    return best


@rule
def better(one: Candidate, other: Candidate) -> Candidate:
    """The one of greater worth."""
    return other if other.worth > one.worth else one


@rule
def cap_at_line(prospect: Prospect, held: Candidate) -> float:
    """The cap with which everything won is just enough, if the cost of the curve stayed the same."""
    over = held.cap + fixed_part(held.bet, prospect) - prospect.need
    return max(held.cap - over, 1e-3)
