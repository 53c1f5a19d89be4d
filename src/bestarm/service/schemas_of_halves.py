"""What goes over the wire of a trial with distributed noise: halves, and what they are gathered to."""

from __future__ import annotations

from pydantic import Field

from bestarm.service.schemas import AssignmentId, Said, Sent, schema_of
from bestarm.trial import answers

MOST_OF_A_STAGE = 1_000_000
MOST_OF_ANYTHING = 2**62

Gathering = schema_of(answers.Gathering)
HeldHalves = schema_of(answers.HeldHalves)


class OfStage(Sent):
    """One of the trial's stages."""

    stage: int = Field(ge=1, le=MOST_OF_ANYTHING)


class SentHalf(OfStage):
    """One half of what a person sent: uniform numbers, whatever the outcome was."""

    assignment: AssignmentId
    people: int = Field(ge=1, le=MOST_OF_ANYTHING, description="How many people the stage was planned for.")
    epsilon: str = Field(min_length=1, max_length=60)
    half: list[int] = Field(min_length=1, max_length=200)


class AddUp(OfStage):
    """Whose halves are to be added up."""

    assignments: list[AssignmentId] = Field(max_length=MOST_OF_A_STAGE)


class Gather(AddUp):
    """What both servers' halves came to, for each sum of the stage."""

    sums: list[int] = Field(min_length=1, max_length=200)


class GatheringOrNone(Said):
    """The stage whose halves are to be added up next; null if there is none."""

    gathering: Gathering | None  # type: ignore[valid-type]


class HalfSums(Said):
    """What one server's halves of a stage came to, modulo 2^62; uniform without the other's."""

    sums: list[int]
