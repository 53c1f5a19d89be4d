"""Estimates follow from releases by the law of the design's noise, in the outcome's own units."""

from __future__ import annotations

from typing import Any

import pytest

from bestarm.policy.intervals import confidence_interval
from bestarm.release import laws
from bestarm.trial import estimates
from bestarm.trial.estimates import estimates_of
from bestarm.trial.public import Released
from tests.trial.test_same_as_simulated import rules_for

RELEASES = [
    Released(1, "sum", (0,), (400,), (0,), 120.0, 0, {}),
    Released(2, "sum", (0,), (400,), (0,), 116.0, 0, {}),
    Released(1, "sum", (1,), (10,), (0,), 6.0, 0, {}),
    Released(3, "difference", (0, 1), (5, 7), (0, 0), 900.0, 0, {}),
]


def design_for(**changes: Any) -> Any:
    return rules_for("evidence", **changes).design


def test_estimates_and_intervals() -> None:
    first, second, third = estimates_of(design_for(), RELEASES)
    assert first.mean == pytest.approx(0.295)
    assert first.low is not None
    assert first.high is not None
    assert 0.15 < first.low < 0.295 < first.high < 0.45
    assert second.low is not None
    assert second.high is not None
    assert second.high - second.low > first.high - first.low
    assert (third.mean, third.low, third.high) == (None, None, None)


def test_estimates_in_the_outcomes_own_units() -> None:
    plain = estimates_of(design_for(outcomes="unit"), RELEASES)[0]
    pain = estimates_of(design_for(outcomes="unit", high=10, lower_is_better=True), RELEASES)[0]
    assert plain.mean is not None
    assert plain.low is not None
    assert pain.mean == pytest.approx(10 - 10 * plain.mean)
    assert pain.high == pytest.approx(10 - 10 * plain.low)
    assert pain.low is not None
    assert pain.high is not None
    assert pain.low < 10 - 10 * plain.mean < pain.high


@pytest.mark.parametrize(
    ("changes", "law"),
    [
        ({}, laws.pure_law(1)),
        ({"outcomes": "unit"}, laws.pure_law(1, 20)),
        ({"contributions": 4, "follow_up": "1d"}, laws.pure_law(0.25)),
        ({"privacy": "zcdp", "rho": "0.5"}, laws.zcdp_law(0.5)),
        ({"privacy": "zcdp", "rho": "0.5", "contributions": 2, "follow_up": "1d"}, laws.zcdp_law(0.125)),
        ({"privacy": "local", "outcomes": "unit"}, laws.local_law(1)),
        ({"privacy": "none"}, laws.no_privacy()),
        ({"privacy": "none", "outcomes": "unit"}, laws.no_privacy(20)),
    ],
    ids=str,
)
def test_the_law_is_that_of_the_noise(changes: dict[str, Any], law: laws.Law) -> None:
    assert design_for(**changes).law == law
    assert all(e.low is not None for e in estimates_of(design_for(**changes), RELEASES)[:2])


def test_values_between_zero_and_one_without_noise_are_not_taken_for_binary() -> None:
    exact = design_for(privacy="none", outcomes="unit")
    found = estimates_of(exact, [Released(1, "sum", (0,), (3,), (0,), 1.25, 0, {})])[0]
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1.25 / 3 < found.high


def test_estimates_go_on_from_release_to_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one or all at once: the same; and an arm without news is not worked out again."""
    worked_out = []

    def counted(law: laws.Law, batches: list[Any], alpha: float, *, arms: int) -> tuple[float, float]:
        worked_out.append(len(batches))
        return confidence_interval(law, batches, alpha, arms=arms)

    monkeypatch.setattr(estimates, "confidence_interval", counted)
    design = design_for()
    growing = estimates.GrowingEstimates(design)
    for number, one in enumerate(RELEASES, 1):
        growing.add([one])
        assert growing.now() == growing.now()
        assert sum(worked_out) == (1, 3, 4, 4)[number - 1], "an arm's releases are looked through when it has news"
    assert growing.now() == estimates_of(design, RELEASES)
