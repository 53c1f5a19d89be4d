"""Answers as JSON can carry them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any


def finite(value: Any) -> Any:
    """The same data with null where a number is not finite."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def second(at: int) -> str:
    """Seconds since 1970 as ISO 8601, UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat()
