"""Planning: what a trial costs before it starts, and what a given number of people can afford."""

from bestarm.planning.planner import GapCost, Plan, PrivacyCost, answer, plan
from bestarm.planning.question import Question

__all__ = ["GapCost", "Plan", "PrivacyCost", "Question", "answer", "plan"]
