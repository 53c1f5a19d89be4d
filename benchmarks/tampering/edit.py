"""What an edit is, and other JSON in the place of some."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

DEEP: Final = "[" * 3000
"""JSON that goes deeper than a parser should follow."""
OTHER_JSON: Final[tuple[Any, ...]] = (
    "\ud800",
    None,
    True,
    0,
    -1,
    1.5,
    2**70,
    "",
    "x",
    "2031-01-01T00:00:00+00:00",
    [],
    [0],
    {},
    {"a": 1},
)
"""What is put into JSON in the place of an entry."""
Edit: TypeAlias = Callable[[Path], None]


@dataclass(frozen=True)
class Tampering:
    """One edit: where it is made, of what kind it is, of which trial, and in words."""

    place: str
    kind: str
    trial: str
    said: str
    edit: Edit


def said_of(value: Any) -> str:
    """The value in a few letters."""
    text = repr(value)
    return text if len(text) < 40 else f"{text[:36]}..."


def json_variants(data: Any) -> Iterator[tuple[str, Any]]:
    """The data with one thing changed, in every way there is; and what was done, in words."""
    if isinstance(data, dict):
        yield "an entry more", data | {"unheard of": 1}
    elif isinstance(data, list):
        yield "an element more", [*data, 1]
    for path in _paths(data):
        value = _at(data, path)
        for other in (*_json_nearby(value), *OTHER_JSON):
            if type(other) is not type(value) or other != value:
                yield f"{'.'.join(map(str, path))} becomes {said_of(other)}", with_other(data, path, other)
        yield f"{'.'.join(map(str, path))} is taken out", _without(data, path)


def _json_nearby(value: Any) -> list[Any]:
    if isinstance(value, str) and value:
        return [value[:-1], value + "0", value[::-1]]
    return [value + 1, value - 1] if isinstance(value, int | float) and not isinstance(value, bool) else []


def _paths(data: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for name, value in entries:
        yield (*before, name)
        yield from _paths(value, (*before, name))


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        data = data[name]
    return data


def with_other(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The data with another value there."""
    changed = copy.deepcopy(data)
    _at(changed, path[:-1])[path[-1]] = value
    return changed


def _without(data: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(data)
    del _at(changed, path[:-1])[path[-1]]
    return changed
