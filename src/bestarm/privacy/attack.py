"""An attack on the door: many releases of sums that the auditor knows, searched for anything but the noise claimed.

`watch` draws the releases, from the very mechanism or source a trial uses; `examine` looks at them in five ways. *Law*:
the noise has the claimed probabilities in the centre and in both tails, for every kind of sum by itself (none, even,
odd, large, below zero), so noise that depends on the sum, is one-sided, clamped or of another scale is seen. *Support*:
releases are whole numbers. *Remainders*: so are all remainders of the noise, modulo 2, 3 and 8. *Dependence*: releases
that follow each other, on any sums or on the same sum, have nothing in common, and no noise comes up again more often
than chance has it. *Loss*: a lower bound on epsilon or rho from sums some outcomes apart, by Clopper and Pearson, which
needs no claim about the law. The first four have p-values that are exact (see `counts`); together they raise a false
alarm with a chance of at most 1 - confidence, and so does the fifth.

Not looked at: what happens more rarely than about once in `draws` releases; noise that goes by time, by the process or
by the order of requests; and rounded floating-point noise at scales so wide that no count tells it from the claim, for
which `probes` also looks at the same mechanism with small scales.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from bestarm.errors import InputError
from bestarm.privacy.claim import Claim
from bestarm.privacy.counts import at_most, fits, proportion
from bestarm.privacy.encoding import Encoder
from bestarm.privacy.leakage import CONFIDENCE, epsilon_at_least, rho_at_least
from bestarm.privacy.mechanism import Mechanism
from bestarm.release.models import Privacy, law_of

FEWEST_DRAWS: Final = 700
LEVELS: Final = (0.0005, 0.002, 0.008, 0.03, 0.1, 0.25, 0.4, 0.6, 0.75, 0.9, 0.97, 0.992, 0.998, 0.9995)
"""Quantiles of the claimed law at which releases are counted."""
MODULI: Final = (2, 3, 8)
THRESHOLDS: Final = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
"""Where a bound on the loss looks, in scales from the larger sum."""
EQUAL_BELOW: Final = 1000.0
"""From this scale on two independent noises are equal with a chance of at most 1/scale, and no more is needed."""
SMALL_SCALES: Final = (Fraction(1, 2), Fraction(2))
"""Budgets at which noise is so narrow that its law shows whether it was made of integers."""
BASE: Final = 8
"""Outcomes in the smaller one of the two sums that the loss is measured between."""


@dataclass(frozen=True)
class Seen:
    """One release: what kind of sum it is of, the sum in steps, and what came out."""

    kind: str
    total: int
    value: object

    @property
    def whole(self) -> bool:
        """Whether a whole number came out, and not one that only looks like it."""
        return isinstance(self.value, int) and not isinstance(self.value, bool)

    @property
    def noise(self) -> int:
        """The noise; of a release that is no whole number, rounded, and none if that cannot be."""
        value = self.value
        if isinstance(value, float):
            return round(value) - self.total if math.isfinite(value) else 0
        return value - self.total if isinstance(value, int) else 0


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at, and its p-value: the chance to see as much if the claim is true, or less."""

    what: str
    p_value: float


@dataclass(frozen=True)
class Examination:
    """What an attack found."""

    findings: tuple[Finding, ...]
    claimed: float
    lower_bound: float
    """Proven, at the confidence: epsilon (or rho) is at least this."""
    confidence: float
    draws: int

    @property
    def p_value(self) -> float:
        """Of all findings together: the smallest times their number."""
        return min(1.0, len(self.findings) * min(finding.p_value for finding in self.findings))

    @property
    def worst(self) -> Finding:
        """The finding that fits least."""
        return min(self.findings, key=lambda finding: finding.p_value)

    @property
    def passed(self) -> bool:
        """Nothing refutes the claim."""
        return self.p_value > 1 - self.confidence and self.lower_bound <= self.claimed * (1 + 1e-12)

    @property
    def says(self) -> str:
        """In a sentence."""
        if self.lower_bound > self.claimed * (1 + 1e-12):
            return f"The loss is at least {self.lower_bound:.4g}, more than the {self.claimed:.4g} that is claimed."
        if not self.passed:
            return f"{self.worst.what} cannot be as claimed (p = {self.worst.p_value:.1e})."
        return f"Nothing in {self.draws} releases speaks against the claim (p = {self.p_value:.2g})."


def sums_to_try(claim: Claim) -> dict[str, int]:
    """Sums of every kind, in steps; the two of the loss are `claim.group` outcomes apart."""
    low = BASE * claim.grid
    return {
        "no outcome": 0,
        "an odd sum": 1,
        "an even sum": 2,
        "a small sum": low,
        "the sum next to it": low + claim.group * claim.grid,
        "a large sum": 2**20 * claim.grid,
        "a large odd sum": 2**30 * claim.grid + 1,
        "a difference below zero": -(low + 1),
    }


def watch(release: Callable[[int], object], claim: Claim, draws: int, seed: int) -> list[Seen]:
    """Releases of sums of every kind, each as often, in an order that the seed chooses."""
    if draws < FEWEST_DRAWS:
        raise InputError(f"The number of draws is {draws}, but it has to be at least {FEWEST_DRAWS}.")
    sums = list(sums_to_try(claim).items())
    order = [sums[n % len(sums)] for n in range(draws)]
    random.Random(seed).shuffle(order)
    return [Seen(kind, total, release(total)) for kind, total in order]


def examine(seen: Sequence[Seen], claim: Claim, confidence: float = CONFIDENCE) -> Examination:
    """Everything that can be said about these releases, in the order in which they were drawn."""
    findings = [Finding("That every release is a whole number", float(all(one.whole for one in seen)))]
    findings += law(seen, claim)
    findings += remainders(seen, claim)
    findings += dependence(seen, claim)
    return Examination(
        tuple(findings), float(claim.budget), loss_at_least(seen, claim, confidence), confidence, len(seen)
    )


def law(seen: Sequence[Seen], claim: Claim) -> list[Finding]:
    """The law of the noise: over all releases, and for each kind of sum."""
    cuts = sorted({0, 1} | {claim.cut(level) for level in LEVELS})
    by_kind: dict[str, list[int]] = defaultdict(list)
    for one in seen:
        by_kind[one.kind].append(one.noise)
    samples = [("all sums", [one.noise for one in seen]), *by_kind.items()]
    return [Finding(f"The law of the noise on {kind}", fits(noise, cuts, claim.below)) for kind, noise in samples]


def remainders(seen: Sequence[Seen], claim: Claim) -> list[Finding]:
    """The remainders of the noise: over all releases, and apart for odd and for even sums."""
    found = []
    for modulus in MODULI:
        chances = [claim.residue(r, modulus) for r in range(modulus)]
        for what, parts in (("all", (0, 1)), ("even", (0,)), ("odd", (1,))):
            noise = [one.noise % modulus for one in seen if one.total % 2 in parts]
            p = min(proportion(noise.count(r), len(noise), chance) for r, chance in enumerate(chances))
            found.append(Finding(f"The noise modulo {modulus} on {what} sums", min(1.0, modulus * p)))
    return found


def dependence(seen: Sequence[Seen], claim: Claim) -> list[Finding]:
    """What releases have in common that follow each other: at once, after one more, or on the same sum."""
    noise = [one.noise for one in seen]
    by_total: dict[int, list[int]] = defaultdict(list)
    for one in seen:
        by_total[one.total].append(one.noise)
    same_sum = [pair for drawn in by_total.values() for pair in zip(drawn[::2], drawn[1::2], strict=False)]
    pairings = {
        "following each other": list(zip(noise[::2], noise[1::2], strict=False)),
        "following each other, one later": list(zip(noise[1::2], noise[2::2], strict=False)),
        "two apart": [(noise[n], noise[n + 2]) for n in range(len(noise) - 2) if n % 4 < 2],
        "of the same sum": same_sum,
    }
    found = [Finding(f"Noises {how}", _independent(pairs, claim)) for how, pairs in pairings.items()]
    half = len(noise) // 2
    known = set(noise[:half])
    chance = min(1.0, math.fsum(claim.at(z) for z in known))
    again = sum(z in known for z in noise[half:])
    return [*found, Finding("That no noise comes up again", at_most(again, len(noise) - half, chance))]


def _independent(pairs: Sequence[tuple[int, int]], claim: Claim) -> float:
    # Of the claim that both have the claimed law and are independent: how often both lie on the same side of zero, of
    # the quartiles (the tails agree), and how often they are equal.
    upper = claim.cut(0.75)
    positive, wide = 1 - claim.below(1), 2 * (1 - claim.below(upper + 1))
    equal = math.fsum(claim.at(z) ** 2 for z in _centre(claim)) if claim.spread < EQUAL_BELOW else 1 / claim.spread
    runs = len(pairs)
    counts = (
        proportion(sum((a > 0) == (b > 0) for a, b in pairs), runs, positive**2 + (1 - positive) ** 2),
        proportion(sum((abs(a) > upper) == (abs(b) > upper) for a, b in pairs), runs, wide**2 + (1 - wide) ** 2),
        at_most(sum(a == b for a, b in pairs), runs, equal),
    )
    return min(1.0, len(counts) * min(counts))


def _centre(claim: Claim) -> range:
    reach = math.ceil(40 * claim.spread) + 40
    return range(-reach, reach + 1)


def loss_at_least(seen: Sequence[Seen], claim: Claim, confidence: float = CONFIDENCE) -> float:
    """A lower bound on the epsilon (or rho) of one outcome, from two sums k outcomes apart.

    Over k outcomes pure privacy loses at most k epsilon and zCDP at most k^2 rho. Events are that a release reaches a
    threshold, or falls below it, or leaves a certain remainder; the confidence is shared among all of them.
    """
    sums = sums_to_try(claim)
    low, high = sums["a small sum"], sums["the sum next to it"]
    one = [o.total + o.noise for o in seen if o.kind == "a small sum"]
    two = [o.total + o.noise for o in seen if o.kind == "the sum next to it"]
    runs = min(len(one), len(two))
    one, two = one[:runs], two[:runs]
    marks = [high + round(c * claim.spread) for c in THRESHOLDS] + [low - round(c * claim.spread) for c in THRESHOLDS]
    pairs = [(sum(x >= mark for x in one), sum(x >= mark for x in two)) for mark in marks]
    pairs += [(sum(x % 2 == r for x in one), sum(x % 2 == r for x in two)) for r in (0, 1)]
    bound = epsilon_at_least if claim.pure else rho_at_least
    share = 1 - (1 - confidence) / (4 * len(pairs))
    best = 0.0
    for hits, elsewhere in pairs:
        for a, b in ((hits, elsewhere), (runs - hits, runs - elsewhere)):
            best = max(best, bound(a, b, runs, share), bound(b, a, runs, share))
    return best / (claim.group if claim.pure else claim.group**2)


def probes(mechanism: Mechanism, claim: Claim) -> list[tuple[Mechanism, Claim]]:
    """The mechanism itself, and the same with small scales, at which rounded continuous noise shows."""
    found = [(mechanism, claim)]
    for budget in SMALL_SCALES:
        small = Claim(Privacy(claim.privacy.model, budget))
        law = law_of(small.privacy, small.encoding)
        found.append((replace(mechanism, law=law, budget=budget, encoder=Encoder(small.encoding)), small))
    return found
