"""What goes over the wire. Requests are strict: nothing unknown, nothing converted in silence."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bestarm.service.access import LONGEST_LABEL

MOST_AT_ONCE = 10_000

Exact = Annotated[
    int | float | str,
    Field(description="A number, or the same as decimal text, which is kept exactly.", examples=["0.1"]),
]
Subject = Annotated[
    str, Field(min_length=1, max_length=200, description="Your own id of the person.", examples=["p-001"])
]
AssignmentId = Annotated[
    str, Field(min_length=1, max_length=60, description="As ask answered it.", examples=["1-3fa9"])
]
Label = Annotated[str, Field(min_length=1, max_length=LONGEST_LABEL, examples=["ward 3"])]


class Sent(BaseModel):
    """A request's body."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(BaseModel):
    """An answer; later versions may say more."""

    model_config = ConfigDict(extra="allow")


class NewTrial(Sent):
    """A trial's design; it is frozen when the trial is created. What is left out takes the library's default."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {"name": "dose finding", "arms": ["5mg", "10mg", "20mg"], "epsilon": "1", "delta": "0.01"},
            ]
        },
    )

    name: str = Field(min_length=1, max_length=100)
    arms: list[str] = Field(min_length=2, max_length=200)
    delta: Exact = Field(description="Risk of recommending a wrong arm, between 0 and 1.")
    epsilon: Exact | None = Field(default=None, description="Privacy budget; smaller means more privacy.")
    rho: Exact | None = Field(default=None, description="Privacy budget of the model zcdp.")
    algorithm: str | None = Field(default=None, max_length=100)
    privacy: Literal["pure", "none", "local", "zcdp"] | None = None
    outcomes: Literal["unit", "binary"] | None = None
    low: Exact | None = None
    high: Exact | None = None
    lower_is_better: bool | None = None
    what: str | None = Field(default=None, max_length=200, description="What is measured, in words.")
    difference: Exact | None = Field(
        default=None, description="The smallest difference that matters, in the outcome's own units."
    )
    indifference: Exact | None = Field(default=None, description="Another name for the difference.")
    max_participants: int | None = Field(default=None, ge=2, le=10**9)
    follow_up: str | int | None = Field(default=None, description="Such as 30d; an outcome then counts when it is due.")
    withdrawal: str | None = Field(default=None, max_length=60, description="impute:X or replace.")
    contributions: int | None = Field(default=None, ge=1, le=1000)
    allocation: Literal["random", "fixed"] | None = None


class Ask(Sent):
    """Who is to be assigned."""

    subject: Subject


class AskMany(Sent):
    """Who are to be assigned, in this order, all or none."""

    subjects: list[Subject] = Field(max_length=MOST_AT_ONCE)


class Tell(Sent):
    """An outcome. It is confidential and never comes back."""

    assignment: AssignmentId
    outcome: Exact


class TellMany(Sent):
    """Outcomes; all are recorded or none is."""

    outcomes: list[Tell] = Field(max_length=MOST_AT_ONCE)


class Correct(Tell):
    """An outcome in place of one that was recorded by mistake."""

    reason: str = Field(min_length=1, max_length=500, examples=["read the wrong line"])


class Withdraw(Sent):
    """Who leaves the trial."""

    assignment: AssignmentId
    reason: str = Field(default="", max_length=500)


class Reason(Sent):
    """Why; it is kept in the log."""

    reason: str = Field(default="", max_length=500, examples=["stock check"])


class NeededReason(Sent):
    """Why; it is kept in the log."""

    reason: str = Field(min_length=1, max_length=500, examples=["safety board"])


class BoundsQuestion(Sent):
    """A problem whose cost is asked for."""

    means: list[float] = Field(min_length=2, max_length=200, examples=[[0.95, 0.9, 0.5]])
    epsilon: float = Field(examples=[0.1])
    delta: float = Field(examples=[0.01])
    beta: float = 0.5


class PlanRequest(Sent):
    """A trial to be planned: the hoped-for means, or a number of arms with a gap."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"arms": 3, "gap": 0.2, "epsilon": 1.0, "delta": 0.05}]},
    )

    epsilon: float
    delta: float = 0.01
    means: list[float] | None = Field(default=None, max_length=50)
    arms: int | None = Field(default=None, ge=2, le=50)
    gap: float | None = None
    base: float | None = None
    algorithm: str | None = Field(default=None, max_length=100)
    runs: int = Field(default=200, ge=2, le=1000)
    seed: int = Field(default=0, ge=0, le=2**31)
    participants: int | None = Field(default=None, ge=2, le=10**7)
    difference: float | None = Field(default=None, description="The smallest difference that matters.")


class NewToken(Sent):
    """A token to be made."""

    role: Literal["viewer", "operator", "admin"]
    label: Label
    trial: str | None = Field(default=None, max_length=100, description="The one trial it is for; all if left out.")


class NewViewLink(Sent):
    """A public link to one trial's public view."""

    trial: str = Field(min_length=1, max_length=100)
    label: Label


class Health(Answer):
    """Whether the service is up."""

    status: Literal["ok"]
    version: str


class Me(Answer):
    """What the token is."""

    role: Literal["viewer", "operator", "admin"]
    trial: str | None
    label: str


class AlgorithmInfo(Answer):
    """One algorithm of the catalogue."""

    name: str
    summary: str
    privacy: list[str]
    proven: bool
    source: str


class AlgorithmList(Answer):
    """The catalogue."""

    algorithms: list[AlgorithmInfo]


class TrialInfo(Answer):
    """A trial and its frozen design, numbers as exact text."""

    trial: str
    design: dict[str, Any]


class TrialList(Answer):
    """The trials that the token reaches."""

    trials: list[str]


class VerdictAnswer(Answer):
    """How a trial ended."""

    arm: str | None
    reason: str
    by: str
    caveat: str | None


class Asked(Answer):
    """An assignment; once the trial has stopped, the verdict."""

    assignment: str | None
    arm: str | None
    told: bool
    stopped: bool
    verdict: VerdictAnswer | None


class AskedMany(Answer):
    """Assignments in the order asked for."""

    assignments: list[Asked]


class Done(Answer):
    """What became of it: "recorded", "already recorded", "late", "withdrawn", "corrected", ..."""

    status: str


class DoneMany(Answer):
    """What became of each, in the order told."""

    statuses: list[str]


class OpenAssignmentInfo(Answer):
    """An assignment whose outcome is awaited."""

    assignment: str
    arm: str
    assigned_at: str
    due_at: str | None


class OpenAssignments(Answer):
    """The assignments whose outcomes are awaited, oldest first."""

    assignments: list[OpenAssignmentInfo]


class ReleaseInfo(Answer):
    """One release: the noisy sum of a batch."""

    arm: str
    batch: int
    size: int
    value: float
    epsilon: float | None


class EstimateInfo(Answer):
    """An arm's estimated mean and its interval, where there is one."""

    arm: str
    mean: float | None
    low: float | None
    high: float | None


class EvidenceInfo(Answer):
    """How far the evidence against a rival has come."""

    rival: str
    value: float | None
    needed: float | None


class Status(Answer):
    """The public state of a trial."""

    trial: str
    state: Literal["recruiting", "waiting", "paused", "stopped"]
    recruiting: list[str]
    releases: list[ReleaseInfo]
    estimates: list[EstimateInfo]
    evidence: list[EvidenceInfo]
    epsilon_spent: float | None
    verdict: VerdictAnswer | None


class VerdictOrNone(Answer):
    """The verdict; null while the trial runs."""

    verdict: VerdictAnswer | None


class Ledger(Answer):
    """What was released, at what cost to a person, and why."""

    trial: str
    releases: list[ReleaseInfo]
    epsilon_spent: float | None
    promised: str
    why: str


class Report(Answer):
    """The whole report as data."""

    bestarm: str
    design: dict[str, Any]
    status: Status
    ledger: Ledger
    head: str


class Verified(Answer):
    """What replaying the log found."""

    ok: bool
    events: int
    head: str
    first_bad: int | None
    problem: str | None


class BoundsAnswer(Answer):
    """The bounds of a problem."""

    lower_bound: float | None
    lower_bound_refined: float | None
    regime: Literal["high-privacy", "low-privacy"]


class PlanAnswer(Answer):
    """A plan."""

    state: Literal["done"]
    plan: dict[str, Any]


class PlanPending(Answer):
    """The plan is being computed; send the same question again."""

    state: Literal["computing"]


class GrantInfo(Answer):
    """A token or a view link, without its secret."""

    id: int
    kind: Literal["token", "view"]
    role: Literal["viewer", "operator", "admin"]
    trial: str | None
    label: str
    created_at: str


class GrantList(Answer):
    """The tokens and view links that are good now."""

    grants: list[GrantInfo]


class NewGrant(GrantInfo):
    """A new token or view link. Its secret is shown here and never again."""

    secret: str
    path: str | None = Field(description="Where a view link leads on this server.")
