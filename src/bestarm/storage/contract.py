"""What a trial needs from the place where it lives.

**The contract.** A store holds any number of trials, each under a name of its own. A trial is a log of events that is
only ever appended to, and beside it the *books*: the state that folding the log gives, kept so that nobody has to read
the log to go on. A store promises:

1. *All or nothing.* What happens inside one `writing` block (events and books) is there in full once the block has been
   left, and durable: it survives the death of the process and of the machine. If the block raises, or the process dies
   inside it, nothing of it is there.
2. *One at a time.* Between entering and leaving a `writing` block no other writer of the same trial, in this process or
   another, changes anything of it; a second writer waits. Writers of different trials may wait for each other.
3. *Readers see one moment.* Inside a `reading` block everything comes from the same committed state, and a reader
   neither waits for the writer nor makes it wait.
4. *Cost does not grow with history.* Entering a block, looking up one assignment or batch, and leaving cost the same
   after a million events as after ten. Only `events`, `assignments`, `batches` and `releases` read all there is.
5. *Plain errors.* A store that is full, locked for too long or gone raises OperationError; a trial that is not there,
   or a name that is taken, InputError.

One suite of tests (tests/storage/test_contract.py) checks every store against this page.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any

from bestarm.storage.events import Event


@dataclass
class Assignment:
    """One person's place in one batch, and what became of it. Confidential."""

    number: int
    """From 1, in the order in which people were assigned."""
    subject: str
    """The pseudonym: a keyed hash of the subject's id."""
    arm: int
    batch: int
    at: int
    """When it was made."""
    stage: str = "open"
    """"open", "told", "late" (told, but too late to count) or "withdrawn"."""
    outcome: str | None = None
    """The outcome as reported, as an exact number; never kept under local privacy."""
    value: int | None = None
    """The integer that entered the batch."""


@dataclass
class Batch:
    """A batch of one arm. Its size is fixed when it opens; it is released once. The exact sum is confidential."""

    arm: int
    index: int
    """From 1, per arm."""
    size: int
    assigned: int = 0
    resolved: int = 0
    """Places whose integer is known."""
    total: int = 0
    """The exact sum of these integers."""
    position: int | None = None
    """Its place in the order of release, from 0: the order in which batches became full."""
    filled_at: int | None = None
    """When its last place was first taken."""
    released_at: int | None = None
    release: int | None = None
    """The noisy sum, in integer steps: the only number here that anybody gets to see."""
    terms: str | None = None
    """What the ledger says of the release, as JSON."""


@dataclass
class Book:
    """The trial-wide part of the books: a few numbers, whatever the trial's length."""

    stage: str = "open"
    """"open", "paused" or "stopped"."""
    at: int = 0
    """The time of the last event; time never runs backwards in a trial."""
    people: int = 0
    """Assignments made."""
    filled: int = 0
    """Batches that have become full."""
    released: int = 0
    """Batches released."""
    verdict: dict[str, Any] | None = None
    vacant: list[tuple[int, int]] = field(default_factory=list)
    """Places left by people who withdrew and are to be replaced: (arm, batch), oldest first."""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Book:
        """From plain data."""
        return cls(**{**data, "vacant": [(arm, batch) for arm, batch in data["vacant"]]})


class Books(ABC):
    """The state of one trial as the fold of its events reads and writes it."""

    book: Book

    @abstractmethod
    def assignment(self, number: int) -> Assignment | None:
        """The assignment of that number."""

    @abstractmethod
    def held_by(self, subject: str) -> list[Assignment]:
        """All assignments of a subject (by pseudonym), oldest first."""

    @abstractmethod
    def batch(self, arm: int, index: int) -> Batch | None:
        """An arm's batch."""

    @abstractmethod
    def batch_at(self, position: int) -> Batch | None:
        """The batch at that place in the order of release."""

    @abstractmethod
    def save_assignment(self, assignment: Assignment) -> None:
        """Keep a new or changed assignment."""

    @abstractmethod
    def save_batch(self, batch: Batch) -> None:
        """Keep a new or changed batch."""


class Reading(Books):
    """One trial, seen at one moment. Saving is refused here."""

    name: str
    design: dict[str, Any]
    key: bytes
    """The secret key of the trial's pseudonyms and assignment ids."""
    seq: int
    """How many events there are."""
    head: str
    """The hash of the last one."""

    @abstractmethod
    def state(self) -> dict[str, bytes]:
        """The policy's state: the bytes of each of its arrays, by name."""

    @abstractmethod
    def events(self) -> Iterator[Event]:
        """The whole log in order."""

    @abstractmethod
    def assignments(self) -> Iterator[Assignment]:
        """All assignments by number."""

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """All batches, by arm and index."""

    @abstractmethod
    def releases(self) -> Iterator[Batch]:
        """All released batches in the order of their release."""


class Writing(Reading):
    """One trial, held for writing until the block is left."""

    @abstractmethod
    def append(self, event: Event) -> None:
        """Add an event to the log; its `seq` has to be the next one."""

    @abstractmethod
    def save_state(self, arrays: dict[str, bytes]) -> None:
        """Keep these arrays of the policy's state, and the others as they were."""


class Store(ABC):
    """A place where trials live."""

    @abstractmethod
    def names(self) -> list[str]:
        """The names of all trials, in alphabetical order."""

    @abstractmethod
    def add(self, name: str, design: dict[str, Any], key: bytes) -> AbstractContextManager[Writing]:
        """Create a trial and hold it for writing its first events."""

    @abstractmethod
    def writing(self, name: str) -> AbstractContextManager[Writing]:
        """Hold a trial for writing."""

    @abstractmethod
    def reading(self, name: str) -> AbstractContextManager[Reading]:
        """See a trial at one moment."""

    @abstractmethod
    def close(self) -> None:
        """Let go of all connections."""
