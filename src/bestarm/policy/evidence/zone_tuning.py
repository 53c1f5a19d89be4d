"""Every number that the zone's plan and bets were tuned with.

None of them matters to validity: whatever stands here, bets are fair, and an arm is out only when its wealth reaches
1/delta. They decide how many people a trial takes.
"""

from __future__ import annotations

from typing import NamedTuple


class ZoneTuning(NamedTuple):
    """What only costs people. Pairs go from negligible noise (`_chance`) to noise that dominates (`_noise`)."""

    # What is believed
    spread: float = 1.25
    """Standard deviation of an arm's mean around the level of all before the first release, in zones."""
    doubt: float = 0.5
    hope: float = 1.5
    """The difference that is bet on and planned for is the zone, but at least the estimate less `doubt` standard
    deviations, and at most the estimate and `hope` of them."""
    least_gap: float = 0.1
    """It is at least so many zones."""
    stick: float = 0.1
    """A new leader has to be ahead by this many zones."""

    # Sizes
    extra: float = 2.0
    """Nats beyond what is missing that a stage should bring where noise dominates; half of it for a difference."""
    first_chance: float = 0.3
    first_noise: float = 0.97
    """The first stage, as a share of what should end the trial at once."""
    product_chance: float = 0.28
    product_noise: float = 1.2
    """Later stages whose bets are products, likewise."""
    walk_chance: float = 0.31
    walk_noise: float = 1.25
    """Later stages whose bets are walks, likewise."""
    later: float = 0.785
    """Later stages, as a share of these shares."""
    least_need: float = 1.0
    """No stage is planned for less than so many nats."""
    least_variance: float = 0.01
    """Of an outcome, before anything is known: half of the zone's own and this."""
    fewest: float = 8.0
    """People on an arm in the first stage."""
    cover: float = 0.6
    """A rival gets at least this share of the largest."""
    power_chance: float = 2.0
    power_noise: float = 4.8
    """The leader gets the norm of the rivals' people with this power."""
    difference: float = 0.32
    """Two arms are released as a difference if the noise's variance is more than this multiple of an arm's own."""

    # Accounts
    staked: float = 1.36
    """The share of the wealth in play before the first release, over the share of noise in it; the rest is cash that
    goes to likely champions after it."""
    all_staked: float = 0.8
    """From this share on, everything is staked."""
    cash: float = 0.03
    """Share of an account that is never staked."""
    deepest: float = 3.0
    """Nats that an account may lose before most of it is kept in cash."""
    most_cash: float = 0.8
    """Share that is kept then."""
    far: float = 2.0
    """Champions this many zones behind the leader do not bet."""

    # Bets on walks
    walk_worth: float = 0.8
    """A walk is bet on if outcomes, noise included, vary at least this much over what a walk does."""
    walk_steep: float = 1.0
    """Steepness below the full payment, over that of the likelihood ratio."""
    jump_chance: float = 0.5
    jump_noise: float = 1.0
    """Nats between the full payment and what lies just below it."""
    walk_reach: float = 1.0
    """Full payment is at most this many standard deviations beyond what is expected."""

    # Bets on products
    steepest: float = 0.975
    """Largest slope, over the noise's budget."""
    steepest_rare: float = 0.55
    """Largest slope of the rival, likewise, where outcomes are so rare that it is far steeper than the champion's."""
    blend: float = 5.0
    """How sharply that bound takes over."""
    grade_champion: float = 1.76
    grade_rival: float = 1.44
    grade_difference: float = 0.83
    """Caps of the curves in nats, where noise dominates."""
    wide: float = 4.0
    """Added to a cap for every standard deviation of the sum without noise, in nats along the slope."""
    off: float = 0.0
    beyond: float = 2.0
    """The champion's cap lies so many standard deviations of the noise, and of the sum, beyond what is expected."""
    reach: float = 1.87
    """The rival's, or a difference's, cap lies at most so many standard deviations beyond what is expected."""
