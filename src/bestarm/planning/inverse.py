"""The questions turned round: what can a given number of people afford?"""

from __future__ import annotations

import math
from collections.abc import Callable

from bestarm.planning.costs import CLOSER_LOOK, Simulator
from bestarm.planning.question import WEAKEST_PRIVACY, Question
from bestarm.theory.fixed import fixed_size_of_means

STRONGEST_PRIVACY = 1e-6
SMALLEST_GAP = 1e-6
SMALLEST_DIFFERENCE = 1e-5
HARDLY = 0.1
"""No design gets by with a smaller share of the fixed design's people without privacy, at the difference itself."""
CONFIDENCE = 0.9
"""N people are enough when this share of simulated trials end within N."""

TOLERANCE = 0.05
"""The answers are found to within 5 percent, on the affordable side."""

USUAL_DESIGNS = 25
"""How many designs' worth of simulations a search usually takes, for the progress bar."""


def smallest_epsilon(simulator: Simulator, question: Question, participants: int) -> float | None:
    """The strongest privacy (smallest epsilon) that this many people afford, or None if they are too few for any."""

    def enough(epsilon: float) -> bool:
        return _mostly_ends(simulator, question.with_epsilon(epsilon), participants)

    def too_few(epsilon: float) -> bool:
        return (question.with_epsilon(epsilon).lower_bound() or 0.0) > participants

    return _smallest(enough, too_few, STRONGEST_PRIVACY, WEAKEST_PRIVACY)


def smallest_gap(simulator: Simulator, question: Question, participants: int) -> float | None:
    """The smallest lead of the best arm that this many people resolve, or None if they resolve none, or if the question
    is whether an arm is not worse than control."""
    if question.difference < 0:
        return None

    def enough(gap: float) -> bool:
        return _mostly_ends(simulator, question.with_gap(gap), participants)

    def too_few(gap: float) -> bool:
        return (question.with_gap(gap).lower_bound() or 0.0) > participants

    return _smallest(enough, too_few, SMALLEST_GAP, question.widest_gap)


def smallest_difference(simulator: Simulator, question: Question, participants: int) -> float | None:
    """The smallest difference that may be stated if this many people are to be enough for a lead of just as much; None
    if there is none, or if the algorithm takes none."""
    if not question.takes_difference:
        return None

    def enough(difference: float) -> bool:
        if question.difference < 0:  # a margin of non-inferiority, with the arms as hoped
            return _mostly_ends(simulator, question.with_difference(-difference), participants)
        asked = question.with_gap(difference).with_difference(difference)
        return _mostly_ends(simulator, asked, participants)

    def too_few(difference: float) -> bool:
        rival = question.instance.laws[1 if question.best == 0 else 0].variance
        size = fixed_size_of_means(question.instance.arms, (rival, rival), difference, float(question.design.delta))
        return HARDLY * question.instance.arms * size > participants

    return _smallest(enough, too_few, SMALLEST_DIFFERENCE, 0.9 * question.widest_gap)


def chance_of_verdict(simulator: Simulator, question: Question, participants: int) -> float:
    """The share of trials that end within this many people, as hoped."""
    return simulator.share_within(question, participants, question.runs * CLOSER_LOOK)


def _mostly_ends(simulator: Simulator, question: Question, participants: int) -> bool:
    """Whether 90 % of trials end within this many participants.

    Where the share is too near to tell, more trials are simulated: else the search would stop where it is lucky.
    """
    runs = question.runs
    share = simulator.share_within(question, participants, runs)
    if abs(share - CONFIDENCE) < 3.0 * math.sqrt(CONFIDENCE * (1.0 - CONFIDENCE) / runs):
        share = simulator.share_within(question, participants, runs * CLOSER_LOOK)
    return share >= CONFIDENCE


def _smallest(
    enough: Callable[[float], bool], too_few: Callable[[float], bool], lowest: float, highest: float
) -> float | None:
    """The smallest x in [lowest, highest] that is enough, by bisection of log x; enough is monotone in x.

    `too_few` is the theory's quick answer: where it holds, nothing needs to be simulated.
    """
    if too_few(highest) or not enough(highest):
        return None
    low, high = math.log(lowest), math.log(highest)
    if too_few(lowest):
        theory_high = high
        while theory_high - low > 0.01:
            middle = 0.5 * (low + theory_high)
            low, theory_high = (middle, theory_high) if too_few(math.exp(middle)) else (low, middle)
        step = math.log(4.0)  # designs that are worth their name need a small multiple of the bound
        while low + step < high:
            if enough(math.exp(low + step)):
                high = low + step
            else:
                low += step
    elif enough(lowest):
        return lowest
    while high - low > math.log1p(TOLERANCE):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    return round_up(math.exp(high))


def round_up(value: float) -> float:
    """Up to three meaningful digits: an answer good to 5 percent should not look like more, nor promise too much."""
    digit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{math.ceil(value / digit - 1e-9) * digit:.3g}")
