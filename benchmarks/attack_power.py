"""How many releases the attack on the mechanism needs for each planted defect, at 99.9% confidence.

Run from the project's root: python -m benchmarks.attack_power [--times 20] [--most 64000]
For every defect and design, the smallest number of releases (doubling from 1000) at which every one of so many attacks
finds it; and how often honest noise was accused at the largest number.
"""

from __future__ import annotations

import argparse
from fractions import Fraction

from tests.privacy.planted import DEFECTS, Defect, floating_point_rounded, honest

from bestarm.privacy.attack import examine, watch
from bestarm.privacy.claim import Claim
from bestarm.privacy.mechanism import live_mechanism
from bestarm.privacy.noise import SystemNoise
from bestarm.release.models import AS_IS, ON_GRID, Privacy

DESIGNS = {
    "epsilon 1": ("pure", "1", AS_IS),
    "epsilon 1e-6, grid": ("pure", "0.000001", ON_GRID),
    "rho 0.5": ("zcdp", "0.5", AS_IS),
    "rho 1e-6, grid": ("zcdp", "0.000001", ON_GRID),
}
FEWEST = 1000


def found(defect: Defect, claim: Claim, draws: int, times: int) -> int:
    """How many of so many attacks find the defect."""
    door = live_mechanism(claim.privacy, claim.encoding, SystemNoise())
    return sum(not examine(watch(defect(door), claim, draws, seed), claim).passed for seed in range(times))


def needed(defect: Defect, claim: Claim, times: int, most: int) -> str:
    """The smallest number of releases at which every attack finds it."""
    draws = FEWEST
    while draws <= most:
        if found(defect, claim, draws, times) == times:
            return str(draws)
        draws *= 2
    return f"> {most}"


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=20)
    options.add_argument("--most", type=int, default=64_000)
    given = options.parse_args()
    claims = [Claim(Privacy(model, Fraction(budget)), encoding) for model, budget, encoding in DESIGNS.values()]
    print("| defect | " + " | ".join(DESIGNS) + " |")
    print("|---" * (len(DESIGNS) + 1) + "|")
    for name, defect in (DEFECTS | {"floating point, rounded": floating_point_rounded}).items():
        cells = [needed(defect, claim, given.times, given.most) for claim in claims]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    accused = [f"{found(honest, claim, 4000, given.times)} of {given.times}" for claim in claims]
    print("| honest noise, accused | " + " | ".join(accused) + " |")


if __name__ == "__main__":
    main()
