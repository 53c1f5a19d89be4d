"""What a trial answers: one type for each answer, for the library, the API, its client and the pages alike.

Everything here may be shown to the person who asked, and all of it is made from public things but for what staff see
of their own work (`Asked`, `OpenAssignment`, `HeldAssignment`, `StaffStatus`, `Verification`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from bestarm.trial.plain import Answer

State = Literal["recruiting", "waiting", "paused", "stopped"]
"""A trial that waits enrols nobody until outcomes come in."""
EndedBy = Literal["evidence", "participants", "group", "ended"]
"""The evidence sufficed, the largest number of participants was reached, a stage was too small to be released (shuffled
privacy), or a person ended the trial."""
ReleaseKind = Literal["sum", "difference"]
"""Of one arm, or of two, the second taken off the first."""


@dataclass(frozen=True)
class Verdict(Answer):
    """How a trial ended: the recommended arm, or null if it ended without one, and why.

    Where arms are compared with control the arm may be "none": the evidence shows that no arm is better.
    """

    arm: str | None
    reason: str
    by: EndedBy
    caveat: str | None = None
    """What must stand beside the result, if the algorithm's error rate is not proven."""
    at: str | None = None
    """When it ended, as everybody may know it."""


@dataclass(frozen=True)
class Part(Answer):
    """With distributed noise: what a person's own machine has to know to send an outcome in halves. All of it is fixed
    when the stage opens, but for the place, which is that of the person's arm."""

    stage: int
    people: int
    """How many people the stage was planned for: everybody adds one part in so many of the noise."""
    sums: int
    """How many sums the stage releases; everybody adds noise to each of them."""
    place: int
    """Into which of them, from 0, the outcome goes."""
    sign: int
    """1, or -1 where the stage releases a difference and the outcome is taken off."""
    epsilon: str


@dataclass(frozen=True)
class Gathering(Answer):
    """With distributed noise: the stage whose halves are to be added up next."""

    stage: int
    people: int
    """How many it was planned for."""
    assignments: tuple[str, ...]
    """Who may have sent an outcome: everybody in it who has not withdrawn."""
    due: bool
    """Whether those who sent none count as missing now; else they are waited for."""


@dataclass(frozen=True)
class HeldHalves(Answer):
    """With distributed noise: whose halves a server holds for a stage, and whose it has added up, if it has."""

    held: tuple[str, ...]
    summed: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Asked(Answer):
    """The answer to `ask`. Once the trial has stopped there is no assignment and no arm, but the verdict."""

    ALSO: ClassVar = ("stopped",)

    id: str | None = field(metadata={"key": "assignment"})
    arm: str | None
    told: bool
    verdict: Verdict | None = None
    withdrawn: bool = False
    part: Part | None = None
    """With distributed noise: how the outcome is to be sent."""

    @property
    def stopped(self) -> bool:
        """Whether the trial is over."""
        return self.verdict is not None


@dataclass(frozen=True)
class OpenAssignment(Answer):
    """An assignment whose outcome is awaited: what staff see of it."""

    id: str = field(metadata={"key": "assignment"})
    arm: str
    assigned_at: str
    due_at: str | None
    stage: int
    holds_up: bool
    """Whether a release waits for it now: its stage takes nobody any more, and the design has no follow-up."""
    overdue: bool
    """Whether its time is over: an outcome is still kept, but no longer used."""


@dataclass(frozen=True)
class HeldAssignment(Answer):
    """An assignment as staff find it by its code or its id: whether an outcome is recorded, and never which."""

    id: str = field(metadata={"key": "assignment"})
    arm: str
    stage: int
    assigned_at: str
    due_at: str | None
    told: bool
    late: bool
    """Whether the outcome came too late to count."""
    withdrawn: bool
    voided: bool
    changeable: bool
    """Whether an outcome, a correction or a withdrawal still counts: its stage is not released and it is not due."""
    voidable: bool
    """Whether it may still be voided as a duplicate."""


@dataclass(frozen=True)
class HoldUp(Answer):
    """What holds a release up, for staff: the outcomes that the stage whose turn it is waits for, oldest first."""

    stage: int
    missing: int
    oldest_at: str
    assignments: tuple[str, ...]
    """The first of them."""
    days: int
    """How many days ago the oldest was assigned."""

    def in_words(self) -> str:
        """As a sentence."""
        several = self.missing > 1
        who = (
            f"{self.missing} outcomes of stage {self.stage} are" if several else f"An outcome of stage {self.stage} is"
        )
        age = f" since {self.days} day{'s' if self.days > 1 else ''}" if self.days else ""
        named = ", ".join(self.assignments) + (", ..." if self.missing > len(self.assignments) else "")
        return f"{who} missing{', the oldest' if several and age else ''}{age}: {named}. The release waits for them."


@dataclass(frozen=True)
class StaffStatus(Answer):
    """What staff have to do. Not public: it says whose outcomes are missing."""

    awaited: int
    """Outcomes that are missing."""
    overdue: tuple[str, ...]
    """Assignments whose time is over while their stage is not released: an outcome is kept, and no longer used."""
    hold_up: HoldUp | None

    def in_words(self) -> list[str]:
        """As sentences."""
        one = self.awaited == 1
        said = [
            f"{self.awaited} outcome{' is' if one else 's are'} awaited." if self.awaited else "No outcome is awaited."
        ]
        if self.overdue:
            said.append(f"Overdue, kept but no longer used: {', '.join(self.overdue)}.")
        return said if self.hold_up is None else [*said, self.hold_up.in_words()]


@dataclass(frozen=True)
class StageStatus(Answer):
    """The stage that people join now, or the one that opens with the next person: its weights by arm."""

    number: int
    weights: dict[str, float]
    people: int
    open: bool


@dataclass(frozen=True)
class Release(Answer):
    """One release in the outcome's own units: an arm's noisy sum in a stage, or the noisy difference of two."""

    stage: int
    kind: ReleaseKind
    arms: tuple[str, ...]
    """The arm; or of a difference the arm whose sum counts, and the arm whose sum is taken off."""
    sizes: tuple[int, ...]
    voided: tuple[int, ...]
    """How many of these people were voided: second entries of somebody, which count as the worst outcome."""
    value: float
    epsilon: float | None

    @property
    def of_arms(self) -> str:
        """Whose sum it is, for people to read."""
        return " − ".join(self.arms)

    @property
    def of_people(self) -> str:
        """How many people are in it, for people to read."""
        return " + ".join(f"{size:,}" for size in self.sizes)


@dataclass(frozen=True)
class LedgerLine(Release):
    """A release with the law of its noise."""

    terms: dict[str, str | None]


@dataclass(frozen=True)
class ArmEstimate(Answer):
    """An arm's estimated mean and its interval in the outcome's own units, where there are any."""

    arm: str
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RivalEvidence(Answer):
    """How far the evidence for the leading arm against a rival has come, and how far it has to.

    Against control `rival` is the arm that is compared with it, and there are two for each: its claim says which.
    """

    rival: str
    value: float | None
    needed: float | None
    claim: str | None = None
    """What the evidence is for, in words, in a comparison with control; else null."""


@dataclass(frozen=True)
class ArmDifference(Answer):
    """An interval for the mean of the leading arm less that of a rival, in the outcome's own units, valid at all times.

    It needs the difference to be the same for everybody, while levels may drift.
    """

    arm: str
    rival: str
    low: float
    high: float


@dataclass(frozen=True)
class SampleRatioCheck(Answer):
    """Whether people came to the arms in the announced proportions: valid at all times, alarm at 1 in 1,000."""

    p_value: float
    ok: bool


@dataclass(frozen=True)
class Status(Answer):
    """The public state of a trial."""

    trial: str
    state: State
    recruiting: tuple[str, ...]
    stage: StageStatus | None
    """Of algorithms with coins; null for others, and while nobody is enrolled."""
    assigned: dict[str, int]
    relabelled: int
    """How often a mistyped code was put right, in the whole trial."""
    withdrawn: int | None
    """How many people withdrew, where the design replaces them and so makes it public; else null."""
    began: str | None
    """When the trial was created."""
    releases: tuple[Release, ...]
    estimates: tuple[ArmEstimate, ...]
    evidence: tuple[RivalEvidence, ...]
    differences: tuple[ArmDifference, ...]
    sample_ratio: SampleRatioCheck | None
    """Of algorithms with coins; null for others, and before the first stage."""
    epsilon_spent: float | None
    explanation: str
    hard_end: str | None
    """By when the trial always ends, and what its promise then rests on, in words; null without a hard end."""
    verdict: Verdict | None
    caveat: str | None


@dataclass(frozen=True)
class Ledger(Answer):
    """What was released with which noise, what all of it costs any one person, and why it is that."""

    trial: str
    privacy: str
    releases: tuple[LedgerLine, ...]
    epsilon_spent: float | None
    promised: str
    why: str
    assumptions: tuple[str, ...]
    epsilon_exact: str | None = None
    """The same as `epsilon_spent`, as exact text."""
    rho_spent: str | None = None
    """What is spent of the budget of the model zcdp."""

    @property
    def spent(self) -> str | None:
        """The cost to any one person so far, as exact text; None where nothing is promised."""
        return self.rho_spent if self.epsilon_exact is None else self.epsilon_exact


@dataclass(frozen=True)
class Report(Answer):
    """The whole report as data: the design, where the trial stands, the ledger, and the head of the public chain."""

    bestarm: str
    design: dict[str, Any]
    status: Status
    ledger: Ledger
    head: str


@dataclass(frozen=True)
class Misfit(Answer):
    """Something that does not fit: the number of the event, or null if the books differ from the log."""

    event: int | None
    problem: str


MOST_MISFITS: Final = 100
"""So many are listed; all are counted."""


@dataclass(frozen=True)
class Verification(Answer):
    """What `verify` found: whether everything fits, and what does not."""

    ok: bool
    events: int
    head: str
    first_bad: int | None = None
    """The number of the first event that does not fit; None if all do, or if only the books differ from the log."""
    problem: str | None = None
    """What is wrong with it."""
    misfits: int = 0
    """How many things do not fit."""
    listed: tuple[Misfit, ...] = ()
    """The first of them."""

    @classmethod
    def of(cls, events: int, head: str, misfits: list[Misfit]) -> Verification:
        """From everything that was found."""
        if not misfits:
            return cls(True, events, head)
        first = misfits[0]
        return cls(False, events, head, first.event, first.problem, len(misfits), tuple(misfits[:MOST_MISFITS]))
