"""What an algorithm is: a fold over public events that answers three questions.

The state is a NamedTuple of arrays with a field `record` and whatever else the algorithm remembers. Five plain
functions make up the behaviour; they take `(state, constants, ...)`, use `math` and array indexing only, and run
both compiled (in the simulator) and as they stand (in a live trial):

* `size(state, constants, arm)`: how many people does this arm's next batch hold? Asked when the batch opens.
* `recruit(state, constants, weights)`: who recruits now? One arm's index; or `SEVERAL`, after writing each arm's
  probability into `weights`; or `NOBODY`, until a release that is still due has come.
* `over(state, constants)`: is it over? The recommended arm's index, or `UNDECIDED`. Asked after each release.
* `assigned(state, constants, arm, people)` and `released(state, constants, arm)` bring the memory up to date after
  the record has been.

Coins belong to whoever drives the policy; a policy only names the weights. An algorithm that `holds` gives the same
answer to `recruit` until the next release, so a simulator may jump from release to release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from bestarm.policy.numbers import Numbers
from bestarm.policy.record import FloatArray, Record

SEVERAL: Final = -1
"""`recruit` answers this after writing the weights of several arms."""
NOBODY: Final = -2
"""`recruit` answers this while every arm waits for releases."""
UNDECIDED: Final = -1
"""`over` answers this while the evidence does not suffice."""


class State(Protocol):
    """The least a state holds; every algorithm's own NamedTuple adds to it."""

    @property
    def record(self) -> Record: ...


class Standing(NamedTuple):
    """How far the evidence against one rival of the leading arm has come; both numbers on the rule's own scale."""

    rival: int
    value: float
    needed: float


@dataclass(frozen=True)
class Algorithm:
    """A named composition of batching, sampling and stopping rules. The order of the fields is the order of events."""

    name: str
    summary: str
    source: str
    """Where the algorithm is described."""
    proven: bool
    """Whether its error rate has a proof; heuristics say so wherever their results are shown."""
    privacy: tuple[str, ...]
    """The privacy models it can promise, the default first."""
    constants: Callable[[Numbers], Any]
    """Everything computed once from the design's numbers: a NamedTuple of numbers and arrays."""
    start: Callable[[Any], Any]
    """The state before the first person, from the constants."""
    size: Callable[[Any, Any, int], int]
    recruit: Callable[[Any, Any, FloatArray], int]
    assigned: Callable[[Any, Any, int, int], None]
    released: Callable[[Any, Any, int], None]
    over: Callable[[Any, Any], int]
    explain: Callable[[Any, Any, list[str]], str]
    """The verdict's reason, or what is missing for one, in words and numbers: (state, constants, arm labels)."""
    holds: bool = False
    """Whether the answer of `recruit` holds until the next release."""
    noise: str = "laplace"
    """How the pure model's noise is drawn: "laplace" for proofs on continuous noise, "discrete" for integers."""
    binarises: bool = False
    """Whether outcomes in [0, 1] become 0 or 1 by a coin of that probability before they are summed."""
    supports_indifference: bool = False
    standings: Callable[[Any, Any], list[Standing]] | None = None
    """For reports: how the leading arm stands against each rival, (state, constants); None without such a scale."""
    revision: int = 1
    """Counts the versions of the algorithm whose decisions differ; frozen in every design."""

    @property
    def identity(self) -> str:
        """The name with the revision, as in evidence@1."""
        return f"{self.name}@{self.revision}"

    @property
    def caveat(self) -> str | None:
        """What must stand beside every result of this algorithm, if anything."""
        return None if self.proven else "heuristic threshold, not proven"


def remember_nothing(state: State, constants: Any, arm: int, people: int) -> None:
    """The `assigned` rule of algorithms whose memory does not depend on assignments."""
