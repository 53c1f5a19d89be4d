"""The policy's state as named arrays: for the books, and back. A field named `scratch` is work space, and not kept.

On disk the state is a snapshot, taken whenever a stage opens, closes or is released, and beside it stands the number of
the event it was taken after. Between two snapshots people join stages and nothing else changes the state, so whoever
reads it lets those join who came since then. After LONGEST_TAIL of them there is another snapshot in any case; when
outcomes come in plays no part, so that the time of a look tells nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bestarm.storage.contract import Reading, Writing
from bestarm.trial.fold import Fold, Rules, refolded

Array = NDArray[Any]

TAKEN_AFTER: Final = "@seq"
"""Where, among the arrays, the number of the last event in them is kept. A store without it has the latest state."""
LONGEST_TAIL: Final = 100
"""People since the last snapshot after whom the next request takes another one."""


def named_arrays(state: Any, prefix: str = "") -> Iterator[tuple[str, Array]]:
    """Every array of a state, tuples within tuples included, under a name that says where it sits."""
    names = getattr(state, "_fields", None) or [str(place) for place in range(len(state))]
    for name, part in zip(names, state, strict=True):
        if name == "scratch":
            continue
        if isinstance(part, tuple):
            yield from named_arrays(part, f"{prefix}{name}.")
        else:
            yield prefix + name, part


def to_bytes(state: Any) -> dict[str, bytes]:
    """The bytes of each array."""
    return {name: array.tobytes() for name, array in named_arrays(state)}


def fill(state: Any, saved: dict[str, bytes]) -> bool:
    """Write saved bytes into the arrays of a fresh state; False, and nothing written, if the layout is another one."""
    arrays = dict(named_arrays(state))
    if arrays.keys() != saved.keys() or any(array.nbytes != len(saved[name]) for name, array in arrays.items()):
        return False
    for name, array in arrays.items():
        array[...] = np.frombuffer(saved[name], array.dtype).reshape(array.shape)
    return True


def differing(left: Any, right: Any) -> str | None:
    """The name of the first array in which two states differ beyond rounding, if any."""
    for (name, one), (_, other) in zip(named_arrays(left), named_arrays(right), strict=True):
        if not np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True):
            return name
    return None


def fits(rules: Rules, reading: Reading) -> bool:
    """Whether the state in the store is in this version's layout."""
    saved = reading.state()
    saved.pop(TAKEN_AFTER, None)
    return fill(rules.fresh_state(), saved)


class KeptState:
    """The state of a trial in memory, with what is on disk of it."""

    def __init__(self, rules: Rules, reading: Reading) -> None:
        """The state as the store has it."""
        saved = reading.state()
        taken_after = saved.pop(TAKEN_AFTER, None)
        self.state = rules.fresh_state()
        self.moved_on = not fill(self.state, saved)
        """Whether it had to be derived from the log, as it is kept in the layout of another version."""
        if self.moved_on:
            self.state = refolded(rules, reading)
        self.course = rules.course(self.state)
        """What drives the policy in this state."""
        self._arrays = list(named_arrays(self.state))
        self._tail: list[int] = []
        self._on_disk: dict[str, bytes] = {}
        if self.moved_on or taken_after is None:
            self._snapshot = self._taken(reading.seq)
        else:
            self._snapshot = self._on_disk = saved | {TAKEN_AFTER: taken_after}
            self._tail = reading.arms_since(_whole(taken_after))
            for arm in self._tail:
                self.course.joined(arm)

    def _taken(self, seq: int) -> dict[str, bytes]:
        return {name: array.tobytes() for name, array in self._arrays} | {TAKEN_AFTER: b"%d" % seq}

    def follow(self, fold: Fold, seq: int) -> None:
        """Remember what a request that succeeded did to the state; `seq` is the last event."""
        self._tail += fold.joined
        if fold.turned or len(self._tail) > LONGEST_TAIL:
            self._tail.clear()
            self._snapshot = self._taken(seq)

    def go_back(self) -> None:
        """Undo what a request that was refused did to the state."""
        for name, array in self._arrays:
            array[...] = np.frombuffer(self._snapshot[name], array.dtype).reshape(array.shape)
        for arm in self._tail:
            self.course.joined(arm)

    def write(self, writing: Writing) -> None:
        """Write what changed of the snapshot; it counts as written from here on."""
        if self._snapshot is self._on_disk:
            return
        if self.moved_on:
            writing.replace_state(self._snapshot)
        else:
            changed = {name: kept for name, kept in self._snapshot.items() if self._on_disk.get(name) != kept}
            writing.save_state(changed)
        self._on_disk, self.moved_on = self._snapshot, False


def _whole(text: bytes) -> int:
    return int(text) if text.isdigit() else 0
