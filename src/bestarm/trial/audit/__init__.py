"""Audits of privacy: does what anyone can see depend on outcomes in any way but through noisy releases?

*Replay* (`replay`): whole trials of the design run on tables of people and again, with the same releases forced, on
other tables and with other reports. Everything public has to come out the same, and every release has to be of the sum
that the auditor's own accounts have. This catches every path around the noise that a replay takes, whatever its
probability.

*Black box* (`noise`): many releases from the mechanism of the very trial, with the very source of noise, examined for
anything but the promised law. This catches noise that is not what it should be.

docs/audit.md says what an audit sees and what it does not.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bestarm.design import DEFAULT_ALGORITHM, Design, resolve
from bestarm.design_checks import LARGEST_BUDGET
from bestarm.errors import InputError
from bestarm.policy.algorithm import Algorithm
from bestarm.privacy.attack import FEWEST_DRAWS
from bestarm.privacy.leakage import CONFIDENCE
from bestarm.privacy.noise import LiveNoise, OpenDPNoise, SystemNoise
from bestarm.storage import open_store
from bestarm.storage.contract import Store
from bestarm.storage.memory import MemoryBooks, MemoryStore
from bestarm.trial.audit.findings import Audit, not_looked_at
from bestarm.trial.audit.noise import (
    Looked,
    claim_of,
    look_at_answers,
    look_at_mechanism,
    look_at_promise,
    look_at_trials,
    promised_per_outcome,
    truth_of_local,
)
from bestarm.trial.audit.replay import Replayed, replay
from bestarm.trial.audit.script import visits_of
from bestarm.trial.audit.watched import MovedClock, WatchedTrial
from bestarm.trial.fold import Fold, Rules
from bestarm.trial.identity import KEY_BYTES

__all__ = ["Audit", "audit", "audited_design", "black_box", "replays_of", "source_of"]

ARMS: Final = ("first", "second")
SOURCES: Final[dict[str, Callable[[], LiveNoise]]] = {"system": SystemNoise, "opendp": OpenDPNoise}
MOST_REPLAYS: Final = 10
PEOPLE_IN_ALL: Final = 400
"""All replays together enrol about so many people, each in three or four runs."""
SHORT_STAGE: Final = 60
"""A first stage of more people is made smaller for replays, by a larger budget, if that helps."""
LOOKED_AT: Final = 100
"""In a longer trial not every step is looked at, but as many as people are here."""

NOT_DISTRIBUTED: Final = (
    "Distributed noise is drawn on participants' machines, where an audit does not reach; its releases have the law of "
    "central noise, so audit the same design with that."
)

SMALL_GROUP: Final = 2
"""Of replays under shuffled privacy: how answers are flipped stays, and so does everything else that is replayed."""

Progress = Callable[[int, int], None]


def audit(
    algorithm: str | Algorithm = DEFAULT_ALGORITHM,
    epsilon: object = 1,
    runs: int = 20_000,
    seed: int = 0,
    noise: LiveNoise | None = None,
    progress: Progress | None = None,
    confidence: float | None = None,
    **given: Any,
) -> Audit:
    """Audit a design with live noise. The seed chooses tables, scripts and arms; the noise itself has no seed.

    `given` is the rest of the design, as `Design.make` takes it: privacy, rho, follow_up, contributions, withdrawal,
    outcomes. Without `noise` it is the source that a trial takes. A design that keeps its promise fails with a chance
    of at most 1 - confidence; that is 99.9% unless given.
    """
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < FEWEST_DRAWS:
        raise InputError(f"The number of runs is {runs}, but it has to be a whole number, at least {FEWEST_DRAWS}.")
    sure = CONFIDENCE if confidence is None else confidence
    design = audited_design(algorithm, epsilon, **given)
    rules = Rules.of(design, resolve(algorithm))
    replayable = short_rules(rules)
    done = replays_of(replayable, seed, noise, progress)
    looked, source = black_box(rules, runs, seed, noise, sure)
    if replayable is rules and design.privacy.model in ("pure", "zcdp"):
        natural = [one for each in done for one in each.natural]
        looked += look_at_trials(natural, claim_of(design), sure)
    return summed_up(rules, replayable, runs, sure, done, looked, source)


def audited_design(algorithm: str | Algorithm, epsilon: object, **given: Any) -> Design:
    """The design that is audited: two arms, and a risk at which trials are short. A control arm of any other name is
    the first one."""
    if given.get("distributed"):
        raise InputError(NOT_DISTRIBUTED)
    control = given.get("control")
    arms = ARMS if control is None or control in ARMS else (control, *ARMS[1:])
    return Design.make(**{"arms": arms, "delta": "0.1"} | given, algorithm=algorithm, epsilon=epsilon)


def source_of(name: str | None) -> LiveNoise | None:
    """A source of noise by its name; None for the one that a trial takes."""
    if name is None:
        return None
    if name == "distributed":
        raise InputError(NOT_DISTRIBUTED)
    if name not in SOURCES:
        raise InputError(f"The source of noise is {name!r}, but it has to be one of: {', '.join(SOURCES)}.")
    return SOURCES[name]()


def black_box(
    rules: Rules, runs: int, seed: int, noise: LiveNoise | None, confidence: float
) -> tuple[list[Looked], str | None]:
    """Examine the noise of a trial with these rules; what was found, and whose samplers drew it."""
    key = secrets.token_bytes(KEY_BYTES)
    trial = WatchedTrial.begin(MemoryStore(), rules, key, noise, MovedClock(), seed)
    design, source = rules.design, trial.mechanism.terms().get("sampler")
    each = promised_per_outcome(design)
    if each is None:
        return [], source
    if design.privacy.model == "local":
        return look_at_answers(trial.mechanism, trial.deal(), truth_of_local(each), runs, confidence), source
    if design.privacy.shuffling is not None:
        truth = 1.0 - float(design.privacy.shuffling.flip)
        looked = look_at_answers(trial.mechanism, trial.deal(), truth, runs, confidence)
        # What one answer alone gives away is not what is promised; the promise is about sums, and computed exactly.
        return [*(replace(one, lower_bound=0.0) for one in looked), look_at_promise(design)], source
    return look_at_mechanism(trial.mechanism, claim_of(design), runs, seed, confidence), source


@dataclass
class Stores:
    """Fresh stores: in memory, or SQLite files in a folder."""

    folder: Path
    files: int = 0

    def in_memory(self) -> Store:
        """For most replays: quick."""
        return MemoryStore()

    def in_a_file(self) -> Store:
        """For one of them: as a trial's own."""
        self.files += 1
        place = self.folder / str(self.files)  # of its own: runs share their coins, and with them the file of their key
        place.mkdir()
        return open_store(place / "trial.db", create=True)


def replays_of(rules: Rules, seed: int, noise: LiveNoise | None, progress: Progress | None = None) -> list[Replayed]:
    """Replays of trials with these rules: releases drawn or chosen, with and without a largest number of people."""
    people = people_for(rules)
    times = max(2, min(MOST_REPLAYS, PEOPLE_IN_ALL // people))
    ending = rules
    if rules.design.hard_end is None:  # else the design ends its trials by itself
        ending = replace(rules, design=replace(rules.design, max_participants=max(2, people // 2)))
    rng = random.Random(seed)
    done = []
    with TemporaryDirectory() as folder:
        stores = Stores(Path(folder))
        for number in range(times):
            one = ending if number % 4 == 3 else rules
            store = stores.in_a_file if number == times - 2 and people <= LOOKED_AT else stores.in_memory
            looks = min(1.0, LOOKED_AT / people)
            done.append(replay(one, people, rng.randrange(2**32), noise, number % 2 == 1, looks, store))
            if progress is not None:
                progress(number + 1, times + 1)
    return done


def people_for(rules: Rules) -> int:
    """How many people a replay has: enough for more than one stage, if they are small."""
    first = first_people(rules)
    return max(30, first + min(2 * first, SHORT_STAGE)) // visits_of(rules.design)


def first_people(rules: Rules) -> int:
    """How many people the first stage holds, or the first batches of all arms."""
    course = Fold(rules, MemoryBooks(), rules.fresh_state()).course
    arms = 1 if course.foreseen else len(rules.design.arms)
    return sum(course.opening(arm).planned for arm in range(arms))


def short_rules(rules: Rules) -> Rules:
    """The rules themselves, or with so much larger a budget that a stage can be replayed, if that makes it smaller."""
    found, budget = rules, rules.design.privacy.budget
    if rules.design.privacy.shuffling is not None:
        small = replace(rules.design.privacy.shuffling, group=SMALL_GROUP, colluders=0)
        return Rules.of(replace(rules.design, privacy=replace(rules.design.privacy, shuffling=small)), rules.algorithm)
    while budget is not None and first_people(found) > SHORT_STAGE and 4 * budget <= LARGEST_BUDGET:
        budget *= 4
        privacy, ends = replace(rules.design.privacy, budget=budget), rules.design.hard_end is not None
        # A hard end is planned anew for this budget's noise; an algorithm of one's own may have no name to be found by.
        design = rules.design.with_privacy(privacy) if ends else replace(rules.design, privacy=privacy)
        found = Rules.of(design, rules.algorithm)
    return found if first_people(found) <= SHORT_STAGE else rules


def summed_up(
    rules: Rules,
    replayed: Rules,
    runs: int,
    confidence: float,
    done: list[Replayed],
    looked: list[Looked],
    source: str | None,
) -> Audit:
    """Everything that was found, as one answer."""
    design = rules.design
    model, k = design.privacy.model, design.contributions
    spread = claim_of(design).spread if model in ("pure", "zcdp") else None
    bound = max((look.lower_bound for look in looked), default=0.0)
    violations = [bad for each in done for bad in each.found]
    releases = sum(each.releases for each in done)
    return Audit(
        algorithm=design.algorithm,
        privacy=model,
        design=design.to_json(),
        source=source,
        claimed_epsilon=None if design.privacy.epsilon is None else float(design.privacy.epsilon),
        lower_bound_epsilon=k * bound if design.privacy.epsilon is not None else None,
        claimed_rho=None if design.privacy.rho is None else float(design.privacy.rho),
        lower_bound_rho=k * k * bound if design.privacy.rho is not None else None,
        confidence=confidence,
        runs=runs,
        noise=tuple(looked),
        replays=len(done),
        replayed_people=sum(each.people for each in done),
        replayed_releases=releases,
        replay_violations=len(violations),
        violations=tuple(dict.fromkeys(violations)),
        not_looked_at=tuple(not_looked_at(design, runs, spread, releases, replayed.design)),
    )
