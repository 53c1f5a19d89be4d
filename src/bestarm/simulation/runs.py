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
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from bestarm.design import DEFAULT_ALGORITHM, Design, resolve
from bestarm.errors import InputError
from bestarm.instance import Instance, Sampled
from bestarm.policy.algorithm import UNDECIDED, Algorithm
from bestarm.policy.catalogue import find
from bestarm.release.models import COIN
from bestarm.simulation.people import World, noise_of, people_of
from bestarm.simulation.results import Results
from bestarm.theory import lower_bound

DEFAULT_MAX_SAMPLES: Final = 10**8

DECIDES: Final[tuple[str, ...]] = (
    "delta",
    "privacy",
    "epsilon",
    "rho",
    "outcomes",
    "encoding",
    "difference",
    "base",
    "beta",
    "s",
)
"""The parts of a design that decide a run; a run that is capped later is the same run."""

Progress: TypeAlias = Callable[[int, int], None]
"""Told (runs finished, runs in all) from time to time."""


@dataclass(frozen=True)
class Scenario:
    """One cell of a study: an algorithm with its design, on an instance."""

    algorithm: Algorithm
    instance: Instance
    design: Design

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
        return {"algorithm": self.algorithm.name, "revision": self.algorithm.revision, "laws": laws, **settings}

    @property
    def cap(self) -> int:
        """A run that has not stopped after so many people is undecided."""
        return self.design.max_participants or DEFAULT_MAX_SAMPLES

    def lower_bound(self) -> float | None:
        """What no method can do with less of: `theory.lower_bound` of the instance under this promise."""
        design = self.design
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
    difference: object = None,
    indifference: object = None,
    base: object = None,
    max_participants: int | None = None,
    beta: float = 0.5,
    s: float = 2.0,
) -> Scenario:
    """Check everything a user can get wrong, and fill in what follows from the algorithm.

    The fixed design is planned with the base rate it will meet, the second best mean, unless another is given.
    """
    chosen = find(algorithm)
    if base is None and chosen.needs_base:
        base = sorted(instance.means)[-2]
    design = Design.make(
        arms=instance.arms,
        delta=delta,
        epsilon=epsilon,
        rho=rho,
        privacy=privacy,
        algorithm=chosen,
        outcomes="binary" if instance.binary else "unit",
        difference=difference,
        indifference=indifference,
        base=base,
        max_participants=max_participants,
        beta=beta,
        s=s,
    )
    return scenario_of(design, instance, chosen)


def scenario_of(design: Design, instance: Instance, algorithm: Algorithm | None = None) -> Scenario:
    """A design on an instance. An algorithm of one's own comes as an object; all others are named in the design."""
    if instance.tied and design.difference == 0 and design.max_participants is None:
        raise InputError(
            f"The best mean, {max(instance.means)}, is shared by several arms, so no arm can be proven best; "
            "give a unique best arm, the smallest difference that matters (--difference), or a largest number of "
            "participants."
        )
    return Scenario(algorithm or resolve(design.identity), instance, design)


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
    privacy: str | None = None,
    rho: float | None = None,
    difference: object = None,
    indifference: object = None,
    base: object = None,
    beta: float = 0.5,
    s: float = 2.0,
    progress: Progress | None = None,
) -> Results:
    """Run an algorithm `runs` times on an instance (or Bernoulli arms with `means`) and return every run's outcome.

    The results do not depend on `jobs`. To use a cluster, call inside `joblib.parallel_config` with its backend and
    `jobs=-1`. A run that has not stopped after `max_participants` (or `max_samples`, the same) counts as undecided.
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
        difference=difference,
        indifference=indifference,
        base=base,
        max_participants=one_cap(max_participants, max_samples),
        beta=beta,
        s=s,
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
    max_samples = scenario.cap
    _compile(scenario)
    begin = time.perf_counter()
    if jobs == 1:
        rows = _rows_here(scenario, runs, seed, max_samples, progress)
    else:
        rows = _rows_in_parallel(scenario, runs, seed, max_samples, jobs, progress)
    return Results.of(scenario.describe(), scenario.instance, seed, max_samples, rows, time.perf_counter() - begin)


def _compile(scenario: Scenario) -> None:
    """Compile in this process first: numba's cache races when several processes compile at once."""
    from numba.core.errors import NumbaError

    try:
        run_chunk(scenario, 0, 0, 1, scenario.instance.arms)
    except NumbaError as error:
        raise InputError(
            f"The algorithm {scenario.algorithm.name} cannot be compiled: its rules may use math, loops and array "
            "indexing, and only `start` may make arrays (the cause has the compiler's words)."
        ) from error


def run_chunk(scenario: Scenario, seed: int, first: int, last: int, max_samples: int) -> np.ndarray[Any, Any]:
    """Runs first..last-1: a row each of people, recommended arm, releases, people per arm."""
    from bestarm.simulation.compiled import entry_point

    drawn = [law.draw for law in scenario.instance.laws if isinstance(law, Sampled)]
    binarised = scenario.design.encoding == COIN
    run = entry_point(scenario.algorithm, drawn[0] if drawn and not binarised else None)
    constants = scenario.algorithm.constants(scenario.design.numbers())
    noise = noise_of(scenario.design.law, continuous=scenario.algorithm.noise == "laplace")
    world = World(people_of(scenario.instance, binarised), noise)
    key = scenario.key()
    rows = np.zeros((last - first, 3 + scenario.instance.arms), np.int64)
    for row, replicate in zip(rows, range(first, last), strict=True):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(*key, replicate))))
        row[:3] = run(rng, world, constants, max_samples, row[3:])
    return rows


def _chunks(runs: int, pieces: int) -> list[tuple[int, int]]:
    size = max(1, math.ceil(runs / pieces))
    return [(first, min(first + size, runs)) for first in range(0, runs, size)]


def _rows_here(
    scenario: Scenario, runs: int, seed: int, max_samples: int, progress: Progress | None
) -> np.ndarray[Any, Any]:
    parts = []
    for first, last in _chunks(runs, 20 if progress else 1):
        parts.append(run_chunk(scenario, seed, first, last, max_samples))
        if progress:
            progress(last, runs)
    return np.concatenate(parts)


def _rows_in_parallel(
    scenario: Scenario, runs: int, seed: int, max_samples: int, jobs: int, progress: Progress | None
) -> np.ndarray[Any, Any]:
    from joblib import Parallel, delayed, effective_n_jobs

    chunks = _chunks(runs, 4 * effective_n_jobs(jobs))
    tasks = (delayed(run_chunk)(scenario, seed, first, last, max_samples) for first, last in chunks)
    parts = []
    for (_, last), rows in zip(chunks, Parallel(n_jobs=jobs, return_as="generator")(tasks), strict=True):
        parts.append(rows)
        if progress:
            progress(last, runs)
    return np.concatenate(parts)


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
