"""Which bet: the search for slopes and curves that should win most, before anything of the stage is known.

A prospect is a stage as a bet on one pair sees it beforehand: how many people on either arm are expected, where their
outcomes should lie and what is missing to the line. Nothing in it can come from the stage's coins or outcomes.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from bestarm.policy.evidence.bets import JointBet, joint_on_difference, joint_on_sums, slope_of_rival
from bestarm.policy.evidence.constants import CoinConstants
from bestarm.policy.evidence.memory import Memory, lead, spread_between
from bestarm.policy.record import FloatArray
from bestarm.release.joint import Joint, joint, joint_of_slopes
from bestarm.release.laws import PURE, bet_cap
from bestarm.rules import rule

BALANCING: Final = 3
"""Steps to a rival's steepness that goes with the champion's."""
LEAST_CAP: Final = 1e-3
"""Caps are at least this high, in nats."""
WIDE: Final = 0.35
NARROWER: Final = 0.4
BELOW_NOISE: Final = 0.9
"""Share of the largest slope for which noise has a mean that a search starts from at most."""
STEEPEST_PLAIN: Final = 3.0
"""The slope it starts from at most where noise sets no limit."""
ENOUGH: Final = 1e-3
"""Relative steps of the search, how much smaller they become when they gain less nats than this."""


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
    cash: float
    """Share of the wealth that is not staked."""
    need: float
    """Nats that the bet has to bring for the line to be reached."""


@rule
def plain_prospect(
    champions: float,
    rivals: float,
    ratio: float,
    pivot: float,
    sampling: float,
    difference: bool,
    cash: float,
    need: float,
) -> Prospect:
    """In Python's own numbers: numpy's scalars would make every step of a live trial's search three times as slow."""
    return Prospect(
        float(champions),
        float(rivals),
        float(ratio),
        float(pivot),
        float(sampling),
        bool(difference),
        float(cash),
        float(need),
    )


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
            return joint_on_sums(Joint(steep, steep, cap, 0.0, math.inf, 1.0), prospect.ratio, 0.0)
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


@rule
def look(constants: CoinConstants, memory: Memory, a: int, b: int, gaps: FloatArray) -> None:
    """Write down a few differences of a and b, each as likely as the others, that stand for what is believed."""
    ahead = lead(memory, a, b)
    spread = spread_between(memory, a, b)
    for i in range(gaps.size):
        gaps[i] = max(ahead + constants.gaps[i] * spread, constants.tuning.least_gap * spread)


@rule(inline=False)
def worth(constants: CoinConstants, prospect: Prospect, gaps: FloatArray, bet: JointBet) -> float:
    """What the bet should bring, in nats up to the line, and more for reaching it.

    The law of what is paid for, sampling and noise together, is represented by a few equally likely points between
    those of a normal and of a Laplace law.
    """
    tuning = constants.tuning
    pays = bet.pays
    if not pays.cost < 1e300:
        return -1e300
    base = fixed_part(bet, prospect)
    down = pays.up if prospect.difference else pays.down
    per_gap = (pays.up * prospect.champions * prospect.ratio + down * prospect.rivals) / (1.0 + prospect.ratio)
    chance = prospect.sampling * (pays.up * pays.up * prospect.champions + down * down * prospect.rivals)
    noise = constants.noise * (pays.up * pays.up + pays.down * pays.down)
    spread = math.sqrt(chance + noise)
    share = noise / (chance + noise)
    finish = tuning.finish_chance + (tuning.finish_noise - tuning.finish_chance) * share
    if not prospect.difference:
        share *= tuning.two_noises
    floor = math.log(prospect.cash)
    # A live trial interprets these loops, where numpy's scalars, attributes and calls cost more than arithmetic.
    cap, soft, need, close = pays.cap, pays.soft, prospect.need, tuning.close
    squared = soft * soft
    rounding = 0.5 * squared
    nearly = 8.0 * close
    points = constants.normal.size
    capped = cap < math.inf
    total = 0.0
    for i in range(points):
        normal = float(constants.normal[i])
        off = spread * (normal + share * (float(constants.laplace[i]) - normal))
        for j in range(gaps.size):
            y = per_gap * float(gaps[j]) + off
            if capped:
                short = cap - y
                if short < 0.0:
                    short = -short
                    y = cap
                y -= rounding / (short + math.sqrt(short * short + squared))
            y += base
            short = need - (y if y > floor else floor)
            if short <= 0.0:
                total += finish
            elif short < nearly:
                total += finish * math.exp(-short / close) - short
            else:
                total -= short
    return prospect.need + total / (points * gaps.size)


@rule
def candidate(constants: CoinConstants, prospect: Prospect, gaps: FloatArray, steep: float, cap: float) -> Candidate:
    """A bet of this steepness and cap."""
    bet = bet_of(constants, prospect, steep, cap)
    return Candidate(bet, steep, cap, worth(constants, prospect, gaps, bet))


@rule(inline=False)
def choose_bet(constants: CoinConstants, prospect: Prospect, gaps: FloatArray, rounds: int) -> Candidate:
    """The bet that should bring most.

    The search starts from what is best for a known shift of a release: where noise dominates, about the likelihood
    ratio of two Laplace laws, of twice their steepness and a cap at the shift; where it does not, of two normal laws.
    """
    tuning = constants.tuning
    gap = 0.0
    for i in range(gaps.size):
        gap += float(gaps[i]) / gaps.size
    shift = prospect.champions * prospect.ratio * gap / (1.0 + prospect.ratio)
    chance = prospect.champions * prospect.sampling
    if prospect.difference:
        shift += prospect.rivals * gap / (1.0 + prospect.ratio)
        chance += prospect.rivals * prospect.sampling
    scale = math.sqrt(0.5 * constants.noise)
    steep = min(shift / (chance + 2.0 * scale * scale), steepest_plain(constants, prospect))
    narrow = prospect.ratio * (1.0 - prospect.pivot) - prospect.pivot
    if narrow > 0.0 and not prospect.difference:  # beyond, one success of the rival would cost everything
        steep = min(steep, tuning.boldest * math.log1p(1.0 / narrow))
    best = climb(constants, prospect, gaps, steep, math.inf, rounds)
    if constants.law.kind == PURE:
        releases = 1.0 if prospect.difference else 2.0
        steep = min(shift / (chance + (1.0 if prospect.difference else 1.4) * scale * scale), tuning.steepest / scale)
        cap = max(steep * math.hypot(releases * shift, tuning.kink * releases * scale), LEAST_CAP)
        best = better(best, climb(constants, prospect, gaps, steep, cap, rounds))
    return best


@rule
def steepest_plain(constants: CoinConstants, prospect: Prospect) -> float:
    """About the steepest bet without a cap that there is.

    Both slopes have to stay below what the noise allows; and where outcomes are nearly all 0 the rival's slope grows
    without bounds while the champion's is still small, so that a search from beyond would find no bet anywhere near.
    """
    most = min(BELOW_NOISE * bet_cap(constants.law), STEEPEST_PLAIN)
    if prospect.difference:
        return most
    grown = math.exp(most)
    t = (grown - 1.0) / (prospect.pivot + grown * (1.0 - prospect.pivot))
    if prospect.ratio <= prospect.pivot * t:
        return most
    return min(most, math.log1p(t / (prospect.ratio - prospect.pivot * t)))


@rule(inline=False)
def climb(
    constants: CoinConstants, prospect: Prospect, gaps: FloatArray, steep: float, cap: float, rounds: int
) -> Candidate:
    """Search from here on for better steepness and, if there is one, a better cap."""
    best = candidate(constants, prospect, gaps, steep, cap)
    capped = cap < math.inf
    tried = -math.inf  # the worth of what was best when the cap at its line was tried; again it would bring nothing
    if capped:
        for _ in range(2):
            if best.worth > tried:
                tried = best.worth
                best = better(best, candidate(constants, prospect, gaps, best.steep, cap_at_line(prospect, best)))
    wide = WIDE
    for _ in range(rounds):
        before = best.worth
        best = better(best, candidate(constants, prospect, gaps, best.steep * (1.0 + wide), best.cap))
        best = better(best, candidate(constants, prospect, gaps, best.steep / (1.0 + wide), best.cap))
        if capped:
            best = better(best, candidate(constants, prospect, gaps, best.steep, best.cap * (1.0 + wide)))
            best = better(best, candidate(constants, prospect, gaps, best.steep, best.cap / (1.0 + wide)))
            if best.worth > tried:
                tried = best.worth
                best = better(best, candidate(constants, prospect, gaps, best.steep, cap_at_line(prospect, best)))
        if best.worth <= before + ENOUGH:
            wide *= NARROWER
    return best


@rule(inline=False)
def reshape(constants: CoinConstants, prospect: Prospect, gaps: FloatArray, bet: JointBet) -> JointBet:
    """The bet of the same slopes whose cap suits the sizes in `prospect`, if there are more or fewer people than the
    slopes were chosen for. Slopes are fixed beforehand; the shape may look at the sizes."""
    if bet.pays.cap == math.inf:
        return bet
    held = Candidate(bet, bet.pays.up, bet.pays.cap, worth(constants, prospect, gaps, bet))
    held = better(held, with_cap(constants, prospect, gaps, bet, math.inf))
    for _ in range(2):
        if held.cap < math.inf:
            held = better(held, with_cap(constants, prospect, gaps, bet, cap_at_line(prospect, held)))
    wide = WIDE
    for _ in range(constants.tuning.reshapings):
        before = held.worth
        if held.cap < math.inf:
            held = better(held, with_cap(constants, prospect, gaps, bet, held.cap * (1.0 + wide)))
            held = better(held, with_cap(constants, prospect, gaps, bet, held.cap / (1.0 + wide)))
        if held.worth <= before + ENOUGH:
            wide *= NARROWER
    return held.bet


@rule
def with_cap(constants: CoinConstants, prospect: Prospect, gaps: FloatArray, bet: JointBet, cap: float) -> Candidate:
    """The bet of the same slopes with another cap."""
    down = 0.0 if prospect.difference else bet.down
    pays = joint_of_slopes(constants.law, bet.up, down, cap)
    other = JointBet(pays, bet.up, bet.down, bet.factors)
    return Candidate(other, pays.up, cap, worth(constants, prospect, gaps, other))


@rule
def better(one: Candidate, other: Candidate) -> Candidate:
    """The one of greater worth."""
    return other if other.worth > one.worth else one


@rule
def cap_at_line(prospect: Prospect, held: Candidate) -> float:
    """The cap with which everything won is just enough, if the cost of the curve stayed the same."""
    over = held.cap + fixed_part(held.bet, prospect) - prospect.need
    return max(held.cap - over, LEAST_CAP)
