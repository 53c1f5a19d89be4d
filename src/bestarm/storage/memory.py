"""Books and trials in memory: for replaying a log and for audits, where nothing has to last."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from bestarm.errors import InputError, NoSuchTrial
from bestarm.storage.contract import Assignment, Book, Books, Reading, Stage, Store, Tally, Writing
from bestarm.storage.drafts import Drafting, Known, Row, twin
from bestarm.storage.events import GENESIS, Event, arms_of
from bestarm.storage.keys import KeysInMemory


class MemoryBooks(Books):
    """The books as dictionaries."""

    def __init__(self) -> None:
        self.book = Book()
        self.assignments: dict[int, Assignment] = {}
        self.stages: dict[int, Stage] = {}
        self.tallies: dict[tuple[int, int], Tally] = {}
        self._by_subject: dict[str, set[int]] = {}
        self._by_position: dict[int, int] = {}

    def assignment(self, number: int) -> Assignment | None:
        return self.assignments.get(number)

    def held_by(self, subject: str) -> list[Assignment]:
        # An assignment may have got another subject since it was noted here.
        found = (self.assignments[number] for number in sorted(self._by_subject.get(subject, ())))
        return [assignment for assignment in found if assignment.subject == subject]

    def stage(self, number: int) -> Stage | None:
        return self.stages.get(number)

    def stage_at(self, position: int) -> Stage | None:
        number = self._by_position.get(position)
        return None if number is None else self.stages[number]

    def tally(self, stage: int, arm: int) -> Tally | None:
        return self.tallies.get((stage, arm))

    def save_assignment(self, assignment: Assignment) -> None:
        self._by_subject.setdefault(assignment.subject, set()).add(assignment.number)
        self.assignments[assignment.number] = assignment

    def save_stage(self, stage: Stage) -> None:
        self.stages[stage.number] = stage
        if stage.position is not None:
            self._by_position[stage.position] = stage.number

    def save_tally(self, tally: Tally) -> None:
        self.tallies[tally.stage, tally.arm] = tally


@dataclass
class KeptTrial:
    """One trial as a store in memory keeps it."""

    name: str
    design: dict[str, Any]
    key: bytes
    books: MemoryBooks = field(default_factory=MemoryBooks)
    state: dict[str, bytes] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    seq: int = 0
    head: str = GENESIS
    public_seq: int = 0
    public_head: str = GENESIS


class MemoryReading(Reading):
    """A trial at one moment; whatever is handed out is a copy."""

    def __init__(self, kept: KeptTrial) -> None:
        self.name, self.design, self.key = kept.name, kept.design, kept.key
        self.seq, self.head = kept.seq, kept.head
        self.public_seq, self.public_head = kept.public_seq, kept.public_head
        self.book = kept.books.book.copied()
        self._kept = kept
        self._seen = MemoryBooks()

    def assignment(self, number: int) -> Assignment | None:
        found = self._seen.assignments.get(number)
        return self._taken(self._kept.books.assignments.get(number)) if found is None else found

    def held_by(self, subject: str) -> list[Assignment]:
        numbers = [a.number for a in (*self._kept.books.held_by(subject), *self._seen.held_by(subject))]
        held = (found for n in sorted(set(numbers)) if (found := self.assignment(n)) is not None)
        return [assignment for assignment in held if assignment.subject == subject]

    def held_by_any(self, subjects: Sequence[str]) -> list[Assignment]:
        found = [copy(kept) for subject in set(subjects) for kept in self._kept.books.held_by(subject)]
        return sorted(found, key=lambda a: a.number)

    def stage(self, number: int) -> Stage | None:
        found = self._seen.stages.get(number)
        if found is None and (kept := self._kept.books.stages.get(number)) is not None:
            self._seen.save_stage(found := copy(kept))
        return found

    def stage_at(self, position: int) -> Stage | None:
        found = self._seen.stage_at(position) or self._kept.books.stage_at(position)
        return None if found is None else self.stage(found.number)

    def tally(self, stage: int, arm: int) -> Tally | None:
        found = self._seen.tallies.get((stage, arm))
        if found is None and (kept := self._kept.books.tallies.get((stage, arm))) is not None:
            self._seen.save_tally(found := copy(kept))
        return found

    def _taken(self, kept: Assignment | None) -> Assignment | None:
        if kept is None:
            return None
        self._seen.save_assignment(found := copy(kept))
        return found

    def state(self) -> dict[str, bytes]:
        return dict(self._kept.state)

    def events(self, after: int = 0) -> Iterator[Event]:
        return iter(self._kept.events[after : self.seq])

    def arms_since(self, after: int) -> list[int]:
        return arms_of(event.body for event in self.events(after) if event.kind == "assigned")

    def assignments(self) -> Iterator[Assignment]:
        return (copy(kept) for _, kept in sorted(self._kept.books.assignments.items()))

    def open_in(self, stage: int) -> Iterator[Assignment]:
        return (one for one in self.assignments() if one.stage == stage and one.state == "open")

    def count_open(self, stage: int) -> int:
        return sum(1 for _ in self.open_in(stage))

    def stages(self) -> Iterator[Stage]:
        return (copy(kept) for _, kept in sorted(self._kept.books.stages.items()))

    def tallies(self) -> Iterator[Tally]:
        return (copy(kept) for _, kept in sorted(self._kept.books.tallies.items()))


class MemoryWriting(Drafting, MemoryReading):
    """A trial held for writing; nothing of it is kept before `keep`."""

    def __init__(self, kept: KeptTrial) -> None:
        MemoryReading.__init__(self, kept)
        heads = (kept.seq, kept.head, kept.public_seq, kept.public_head)
        Drafting.__init__(self, Known(0, kept.name, kept.design, kept.key, *heads, self.book))

    def _logged(self, event: Event) -> Event:
        return event

    def _read_assignment(self, number: int) -> Assignment | None:
        return _spare(self._kept.books.assignment(number))

    def _read_held(self, subject: str) -> list[Assignment]:
        return [twin(kept) for kept in self._kept.books.held_by(subject)]

    def _read_stage(self, number: int) -> Stage | None:
        return _spare(self._kept.books.stage(number))

    def _read_stage_at(self, position: int) -> Stage | None:
        return _spare(self._kept.books.stage_at(position))

    def _read_tally(self, stage: int, arm: int) -> Tally | None:
        return _spare(self._kept.books.tally(stage, arm))

    def keep(self) -> None:
        """Keep everything that changed in this block."""
        kept = self._kept
        kept.seq, kept.head, kept.public_seq, kept.public_head = self.seq, self.head, self.public_seq, self.public_head
        kept.books.book = self.book
        kept.state = self.layout if self.layout is not None else kept.state | self.arrays
        kept.events += self.log
        for assignment in self.known.behind.assignments.values():
            kept.books.save_assignment(assignment)
        for stage in self.known.behind.stages.values():
            kept.books.save_stage(stage)
        for tally in self.known.behind.tallies.values():
            kept.books.save_tally(tally)


def _spare(kept: Row | None) -> Row | None:
    # A copy for a block, which may change it and fail.
    return None if kept is None else twin(kept)


class MemoryStore(Store):
    """Trials in memory: nothing survives the process, so it is for audits and never for people.

    A reader sees its moment only while nobody writes.
    """

    def __init__(self) -> None:
        self._trials: dict[str, KeptTrial] = {}
        self._turn = threading.Lock()
        self.keys = KeysInMemory()

    def names(self) -> list[str]:
        return sorted(self._trials)

    @contextmanager
    def add(self, name: str, design: dict[str, Any], key: bytes) -> Iterator[Writing]:
        if name in self._trials:
            raise InputError(f"There is already a trial named {name!r}; choose another name.")
        kept = KeptTrial(name, design, key)
        writing = MemoryWriting(kept)
        yield writing
        writing.keep()
        self._trials[name] = kept

    def remove(self, name: str) -> None:
        if self._found(name).books.book.people:
            raise InputError(f"The trial {name!r} has enrolled people; a trial with people in it is kept.")
        del self._trials[name]

    @contextmanager
    def writing(self, name: str, guess: bool = False) -> Iterator[Writing]:
        with self._turn:
            writing = MemoryWriting(self._found(name))
            yield writing
            writing.keep()

    @contextmanager
    def reading(self, name: str, publicly: bool = False) -> Iterator[Reading]:
        yield MemoryReading(self._found(name))

    def _found(self, name: str) -> KeptTrial:
        if name not in self._trials:
            raise NoSuchTrial(f"There is no trial named {name!r}.")
        return self._trials[name]

    def close(self) -> None:
        """Nothing to let go of."""
