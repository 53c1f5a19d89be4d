"""A plan in a process of its own: `python -m bestarm.planning.process` reads one question and writes one answer.

Both are JSON, on standard input and output. The question is `Question.to_json`; the answer is either the plan or, in a
sentence, what is wrong with the question. Whoever started the process may end it at any time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

from bestarm.errors import InputError, OperationError
from bestarm.planning.question import Question


class PlanProcess:
    """Plans one question after another, each in a process of its own that can be stopped."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        """Seconds after which a plan is given up."""
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def plan(self, question: Question) -> dict[str, Any]:
        """The plan as plain data (`Plan.to_dict`)."""
        with self._start() as process:
            try:
                said, _ = process.communicate(json.dumps(question.to_json()), timeout=self.patience)
            except subprocess.TimeoutExpired as late:
                longest = f"{self.patience:g} seconds"
                raise OperationError(f"This plan takes longer than {longest}; ask for a larger gap.") from late
            finally:
                process.kill()  # leaving the block waits for it
        if process.returncode != 0:
            raise OperationError("The plan could not be computed.")
        answer: dict[str, Any] = json.loads(said)
        if "refused" in answer:
            raise InputError(answer["refused"])
        found: dict[str, Any] = answer["plan"]
        return found

    def _start(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise OperationError("Nothing is planned here any more.")
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bestarm.planning.process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
            )
            return self._process

    def stop(self) -> None:
        """End the plan that is being computed, if any, and begin no other."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """The plan, or what is wrong with the question."""
    from bestarm.planning import answer as planned

    try:
        return {"plan": planned(Question.from_json(question)).to_dict()}
    except InputError as error:
        return {"refused": str(error)}


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
