"""Books in memory: for replaying a log and for audits, where nothing has to last."""

from __future__ import annotations

from bestarm.storage.contract import Assignment, Book, Books, Stage, Tally


class MemoryBooks(Books):
    """The books as dictionaries."""

    def __init__(self) -> None:
        self.book = Book()
        self.assignments: dict[int, Assignment] = {}
        self.stages: dict[int, Stage] = {}
        self.tallies: dict[tuple[int, int], Tally] = {}
        self._by_subject: dict[str, list[int]] = {}
        self._by_position: dict[int, int] = {}

    def assignment(self, number: int) -> Assignment | None:
        return self.assignments.get(number)

    def held_by(self, subject: str) -> list[Assignment]:
        return [self.assignments[number] for number in self._by_subject.get(subject, ())]

    def stage(self, number: int) -> Stage | None:
        return self.stages.get(number)

    def stage_at(self, position: int) -> Stage | None:
        number = self._by_position.get(position)
        return None if number is None else self.stages[number]

    def tally(self, stage: int, arm: int) -> Tally | None:
        return self.tallies.get((stage, arm))

    def save_assignment(self, assignment: Assignment) -> None:
        if assignment.number not in self.assignments:
            self._by_subject.setdefault(assignment.subject, []).append(assignment.number)
        self.assignments[assignment.number] = assignment

    def save_stage(self, stage: Stage) -> None:
        self.stages[stage.number] = stage
        if stage.position is not None:
            self._by_position[stage.position] = stage.number

    def save_tally(self, tally: Tally) -> None:
        self.tallies[tally.stage, tally.arm] = tally
