"""What goes over the wire. Requests are strict: nothing unknown, nothing converted in silence. What a trial answers is
described from the library's own types."""

from __future__ import annotations

from dataclasses import fields
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic_core import PydanticCustomError

from bestarm.release.models import Model
from bestarm.service.access import LONGEST_LABEL
from bestarm.text import is_text
from bestarm.trial import answers
from bestarm.trial.identity import Participant
from bestarm.trial.plain import Answer, key_of, types_of

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
Reasons = Annotated[str, Field(min_length=1, max_length=500, examples=["read the wrong line"])]
Label = Annotated[str, Field(min_length=1, max_length=LONGEST_LABEL, examples=["ward 3"])]


class Sent(BaseModel):
    """A request's body."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _is_text(cls, data: Any) -> Any:
        # JSON can spell half of a surrogate pair, which no database and no answer can hold.
        if not _all_text(data):
            raise PydanticCustomError("no_text", "text must be Unicode that can be written as UTF-8")
        return data


def _all_text(data: Any) -> bool:
    if isinstance(data, str):
        return is_text(data)
    if isinstance(data, dict):
        return all(_all_text(part) for pair in data.items() for part in pair)
    return all(_all_text(part) for part in data) if isinstance(data, list) else True


class Said(BaseModel):
    """An answer; later versions may say more."""

    model_config = ConfigDict(extra="allow")


def schema_of(kind: type[Answer]) -> type[Said]:
    """The schema of one of the library's answers, made from its own type: the API says what the library says."""
    if kind not in _SCHEMAS:
        _SCHEMAS[kind] = _made(kind)
    return _SCHEMAS[kind]


_SCHEMAS: dict[type[Answer], type[Said]] = {}


def _made(kind: type[Answer]) -> type[Said]:
    types = types_of(kind)
    keys = {key_of(field): types[field.name] for field in fields(kind)}
    also = {name: get_type_hints(getattr(kind, name).fget)["return"] for name in kind.ALSO}
    shown: dict[str, Any] = {key: (_described(hint), ...) for key, hint in (keys | also).items()}
    return create_model(kind.__name__, __base__=Said, __doc__=kind.__doc__, **shown)


def _described(hint: Any) -> Any:
    # The same type with a schema in place of every answer in it.
    if isinstance(hint, type) and issubclass(hint, Answer):
        return schema_of(hint)
    inner = get_args(hint)
    if not inner or get_origin(hint) is Literal:
        return hint
    parts = tuple(part if part is Ellipsis else _described(part) for part in inner)
    if get_origin(hint) in (Union, UnionType):
        return reduce(or_, parts)
    return get_origin(hint)[parts]


Asked = schema_of(answers.Asked)
HeldAssignment = schema_of(answers.HeldAssignment)
OpenAssignment = schema_of(answers.OpenAssignment)
StaffStatus = schema_of(answers.StaffStatus)
Status = schema_of(answers.Status)
Ledger = schema_of(answers.Ledger)
Report = schema_of(answers.Report)
Verdict = schema_of(answers.Verdict)
Verification = schema_of(answers.Verification)


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
    privacy_delta: Exact | None = Field(default=None, description="Of the model shuffle: the chance that it fails.")
    group: int | None = Field(default=None, ge=2, le=20_000, description="Of the model shuffle: the smallest group.")
    colluders: int | None = Field(default=None, ge=0, le=20_000, description="Of the model shuffle, in a group.")
    algorithm: str | None = Field(default=None, max_length=100)
    privacy: Model | None = None
    outcomes: Literal["unit", "binary"] | None = None
    low: Exact | None = None
    high: Exact | None = None
    lower_is_better: bool | None = None
    what: str | None = Field(default=None, max_length=200, description="What is measured, in words.")
    difference: Exact | None = Field(
        default=None, description="The smallest difference that matters, in the outcome's own units."
    )
    indifference: Exact | None = Field(default=None, description="Another name for the difference.")
    control: str | None = Field(
        default=None,
        max_length=100,
        description="The arm that the others are compared with: the verdict is an arm that is better, or none if no "
        "arm is better by the difference (which is negative for non-inferiority).",
    )
    delta_none: Exact | None = Field(
        default=None, description="Risk of none although an arm is better by the difference; by default delta."
    )
    max_participants: int | None = Field(default=None, ge=2, le=10**9)
    hard_end: bool | None = Field(default=None, description="Always end with a recommendation; needs a difference.")
    rates: list[Exact] | None = Field(
        default=None,
        min_length=2,
        max_length=2,
        description="With a hard end: the lowest and the highest mean that any arm ever has, if that may be assumed.",
    )
    follow_up: str | int | None = Field(default=None, description="Such as 30d; an outcome then counts when it is due.")
    withdrawal: str | None = Field(default=None, max_length=60, description="impute:X, against or replace.")
    contributions: int | None = Field(default=None, ge=1, le=1000)
    allocation: Literal["random", "fixed"] | None = None
    distributed: bool | None = Field(default=None, description="Everybody adds a part of the noise; see halves.")
    dry_run: bool = Field(default=False, description="Check everything and read the design back; create nothing.")


class Ask(Sent):
    """Who is to be assigned."""

    subject: Subject


class AskMany(Sent):
    """Who are to be assigned, in this order, all or none."""

    subjects: list[Subject] = Field(max_length=MOST_AT_ONCE)


class Who(Sent):
    """Somebody in the trial, by their assignment or by their code: one of the two."""

    assignment: AssignmentId | None = None
    subject: Subject | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.assignment is None) == (self.subject is None):
            raise PydanticCustomError("who", "say who it is, by assignment or by subject: one of the two")
        return self

    @property
    def who(self) -> str | Participant:
        """As the library takes it."""
        return Participant(self.subject) if self.assignment is None else self.assignment


class Tell(Who):
    """An outcome. It is confidential and never comes back."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"assignment": "1-3fa9", "outcome": 1}]})

    outcome: Exact


class TellMany(Sent):
    """Outcomes; all are recorded or none is."""

    outcomes: list[Tell] = Field(max_length=MOST_AT_ONCE)


class Correct(Tell):
    """An outcome in place of one that was recorded by mistake."""

    reason: Reasons


class Withdraw(Who):
    """Who leaves the trial."""

    reason: str = Field(default="", max_length=500)


class Relabel(Sent):
    """An assignment whose code was mistyped, and the right code."""

    assignment: AssignmentId
    subject: Subject
    reason: Reasons


class Void(Sent):
    """An assignment that is a second entry of somebody, and the code under which they are in the trial."""

    assignment: AssignmentId
    duplicate_of: Subject
    reason: Reasons


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
        json_schema_extra={"examples": [{"arms": 3, "difference": 0.1, "gap": 0.2, "epsilon": 1.0, "delta": 0.05}]},
    )

    difference: float | None = Field(
        default=None,
        description="The smallest difference that matters: the recommended arm is within it of the best, except with "
        "probability delta.",
    )
    epsilon: float
    delta: float = 0.01
    control: str | int | None = Field(
        default=None, description="The arm that the others are compared with, by number from 0; a name is the first's."
    )
    delta_none: float | None = Field(
        default=None, description="Risk of none although an arm is better by the difference; by default delta."
    )
    means: list[float] | None = Field(default=None, max_length=50)
    arms: int | None = Field(default=None, ge=2, le=50)
    gap: float | None = None
    base: float | None = None
    algorithm: str | None = Field(default=None, max_length=100)
    runs: int = Field(default=200, ge=2, le=1000)
    seed: int = Field(default=0, ge=0, le=2**31)
    participants: int | None = Field(default=None, ge=2, le=10**7)
    hard_end: bool = Field(default=False, description="Always end with a recommendation; needs a difference.")
    rates: list[float] | None = Field(
        default=None, min_length=2, max_length=2, description="With a hard end: no arm's mean ever leaves this band."
    )
    enrol: float | None = Field(default=None, description="People a day; the answer is then in days, too.")
    arrivals: Literal["constant", "poisson"] = "constant"
    ramp: str | None = Field(default=None, max_length=20, description="Enrolment grows to its rate over this, as 60d.")
    follow_up: str | None = Field(default=None, max_length=20, description="An outcome is known after this, as in 28d.")
    missing: float | list[float] | None = Field(default=None, description="The share of outcomes that never come.")
    withdrawal: str | None = Field(default=None, max_length=100, description="What counts then: impute:X or against.")
    trend: str | None = Field(default=None, max_length=40, description="Common to all arms, such as linear:0.1.")
    outcomes: Literal["binary", "unit"] = "binary"
    low: float = 0
    high: float = 1
    lower_is_better: bool = False
    law: Literal["beta", "normal"] | None = Field(default=None, description="Of outcomes on a scale; with sd.")
    sd: float | list[float] | None = None
    scenarios: bool = Field(default=False, description="Also the operating characteristics.")


class Health(Said):
    """Whether the service is up."""

    status: Literal["ok"]
    version: str


class Ready(Said):
    """Whether the service can do its work."""

    status: Literal["ready"]


class Me(Said):
    """What the token is."""

    role: Literal["viewer", "operator", "admin"]
    trial: str | None
    label: str


class AlgorithmInfo(Said):
    """One algorithm of the catalogue."""

    name: str
    summary: str
    privacy: list[str]
    proven: bool
    source: str


class AlgorithmList(Said):
    """The catalogue."""

    algorithms: list[AlgorithmInfo]


class TrialInfo(Said):
    """A trial and its frozen design, numbers as exact text."""

    trial: str
    design: dict[str, Any]


class DesignRead(TrialInfo):
    """A design read back: in sentences, and with what should be thought over."""

    sentences: list[str]
    cautions: list[str]


class TrialList(Said):
    """The trials that the token reaches."""

    trials: list[str]


class AskedMany(Said):
    """Assignments in the order asked for."""

    assignments: list[Asked]  # type: ignore[valid-type]


class Done(Said):
    """What became of it: "recorded", "already recorded", "late", "withdrawn", "corrected", ..."""

    status: str


class DoneMany(Said):
    """What became of each, in the order told."""

    statuses: list[str]


class LookedUp(Said):
    """The assignments that somebody holds; if the code is not known, codes in the trial that are much like it."""

    assignments: list[HeldAssignment]  # type: ignore[valid-type]
    near: list[str]


class OpenAssignments(Said):
    """The assignments whose outcomes are awaited, the most urgent first."""

    assignments: list[OpenAssignment]  # type: ignore[valid-type]


class VerdictOrNone(Said):
    """The verdict; null while the trial runs."""

    verdict: Verdict | None  # type: ignore[valid-type]


class BoundsAnswer(Said):
    """The bounds of a problem."""

    lower_bound: float | None
    lower_bound_refined: float | None
    regime: Literal["high-privacy", "low-privacy"]


class PlanAnswer(Said):
    """A plan."""

    state: Literal["done"]
    plan: dict[str, Any]


class PlanPending(Said):
    """The plan is being computed; send the same question again."""

    state: Literal["computing"]
