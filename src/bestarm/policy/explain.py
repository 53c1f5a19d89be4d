"""Reasons in words and numbers for verdicts, and for why there is none yet. Never compiled; reads the record only."""

from __future__ import annotations

from collections.abc import Sequence

from bestarm.policy.algorithm import Standing
from bestarm.policy.elimination import Elimination, EliminationConstants, slack_of_epoch
from bestarm.policy.record import Record
from bestarm.policy.sampling import TopTwo, first_release_missing, highest
from bestarm.policy.stopping import (
    GLRConstants,
    HasMean,
    Threshold,
    count_cost,
    phase_threshold,
    private_threshold,
    published_threshold,
    statistic,
)

WAITING = "Not every arm has been released yet."
HEURISTIC = "Heuristic threshold, not proven."


def explain_private_glr(state: HasMean, constants: GLRConstants, labels: list[str]) -> str:
    """For `private_glr`."""
    return _explain_glr(state, constants, labels, private_threshold)


def explain_phase_glr(state: HasMean, constants: GLRConstants, labels: list[str]) -> str:
    """For `phase_glr`."""
    return _explain_glr(state, constants, labels, phase_threshold)


def explain_published_glr(state: HasMean, constants: GLRConstants, labels: list[str]) -> str:
    """For `published_glr`: the numbers, and that nothing is proven about them."""
    reason = _explain_glr(state, constants, labels, published_threshold)
    return f"{reason} {HEURISTIC}"


def explain_ttucb_glr(state: TopTwo, constants: GLRConstants, labels: list[str]) -> str:
    """For `ttucb_glr`, whose estimates use every outcome."""

    def threshold(record: Record, constants: GLRConstants, a: int, b: int) -> float:
        return float(constants.c_phases[0, 0]) + count_cost(record.counted[a], record.counted[b])

    return _explain_glr(state, constants, labels, threshold, whole_history=True)


def explain_published_ttucb(state: TopTwo, constants: GLRConstants, labels: list[str]) -> str:
    """For `published_ttucb_glr`."""
    if state.leader[0] < 0:
        return WAITING
    return f"{labels[int(state.leader[0])]} has the highest mean. {HEURISTIC}"


def _explain_glr(
    state: HasMean, constants: GLRConstants, labels: list[str], threshold: Threshold, whole_history: bool = False
) -> str:
    record = state.record
    if first_release_missing(record):
        return WAITING
    size = record.counted if whole_history else record.last_size
    best = highest(state.mean)
    standings = []
    for b in range(constants.arms):
        if b != best:
            reached = statistic(float(state.mean[best] - state.mean[b]), float(size[best]), float(size[b]))
            standings.append(Standing(b, reached, 2.0 * threshold(record, constants, best, b)))
    return explain_closest(labels, best, standings)


def explain_closest(labels: Sequence[str], best: int, standings: Sequence[Standing]) -> str:
    """The rival against whom the evidence has come the least far, in words and numbers."""
    closest = min(standings, key=lambda one: (one.value / one.needed, one.value, one.rival))
    enough = closest.value >= closest.needed
    verb = "is ahead of every other arm by enough" if enough else "is ahead, but not yet by enough"
    return (
        f"{labels[best]} {verb}: against {labels[closest.rival]}, its closest rival, the test statistic is "
        f"{closest.value:.4g} where {closest.needed:.4g} is needed."
    )


def explain_elimination(state: Elimination, constants: EliminationConstants, labels: list[str]) -> str:
    """For `last_one_left`."""
    active = [labels[arm] for arm in range(constants.arms) if state.active[arm] == 1]
    epoch = int(state.epoch[0])
    if len(active) == 1:
        return f"{active[0]} is the only arm left after {epoch - 1} epochs; every other fell too far below the best."
    slack = slack_of_epoch(epoch, len(active), int(state.epoch_size[0]), constants)
    return (
        f"{len(active)} arms are still in ({', '.join(active)}); at the end of epoch {epoch} an arm is dropped when "
        f"its estimate is more than {slack:.4g} below the best."
    )
