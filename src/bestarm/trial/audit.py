"""Audits of privacy: does what anyone can see depend on outcomes in any way but through noisy releases?

*Replay* (grey box): run a trial on a table of people, record its releases, and run it again on a neighbouring table
(one person's row replaced) with those releases forced. Everything public must come out identical, and one exact sum
alone may differ, by at most one outcome. This catches every path around the noise, whatever its probability.

*Black box*: from many runs on two neighbouring tables, prove a lower bound on epsilon; above the promise, it is broken.
This catches noise that is too small.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from bestarm.design import DEFAULT_ALGORITHM, NO_PRIVACY, Design, resolve
from bestarm.errors import InputError
from bestarm.policy.algorithm import Algorithm
from bestarm.policy.record import FloatArray
from bestarm.privacy.coins import Coins, PersonalCoins
from bestarm.privacy.leakage import CONFIDENCE, epsilon_at_least
from bestarm.privacy.mechanism import Door, Mechanism, live_mechanism, mechanism_of
from bestarm.privacy.noise import LiveNoise, live_noise
from bestarm.release.laws import LOCAL
from bestarm.storage.memory import MemoryBooks
from bestarm.trial.desk import Desk
from bestarm.trial.fold import Fold, Rules
from bestarm.trial.identity import KEY_BYTES

Table: TypeAlias = Sequence[Sequence[Fraction]]
"""Row n: person n's outcome on each arm, in [0, 1]."""

ARMS = ("first", "second")
LONGEST_TABLE = 400
REPLAYS = 100
TRIALS_SHARE = 20
"""Whole trials are this many times fewer than single releases: each takes that much longer."""


@dataclass
class WatchedDoor:
    """Stands in front of a mechanism and notes the exact sums that pass; with `forced`, hands out those releases."""

    mechanism: Door
    forced: list[int] | None = None
    totals: list[int] = field(default_factory=list)

    def encode(self, outcome: Fraction, coins: Coins) -> int:
        """The mechanism's own."""
        return self.mechanism.encode(outcome, coins)

    def release(self, total: int) -> int:
        """Note the sum; a fresh release, or the next forced one."""
        self.totals.append(total)
        if self.forced is None:
            return self.mechanism.release(total)
        return self.forced[len(self.totals) - 1] if len(self.totals) <= len(self.forced) else 0

    def terms(self) -> dict[str, str | None]:
        """The mechanism's own."""
        return self.mechanism.terms()


@dataclass(frozen=True)
class Transcript:
    """Everything public about one run; and, for the auditor alone, the exact sums behind its releases."""

    arms: tuple[int, ...]
    stages: tuple[tuple[float, ...], ...]
    """The weights and the planned size of each."""
    releases: tuple[int, ...]
    """In integer steps."""
    verdict: str | None
    totals: tuple[int, ...]

    @property
    def public(self) -> tuple[Any, ...]:
        """What an outsider sees."""
        return self.arms, self.stages, self.releases, self.verdict


@dataclass(frozen=True)
class System:
    """What is audited: the rules, and the parts that carry them out. The parts are replaced to plant defects."""

    rules: Rules
    fold: type[Fold] = Fold
    desk: type[Desk] = Desk

    def run(self, table: Table, door: WatchedDoor, seed: int, key: bytes | None = None) -> Transcript:
        """One trial over the people of the table, in order; coins for arms come from the seed alone.

        Without a key people's own coins are fresh ones.
        """
        coins = random.Random(seed)
        log: list[tuple[str, dict[str, Any]]] = []

        def pick(weights: FloatArray) -> int:
            return coins.choices(range(len(weights)), list(weights))[0]

        def keep(kind: str, at: int, actor: str, body: dict[str, Any], secret: dict[str, Any] | None) -> None:
            log.append((kind, body))

        books = MemoryBooks()
        deal = partial(PersonalCoins, key or secrets.token_bytes(KEY_BYTES), "audit")
        desk = self.desk(self.fold(self.rules, books, self.rules.fresh_state()), door, keep, 0, deal, pick)
        for person, row in enumerate(table):
            assignment = desk.ask(str(person), "audit")
            if assignment is None:
                break
            desk.tell(assignment.number, row[assignment.arm], "audit")
        verdict = books.book.verdict
        return Transcript(
            tuple(body["arm"] for kind, body in log if kind == "assigned"),
            tuple((*body["weights"], body["planned"]) for kind, body in log if kind == "opened"),
            tuple(value for kind, body in log if kind == "released" for value in body["values"]),
            None if verdict is None else verdict["arm"],
            tuple(door.totals),
        )


@dataclass(frozen=True)
class Audit:
    """What an audit found."""

    algorithm: str
    privacy: str
    claimed_epsilon: float | None
    lower_bound_epsilon: float
    lower_bound_release: float
    lower_bound_trial: float
    replays: int
    replay_violations: int
    first_violation: str | None
    confidence: float
    runs: int

    @property
    def passed(self) -> bool:
        """Nothing public depended on an outcome except through a release, and epsilon was not refuted."""
        kept = self.claimed_epsilon is None or self.lower_bound_epsilon <= self.claimed_epsilon
        return kept and self.replay_violations == 0

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {"passed": self.passed}


def audit(
    algorithm: str | Algorithm = DEFAULT_ALGORITHM,
    epsilon: object = 1,
    runs: int = 20_000,
    seed: int = 0,
    noise: LiveNoise | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Audit one algorithm with live noise. The seed chooses tables and coins; the noise itself has no seed."""
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 100:
        raise InputError(f"The number of runs is {runs}, but it has to be a whole number, at least 100.")
    rules = audit_rules(algorithm, epsilon)
    design = rules.design
    door = live_mechanism(design.per_outcome, design.encoding, noise or live_noise())
    system = System(rules)
    rng = random.Random(seed)
    found = []
    # Under local privacy the coins sit in the encoding; replay looks for ways around them, and so leaves them out.
    plain = mechanism_of(NO_PRIVACY, design.encoding, door.noise) if door.law.kind == LOCAL else door
    for number in range(REPLAYS):
        found += replay(system, *neighbours(rules, rng), plain, rng.randrange(2**32))
        if progress is not None:
            progress(number + 1, 2 * REPLAYS)
    release_bound = black_box_release(door, runs)
    trial_bound = black_box_trial(system, door, max(runs // TRIALS_SHARE, 50), rng)
    if progress is not None:
        progress(2 * REPLAYS, 2 * REPLAYS)
    return Audit(
        algorithm=design.algorithm,
        privacy=design.privacy.model,
        claimed_epsilon=None if design.privacy.epsilon is None else float(design.privacy.epsilon),
        lower_bound_epsilon=max(release_bound, trial_bound),
        lower_bound_release=release_bound,
        lower_bound_trial=trial_bound,
        replays=REPLAYS,
        replay_violations=len(found),
        first_violation=found[0] if found else None,
        confidence=CONFIDENCE,
        runs=runs,
    )


def audit_rules(algorithm: str | Algorithm, epsilon: object) -> Rules:
    """A small design with binary outcomes that exercises the algorithm."""
    design = Design.make(arms=ARMS, epsilon=epsilon, delta="0.1", algorithm=algorithm, outcomes="binary")
    return Rules.of(design, resolve(algorithm))


def neighbours(rules: Rules, rng: random.Random) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """Two tables that differ in one person's row, and in every arm of it."""
    people = min(LONGEST_TABLE, 4 * first_people(rules))
    table = [[Fraction(rng.randrange(2)) for _ in rules.design.arms] for _ in range(people)]
    changed = rng.randrange(people)
    other = [[1 - x for x in row] if person == changed else row for person, row in enumerate(table)]
    return table, other


def first_people(rules: Rules) -> int:
    """How many people the first stage holds, or the first batches of all arms."""
    course = Fold(rules, MemoryBooks(), rules.fresh_state()).course
    arms = 1 if course.foreseen else len(rules.design.arms)
    return max(12, sum(course.opening(arm).planned for arm in range(arms)))


def replay(system: System, table: Table, other: Table, door: Door, seed: int) -> list[str]:
    """What is wrong when the releases of a run on one table are forced on its neighbour; nothing, if all is well."""
    key = secrets.token_bytes(KEY_BYTES)  # the same coins for everybody in both runs
    first = system.run(table, WatchedDoor(door), seed, key)
    second = system.run(other, WatchedDoor(door, list(first.releases)), seed, key)
    return violations(first, second, system.rules.grid)


def violations(first: Transcript, second: Transcript, grid: int) -> list[str]:
    """How two runs with the same releases on neighbouring tables differ beyond what privacy allows."""
    found = [
        f"The {what} depend on an outcome."
        for what, one, two in (
            ("arms", first.arms, second.arms),
            ("stages", first.stages, second.stages),
            ("releases", first.releases, second.releases),
            ("verdicts", first.verdict, second.verdict),
        )
        if one != two
    ]
    found += [
        f"Noise was drawn {len(run.totals)} times for {len(run.releases)} releases."
        for run in (first, second)
        if len(run.totals) != len(run.releases)
    ]
    differing = [abs(one - two) for one, two in zip(first.totals, second.totals, strict=False) if one != two]
    if len(differing) > 1:
        found.append(f"One person's outcome entered {len(differing)} sums.")
    if any(gap > grid for gap in differing):
        found.append("One person's outcome changed a sum by more than one outcome.")
    return found


def black_box_release(door: Mechanism, runs: int) -> float:
    """A lower bound on epsilon from releases of two sums that differ by one outcome.

    The event "not below the larger sum" has, for noise of the promised scale, probabilities in the ratio e^epsilon.
    Under local privacy the same holds of single outcomes: the event is that a 1 is kept.
    """
    one = door.encoder.grid
    if door.law.kind == LOCAL:
        coins = [PersonalCoins(secrets.token_bytes(KEY_BYTES), "audit", person) for person in range(2 * runs)]
        high = sum(door.encode(Fraction(1), own) == one for own in coins[:runs])
        low = sum(door.encode(Fraction(0), own) == one for own in coins[runs:])
    else:
        bottom, top = 3 * one, 4 * one
        high, low = (sum(door.release(total) >= top for _ in range(runs)) for total in (top, bottom))
    return epsilon_at_least(high, low, runs, 1 - (1 - CONFIDENCE) / 2)


def black_box_trial(system: System, door: Door, runs: int, rng: random.Random) -> float:
    """A lower bound on epsilon from whole trials on two neighbouring tables.

    The first half of the runs chooses the most telling event (a public feature of the run), the second half tests it.
    """
    people = min(LONGEST_TABLE, first_people(system.rules))
    table = [[Fraction(person % 2) for _ in system.rules.design.arms] for person in range(people)]
    other = [[1 - x for x in table[0]], *table[1:]]
    seed = rng.randrange(2**32)

    def sample(rows: Table) -> list[set[str]]:
        return [features(system.run(rows, WatchedDoor(door), seed), system.rules.grid) for _ in range(runs)]

    one, two = sample(table), sample(other)
    half = runs // 2
    best, chosen, turned = 0.0, "", False
    for feature in set().union(*one[:half], *two[:half]):
        hits, elsewhere = (sum(feature in run for run in side[:half]) for side in (one, two))
        for flip in (False, True):
            bound = epsilon_at_least(*((elsewhere, hits) if flip else (hits, elsewhere)), half)
            if bound >= best:
                best, chosen, turned = bound, feature, flip
    hits, elsewhere = (sum(chosen in run for run in side[half:]) for side in (one, two))
    counts = (elsewhere, hits) if turned else (hits, elsewhere)
    return epsilon_at_least(*counts, runs - half, 1 - (1 - CONFIDENCE) / 2)


def features(run: Transcript, grid: int) -> set[str]:
    """Public features of a run that an observer might look at."""
    seen = {f"verdict {run.verdict}", f"people {len(run.arms)}", f"arms {run.arms}"}
    for order, value in enumerate(run.releases[:4]):
        seen |= {f"release {order} at least {mark}" for mark in range(-1, 13) if value >= mark * grid}
    return seen
