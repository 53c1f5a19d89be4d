"""The laws of many releases at once are those of each of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bestarm.release.arrays import log_mgfs, log_outcome_mgfs, log_pmfs
from bestarm.release.laws import (
    Law,
    local_law,
    log_mgf,
    log_outcome_mgf,
    log_pmf,
    no_privacy,
    pure_law,
    shuffle_law,
    zcdp_law,
)

LAWS = [pure_law(0.01), pure_law(1.0), pure_law(40.0), no_privacy(), local_law(2.0), shuffle_law(1.0, 0.2, 100)]


@pytest.mark.parametrize("law", LAWS)
def test_probabilities_of_releases(law: Law) -> None:
    """Near the mean and far out, of few people and of many; the far ones are beyond what a float can hold."""
    rng = np.random.default_rng(3)
    sizes = np.array([1.0, 2.0, 7.0, 40.0, 900.0, 30_000.0, 1e6])
    means = np.array([0.0, 1e-6, 0.02, 0.5, 0.93, 1.0])
    for centre in means:
        for spread in (0.0, 1.0, 40.0):
            noise = np.round(rng.normal(size=sizes.size) * spread * np.sqrt(sizes))
            releases = np.round(sizes * centre) + noise
            if law.kind != pure_law(1.0).kind:
                releases = np.clip(releases, 0.0, sizes)
            found = log_pmfs(law, sizes, means, releases)
            for (i, j), value in np.ndenumerate(found):
                one = log_pmf(law, float(sizes[j]), float(means[i]), float(releases[j]))
                assert value == one if math.isinf(one) else value == pytest.approx(one, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("law", [*LAWS, pure_law(1.0, 20), zcdp_law(0.5)])
def test_moments(law: Law) -> None:
    slopes = 0.9 * min(law.budget, 3.0) * np.linspace(-1.0, 1.0, 41)
    assert log_mgfs(law, slopes) == pytest.approx([log_mgf(law, float(one)) for one in slopes], rel=1e-9, abs=1e-12)
    slopes = np.concatenate([slopes, [-60.0, -5.0, 5.0, 60.0]])
    for m in (0.0, 1e-9, 0.3, 0.9, 1.0):
        each = [log_outcome_mgf(m, float(one)) for one in slopes]
        assert log_outcome_mgfs(m, slopes) == pytest.approx(each, rel=1e-9, abs=1e-12)
