"""Several processes behind one address: a parent that listens, and workers that take turns in accepting.

Workers share nothing but the store: who is signed in, which link was used, how often somebody told an outcome again and
what is still to be sent all lie there (docs/operators.md). The parent serves nobody. It starts a worker in the place of
one that died, and the workers end with it, however it ends: each holds one end of a pipe that breaks with the parent.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final

from bestarm.errors import OperationError

log = logging.getLogger("bestarm.service")

MOST_DEATHS: Final = 5
"""Workers that may die young, one after the other, before nobody believes in the next one."""
YOUNG: Final = 10.0
"""Seconds."""
PATIENCE: Final = 20.0
"""Seconds that workers have to end by themselves."""

Work = Callable[[socket.socket, threading.Event], None]
"""Serves from a socket that listens until the event is set."""


class Workers:
    """So many processes that do the same work. `work` has to be picklable: it is run in fresh processes."""

    def __init__(self, count: int, work: Work, listening: socket.socket) -> None:
        self._count = count
        self._work = work
        self._listening = listening
        self._context = multiprocessing.get_context("spawn")
        self._deaths = 0
        self._over = False

    def run(self) -> None:
        """Keep them running until this process is told to end."""
        stops = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        lifeline, held = self._context.Pipe(duplex=False)
        running: dict[BaseProcess, float] = {}
        try:
            while not self._over:
                while len(running) < self._count:
                    running[self._start(lifeline)] = time.monotonic()
                wait([process.sentinel for process in running], timeout=0.2)
                for process in [process for process in running if not process.is_alive()]:
                    self._bury(process, time.monotonic() - running.pop(process))
        finally:
            held.close()
            _end(list(running))
            for number, before in stops.items():
                signal.signal(number, before)

    def _start(self, lifeline: Connection) -> BaseProcess:
        process = self._context.Process(target=_live, args=(self._work, self._listening, lifeline))
        process.start()
        return process

    def _bury(self, process: BaseProcess, age: float) -> None:
        if self._over:
            return
        log.error("worker %s ended with %s; another one takes its place", process.pid, process.exitcode)
        self._deaths = self._deaths + 1 if age < YOUNG else 0
        if self._deaths >= MOST_DEATHS:
            raise OperationError(f"{self._deaths} workers ended as soon as they had begun; the log says why.")

    def _stop(self, *_: Any) -> None:
        self._over = True


def _live(work: Work, listening: socket.socket, lifeline: Connection) -> None:
    # A worker: nothing is ever said on the line, so that whatever is heard from it is its end.
    over = threading.Event()

    def listen() -> None:
        with suppress(EOFError, OSError):
            lifeline.recv()
        over.set()

    threading.Thread(target=listen, name="lifeline", daemon=True).start()
    work(listening, over)


def _end(processes: list[BaseProcess]) -> None:
    deadline = time.monotonic() + PATIENCE
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()
