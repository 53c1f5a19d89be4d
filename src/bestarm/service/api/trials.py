"""Trials over HTTP: the same requests and answers as `Trial`, safe to repeat in the same way.

What is personal (subjects, assignments, outcomes) travels in bodies, never in addresses, which end up in logs.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from bestarm.sentences import cautions, sentences
from bestarm.service import schemas
from bestarm.service import schemas_of_halves as halved
from bestarm.service.guard import (
    Holder,
    HooksHere,
    TrialsHere,
    TrialToManage,
    TrialToRun,
    TrialToView,
    Viewer,
    WholeAdmin,
    demand_everything,
)
from bestarm.service.problems import documented
from bestarm.service.reports import report_response
from bestarm.service.trials import checked_outcome, record
from bestarm.trial.public import ledger_of, status_of

LARGEST_PAGE: Final = 10**9
"""More than any trial has people."""

router = APIRouter(prefix="/trials", tags=["trials"])
Start = Annotated[int, Query(ge=0, le=LARGEST_PAGE, description="How many to leave out.")]
Most = Annotated[int | None, Query(ge=1, le=LARGEST_PAGE, description="How many to list at most; all, if not given.")]
Plain = dict[str, Any]
SEEN = documented(403, 404)
RUN = documented(403, 404, 409)


@router.get("", responses=documented())
def list_trials(holder: Viewer, trials: TrialsHere) -> schemas.TrialList:
    """The trials your token reaches."""
    return schemas.TrialList(trials=[name for name in trials.names() if holder.reaches(name)])


@router.post("", status_code=201, responses=documented(403, 409))
def create_trial(holder: WholeAdmin, trials: TrialsHere, design: schemas.NewTrial) -> schemas.DesignRead:
    """Create a trial; its design is frozen from here on. For administrators of all trials."""
    given = design.model_dump(exclude_none=True)
    name, dry_run = given.pop("name"), given.pop("dry_run")
    frozen = trials.rehearse(name, given) if dry_run else trials.create(name, holder.actor, given).design
    return schemas.DesignRead(
        trial=name, design=frozen.to_json(), sentences=sentences(frozen), cautions=cautions(frozen)
    )


@router.get("/{trial}", responses=SEEN)
def show_trial(found: TrialToView) -> schemas.TrialInfo:
    """A trial's design."""
    return schemas.TrialInfo(trial=found.name, design=found.design.to_json())


@router.delete("/{trial}", status_code=204, responses=SEEN)
def delete_trial(found: TrialToManage, holder: Holder, trials: TrialsHere) -> Response:
    """Delete a trial that never enrolled anybody. For administrators of all trials."""
    demand_everything(holder)
    trials.remove(found.name)
    return Response(status_code=204)


@router.get("/{trial}/status", response_model=schemas.Status, responses=SEEN)
def status(found: TrialToView, trials: TrialsHere) -> Plain:
    """The public state: who recruits, what was released, estimates, evidence, verdict."""
    return status_of(trials.view(found.name)).to_json()


@router.get("/{trial}/verdict", response_model=schemas.VerdictOrNone, responses=SEEN)
def verdict(found: TrialToView, trials: TrialsHere) -> Plain:
    """How the trial ended; null while it runs."""
    ended = trials.view(found.name).verdict
    return {"verdict": None if ended is None else ended.to_json()}


@router.get("/{trial}/ledger", response_model=schemas.Ledger, responses=SEEN)
def ledger(found: TrialToView, trials: TrialsHere) -> Plain:
    """The privacy ledger: every release, its noise, and what all of them cost a person."""
    return ledger_of(trials.view(found.name)).to_json()


@router.get("/{trial}/report", response_model=schemas.Report, responses=SEEN)
def report(found: TrialToView, trials: TrialsHere) -> Plain:
    """The report as data; only releases and what follows from them."""
    return trials.report(found.name).to_json()


@router.get("/{trial}/report.html", response_class=HTMLResponse, responses=SEEN)
def report_html(found: TrialToView, trials: TrialsHere) -> HTMLResponse:
    """The report as one HTML page that needs nothing else."""
    return report_response(trials.report_page(found.name))


@router.post("/{trial}/ask", response_model=schemas.Asked, responses=RUN)
def ask(found: TrialToRun, holder: Holder, request: schemas.Ask) -> Plain:
    """The subject's assignment: the one it holds, or a new one. For operators."""
    return found.ask(request.subject, holder.actor).to_json()


@router.post("/{trial}/ask-many", response_model=schemas.AskedMany, responses=RUN)
def ask_many(found: TrialToRun, holder: Holder, request: schemas.AskMany) -> Plain:
    """Assignments for several subjects in one step; all or none. For operators."""
    return {"assignments": [one.to_json() for one in found.ask_many(request.subjects, holder.actor)]}


@router.post("/{trial}/tell", responses=RUN)
def tell(found: TrialToRun, holder: Holder, request: schemas.Tell) -> schemas.Done:
    """Record an outcome: "recorded", "already recorded" or "late" (kept, not used). For operators."""
    outcome = checked_outcome(found.design, request.outcome)
    return schemas.Done(status=record(found, [(request.who, outcome)], holder)[0])


@router.post("/{trial}/tell-many", responses=RUN)
def tell_many(found: TrialToRun, holder: Holder, request: schemas.TellMany) -> schemas.DoneMany:
    """Record several outcomes in one step; all or none. For operators."""
    outcomes = [(one.who, checked_outcome(found.design, one.outcome)) for one in request.outcomes]
    return schemas.DoneMany(statuses=record(found, outcomes, holder))


@router.post("/{trial}/correct", responses=RUN)
def correct(found: TrialToRun, holder: Holder, request: schemas.Correct) -> schemas.Done:
    """Correct an outcome: "corrected", or "late" (recorded, not used) once its stage is released. For operators."""
    outcome = checked_outcome(found.design, request.outcome)
    return schemas.Done(status=found.correct(request.who, outcome, request.reason, holder.actor))


@router.post("/{trial}/withdraw", responses=RUN)
def withdraw(found: TrialToRun, holder: Holder, request: schemas.Withdraw) -> schemas.Done:
    """Take a subject out by the design's rule. For operators."""
    return schemas.Done(status=found.withdraw(request.who, request.reason, holder.actor))


@router.get("/{trial}/open", response_model=schemas.OpenAssignments, responses=SEEN)
def open_assignments(found: TrialToRun, start: Start = 0, most: Most = None) -> Plain:
    """The assignments whose outcomes are awaited, the most urgent first; of a long list a page. For operators."""
    return {"assignments": [one.to_json() for one in found.open_assignments(start, most)]}


@router.get("/{trial}/staff", response_model=schemas.StaffStatus, responses=SEEN)
def staff_status(found: TrialToRun) -> Plain:
    """What staff have to do: how many outcomes are awaited, who is overdue, what holds a release up. For operators."""
    return found.staff_status().to_json()


@router.post("/{trial}/look-up", response_model=schemas.LookedUp, responses=SEEN)
def look_up(found: TrialToRun, request: schemas.Who) -> Plain:
    """Who somebody is: arm, when, whether an outcome is recorded (never which). Enrols nobody. For operators."""
    held = found.look_up(request.subject, assignment=request.assignment)
    near = found.near(request.subject) if request.subject is not None and not held else []
    return {"assignments": [one.to_json() for one in held], "near": near}


@router.post("/{trial}/relabel", responses=RUN)
def relabel(found: TrialToRun, holder: Holder, request: schemas.Relabel) -> schemas.Done:
    """Put a mistyped code right; the assignment and its arm stay. For operators."""
    return schemas.Done(status=found.relabel(request.assignment, request.subject, request.reason, holder.actor))


@router.post("/{trial}/void", responses=RUN)
def void(found: TrialToRun, holder: Holder, request: schemas.Void) -> schemas.Done:
    """Void a second entry of somebody; it keeps its place and counts as the worst outcome. For operators."""
    return schemas.Done(status=found.void(request.assignment, request.duplicate_of, request.reason, holder.actor))


@router.get("/{trial}/gathering", response_model=halved.GatheringOrNone, responses=SEEN)
def gathering(found: TrialToManage) -> Plain:
    """With distributed noise: the stage whose halves are to be added up next; null if none is. For administrators."""
    due = found.gathering()
    return {"gathering": None if due is None else due.to_json()}


@router.post("/{trial}/gather", responses=RUN)
def gather(found: TrialToManage, holder: Holder, request: halved.Gather) -> schemas.Done:
    """With distributed noise: what both servers' halves of a stage came to, which releases it. For administrators."""
    return schemas.Done(status=found.gather(request.stage, request.assignments, request.sums, holder.actor))


@router.post("/{trial}/pause", responses=RUN)
def pause(found: TrialToManage, holder: Holder, request: schemas.Reason) -> schemas.Done:
    """Enrol nobody until `resume`; outcomes still come in. For administrators."""
    return schemas.Done(status=found.pause(request.reason, holder.actor))


@router.post("/{trial}/resume", responses=RUN)
def resume(found: TrialToManage, holder: Holder, request: schemas.Reason) -> schemas.Done:
    """Enrol again. For administrators."""
    return schemas.Done(status=found.resume(request.reason, holder.actor))


@router.post("/{trial}/end", responses=RUN)
def end(found: TrialToManage, holder: Holder, request: schemas.NeededReason) -> schemas.Done:
    """Stop the trial for good without a recommendation. For administrators."""
    return schemas.Done(status=found.end(request.reason, holder.actor))


@router.get("/{trial}/verify", response_model=schemas.Verification, responses=SEEN)
def verify(found: TrialToManage, hooks: HooksHere) -> Plain:
    """Replay the log from its first event and compare; takes as long as the trial is. For administrators."""
    verification = found.verify()
    if not verification.ok:
        hooks.note_failed_verification(found.name)
    return verification.to_json()
