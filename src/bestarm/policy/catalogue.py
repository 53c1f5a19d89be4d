"""The named algorithms, each a composition of batching, sampling and stopping rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bestarm.errors import InputError
from bestarm.policy import adap_tt_star, dp_tt, eb_tci, elimination, explain, fixed, sampling, standings, stopping
from bestarm.policy.algorithm import Algorithm, Batched, Staged, remember_nothing
from bestarm.policy.batching import doubling, every_outcome
from bestarm.policy.evidence import joined as coin
from bestarm.policy.evidence import report as coin_report
from bestarm.policy.lucb import lucb

PAPER = (
    "Azize, Jourdan, Al Marjani and Basu (2023), On the complexity of differentially private best-arm identification"
)
EVIDENCE = "docs/evidence-proof.md"
LATER = "Azize, Jourdan, Al Marjani and Basu (2024), Differentially private best-arm identification, arXiv:2406.06408"
POSTER = "Jourdan and Azize (2025), Optimal best arm identification under differential privacy, NeurIPS 2025, poster"
TOP_TWO = "Jourdan, Degenne, Baudry, de Heide and Kaufmann (2022), Top two algorithms revisited"
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
        leads=sampling.published_leader,
        challenges=sampling.published_challenger,
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


def adap_tt_star_() -> Batched:
    """The authors' second version of AdaP-TT."""
    return Batched(
        name="adap-tt-star",
        summary="AdaP-TT*: AdaP-TT with the transportation cost and threshold of the authors' later work",
        source=LATER,
        proven=True,
        privacy=("pure",),
        constants=adap_tt_star.star_constants,
        start=sampling.start_top_two,
        size=doubling,
        recruit=adap_tt_star.star_top_two,
        assigned=sampling.track,
        released=sampling.lead_private,
        over=adap_tt_star.star_glr,
        explain=adap_tt_star.explain_star,
        standings=adap_tt_star.star_standings,
    )


def dp_tt_() -> Batched:
    """DP-TT with a threshold of our own, because the poster prints its own only approximately."""
    return Batched(
        name="dp-tt",
        summary="DP-TT: Top Two on accumulating noisy sums, with a threshold of ours",
        source=f"{POSTER}; threshold: docs/algorithms.md",
        proven=True,
        privacy=("pure",),
        constants=dp_tt.accumulating_constants,
        start=dp_tt.start_accumulating,
        size=doubling,
        recruit=dp_tt.accumulating_top_two,
        assigned=sampling.track,
        released=dp_tt.lead_accumulated,
        over=dp_tt.dp_tt_glr,
        explain=dp_tt.explain_dp_tt,
        standings=dp_tt.dp_tt_standings,
    )


def dp_tt_published() -> Batched:
    """DP-TT with the approximate threshold that the poster prints."""
    return replace(
        dp_tt_(),
        name="dp-tt-published",
        summary="DP-TT with the approximate threshold printed on its poster (heuristic, not proven)",
        source=POSTER,
        proven=False,
        over=dp_tt.dp_tt_published_glr,
        explain=dp_tt.explain_dp_tt_published,
        standings=dp_tt.dp_tt_published_standings,
    )


def ctb_tt() -> Batched:
    """Local privacy: randomised response, and TTUCB on what people answered."""
    return replace(
        ttucb(),
        name="ctb-tt",
        summary="CTB-TT: TTUCB on answers that every person randomised, local privacy",
        source=f"{LATER}; TTUCB's threshold on the randomised answers",
        privacy=("local",),
    )


def eb_tci_() -> Batched:
    """EB-TCI with the proven threshold."""
    return Batched(
        name="eb-tci",
        summary="EB-TCI: Top Two with the best mean as leader and the Bernoulli transportation cost, no privacy",
        source=TOP_TWO,
        proven=True,
        privacy=("none",),
        constants=eb_tci.eb_tci_constants,
        start=dp_tt.start_accumulating,
        size=every_outcome,
        recruit=dp_tt.accumulating_top_two,
        assigned=sampling.track,
        released=dp_tt.lead_accumulated,
        over=eb_tci.eb_tci_glr,
        explain=eb_tci.explain_eb_tci,
        standings=eb_tci.eb_tci_standings,
    )


def eb_tci_published() -> Batched:
    """EB-TCI with the threshold of its experiments."""
    return replace(
        eb_tci_(),
        name="eb-tci-published",
        summary="EB-TCI with the threshold used in experiments (heuristic, not proven), no privacy",
        proven=False,
        over=eb_tci.eb_tci_published_glr,
        explain=eb_tci.explain_eb_tci_published,
        standings=eb_tci.eb_tci_published_standings,
    )


def lucb_private() -> Batched:
    """LUCB in the wrapper: the documentation's example of an algorithm of one's own."""
    return wrap(
        "lucb-private",
        lucb,
        summary="LUCB inside the paper's wrapper: the arm that looks best and the rival that reaches highest",
        source="Kalyanakrishnan et al. (2012), made private by the wrapper; docs/algorithms.md",
    )


def evidence() -> Staged:
    """The default: coin evidence, proven whatever drifts."""
    return Staged(
        name="evidence",
        revision=2,
        summary="Coin evidence (the default): bets on releases of randomised stages, valid under drift",
        source=EVIDENCE,
        proven=True,
        privacy=("pure", "none", "local", "zcdp", "shuffle"),
        constants=coin.evidence_constants,
        start=coin.start_evidence,
        open_stage=coin.open_stage,
        extent=coin.extent,
        settle=coin.settle,
        merges=coin.merges,
        over=coin.over,
        explain=coin_report.explain,
        standings=coin_report.standings,
        noise="discrete",
        supports_indifference=True,
        supports_control=True,
        supports_hard_end=True,
    )


def fixed_design() -> Batched:
    """What anybody can do who states the smallest difference that matters, for comparison."""
    return Batched(
        name="fixed",
        summary="The fixed design: equal numbers on every arm, one noisy sum each, the highest is recommended",
        source="Bechhofer (1954), sized exactly for the noise; bestarm/theory/fixed.py",
        proven=True,
        privacy=("pure", "none", "local", "zcdp", "shuffle"),
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
        adap_tt_star_(),
        dp_tt_(),
        dp_tt_published(),
        ctb_tt(),
        eb_tci_(),
        eb_tci_published(),
        lucb_private(),
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
