"""The planner: the library's plan, computed in a process of its own that ends when it should."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

import bestarm as ba
from bestarm.errors import InputError, OperationError
from bestarm.planning.process import PlanProcess
from bestarm.planning.question import Question
from bestarm.service.plans import MOST_PARTICIPANTS, WAITING, Planner, to_be_planned

QUICK = to_be_planned(epsilon=1.0, delta=0.2, arms=2, gap=0.8, algorithm="dp-se", runs=5)
ENDLESS = to_be_planned(epsilon=0.01, delta=1e-6, arms=2, gap=1e-5, algorithm="dp-se", runs=1000)
LONG_ENOUGH = 120.0


def waited_for(planner: Planner, question: Question) -> dict[str, Any]:
    deadline = time.monotonic() + LONG_ENOUGH
    while (found := planner.ask(question)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def begun(process: PlanProcess) -> Any:
    """The process, once there is one."""
    deadline = time.monotonic() + LONG_ENOUGH
    while process._process is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process._process


def test_the_answer_is_the_librarys() -> None:
    planner = Planner()
    found = waited_for(planner, QUICK)
    planner.close()
    expected = ba.plan(
        epsilon=1.0, delta=0.2, arms=2, gap=0.8, algorithm="dp-se", runs=5, max_participants=MOST_PARTICIPANTS
    )
    assert found["expected_samples"] == expected.expected_samples
    assert [p["p90_samples"] for p in found["by_epsilon"]] == [p.p90_samples for p in expected.by_epsilon]


def test_a_plan_that_takes_too_long_is_given_up() -> None:
    process = PlanProcess(patience=0.2)
    with pytest.raises(OperationError, match="longer than"):
        process.plan(ENDLESS)
    assert begun(process).returncode is not None, "nothing goes on computing"


def test_closing_ends_what_is_being_computed() -> None:
    planner = Planner()
    assert planner.ask(ENDLESS) is None
    running = begun(planner._process)
    planner.close()
    assert running.wait(LONG_ENOUGH) != 0
    with pytest.raises(OperationError, match="any more"):
        planner._process.plan(QUICK)


def test_what_the_library_refuses_is_refused_in_its_words() -> None:
    with pytest.raises(InputError, match="none such"):
        PlanProcess(LONG_ENOUGH).plan(replace(QUICK, design=replace(QUICK.design, algorithm="none such")))


@pytest.mark.parametrize("question", [QUICK, ENDLESS, QUICK.without_privacy(), QUICK.with_epsilon(0.1).within(1000)])
def test_a_question_survives_the_way_into_the_process(question: Question) -> None:
    assert Question.from_json(json.loads(json.dumps(question.to_json()))) == question


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
