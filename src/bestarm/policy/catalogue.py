"""The named algorithms, each a composition of batching, sampling and stopping rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bestarm.errors import InputError
from bestarm.policy import elimination, explain, fixed, sampling, standings, stopping
from bestarm.policy.algorithm import Algorithm, Batched, Staged, remember_nothing
from bestarm.policy.batching import doubling, every_outcome
from bestarm.policy.evidence import joined as coin
from bestarm.policy.evidence import report as coin_report

PAPER = (
    "Azize, Jourdan, Al Marjani and Basu (2023), On the complexity of differentially private best-arm identification"
)
EVIDENCE = "docs/evidence-proof.md"
RELEASED_CODE = "The released code of Azize et al. (2023), which differs from their Algorithm 2"


def wrap(
    name: str,
    recruit: Callable[..., int],
    *,
    summary: str,
    source: str,
    start: Callable[..., Any] = sampling.start_estimates,
    assigned: Callable[..., None] = remember_nothing,
    released: Callable[..., None] = sampling.latest_mean,
    constants: Callable[..., Any] = stopping.private_glr_constants,
) -> Batched:
    """The paper's generic wrapper: batches with doubling and forgetting, and the private GLR stopping rule.

    Makes any sampling rule that uses estimated means and counts epsilon-DP and delta-correct. The state that `start`
    makes needs the fields `record` and `mean`; `released` keeps `mean` (by default the mean of the last batch).
    """
    return Batched(
        name=name,
        summary=summary,
        source=source,
        proven=True,
        privacy=("pure",),
        constants=constants,
        start=start,
        size=doubling,
        recruit=recruit,
        assigned=assigned,
        released=released,
        over=stopping.private_glr,
        explain=explain.explain_private_glr,
        standings=standings.private_glr_standings,
    )


def adap_tt() -> Batched:
    """Algorithm 2 as written."""
    return wrap(
        "adap-tt",
        sampling.top_two,
        summary="AdaP-TT, Algorithm 2 as written: Top Two sampling in doubling batches, private GLR stopping",
        source=f"{PAPER}, Algorithm 2",
        start=sampling.start_top_two,
        assigned=sampling.track,
        released=sampling.lead_private,
    )


def adap_tt_nonprivate() -> Batched:
    """AdaP-TT without noise: what doubling and forgetting cost by themselves."""
    return Batched(
        name="adap-tt-nonprivate",
        summary="AdaP-TT without noise: doubling batches and forgetting, no privacy",
        source=PAPER,
        proven=True,
        privacy=("none",),
        constants=stopping.phase_glr_constants,
        start=sampling.start_top_two,
        size=doubling,
        recruit=sampling.top_two,
        assigned=sampling.track,
        released=sampling.lead_nonprivate,
        over=stopping.phase_glr,
        explain=explain.explain_phase_glr,
        standings=standings.phase_glr_standings,
    )


def ttucb() -> Batched:
    """TTUCB: the non-private Top Two algorithm on the whole history."""
    return Batched(
        name="ttucb",
        summary="TTUCB: Top Two with a UCB leader on every outcome, no privacy",
        source="Jourdan and Degenne (2022), as used in the paper",
        proven=True,
        privacy=("none",),
        constants=stopping.ttucb_constants,
        start=sampling.start_top_two,
        size=every_outcome,
        recruit=sampling.top_two,
        assigned=sampling.track,
        released=sampling.lead_ttucb,
        over=stopping.ttucb_glr,
        explain=explain.explain_ttucb_glr,
        standings=standings.ttucb_standings,
    )


def dp_se() -> Batched:
    """DP-SE, stopped when one arm is left."""
    return Batched(
        name="dp-se",
        summary="DP-SE: private successive elimination in epochs, stopped when one arm is left",
        source="Sajed and Sheffet (2019), as used in the paper",
        proven=True,
        privacy=("pure",),
        constants=elimination.elimination_constants,
        start=elimination.start_elimination,
        size=elimination.size_in_epoch,
        recruit=elimination.fill_epoch,
        assigned=remember_nothing,
        released=elimination.end_epoch,
        over=elimination.last_one_left,
        explain=explain.explain_elimination,
        holds=True,
    )


def uniform() -> Batched:
    """Uniform sampling in the wrapper: the least an algorithm can do."""
    return wrap(
        "uniform",
        sampling.uniform,
        summary="Uniform sampling inside the paper's wrapper: every arm in turn, private GLR stopping",
        source=f"{PAPER}, generic wrapper",
    )


def adap_tt_published() -> Batched:
    """What the released code runs under the name of AdaP-TT."""
    return Batched(
        name="adap-tt-published",
        summary="AdaP-TT as in the released code (heuristic threshold, not proven)",
        source=RELEASED_CODE,
        proven=False,
        privacy=("pure",),
        constants=stopping.published_constants,
        start=sampling.start_top_two,
        size=doubling,
        recruit=sampling.published_coin,
        assigned=remember_nothing,
        released=sampling.lead_published,
        over=stopping.published_glr,
        explain=explain.explain_published_glr,
        standings=standings.published_standings,
    )


def ttucb_published() -> Batched:
    """What the released code runs under the name of TTUCB."""
    return Batched(
        name="ttucb-published",
        summary="TTUCB as in the released code (heuristic threshold, not proven), no privacy",
        source=RELEASED_CODE,
        proven=False,
        privacy=("none",),
        constants=stopping.published_constants,
        start=sampling.start_top_two,
        size=every_outcome,
        recruit=sampling.published_ttucb_coin,
        assigned=remember_nothing,
        released=sampling.lead_empirical,
        over=stopping.published_ttucb_glr,
        explain=explain.explain_published_ttucb,
    )


def evidence() -> Staged:
    """The default: coin evidence, proven whatever drifts."""
    return Staged(
        name="evidence",
        revision=2,
        summary="Coin evidence (the default): bets on releases of randomised stages, valid under drift",
        source=EVIDENCE,
        proven=True,
        privacy=("pure", "none", "local", "zcdp"),
        constants=coin.evidence_constants,
        start=coin.start_evidence,
        open_stage=coin.open_stage,
        extent=coin.extent,
        settle=coin.settle,
        over=coin.over,
        explain=coin_report.explain,
        standings=coin_report.standings,
        noise="discrete",
        supports_indifference=True,
    )


def fixed_design() -> Batched:
    """What anybody can do who states the smallest difference that matters, for comparison."""
    return Batched(
        name="fixed",
        summary="The fixed design: equal numbers on every arm, one noisy sum each, the highest is recommended",
        source="Bechhofer (1954), sized exactly for the noise; bestarm/theory/fixed.py",
        proven=True,
        privacy=("pure", "none", "local", "zcdp"),
        constants=fixed.fixed_constants,
        start=fixed.start_fixed,
        size=fixed.size_of_arm,
        recruit=fixed.recruit_evenly,
        assigned=remember_nothing,
        released=fixed.nothing_to_learn,
        over=fixed.highest,
        explain=fixed.explain_fixed,
        holds=True,
        noise="discrete",
        supports_indifference=True,
        needs_base=True,
    )


REVISIONS: dict[str, Algorithm] = {
    algorithm.identity: algorithm
    for algorithm in (
        evidence(),
        adap_tt(),
        adap_tt_nonprivate(),
        ttucb(),
        dp_se(),
        uniform(),
        fixed_design(),
        adap_tt_published(),
        ttucb_published(),
    )
}
"""Every revision that trials may run under, older ones first, by its identity."""

GONE: dict[str, str] = {"evidence@1": "0.1"}
"""Revisions that are not here any more, and the version of bestarm that can go on with their trials."""

CATALOGUE: dict[str, Algorithm] = {algorithm.name: algorithm for algorithm in REVISIONS.values()}
"""The newest revision of every algorithm, by its name."""


def find(algorithm: str | Algorithm) -> Algorithm:
    """The algorithm of that name, the newest unless the name ends in a revision (evidence@1); one's own passes."""
    if isinstance(algorithm, Algorithm):
        return algorithm
    name, at, revision = algorithm.partition("@")
    if name not in CATALOGUE:
        raise InputError(f"There is no algorithm {name!r}; there are: {', '.join(CATALOGUE)}.")
    if not at:
        return CATALOGUE[name]
    if algorithm in GONE:
        raise InputError(f"{algorithm} is not here any more; bestarm {GONE[algorithm]} can go on with its trials.")
    if algorithm not in REVISIONS:
        there = ", ".join(identity for identity, one in REVISIONS.items() if one.name == name)
        raise InputError(f"There is no revision {revision} of the algorithm {name} here; there are: {there}.")
    return REVISIONS[algorithm]
