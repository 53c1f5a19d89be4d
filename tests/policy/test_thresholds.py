"""Thresholds against independently computed numbers, and C_G over its whole range against a plain search."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from bestarm.errors import InputError
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import new_record, open_batch, release
from bestarm.policy.stopping import phase_glr_constants, phase_threshold, private_glr_constants, private_threshold
from bestarm.policy.thresholds import MAX_PHASES, c_gauss, c_nonprivate, c_private
from bestarm.release import pure_law
from tests.naive.paper import c_gauss as naive_c_gauss

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "reference.json").read_text())


@pytest.mark.parametrize("row", REFERENCE["c_gauss"])
def test_c_gauss_matches_the_reference(row: dict[str, float]) -> None:
    assert float(c_gauss(row["x"])) == pytest.approx(row["value"], rel=1e-8)


@pytest.mark.parametrize("row", REFERENCE["c_nonprivate"])
def test_c_nonprivate_matches_the_reference(row: dict[str, float]) -> None:
    value = c_nonprivate(row["k"], row["n"], row["m"], int(row["K"]), row["delta"], row["s"])
    assert value == pytest.approx(row["value"], rel=1e-8)


@pytest.mark.parametrize("row", REFERENCE["c_private"])
def test_c_private_matches_the_reference(row: dict[str, float]) -> None:
    value = c_private(
        int(row["k1"]), int(row["k2"]), row["n"], row["m"], int(row["K"]), row["epsilon"], row["delta"], row["s"]
    )
    assert value == pytest.approx(row["value"], rel=1e-8)


def test_c_gauss_is_accurate_over_its_whole_range() -> None:
    x = np.geomspace(0.01, 1e4, 60)
    np.testing.assert_allclose(c_gauss(x), [naive_c_gauss(float(v)) for v in x], rtol=1e-9)


def test_c_gauss_grows_like_x_plus_log_x() -> None:
    assert float(c_gauss(1e4)) == pytest.approx(1e4 + math.log(1e4), rel=1e-3)


@pytest.mark.parametrize("x", [0.0, -1.0, math.nan])
def test_c_gauss_refuses_what_it_is_not_defined_for(x: float) -> None:
    with pytest.raises(InputError, match="positive"):
        c_gauss(x)


@pytest.mark.parametrize(("k1", "k2"), [(1, 1), (2, 5), (11, 9), (30, 2)])
def test_the_rules_look_up_what_the_formulas_say(k1: int, k2: int) -> None:
    design = Numbers(4, 0.03, pure_law(0.4))
    record = new_record(4)
    for arm, phases in ((0, k1), (2, k2)):
        for phase in range(1, phases + 1):
            size = 1 if phase == 1 else 2 ** (phase - 2)
            open_batch(record, arm, size)
            release(record, arm, size, 0.0)
    n, m = int(record.last_size[0]), int(record.last_size[2])
    assert private_threshold(record, private_glr_constants(design), 0, 2) == pytest.approx(
        c_private(k1, k2, n, m, 4, 0.4, 0.03), rel=1e-12
    )
    assert phase_threshold(record, phase_glr_constants(design), 0, 2) == pytest.approx(
        c_nonprivate(k1 * k2, n, m, 4, 0.03), rel=1e-12
    )


def test_the_table_of_phases_outlasts_any_run() -> None:
    assert 2 ** (MAX_PHASES - 2) > 10**15
