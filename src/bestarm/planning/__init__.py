"""Planning: what a trial costs before it starts, and what a given number of people can afford."""

from bestarm.planning.beside import Alternative
from bestarm.planning.operating import OperatingCharacteristics, operating_characteristics
from bestarm.planning.planner import GapCost, Plan, PrivacyCost, answer, plan
from bestarm.planning.question import Question
from bestarm.planning.replaying import Replay, replay

__all__ = [
    "Alternative",
    "GapCost",
    "OperatingCharacteristics",
    "Plan",
    "PrivacyCost",
    "Question",
    "Replay",
    "answer",
    "operating_characteristics",
    "plan",
    "replay",
]
