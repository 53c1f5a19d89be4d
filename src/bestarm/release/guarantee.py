"""What a release promises the people in its batch, in words and exact parameters."""

from __future__ import annotations

import math
from typing import NamedTuple

from bestarm.release.laws import LOCAL, NONE, PURE, Law


class Guarantee(NamedTuple):
    """A promise of privacy. Each outcome enters one release only, so the promise for one release is that for all."""

    model: str
    """"pure", "none", "local" or "zcdp"."""
    parameters: dict[str, float]
    words: str


def guarantee(law: Law) -> Guarantee:
    """The promise that noise of this law keeps, for outcomes in [0, 1] of which each enters one release."""
    if law.kind == PURE:
        return Guarantee(
            "pure",
            {"epsilon": law.budget},
            f"Each release is {law.budget:g}-differentially private: replacing one person's outcome changes the "
            f"probability of anything released by a factor of at most e^{law.budget:g}. The noise is discrete Laplace "
            f"of scale 1/{law.budget:g} on multiples of {law.step:g}.",
        )
    if law.kind == NONE:
        return Guarantee("none", {}, "Exact sums are released. Nothing is promised.")
    if law.kind == LOCAL:
        truth = law.slope + law.offset
        return Guarantee(
            "local",
            {"epsilon": law.budget},
            f"Each outcome is {law.budget:g}-locally differentially private: it is reported truthfully with "
            f"probability {truth:.6g} and flipped otherwise, before anybody keeps it.",
        )
    return Guarantee(
        "zcdp",
        {"rho": law.budget},
        f"Each release is {law.budget:g}-zero-concentrated differentially private: its noise is discrete Gaussian with "
        f"parameter sigma^2 = {0.5 / law.budget:g} on multiples of {law.step:g}.",
    )


def approximate_epsilon(law: Law, slack: float) -> float:
    """The epsilon of the (epsilon, slack)-DP that zCDP implies: rho + 2 sqrt(rho log(1/slack)). Not the risk delta."""
    return law.budget + 2.0 * math.sqrt(law.budget * math.log(1.0 / slack))
