"""Whether two files say the same: to the letter, but for fractions, which may differ after the sixth digit.

Intervals and evidence are computed in floating point, and another machine may round the last digits otherwise.
"""

from __future__ import annotations

import csv
import io
import json
import math
from typing import Any, Final

DIGITS: Final = 1e-6
"""Fractions that differ by less than this share of themselves are the same."""
NEXT_TO_NOTHING: Final = 1e-9
"""And so are those that differ by no more than this."""


def same_files(name: str, first: str, second: str) -> bool:
    """Whether two texts of a file of this name, CSV or JSON, say the same. What cannot be read says nothing."""
    read = _rows if name.endswith(".csv") else read_json
    try:
        return _same(read(first), read(second))
    except (ValueError, RecursionError, csv.Error):
        return False


def read_json(text: str) -> Any:
    """The data, if no key stands twice: to some readers the first would count, to others the last."""
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("A key stands twice.")
    return found


def _rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), strict=True))


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_same, one, two))
    if type(one) is type(two) and one == two:
        return True
    first, second = _fraction(one), _fraction(two)
    return (
        first is not None
        and second is not None
        and math.isclose(first, second, rel_tol=DIGITS, abs_tol=NEXT_TO_NOTHING)
    )


def _fraction(value: Any) -> float | None:
    # A number with a decimal point; in CSV it is text. Whole numbers (people, stages) have to be the same exactly.
    if isinstance(value, str) and value.isascii() and "_" not in value and set(value) & {".", "e"}:
        try:
            return float(value)
        except ValueError:
            return None
    return value if isinstance(value, float) else None
