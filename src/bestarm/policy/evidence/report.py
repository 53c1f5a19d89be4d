"""Words and numbers about the evidence, for reports. Never compiled; reads the state only."""

from __future__ import annotations

from bestarm.policy.algorithm import UNDECIDED, Standing
from bestarm.policy.evidence.control_report import control_standings, explain_control
from bestarm.policy.evidence.joined import Evidence, EvidenceConstants, over
from bestarm.policy.evidence.memory import best_but


def standings(state: Evidence, constants: EvidenceConstants) -> list[Standing]:
    """Evidence in nats against each rival of the leader; `needed` is log(1/delta).

    Without a stated difference it is against the rival being the best, with one against it being better than the
    leader by that difference; with control, for both claims on each other arm.
    """
    if constants.control.arm >= 0:
        return control_standings(constants.control, state.pairs)
    leader = leading(state, constants)
    if leader < 0:
        return []
    threshold = constants.single.threshold
    zone = constants.paired.zone > 0.0
    return [
        Standing(b, float(state.pairs.wealth[leader, b] if zone else state.memory.wealth[b]), threshold)
        for b in range(constants.single.arms)
        if b != leader
    ]


def leading(state: Evidence, constants: EvidenceConstants) -> int:
    """The arm that leads: the recommended one once it is over; -1 before the first release."""
    verdict = over(state, constants)
    if verdict != UNDECIDED:
        return verdict
    if constants.paired.zone > 0.0:
        return int(state.pairs.leader[0]) if state.pairs.belief.people.any() else -1
    return best_but(state.memory, -1) if state.memory.people.any() else -1


def explain(state: Evidence, constants: EvidenceConstants, labels: list[str]) -> str:
    """The verdict's reason, or what is missing."""
    if constants.control.arm >= 0:
        return explain_control(constants.control, state.pairs, labels)
    found = standings(state, constants)
    if not found:
        return "No stage has been released yet."
    zone = constants.paired.zone > 0.0
    needed = constants.single.threshold
    leader = labels[leading(state, constants)]
    if over(state, constants) != UNDECIDED:
        if zone:
            return (
                f"No other arm is better than {leader} by the smallest difference that matters: the evidence against "
                f"each of them has reached {needed:.4g} nats."
            )
        return (
            f"{leader} is better than every other arm: the evidence against each of them has reached {needed:.4g} nats."
        )
    closest = min(found, key=lambda standing: standing.value)
    still_in = sum(standing.value < needed for standing in found)
    return (
        f"{leader} leads. {still_in} of {len(found)} rivals are still in: the evidence against "
        f"{labels[closest.rival]} is {closest.value:.4g} nats where {needed:.4g} are needed."
    )
