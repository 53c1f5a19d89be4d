"""Lengths of time as people write them: 30d, 12h, 90m, 45s, 2w."""

from __future__ import annotations

import re
from typing import Final

from bestarm.errors import InputError

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def duration(text: str | int, name: str = "The follow-up") -> int:
    """Whole seconds of a text such as 30d, 12h, 90m, 45s or 2w."""
    if isinstance(text, int) and not isinstance(text, bool):
        seconds = text
    else:
        match = re.fullmatch(r"([0-9]{1,9})([smhdw])", str(text).strip())
        if match is None:
            raise InputError(f"{name} is {text!r}; it takes a number with a unit: s, m, h, d or w, such as 30d.")
        seconds = int(match[1]) * _UNITS[match[2]]
    if not 0 < seconds <= 100 * 366 * 86400:
        raise InputError(f"{name} has to be longer than nothing and shorter than a century.")
    return seconds


def in_largest_unit(seconds: int) -> str:
    """The same length of time as `duration` takes it: 30d, 12h, 90m or 45s."""
    unit = next(unit for unit in "dhms" if seconds % _UNITS[unit] == 0)
    return f"{seconds // _UNITS[unit]}{unit}"
