"""The list of outcomes that are awaited, a page at a time, and those in it that somebody looks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bestarm.errors import InputError
from bestarm.trial.answers import OpenAssignment
from bestarm.trial.trial import Trial

PER_PAGE: Final = 20


@dataclass(frozen=True)
class AwaitedPage:
    """One page of the list."""

    rows: list[OpenAssignment]
    count: int
    """All that are awaited."""
    found: int
    """Those that fit what is looked for."""
    page: int
    pages: int
    search: str


def listed_page(trial: Trial, search: str = "", page: str = "1") -> AwaitedPage:
    """A page of what is awaited, the most urgent first; `search` is a part of an assignment or arm, or a code."""
    wanted = search.strip().casefold()
    if not wanted:
        count = trial.staff_status().awaited
        number, pages = _numbered(page, count)
        rows = trial.open_assignments((number - 1) * PER_PAGE, PER_PAGE)
        return AwaitedPage(rows, count, count, number, pages, "")
    everything, held = trial.open_assignments(), _held_by(trial, search)
    fitting = [one for one in everything if wanted in one.id or wanted in one.arm.casefold() or one.id in held]
    number, pages = _numbered(page, len(fitting))
    rows = fitting[(number - 1) * PER_PAGE : number * PER_PAGE]
    return AwaitedPage(rows, len(everything), len(fitting), number, pages, search.strip())


def _numbered(page: str, count: int) -> tuple[int, int]:
    # The page that is asked for, as far as there is one, and how many there are.
    pages = max(1, -(-count // PER_PAGE))
    return min(max(1, int(page)), pages) if page.isascii() and page.isdecimal() and len(page) < 7 else 1, pages


def _held_by(trial: Trial, search: str) -> set[str]:
    try:
        return {one.id for one in trial.look_up(search)}
    except InputError:  # no code at all, but perhaps a part of an arm's name
        return set()
