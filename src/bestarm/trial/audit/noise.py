"""The black box: is the noise what the design promises? By statistics of the very mechanism that a trial of it has.

The claim is made from the design, with the budget shared here among a person's outcomes; nothing of it is asked of the
mechanism. See `bestarm.privacy.attack` for what is looked at in the releases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from bestarm.design import Design
from bestarm.privacy.attack import Finding, Seen, dependence, examine, law, probes, remainders, watch
from bestarm.privacy.claim import Claim
from bestarm.privacy.coins import IMPUTED, OUTCOME, Deal
from bestarm.privacy.counts import proportion
from bestarm.privacy.leakage import epsilon_at_least
from bestarm.privacy.mechanism import Mechanism
from bestarm.release.models import Privacy
from bestarm.release.shuffle import worst_delta
from bestarm.trial.audit.watched import Drawn

FEWEST_TRIAL_RELEASES: Final = 8
"""Fewer releases of whole trials are not worth a look."""
PARTS: Final = 7
"""Chances for a false alarm: two in each of three examinations of the mechanism, and one in the trials'."""


@dataclass(frozen=True)
class Looked:
    """One look at the noise: at what, what it says, and how it ended."""

    what: str
    says: str
    passed: bool
    p_value: float
    lower_bound: float = 0.0
    """On what one outcome costs."""


def promised_per_outcome(design: Design) -> Fraction | None:
    """What one outcome may cost, by the auditor's own reckoning.

    k outcomes of a person cost k times that, and k^2 times in zCDP.
    """
    budget = design.privacy.budget
    if budget is None:
        return None
    return budget / (design.contributions**2 if design.privacy.model == "zcdp" else design.contributions)


def claim_of(design: Design) -> Claim:
    """What is claimed of the noise on a sum."""
    return Claim(Privacy(design.privacy.model, promised_per_outcome(design)), design.encoding)


def look_at_mechanism(mechanism: Mechanism, claim: Claim, runs: int, seed: int, confidence: float) -> list[Looked]:
    """The mechanism at the design's own scale, and at small ones, where it shows whether noise is made of integers."""
    found = []
    names = ("The mechanism", "The mechanism at a small scale", "The mechanism at a smaller scale")
    each = 1 - (1 - confidence) / PARTS
    for what, (door, claimed) in zip(names, probes(mechanism, claim), strict=True):
        seen = examine(watch(door.release, claimed, runs, seed), claimed, each)
        bound = seen.lower_bound if claimed is claim else 0.0
        found.append(Looked(what, seen.says, seen.passed, seen.p_value, bound))
    return found


def look_at_trials(published: Sequence[Drawn], claim: Claim, confidence: float) -> list[Looked]:
    """The noise of whole trials: what was published, less the sums that the auditor's accounts have."""
    if len(published) < FEWEST_TRIAL_RELEASES:
        return []
    seen = [Seen("trials", one.total, one.value) for one in published]
    findings = [*law(seen, claim)[:1], *remainders(seen, claim), *dependence(seen, claim)]
    return [_summed_up("Whole trials", f"{len(seen)} releases", findings, 1 - (1 - confidence) / PARTS)]


def truth_of_local(epsilon: Fraction) -> float:
    """How often an answer is true under local privacy."""
    return 1 / (1 + math.exp(-float(epsilon)))


def look_at_promise(design: Design) -> Looked:
    """Shuffled privacy: sums over the design's groups keep its promise, by the exact worst case over the others."""
    shuffling, epsilon = design.privacy.shuffling, design.privacy.budget
    assert shuffling is not None
    assert epsilon is not None
    people = shuffling.group - shuffling.colluders
    delta = worst_delta(people, float(shuffling.flip), float(epsilon))
    kept = delta <= shuffling.delta
    said = (
        f"A sum over {people} people is ({float(epsilon):g}, {delta:.3g})-private, whatever the others' outcomes are."
    )
    return Looked("The promise", said if kept else f"{said} That is less than is claimed.", kept, 1.0 if kept else 0.0)


def look_at_answers(mechanism: Mechanism, deal: Deal, truth: float, runs: int, confidence: float) -> list[Looked]:
    """Flipped answers: people's answers are as often true as promised, and have nothing in common."""

    def answers(outcome: int, first: int, purpose: str = OUTCOME) -> list[bool]:
        people = range(first, first + runs)
        return [mechanism.encode(Fraction(outcome), deal(n, purpose)) == outcome for n in people]

    epsilon = math.log(truth / (1 - truth))
    alike = truth**2 + (1 - truth) ** 2
    ones, zeros = answers(1, 1), answers(0, runs + 1)
    imputed = answers(1, 1, IMPUTED)
    pairs = list(zip(ones[::2], ones[1::2], strict=False))
    findings = [
        Finding("How often a 1 is told truly", proportion(sum(ones), runs, truth)),
        Finding("How often a 0 is told truly", proportion(sum(zeros), runs, truth)),
        Finding("That two people's answers differ", proportion(sum(a == b for a, b in pairs), len(pairs), alike)),
        Finding(
            "That an answer and an imputed one differ",
            proportion(sum(a == b for a, b in zip(ones, imputed, strict=True)), runs, alike),
        ),
    ]
    each = 1 - (1 - confidence) / 3
    bound = max(
        epsilon_at_least(sum(ones), runs - sum(zeros), runs, each),
        epsilon_at_least(sum(zeros), runs - sum(ones), runs, each),
    )
    looked = _summed_up("People's answers", f"{runs} answers", findings, each, bound)
    if bound > epsilon:
        said = f"The loss is at least {bound:.4g}, more than the {epsilon:.4g} that is claimed."
        looked = Looked(looked.what, said, False, looked.p_value, bound)
    return [looked]


def _summed_up(what: str, of: str, findings: list[Finding], confidence: float, bound: float = 0.0) -> Looked:
    worst = min(findings, key=lambda finding: finding.p_value)
    p = min(1.0, len(findings) * worst.p_value)
    passed = p > 1 - confidence
    fits = f"Nothing in {of} speaks against the claim (p = {p:.2g})."
    return Looked(what, fits if passed else f"{worst.what} cannot be as claimed (p = {p:.1e}).", passed, p, bound)
