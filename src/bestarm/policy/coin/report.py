"""Words and numbers about the evidence, for reports. Never compiled; reads the state only."""

from __future__ import annotations

from bestarm.policy.algorithm import UNDECIDED, Standing
from bestarm.policy.coin.constants import CoinConstants
from bestarm.policy.coin.memory import best_but
from bestarm.policy.coin.policy import Coin, over


def standings(state: Coin, constants: CoinConstants) -> list[Standing]:
    """Evidence in nats that each rival is not the best; `needed` is log(1/delta)."""
    leader = best_but(state.memory, -1)
    if leader < 0 or not state.memory.people.any():
        return []
    return [
        Standing(b, float(state.memory.wealth[b]), constants.threshold) for b in range(constants.arms) if b != leader
    ]


def explain(state: Coin, constants: CoinConstants, labels: list[str]) -> str:
    """The verdict's reason, or what is missing."""
    found = standings(state, constants)
    if not found:
        return "No stage has been released yet."
    verdict = over(state, constants)
    needed = constants.threshold
    if verdict != UNDECIDED:
        return (
            f"{labels[verdict]} is better than every other arm: the evidence against each of them has reached "
            f"{needed:.4g} nats."
        )
    closest = min(found, key=lambda standing: standing.value)
    still_in = sum(standing.value < needed for standing in found)
    leader = labels[best_but(state.memory, -1)]
    return (
        f"{leader} leads. {still_in} of {len(found)} rivals are still in: the evidence against "
        f"{labels[closest.rival]} is {closest.value:.4g} nats where {needed:.4g} are needed."
    )
