"""The loop that drives staged policies: weights, sizes, forms, order of release, outcomes that come late, the cap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from bestarm.policy.algorithm import UNDECIDED, Staged
from bestarm.policy.record import FloatArray, IntArray
from bestarm.policy.stages import OPENED, PENDING, Stages, new_stages, round_weights, sound_opening
from bestarm.rules import rule
from bestarm.simulation.compiled import make_entry_point
from bestarm.simulation.driver import Run, driving
from tests.simulation.worlds import Timed, late


class Memory(NamedTuple):
    stages: Stages
    total: FloatArray
    log: IntArray
    """[releases so far, then (stage, size) of each release]"""


class Constants(NamedTuple):
    arms: int
    sizes: IntArray
    needed: int


@rule(allocates=True)
def start(constants: Constants) -> Memory:
    return Memory(new_stages(constants.arms), np.zeros(constants.arms), np.zeros(200, np.int64))


def open_stage(state: Memory, constants: Constants, slot: int) -> None:
    number = state.stages.progress[OPENED]
    openings = state.stages.openings
    two = number % 2 == 1
    openings.weights[slot, :] = 0.0
    for arm in range(constants.arms):
        openings.weights[slot, arm] = 0.5 if two and arm < 2 else (0.0 if two else 1.0 / constants.arms)
    openings.difference[slot] = 1 if two else 0
    openings.champion[slot] = 1
    openings.planned[slot] = constants.sizes[min(number, constants.sizes.size - 1)]


def extent(state: Memory, constants: Constants, people: int) -> int:
    return int(constants.sizes[min(state.stages.progress[OPENED] - 1, constants.sizes.size - 1)])


def settle(state: Memory, constants: Constants, slot: int, values: FloatArray) -> None:
    size = 0
    for arm in range(constants.arms):
        size += state.stages.size[slot, arm]
        state.total[arm] += values[arm]
    at = state.log[0]
    state.log[1 + 2 * at] = slot
    state.log[2 + 2 * at] = size
    state.log[0] = at + 1


def over(state: Memory, constants: Constants) -> int:
    return 2 if state.log[0] == constants.needed else UNDECIDED


TOY = Staged(
    name="toy",
    summary="three arms, sums and differences in turn",
    source="this test",
    proven=False,
    privacy=("none",),
    constants=lambda design: None,
    start=start,
    over=over,
    explain=lambda state, constants, labels: "",
    open_stage=open_stage,
    extent=extent,
    settle=settle,
)


def ones(rng: np.random.Generator, world: Timed, arm: int, people: int, at: float) -> float:
    return float(people)


def no_blur(rng: np.random.Generator, world: Timed) -> float:
    return 1000.0


@cache
def compiled_toy() -> Run:
    return make_entry_point(TOY, {"count": ones, "blur": no_blur}, False)


def run(toy: Staged, sizes: list[int], needed: int, outstanding: float, cap: int, compiled: bool) -> tuple[Any, Any]:
    seen: list[Any] = []

    def keep(state: Memory, constants: Constants, slot: int, values: FloatArray) -> None:
        seen.append((slot, state.stages.size[slot].tolist(), values.tolist(), state.stages.assigned.sum()))
        settle(state, constants, slot, values)

    world: dict[str, Callable[..., Any]] = {"count": ones, "blur": no_blur}
    constants = Constants(3, np.array(sizes), needed)
    per_arm = np.zeros(3, np.int64)
    rng = np.random.default_rng(5)
    drive = compiled_toy() if compiled else driving(replace(toy, settle=keep), world)
    people, verdict, releases, _ = drive(rng, late(outstanding), constants, cap, per_arm)
    assert per_arm.sum() == people
    return (people, verdict, releases, per_arm.tolist()), seen


def test_a_stage_is_released_whole_as_sums_or_as_one_difference() -> None:
    result, seen = run(TOY, [30, 40, 50], 3, 0, 10**6, compiled=False)
    assert result[:3] == (120, 2, 3)
    (_, first, values, _), (_, second, difference, _), (_, third, _, _) = seen
    assert (sum(first), sum(second), sum(third)) == (30, 40, 50)
    assert values == [size + 1000.0 for size in first]
    assert second[2] == 0
    assert difference == [1000.0 + second[1] - second[0], 0.0, 0.0]


@pytest.mark.parametrize("outstanding", [0, 7, 35, 200])
def test_compiled_and_plain_runs_agree(outstanding: int) -> None:
    for cap in (25, 130, 10**6):
        plain, _ = run(TOY, [10, 20, 30, 15], 6, outstanding, cap, compiled=False)
        compiled, _ = run(TOY, [10, 20, 30, 15], 6, outstanding, cap, compiled=True)
        assert plain == compiled


def test_late_outcomes_hold_releases_back_but_not_enrolment() -> None:
    (people, verdict, releases, _), seen = run(TOY, [10] * 9, 4, 25, 10**6, compiled=False)
    assert (verdict, releases) == (2, 4)
    assert [slot for slot, *_ in seen] == [0, 1, 2, 3]
    assert [enrolled for *_, enrolled in seen] == [35, 45, 55, 65]
    assert people == 65


def test_with_many_stages_outstanding_the_open_one_is_extended() -> None:
    (people, _, _, _), seen = run(TOY, [1], 70, 500, 10**6, compiled=False)
    assert people > 500
    assert sum(seen[PENDING - 1][1]) > 1
    assert all(sum(sizes) == 1 for _, sizes, _, _ in seen[: PENDING - 1])


def test_at_the_cap_the_open_stage_closes_and_what_is_outstanding_comes_in() -> None:
    (people, verdict, releases, _), seen = run(TOY, [10, 20, 30], 9, 1000, 47, compiled=False)
    assert (people, verdict, releases) == (47, UNDECIDED, 3)
    assert [sum(sizes) for _, sizes, _, _ in seen] == [10, 20, 17]


def test_news_may_cut_a_stage_short_or_extend_it() -> None:
    def longer(state: Memory, constants: Constants, people: int) -> int:
        return 40

    def at_once(state: Memory, constants: Constants, people: int) -> int:
        return 0

    _, seen = run(replace(TOY, extent=longer), [10, 20, 30], 3, 5, 10**6, compiled=False)
    assert [sum(sizes) for _, sizes, _, _ in seen] == [10, 40, 40]
    _, seen = run(replace(TOY, extent=at_once), [10, 20, 30], 3, 5, 10**6, compiled=False)
    assert [sum(sizes) for _, sizes, _, _ in seen] == [10, 5, 6], "closed by the news, and not by a person"
    # The news comes at count 14.5, between two people, and what it closes is due 5.5 later, just before the 21st.
    _, seen = run(replace(TOY, extent=at_once), [10, 20, 30], 3, 4.5, 10**6, compiled=False)
    assert [sum(sizes) for _, sizes, _, _ in seen] == [10, 5, 5]


@pytest.mark.parametrize("bad", ["nan", "one arm", "sum", "champion", "size", "three arms"])
def test_an_opening_that_cannot_be_ends_the_run_with_a_sentence(bad: str) -> None:
    def spoil(state: Memory, constants: Constants, slot: int) -> None:
        open_stage(state, constants, slot)
        openings = state.stages.openings
        if bad == "nan":
            openings.weights[slot, 0] = np.nan
        elif bad == "one arm":
            openings.weights[slot] = (1.0, 0.0, 0.0)
        elif bad == "sum":
            openings.weights[slot] = (0.5, 0.4, 0.0)
        elif bad == "champion":
            openings.champion[slot] = 3
        elif bad == "size":
            openings.planned[slot] = 0
        else:
            openings.difference[slot] = 1

    with pytest.raises(ValueError, match="stage that cannot be"):
        run(replace(TOY, open_stage=spoil), [10], 3, 0, 100, compiled=False)


def test_weights_become_whole_grains_that_sum_to_one() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        openings = new_stages(5).openings
        raw = rng.dirichlet(np.full(5, 0.2))
        raw[rng.integers(5)] = 0.0
        openings.weights[0] = raw / raw.sum()
        openings.planned[0] = 3
        positive = openings.weights[0] > 0
        round_weights(openings, 0)
        grains = openings.weights[0] * 2**24
        assert grains.sum() == 2**24
        assert (grains == np.round(grains)).all()
        assert ((grains > 0) == positive).all()
        assert sound_opening(openings, 0)
