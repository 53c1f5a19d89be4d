"""A design read back: every choice is said, and what holds everything up is warned of."""

from __future__ import annotations

from typing import Any

import pytest

from bestarm.design import Design
from bestarm.sentences import cautions, lasting, sentences

PLAIN: dict[str, Any] = {"arms": ["a", "b"], "epsilon": "1", "delta": "0.05", "outcomes": "binary"}


def said(**changes: Any) -> str:
    return " ".join(sentences(Design.make(**(PLAIN | changes))))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Two arms are compared: a and b."),
        ({"arms": [str(n) for n in range(12)]}, "12 arms are compared: 0, 1,"),
        ({"what": "pain gone"}, "An outcome is one of two: pain gone. 1 is a success, 0 is none."),
        ({"lower_is_better": True}, "0 is a success, 1 is none."),
        ({"outcomes": "unit", "high": 10, "lower_is_better": True}, "a number from 0 to 10; less is better"),
        ({"delta": "0.001"}, "in at most 1 of 1,000 such trials"),
        ({"delta": "0.0123456789"}, "in at most a share 0.0123456789 of such trials"),
        ({"difference": "0.1"}, "the best one or less than 0.1 from it"),
        ({}, "at most 2.72 times likelier"),
        ({"epsilon": 100}, "so large a factor that it means little"),
        ({"privacy": "zcdp", "rho": "0.5"}, "0.5-zCDP"),
        ({"privacy": "none", "algorithm": "ttucb"}, "Nothing is promised about privacy"),
        ({"privacy": "local"}, "before it is kept"),
        ({"follow_up": "30d"}, "due 30 days after enrolment. Whoever has none by then, or drops out, counts as 0."),
        ({"follow_up": "1h", "withdrawal": "impute:1"}, "due 1 hour after enrolment"),
        ({"follow_up": "1h", "withdrawal": "against"}, "counts against the arm that leads"),
        ({"algorithm": "adap-tt", "withdrawal": "replace"}, "drops out is replaced by somebody else"),
        ({}, "An outcome counts whenever it comes"),
        ({"max_participants": 1500}, "At most 1,500 participants"),
        ({"follow_up": "1d", "contributions": 3}, "up to 3 times"),
        ({}, "The algorithm is evidence, revision"),
    ],
)
def test_every_choice_is_said(changes: dict[str, Any], expected: str) -> None:
    assert expected in said(**changes)


def test_a_missing_follow_up_is_warned_of() -> None:
    assert any("holds up" in line for line in cautions(Design.make(**PLAIN)))
    assert cautions(Design.make(**PLAIN, follow_up="30d")) == []


def test_lengths_of_time_in_words() -> None:
    assert [lasting(seconds) for seconds in (1, 90, 7200, 86400)] == ["1 second", "90 seconds", "2 hours", "1 day"]
