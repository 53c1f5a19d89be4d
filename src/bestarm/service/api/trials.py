"""Trials over HTTP: the same requests and answers as `Trial`, safe to repeat in the same way.

What is personal (subjects, assignments, outcomes) travels in bodies, never in addresses, which end up in logs.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse

from bestarm.service import schemas
from bestarm.service.guard import (
    Holder,
    TrialsHere,
    TrialToManage,
    TrialToRun,
    TrialToView,
    Viewer,
    WholeAdmin,
    trial_for,
)
from bestarm.service.plain import finite
from bestarm.service.problems import documented
from bestarm.service.reports import report_response
from bestarm.service.trials import checked_outcome, record
from bestarm.trial.answers import Asked
from bestarm.trial.public import ledger_of, status_of

router = APIRouter(prefix="/trials", tags=["trials"])
SEEN = documented(403, 404)
RUN = documented(403, 404, 409)


@router.get("", responses=documented())
def list_trials(holder: Viewer, trials: TrialsHere) -> schemas.TrialList:
    """The trials your token reaches."""
    return schemas.TrialList(trials=[name for name in trials.names() if holder.reaches(name)])


@router.post("", status_code=201, responses=documented(403, 409))
def create_trial(holder: WholeAdmin, trials: TrialsHere, design: schemas.NewTrial) -> schemas.TrialInfo:
    """Create a trial; its design is frozen from here on. For administrators of all trials."""
    given = design.model_dump(exclude_none=True)
    trial = trials.create(given.pop("name"), holder.actor, given)
    return schemas.TrialInfo(trial=trial.name, design=trial.design.to_json())


@router.get("/{trial}", responses=SEEN)
def show_trial(found: TrialToView) -> schemas.TrialInfo:
    """A trial's design."""
    return schemas.TrialInfo(trial=found.name, design=found.design.to_json())


@router.get("/{trial}/status", responses=SEEN)
def status(found: TrialToView, trials: TrialsHere) -> schemas.Status:
    """The public state: who recruits, what was released, estimates, evidence, verdict."""
    return schemas.Status(**finite(status_of(trials.view(found.name))))


@router.get("/{trial}/verdict", responses=SEEN)
def verdict(found: TrialToView, trials: TrialsHere) -> schemas.VerdictOrNone:
    """How the trial ended; null while it runs."""
    ended = trials.view(found.name).verdict
    return schemas.VerdictOrNone(verdict=None if ended is None else schemas.VerdictAnswer(**ended.to_json()))


@router.get("/{trial}/ledger", responses=SEEN)
def ledger(found: TrialToView, trials: TrialsHere) -> schemas.Ledger:
    """The privacy ledger: every release, its noise, and what all of them cost a person."""
    return schemas.Ledger(**finite(ledger_of(trials.view(found.name))))


@router.get("/{trial}/report", responses=SEEN)
def report(found: TrialToView, trials: TrialsHere) -> schemas.Report:
    """The report as data; only releases and what follows from them."""
    return schemas.Report(**finite(trials.report_data(found.name)))


@router.get("/{trial}/report.html", response_class=HTMLResponse, responses=SEEN)
def report_html(found: TrialToView, trials: TrialsHere) -> HTMLResponse:
    """The report as one HTML page that needs nothing else."""
    return report_response(trials.report_page(found.name))


@router.post("/{trial}/ask", responses=RUN)
def ask(found: TrialToRun, holder: Holder, request: schemas.Ask) -> schemas.Asked:
    """The subject's assignment: the one it holds, or a new one. For operators."""
    return _asked(found.ask(request.subject, holder.actor))


@router.post("/{trial}/ask-many", responses=RUN)
def ask_many(found: TrialToRun, holder: Holder, request: schemas.AskMany) -> schemas.AskedMany:
    """Assignments for several subjects in one step; all or none. For operators."""
    return schemas.AskedMany(assignments=[_asked(one) for one in found.ask_many(request.subjects, holder.actor)])


@router.post("/{trial}/tell", responses=RUN)
def tell(found: TrialToRun, holder: Holder, request: schemas.Tell) -> schemas.Done:
    """Record an outcome: "recorded", "already recorded" or "late" (kept, not used). For operators."""
    outcome = checked_outcome(found.design, request.outcome)
    return schemas.Done(status=record(found, [(request.assignment, outcome)], holder)[0])


@router.post("/{trial}/tell-many", responses=RUN)
def tell_many(found: TrialToRun, holder: Holder, request: schemas.TellMany) -> schemas.DoneMany:
    """Record several outcomes in one step; all or none. For operators."""
    outcomes = [(one.assignment, checked_outcome(found.design, one.outcome)) for one in request.outcomes]
    return schemas.DoneMany(statuses=record(found, outcomes, holder))


@router.post("/{trial}/correct", responses=RUN)
def correct(found: TrialToRun, holder: Holder, request: schemas.Correct) -> schemas.Done:
    """Correct an outcome: "corrected", or "late" (recorded, not used) once its batch is closed. For operators."""
    outcome = checked_outcome(found.design, request.outcome)
    return schemas.Done(status=found.correct(request.assignment, outcome, request.reason, holder.actor))


@router.post("/{trial}/withdraw", responses=RUN)
def withdraw(found: TrialToRun, holder: Holder, request: schemas.Withdraw) -> schemas.Done:
    """Take a subject out by the design's rule. For operators."""
    return schemas.Done(status=found.withdraw(request.assignment, request.reason, holder.actor))


@router.get("/{trial}/open", responses=SEEN)
def open_assignments(found: TrialToRun) -> schemas.OpenAssignments:
    """The assignments whose outcomes are awaited, oldest first. For operators."""
    return schemas.OpenAssignments(
        assignments=[
            schemas.OpenAssignmentInfo(assignment=a.id, arm=a.arm, assigned_at=a.assigned_at, due_at=a.due_at)
            for a in found.open_assignments()
        ]
    )


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


@router.get("/{trial}/verify", responses=SEEN)
def verify(found: Annotated[Any, Depends(trial_for("admin"))]) -> schemas.Verified:
    """Replay the log from its first event and compare; takes as long as the trial is. For administrators."""
    return schemas.Verified(**found.verify().to_json())


def _asked(asked: Asked) -> schemas.Asked:
    return schemas.Asked(**asked.to_json())
