"""What must hold at every step of a run, whatever the outcomes."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.policy.algorithm import NOBODY, SEVERAL, UNDECIDED, Batched, Staged
from bestarm.policy.catalogue import CATALOGUE
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import assign, open_batch, release
from bestarm.policy.stages import GRAIN, oldest_slot
from bestarm.release import local_law, no_privacy, pure_law, zcdp_law
from bestarm.storage.contract import Stage
from bestarm.trial.course import Outturn, StagedCourse
from bestarm.trial.policy_state import to_bytes

BATCHED = {name: one for name, one in CATALOGUE.items() if isinstance(one, Batched)}
STAGED = {name: one for name, one in CATALOGUE.items() if isinstance(one, Staged)}
LAWS = {
    "pure": pure_law(1.0),
    "none": no_privacy(),
    "local": local_law(1.0),
    "zcdp": zcdp_law(0.5),
}
"""A law of releases for every privacy model with one of its own."""


def steps(algorithm: Batched, design: Numbers, seed: int, people: int) -> Any:
    """Drive a policy by hand, person by person, and yield (state, constants, arm, whether a batch was released)."""
    rng = np.random.default_rng(seed)
    constants = algorithm.constants(design)
    state = algorithm.start(constants)
    record = state.record
    weights = np.zeros(design.arms)
    for _ in range(people):
        arm = algorithm.recruit(state, constants, weights)
        assert arm != NOBODY
        if arm == SEVERAL:
            assert math.isclose(weights.sum(), 1)
            assert (weights >= 0).all()
            arm = int(rng.choice(design.arms, p=weights))
        if record.assigned[arm] == record.places[arm]:
            open_batch(record, arm, algorithm.size(state, constants, arm))
        assign(record, arm, 1)
        algorithm.assigned(state, constants, arm, 1)
        full = bool(record.assigned[arm] == record.places[arm])
        if full:
            release(record, arm, int(record.newest_size[arm]), float(rng.normal(0.5, 0.3) * record.newest_size[arm]))
            algorithm.released(state, constants, arm)
        yield state, constants, arm, full
        if full and algorithm.over(state, constants) != UNDECIDED:
            return


designs = st.builds(
    Numbers,
    arms=st.integers(2, 6),
    delta=st.sampled_from([0.001, 0.05, 0.5]),
    law=st.sampled_from([pure_law(0.01), pure_law(1.0), pure_law(30.0)]),
    difference=st.just(0.2),
    base=st.just(0.4),
    beta=st.sampled_from([0.2, 0.5, 0.8]),
)


@pytest.mark.parametrize("name", BATCHED)
@settings(max_examples=15, deadline=None)
@given(design=designs, seed=st.integers(0, 2**32 - 1))
def test_public_quantities_change_only_with_releases(name: str, design: Numbers, seed: int) -> None:
    algorithm = BATCHED[name]
    before: Any = None
    for state, _, _, released in steps(algorithm, design, seed, 120):
        public = [state.record.released.copy(), state.record.total.copy()]
        public += [getattr(state, name).copy() for name in ("mean", "leader") if hasattr(state, name)]
        if before is not None and not released:
            assert all(np.array_equal(a, b) for a, b in zip(before, public, strict=True))
        before = public


@pytest.mark.parametrize("name", ["adap-tt", "adap-tt-nonprivate", "adap-tt-published", "uniform"])
@settings(max_examples=15, deadline=None)
@given(design=designs, seed=st.integers(0, 2**32 - 1))
def test_batches_double(name: str, design: Numbers, seed: int) -> None:
    for state, _, arm, released in steps(BATCHED[name], design, seed, 150):
        if released:
            phase = int(state.record.released[arm])
            assert state.record.last_size[arm] == (1 if phase == 1 else 2 ** (phase - 2))
            assert state.record.assigned[arm] == 2 ** (phase - 1)


@pytest.mark.parametrize("name", ["adap-tt", "adap-tt-nonprivate", "ttucb"])
@settings(max_examples=15, deadline=None)
@given(design=designs, seed=st.integers(0, 2**32 - 1))
def test_tracking_gives_the_leader_its_share(name: str, design: Numbers, seed: int) -> None:
    leader = -1
    for state, _, _, _ in steps(BATCHED[name], design, seed, 150):
        if leader >= 0:
            assert state.led_pulls[leader] == math.floor(design.beta * state.led[leader]) + 1
        leader = int(state.leader[0])


@pytest.mark.parametrize("name", BATCHED)
def test_explanations_name_arms_and_read_without_a_verdict(name: str) -> None:
    algorithm = BATCHED[name]
    labels = ["5 mg", "10 mg", "20 mg"]
    design = Numbers(3, 0.05, pure_law(1.0), difference=0.8, base=0.1)
    said = set()
    for state, constants, _, _ in steps(algorithm, design, 3, 100):
        before = copy.deepcopy(state)
        said.add(algorithm.explain(state, constants, labels))
        assert all(np.array_equal(a, b) for a, b in zip(before.record, state.record, strict=True)), (
            "explaining must change nothing"
        )
    assert any(label in text for text in said for label in labels)


def test_dp_se_waits_for_the_epochs_outcomes() -> None:
    algorithm = BATCHED["dp-se"]
    constants = algorithm.constants(Numbers(2, 0.1, pure_law(1.0)))
    state = algorithm.start(constants)
    weights = np.zeros(2)
    for arm in (0, 1):
        assert algorithm.recruit(state, constants, weights) == arm
        size = algorithm.size(state, constants, arm)
        open_batch(state.record, arm, size)
        assign(state.record, arm, size)
    assert algorithm.recruit(state, constants, weights) == NOBODY


def test_adap_tt_keeps_enrolling_while_first_outcomes_are_late() -> None:
    algorithm = BATCHED["adap-tt"]
    constants = algorithm.constants(Numbers(3, 0.1, pure_law(1.0)))
    state = algorithm.start(constants)
    weights = np.zeros(3)
    arms = []
    for _ in range(9):
        arm = algorithm.recruit(state, constants, weights)
        if state.record.assigned[arm] == state.record.places[arm]:
            open_batch(state.record, arm, algorithm.size(state, constants, arm))
        assign(state.record, arm, 1)
        algorithm.assigned(state, constants, arm, 1)
        arms.append(arm)
    assert arms == [0, 1, 2] * 3
    assert state.record.places.tolist() == [4, 4, 4]


def changed(before: dict[str, bytes], state: Any) -> set[str]:
    """The names of the arrays that are not what they were."""
    return {name for name, content in to_bytes(state).items() if before[name] != content}


COUNTS = {"stages.assigned", "stages.size"}
OPENING = {f"stages.openings.{part}" for part in ("weights", "difference", "champion", "planned")}


@pytest.mark.parametrize("model", LAWS)
@pytest.mark.parametrize("name", STAGED)
def test_stages_are_planned_from_releases_alone(name: str, model: str) -> None:
    algorithm, rng = STAGED[name], np.random.default_rng(7)
    constants = algorithm.constants(Numbers(3, 0.05, LAWS[model], difference=0.1))
    state = algorithm.start(constants)
    course = StagedCourse(algorithm, state, constants, 1)
    released = 0
    for number in range(1, 30):
        before = to_bytes(state)
        opening = course.opening(0)
        assert course.opening(0) == opening, "planning again plans the same"
        assert changed(before, state) <= OPENING, "planning remembers nothing"
        assert sum(opening.weights) == 1
        assert all(weight >= 0 and (weight / GRAIN).is_integer() for weight in opening.weights)
        assert opening.weights[opening.champion] > 0
        assert opening.planned >= 1
        assert not opening.difference or np.count_nonzero(opening.weights) == 2
        course.opened(opening)
        stage = Stage(number, list(opening.weights), opening.difference, opening.champion, opening.planned, 1)
        stage.extent = course.extent(stage)
        while not course.closes(stage):
            before, over = to_bytes(state), algorithm.over(state, constants)
            course.joined(int(rng.choice(3, p=opening.weights)))
            stage.people += 1
            assert changed(before, state) <= COUNTS, "who comes is counted, and no more"
            assert algorithm.over(state, constants) == over, "nobody ends a trial by coming"
            assert np.array_equal(np.asarray(course.weights()), opening.weights), (
                "a stage's weights stand until it closes"
            )
        before = to_bytes(state)
        course.closed()
        assert changed(before, state) == {"stages.progress"}
        sizes = tuple(int(count) for count in course.stages.size[oldest_slot(course.stages)])
        sums = [float(rng.binomial(size, mean)) for size, mean in zip(sizes, (0.3, 0.8, 0.5), strict=True)]
        shown = [sums[arm] for arm in stage.arms]
        if opening.difference:
            shown = [2 * sums[opening.champion] - sum(shown)]
        values = tuple(value + float(rng.laplace()) for value in shown)
        course.released(stage, Outturn(sizes, (0, 0, 0), values))
        released += 1
        if algorithm.over(state, constants) != UNDECIDED:
            break
    assert released >= 2


@settings(max_examples=15, deadline=None)
@given(design=designs, seed=st.integers(0, 2**32 - 1))
def test_a_coins_two_sides_are_those_of_its_weights(design: Numbers, seed: int) -> None:
    """A simulator that tosses for runs of people asks for leader and challenger apart; they are who `recruit` names."""
    algorithm = BATCHED["adap-tt-published"]
    assert algorithm.leads is not None
    assert algorithm.challenges is not None
    weights = np.zeros(design.arms)
    for state, constants, _, _ in steps(algorithm, design, seed, 120):
        leader = algorithm.leads(state, constants)
        assert (algorithm.recruit(state, constants, weights) == SEVERAL) == (leader >= 0)
        if leader >= 0:
            assert weights[leader] == constants.beta
            assert weights[algorithm.challenges(state, constants)] == 1 - constants.beta
