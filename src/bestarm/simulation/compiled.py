"""The compiled simulator: one cached entry point for each algorithm of the catalogue, others compiled on the spot.

Numba caches an entry point only if it finds its rules as globals: functions passed in as arguments, and closures,
never hit the cache. Nor does the cache notice edits in other files, so its folder is named by a hash of all sources
that an entry point may be made of.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, TypeAlias

import numba
import numpy as np
from numba import njit
from numba.extending import register_jitable

from bestarm.policy import algorithm as interface
from bestarm.policy import (
    batching,
    elimination,
    evidence,
    evidence_belief,
    evidence_bets,
    evidence_cells,
    evidence_plan,
    record,
    sampling,
    stopping,
)
from bestarm.policy.algorithm import Algorithm
from bestarm.policy.catalogue import CATALOGUE
from bestarm.policy.record import IntArray
from bestarm.release import binomial, laws
from bestarm.simulation import driver, people

Run: TypeAlias = Callable[[np.random.Generator, Any, Any, int, IntArray], tuple[int, int, int]]

RULES: Final[tuple[ModuleType, ...]] = (
    record,
    interface,
    batching,
    sampling,
    stopping,
    elimination,
    people,
    driver,
)
"""The modules whose functions run compiled in the simulator and as they stand elsewhere."""

LARGE_RULES: Final[tuple[ModuleType, ...]] = (
    binomial,
    laws,
    evidence_belief,
    evidence_bets,
    evidence_cells,
    evidence_plan,
    evidence,
)
"""More such modules. Their functions do much work a call and are called from several places, so they stay functions."""

MAY_ALLOCATE: Final = ("start_", "new_", "pull_by_pull", "release_by_release")
"""Functions with these names may make arrays. All others work on arrays they are given and are compiled without
reference counting, which would cost ten times the work itself."""


def _cache_folder() -> Path:
    digest = hashlib.sha256(f"{sys.version} {numba.__version__} {np.__version__}".encode())
    for module in (*RULES, *LARGE_RULES, sys.modules[__name__]):
        digest.update(Path(str(module.__file__)).read_bytes())
    base = os.environ.get("BESTARM_CACHE") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "bestarm" / digest.hexdigest()[:16]


CACHE: Final = _cache_folder()
numba.config.CACHE_DIR = str(CACHE)

_registered: set[Callable[..., Any]] = set()


def register(rule: Callable[..., Any], may_allocate: bool, inline: bool = True) -> None:
    """Let compiled code call this plain function. One that was registered before stays as it is."""
    if rule not in _registered:
        _registered.add(rule)
        if may_allocate:
            register_jitable(error_model="numpy")(rule)
        else:
            register_jitable(error_model="numpy", _nrt=False, forceinline=inline)(rule)


def _functions(module: ModuleType) -> list[FunctionType]:
    return [
        value
        for value in vars(module).values()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    ]


for _module in (*RULES, *LARGE_RULES):
    for _function in _functions(_module):
        register(_function, _function.__name__.startswith(MAY_ALLOCATE), inline=_module not in LARGE_RULES)


def _run(rng: Any, world: Any, constants: Any, max_samples: int, per_arm: IntArray) -> Any:
    # A template: each entry point made from it has one algorithm's rules as its globals.
    return DRIVE(rng, world, constants, max_samples, per_arm, START, SIZE, RECRUIT, ASSIGNED, RELEASED, OVER, DRAW)  # type: ignore[name-defined]  # noqa: F821


def make_entry_point(algorithm: Algorithm, draw: Callable[..., float], cached: bool) -> Run:
    """The algorithm's run, compiled at its first call: (rng, world, constants, max_samples, per_arm) -> result."""
    rules: dict[str, Callable[..., Any]] = {
        "START": algorithm.start,
        "SIZE": algorithm.size,
        "RECRUIT": algorithm.recruit,
        "ASSIGNED": algorithm.assigned,
        "RELEASED": algorithm.released,
        "OVER": algorithm.over,
        "DRAW": draw,
        "DRIVE": driver.release_by_release if algorithm.holds else driver.pull_by_pull,
    }
    for event, rule in rules.items():
        register(rule, may_allocate=event in ("START", "DRAW"))
    name = _name_of(algorithm)
    run = FunctionType(_run.__code__, {**rules, "__name__": __name__}, name)
    run.__qualname__ = name
    compiled: Run = njit(cache=cached, error_model="numpy")(run)
    return compiled


def _name_of(algorithm: Algorithm) -> str:
    return f"run_{algorithm.name.replace('-', '_')}"


@cache
def entry_point(algorithm: Algorithm, sampler: Callable[[Any, int], float] | None = None) -> Run:
    """The entry point for built-in reward laws, or for a sampler of one's own (compiled on the spot)."""
    if sampler is None:
        return make_entry_point(algorithm, people.draw_release, CATALOGUE.get(algorithm.name) == algorithm)
    return make_entry_point(algorithm, _draw_with(sampler), cached=False)


def _draw_with(sampler: Callable[[Any, int], float]) -> Callable[..., float]:
    outcome = njit(sampler)
    draw_noise, round_at_random = people.draw_noise, people.round_at_random

    def draw(rng: np.random.Generator, world: people.World, arm: int, size: int) -> float:
        total = 0.0
        for _ in range(size):
            total += round_at_random(rng, outcome(rng, arm), world.noise.grid)
        return total + draw_noise(rng, world.noise)

    return draw


def is_compiled(algorithm: Algorithm) -> bool:
    """Whether this machine has a compiled entry point of the algorithm, so that a run starts at once."""
    compiled_before = CATALOGUE.get(algorithm.name) == algorithm and CACHE.is_dir()
    return compiled_before and any(CACHE.glob(f"**/*.{_name_of(algorithm)}-*.nbi"))
