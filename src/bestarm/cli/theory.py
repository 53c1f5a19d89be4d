"""`bestarm bounds` and `bestarm threshold`: the paper's quantities for one problem."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from bestarm.checks import DELTA, EPSILON, EXPONENT
from bestarm.cli.options import Delta, Epsilon, Json, Means, number_option, parse_means, whole_option
from bestarm.cli.output import count, emit_json, number, percent, say, show_table
from bestarm.errors import InputError

if TYPE_CHECKING:
    from bestarm.theory import Bounds


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command("bounds")(bounds)
    app.command("threshold")(threshold)


def bounds(
    means: Means,
    epsilon: Epsilon,
    delta: Delta,
    beta: Annotated[float, number_option("--beta", metavar="B", help="The leader's share in the paper's rate.")] = 0.5,
    as_json: Json = False,
) -> None:
    """How many participants any method must use, with and without privacy, and where they should go."""
    arms = parse_means(means)
    from bestarm import theory

    found = theory.bounds(arms, epsilon, delta, beta)
    if as_json:
        emit_json(found.to_dict())
    else:
        _show_bounds(found, arms, epsilon, delta)


def _show_bounds(found: Bounds, means: list[float], epsilon: float, delta: float) -> None:
    from bestarm.theory import free_epsilon
    from bestarm.theory.bounds import refined_nats

    best = max(range(len(means)), key=lambda arm: means[arm])
    gap = means[best] - max(mean for arm, mean in enumerate(means) if arm != best)
    say(
        f"{len(means)} arms; the best is arm {best} (mean {means[best]:g}), ahead by {gap:.4g}. "
        f"Privacy budget ε = {epsilon:g}, risk δ = {delta:g}.",
        f"No method can do with fewer than {count(found.lower_bound_refined)} participants on average. "
        + _regime_in_words(found, free_epsilon(means)),
        "",
    )
    show_table(
        "Participants needed on average, at least",
        ("bound", "formula", "per nat", "participants"),
        [
            ("without privacy", "T*_KL · kl(1−δ, δ)", number(found.t_kl), count(found.t_kl * refined_nats(delta))),
            (
                "with privacy, Corollary",
                "max(T*_KL, T*_TV/6ε) · log(1/3δ)",
                number(max(found.t_kl, found.t_tv / (6 * epsilon))),
                count(found.lower_bound_corollary),
            ),
            ("with privacy, Theorem 2", "T*(ν;ε) · log(1/3δ)", number(found.t_private), count(found.lower_bound)),
            ("with privacy, refined", "T_ε · kl(1−δ, δ)", number(found.t_refined), count(found.lower_bound_refined)),
        ],
        words=2,
        note=f"T*_TV = {number(found.t_tv)}; AdaP-TT needs about {number(found.upper_bound_rate)} · log(1/δ) "
        f"as δ → 0 (Theorem 5; Gaussian T*_KL,β = {number(found.t_kl_beta_gaussian)}).",
    )
    say("")
    show_table(
        "Where the participants should go",
        ("arm", "mean", "without privacy", "privacy alone (TV)", "Theorem 2", "refined"),
        [
            (
                str(arm),
                f"{mean:g}",
                *(percent(found.allocation[name][arm]) for name in ("kl", "tv", "private", "refined")),
            )
            for arm, mean in enumerate(means)
        ],
    )


def _regime_in_words(found: Bounds, free: float) -> str:
    meeting = f"ε = {found.regime_epsilon:.3g}"
    price = (
        f"By the Corollary privacy sets the price here: below {meeting} more privacy needs more participants."
        if found.regime == "high-privacy"
        else f"By the Corollary chance sets the price here, and privacy only below {meeting}."
    )
    ratio = found.t_refined / found.t_kl
    if ratio < 1.005:
        exactly = f" (exactly so from ε = {free:.3g} on)" if math.isfinite(free) else ""
        return f"{price} By the refined bound privacy is free here{exactly}."
    end = f", and is free from ε = {free:.3g} on" if math.isfinite(free) else ""
    return f"{price} By the refined bound privacy costs a factor of {ratio:.3g} here{end}."


def threshold(
    k1: Annotated[int, whole_option("--k1", metavar="K1", help="Phase of the leading arm, from 1.")],
    k2: Annotated[int, whole_option("--k2", metavar="K2", help="Phase of the other arm, from 1.")],
    n: Annotated[float, number_option("--n", metavar="N", help="Size of the leading arm's last batch.")],
    m: Annotated[float, number_option("--m", metavar="M", help="Size of the other arm's last batch.")],
    arms: Annotated[int, whole_option("--arms", metavar="K", help="Number of arms.")],
    epsilon: Epsilon,
    delta: Delta,
    s: Annotated[float, number_option("--s", metavar="S", help="Exponent of the union bound over phases.")] = 2.0,
    as_json: Json = False,
) -> None:
    """The paper's stopping thresholds, with and without privacy."""
    _check_threshold(k1, k2, n, m, arms, epsilon, delta, s)
    from bestarm.policy.thresholds import c_nonprivate, c_private

    private = c_private(k1, k2, n, m, arms, epsilon, delta, s)
    nonprivate = c_nonprivate(k1 * k2, n, m, arms, delta, s)
    if as_json:
        emit_json({"c_private": private, "c_nonprivate": nonprivate})
        return
    show_table(
        f"Evidence needed to stop, phases {k1} and {k2}, batches of {n:g} and {m:g}",
        ("threshold", "formula", "nats"),
        [
            ("with privacy", "c_{ε,k1,k2}(n, m, δ)", number(private)),
            ("without privacy", "c_{k1·k2}(n, m, δ)", number(nonprivate)),
        ],
        words=2,
    )


MOST = 10**9
"""Phases and arms that thresholds are computed for: their product to the power of the exponent is a double."""


def _check_threshold(k1: int, k2: int, n: float, m: float, arms: int, epsilon: float, delta: float, s: float) -> None:
    for name, phase in (("--k1", k1), ("--k2", k2)):
        if not 1 <= phase <= MOST:
            raise InputError(f"{name} is {phase}, but phases count from 1, to {MOST} at most.")
    for name, size in (("--n", n), ("--m", m)):
        if not (size >= 1 and math.isfinite(size)):
            raise InputError(f"{name} is {size:g}, but a batch holds at least 1 outcome.")
    if not 2 <= arms <= MOST:
        raise InputError(f"--arms is {arms}, but at least two arms are needed, and at most {MOST}.")
    for name, value in (("--epsilon", EPSILON.plainly(epsilon)), ("--delta", DELTA.plainly(delta))):
        if value < 1 / MOST**2:
            raise InputError(f"{name} is {value:g}, but thresholds are computed down to {1 / MOST**2:g}.")
    EXPONENT.plainly(s)
