"""The theory against numbers computed independently (tests/data/reference.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bestarm.theory import bounds, gaussian_beta_time, kl_time

REFERENCE: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "reference.json").read_text(encoding="utf-8")
)["instances"]
CELLS = [(instance, row) for instance in REFERENCE for row in instance["by_epsilon"]]
NAMES = [f"{instance['means']}-{row['epsilon']}" for instance, row in CELLS]


def best_first(means: list[float], weights: tuple[float, ...]) -> list[float]:
    return [weights[arm] for arm in sorted(range(len(means)), key=lambda arm: -means[arm])]


@pytest.mark.parametrize(("instance", "row"), CELLS, ids=NAMES)
def test_every_number_of_the_reference(instance: dict[str, Any], row: dict[str, Any]) -> None:
    found = bounds(instance["means"], row["epsilon"], instance["delta"])
    assert found.t_kl == pytest.approx(instance["t_kl"], rel=1e-9)
    assert found.t_tv == pytest.approx(instance["t_tv"], rel=1e-9)
    assert found.t_kl_beta_gaussian == pytest.approx(instance["t_kl_beta_half_gaussian"], rel=1e-9)
    assert found.regime_epsilon == pytest.approx(instance["regime_epsilon"], rel=1e-9)
    for name in ("t_private", "t_refined", "lower_bound", "lower_bound_corollary", "lower_bound_refined"):
        assert getattr(found, name) == pytest.approx(row[name], rel=1e-9), name
    assert found.upper_bound_rate == pytest.approx(row["upper_bound_rate"], rel=1e-9)
    assert best_first(instance["means"], found.allocation["kl"]) == pytest.approx(instance["w_kl_sorted"], abs=1e-6)
    assert best_first(instance["means"], found.allocation["refined"]) == pytest.approx(
        row["w_refined_sorted"], abs=1e-6
    )


def test_regime_is_high_privacy_exactly_below_the_meeting_point() -> None:
    means = REFERENCE[0]["means"]
    meeting = REFERENCE[0]["regime_epsilon"]
    assert bounds(means, meeting * 0.999, 0.01).regime == "high-privacy"
    assert bounds(means, meeting * 1.001, 0.01).regime == "low-privacy"


def test_allocation_keeps_the_arms_own_order() -> None:
    forward = bounds([0.95, 0.9, 0.9, 0.9, 0.5], 0.1, 0.01).allocation
    backward = bounds([0.5, 0.9, 0.9, 0.9, 0.95], 0.1, 0.01).allocation
    for name in ("kl", "tv", "private", "refined"):
        assert backward[name] == pytest.approx(forward[name][::-1], rel=1e-12)


def test_two_equal_gaussian_rivals_in_closed_form() -> None:
    # K = 2, beta = 1/2: 2/T = D^2/(2 + 2), so T = 8/D^2.
    assert gaussian_beta_time([0.5, 0.25]).time == pytest.approx(8 / 0.25**2, rel=1e-13)
    # beta = 1/4: 2/T = D^2/(4 + 4/3).
    assert gaussian_beta_time([0.25, 0.5], beta=0.25).time == pytest.approx(2 * (4 + 4 / 3) / 0.25**2, rel=1e-13)


def test_two_mirrored_arms_share_equally() -> None:
    found = kl_time([0.3, 0.7])
    assert found.weights == pytest.approx((0.5, 0.5), rel=1e-12)


@pytest.mark.parametrize("delta", [0.4, 0.6, 0.99])
def test_bounds_are_never_below_zero(delta: float) -> None:
    found = bounds([0.9, 0.1], 1.0, delta)
    assert found.lower_bound == found.lower_bound_corollary == 0.0
    assert found.lower_bound_refined == 0.0 if delta > 0.5 else found.lower_bound_refined > 0.0


def test_to_dict_has_the_promised_names() -> None:
    keys = bounds([0.9, 0.1], 1.0, 0.01).to_dict()
    assert list(keys) == [
        "t_kl",
        "t_tv",
        "t_private",
        "t_refined",
        "t_kl_beta_gaussian",
        "lower_bound",
        "lower_bound_corollary",
        "lower_bound_refined",
        "upper_bound_rate",
        "regime",
        "regime_epsilon",
        "allocation",
    ]
    assert sorted(keys["allocation"]) == ["kl", "private", "refined", "tv"]
