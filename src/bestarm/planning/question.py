"""What a plan is asked about: how good the arms may be, by how much the best one leads, and under which design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bestarm.checks import EPSILON
from bestarm.design import DEFAULT_ALGORITHM, NO_PRIVACY, Design, Privacy, resolve
from bestarm.errors import InputError
from bestarm.policy.catalogue import find
from bestarm.theory import lower_bound
from bestarm.theory.inputs import checked_unique_best

WEAKEST_PRIVACY = 100.0
"""A budget at which noise has vanished: a release differs from the true sum with probability below 1e-40. It stands for
no privacy with algorithms that offer nothing else."""


@dataclass(frozen=True)
class Question:
    """The hoped-for means in the arms' own order, and the design to be planned. Equal questions have equal answers.

    The gap can be changed; the rivals then stay and the best moves. So can the privacy budget.
    """

    means: tuple[float, ...]
    design: Design
    epsilon: float
    """The budget asked about; it plays no part in a design without privacy."""
    runs: int = 200
    seed: int = 0
    participants: int | None = None

    @classmethod
    def ask(
        cls,
        means: Sequence[float] | None = None,
        *,
        epsilon: float,
        delta: object = 0.01,
        arms: int | None = None,
        gap: float | None = None,
        base: float | None = None,
        algorithm: str = DEFAULT_ALGORITHM,
        difference: object = None,
        runs: int = 200,
        seed: int = 0,
        participants: int | None = None,
        max_participants: int | None = None,
    ) -> Question:
        """From the means themselves, or from a number of arms that tie at `base` but for one that leads by `gap`.

        Ties below the best are the hardest case for a given gap, and without a base the arms straddle 1/2, where
        outcomes vary most: what is planned so is enough for all other means with that gap.
        """
        hoped = _hoped(means, arms, gap, base)
        epsilon = EPSILON.plainly(epsilon)
        design = Design.make(
            arms=len(hoped),
            delta=delta,
            epsilon=epsilon,
            algorithm=find(algorithm),  # of the catalogue alone: a plan may be asked for over the network
            outcomes="binary",
            difference=difference,
            max_participants=max_participants,
        )
        if runs < 2:
            raise InputError(f"{runs} runs asked for, but a standard error needs at least 2.")
        if participants is not None and participants < len(hoped):
            raise InputError(
                f"{participants} participants cannot try {len(hoped)} arms; give at least one for every arm."
            )
        return cls(hoped, design, epsilon, runs, seed, participants)

    @property
    def best(self) -> int:
        """The best arm."""
        return self.means.index(max(self.means))

    @property
    def runner_up(self) -> float:
        """The second-best mean."""
        return max(mean for arm, mean in enumerate(self.means) if arm != self.best)

    @property
    def gap(self) -> float:
        """The best arm's lead over the second best."""
        return _tidy(max(self.means) - self.runner_up)

    @property
    def widest_gap(self) -> float:
        """The largest lead the best arm could have over these rivals."""
        return _tidy(1.0 - self.runner_up)

    @property
    def private(self) -> bool:
        """Whether epsilon matters."""
        return self.design.privacy != NO_PRIVACY

    def lower_bound(self) -> float | None:
        """What no method can do with less of: `theory.lower_bound`."""
        design = self.design
        return lower_bound(self.means, design.privacy, float(design.delta), float(design.difference))

    def with_gap(self, gap: float) -> Question:
        """The same rivals, with a best arm that leads by `gap`."""
        means = list(self.means)
        means[self.best] = _tidy(min(self.runner_up + gap, 1.0))
        return replace(self, means=tuple(means))

    def with_epsilon(self, epsilon: float) -> Question:
        """The same design with another privacy budget, where it has one."""
        privacy = Privacy.of(self.design.privacy.model, epsilon)
        return replace(self, epsilon=epsilon, design=self.design.with_privacy(privacy))

    def without_privacy(self) -> Question:
        """The same design without privacy."""
        if not self.private or "none" in resolve(self.design.identity).privacy:
            return replace(self, design=self.design.with_privacy(NO_PRIVACY))
        return self.with_epsilon(WEAKEST_PRIVACY)

    def within(self, participants: int) -> Question:
        """The same design, ended undecided after so many people."""
        return replace(self, design=replace(self.design, max_participants=participants))


def _hoped(means: Sequence[float] | None, arms: int | None, gap: float | None, base: float | None) -> tuple[float, ...]:
    if means is not None:
        if not (arms is gap is base is None):
            raise InputError("Give either the means, or the number of arms and the gap, and not both.")
        return tuple(checked_unique_best(means).tolist())
    if arms is None or gap is None:
        raise InputError("Give the means, or the number of arms together with the gap (and, if known, a base rate).")
    if arms < 2:
        raise InputError(f"{arms} arms given, but finding the best one needs at least two.")
    if not 0.0 < gap <= 1.0:
        raise InputError(f"The gap is {gap:g}, but it must be above 0 and at most 1.")
    start = (1.0 - gap) / 2.0 if base is None else base
    if not (0.0 <= start and start + gap <= 1.0 + 1e-12):
        raise InputError(
            f"A base rate of {start:g} and a gap of {gap:g} are impossible together: "
            "both rates, base and base + gap, must lie between 0 and 1."
        )
    return tuple(checked_unique_best([_tidy(min(start + gap, 1.0)), *[start] * (arms - 1)]).tolist())


def _tidy(value: float) -> float:
    """Twelve digits: 0.3 + 0.15 is meant to be 0.45."""
    return float(f"{value:.12g}")
