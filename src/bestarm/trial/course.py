"""How a policy is driven over real people: the two kinds of algorithm behind one interface of stages.

A batched policy fills batches of one arm each, several side by side; to the trial each is a stage of that arm alone. A
staged policy has one open stage at a time, in which everybody's arm is a coin with the stage's weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestarm.errors import OperationError
from bestarm.policy.algorithm import SEVERAL, Algorithm, Batched, Staged
from bestarm.policy.record import LARGEST_STAGE, FloatArray, Record, assign, open_batch, release
from bestarm.policy.stages import (
    Stages,
    enter_closing,
    enter_merging,
    enter_opening,
    enter_people,
    enter_release,
    in_stage,
    is_open,
    least_people,
    may_close,
    newest_slot,
    next_is_alike,
    next_slot,
    oldest_slot,
    round_weights,
    sound_opening,
)
from bestarm.storage.contract import Stage


@dataclass(frozen=True)
class Opening:
    """What is fixed when a stage opens."""

    weights: tuple[float, ...]
    difference: bool
    champion: int
    planned: int


@dataclass(frozen=True)
class Outturn:
    """What a release says of a stage: everything that a policy learns of it, and all of it public."""

    sizes: tuple[int, ...]
    """How many people each arm has; those who were voided keep their place."""
    voided: tuple[int, ...]
    """How many of each arm's people were voided. Each counts 0 in the sums, the worst; where that would help a finding
    (on a rival) whoever bets on it adds the number to the rival's sum first."""
    values: tuple[float, ...]
    """The noisy sum of each arm that may come up, or the noisy difference, in outcome units."""


class TrialCourse(ABC):
    """One policy's state, changed as a trial's stages open, fill, close and are released."""

    def __init__(self, state: Any, constants: Any) -> None:
        self.state = state
        self.constants = constants

    @abstractmethod
    def weights(self) -> FloatArray | None:
        """Each arm's probability to get the next person; None while every arm waits for releases."""

    @abstractmethod
    def opening(self, arm: int) -> Opening:
        """The stage that opens when the next person comes to this arm and no open stage has it."""

    @property
    @abstractmethod
    def foreseen(self) -> bool:
        """Whether the stage has to be open before the arm is drawn."""

    @property
    @abstractmethod
    def assigned(self) -> list[int]:
        """People assigned to each arm so far."""

    @abstractmethod
    def opened(self, opening: Opening) -> None:
        """A stage has opened."""

    @abstractmethod
    def joined(self, arm: int) -> None:
        """One more person has come to this arm."""

    @abstractmethod
    def closes(self, stage: Stage) -> bool:
        """Whether the stage takes nobody any more."""

    @abstractmethod
    def closed(self) -> None:
        """A stage has closed."""

    @abstractmethod
    def merges(self) -> bool:
        """Whether the people of the stage whose turn it is are to be released with those of the next one."""

    @abstractmethod
    def merged(self) -> None:
        """The stage whose turn it was has been merged with the next one."""

    @abstractmethod
    def released(self, stage: Stage, outturn: Outturn) -> None:
        """The stage whose turn it was has been released."""

    @abstractmethod
    def extent(self, stage: Stage) -> int:
        """At which size an open stage closes, now that there is news."""


class BatchedCourse(TrialCourse):
    """Batches of one arm each."""

    def __init__(self, algorithm: Batched, state: Any, constants: Any) -> None:
        super().__init__(state, constants)
        self.algorithm = algorithm

    @property
    def record(self) -> Record:
        """The public record."""
        record: Record = self.state.record
        return record

    @property
    def foreseen(self) -> bool:
        return False

    @property
    def assigned(self) -> list[int]:
        return [int(count) for count in self.record.assigned]

    def weights(self) -> FloatArray | None:
        weights = np.zeros(self.record.assigned.size)
        answer = self.algorithm.recruit(self.state, self.constants, weights)
        if 0 <= answer < weights.size:
            weights[:] = 0.0
            weights[answer] = 1.0
        elif answer != SEVERAL:
            return None
        return weights

    def opening(self, arm: int) -> Opening:
        size = int(self.algorithm.size(self.state, self.constants, arm))
        if not 1 <= size <= LARGEST_STAGE:
            raise OperationError(f"The algorithm {self.algorithm.name} asked for a batch of {size} people.")
        weights = tuple(1.0 if other == arm else 0.0 for other in range(self.record.assigned.size))
        return Opening(weights, False, arm, size)

    def opened(self, opening: Opening) -> None:
        open_batch(self.record, opening.champion, opening.planned)

    def joined(self, arm: int) -> None:
        assign(self.record, arm, 1)
        self.algorithm.assigned(self.state, self.constants, arm, 1)

    def closes(self, stage: Stage) -> bool:
        return stage.people >= stage.planned

    def closed(self) -> None:
        pass

    def merges(self) -> bool:
        return False

    def merged(self) -> None:
        raise OperationError("Batches of one arm are never merged.")

    def released(self, stage: Stage, outturn: Outturn) -> None:
        release(self.record, stage.champion, outturn.sizes[stage.champion], outturn.values[0])
        self.algorithm.released(self.state, self.constants, stage.champion)

    def extent(self, stage: Stage) -> int:
        return stage.planned


class StagedCourse(TrialCourse):
    """Stages with coins, one open at a time."""

    def __init__(self, algorithm: Staged, state: Any, constants: Any, group: int) -> None:
        super().__init__(state, constants)
        self.algorithm = algorithm
        self.group = group

    @property
    def stages(self) -> Stages:
        """The public record."""
        stages: Stages = self.state.stages
        return stages

    @property
    def foreseen(self) -> bool:
        return True

    @property
    def assigned(self) -> list[int]:
        return [int(count) for count in self.stages.assigned]

    def weights(self) -> FloatArray | None:
        if is_open(self.stages):
            return np.array(self.stages.openings.weights[newest_slot(self.stages)])
        return np.array(self.opening(0).weights)

    def opening(self, arm: int) -> Opening:
        slot, openings = next_slot(self.stages), self.stages.openings
        self.algorithm.open_stage(self.state, self.constants, slot)
        if not sound_opening(openings, slot) or openings.planned[slot] > LARGEST_STAGE:
            raise OperationError(f"The algorithm {self.algorithm.name} opened a stage that cannot be.")
        round_weights(openings, slot)
        weights = tuple(float(weight) for weight in openings.weights[slot])
        planned = max(int(openings.planned[slot]), least_people(openings, slot, self.group))
        return Opening(weights, bool(openings.difference[slot]), int(openings.champion[slot]), planned)

    def opened(self, opening: Opening) -> None:
        slot, openings = next_slot(self.stages), self.stages.openings
        openings.weights[slot] = opening.weights
        openings.difference[slot] = opening.difference
        openings.champion[slot] = opening.champion
        openings.planned[slot] = opening.planned
        enter_opening(self.stages)

    def joined(self, arm: int) -> None:
        enter_people(self.stages, arm, 1)

    def closes(self, stage: Stage) -> bool:
        return stage.people >= stage.extent and may_close(self.stages)

    def closed(self) -> None:
        enter_closing(self.stages)

    def merges(self) -> bool:
        return next_is_alike(self.stages) and bool(self.algorithm.merges(self.state, self.constants))

    def merged(self) -> None:
        enter_merging(self.stages)

    def released(self, stage: Stage, outturn: Outturn) -> None:
        slot = oldest_slot(self.stages)
        self.stages.voided[slot] = outturn.voided
        given = np.zeros(self.stages.assigned.size)
        if stage.difference:
            given[0] = outturn.values[0]
        else:
            given[stage.arms] = outturn.values
        self.algorithm.settle(self.state, self.constants, slot, given)
        enter_release(self.stages)

    def extent(self, stage: Stage) -> int:
        newest = newest_slot(self.stages)
        wanted = int(self.algorithm.extent(self.state, self.constants, in_stage(self.stages, newest)))
        return max(wanted, least_people(self.stages.openings, newest, self.group))


def course_of(algorithm: Algorithm, state: Any, constants: Any, group: int = 1) -> TrialCourse:
    """The course for an algorithm of either kind; `group` is the fewest people whose outcomes are released together."""
    if isinstance(algorithm, Batched):
        return BatchedCourse(algorithm, state, constants)
    if isinstance(algorithm, Staged):
        return StagedCourse(algorithm, state, constants, group)
    raise OperationError(f"The algorithm {algorithm.name} is neither batched nor staged, so no trial can run it.")
