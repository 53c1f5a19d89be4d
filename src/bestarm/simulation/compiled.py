"""The compiled simulator: one cached entry point for each algorithm of the catalogue, others compiled on the spot.

Numba caches an entry point only if it finds its rules as globals: functions passed in as arguments, and closures,
never hit the cache. Nor does the cache notice edits in other files, so its folder is named by the sources of all rules
that an entry point may be made of.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numba
import numpy as np
from numba import njit
from numba.extending import register_jitable

from bestarm.policy.algorithm import Algorithm, Staged
from bestarm.policy.catalogue import CATALOGUE
from bestarm.rules import DECLARED, Declaration
from bestarm.simulation import by_the_clock, driver, people
from bestarm.simulation.driver import Run, driving


def _cache_folder() -> Path:
    """Named by everything that the compiled code of the package depends on."""
    digest = hashlib.sha256(f"{sys.version} {numba.__version__} {np.__version__}".encode())
    modules = {rule.__module__ for rule in DECLARED} | {driver.__name__, by_the_clock.__name__, __name__}
    for module in sorted(modules):
        digest.update(Path(str(sys.modules[module].__file__)).read_bytes())
    for algorithm in CATALOGUE.values():
        digest.update(f"{algorithm.identity} {algorithm.fingerprint}".encode())
    base = os.environ.get("BESTARM_CACHE") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "bestarm" / digest.hexdigest()[:16]


CACHE: Final = _cache_folder()
numba.config.CACHE_DIR = str(CACHE)

BUILT_IN: Final[dict[str, Callable[..., Any]]] = {
    "draw": people.draw_release,
    "count": people.draw_counted,
    "blur": people.draw_blur,
}
"""How releases come about when the reward laws are those of `instance`."""

_registered: set[Callable[..., Any]] = set()


def register(rule: Callable[..., Any], declaration: Declaration) -> None:
    """Let compiled code call this plain function. One that was registered before stays as it is."""
    if rule not in _registered:
        _registered.add(rule)
        if declaration.allocates:
            register_jitable(error_model="numpy")(rule)
        else:
            register_jitable(error_model="numpy", _nrt=False, forceinline=declaration.inline)(rule)


def make_entry_point(
    algorithm: Algorithm, world: dict[str, Callable[..., Any]], cached: bool, timed: bool = False
) -> Run:
    """The algorithm's run, compiled at its first call: (rng, world, constants, max_samples, per_arm) -> result.

    `timed` runs go by the clock. A rule that was not declared counts as a small one; only `start` and the world may
    make arrays then.
    """
    for rule, declaration in list(DECLARED.items()):
        register(rule, declaration)
    for event, rule in (algorithm.rules | world).items():
        register(rule, Declaration(allocates=event == "start" or event in world, inline=True))
    compiled: Run = njit(cache=cached, error_model="numpy")(driving(algorithm, world, timed))
    return compiled


@cache
def entry_point(algorithm: Algorithm, sampler: Callable[[Any, int], float] | None = None, timed: bool = False) -> Run:
    """The entry point for built-in reward laws, or for a sampler of one's own (compiled on the spot)."""
    if timed and isinstance(algorithm, Staged):
        return entry_point(algorithm, sampler)
    if sampler is None:
        return make_entry_point(algorithm, BUILT_IN, CATALOGUE.get(algorithm.name) == algorithm, timed)
    return make_entry_point(algorithm, _draw_with(sampler), False, timed)


def _draw_with(sampler: Callable[[Any, int], float]) -> dict[str, Callable[..., Any]]:
    outcome = njit(sampler)
    draw_noise, round_at_random = people.draw_noise, people.round_at_random
    draw_missing, draw_imputed = people.draw_missing, people.draw_imputed
    moved_mean, draw_shifted = people.moved_mean, people.draw_shifted

    @register_jitable(error_model="numpy")  # type: ignore[untyped-decorator]
    def count(rng: np.random.Generator, world: people.World, arm: int, size: int, at: float) -> float:
        gone = draw_missing(rng, world, arm, size)
        mean = moved_mean(world, arm, at)
        shifted = draw_shifted(rng, world, arm, size - gone, mean)
        total = float(shifted) if mean > world.people.mean[arm] else 0.0
        for _ in range(size - gone - shifted):
            total += round_at_random(rng, outcome(rng, arm), world.noise.grid)
        return total + draw_imputed(rng, world, arm, gone)

    def draw(rng: np.random.Generator, world: people.World, arm: int, size: int) -> float:
        return float(count(rng, world, arm, size, 0.0)) + draw_noise(rng, world.noise)

    return {"draw": draw, "count": count, "blur": people.draw_blur}


def is_compiled(algorithm: Algorithm, timed: bool = False) -> bool:
    """Whether this machine has a compiled entry point of the algorithm, so that a run starts at once."""
    compiled_before = CATALOGUE.get(algorithm.name) == algorithm and CACHE.is_dir()
    return compiled_before and any(CACHE.glob(f"**/*.{driving(algorithm, BUILT_IN, timed).__name__}-*.nbi"))
