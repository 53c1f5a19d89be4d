"""What a team knows before a trial: how good the arms may be, and by how much the best one leads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bestarm.errors import InputError
from bestarm.theory.inputs import checked_unique_best


@dataclass(frozen=True)
class Question:
    """The hoped-for means, in the arms' own order. The gap can be changed; the rivals then stay and the best moves."""

    means: tuple[float, ...]

    @classmethod
    def ask(cls, means: Sequence[float] | None, arms: int | None, gap: float | None, base: float | None) -> Question:
        """From the means themselves, or from a number of arms that tie at `base` but for one that leads by `gap`.

        Ties below the best are the hardest case for a given gap, and without a base the arms straddle 1/2, where
        outcomes vary most: what is planned so is enough for all other means with that gap.
        """
        if means is not None:
            if not (arms is gap is base is None):
                raise InputError("Give either the means, or the number of arms and the gap, and not both.")
            return cls(tuple(checked_unique_best(means).tolist()))
        if arms is None or gap is None:
            raise InputError(
                "Give the means, or the number of arms together with the gap (and, if known, a base rate)."
            )
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
        return cls(tuple(checked_unique_best([_tidy(min(start + gap, 1.0)), *[start] * (arms - 1)]).tolist()))

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

    def with_gap(self, gap: float) -> Question:
        """The same rivals, with a best arm that leads by `gap`."""
        means = list(self.means)
        means[self.best] = _tidy(min(self.runner_up + gap, 1.0))
        return replace(self, means=tuple(means))


def _tidy(value: float) -> float:
    """Twelve digits: 0.3 + 0.15 is meant to be 0.45."""
    return float(f"{value:.12g}")


def checked_participants(participants: int, arms: int) -> int:
    """A number of people that allows at least one in every arm."""
    if not math.isfinite(participants) or participants < arms:
        raise InputError(f"{participants} participants cannot try {arms} arms; give at least one for every arm.")
    return int(participants)
