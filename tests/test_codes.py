"""Two ways of writing a code are one person, what is no code is refused, and the likely slips are tried."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestarm.codes import AS_TYPED, FOLDED, another_number, code_of, folded, slips_of
from bestarm.errors import InputError


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("P-001", "p-001"),
        ("  p-001 ", "p-001"),
        ("\u00a0p-001\u3000", "p-001"),
        ("Ｐ－００１", "p-001"),
        ("STRASSE", "strasse"),
        ("straße", "strasse"),
        ("e\u0301va", "\u00e9va"),
        ("ﬁ-7", "fi-7"),
        (17, "17"),
        (np.int64(17), "17"),
    ],
)
def test_two_ways_of_writing_a_code_are_one(written: object, code: str) -> None:
    assert code_of(written, FOLDED) == code


@given(st.text(min_size=1, max_size=30))
def test_folding_again_changes_nothing(text: str) -> None:
    once = folded(text)
    assert folded(once) == once
    assert folded(f" {text}\t") == once


@pytest.mark.parametrize(
    "written",
    [
        None,
        math.nan,
        np.nan,
        1.5,
        17.0,
        True,
        b"p",
        ["p"],
        "",
        "  ",
        "\u3000",
        "nan",
        "NaN",
        " None ",
        "null",
        "a\u200bb",
    ],
)
def test_what_is_no_code_is_refused(written: Any) -> None:
    with pytest.raises(InputError):
        code_of(written, FOLDED)


def test_a_design_that_names_no_rule_takes_codes_as_they_were_typed() -> None:
    assert code_of("P-1 ", AS_TYPED) == "P-1 "
    with pytest.raises(InputError):
        code_of(" ", AS_TYPED)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("p-0o1", "p-001"),
        ("p-oo1", "p-001"),
        ("p-0l1", "p-011"),
        ("p-010", "p-001"),
        ("p001", "p-001"),
        ("p-1", "p-001"),
        ("p-0001", "p-001"),
        ("q-001", "p-001"),
        ("p-01", "p-011"),
        ("p-0011", "p-001"),
        ("p_001", "p-001"),
        ("p-0o5", "p-5"),
        ("мария", "мария-"),
    ],
)
def test_likely_slips_are_tried(typed: str, meant: str) -> None:
    assert meant in set(slips_of(typed))


@pytest.mark.parametrize(
    ("code", "other", "series"),
    [
        ("p-001", "p-002", True),
        ("p-1", "p-001", False),
        ("p-0o1", "p-001", False),
        ("7", "17", True),
        ("a7", "b7", False),
    ],
)
def test_the_next_number_of_a_series_is_told_from_a_slip(code: str, other: str, series: bool) -> None:
    assert another_number(code, other) == series


def test_no_slip_is_tried_twice_nor_the_code_itself_and_long_codes_are_left_alone() -> None:
    tried = list(slips_of("p-001"))
    assert len(tried) == len(set(tried)) < 2000
    assert "p-001" not in tried
    assert list(slips_of("x" * 200)) == []
