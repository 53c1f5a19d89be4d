"""What a trial needs from the place where it lives.

**The contract.** A store holds any number of trials, each under a name of its own. A trial is a log of events that is
only ever appended to, and beside it the *books*: the state that folding the log gives, kept so that nobody has to read
the log to go on. A store promises:

1. *All or nothing.* What happens inside one `writing` block (events and books) is there in full once the block has been
   left, and durable: it survives the death of the process and of the machine. If the block raises, or the process dies
   inside it, nothing of it is there.
2. *Parts.* Inside a block, what happens inside `attempt` is all or nothing by itself: if it raises, nothing of it is
   there, and what came before it in the block stays. So several requests share one commit, and one that is refused
   does not undo its neighbours.
3. *One at a time.* Between entering and leaving a `writing` block no other writer of the same trial, in this process or
   another, changes anything of it; a second writer waits. Writers of different trials may wait for each other. A block
   that is entered with `guess` may not hold the trial: if anybody else wrote meanwhile it ends with Overtaken, whatever
   happened in it, and nothing of it is there.
4. *Readers see one moment.* Inside a `reading` block everything comes from the same committed state, and a reader
   neither waits for the writer nor makes it wait.
5. *Cost does not grow with history.* Entering a block, looking up one assignment, stage or tally, and leaving cost the
   same after a million events as after ten. Only `events`, `assignments`, `stages` and `tallies` read all there is.
6. *Plain errors.* A store that is full, locked for too long or gone raises OperationError; a trial that is not there,
   or a name that is taken, InputError.

One suite of tests (tests/storage/test_contract.py) checks every store against this page.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from bestarm.errors import OperationError
from bestarm.storage.events import Event
from bestarm.storage.keys import Keys


class Overtaken(Exception):
    """Somebody else wrote while a guessed block was open: nothing of it is there, and it is to be done again."""


AssignmentState: TypeAlias = Literal["open", "told", "late", "withdrawn", "voided"]
"""What became of an assignment: its outcome is awaited, told, told too late to count, or will never come; or it was a
second one of somebody who had one, and was voided."""
TrialState: TypeAlias = Literal["open", "paused", "stopped"]


@dataclass(slots=True)
class Assignment:
    """One person's place in one stage, and what became of it. Confidential."""

    number: int
    """From 1, in the order in which people were assigned."""
    subject: str
    """The pseudonym: a keyed hash of the subject's id."""
    arm: int
    stage: int
    at: int
    """When it was made."""
    state: AssignmentState = "open"
    outcome: str | None = None
    """The outcome as reported, as an exact number; never kept under local privacy."""
    value: int | None = None
    """The integer that entered the stage's sum."""
    told_by: str | None = None
    told_at: int | None = None


@dataclass(slots=True)
class Stage:
    """A stage: people with the same weights, released together. A batch of one arm is a stage of that arm alone."""

    number: int
    """From 1, in the order in which stages opened."""
    weights: list[float]
    """Each arm's probability, fixed when the stage opened."""
    difference: bool
    """Released as the champion's sum less the other arm's, with a single noise; else as a sum for every arm."""
    champion: int
    planned: int
    """How many people it was planned for when it opened."""
    extent: int
    """How many people close it, as of the last news."""
    people: int = 0
    resolved: int = 0
    """People whose integer is known."""
    size: int | None = None
    """How many people it had when it closed; None while it is open."""
    closed_at: int | None = None
    position: int | None = None
    """Its place in the order of release, from 0: the order in which stages closed."""
    released_at: int | None = None
    """When its release was due, or, without a follow-up, the hour in which it was made."""
    releases: list[int] | None = None
    """The noisy sums of its arms, or the noisy difference, in integer steps: what anybody gets to see. None at all if
    its people went on in the next stage, whose release is over both."""
    terms: dict[str, Any] | None = None
    """What the ledger says of each of these."""

    @property
    def arms(self) -> list[int]:
        """The arms that may come up in it."""
        return [arm for arm, weight in enumerate(self.weights) if weight > 0]


@dataclass(slots=True)
class Tally:
    """One arm's people in one stage. Their number is public, their exact sum confidential."""

    stage: int
    arm: int
    assigned: int = 0
    resolved: int = 0
    total: int = 0
    """The exact sum of the integers known so far."""
    voided: int = 0
    """How many of them were voided; public once the stage is released. They keep their place in `assigned`."""

    def with_people_of(self, other: Tally) -> Tally:
        """This one with those of another stage's arm."""
        return Tally(
            self.stage,
            self.arm,
            self.assigned + other.assigned,
            self.resolved + other.resolved,
            self.total + other.total,
            self.voided + other.voided,
        )


@dataclass
class Book:
    """The trial-wide part of the books: a few numbers, whatever the trial's length."""

    state: TrialState = "open"
    at: int = 0
    """The time of the last event; time never runs backwards in a trial."""
    people: int = 0
    """Assignments made."""
    opened: int = 0
    """Stages opened."""
    closed: int = 0
    """Stages closed."""
    released: int = 0
    """Stages released; those that went on in the next one count, too."""
    filling: dict[str, int] = field(default_factory=dict)
    """The open stage of each arm that has one; keys are arm numbers as text."""
    verdict: dict[str, Any] | None = None
    vacant: list[tuple[int, int]] = field(default_factory=list)
    """Places left by people who withdrew and are to be replaced: (arm, stage), oldest first."""
    repeats: dict[str, list[int]] = field(default_factory=dict)
    """For each actor who told outcomes again: when the current count began, and how many there were since."""
    began: str | None = None
    """When the trial was created, as everybody may know it."""
    relabelled: int = 0
    """How often a mistyped code was put right; public."""
    gathered: list[int] | None = None
    """With distributed noise: what the two servers' halves came to for each sum of the stage that is released next."""

    def to_json(self) -> dict[str, Any]:
        """As plain data, which shares its lists with the book."""
        return dict(vars(self))

    def copied(self) -> Book:
        """A copy that shares nothing with this one that ever changes."""
        book = object.__new__(Book)
        book.__dict__.update(self.__dict__)
        book.filling, book.vacant = dict(self.filling), list(self.vacant)
        if self.repeats:
            book.repeats = {actor: list(counted) for actor, counted in self.repeats.items()}
        else:
            book.repeats = {}
        return book

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Book:
        """From plain data."""
        return cls(**{**data, "vacant": [(arm, stage) for arm, stage in data["vacant"]]})


class Books(ABC):
    """The state of one trial as the fold of its events reads and writes it."""

    book: Book

    @abstractmethod
    def assignment(self, number: int) -> Assignment | None:
        """The assignment of that number."""

    @abstractmethod
    def held_by(self, subject: str) -> list[Assignment]:
        """All assignments of a subject (by pseudonym), oldest first; those that were voided too."""

    @abstractmethod
    def stage(self, number: int) -> Stage | None:
        """The stage of that number."""

    @abstractmethod
    def stage_at(self, position: int) -> Stage | None:
        """The stage at that place in the order of release."""

    @abstractmethod
    def tally(self, stage: int, arm: int) -> Tally | None:
        """An arm's people in a stage; None while there are none."""

    def foresee(self, subjects: Sequence[str]) -> None:  # noqa: B027  # most need not
        """These subjects are going to be asked for: where that helps, they are looked for all at once."""

    @abstractmethod
    def save_assignment(self, assignment: Assignment) -> None:
        """Keep a new or changed assignment."""

    @abstractmethod
    def save_stage(self, stage: Stage) -> None:
        """Keep a new or changed stage."""

    @abstractmethod
    def save_tally(self, tally: Tally) -> None:
        """Keep a new or changed tally."""


class Reading(Books):
    """One trial, seen at one moment. Saving is refused here."""

    name: str
    design: dict[str, Any]
    key: bytes
    """The secret key of the trial's pseudonyms and assignment ids."""
    seq: int
    """How many events there are."""
    head: str
    """The hash of the last one: for operators, never shown to anybody else."""
    public_seq: int
    """How many public events there are."""
    public_head: str
    """The hash of the last public event, for everybody."""

    def save_assignment(self, assignment: Assignment) -> None:
        raise OperationError("A trial that is only read cannot be changed.")

    def save_stage(self, stage: Stage) -> None:
        raise OperationError("A trial that is only read cannot be changed.")

    def save_tally(self, tally: Tally) -> None:
        raise OperationError("A trial that is only read cannot be changed.")

    @abstractmethod
    def held_by_any(self, subjects: Sequence[str]) -> list[Assignment]:
        """All assignments of any of these subjects (by pseudonym), oldest first, as they are on disk."""

    @abstractmethod
    def state(self) -> dict[str, bytes]:
        """The policy's state: the bytes of each of its arrays, by name."""

    @abstractmethod
    def events(self, after: int = 0) -> Iterator[Event]:
        """The log in order, whole or from what follows the event of this number."""

    @abstractmethod
    def arms_since(self, after: int) -> list[int]:
        """The arms of those who joined a stage after the event of this number, in order; whoever took the place of
        somebody who left is not among them. What else happened since is not read, so that the time it takes does not
        tell how many outcomes came in."""

    @abstractmethod
    def assignments(self) -> Iterator[Assignment]:
        """All assignments by number."""

    @abstractmethod
    def open_in(self, stage: int) -> Iterator[Assignment]:
        """The assignments of a stage whose outcomes are awaited, by number; costs what they are, not what others."""

    @abstractmethod
    def count_open(self, stage: int) -> int:
        """How many those are."""

    @abstractmethod
    def stages(self) -> Iterator[Stage]:
        """All stages by number."""

    @abstractmethod
    def tallies(self) -> Iterator[Tally]:
        """All tallies, by stage and arm."""


class Writing(Reading):
    """One trial, held for writing until the block is left."""

    def append(self, event: Event) -> None:
        """Add an event to the log; its `seq` has to be the next one, and so its `public_seq` if it is public."""
        if event.seq != self.seq + 1:
            raise OperationError(f"Event {event.seq} cannot follow event {self.seq}.")
        self.seq, self.head = event.seq, event.hash
        if event.public_seq is not None and event.public_hash is not None:
            if event.public_seq != self.public_seq + 1:
                raise OperationError(f"Public event {event.public_seq} cannot follow {self.public_seq}.")
            self.public_seq, self.public_head = event.public_seq, event.public_hash
        self._enter(event)

    @abstractmethod
    def attempt(self) -> AbstractContextManager[None]:
        """A part of the block that may fail by itself; rows that were handed out before are not to be used in it."""

    @abstractmethod
    def _enter(self, event: Event) -> None:
        """Keep an event that follows the last one."""

    @abstractmethod
    def save_state(self, arrays: dict[str, bytes]) -> None:
        """Keep these arrays of the policy's state, and the others as they were."""

    @abstractmethod
    def replace_state(self, arrays: dict[str, bytes]) -> None:
        """Keep these arrays as the policy's state, in the place of all that was kept before."""


class Store(ABC):
    """A place where trials live."""

    keys: Keys
    """Where those keys of trials are kept that must not lie in the store itself."""

    @abstractmethod
    def names(self) -> list[str]:
        """The names of all trials, in alphabetical order."""

    @abstractmethod
    def add(self, name: str, design: dict[str, Any], key: bytes) -> AbstractContextManager[Writing]:
        """Create a trial and hold it for writing its first events."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Delete a trial that never enrolled anybody, with its log; refuse any other."""

    @abstractmethod
    def writing(self, name: str, guess: bool = False) -> AbstractContextManager[Writing]:
        """Hold a trial for writing. With `guess` it may be held at the end of the block only, which then raises
        Overtaken if somebody else wrote meanwhile."""

    @abstractmethod
    def reading(self, name: str, publicly: bool = False) -> AbstractContextManager[Reading]:
        """See a trial at one moment. With `publicly` what everybody may know of it is right, single people are not to
        be asked for, and nothing that is done depends on outcomes that came in."""

    @abstractmethod
    def close(self) -> None:
        """Let go of all connections."""
