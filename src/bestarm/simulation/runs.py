"""Many runs of one scenario: seeded, in parallel, and the same for any number of jobs.

Run r of a scenario draws from SeedSequence(seed, spawn_key=(hash of the scenario, r)), so it does not depend on how
many runs there are, who computes it, or where it is capped.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from bestarm.comparison import labels_with_control
from bestarm.design import DEFAULT_ALGORITHM, Design, Outcomes, resolve
from bestarm.errors import InputError
from bestarm.instance import Instance, Sampled
from bestarm.policy.algorithm import UNDECIDED, Algorithm
from bestarm.release.models import COIN
from bestarm.simulation.clock import day_of
from bestarm.simulation.life import Life
from bestarm.simulation.people import RECORDED, STEADY, TRENDS, Changes, World, noise_of, people_of, world_of
from bestarm.simulation.results import Results, Rows
from bestarm.theory import lower_bound

DEFAULT_MAX_SAMPLES: Final = 10**8

DECIDES: Final[tuple[str, ...]] = (
    "delta",
    "privacy",
    "epsilon",
    "rho",
    "privacy_delta",
    "flip",
    "group",
    "colluders",
    "outcomes",
    "encoding",
    "difference",
    "control",
    "delta_none",
    "base",
    "beta",
    "s",
)
"""The parts of a design that decide a run; a run that is capped later is the same run."""

PILOT_RUNS: Final = 200
"""So many runs say how long a trial is expected to take, for a trend to run its course over it."""

Progress: TypeAlias = Callable[[int, int], None]
"""Told (runs finished, runs in all) from time to time."""


@dataclass(frozen=True)
class Scenario:
    """One cell of a study: an algorithm with its design, on an instance, in a life of a certain kind."""

    algorithm: Algorithm
    instance: Instance
    design: Design
    life: Life = field(default_factory=Life)

    def describe(self) -> dict[str, Any]:
        """Everything that decides a run but the seed, as plain values."""
        laws = [
            {"law": type(law).__name__, "draw": law.draw.__qualname__, "mean": law.mean}
            if isinstance(law, Sampled)
            else {"law": type(law).__name__, **asdict(law)}  # type: ignore[call-overload]
            for law in self.instance.laws
        ]
        design = self.design.to_json()
        settings = {key: design[key] for key in DECIDES if key in design}
        if self.design.control is not None:  # what an arm is called decides nothing
            settings["control"] = self.design.arms.index(self.design.control)
        if self.life.enrol is not None and self.design.follow_up is not None:
            settings["follow_up"] = self.design.follow_up
        if self.life.missing:
            settings["withdrawal"] = self.design.withdrawal
        named = {"algorithm": self.algorithm.name, "revision": self.algorithm.revision, "laws": laws}
        return {**named, **settings, **self.life.describe()}

    @property
    def timed(self) -> bool:
        """Whether its runs go by the clock."""
        return self.life.enrol is not None or self.life.changes

    @property
    def cap(self) -> int:
        """A run that has not stopped after so many people is undecided."""
        return self.design.max_participants or DEFAULT_MAX_SAMPLES

    def lower_bound(self) -> float | None:
        """What no method can do with less of: `theory.lower_bound`; None for outcomes other than yes and no."""
        design = self.design
        if not self.instance.binary:
            return None
        return lower_bound(self.instance.means, design.privacy, float(design.delta), float(design.difference))

    def key(self) -> tuple[int, ...]:
        """128 bits that tell this scenario from all others."""
        text = json.dumps(self.describe(), sort_keys=True)
        digest = hashlib.sha256(text.encode()).digest()
        return tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))


def make_scenario(
    algorithm: str | Algorithm,
    instance: Instance,
    *,
    epsilon: float | None = None,
    delta: float = 0.01,
    privacy: str | None = None,
    rho: float | None = None,
    privacy_delta: object = None,
    group: int | None = None,
    colluders: int | None = None,
    difference: object = None,
    indifference: object = None,
    control: str | int | None = None,
    delta_none: object = None,
    base: object = None,
    max_participants: int | None = None,
    hard_end: bool = False,
    rates: Sequence[object] | None = None,
    beta: float = 0.5,
    s: float = 2.0,
    outcomes: Outcomes | None = None,
    enrol: float | None = None,
    arrivals: str = "constant",
    ramp: str | int | None = None,
    follow_up: str | int | None = None,
    missing: float | Sequence[float] | None = None,
    withdrawal: str | None = None,
    trend: str | None = None,
) -> Scenario:
    """Check everything a user can get wrong, and fill in what follows from the algorithm.

    The fixed design is planned with the base rate it will meet, the second best mean, unless another is given.
    """
    chosen = resolve(algorithm)
    scale = outcomes or Outcomes(binary=instance.binary)
    if base is None and chosen.needs_base:
        base = scale.mean_in_units(sorted(instance.means)[-2])
    labels, against = labels_with_control(None, instance.arms, control)
    design = Design.make(
        arms=labels,
        delta=delta,
        epsilon=epsilon,
        rho=rho,
        privacy_delta=privacy_delta,
        group=group,
        colluders=colluders,
        privacy=privacy,
        algorithm=chosen,
        outcomes="binary" if instance.binary else "unit",
        low=scale.low,
        high=scale.high,
        lower_is_better=scale.lower_is_better,
        difference=difference,
        indifference=indifference,
        control=against,
        delta_none=delta_none,
        base=base,
        max_participants=max_participants,
        hard_end=hard_end,
        rates=rates,
        follow_up=follow_up,
        withdrawal=withdrawal,
        beta=beta,
        s=s,
    )
    life = Life.of(instance.arms, enrol=enrol, arrivals=arrivals, ramp=ramp, missing=missing, trend=trend)
    return scenario_of(design, instance, chosen, life)


def scenario_of(
    design: Design, instance: Instance, algorithm: Algorithm | None = None, life: Life | None = None
) -> Scenario:
    """A design on an instance. An algorithm of one's own comes as an object; all others are named in the design."""
    life = life or Life()
    if instance.tied and design.difference == 0 and design.max_participants is None:
        raise InputError(
            f"The best mean, {max(instance.means)}, is shared by several arms, so no arm can be proven best; "
            "give a unique best arm, the smallest difference that matters (--difference), or a largest number of "
            "participants."
        )
    if design.follow_up is not None and life.enrol is None:
        raise InputError(
            "What a follow-up costs depends on how many people come in meanwhile; give --enrol, people a day."
        )
    if life.missing and design.replaces:
        raise InputError(
            "Missing outcomes are not simulated for designs that replace people; use --withdrawal impute:X or against."
        )
    return Scenario(algorithm or resolve(design.identity), instance, design, life)


def one_cap(max_participants: int | None, max_samples: int | None) -> int | None:
    """The largest number of participants, whichever of its two names was used."""
    if max_participants is not None and max_samples is not None:
        raise InputError("max_samples is another name for max_participants; give one of the two.")
    return max_samples if max_participants is None else max_participants


def simulate(
    algorithm: str | Algorithm = DEFAULT_ALGORITHM,
    *,
    means: Sequence[float] | None = None,
    instance: Instance | None = None,
    epsilon: float | None = None,
    delta: float = 0.01,
    runs: int = 1000,
    seed: int = 0,
    jobs: int = 1,
    max_participants: int | None = None,
    max_samples: int | None = None,
    hard_end: bool = False,
    rates: Sequence[object] | None = None,
    privacy: str | None = None,
    rho: float | None = None,
    privacy_delta: object = None,
    group: int | None = None,
    colluders: int | None = None,
    difference: object = None,
    indifference: object = None,
    control: str | int | None = None,
    delta_none: object = None,
    base: object = None,
    beta: float = 0.5,
    s: float = 2.0,
    enrol: float | None = None,
    arrivals: str = "constant",
    ramp: str | int | None = None,
    follow_up: str | int | None = None,
    missing: float | Sequence[float] | None = None,
    withdrawal: str | None = None,
    trend: str | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run an algorithm `runs` times on an instance (or Bernoulli arms with `means`) and return every run's outcome.

    The results do not depend on `jobs`. To use a cluster, call inside `joblib.parallel_config` with its backend and
    `jobs=-1`. A run that has not stopped after `max_participants` (or `max_samples`, the same) counts as undecided.

    With `control`, the index of an arm or any name for the first one, the others are compared with it: a run recommends
    an arm that is better, or control itself for "none" when no arm is better by the `difference` (negative: not worse
    by so much). `delta` is the risk of the first claim and `delta_none`, by default the same, that of the second.

    With `hard_end` every run ends with a recommendation by a number of people that follows from the design; `rates` is
    a band, lowest and highest, that no arm's mean is assumed to leave (docs/planning.md).

    As life has it: people come in at `enrol` a day, evenly or by chance (`arrivals="poisson"`), at first fewer (`ramp`,
    such as "60d"); an outcome is known after the `follow_up`, such as "28d"; a share `missing` of them (one number, or
    one an arm) never comes and is imputed by `withdrawal`; a `trend` such as "linear:0.1" (or step, bump, season) is
    added to all means over the length that the trial is expected to have without any of this.
    """
    if (means is None) == (instance is None):
        raise InputError("Give either the arms' means or an instance, and not both.")
    world = instance if instance is not None else Instance.bernoulli(means or ())
    scenario = make_scenario(
        algorithm,
        world,
        epsilon=epsilon,
        delta=delta,
        privacy=privacy,
        rho=rho,
        privacy_delta=privacy_delta,
        group=group,
        colluders=colluders,
        difference=difference,
        indifference=indifference,
        control=control,
        delta_none=delta_none,
        base=base,
        max_participants=one_cap(max_participants, max_samples),
        hard_end=hard_end,
        rates=rates,
        beta=beta,
        s=s,
        enrol=enrol,
        arrivals=arrivals,
        ramp=ramp,
        follow_up=follow_up,
        missing=missing,
        withdrawal=withdrawal,
        trend=trend,
    )
    return run_scenario(scenario, runs=runs, seed=seed, jobs=jobs, progress=progress)


def run_scenario(
    scenario: Scenario,
    *,
    runs: int,
    seed: int,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Results:
    """All runs of a scenario that has been checked."""
    if runs < 1:
        raise InputError(f"{runs} runs asked for; at least 1 is needed.")
    if seed < 0:
        raise InputError(f"The seed is {seed}; it must be a whole number from 0.")
    if jobs < 1 and jobs != -1:
        raise InputError(f"{jobs} jobs asked for; give a number from 1, or -1 for all cores.")
    _compile(scenario)
    begin = time.perf_counter()
    expected = expected_people(scenario)
    if jobs == 1:
        rows = _rows_here(scenario, runs, seed, expected, progress)
    else:
        rows = _rows_in_parallel(scenario, runs, seed, expected, jobs, progress)
    taken = time.perf_counter() - begin
    return Results.of(scenario.describe(), scenario.instance, scenario.design, seed, rows, taken, scenario.cap)


def _compile(scenario: Scenario) -> None:
    """Compile in this process first: numba's cache races when several processes compile at once."""
    from numba.core.errors import NumbaError

    try:
        for one in (_undisturbed(scenario), scenario) if scenario.life.trend else (scenario,):
            run_chunk(one, 0, 0, 1, scenario.instance.arms)
    except NumbaError as error:
        raise InputError(
            f"The algorithm {scenario.algorithm.name} cannot be compiled: its rules may use math, loops and array "
            "indexing, and only `start` may make arrays (the cause has the compiler's words)."
        ) from error


@lru_cache(maxsize=256)
def expected_people(scenario: Scenario) -> float:
    """How many people a trial takes on average if nothing changes, goes missing or comes late; 1 without a trend, and
    as many as were recorded where the order of a record is followed."""
    if scenario.life.recorded:
        return float(scenario.life.recorded_people)
    if scenario.life.trend is None:
        return 1.0
    return float(run_chunk(_undisturbed(scenario), 0, 0, PILOT_RUNS, scenario.cap).samples.mean())


def _undisturbed(scenario: Scenario) -> Scenario:
    return replace(scenario, design=replace(scenario.design, follow_up=None), life=Life())


def run_chunk(scenario: Scenario, seed: int, first: int, last: int, max_samples: int, expected: float = 1.0) -> Rows:
    """Runs first..last-1; `expected` people are those over whom a trend runs its course."""
    from bestarm.simulation.compiled import entry_point

    drawn = [law.draw for law in scenario.instance.laws if isinstance(law, Sampled)]
    binarised = scenario.design.encoding == COIN
    run = entry_point(scenario.algorithm, drawn[0] if drawn and not binarised else None, scenario.timed)
    constants = scenario.algorithm.constants(scenario.design.numbers())
    world = _world(scenario, binarised, expected)
    key = scenario.key()
    rows = Rows.empty(last - first, scenario.instance.arms, world.diary.size if scenario.life.enrol else 0)
    for row, replicate in enumerate(range(first, last)):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(*key, replicate))))
        world.diary[:] = math.nan
        rows.counts[row] = run(rng, world, constants, max_samples, rows.per_arm[row])
        rows.days[row] = world.diary[: rows.days.shape[1]]
        rows.tally[row] = world.tally
    return rows


def _world(scenario: Scenario, binarised: bool, expected: float) -> World:
    design, life = scenario.design, scenario.life
    clock = life.clock(design.follow_up)
    changes = Changes(
        np.array(life.missing or [0.0] * scenario.instance.arms),
        np.array([float(design.imputed(on_champion=False) or 0)] * scenario.instance.arms),
        RECORDED if life.recorded else STEADY if life.trend is None else 1 + TRENDS.index(life.trend),
        life.size,
        day_of(clock, expected),
        np.array(life.recorded or [[0.0] * scenario.instance.arms]),
        design.against,
    )
    noise = noise_of(design.law, continuous=scenario.algorithm.noise == "laplace")
    return world_of(people_of(scenario.instance, binarised), noise, clock, changes, expected)


def _chunks(runs: int, pieces: int) -> list[tuple[int, int]]:
    size = max(1, math.ceil(runs / pieces))
    return [(first, min(first + size, runs)) for first in range(0, runs, size)]


def _rows_here(scenario: Scenario, runs: int, seed: int, expected: float, progress: Progress | None) -> Rows:
    parts = []
    for first, last in _chunks(runs, 20 if progress else 1):
        parts.append(run_chunk(scenario, seed, first, last, scenario.cap, expected))
        if progress:
            progress(last, runs)
    return Rows.joined(parts)


def _rows_in_parallel(
    scenario: Scenario, runs: int, seed: int, expected: float, jobs: int, progress: Progress | None
) -> Rows:
    from joblib import Parallel, delayed, effective_n_jobs

    chunks = _chunks(runs, 4 * effective_n_jobs(jobs))
    tasks = (delayed(run_chunk)(scenario, seed, first, last, scenario.cap, expected) for first, last in chunks)
    parts = []
    for (_, last), rows in zip(chunks, Parallel(n_jobs=jobs, return_as="generator")(tasks), strict=True):
        parts.append(rows)
        if progress:
            progress(last, runs)
    return Rows.joined(parts)


__all__ = [
    "DEFAULT_MAX_SAMPLES",
    "UNDECIDED",
    "Progress",
    "Scenario",
    "make_scenario",
    "one_cap",
    "run_scenario",
    "scenario_of",
    "simulate",
]
