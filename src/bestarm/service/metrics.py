"""What the operators' monitoring may know (docs/operators.md): how many requests, how they ended, how long they took.

Prometheus text, by route template, method and class of status: no trial, no arm, no outcome, nobody's address. Each
worker counts in its own memory, on its event loop alone, and leaves its counts in a file of its own every second;
whichever worker is asked adds up the files, so that it does not matter which one it is. The file of a worker that died
stays, because a counter never runs backwards.
"""

from __future__ import annotations

import hmac
import json
import os
import time
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from bestarm.errors import InputError

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds: the upper ends of the histogram's buckets; one more has no end."""
EVERY: Final = 1.0
"""Seconds between two writings of a worker's counts."""
CLASSES: Final = ("1xx", "2xx", "3xx", "4xx", "5xx", "none")
"""How a request ended; "none" is a connection that was lost before the answer began."""
METHODS: Final = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
FEWEST: Final = 16
"""Characters of the secret."""
MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Counts = dict[str, list[float]]
"""For "METHOD route": the requests of each class, of each bucket, and the seconds of all."""


class Metrics:
    """The counts of this worker, and of the others that share its folder."""

    def __init__(self, secret: str, folder: Path | None = None) -> None:
        self._secret = secret
        self._counts: Counts = {}
        self._file = None if folder is None else folder / f"{os.getpid()}-{time.time_ns()}.json"
        self._kept = -1.0

    def opens(self, authorization: str) -> bool:
        """Whether a request's header Authorization carries the secret."""
        scheme, _, given = authorization.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(
            given.strip().encode(errors="replace"), self._secret.encode()
        )

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        name = f"{method if method in METHODS else 'other'} {route}"
        row = self._counts.get(name)
        if row is None:
            row = self._counts[name] = [0.0] * (len(CLASSES) + len(BOUNDS) + 2)
        row[status // 100 - 1 if 100 <= status < 600 else len(CLASSES) - 1] += 1
        row[len(CLASSES) + bisect_left(BOUNDS, seconds)] += 1
        row[-1] += seconds

    def keep(self) -> None:
        """Leave the counts where the other workers find them, if anything was counted since the last time."""
        total = sum(sum(row[: len(CLASSES)]) for row in self._counts.values())
        if self._file is not None and total != self._kept:
            new = self._file.with_suffix(".new")
            new.write_text(json.dumps(self._counts))
            new.replace(self._file)
            self._kept = total

    def text(self) -> str:
        """The counts of all workers, as Prometheus reads them."""
        everybody = [self._counts]
        if self._file is not None:
            others = (file for file in self._file.parent.glob("*.json") if file != self._file)
            everybody += [json.loads(file.read_text()) for file in others]
        return written(added(everybody))


def secret_in(path: str | Path) -> str:
    """The secret in a file: one line, which whoever asks for the metrics has to send."""
    try:
        secret = Path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"The secret for the metrics cannot be read from {path}; it takes a line of text.") from None
    if len(secret) < FEWEST or not secret.isprintable() or " " in secret:
        raise InputError(f"The secret in {path} has to be one word of at least {FEWEST} characters.")
    return secret


def added(everybody: Iterable[Counts]) -> Counts:
    """Counts added up, name by name."""
    total: Counts = {}
    for counts in everybody:
        for name, row in counts.items():
            total[name] = [a + b for a, b in zip(total[name], row, strict=True)] if name in total else list(row)
    return total


def written(counts: Counts) -> str:
    """Counts in Prometheus' text format."""
    requests = [
        "# HELP bestarm_requests_total Requests, by route, method and class of status.",
        "# TYPE bestarm_requests_total counter",
    ]
    seconds = [
        "# HELP bestarm_request_seconds How long requests took, from the first byte heard to the last one said.",
        "# TYPE bestarm_request_seconds histogram",
    ]
    for name, row in sorted(counts.items()):
        method, _, route = name.partition(" ")
        where = f'method="{method}",route="{route}"'
        ended, spread = row[: len(CLASSES)], row[len(CLASSES) : -1]
        requests += [
            f'bestarm_requests_total{{{where},status="{kind}"}} {count:.0f}'
            for kind, count in zip(CLASSES, ended, strict=True)
            if count
        ]
        below = 0.0
        for bound, count in zip((*(f"{b:g}" for b in BOUNDS), "+Inf"), spread, strict=True):
            below += count
            seconds.append(f'bestarm_request_seconds_bucket{{{where},le="{bound}"}} {below:.0f}')
        seconds.append(f"bestarm_request_seconds_sum{{{where}}} {row[-1]:.6f}")
        seconds.append(f"bestarm_request_seconds_count{{{where}}} {below:.0f}")
    return "\n".join([*requests, *seconds]) + "\n"


def template_of(scope: Any, prefix: str) -> str:
    """The route that served a request, as it is declared: with names in braces, never with what they stood for."""
    endpoint, path = scope.get("endpoint"), scope["path"]
    if endpoint is None:
        return "unknown"
    declared: str | None = getattr(scope.get("route"), "path", None)
    if declared is None:  # no parameters, or files
        return str(path) if hasattr(endpoint, "__name__") else "files"
    # Newer routers keep what a router above them put in front to themselves.
    return prefix + declared if path.startswith(prefix) and not declared.startswith(prefix) else declared
