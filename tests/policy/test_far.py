"""What the bound on the number of people rests on (docs/evidence-proof.md: Lemma 3, Theorem 5)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bestarm.policy.evidence.constants import coin_constants
from bestarm.policy.evidence.far import far_limit, far_size, fastest
from bestarm.policy.evidence.memory import arms_in, is_in, new_memory
from bestarm.policy.evidence.policy import strike_out
from bestarm.policy.evidence.tuning import Tuning
from bestarm.release.laws import no_privacy, pure_law
from bestarm.theory import d_eps, refined_time
from bestarm.theory.equal import equal_time
from tests.naive.evidence import growth, hardest, people_factors

PAIRS = [(0.75, 0.7), (0.999, 0.5), (0.3, 1e-6), (1 - 1e-9, 1e-9), (0.502, 0.5), (0.02, 0.01)]
WEIGHTS = [(0.5, 0.5), (0.8, 0.1), (0.05, 0.6)]


@pytest.mark.parametrize("most", [0.01, 0.5, 9.9])
def test_the_plain_bet_grows_as_fast_as_the_lower_bound_allows(most: float) -> None:
    for high, low in PAIRS:
        for v, w in WEIGHTS:
            found = fastest(high, low, v, w, most)
            slopes = (found.up, found.down)
            assert 0 < max(slopes) <= most
            here = growth((high, low), slopes, v, w)
            assert here == pytest.approx(hardest(high, low, v, w, most)[1], rel=1e-6)
            for factor in (0.9, 1.1):
                assert growth((high, low), (min(slopes[0] * factor, most), slopes[1]), v, w) <= here * (1 + 1e-9)
                assert growth((high, low), (slopes[0], min(slopes[1] * factor, most)), v, w) <= here * (1 + 1e-9)
            on_a, on_b = (math.log(x) for x in people_factors(*slopes, v / w))
            assert -slopes[0] * (1 + 1e-6) <= on_a <= 1e-9
            assert -1e-9 <= on_b <= slopes[1] * (1 + 1e-6)


def test_the_tuning_is_what_the_theorem_asks_for() -> None:
    tuning = Tuning()
    assert tuning.recall_nats > math.log(tuning.recall)  # else second looks may cost more than they end
    assert 0 < tuning.far_power < 0.5  # stages few, and small beside the people there are
    assert 0 < tuning.plain < 1
    assert 0 < tuning.plain_noise < 1
    assert tuning.cash > 0


def test_far_stages_are_few_and_become_small() -> None:
    constants = coin_constants(3, pure_law(1.0), 0.05)
    people, stages = far_limit(constants), 0
    share = 1.0
    while people < 1e6 * far_limit(constants):
        size = far_size(constants, people)
        assert 0 < size / people < share
        share = size / people + 1e-6
        people += size
        stages += 1
    assert stages < 200
    assert share < 0.1


def test_an_arm_gets_a_second_look_when_people_are_ten_times_those_at_its_end() -> None:
    constants = coin_constants(4, no_privacy(), 0.01)
    memory = new_memory(4, constants.law, 0.1)
    memory.people[:] = 25.0
    memory.wealth[1] = constants.threshold
    strike_out(constants, memory)
    memory.people[0] += 400.0
    memory.wealth[2] = constants.threshold + 3
    strike_out(constants, memory)
    assert [is_in(memory, arm) for arm in range(4)] == [True, False, False, True]
    memory.people[0] += 499.0
    strike_out(constants, memory)
    assert arms_in(memory) == 2
    memory.people[0] += 1.0  # ten times the people when arm 1 was out
    strike_out(constants, memory)
    assert [is_in(memory, arm) for arm in range(4)] == [True, True, False, True]
    assert memory.wealth[1] == pytest.approx(constants.threshold - constants.tuning.recall_nats)
    memory.wealth[[1, 3]] = constants.threshold  # now the trial is over, and nobody comes back
    memory.people[0] += 4000.0
    strike_out(constants, memory)
    assert arms_in(memory) == 1


@pytest.mark.parametrize(
    "means", [(0.75, 0.7), (0.75, 0.7, 0.7, 0.7, 0.7), (0.9, 0.85, 0.8, 0.8), (1.0, 0.3, 0.2), (0.999, 0.5, 0.5)]
)
def test_the_time_of_equal_weights_beside_the_lower_bounds(means: tuple[float, ...]) -> None:
    for epsilon in (1e-3, 0.1, 1.0, 10.0):
        slope = 0.99 * epsilon
        time, least = equal_time(means, slope), refined_time(means, slope).time
        best, rivals = means[0], np.array(means[1:])
        told = np.maximum(d_eps(best, rivals, slope), d_eps(rivals, best, slope))
        pair = np.array([2 / equal_time((best, rival), slope) for rival in rivals])
        assert least * (1 - 1e-6) <= time <= min(len(means), float(np.max(told / pair))) * least * (1 + 1e-6)
        assert least <= refined_time(means, epsilon).time / 0.99 * (1 + 1e-9)
    assert equal_time((0.5001, 0.5), 1.0) == pytest.approx(refined_time((0.5001, 0.5), 1.0).time, rel=1e-3)
    assert equal_time((0.7, 0.4, 0.3), 1e-4) == pytest.approx(refined_time((0.7, 0.4, 0.3), 1e-4).time, rel=1e-3)
