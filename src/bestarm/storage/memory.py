"""Books in memory: for replaying a log and for audits, where nothing has to last."""

from __future__ import annotations

from bestarm.storage.contract import Assignment, Batch, Book, Books


class MemoryBooks(Books):
    """The books as dictionaries."""

    def __init__(self) -> None:
        self.book = Book()
        self.assignments: dict[int, Assignment] = {}
        self.batches: dict[tuple[int, int], Batch] = {}
        self._by_subject: dict[str, list[int]] = {}
        self._by_position: dict[int, tuple[int, int]] = {}

    def assignment(self, number: int) -> Assignment | None:
        return self.assignments.get(number)

    def held_by(self, subject: str) -> list[Assignment]:
        return [self.assignments[number] for number in self._by_subject.get(subject, ())]

    def batch(self, arm: int, index: int) -> Batch | None:
        return self.batches.get((arm, index))

    def batch_at(self, position: int) -> Batch | None:
        place = self._by_position.get(position)
        return None if place is None else self.batches[place]

    def save_assignment(self, assignment: Assignment) -> None:
        if assignment.number not in self.assignments:
            self._by_subject.setdefault(assignment.subject, []).append(assignment.number)
        self.assignments[assignment.number] = assignment

    def save_batch(self, batch: Batch) -> None:
        self.batches[batch.arm, batch.index] = batch
        if batch.position is not None:
            self._by_position[batch.position] = (batch.arm, batch.index)
