"""What an algorithm is: a fold over public events that answers three questions.

Who recruits, and with what weights? Is this stage or batch full, to be closed or extended? Is it over? The answers are
plain functions (bestarm/rules.py) of `(state, constants, ...)` that run both compiled, in the simulator, and as they
stand, in a live trial. The state is a NamedTuple of arrays that do not grow with history; a field named `scratch` is
work space, which nobody keeps. Coins belong to whoever drives the policy; a policy only names the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

from bestarm.policy.numbers import Numbers
from bestarm.policy.record import FloatArray, Record
from bestarm.rules import fingerprint, rule

SEVERAL: Final = -1
"""`recruit` answers this after writing the weights of several arms."""
NOBODY: Final = -2
"""`recruit` answers this while every arm waits for releases."""
UNDECIDED: Final = -1
"""`over` answers this while the evidence does not suffice."""


BETTER: Final = "better"
GIVEN_UP: Final = "given up"
"""The two claims on an arm that is compared with control."""


class State(Protocol):
    """The least a state holds; every algorithm's own NamedTuple adds to it."""

    @property
    def record(self) -> Record: ...


class Standing(NamedTuple):
    """How far the evidence against one rival of the leading arm has come; both numbers on the rule's own scale."""

    rival: int
    value: float
    needed: float
    claim: str | None = None
    """Against control: which of the two claims on the arm `rival` this is, BETTER or GIVEN_UP."""


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """What every algorithm states of itself. It is one of two kinds: `Batched` or `Staged`."""

    name: str
    revision: int = 1
    """Goes up whenever stored trials would be decided otherwise. A trial goes on under the revision it began with."""
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
    over: Callable[[Any, Any], int]
    """Is it over? The recommended arm's index, or UNDECIDED. Asked after each release."""
    explain: Callable[[Any, Any, list[str]], str]
    """The verdict's reason, or what is missing for one, in words and numbers: (state, constants, arm labels)."""
    noise: str = "laplace"
    """How the pure model's noise is drawn: "laplace" for proofs on continuous noise, "discrete" for integers."""
    binarises: bool = False
    """Whether outcomes in [0, 1] become 0 or 1 by a coin of that probability before they are summed."""
    supports_indifference: bool = False
    supports_control: bool = False
    """Whether arms can be compared with control; `over` then answers control's own index for "none"."""
    supports_hard_end: bool = False
    needs_base: bool = False
    """Whether its size follows from a smallest difference that matters and a planned mean of all arms but the best."""
    standings: Callable[[Any, Any], list[Standing]] | None = None
    """For reports: how the leading arm stands against each rival, (state, constants); None without such a scale."""

    @property
    def identity(self) -> str:
        """Name and revision, as every design freezes them: `adap-tt@1`."""
        return f"{self.name}@{self.revision}"

    @property
    def caveat(self) -> str | None:
        """What must stand beside every result of this algorithm, if anything."""
        return None if self.proven else "heuristic threshold, not proven"

    @property
    def rules(self) -> dict[str, Callable[..., Any]]:
        """The functions that decide, by the names under which a driver calls them."""
        return {"start": self.start, "over": self.over}

    @cached_property
    def fingerprint(self) -> str:
        """Changes with every edit of a rule, of a constant that a rule reads, or of the composition."""
        return fingerprint(self.constants, *self.rules.values())


@dataclass(frozen=True, kw_only=True)
class Batched(Algorithm):
    """Fills batches of one arm each, whose sizes are fixed when they open; a full batch is released by itself.

    The state has a field `record` (bestarm/policy/record.py).

    * `size(state, constants, arm)`: how many people does this arm's next batch hold? Asked when the batch opens.
    * `recruit(state, constants, weights)`: who recruits now? One arm's index; or `SEVERAL`, after writing each arm's
      probability into `weights`; or `NOBODY`, until a release that is still due has come.
    * `assigned(state, constants, arm, people)` and `released(state, constants, arm)` bring the memory up to date after
      the record has been.
    """

    size: Callable[[Any, Any, int], int]
    recruit: Callable[[Any, Any, FloatArray], int]
    assigned: Callable[[Any, Any, int, int], None]
    released: Callable[[Any, Any, int], None]
    holds: bool = False
    """Whether the answer of `recruit` holds until the next release, so that a simulator may jump there."""
    leads: Callable[[Any, Any], int] | None = None
    """Where `recruit` is always a coin between two arms: the one that gets the next person with probability
    `constants.beta`, which only a release changes; -1 before there is one. A simulator then draws how many people it
    gets in a row, and asks `challenges` only for those whom it does not get."""
    challenges: Callable[[Any, Any], int] | None = None
    """The other arm of that coin, which may change with every person."""

    @property
    def rules(self) -> dict[str, Callable[..., Any]]:
        return super().rules | {
            "size": self.size,
            "recruit": self.recruit,
            "assigned": self.assigned,
            "released": self.released,
            **({} if self.leads is None or self.challenges is None else self._coin_rules),
        }

    @property
    def _coin_rules(self) -> dict[str, Callable[..., Any]]:
        assert self.leads is not None
        assert self.challenges is not None
        return {"leads": self.leads, "challenges": self.challenges}


@rule
def never_merges(state: State, constants: Any) -> bool:
    """The `merges` rule of algorithms whose stages are all released by themselves."""
    return False


@dataclass(frozen=True, kw_only=True)
class Staged(Algorithm):
    """Assigns by coins, stage by stage: everybody in a stage gets an arm by the weights fixed when it opened.

    The state has a field `stages` (bestarm/policy/stages.py).

    * `open_stage(state, constants, slot)`: plan the next stage; writes its opening (weights, form, champion, planned
      size) at `slot` of the openings and changes nothing else that is remembered.
    * `extent(state, constants, people)`: at which size does the open stage close, now that news has come? It has
      `people`; it closes at once if the answer is not above that. Asked after each release while a stage is open.
    * `settle(state, constants, slot, values)`: the oldest unreleased stage, at `slot`, has been released; in `values`
      stands each arm's noisy sum, or first the noisy difference. What follows from it is remembered here.
    * `merges(state, constants)`: is the oldest unreleased stage to be released together with the next one? Asked when
      its own release is due, and only while the next one is alike (`bestarm.policy.stages.next_is_alike`).
    """

    open_stage: Callable[[Any, Any, int], None]
    extent: Callable[[Any, Any, int], int]
    settle: Callable[[Any, Any, int, FloatArray], None]
    merges: Callable[[Any, Any], bool] = never_merges

    @property
    def rules(self) -> dict[str, Callable[..., Any]]:
        return super().rules | {
            "open_stage": self.open_stage,
            "extent": self.extent,
            "settle": self.settle,
            "merges": self.merges,
        }


@rule
def remember_nothing(state: State, constants: Any, arm: int, people: int) -> None:
    """The `assigned` rule of algorithms whose memory does not depend on assignments."""
