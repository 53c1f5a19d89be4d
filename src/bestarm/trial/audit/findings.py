"""What an audit found, and what it did not look at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final

from bestarm.design import Design
from bestarm.exact import text_of
from bestarm.trial.audit.noise import Looked

ALWAYS: Final = (
    "Designs other than this one.",
    "The service, its pages and the network, and how long an answer takes: the audit calls the library.",
    "Noise that goes by the date, the process or the machine, and randomness of the operating system that is none.",
    "PostgreSQL, several processes at once, crashes, and what a database leaves on its disk.",
)


@dataclass(frozen=True)
class Audit:
    """What an audit found."""

    algorithm: str
    privacy: str
    design: dict[str, Any]
    source: str | None
    """Whose samplers drew the noise."""
    claimed_epsilon: float | None
    lower_bound_epsilon: float | None
    claimed_rho: float | None
    lower_bound_rho: float | None
    """Bounds on what all outcomes of one person cost, proven at the confidence from what one of them does."""
    confidence: float
    runs: int
    noise: tuple[Looked, ...]
    replays: int
    replayed_people: int
    replayed_releases: int
    replay_violations: int
    violations: tuple[str, ...]
    """Each kind once."""
    not_looked_at: tuple[str, ...]

    @property
    def first_violation(self) -> str | None:
        """The first thing that replay found."""
        return self.violations[0] if self.violations else None

    @property
    def refuted(self) -> tuple[str, ...]:
        """What the black box found."""
        return tuple(f"{look.what}: {look.says}" for look in self.noise if not look.passed)

    @property
    def passed(self) -> bool:
        """Nothing public depended on an outcome except through a release, and no statistic refuted the noise."""
        return self.replay_violations == 0 and not self.refuted

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {"first_violation": self.first_violation, "passed": self.passed}


def not_looked_at(design: Design, runs: int, spread: float | None, releases: int, replayed: Design) -> list[str]:
    """What an audit of this design leaves open, in sentences."""
    said = list(ALWAYS)
    if design.privacy.budget is None:
        said.append("Noise: this design promises no privacy.")
    elif spread is None:
        said.append("The secrecy of the trial's key, from which people's own coins are computed.")
    else:
        said.append(f"What befalls fewer than about one in {max(1, runs // 20):,} releases.")
    if spread is not None and spread > 100:
        said.append(
            f"Rounded floating-point noise at the design's own scale of {spread:.3g} steps alone; it shows at the "
            "small scales at which the same mechanism was examined, and nowhere else."
        )
    if replayed.privacy.shuffling is not None and replayed.privacy != design.privacy:
        said.append(
            f"Whole trials with the design's own groups, which are too large to replay: they were replayed with groups "
            f"of {replayed.privacy.shuffling.group}."
        )
    elif replayed.privacy != design.privacy:
        budget = text_of(replayed.privacy.budget or Fraction(0))
        said.append(
            f"Whole trials at the design's own budget, whose first stage is too large to replay: they were replayed at "
            f"{replayed.privacy.measure} = {budget}."
        )
    if releases == 0:
        said.append("Releases in whole trials: no stage of a replayed trial was released.")
    if design.follow_up is None:
        said.append("Whether outcomes are reported sooner or later depending on what they are: there is no follow-up.")
    if design.contributions == 1:
        said.append("Several contributions of one person: this design has one each.")
    elif design.contributions > 3:
        said.append("More than three contributions of one person in whole trials.")
    return said
