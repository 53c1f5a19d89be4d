"""Words and numbers about the evidence against control, for reports. Never compiled; reads the accounts only."""

from __future__ import annotations

from bestarm.policy.algorithm import BETTER, GIVEN_UP, UNDECIDED, Standing
from bestarm.policy.evidence.control import ControlConstants, found
from bestarm.policy.evidence.pairs import Pairs


def control_standings(constants: ControlConstants, pairs: Pairs) -> list[Standing]:
    """Evidence in nats for both claims on every arm other than control, each with what it needs."""
    if not pairs.belief.people.any():
        return []
    control = constants.arm
    said = []
    for a in range(constants.better.arms):
        if a != control:
            said.append(Standing(a, float(pairs.wealth[a, control]), constants.better.threshold, BETTER))
            said.append(Standing(a, float(pairs.wealth[control, a]), constants.none.threshold, GIVEN_UP))
    return said


def explain_control(constants: ControlConstants, pairs: Pairs, labels: list[str]) -> str:
    """What the two claims rest on, or what is missing."""
    if not pairs.belief.people.any():
        return "No stage has been released yet."
    control, better, none = constants.arm, constants.better.threshold, constants.none.threshold
    verdict = found(constants, pairs)
    if verdict == control:
        return f"The evidence for that has reached {none:.4g} nats for each of the {len(labels) - 1} arms."
    if verdict != UNDECIDED:
        return f"The evidence for that is {pairs.wealth[verdict, control]:.4g} nats, where {better:.4g} are needed."
    leader = int(pairs.leader[0])
    out = sum(int(pairs.out[control, a]) for a in range(len(labels)) if a != control)
    return (
        f"{labels[leader]} is the most promising arm: the evidence for it against {labels[control]} is "
        f"{pairs.wealth[leader, control]:.4g} nats where {better:.4g} are needed. {out} of {len(labels) - 1} arms have "
        "been given up."
    )
