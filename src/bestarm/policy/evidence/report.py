"""Words and numbers about the evidence, for reports. Never compiled; reads the state only."""

from __future__ import annotations

import numpy as np

from bestarm.policy.algorithm import UNDECIDED, Standing
from bestarm.policy.evidence.control_report import control_standings, explain_control
from bestarm.policy.evidence.hard_end import Leads, has_end
from bestarm.policy.evidence.joined import Evidence, EvidenceConstants, over
from bestarm.policy.evidence.memory import best_but


def standings(state: Evidence, constants: EvidenceConstants) -> list[Standing]:
    """Evidence in nats against each rival of the leader; `needed` is log(1/delta).

    Without a stated difference it is against the rival being the best, with one against it being better than the
    leader by that difference; with control, for both claims on each other arm. With a hard end it is the leader's lead
    in people's outcomes, and the last stage's line.
    """
    if constants.control.arm >= 0:
        return control_standings(constants.control, state.pairs)
    leader = leading(state, constants)
    if leader < 0:
        return []
    if has_end(constants.ladder):
        line = float(constants.ladder.lines[int(state.leads.looks[0]) - 1])
        arms = range(constants.single.arms)
        return [Standing(b, float(state.leads.lead[leader, b]), line) for b in arms if b != leader]
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
    if has_end(constants.ladder):
        return most_ahead(state.leads) if state.leads.looks[0] > 0 else -1
    if constants.paired.zone > 0.0:
        return int(state.pairs.leader[0]) if state.pairs.belief.people.any() else -1
    return best_but(state.memory, -1) if state.memory.people.any() else -1


def most_ahead(leads: Leads) -> int:
    """The arm that is behind no other; voided people may leave none, then the one that is least behind."""
    return int(np.argmax(leads.lead.min(axis=1)))


def explain(state: Evidence, constants: EvidenceConstants, labels: list[str]) -> str:
    """The verdict's reason, or what is missing."""
    if constants.control.arm >= 0:
        return explain_control(constants.control, state.pairs, labels)
    found = standings(state, constants)
    if not found:
        return "No stage has been released yet."
    if has_end(constants.ladder):
        return explain_hard_end(state, constants, labels)
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


def explain_hard_end(state: Evidence, constants: EvidenceConstants, labels: list[str]) -> str:
    """The same for a trial with a hard end."""
    found = standings(state, constants)
    leader = labels[leading(state, constants)]
    look, looks = int(state.leads.looks[0]), constants.ladder.stages.size
    people = int(constants.ladder.stages[:look].sum())
    if over(state, constants) != UNDECIDED:
        ahead = ", ".join(f"{labels[one.rival]} by {one.value:g}" for one in found)
        if look == looks:
            return f"The hard end: after the last stage {leader} is not behind any other arm (it leads {ahead})."
        return (
            f"After {look} of {looks} stages {leader} has led every other arm by as much as was needed, "
            f"{found[0].needed:g} successes after this stage (it leads {ahead})."
        )
    if look == looks:
        return "The hard end came, and no arm was ahead of all others once voided participants are counted against it."
    closest = min(found, key=lambda standing: standing.value)
    return (
        f"{leader} leads, {labels[closest.rival]} by {closest.value:g} successes after {people} participants, where "
        f"{closest.needed:g} would have ended the trial. {looks - look} of {looks} stages are left."
    )
