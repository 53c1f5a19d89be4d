"""Telling several outcomes in one request: all or none, and nothing given away to those who must not learn what others
recorded."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from bestarm.errors import InputError, OperationError
from bestarm.exact import exact
from bestarm.trial import exchange
from bestarm.trial.desk import Desk
from bestarm.trial.identity import Participant
from bestarm.trial.plainly import told

CONFLICT = "A different outcome has already been recorded for this assignment; use correct, with a reason."


def tell_all(desk: Desk, numbers: list[int], outcomes: list[Fraction], actor: str, guarded: bool) -> list[str]:
    """Tell outcomes of these assignments that were checked. A conflict is an error at once; guarded, an answer that is
    kept in the log."""
    if not guarded:
        if any(map(desk.conflicts, numbers, outcomes)):
            raise InputError(CONFLICT)
        return _told(desk, numbers, outcomes, actor)
    slipped = False
    for number, outcome in zip(numbers, outcomes, strict=True):
        if not desk.repeats(number) or (desk.own_slip(number, actor) and not desk.conflicts(number, outcome)):
            continue  # new, or the same actor's own request once more
        if not desk.may_repeat(actor):
            raise OperationError("Too many outcomes were told a second time in the last hour; try again later.")
        desk.note_repeat(number, outcome, actor)
        slipped = slipped or desk.own_slip(number, actor)
    if slipped:
        return ["conflict"]
    return _told(desk, numbers, outcomes, actor)


def _told(desk: Desk, numbers: list[int], outcomes: list[Fraction], actor: str) -> list[str]:
    return [
        told(desk, number, outcome, actor) or desk.tell(number, outcome, actor)
        for number, outcome in zip(numbers, outcomes, strict=True)
    ]


def without_conflict(statuses: list[str]) -> list[str]:
    """The answers, unless a guarded one was a slip."""
    if "conflict" in statuses:
        raise InputError(CONFLICT)
    return statuses


def tell_rows(
    desk: Desk, number_of: Callable[[Desk, str | Participant], int], rows: list[exchange.OutcomeLine], actor: str
) -> list[exchange.RowAnswer]:
    """Tell the outcomes of a file; if a line cannot be used none is, and each line gets its answer."""
    told_now: dict[int, str] = {}
    ready: list[tuple[exchange.OutcomeLine, int, Fraction]] = []
    refused: dict[int, str] = {}
    for row in rows:
        try:
            value = exact(row.outcome, "The outcome")
            number = number_of(desk, Participant(row.who) if row.by_code else row.who)
            desk.check_outcome(number, value, told_now)
            if desk.conflicts(number, value):
                raise InputError(CONFLICT)
            ready.append((row, number, value))
        except InputError as error:
            refused[row.line] = str(error)
    if refused:
        raise exchange.RowsRefused([exchange.RowAnswer(row.line, row.who, None, refused.get(row.line)) for row in rows])
    return [exchange.RowAnswer(row.line, row.who, desk.tell(number, value, actor)) for row, number, value in ready]
