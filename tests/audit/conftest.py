"""Nothing is planned twice: replays run the same public record again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bestarm.policy.evidence import plan, policy, stake


@pytest.fixture(scope="module", autouse=True)
def planned_once() -> Iterator[None]:
    """Remember what a search for a bet found. It is a function of its arguments alone, and most of a replay's work."""
    found: dict[Any, stake.Candidate] = {}
    search = stake.choose_bet

    def remembered(*given: Any) -> stake.Candidate:
        key = _values(given)
        if key not in found:
            found[key] = search(*given)
        return found[key]

    with pytest.MonkeyPatch.context() as patch:
        for module in (plan, policy):
            patch.setattr(module, "choose_bet", remembered)
        yield


def _values(given: Any) -> Any:
    if isinstance(given, tuple):
        return tuple(map(_values, given))
    return given.tobytes() if hasattr(given, "tobytes") else given
