"""The planner: the library's plan, computed in a process of its own that ends when it should."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import bestarm as ba
from bestarm.errors import InputError, OperationError
from bestarm.planning import Question
from bestarm.service.plans import MOST_ARMS, MOST_PARTICIPANTS, WAITING, Planner, Simulation, to_be_planned

QUICK = to_be_planned(epsilon=1.0, delta=0.2, arms=2, gap=0.8, algorithm="dp-se", runs=5)
ENDLESS = to_be_planned(epsilon=0.01, delta=1e-6, arms=2, gap=1e-5, algorithm="dp-se", runs=1000)
LONG_ENOUGH = 120.0


def waited_for(planner: Planner, question: Question) -> dict[str, Any]:
    deadline = time.monotonic() + LONG_ENOUGH
    while (found := planner.ask(question)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def begun(simulation: Simulation) -> Any:
    """The process, once there is one."""
    deadline = time.monotonic() + LONG_ENOUGH
    while simulation._process is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return simulation._process


def test_the_answer_is_the_librarys() -> None:
    planner = Planner()
    found = waited_for(planner, QUICK)
    planner.close()
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 0.2, "arms": 2, "gap": 0.8, "algorithm": "dp-se", "runs": 5}
    expected = ba.plan(**asked, max_participants=MOST_PARTICIPANTS)
    assert found["expected_samples"] == expected.expected_samples
    assert [p["p90_samples"] for p in found["by_epsilon"]] == [p.p90_samples for p in expected.by_epsilon]


def test_a_hard_end_is_the_librarys_too() -> None:
    """The service's own limit on a plan's size must not become the trial's last participant."""
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 0.2, "arms": 2, "difference": 0.3, "hard_end": True}
    assert to_be_planned(**asked).design == Question.ask(**asked).design


def test_a_plan_that_takes_too_long_is_given_up() -> None:
    simulation = Simulation(patience=0.2)
    with pytest.raises(OperationError, match="longer than"):
        simulation(ENDLESS)
    assert begun(simulation).exitcode is not None, "nothing goes on computing"


def test_closing_ends_what_is_being_computed() -> None:
    planner = Planner()
    assert planner.ask(ENDLESS) is None
    running = begun(planner._simulation)
    planner.close()
    deadline = time.monotonic() + LONG_ENOUGH
    while running.exitcode is None and time.monotonic() < deadline:
        time.sleep(
            0.01
        )  # the planner's own thread waits for it too; whoever comes second learns its end a moment later
    assert running.exitcode not in (None, 0)
    with pytest.raises(OperationError, match="any more"):
        planner._simulation(QUICK)


def test_what_is_wrong_with_a_question_is_said_at_once() -> None:
    with pytest.raises(InputError, match="none such"):
        to_be_planned(epsilon=1.0, delta=0.2, arms=2, gap=0.8, algorithm="none such")
    with pytest.raises(InputError, match=f"at most {MOST_ARMS}"):
        to_be_planned(epsilon=1.0, delta=0.2, arms=MOST_ARMS + 1, gap=0.8)


def test_one_at_a_time_and_not_too_many() -> None:
    running, most, lock, go = 0, 0, threading.Lock(), threading.Event()

    def compute(question: Question) -> dict[str, Any]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        go.wait(LONG_ENOUGH)
        with lock:
            running -= 1
        return {"seed": question.seed}

    planner = Planner(compute)
    questions = [to_be_planned(epsilon=1.0, delta=0.1, arms=2, gap=0.2, seed=seed) for seed in range(WAITING)]
    assert [planner.ask(question) for question in questions] == [None] * WAITING
    with pytest.raises(OperationError, match="other plans"):
        planner.ask(QUICK)
    go.set()
    assert [waited_for(planner, question)["seed"] for question in questions] == list(range(WAITING))
    assert most == 1
    planner.close()
