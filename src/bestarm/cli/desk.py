"""The desk of `bestarm trial ...`: enrol, look up, record, correct, withdraw, mend a code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bestarm.cli.options import Json
from bestarm.cli.output import emit_json, say, show_table
from bestarm.cli.trial_options import (
    STAFF,
    Actor,
    Coded,
    Held,
    HeldOr,
    Name,
    Outcome,
    Place,
    Reason,
    say_answer,
    trial_of,
    verdict_said,
)

if TYPE_CHECKING:
    from bestarm.trial.answers import HeldAssignment


def ask(
    store: Place,
    name: Name,
    subject: Annotated[str, typer.Option("--subject", metavar="S", help="The person's id; kept only as a keyed hash.")],
    actor: Actor = STAFF,
    as_json: Json = False,
) -> None:
    """Which arm does this person get? The same person gets the same answer again."""
    with trial_of(store, name) as trial:
        asked = trial.ask(subject, actor)
    if as_json:
        emit_json(asked.to_json())
    elif asked.verdict is not None:
        say("The trial has stopped; nobody is enrolled any more.", *verdict_said(asked.verdict))
    else:
        told = "  (its outcome has been recorded)" if asked.told else "  (withdrawn)" if asked.withdrawn else ""
        say(f"Arm: {asked.arm}", f"Assignment: {asked.id}{told}")


def tell(
    store: Place,
    name: Name,
    outcome: Outcome,
    assignment: HeldOr = None,
    subject: Coded = None,
    actor: Actor = STAFF,
    as_json: Json = False,
) -> None:
    """Record an outcome, by assignment or by the participant's code."""
    with trial_of(store, name) as trial:
        answer = trial.tell(assignment, outcome, actor, subject=subject)
    say_answer(answer, "kept, but too late to be used" if answer == "late" else answer, as_json)


def tell_csv(
    store: Place,
    name: Name,
    file: Annotated[str, typer.Option("--file", metavar="F", help="CSV: assignment,outcome or subject,outcome.")],
    actor: Actor = STAFF,
    as_json: Json = False,
) -> None:
    """Record the outcomes in a file, all or none."""
    with trial_of(store, name) as trial:
        answers = trial.tell_csv(file, actor)
    if as_json:
        emit_json({"rows": [answer.to_json() for answer in answers]})
    else:
        rows = [(str(answer.line), answer.assignment, str(answer.status)) for answer in answers]
        show_table(f"{len(rows)} outcomes", ("line", "assignment", "status"), rows, words=3)


def waiting(store: Place, name: Name, as_json: Json = False) -> None:
    """The assignments whose outcomes are awaited."""
    with trial_of(store, name) as trial:
        found = trial.open_assignments()
    if as_json:
        emit_json({"open": [one.to_json() | {"id": one.id} for one in found]})
    else:
        rows = [
            (
                one.id,
                one.arm,
                one.assigned_at,
                one.due_at or "",
                "overdue" if one.overdue else "holds a release up" * one.holds_up,
            )
            for one in found
        ]
        show_table(f"{len(rows)} outcomes awaited", ("assignment", "arm", "assigned", "due", ""), rows, words=5)


def look_up(store: Place, name: Name, assignment: HeldOr = None, subject: Coded = None, as_json: Json = False) -> None:
    """Who somebody is: arm, when, whether an outcome is recorded, never which. Enrols nobody."""
    with trial_of(store, name) as trial:
        found = trial.look_up(subject, assignment=assignment)
        near = trial.near(subject) if subject is not None and not found else []
    if as_json:
        emit_json({"assignments": [one.to_json() for one in found], "near": near})
    elif found:
        rows = [(one.id, one.arm, one.assigned_at, _became(one)) for one in found]
        show_table("In the trial", ("assignment", "arm", "assigned", "outcome"), rows, words=4)
    else:
        say("Nobody in the trial has this code.", *([f"Much like it: {', '.join(near)}."] if near else []))


def _became(one: HeldAssignment) -> str:
    if one.voided:
        return "voided"
    if one.withdrawn:
        return "withdrawn"
    return "recorded too late" if one.late else "recorded" if one.told else "awaited"


def withdraw(
    store: Place,
    name: Name,
    assignment: HeldOr = None,
    subject: Coded = None,
    reason: Reason = "",
    actor: Actor = STAFF,
    as_json: Json = False,
) -> None:
    """Take a person out of the trial, by the rule of its design."""
    with trial_of(store, name) as trial:
        answer = trial.withdraw(assignment, reason, actor, subject=subject)
    say_answer(answer, "recorded; its stage is closed and stays as it is" if answer == "late" else answer, as_json)


def correct(
    store: Place,
    name: Name,
    outcome: Outcome,
    reason: Reason,
    assignment: HeldOr = None,
    subject: Coded = None,
    actor: Actor = STAFF,
    as_json: Json = False,
) -> None:
    """Correct an outcome; it counts until its stage is released."""
    with trial_of(store, name) as trial:
        answer = trial.correct(assignment, outcome, reason, actor, subject=subject)
    say_answer(answer, "recorded, but too late to be used" if answer == "late" else answer, as_json)


def relabel(
    store: Place,
    name: Name,
    assignment: Held,
    subject: Annotated[str, typer.Option("--subject", metavar="S", help="The right code.")],
    reason: Reason,
    actor: Actor = STAFF,
    as_json: Json = False,
) -> None:
    """Put a mistyped code right; the assignment and its arm stay."""
    with trial_of(store, name) as trial:
        answer = trial.relabel(assignment, subject, reason, actor)
    say_answer(answer, answer, as_json)


def void(
    store: Place,
    name: Name,
    assignment: Held,
    duplicate_of: Annotated[
        str, typer.Option("--duplicate-of", metavar="S", help="The code under which that person is in the trial.")
    ],
    reason: Reason,
    actor: Actor = STAFF,
    as_json: Json = False,
) -> None:
    """Void a second entry of somebody in the trial; it keeps its place and counts as the worst outcome."""
    with trial_of(store, name) as trial:
        answer = trial.void(assignment, duplicate_of, reason, actor)
    say_answer(answer, answer, as_json)
