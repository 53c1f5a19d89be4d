"""LUCB inside the paper's wrapper: the example of docs/algorithms.md as an entry of the catalogue."""

from __future__ import annotations

import math

from bestarm.policy.record import FloatArray
from bestarm.policy.sampling import Estimates
from bestarm.policy.stopping import GLRConstants, private_threshold
from bestarm.rules import rule


@rule
def lucb(state: Estimates, constants: GLRConstants, weights: FloatArray) -> int:
    """LUCB: the arm that looks best and the other arm whose interval reaches highest, whichever has fewer people.

    An interval's half-width is what the wrapper's stopping rule asks of one arm, so the run ends once they separate.
    """
    record = state.record
    best = 0
    for arm in range(constants.arms):
        if record.released[arm] == 0:
            return arm
        if state.mean[arm] > state.mean[best]:
            best = arm
    rival = -1
    reach = -math.inf
    for arm in range(constants.arms):
        width = math.sqrt(2.0 * private_threshold(record, constants, arm, arm) / record.last_size[arm])
        if arm != best and state.mean[arm] + width > reach:
            reach = state.mean[arm] + width
            rival = arm
    return best if record.assigned[best] <= record.assigned[rival] else rival
