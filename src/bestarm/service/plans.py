"""Plans by simulation, one at a time in a process of their own, so that the live trials are not kept waiting.

The first plan of an installation compiles the simulator, which takes some ten seconds; whoever asked looks again until
it is there. A question that was answered before is answered at once.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

from bestarm.errors import BestArmError, InputError, OperationError
from bestarm.planning.question import Question

KEPT: Final = 64
"""Answers kept."""
WAITING: Final = 8
"""Questions that may wait for their turn."""
PATIENCE: Final = 300.0
"""Seconds after which a simulation is given up."""
MOST_ARMS: Final = 50
MOST_PARTICIPANTS: Final = 10**7


Compute = Callable[[Question], dict[str, Any]]


class Planner:
    """Answers questions in the order in which they come."""

    def __init__(self, compute: Compute | None = None) -> None:
        self._simulation = Simulation()
        self._compute = compute or self._simulation
        self._pool: ThreadPoolExecutor | None = None
        self._asked: OrderedDict[Question, Future[dict[str, Any]]] = OrderedDict()
        self._lock = threading.Lock()

    def ask(self, question: Question) -> dict[str, Any] | None:
        """The plan as plain data (`Plan.to_dict`); None while it is being computed."""
        with self._lock:
            answer = self._asked.get(question)
            if answer is None:
                answer = self._start(question)
            self._asked.move_to_end(question)
        if not answer.done():
            return None
        if answer.exception() is not None:
            with self._lock:
                self._asked.pop(question, None)  # what failed may be tried again
        return answer.result()

    def _start(self, question: Question) -> Future[dict[str, Any]]:
        waiting = sum(not answer.done() for answer in self._asked.values())
        if waiting >= WAITING:
            raise OperationError(f"{waiting} other plans are being computed; ask again in a minute.")
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="plan")
        answer = self._asked[question] = self._pool.submit(self._compute, question)
        done = [asked for asked, known in self._asked.items() if known.done()]
        for asked in done[: max(0, len(self._asked) - KEPT)]:
            del self._asked[asked]
        return answer

    def close(self) -> None:
        """End what is being computed; questions that wait for their turn are forgotten."""
        self._simulation.stop()
        with self._lock:
            pool, self._pool = self._pool, None
            if pool is not None:
                pool.shutdown(wait=False, cancel_futures=True)
            self._asked = OrderedDict((q, a) for q, a in self._asked.items() if a.done() and not a.cancelled())


def to_be_planned(means: Sequence[float] | None = None, **asked: Any) -> Question:
    """The question, if it is small enough to be answered while somebody waits."""
    if (asked.get("arms") or len(means or ())) > MOST_ARMS:
        raise InputError(f"A plan takes at most {MOST_ARMS} arms here; plan larger ones with `bestarm plan`.")
    # A hard end is found by the design itself, and is to be as it would be without a limit of ours.
    most = None if asked.get("hard_end") else MOST_PARTICIPANTS
    return Question.ask(means, max_participants=most, **asked)


class Simulation:
    """Computes plans, each in a process of its own that can be stopped."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._process: BaseProcess | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def __call__(self, question: Question) -> dict[str, Any]:
        """The plan; what is wrong with it comes back as it was raised there."""
        process, connection = self._start(question)
        try:
            if not connection.poll(self._patience):
                raise OperationError(f"This plan takes longer than {self._patience:g} seconds; ask for a larger gap.")
            answer = connection.recv()
        except EOFError as error:
            raise OperationError("The plan could not be computed.") from error
        finally:
            process.kill()
            process.join()
            connection.close()
        if isinstance(answer, BestArmError):
            raise answer
        found: dict[str, Any] = answer
        return found

    def _start(self, question: Question) -> tuple[BaseProcess, Connection]:
        context = multiprocessing.get_context("spawn")
        with self._lock:
            if self._stopped:
                raise OperationError("Nothing is planned here any more.")
            ours, theirs = context.Pipe(duplex=False)
            self._process = context.Process(target=_work, args=(question, theirs), daemon=True)
            self._process.start()
            theirs.close()
            return self._process, ours

    def stop(self) -> None:
        """End the plan that is being computed, if any, and begin no other."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()


def _work(question: Question, connection: Connection) -> None:
    from bestarm.planning import answer

    try:
        connection.send(answer(question).to_dict())
    except BestArmError as error:
        connection.send(error)
