"""The policy's state as named arrays: for the books, and back. A field named `scratch` is work space, and not kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def named_arrays(state: Any, prefix: str = "") -> Iterator[tuple[str, Array]]:
    """Every array of a state, tuples within tuples included, under a name that says where it sits."""
    names = getattr(state, "_fields", None) or [str(place) for place in range(len(state))]
    for name, part in zip(names, state, strict=True):
        if name == "scratch":
            continue
        if isinstance(part, tuple):
            yield from named_arrays(part, f"{prefix}{name}.")
        else:
            yield prefix + name, part


def to_bytes(state: Any) -> dict[str, bytes]:
    """The bytes of each array."""
    return {name: array.tobytes() for name, array in named_arrays(state)}


def fill(state: Any, saved: dict[str, bytes]) -> bool:
    """Write saved bytes into the arrays of a fresh state; False, and nothing written, if the layout is another one."""
    arrays = dict(named_arrays(state))
    if arrays.keys() != saved.keys() or any(array.nbytes != len(saved[name]) for name, array in arrays.items()):
        return False
    for name, array in arrays.items():
        array[...] = np.frombuffer(saved[name], array.dtype).reshape(array.shape)
    return True


def differing(left: Any, right: Any) -> str | None:
    """The name of the first array in which two states differ beyond rounding, if any."""
    for (name, one), (_, other) in zip(named_arrays(left), named_arrays(right), strict=True):
        if not np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True):
            return name
    return None
