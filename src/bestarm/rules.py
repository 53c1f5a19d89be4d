"""Rules: plain functions that run as they stand in a live trial and compiled in the simulator.

`@rule` declares that where the function is written. Declaring changes nothing about the function: it is noted here, and
the simulator compiles every function noted. A rule uses `math`, loops and array indexing; it works on arrays it is
given, unless it says that it `allocates`.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Final, TypeVar, overload

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Declaration:
    """How a rule is to be compiled."""

    allocates: bool
    """It makes arrays. All others are compiled without reference counting, which would cost ten times their work."""
    inline: bool
    """It is small, and becomes part of its callers. Large rules that are called from several places stay functions."""


DECLARED: Final[dict[Callable[..., Any], Declaration]] = {}
"""Every rule of the package and of whoever imported it."""


@overload
def rule(function: Function, /) -> Function: ...
@overload
def rule(*, allocates: bool = ..., inline: bool = ...) -> Callable[[Function], Function]: ...
def rule(function: Any = None, /, *, allocates: bool = False, inline: bool = True) -> Any:
    """Declare a function to be a rule; the function itself stays as it is."""

    def declare(one: Function) -> Function:
        DECLARED[one] = Declaration(allocates, inline)
        return one

    return declare if function is None else declare(function)


def fingerprint(*functions: Callable[..., Any]) -> str:
    """Names what these functions compute: a hash of their sources, of all functions they call within Python sources
    that declare rules, and of every number they read. Two sets of rules with one fingerprint decide alike.
    """
    digest = hashlib.sha256()
    for text in sorted(set(_texts(functions))):
        digest.update(text.encode())
    return digest.hexdigest()[:16]


def _texts(functions: tuple[Callable[..., Any], ...]) -> Iterator[str]:
    waiting = list(functions)
    seen: set[Callable[..., Any]] = set()
    while waiting:
        function = waiting.pop()
        if function in seen or not isinstance(function, FunctionType):
            continue
        seen.add(function)
        yield f"{function.__qualname__} {_source(function)} {function.__defaults__}"
        for name, value in _reached(function):
            if isinstance(value, FunctionType):
                if value.__module__.startswith("bestarm.") or value in DECLARED:
                    waiting.append(value)
            elif isinstance(value, bool | int | float | str | tuple):
                yield f"{name} = {value!r}"
            elif isinstance(value, np.ndarray):
                yield f"{name} = {value.dtype} {value.tobytes().hex()}"


def _source(function: FunctionType) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # made at run time: its code is all there is
        return f"{function.__code__.co_code.hex()} {function.__code__.co_consts}"


def _reached(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Every global, and every variable of an enclosing function, that the code names."""
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
