"""Times in the books (microseconds since 1970) as text."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=1024)
def moment(at: int) -> str:
    """ISO 8601, UTC, to the second."""
    return datetime.fromtimestamp(at // 1_000_000, UTC).isoformat()
