"""The public record: what every policy decides from, and nothing else.

Arrays have one entry per arm and do not grow with the number of people. Only the two functions at the end of this
page change a record besides `open_batch`: people are assigned, and batches are released. No outcome ever enters.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bestarm.rules import rule

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]


LARGEST_STAGE: Final = 2**40
"""No real batch or stage has more people: more than there are, and few enough for sums to fit 64 bits."""
LARGEST_SIMULATED: Final = 2**60
"""No simulated batch has more people."""


class Record(NamedTuple):
    """Counts and releases per arm. The paper's symbols: `assigned` is N, `released` is k, `last_size` is Ñ."""

    assigned: IntArray
    """People assigned to the arm so far."""
    opened: IntArray
    """Batches opened."""
    places: IntArray
    """People that the opened batches hold in all; places - assigned are free in the batch now filling."""
    newest_size: IntArray
    """Size of the batch opened last."""
    released: IntArray
    """Batches released, always in the order they were opened."""
    counted: IntArray
    """Outcomes in released batches."""
    total: FloatArray
    """Sum of all releases: noisy sums, in outcome units."""
    last_size: IntArray
    """Size of the batch released last."""
    last_value: FloatArray
    """The release made last."""


@rule(allocates=True)
def new_record(arms: int) -> Record:
    """An empty record."""
    return Record(
        np.zeros(arms, np.int64),
        np.zeros(arms, np.int64),
        np.zeros(arms, np.int64),
        np.zeros(arms, np.int64),
        np.zeros(arms, np.int64),
        np.zeros(arms, np.int64),
        np.zeros(arms),
        np.zeros(arms, np.int64),
        np.zeros(arms),
    )


@rule
def open_batch(record: Record, arm: int, size: int) -> None:
    """Open the arm's next batch; its size is fixed from here on."""
    record.opened[arm] += 1
    record.places[arm] += size
    record.newest_size[arm] = size


@rule
def assign(record: Record, arm: int, people: int) -> None:
    """Put `people` more into the arm's open batch."""
    record.assigned[arm] += people


@rule
def release(record: Record, arm: int, size: int, value: float) -> None:
    """Enter the release of the arm's oldest unreleased batch: `size` outcomes with noisy sum `value`."""
    record.released[arm] += 1
    record.counted[arm] += size
    record.total[arm] += value
    record.last_size[arm] = size
    record.last_value[arm] = value
