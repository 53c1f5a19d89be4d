"""The named algorithms, each a composition of batching, sampling and stopping rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bestarm.errors import InputError
from bestarm.policy import elimination, evidence, evidence_report, explain, sampling, standings, stopping
from bestarm.policy.algorithm import Algorithm, Batched, remember_nothing
from bestarm.policy.batching import doubling, every_outcome

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


def evidence_top_two(
    name: str,
    summary: str,
    constants: Callable[..., Any],
    privacy: tuple[str, ...],
    binarises: bool = False,
) -> Batched:
    """Evidence Top Two: bets on releases, in stages of a few large batches."""
    return Batched(
        name=name,
        summary=summary,
        source=EVIDENCE,
        proven=True,
        privacy=privacy,
        constants=constants,
        start=evidence.start_evidence,
        size=evidence.size_of_stage,
        recruit=evidence.recruit_side_by_side,
        assigned=remember_nothing,
        released=evidence.weigh_release,
        over=evidence.only_one_left,
        explain=evidence_report.explain_evidence,
        holds=True,
        noise="discrete",
        binarises=binarises,
        supports_indifference=True,
        standings=evidence_report.evidence_standings,
    )


def evidence_default() -> Batched:
    """The default: the sharper form that the outcomes allow."""
    return evidence_top_two(
        "evidence",
        "Evidence Top Two (the default): likelihood form for binary outcomes, tilted form for others",
        evidence.evidence_constants,
        ("pure", "none", "local", "zcdp"),
    )


def evidence_tilted() -> Batched:
    """For any outcomes in [0, 1]."""
    return evidence_top_two(
        "evidence-tilted",
        "Evidence Top Two, tilted form: any outcomes in [0, 1] as they are",
        evidence.tilted_constants,
        ("pure", "none", "local", "zcdp"),
    )


def evidence_likelihood() -> Batched:
    """For binary outcomes, and others made binary."""
    return evidence_top_two(
        "evidence-likelihood",
        "Evidence Top Two, likelihood form: binary outcomes, others made binary by a coin",
        evidence.likelihood_constants,
        ("pure", "none", "local"),
        binarises=True,
    )


CATALOGUE: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        evidence_default(),
        evidence_tilted(),
        evidence_likelihood(),
        adap_tt(),
        adap_tt_nonprivate(),
        ttucb(),
        dp_se(),
        uniform(),
        adap_tt_published(),
        ttucb_published(),
    )
}


def find(algorithm: str | Algorithm) -> Algorithm:
    """The algorithm of that name; one's own passes through."""
    if isinstance(algorithm, Algorithm):
        return algorithm
    if algorithm not in CATALOGUE:
        raise InputError(f"There is no algorithm {algorithm!r}; there are: {', '.join(CATALOGUE)}.")
    return CATALOGUE[algorithm]
