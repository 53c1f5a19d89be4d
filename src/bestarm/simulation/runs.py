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
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np

from bestarm.errors import InputError
from bestarm.instance import Instance, Sampled
from bestarm.policy.algorithm import PRIVACY_MODELS, UNDECIDED, Algorithm, Design
from bestarm.policy.catalogue import find
from bestarm.simulation.people import World, noise_of, people_of
from bestarm.simulation.results import Results

DEFAULT_MAX_SAMPLES: Final = 10**8
LARGEST_MAX_SAMPLES: Final = 10**15

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
        return {
            "algorithm": self.algorithm.name,
            "revision": self.algorithm.revision,
            "laws": laws,
            **asdict(self.design),
        }

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
    indifference: float = 0.0,
    beta: float = 0.5,
    s: float = 2.0,
) -> Scenario:
    """Check everything a user can get wrong, and fill in what follows from the algorithm."""
    chosen = find(algorithm)
    model = privacy or chosen.privacy[0]
    if model not in PRIVACY_MODELS:
        raise InputError(f"There is no privacy model {model!r}; there are: {', '.join(PRIVACY_MODELS)}.")
    if not 0 < delta < 1:
        raise InputError(f"The risk delta is {delta}; it must lie strictly between 0 and 1.")
    if not 0 < beta < 1:
        raise InputError(f"The leader's share beta is {beta}; it must lie strictly between 0 and 1.")
    if not s > 1 or not math.isfinite(s):
        raise InputError(f"The exponent s is {s}; it must be a finite number above 1.")
    if not 0 <= indifference < 1:
        raise InputError(f"The indifference zone is {indifference}; it must be at least 0 and below 1.")
    design = Design(
        arms=instance.arms,
        delta=delta,
        epsilon=_budget(model, epsilon),
        privacy=model,
        rho=_rho(model, rho),
        indifference=indifference,
        beta=beta,
        s=s,
        binary=instance.binary,
    )
    chosen.check(design)
    if instance.tied and indifference == 0:
        raise InputError(
            f"The best mean, {max(instance.means)}, is shared by several arms, so no arm can be proven best; "
            "give a unique best arm, or an indifference zone with --indifference."
        )
    return Scenario(chosen, instance, design)


def _budget(model: str, epsilon: float | None) -> float:
    if model in ("none", "zcdp"):
        return math.inf
    if epsilon is None:
        raise InputError(f"The privacy model {model} needs a budget --epsilon, a positive number.")
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise InputError(f"The privacy budget epsilon is {epsilon}; it must be a positive, finite number.")
    return float(epsilon)


def _rho(model: str, rho: float | None) -> float | None:
    if model != "zcdp":
        return None
    if rho is None or not (rho > 0 and math.isfinite(rho)):
        raise InputError("The privacy model zcdp needs its budget --rho, a positive, finite number.")
    return float(rho)


def simulate(
    algorithm: str | Algorithm = "evidence",
    *,
    means: Sequence[float] | None = None,
    instance: Instance | None = None,
    epsilon: float | None = None,
    delta: float = 0.01,
    runs: int = 1000,
    seed: int = 0,
    jobs: int = 1,
    max_samples: int = DEFAULT_MAX_SAMPLES,
    privacy: str | None = None,
    rho: float | None = None,
    indifference: float = 0.0,
    beta: float = 0.5,
    s: float = 2.0,
    progress: Progress | None = None,
) -> Results:
    """Run an algorithm `runs` times on an instance (or Bernoulli arms with `means`) and return every run's outcome.

    The results do not depend on `jobs`. To use a cluster, call inside `joblib.parallel_config` with its backend and
    `jobs=-1`. A run that has not stopped after `max_samples` people counts as undecided.
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
        indifference=indifference,
        beta=beta,
        s=s,
    )
    return run_scenario(scenario, runs=runs, seed=seed, jobs=jobs, max_samples=max_samples, progress=progress)


def run_scenario(
    scenario: Scenario,
    *,
    runs: int,
    seed: int,
    jobs: int = 1,
    max_samples: int = DEFAULT_MAX_SAMPLES,
    progress: Progress | None = None,
) -> Results:
    """All runs of a scenario that has been checked."""
    if runs < 1:
        raise InputError(f"{runs} runs asked for; at least 1 is needed.")
    if seed < 0:
        raise InputError(f"The seed is {seed}; it must be a whole number from 0.")
    if jobs < 1 and jobs != -1:
        raise InputError(f"{jobs} jobs asked for; give a number from 1, or -1 for all cores.")
    if not scenario.instance.arms <= max_samples <= LARGEST_MAX_SAMPLES:
        raise InputError(
            f"A cap of {max_samples} samples a run is impossible; "
            f"it must lie between the number of arms, {scenario.instance.arms}, and {LARGEST_MAX_SAMPLES:.0e}."
        )
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
    binarised = scenario.algorithm.binarises or scenario.design.privacy == "local"
    run = entry_point(scenario.algorithm, drawn[0] if drawn and not binarised else None)
    constants = scenario.algorithm.constants(scenario.design)
    design = replace(scenario.design, binary=True) if binarised else scenario.design
    world = World(people_of(scenario.instance, binarised), noise_of(scenario.algorithm, design))
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


__all__ = ["DEFAULT_MAX_SAMPLES", "UNDECIDED", "Progress", "Scenario", "make_scenario", "run_scenario", "simulate"]
