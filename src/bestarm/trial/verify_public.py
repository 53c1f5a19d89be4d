"""Rechecks a trial from its public export alone: the public chain's head, and every decision that led to the verdict.

No store, no key and no outcome is needed. What only outcomes could tell is taken as said: without a follow-up, that a
stage's outcomes were all in when it was released. Everything else follows from the public events: which stage had to
open and with what weights, that an arm could come up, that it was a stage's turn and time to be released, and what the
evidence says after each release.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from bestarm.design import Design, resolve
from bestarm.errors import InputError
from bestarm.policy.algorithm import Algorithm
from bestarm.storage.contract import Stage
from bestarm.storage.events import GENESIS, PUBLIC_KINDS, chained_publicly
from bestarm.storage.memory import MemoryBooks
from bestarm.trial.answers import Misfit, Verification
from bestarm.trial.exchange import CHAIN
from bestarm.trial.fold import MICROSECONDS, Fold, Rules
from bestarm.trial.moments import moment
from bestarm.trial.verify import (
    UNREADABLE,
    Wrong,
    check_assignment,
    check_opening,
    check_release,
    check_vacancy,
    check_verdict,
    still_enrolling,
)


class PublicFold(Fold):
    """A fold that knows no outcomes: a stage without a follow-up is released when the chain says so."""

    def ready(self, stage: Stage, at: int) -> bool:
        return self.rules.follow_up is not None and super().ready(stage, at)


def verify_public(folder: str | Path, algorithm: Algorithm | None = None) -> Verification:
    """Check the public chain in a folder that `export-public` wrote; names every event that does not fit.

    An algorithm of one's own that was passed to `Trial.create` as an object is passed here too.
    """
    fold: PublicFold | None = None
    head, count = GENESIS, 0
    misfits: list[Misfit] = []
    for line in _lines(Path(folder)):
        seq, found = count + 1, []
        try:
            kind, body, mark = line["kind"], line["body"], line["hash"]
            if line["seq"] != seq:
                found.append(f"Public event {seq} is missing.")
                seq = int(line["seq"])
            elif chained_publicly(head, seq, kind, body) != mark:
                found.append("The event's hash does not fit its content and the event before.")
            head, count = str(mark), seq
            if fold is None:
                fold = _fold_of(kind, body, algorithm)
            else:
                found += _faults(fold, kind, body)
        except UNREADABLE as error:
            found.append(f"The event cannot be read: {type(error).__name__}.")
            count = seq
        misfits += [Misfit(seq, problem) for problem in found]
        if fold is None:
            break
    if count == 0:
        misfits.append(Misfit(1, "The chain is empty."))
    elif fold is not None and not misfits:
        owed = fold.owed(fold.book.at)
        if owed is not None and owed.stage is None:
            misfits.append(Misfit(None, f"The chain ends where the trial had to be {owed.kind}."))
    return Verification.of(count, head, misfits)


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / CHAIN
    try:
        with path.open(encoding="utf-8") as lines:
            for text in lines:
                try:
                    line = json.loads(text)
                except (ValueError, RecursionError):
                    line = {}
                yield line if isinstance(line, dict) else {}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"There is no public chain in {folder}; `bestarm trial export-public` writes {CHAIN}."
        ) from error


def _fold_of(kind: str, body: dict[str, Any], algorithm: Algorithm | None) -> PublicFold:
    if kind != "created":
        raise Wrong("A chain begins with the trial's creation.")
    design = Design.from_json(body["design"])
    found = algorithm or resolve(design.algorithm)
    rules = Rules(design, found, found.constants(design.numbers()))
    fold = PublicFold(rules, MemoryBooks(), rules.fresh_state())
    fold.apply(kind, _microseconds(body["time"]), body, None)
    return fold


def _faults(fold: PublicFold, kind: str, body: dict[str, Any]) -> list[str]:
    """What is wrong with an event; it is applied all the same, if it can be."""
    found = []
    try:
        _check(fold, kind, body)
    except Wrong as wrong:
        found.append(str(wrong))
    except UNREADABLE as error:
        found.append(f"The event cannot be read: {type(error).__name__}.")
    try:
        fold.apply(kind, max(_microseconds(body["time"]), fold.book.at), body, None)
    except UNREADABLE as error:
        if not found:
            found.append(f"The event cannot be applied: {type(error).__name__}.")
    return found


def _check(fold: PublicFold, kind: str, body: dict[str, Any]) -> None:
    if kind not in PUBLIC_KINDS or kind == "created":
        raise Wrong(f"There is no public event of the kind {kind!r} here.")
    at = _microseconds(body["time"])
    if at < fold.book.at:
        raise Wrong("The event is older than the one before it.")
    owed = fold.owed(at)
    # An event that happened in the very second in which a release became due may have come before it.
    overdue = owed is not None and (owed.stage is None or fold.owed(at - MICROSECONDS) is not None)
    if owed is not None and overdue and kind != owed.kind:
        raise Wrong(f"Before anything else the trial had to be {owed.kind}.")
    if kind == "released":
        check_release(fold, body)
        due = fold.due_at(fold.next_to_release())
        if due is not None and body["time"] != moment(due):
            raise Wrong("The release was not made when it was due.")
    elif kind == "stopped":
        if fold.book.state == "stopped":
            raise Wrong("The trial had stopped already.")
        if body["by"] != "ended":
            check_verdict(fold, body, at)
    else:
        CHECK[kind](fold, body)


def _paused(fold: Fold, body: dict[str, Any]) -> None:
    still_enrolling(fold)


def _resumed(fold: Fold, body: dict[str, Any]) -> None:
    if fold.book.state != "paused":
        raise Wrong("The trial was not paused.")


CHECK: Final = {
    "opened": check_opening,
    "assigned": check_assignment,
    "vacated": check_vacancy,
    "paused": _paused,
    "resumed": _resumed,
}


def _microseconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * MICROSECONDS
