"""Every number that the coin evidence's plan and bets were tuned with.

None of them matters to validity: whatever stands here, bets are fair, and an arm is struck out only when its wealth
reaches 1/delta. They decide how many people a trial takes.
"""

from __future__ import annotations

from typing import NamedTuple


class Tuning(NamedTuple):
    """What only costs people."""

    # The first stage
    first_people: float = 8.0
    """People on an arm in the first stage where there is no noise."""
    first_noises: float = 13.0
    """People on an arm in the first stage for every standard deviation of the noise."""
    first_nats: float = 4.7
    first_most: float = 2.0
    """The first stage grows with the nats to the line where these are more than this, to at most this multiple."""
    first_spread: float = 0.15
    """Standard deviation of an arm's mean around the level of all, before the first release."""
    prior_spread: float = 0.08
    """The same afterwards, if the first sums differ by no more than their errors."""

    # Bets
    cash: float = 0.05
    """Share of the wealth that is never staked."""
    doubt: float = 0.5
    """Share that is kept where a champion does not lead at all; a lead of so many standard deviations reduces it."""
    doubt_lead: float = 1.5
    deepest: float = 4.0
    """Nats that an arm's wealth may lose before most of it is kept in cash."""
    most_cash: float = 0.8
    """Share that is kept then."""
    aim: float = 0.08
    """Nats beyond the line that a bet aims at, since it is chosen for sizes that are not quite met."""
    least_aim: float = 0.05
    """Nats that are taken to be missing at least."""
    least_gap: float = 0.15
    """No bet is made for a difference below this many standard deviations of the belief."""
    finish_noise: float = 0.4
    """Nats that it is worth to end at this release where noise dominates: another stage costs that much."""
    finish_chance: float = 0.2
    """The same where the noise is negligible."""
    close: float = 0.3
    """Nats short of the line at which this is mostly lost."""
    steepest: float = 2.4
    """Steepness at which the search for a bet starts at most, over the noise's scale."""
    boldest: float = 0.7
    """The same over what would stake everything on the rival's having no success."""
    kink: float = 1.2
    """Least distance of a curve's cap from the reference point where the search starts, in noise scales."""
    two_noises: float = 0.6
    """How far from normal the sum of two Laplace laws is, over one of them."""
    trust: float = 3.0
    """A champion that is a standard deviation behind the leader is trusted less by a factor e to this."""
    least_share: float = 0.1
    """Champions with less than this share of those before them are left out."""
    rounds: int = 6
    """Rounds of the search for a bet."""
    reshapings: int = 4
    """The same for a cap that suits the sizes."""
    unlike: float = 0.1
    """Bets keep their shape while sizes are within this share of what was planned."""

    # Sizes
    growth: float = 4.0
    """A stage brings an arm's people to at most this multiple."""
    least_growth: float = 0.03
    """A stage brings an arm at least this share of what it has."""
    blind_noise: float = 3.0
    """A stage that opens while outcomes are awaited has so many people that noise adds this multiple of chance, ..."""
    blind_most: float = 1.5
    """... but at most this share of all that are enrolled, ..."""
    blind_least: float = 0.03
    """... and at least this share of them, ..."""
    blind_stages: float = 32.0
    blind_double: float = 8.0
    """... which doubles with so many stages that wait beyond so many, as there is room for no more than 64."""
    merge_until: float = 0.9
    """A stage goes on in the next one, if that is alike, while it has fewer than this share of the people wanted."""
    planning_rounds: int = 1
    """Rounds of the search for a bet when sizes are tried out."""
    cover: float = 0.25
    """A rival gets at least this share of the largest."""
    power_chance: float = 2.0
    power_noise: float = 8.0
    """The leader gets the norm of the rivals' people with this power, without noise and where noise dominates."""

    # Second looks
    recall: float = 10.0
    """An arm that is out gets a second look once the people are this multiple of those when it was struck out."""
    recall_nats: float = 2.4
    """Nats that strike it out again. Theorem 5 needs more than log(recall)."""

    # Far out: what Theorem 5 rests on
    far: float = 1e5
    """A trial is far out once it has this multiple of the first stage's people."""
    far_share: float = 0.2
    far_power: float = 1.0 / 16.0
    """A stage then brings this share of the people there are, times (limit / people) to this power, between 0 and 1."""
    plain: float = 0.01
    """Share of an arm's wealth that is then staked by the plain rule."""
    plain_noise: float = 0.99
    """The plain rule's largest slope, over the largest for which the noise has a mean; below 1."""
    plain_steepest: float = 10.0
    """The same where noise sets no limit."""
