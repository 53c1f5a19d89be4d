"""A bound on what a shuffled sum gives away that does not ask what the others have (Feldman, McMillan, Talwar)."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom


def clone_delta(people: int, flip: float, epsilon: float) -> float:
    """Never below the exact delta.

    Each other person is, with probability 2 f, a fair coin, whatever their bit. Given those C ~ Bin(n - 1, 2 f) coins,
    A ~ Bin(C, 1/2) of them show a 1; compare A + Bern(1 - f) with A + Bern(f), C being known.
    """
    total = 0.0
    for clones in range(people):
        heads = binom.pmf(np.arange(clones + 1), clones, 0.5)
        one, zero = np.convolve(heads, (flip, 1.0 - flip)), np.convolve(heads, (1.0 - flip, flip))
        divergence = float(np.maximum(one - math.exp(epsilon) * zero, 0.0).sum())
        total += float(binom.pmf(clones, people - 1, 2.0 * flip)) * divergence
    return total
