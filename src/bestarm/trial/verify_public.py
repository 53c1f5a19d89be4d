"""Rechecks a trial from its public export alone: the public chain's head, and every decision that led to the verdict.

No store, no key and no outcome is needed. What only outcomes could tell is taken as said: without a follow-up, that a
stage's outcomes were all in when it was released. Everything else follows from the public events: which stage had to
open and with what weights, that an arm could come up, that it was a stage's turn and time to be released, and what the
evidence says after each release. The files beside the chain have to say what follows from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from bestarm.design import Design, resolve
from bestarm.errors import BestArmError, InputError
from bestarm.policy.algorithm import Algorithm
from bestarm.storage.contract import Stage
from bestarm.storage.events import GENESIS, PUBLIC_KINDS, chained_publicly
from bestarm.storage.memory import MemoryBooks
from bestarm.trial.alike import read_json, same_files
from bestarm.trial.answers import Misfit, Verification
from bestarm.trial.exchange import CHAIN, public_texts
from bestarm.trial.fold import MICROSECONDS, Fold, Rules
from bestarm.trial.history import History
from bestarm.trial.moments import moment
from bestarm.trial.outlook import public_view
from bestarm.trial.verify import (
    LOST,
    UNREADABLE,
    UNSOUND,
    Wrong,
    check_assignment,
    check_merging,
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


class Unnamed(InputError):
    """The trial runs an algorithm that is not in the catalogue, and nobody has said that its code may be run."""


def verify_public(folder: str | Path, algorithm: str | Algorithm | None = None) -> Verification:
    """Check what `export-public` wrote into a folder; names every event and every file that does not fit.

    A trial of an algorithm that is not in the catalogue needs it here, as `Trial.create` got it: an export may come
    from anybody, and does not get to choose what code is run.
    """
    fold: PublicFold | None = None
    name, lost = "", False
    head, count = GENESIS, 0
    misfits: list[Misfit] = []
    for line in _lines(Path(folder)):
        seq, found = count + 1, []
        try:
            kind, body, mark = line["kind"], line["body"], line["hash"]
            if line["seq"] != seq:
                found.append(f"Public event {seq} is missing.")
                seq, lost = int(line["seq"]), True
            elif len(line) != 4 or chained_publicly(head, seq, kind, body) != mark:
                found.append("The event's hash does not fit its content and the event before.")
            head, count = str(mark), seq
            if fold is None:
                fold, name = _fold_of(kind, body, algorithm), str(body["name"])
                if not fold.rules.design.sound:
                    found.append(UNSOUND)
            elif not lost:
                said, lost = _faults(fold, kind, body)
                found += said
        except Unnamed:
            raise
        except (Wrong, *UNREADABLE) as error:
            found.append(_said(error))
            count, lost = seq, True
        misfits += [Misfit(seq, problem) for problem in found]
        if fold is None:
            break
    if count == 0:
        misfits.append(Misfit(1, "The chain is empty."))
    elif fold is not None and not misfits:
        owed = fold.owed(fold.book.at)
        if owed is not None and owed.stage is None:
            misfits.append(Misfit(None, f"The chain ends where the trial had to be {owed.kind}."))
        misfits += [Misfit(None, problem) for problem in _file_faults(Path(folder), name, fold)]
    return Verification.of(count, head, misfits)


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / CHAIN
    try:
        with path.open(encoding="utf-8") as lines:
            for text in lines:
                try:
                    line = read_json(text)
                except (ValueError, RecursionError):
                    line = {}
                yield line if isinstance(line, dict) else {}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"There is no public chain in {folder}; `bestarm trial export-public` writes {CHAIN}."
        ) from error


def _file_faults(folder: Path, name: str, fold: PublicFold) -> list[str]:
    """The files beside the chain that do not say what follows from it. Those that are not there say nothing."""
    books = fold.books
    assert isinstance(books, MemoryBooks)
    try:
        texts = public_texts(public_view(name, fold, History()))
    except UNREADABLE as error:
        return [f"What follows from the chain cannot be told: {type(error).__name__}."]
    found = []
    for file, right in texts.items():
        try:
            if not same_files(file, (folder / file).read_text(encoding="utf-8"), right):
                found.append(f"{file} does not say what follows from the chain.")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError):
            found.append(f"{file} cannot be read.")
    return found


def _fold_of(kind: str, body: dict[str, Any], algorithm: str | Algorithm | None) -> PublicFold:
    if kind != "created":
        raise Wrong("A chain begins with the trial's creation.")
    design = Design.from_json(body["design"])
    rules = Rules.of(design, _rules_of(design, algorithm))
    fold = PublicFold(rules, MemoryBooks(), rules.fresh_state())
    fold.apply(kind, _microseconds(body["time"]), body, None)
    return fold


def _rules_of(design: Design, algorithm: str | Algorithm | None) -> Algorithm:
    if algorithm is None:
        if ":" in design.algorithm:
            raise Unnamed(f"This trial runs {design.algorithm!r}; name it here if you trust its code.")
        return resolve(design.identity)
    given = algorithm.identity if isinstance(algorithm, Algorithm) else algorithm
    if given not in (design.identity, design.algorithm):
        raise Unnamed(f"This trial runs the algorithm {design.identity}, not {given}.")
    return resolve(algorithm if isinstance(algorithm, Algorithm) else design.identity)


@np.errstate(divide="raise", invalid="raise")
def _faults(fold: PublicFold, kind: str, body: dict[str, Any]) -> tuple[list[str], bool]:
    """What is wrong with an event, and whether it could not be applied: it is all the same, if it can be."""
    found = []
    try:
        _check(fold, kind, body)
    except (Wrong, *UNREADABLE) as error:
        found.append(_said(error))
    try:
        fold.apply(kind, max(_microseconds(body["time"]), fold.book.at), body, None)
    except UNREADABLE:
        return [*found, LOST], True
    return found, False


def _said(error: Exception) -> str:
    said = str(error) if isinstance(error, Wrong | BestArmError) else ""
    return said or f"The event cannot be read: {type(error).__name__}."


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
    if kind in ("merged", "released"):
        (check_release if kind == "released" else check_merging)(fold, body)
        due = fold.due_at(fold.next_to_release())
        if due is not None and (at < due if fold.rules.design.distributed else body["time"] != moment(due)):
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


def _relabelled(fold: Fold, body: dict[str, Any]) -> None:
    if set(body) != {"time"}:
        raise Wrong("That a code was put right is public, and nothing else of it.")


CHECK: Final = {
    "opened": check_opening,
    "assigned": check_assignment,
    "vacated": check_vacancy,
    "relabelled": _relabelled,
    "paused": _paused,
    "resumed": _resumed,
}


def _microseconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * MICROSECONDS
