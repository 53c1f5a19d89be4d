"""Confidence sequences: mixtures fair under the truth, coverage at all times, both forms, all privacy models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bestarm.errors import InputError
from bestarm.policy import intervals
from bestarm.policy.intervals import (
    Batch,
    confidence_interval,
    estimate,
    likelihood_evidence,
    log_weight,
    tilted_evidence,
)
from bestarm.release import Law, local_law, log_pmf, no_privacy, pure_law, zcdp_law
from tests.chance import FALSE_ALARM, at_most

LAWS = [pure_law(1.0), pure_law(8.0), no_privacy(), local_law(2.0)]


def test_levels_weigh_one_in_all() -> None:
    assert sum(math.exp(log_weight(level)) for level in range(200_000)) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("tilted", [False, True])
def test_each_side_is_at_most_fair_over_two_batches(law: Law, tilted: bool) -> None:
    form = tilted_evidence if tilted else likelihood_evidence
    reach = math.ceil(18 / law.budget) if law.kind == 0 else 0
    for m in (0.6,) if tilted else (0.1, 0.6):  # a search for the tilt makes it ten times as slow
        for above in (True, False):
            mean = 0.0
            first, second = 3, 2
            for r in range(-reach, first + reach + 1):
                for q in range(-reach, second + reach + 1):
                    chance = log_pmf(law, first, m, r) + log_pmf(law, second, m, q)
                    if chance > -24:
                        mean += math.exp(chance + form(law, [(first, r), (second, q)])(m, above))
            assert mean <= 1 + 1e-12


@pytest.mark.parametrize("tilted", [False, True])
def test_intervals_hold_over_whole_runs(tilted: bool) -> None:
    """At level 80%, at most a fifth of runs may miss the mean at any of their releases, though sizes follow from what
    was released before: a trial that looks high is looked at again with few people, one that looks low with many."""
    law, mean, alpha, runs = pure_law(2.0), 0.6, 0.2, 80
    form = tilted_evidence if tilted else likelihood_evidence
    missed = 0
    for run in range(runs):
        rng = np.random.default_rng([run, 5])
        seen: list[Batch] = []
        size, missing = 10, False
        for _ in range(8):
            noise = rng.geometric(1 - math.exp(-2)) - rng.geometric(1 - math.exp(-2))
            seen.append((size, float(rng.binomial(size, mean) + noise)))
            evidence = form(law, seen)
            missing = missing or max(evidence(mean, True), evidence(mean, False)) >= math.log(2 / alpha)
            size = 5 if estimate(law, seen) > mean else 60
        missed += missing
    assert at_most(missed, runs, alpha) > FALSE_ALARM


@pytest.mark.parametrize("law", [*LAWS, pure_law(0.01)])
def test_intervals_close_in_on_the_mean(law: Law) -> None:
    rng = np.random.default_rng(7)
    batches: list[Batch] = []
    widths = []
    for n in (2_000, 20_000, 200_000):
        mean = 0.3 * law.slope + law.offset
        stop = 1 - math.exp(-law.budget) if law.kind == 0 else 1.0
        batches.append((n, float(rng.binomial(n, mean) + rng.geometric(stop) - rng.geometric(stop))))
        low, high = confidence_interval(law, batches, 0.001)
        wide = confidence_interval(law, batches, 0.001, arms=50)
        assert low < 0.3 < high
        assert wide[0] <= low < estimate(law, batches) < high <= wide[1]
        widths.append(high - low)
    assert widths[2] < widths[1] / 2 < widths[0] / 4


def test_ends_are_where_the_evidence_reaches_the_line() -> None:
    batches = [(40, 31.0), (90, 60.0)]
    for law, tilted in [(pure_law(1.0), False), (pure_law(1.0), True), (no_privacy(), False)]:
        form = tilted_evidence if tilted else likelihood_evidence
        low, high = confidence_interval(law, batches, 0.05, tilted=tilted)
        line = math.log(2 / 0.05)
        assert form(law, batches)(low, True) == pytest.approx(line, abs=1e-4)
        assert form(law, batches)(high, False) == pytest.approx(line, abs=1e-4)
        grid = np.linspace(0, 1, 301)
        inside = [m for m in grid if max(form(law, batches)(m, True), form(law, batches)(m, False)) < line]
        assert min(inside) >= low
        assert max(inside) <= high


def test_nothing_released_says_nothing() -> None:
    assert confidence_interval(no_privacy(), [], 0.05) == (0.0, 1.0)


def test_what_is_asked_must_make_sense() -> None:
    with pytest.raises(InputError):
        confidence_interval(no_privacy(), [(3, 1.0)], 1.0)
    with pytest.raises(InputError):
        confidence_interval(zcdp_law(1.0), [(3, 1.0)], 0.1, tilted=False)
    low, high = confidence_interval(zcdp_law(1.0, 20), [(300, 100.5)], 0.1)
    assert 0.2 < low < 0.335 < high < 0.5


def test_bets_that_are_kept_are_those_that_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was asked before, of other sizes, laws and levels, an interval is the same to the last bit."""
    kept: dict[Any, Any] = {}
    monkeypatch.setattr(intervals, "_KEPT", kept)
    rng = np.random.default_rng(3)
    questions = []
    for law in (pure_law(1.0, 20), pure_law(0.1, 20), zcdp_law(0.05)):
        for count in (1, 3, 40):
            sizes = rng.integers(1, 60, count).tolist()
            questions.append((law, [(n, float(rng.binomial(n, 0.4))) for n in sizes]))
    fresh = []
    for law, batches in questions:
        kept.clear()
        fresh.append(confidence_interval(law, batches, 0.05, tilted=True))
    again = [confidence_interval(law, batches, 0.05, tilted=True) for law, batches in questions * 2]
    assert again == fresh * 2
    assert kept
    kept.clear()
    monkeypatch.setattr(intervals, "MOST_KEPT", 10)
    assert [confidence_interval(law, batches, 0.05, tilted=True) for law, batches in questions] == fresh
    assert sum(map(len, kept.values())) <= 60
    monkeypatch.setattr(intervals, "tilts_for", None)
    last = questions[-1]
    assert confidence_interval(*last, 0.05, tilted=True) == fresh[-1], "not looked for again"
