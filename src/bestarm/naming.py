"""Algorithms by name: those of the catalogue, and those of one's own as "module:name"."""

from __future__ import annotations

import importlib
import sys

from bestarm.errors import InputError
from bestarm.policy.algorithm import Algorithm
from bestarm.policy.catalogue import find


def resolve(algorithm: str | Algorithm) -> Algorithm:
    """An algorithm of the catalogue, one's own, or "module:name" of one's own; text may end in its revision, @2."""
    if isinstance(algorithm, Algorithm) or ":" not in algorithm:
        return find(algorithm)
    module, _, name = unversioned(algorithm).partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever goes wrong in somebody's own module
        raise InputError(f"There is no algorithm {algorithm!r}: {error}.") from error
    if not isinstance(found, Algorithm):
        raise InputError(f"{algorithm!r} is not an Algorithm of bestarm.")
    if "@" in algorithm and algorithm.partition("@")[2] != str(found.revision):
        raise InputError(f"The algorithm {algorithm!r} is not there any more; its revision is {found.revision} now.")
    return found


def resolve_loaded(algorithm: str | Algorithm) -> Algorithm:
    """The same for names that may come over the network: "module:name" only of a module that is imported already."""
    if isinstance(algorithm, str) and ":" in algorithm and algorithm.partition(":")[0] not in sys.modules:
        raise InputError(f"There is no algorithm {algorithm!r} here: its module has not been imported.")
    return resolve(algorithm)


def unversioned(algorithm: str) -> str:
    """The name without its revision."""
    return algorithm.partition("@")[0]
