"""`bestarm trial ...`: running a trial with real people from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestarm.cli import desk
from bestarm.cli.options import (
    Colluders,
    Control,
    DeltaNone,
    Difference,
    Group,
    HardEnd,
    Json,
    MaxParticipants,
    PrivacyDelta,
    PrivacyModel,
    Rates,
    parse_rates,
    whole_option,
)
from bestarm.cli.output import caution, emit_json, number, say, show_table
from bestarm.cli.trial_options import STAFF, Actor, Folder, Name, Place, Reason, say_answer, trial_of, verdict_said

if TYPE_CHECKING:
    from bestarm.trial.answers import Verification


def register(app: typer.Typer) -> None:
    """Add the group `trial`."""
    group = typer.Typer(help="Run a trial with real people: create, ask, tell, watch, verify.", no_args_is_help=True)
    for name, command in (
        ("create", create),
        ("ask", desk.ask),
        ("tell", desk.tell),
        ("tell-csv", desk.tell_csv),
        ("open", desk.waiting),
        ("look-up", desk.look_up),
        ("withdraw", desk.withdraw),
        ("correct", desk.correct),
        ("relabel", desk.relabel),
        ("void", desk.void),
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
        ("delete", delete),
        ("export-public", export_public),
        ("export-confidential", export_confidential),
    ):
        group.command(name)(command)
    app.add_typer(group, name="trial")


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
    privacy: PrivacyModel = None,
    rho: Annotated[str | None, typer.Option("--rho", metavar="R", help="Budget of the model zcdp.")] = None,
    privacy_delta: PrivacyDelta = None,
    group: Group = None,
    colluders: Colluders = None,
    noise: Annotated[
        str,
        typer.Option("--noise", metavar="WHO", help="central (the store adds it) or distributed (everybody a part)."),
    ] = "central",
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
    control: Control = None,
    delta_none: DeltaNone = None,
    max_participants: MaxParticipants = None,
    hard_end: HardEnd = False,
    rates: Rates = None,
    follow_up: Annotated[
        str | None, typer.Option("--follow-up", metavar="DURATION", help="When an outcome is due: 30d, 12h, 90m.")
    ] = None,
    withdrawal: Annotated[
        str | None, typer.Option("--withdrawal", metavar="RULE", help="impute:X (default: worst), against or replace.")
    ] = None,
    contributions: Annotated[
        int, whole_option("--contributions", metavar="k", help="Assignments one subject may hold.")
    ] = 1,
    allocation: Annotated[
        str, typer.Option("--allocation", metavar="HOW", help="random (unpredictable) or fixed (in order).")
    ] = "random",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything and read the design back; create nothing.")
    ] = False,
    actor: Actor = STAFF,
    as_json: Json = False,
) -> None:
    """Create a trial; its design is frozen from here on."""
    from bestarm.checks import one_of
    from bestarm.release.distributed import DISTRIBUTED, WHO_ADDS_NOISE
    from bestarm.sentences import cautions, sentences
    from bestarm.trial.places import rehearse
    from bestarm.trial.trial import Trial

    given: dict[str, Any] = {
        "arms": arms.split(","),
        "epsilon": epsilon,
        "delta": delta,
        "algorithm": algorithm,
        "privacy": privacy,
        "rho": rho,
        "privacy_delta": privacy_delta,
        "group": group,
        "colluders": colluders,
        "distributed": one_of("Who adds the noise", noise, WHO_ADDS_NOISE) == DISTRIBUTED,
        "outcomes": outcomes,
        "low": low,
        "high": high,
        "lower_is_better": lower_is_better,
        "what": what,
        "difference": difference,
        "control": control,
        "delta_none": delta_none,
        "max_participants": max_participants,
        "hard_end": hard_end,
        "rates": parse_rates(rates),
        "follow_up": follow_up,
        "withdrawal": withdrawal,
        "contributions": contributions,
        "allocation": allocation,
    }
    if dry_run:
        design = rehearse(store, name=name, **given)
    else:
        with Trial.create(store, name=name, actor=actor, **given) as trial:
            design = trial.design
    caution(cautions(design))
    if as_json:
        emit_json(
            {"trial": name, "design": design.to_json(), "dry_run": dry_run}
            | ({"sentences": sentences(design), "cautions": cautions(design)} if dry_run else {})
        )
    elif dry_run:
        say(*sentences(design), "Nothing was created.")
    else:
        rows = design.in_words()
        show_table(f"Trial {name} created; its design is now fixed", ("parameter", "value"), rows, words=2)


def pause(store: Place, name: Name, reason: Reason = "", actor: Actor = STAFF, as_json: Json = False) -> None:
    """Enrol nobody until the trial is resumed; outcomes still come in."""
    with trial_of(store, name) as trial:
        answer = trial.pause(reason, actor)
    say_answer(answer, answer, as_json)


def resume(store: Place, name: Name, reason: Reason = "", actor: Actor = STAFF, as_json: Json = False) -> None:
    """Enrol again."""
    with trial_of(store, name) as trial:
        answer = trial.resume(reason, actor)
    say_answer(answer, answer, as_json)


def end(store: Place, name: Name, reason: Reason, actor: Actor = STAFF, as_json: Json = False) -> None:
    """Stop for good without a recommendation, for safety or otherwise."""
    with trial_of(store, name) as trial:
        answer = trial.end(reason, actor)
    say_answer(answer, answer, as_json)


def status(
    store: Place,
    name: Name,
    staff: Annotated[
        bool, typer.Option("--staff", help="Also what holds releases up; not public, for those who work on the trial.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Where the trial stands: everything that is public about it."""
    with trial_of(store, name) as trial:
        found = trial.status(staff)
        said = trial.staff_status().in_words() if staff else []
    if as_json:
        emit_json(found)
    else:
        _show_status(found)
        say(*said)


def verdict(store: Place, name: Name, as_json: Json = False) -> None:
    """How the trial ended, if it has."""
    with trial_of(store, name) as trial:
        found = trial.verdict
    if as_json:
        emit_json({"trial": name, "verdict": None if found is None else found.to_json()})
    else:
        say(*(["There is no verdict yet."] if found is None else verdict_said(found)))


def ledger(store: Place, name: Name, as_json: Json = False) -> None:
    """What was released of whom, at what cost to privacy, and why the total is what it is."""
    with trial_of(store, name) as trial:
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
    with trial_of(store, name) as trial:
        _written(trial.report(out), as_json)


def export_public(store: Place, name: Name, out: Folder, as_json: Json = False) -> None:
    """Write everything public as CSV and JSON, with the public chain that `verify-public` rechecks."""
    with trial_of(store, name) as trial:
        _written(trial.export_public(out), as_json)


def export_confidential(store: Place, name: Name, out: Folder, as_json: Json = False) -> None:
    """Write every assignment with its outcome and the whole log. Confidential: this is what the noise protects."""
    with trial_of(store, name) as trial:
        _written(trial.export_confidential(out), as_json)


def verify(store: Place, name: Name, as_json: Json = False) -> None:
    """Replay the log, re-derive every decision, and compare with the books."""
    with trial_of(store, name) as trial:
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
    from bestarm.trial.places import trial_names

    found = trial_names(store)
    if as_json:
        emit_json({"trials": found})
    else:
        say(*(found or ["There are no trials here yet."]))


def delete(store: Place, name: Name, as_json: Json = False) -> None:
    """Delete a trial that never enrolled anybody, with its log."""
    with trial_of(store, name) as trial:
        trial.delete()
    say_answer("deleted", "deleted", as_json)


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


def _show_status(found: dict[str, Any]) -> None:
    recruiting = ", ".join(found["recruiting"])
    say(f"Trial {found['trial']}: {found['state']}{f' ({recruiting})' if recruiting else ''}.", found["explanation"])
    rows = [
        (e["arm"], str(found["assigned"][e["arm"]]), *(_or_dash(e[key]) for key in ("mean", "low", "high")))
        for e in found["estimates"]
    ]
    show_table("Estimates from releases", ("arm", "assigned", "mean", "low", "high"), rows)
    if found["evidence"]:
        rows = [(e["claim"] or e["rival"], number(e["value"]), number(e["needed"])) for e in found["evidence"]]
        control = found["evidence"][0]["claim"] is not None
        title = "Evidence for each claim" if control else "Evidence for the leading arm against each rival"
        show_table(title, ("claim" if control else "rival", "evidence", "needed"), rows)
    if found["hard_end"]:
        say(found["hard_end"])
    spent = found["epsilon_spent"]
    say(f"{len(found['releases'])} releases." + ("" if spent is None else f" Epsilon spent: {spent:g} a person."))
    if found["verdict"] is not None:
        say(f"Verdict: {found['verdict']['arm'] or 'none'}. {found['verdict']['reason']}")
    if found["caveat"]:
        say(f"Mind: {found['caveat']}.")


def _or_dash(value: float | None) -> str:
    return "–" if value is None else number(value)
