"""Bad input is refused with a sentence that says what is wrong and what is allowed."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bestarm.errors import InputError
from bestarm.theory import bounds, private_time, refined_time

GOOD: dict[str, Any] = {"means": [0.9, 0.5], "epsilon": 1.0, "delta": 0.1, "beta": 0.5}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"means": [0.9]}, "two arms"),
        ({"means": []}, "two arms"),
        ({"means": [0.9, 1.2]}, "arm 1 is 1.2"),
        ({"means": [0.9, -0.1]}, "between 0 and 1"),
        ({"means": [0.9, math.nan]}, "between 0 and 1"),
        ({"means": ["a", "b"]}, "numbers"),
        ({"means": [[0.1], [0.2]]}, "two arms"),
        ({"means": [0.0, 5e-324]}, "at least 1e-100"),
        ({"epsilon": 0.0}, "positive"),
        ({"epsilon": -1.0}, "positive"),
        ({"epsilon": math.nan}, "positive"),
        ({"epsilon": math.inf}, "finite"),
        ({"delta": 0.0}, "between 0 and 1"),
        ({"delta": 1.0}, "between 0 and 1"),
        ({"delta": math.nan}, "between 0 and 1"),
        ({"beta": 0.0}, "between 0 and 1"),
        ({"beta": 1.0}, "between 0 and 1"),
    ],
)
def test_refused_in_one_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        bounds(**{**GOOD, **change})
    assert "\n" not in str(caught.value)


def test_a_tied_best_arm_says_why() -> None:
    with pytest.raises(InputError, match=r"Arms 0, 2 tie .* tell equal arms apart") as caught:
        bounds([0.9, 0.1, 0.9], 1.0, 0.1)
    assert "exactly one arm" in str(caught.value)


def test_single_times_check_their_input_too() -> None:
    with pytest.raises(InputError, match="positive"):
        refined_time([0.9, 0.5], 0.0)
    with pytest.raises(InputError, match="tie"):
        private_time([0.5, 0.5], 1.0)
