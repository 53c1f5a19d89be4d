"""Answers and plain data, both ways: one rule for every answer, so that nothing gets lost on one of the ways."""

from __future__ import annotations

import math
import types
from dataclasses import MISSING, Field, fields
from typing import Any, ClassVar, Final, Literal, Self, Union, get_args, get_origin, get_type_hints

from bestarm.errors import InputError


class Answer:
    """A frozen dataclass that can be sent and read again. Its fields are the keys of its JSON, or name theirs in their
    metadata ("key"); types are built of text, numbers, truth values, None, Literals, tuples, dictionaries and other
    answers. A number that is not finite becomes null, as everywhere in JSON of ours."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    ALSO: ClassVar[tuple[str, ...]] = ()
    """Properties that stand in the JSON too; reading it again leaves them out, as they follow from the rest."""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        found = {}
        for key, name in _keys_of(type(self)):
            value = getattr(self, name)
            found[key] = value if type(value) in AS_IT_IS else plain(value)
        return found

    @classmethod
    def from_json(cls, data: object) -> Self:
        """From plain data. What is not known here is left out: a newer version may say more."""
        if not isinstance(data, dict):
            raise InputError(f"This is no {cls.__name__}: it has to be a JSON object.")
        values = {}
        for field in fields(cls):
            key = key_of(field)
            if key in data:
                values[field.name] = _read(types_of(cls)[field.name], data[key], f"{key} of {cls.__name__}")
            elif field.default is MISSING and field.default_factory is MISSING:
                raise InputError(f"This is no {cls.__name__}: {key} is missing.")
        return cls(**values)


def key_of(field: Field[Any]) -> str:
    """The field's key in JSON."""
    return str(field.metadata.get("key", field.name))


def _keys_of(kind: type[Answer]) -> tuple[tuple[str, str], ...]:
    # The keys of an answer's JSON, each with the name of what stands there.
    if kind not in _KEYS:
        _KEYS[kind] = (*((key_of(field), field.name) for field in fields(kind)), *((name, name) for name in kind.ALSO))
    return _KEYS[kind]


_KEYS: dict[type[Answer], tuple[tuple[str, str], ...]] = {}
AS_IT_IS: Final = frozenset((str, int, bool, type(None)))
"""Types that JSON carries as they are."""


def types_of(kind: type[Answer]) -> dict[str, Any]:
    """The types of an answer's fields, by name."""
    if kind not in _TYPES:
        _TYPES[kind] = get_type_hints(kind)
    return _TYPES[kind]


_TYPES: dict[type[Answer], dict[str, Any]] = {}


def plain(value: Any) -> Any:
    """The value as JSON can carry it: lists, objects, and null where a number is not finite."""
    if isinstance(value, Answer):
        return value.to_json()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _read(kind: Any, value: Any, where: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        kinds = [one for one in inner if one is not type(None)]
        if value is None and len(kinds) < len(inner):
            return None
        kind, origin, inner = kinds[0], get_origin(kinds[0]), get_args(kinds[0])
    if kind is Any:
        return value
    if isinstance(kind, type) and issubclass(kind, Answer):
        return kind.from_json(value)
    if origin is tuple and isinstance(value, list):
        return tuple(_read(inner[0], one, where) for one in value)
    if origin is dict and isinstance(value, dict):
        return {str(key): _read(inner[1], one, where) for key, one in value.items()}
    if origin is Literal and value in inner:
        return value
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if origin is None and isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise InputError(f"This cannot be read: {where} is {type(value).__name__}.")
