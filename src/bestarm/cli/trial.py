"""`bestarm trial ...`: running a trial with real people from the command line."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from bestarm.cli.options import Difference, Json, MaxParticipants, whole_option
from bestarm.cli.output import caution, emit_json, number, say, show_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bestarm.trial.answers import Verdict, Verification
    from bestarm.trial.trial import Trial

Place: TypeAlias = Annotated[
    str, typer.Argument(metavar="STORE", help="Where the trials live: a file, or a URL postgresql://...")
]
Name: TypeAlias = Annotated[str, typer.Option("--name", metavar="N", help="The trial's name.")]
Actor: TypeAlias = Annotated[str, typer.Option("--actor", metavar="WHO", help="Who does this; kept in the log.")]
Reason: TypeAlias = Annotated[str, typer.Option("--reason", metavar="WHY", help="Why; kept in the log.")]
Held: TypeAlias = Annotated[str, typer.Option("--assignment", metavar="A", help="The id from the answer to ask.")]
Outcome: TypeAlias = Annotated[str, typer.Option("--outcome", metavar="X", help="The outcome, within its bounds.")]
Folder: TypeAlias = Annotated[str, typer.Option("--out", metavar="DIR", help="The folder to write to.")]

STAFF = "staff"


def register(app: typer.Typer) -> None:
    """Add the group `trial`."""
    group = typer.Typer(help="Run a trial with real people: create, ask, tell, watch, verify.", no_args_is_help=True)
    for name, command in (
        ("create", create),
        ("ask", ask),
        ("tell", tell),
        ("tell-csv", tell_csv),
        ("open", waiting),
        ("withdraw", withdraw),
        ("correct", correct),
        ("pause", pause),
        ("resume", resume),
        ("end", end),
        ("status", status),
        ("verdict", verdict),
        ("ledger", ledger),
        ("report", report),
        ("verify", verify),
        ("verify-public", verify_public),
        ("list", names),
        ("export-public", export_public),
        ("export-confidential", export_confidential),
    ):
        group.command(name)(command)
    app.add_typer(group, name="trial")


@contextmanager
def _found(store: str, name: str) -> Iterator[Trial]:
    from bestarm.trial.trial import Trial

    with Trial.open(store, name=name) as trial:
        yield trial


def create(
    store: Place,
    name: Name,
    arms: Annotated[str, typer.Option("--arms", metavar="a,b,c", help="The arms' labels, separated by commas.")],
    delta: Annotated[str, typer.Option("--delta", metavar="D", help="Risk of a wrong recommendation, kept exactly.")],
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="E", help="Privacy budget of one person, kept exactly.")
    ] = None,
    algorithm: Annotated[
        str, typer.Option("--algorithm", metavar="A", help="Of `bestarm algorithms`, or module:name of your own.")
    ] = "evidence",
    privacy: Annotated[
        str | None, typer.Option("--privacy", metavar="P", help="pure, none, local or zcdp; the algorithm's own first.")
    ] = None,
    rho: Annotated[str | None, typer.Option("--rho", metavar="R", help="Budget of the model zcdp.")] = None,
    outcomes: Annotated[str, typer.Option("--outcomes", metavar="KIND", help="unit (a number) or binary.")] = "unit",
    low: Annotated[str, typer.Option("--low", metavar="X", help="The outcome's lower bound.")] = "0",
    high: Annotated[str, typer.Option("--high", metavar="X", help="The outcome's upper bound.")] = "1",
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="Less of the outcome is better, as with pain.")
    ] = False,
    what: Annotated[
        str | None, typer.Option("--what", metavar="TEXT", help="What is measured, in words: pain after 30 days.")
    ] = None,
    difference: Difference = None,
    max_participants: MaxParticipants = None,
    follow_up: Annotated[
        str | None, typer.Option("--follow-up", metavar="DURATION", help="When an outcome is due: 30d, 12h, 90m.")
    ] = None,
    withdrawal: Annotated[
        str | None, typer.Option("--withdrawal", metavar="RULE", help="impute:X (the worst outcome) or replace.")
    ] = None,
    contributions: Annotated[
        int, whole_option("--contributions", metavar="k", help="Assignments one subject may hold.")
    ] = 1,
    allocation: Annotated[
        str, typer.Option("--allocation", metavar="HOW", help="random (unpredictable) or fixed (in order).")
    ] = "random",
    actor: Actor = STAFF,
    as_json: Json = False,
) -> None:
    """Create a trial; its design is frozen from here on."""
    from bestarm.trial.trial import Trial

    with Trial.create(
        store,
        name=name,
        arms=arms.split(","),
        epsilon=epsilon,
        delta=delta,
        algorithm=algorithm,
        privacy=privacy,
        rho=rho,
        outcomes=outcomes,
        low=low,
        high=high,
        lower_is_better=lower_is_better,
        what=what,
        difference=difference,
        max_participants=max_participants,
        follow_up=follow_up,
        withdrawal=withdrawal,
        contributions=contributions,
        allocation=allocation,
        actor=actor,
    ) as trial:
        design = trial.design
    caution(design.warnings())
    if as_json:
        emit_json({"trial": name, "design": design.to_json()})
        return
    rows = design.in_words()
    show_table(f"Trial {name} created; its design is now fixed", ("parameter", "value"), rows, words=2)


def ask(
    store: Place,
    name: Name,
    subject: Annotated[str, typer.Option("--subject", metavar="S", help="The person's id; kept only as a keyed hash.")],
    actor: Actor = STAFF,
    as_json: Json = False,
) -> None:
    """Which arm does this person get? The same person gets the same answer again."""
    with _found(store, name) as trial:
        asked = trial.ask(subject, actor)
    if as_json:
        emit_json(asked.to_json())
    elif asked.verdict is not None:
        say("The trial has stopped; nobody is enrolled any more.", *_verdict_said(asked.verdict))
    else:
        told = "  (its outcome has been recorded)" if asked.told else "  (withdrawn)" if asked.withdrawn else ""
        say(f"Arm: {asked.arm}", f"Assignment: {asked.id}{told}")


def tell(
    store: Place, name: Name, assignment: Held, outcome: Outcome, actor: Actor = STAFF, as_json: Json = False
) -> None:
    """Record the outcome of an assignment."""
    with _found(store, name) as trial:
        answer = trial.tell(assignment, outcome, actor)
    _answer(answer, "kept, but too late to be used" if answer == "late" else answer, as_json)


def tell_csv(
    store: Place,
    name: Name,
    file: Annotated[str, typer.Option("--file", metavar="F", help="CSV with the columns assignment,outcome.")],
    actor: Actor = STAFF,
    as_json: Json = False,
) -> None:
    """Record the outcomes in a file, all or none."""
    with _found(store, name) as trial:
        answers = trial.tell_csv(file, actor)
    if as_json:
        emit_json({"rows": [answer.to_json() for answer in answers]})
    else:
        rows = [(str(answer.line), answer.assignment, str(answer.status)) for answer in answers]
        show_table(f"{len(rows)} outcomes", ("line", "assignment", "status"), rows, words=3)


def waiting(store: Place, name: Name, as_json: Json = False) -> None:
    """The assignments whose outcomes are awaited."""
    with _found(store, name) as trial:
        found = trial.open_assignments()
    if as_json:
        emit_json({"open": [one.to_json() | {"id": one.id} for one in found]})
    else:
        rows = [(one.id, one.arm, one.assigned_at, one.due_at or "") for one in found]
        show_table(f"{len(rows)} outcomes awaited", ("assignment", "arm", "assigned", "due"), rows, words=4)


def withdraw(
    store: Place, name: Name, assignment: Held, reason: Reason = "", actor: Actor = STAFF, as_json: Json = False
) -> None:
    """Take a person out of the trial, by the rule of its design."""
    with _found(store, name) as trial:
        answer = trial.withdraw(assignment, reason, actor)
    _answer(answer, "recorded; its stage is closed and stays as it is" if answer == "late" else answer, as_json)


def correct(
    store: Place,
    name: Name,
    assignment: Held,
    outcome: Outcome,
    reason: Reason,
    actor: Actor = STAFF,
    as_json: Json = False,
) -> None:
    """Correct an outcome; it counts until its stage is released."""
    with _found(store, name) as trial:
        answer = trial.correct(assignment, outcome, reason, actor)
    _answer(answer, "recorded, but too late to be used" if answer == "late" else answer, as_json)


def pause(store: Place, name: Name, reason: Reason = "", actor: Actor = STAFF, as_json: Json = False) -> None:
    """Enrol nobody until the trial is resumed; outcomes still come in."""
    with _found(store, name) as trial:
        answer = trial.pause(reason, actor)
    _answer(answer, answer, as_json)


def resume(store: Place, name: Name, reason: Reason = "", actor: Actor = STAFF, as_json: Json = False) -> None:
    """Enrol again."""
    with _found(store, name) as trial:
        answer = trial.resume(reason, actor)
    _answer(answer, answer, as_json)


def end(store: Place, name: Name, reason: Reason, actor: Actor = STAFF, as_json: Json = False) -> None:
    """Stop for good without a recommendation, for safety or otherwise."""
    with _found(store, name) as trial:
        answer = trial.end(reason, actor)
    _answer(answer, answer, as_json)


def status(store: Place, name: Name, as_json: Json = False) -> None:
    """Where the trial stands: everything that is public about it."""
    with _found(store, name) as trial:
        found = trial.status()
    if as_json:
        emit_json(found)
    else:
        _show_status(found)


def verdict(store: Place, name: Name, as_json: Json = False) -> None:
    """How the trial ended, if it has."""
    with _found(store, name) as trial:
        found = trial.verdict
    if as_json:
        emit_json({"trial": name, "verdict": None if found is None else found.to_json()})
    else:
        say(*(["There is no verdict yet."] if found is None else _verdict_said(found)))


def ledger(store: Place, name: Name, as_json: Json = False) -> None:
    """What was released of whom, at what cost to privacy, and why the total is what it is."""
    with _found(store, name) as trial:
        found = trial.ledger()
    if as_json:
        emit_json(found)
        return
    rows = [
        (
            str(line["stage"]),
            " − ".join(line["arms"]),
            " + ".join(map(str, line["sizes"])),
            number(line["value"]),
            str(line["terms"]["mechanism"]),
        )
        for line in found["releases"]
    ]
    show_table(f"Releases of {name}", ("stage", "arm", "people", "noisy sum", "noise"), rows)
    spent = found.get("epsilon_exact") or found.get("rho_spent")
    say(f"Promised: {found['promised']}.", *([f"Spent for any one person: {spent}."] if spent else []), found["why"])
    say(*(f"Assumed: {said}" for said in found["assumptions"]))


def report(store: Place, name: Name, out: Folder, as_json: Json = False) -> None:
    """Write the report, an HTML page and JSON, from releases alone."""
    with _found(store, name) as trial:
        _written(trial.report(out), as_json)


def export_public(store: Place, name: Name, out: Folder, as_json: Json = False) -> None:
    """Write everything public as CSV and JSON, with the public chain that `verify-public` rechecks."""
    with _found(store, name) as trial:
        _written(trial.export_public(out), as_json)


def export_confidential(store: Place, name: Name, out: Folder, as_json: Json = False) -> None:
    """Write every assignment with its outcome and the whole log. Confidential: this is what the noise protects."""
    with _found(store, name) as trial:
        _written(trial.export_confidential(out), as_json)


def verify(store: Place, name: Name, as_json: Json = False) -> None:
    """Replay the log, re-derive every decision, and compare with the books."""
    with _found(store, name) as trial:
        found = trial.verify()
    _verified(found, "and the books agree with them", "The books do not fit the log", as_json)


def verify_public(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder that `export-public` wrote.")],
    algorithm: Annotated[
        str | None,
        typer.Option("--algorithm", metavar="A", help="The trial's, if it is module:name of one's own."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Recheck the public chain and every decision from a public export alone; no store and no outcome is needed."""
    from bestarm.trial.verify_public import verify_public as verified

    _verified(verified(folder, algorithm), "and every decision follows from them", "The chain is not whole", as_json)


def names(store: Place, as_json: Json = False) -> None:
    """The trials in a store."""
    from bestarm.trial.trial import trial_names

    found = trial_names(store)
    if as_json:
        emit_json({"trials": found})
    else:
        say(*(found or ["There are no trials here yet."]))


def _answer(answer: str, said: str, as_json: bool) -> None:
    if as_json:
        emit_json({"status": answer})
    else:
        say(f"{said[0].upper()}{said[1:]}.")


def _verified(found: Verification, sound: str, unsound: str, as_json: bool) -> None:
    if as_json:
        emit_json(found.to_json())
    elif found.ok:
        say(f"All {found.events} events fit, {sound}.", f"Head: {found.head}")
    else:
        where = unsound if found.first_bad is None else f"Event {found.first_bad} does not fit"
        more = f" ({found.misfits - 1} more)" if found.misfits > 1 else ""
        say(f"{where}: {found.problem}{more}")
    if not found.ok:
        raise typer.Exit(1)


def _written(paths: dict[str, str], as_json: bool) -> None:
    if as_json:
        emit_json({"files": paths})
    else:
        say(*(f"Wrote {path}." for path in paths.values()))


def _verdict_said(found: Verdict) -> list[str]:
    said = [f"Recommended: {found.arm}" if found.arm is not None else "Ended without a recommendation.", found.reason]
    return [*said, f"Mind: {found.caveat}."] if found.caveat else said


def _show_status(found: dict[str, Any]) -> None:
    recruiting = ", ".join(found["recruiting"])
    say(f"Trial {found['trial']}: {found['state']}{f' ({recruiting})' if recruiting else ''}.", found["explanation"])
    rows = [
        (e["arm"], str(found["assigned"][e["arm"]]), *(_or_dash(e[key]) for key in ("mean", "low", "high")))
        for e in found["estimates"]
    ]
    show_table("Estimates from releases", ("arm", "assigned", "mean", "low", "high"), rows)
    if found["evidence"]:
        rows = [(e["rival"], number(e["value"]), number(e["needed"])) for e in found["evidence"]]
        show_table("Evidence for the leading arm against each rival", ("rival", "evidence", "needed"), rows)
    spent = found["epsilon_spent"]
    say(f"{len(found['releases'])} releases." + ("" if spent is None else f" Epsilon spent: {spent:g} a person."))
    if found["verdict"] is not None:
        say(f"Verdict: {found['verdict']['arm'] or 'none'}. {found['verdict']['reason']}")
    if found["caveat"]:
        say(f"Mind: {found['caveat']}.")


def _or_dash(value: float | None) -> str:
    return "–" if value is None else number(value)
