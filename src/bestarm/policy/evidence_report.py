"""Words and numbers about the evidence, for reports. Never compiled; reads the state only."""

from __future__ import annotations

from bestarm.policy.algorithm import UNDECIDED, Standing
from bestarm.policy.evidence import Evidence, EvidenceConstants, only_one_left
from bestarm.policy.evidence_cells import least_wealth


def evidence_standings(state: Evidence, constants: EvidenceConstants) -> list[Standing]:
    """Evidence in nats that each rival is not the best, or not by the indifference zone; `needed` is log(1/delta)."""
    leader = int(state.leader[0])
    if leader < 0:
        return []
    return [
        Standing(b, least_wealth(state.cells, b, constants.threshold), constants.threshold)
        for b in range(constants.arms)
        if b != leader
    ]


def explain_evidence(state: Evidence, constants: EvidenceConstants, labels: list[str]) -> str:
    """The verdict's reason, or what is missing."""
    found = evidence_standings(state, constants)
    if not found:
        return "No batch has been released yet."
    verdict = only_one_left(state, constants)
    needed = constants.threshold
    better = "better than" if constants.indifference == 0 else f"within {constants.indifference:g} of, or better than,"
    if verdict != UNDECIDED:
        return (
            f"{labels[verdict]} is {better} every other arm: the evidence against each of them has reached "
            f"{needed:.4g} nats."
        )
    closest = min(found, key=lambda standing: standing.value)
    open_rivals = sum(standing.value < needed for standing in found)
    leader = labels[int(state.leader[0])]
    return (
        f"{leader} leads. {open_rivals} of {len(found)} rivals are still in: the evidence against "
        f"{labels[closest.rival]} is {closest.value:.4g} nats where {needed:.4g} are needed."
    )
