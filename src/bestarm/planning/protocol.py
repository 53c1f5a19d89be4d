"""A statistical analysis plan, filled in from a plan: text that a board can read and a statistician can check.

The text is made of blocks (headings, paragraphs, lists, tables) that `protocol_files` writes as Markdown, HTML or Word.
What only the team knows (who, where, why) is left to be filled in, between square brackets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from bestarm import __version__
from bestarm.design import Design, resolve
from bestarm.durations import in_largest_unit
from bestarm.exact import text_of
from bestarm.planning.operating_views import caption, cells, columns
from bestarm.planning.planner import Plan
from bestarm.policy.algorithm import Staged
from bestarm.sentences import hard_end_said

REFERENCES: Final = {
    "evidence": (
        "Ville, J. (1939). Étude critique de la notion de collectif. Gauthier-Villars, Paris.",
        "Ramdas, A., Grünwald, P., Vovk, V., Shafer, G. (2023). Game-theoretic statistics and safe anytime-valid "
        "inference. Statistical Science 38(4), 576-601. doi:10.1214/23-STS894",
    ),
    "fixed": (
        "Bechhofer, R. E. (1954). A single-sample multiple decision procedure for ranking means of normal populations "
        "with known variances. Annals of Mathematical Statistics 25(1), 16-39. doi:10.1214/aoms/1177728845",
    ),
    "looks": (
        "O'Brien, P. C., Fleming, T. R. (1979). A multiple testing procedure for clinical trials. Biometrics 35(3), "
        "549-556. doi:10.2307/2530245",
    ),
    "problem": (
        "Azize, A., Jourdan, M., Al Marjani, A., Basu, D. (2023). On the complexity of differentially private best-arm "
        "identification with fixed confidence. Advances in Neural Information Processing Systems 36. "
        "doi:10.48550/arXiv.2309.02202",
    ),
    "privacy": (
        "Dwork, C., McSherry, F., Nissim, K., Smith, A. (2006). Calibrating noise to sensitivity in private data "
        "analysis. Theory of Cryptography (TCC), 265-284. doi:10.1007/11681878_14",
        "Ghosh, A., Roughgarden, T., Sundararajan, M. (2012). Universally utility-maximizing privacy mechanisms. SIAM "
        "Journal on Computing 41(6), 1673-1693. doi:10.1137/09076828X",
    ),
}


@dataclass(frozen=True)
class Heading:
    """A section begins."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """Some sentences."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Rows under a head."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Heading | Paragraph | Items | Table


CONTROL_RULE: Final = (
    "For every arm a other than {control} there are two accounts. W({control}|a) begins at 1 and is multiplied, at "
    "each release, by a bet against the hypothesis that a is on average ahead of {control} by at most {low}; a bet is "
    "a function of the release whose mean under that hypothesis is at most 1, whatever drifts and whatever depends on "
    "what. Arm a is recommended once π(a) W({control}|a) ≥ 1/δ, with δ = {delta} and shares π that sum to at most 1 "
    "over the arms. W(a|{control}) is bet likewise against the hypothesis that a is ahead of {control} by {high} or "
    "more; a is given up once it reaches 1/δ', with δ' = {delta_none}, without shares. The answer is none once every "
    "arm has been given up. The trial ends with the first answer; which of several arms is best is not asked."
)


def protocol_of(plan: Plan) -> list[Block]:
    """The statistical analysis plan of the design that was planned."""
    design = Design.from_json(plan.design)
    return [
        *_question(plan, design),
        *_randomisation(design),
        *_stopping(plan, design),
        *_privacy(plan, design),
        *_outcomes(plan, design),
        *_size(plan),
        *_publication(design),
        *_references(plan),
        *_software(design),
    ]


def _question(plan: Plan, design: Design) -> list[Block]:
    scale = design.outcomes
    what = scale.what or "[what is measured]"
    kind = f"one of {scale.bounds(' and ')}" if scale.binary else f"any number from {scale.bounds(' to ')}"
    better = "lower" if scale.lower_is_better else "higher"
    matters = (
        f"The smallest difference that matters is {plan.difference:g}: two arms whose means differ by less are as good "
        "as each other."
        if plan.difference
        else "No smallest difference that matters is stated: the very best arm is looked for, however small its lead."
    )
    question = f"Which of {len(design.arms)} arms has the best mean outcome?"
    asked = design.comparison
    if asked is not None:
        question = f"{asked.question} The control is {asked.control}."
        what_for = "The smallest difference that matters" if asked.superiority else "The margin of non-inferiority"
        matters = f"{what_for} is {asked.amount}. {asked.between}"
    return [
        Heading("Question"),
        Paragraph(f"{question} [Population, sites and investigators.]"),
        Table(
            ("arm", "mean planned with"),
            tuple((label, f"{mean:g}") for label, mean in zip(design.arms, plan.means, strict=True)),
        ),
        Paragraph(f"The outcome of a participant is {what}: {kind}; {better} is better. {matters}"),
    ]


def _randomisation(design: Design) -> list[Block]:
    if isinstance(resolve(design.identity), Staged):
        text = (
            "Every participant is assigned by a coin of their own, drawn when they are enrolled from the "
            "operating system's randomness, with the weights of the stage that is open then. Weights are fixed "
            "when a stage opens, from earlier releases alone, and are public; at least two arms can always come "
            "up, so that nobody can foresee the next assignment. Assignments are recorded before they are shown "
            "and are never drawn again. Whether the coins fell as announced is checked throughout (sample ratio)."
        )
    else:
        text = (
            f"Participants are assigned as the algorithm {design.algorithm} says, from earlier releases and "
            f"assignments alone; where several arms recruit, the allocation is {design.allocation}. Assignments "
            "are recorded before they are shown and are never drawn again."
        )
    return [Heading("Randomisation"), Paragraph(text)]


def _stopping(plan: Plan, design: Design) -> list[Block]:
    delta = text_of(design.delta)
    algorithm = resolve(design.identity)
    promise = (
        f"the recommended arm is within {plan.difference:g} of the best, except with probability at most {delta}"
        if plan.difference
        else f"the recommended arm is the best, except with probability at most {delta}"
    )
    blocks: list[Block] = [
        Heading("Stopping rule and recommendation"),
        Paragraph(f"The promise: {promise}. {'' if algorithm.proven else 'CAUTION: this algorithm is not proven. '}"),
    ]
    asked = design.comparison
    if asked is not None:
        blocks[1] = Paragraph(f"The promises: {' '.join(asked.promises)}")
    if design.hard_end is not None:
        blocks += _hard_end(design)
    elif algorithm.name == "evidence":
        rule = (
            "For every ordered pair of arms a and b an account W(b|a) begins at 1 and is multiplied, at each "
            "release, by a bet against the hypothesis that b is on average better than a by the smallest "
            "difference that matters or more; a bet is a function of the release whose mean under that "
            "hypothesis is at most 1, whatever drifts and whatever depends on what. b is out under a once π(a) "
            "W(b|a) ≥ 1/δ, with shares π that sum to at most 1; an arm is recommended as soon as all others are "
            "out under it."
            if plan.difference
            else "For every arm b an account W(b) begins at 1 and is multiplied, at each release, by a bet "
            "against the hypothesis that b is the best arm; a bet is a function of the release whose mean under "
            "that hypothesis is at most 1, whatever drifts and whatever depends on what. b is out once W(b) ≥ "
            "1/δ; the last arm is recommended."
        )
        if asked is not None:
            low, high = ("0", asked.amount) if asked.superiority else (f"minus {asked.amount}", "0")
            words = {"control": asked.control, "low": low, "high": high}
            rule = CONTROL_RULE.format(**words, delta=delta, delta_none=text_of(asked.delta_none))
        blocks += [
            Paragraph(rule),
            Paragraph(
                "By Ville's inequality P(W ever reaches 1/δ) ≤ δ under the hypothesis, at all looks together: "
                "the trial may be looked at as often as there are releases. It is assumed that each coin falls "
                "with its stage's probabilities whatever the participant would do on each arm, and that nobody's "
                "outcome depends on the coin of anyone enrolled later. Constant means and independent "
                "participants are not assumed."
            ),
        ]
    else:
        blocks.append(Paragraph(f"{algorithm.summary} ({algorithm.source}). Looks are the releases of full batches."))
    if design.hard_end is not None:
        blocks += [Paragraph(said) for said in hard_end_said(design)]
    elif design.max_participants is not None:
        blocks.append(
            Paragraph(f"After {design.max_participants:,} participants the trial ends without a recommendation.")
        )
    return blocks


def _hard_end(design: Design) -> list[Block]:
    ending = design.hard_end
    assert ending is not None
    pivot = text_of(ending.pivot)
    sizes, lines = ", ".join(map(str, ending.stages)), ", ".join(text_of(line) for line in ending.lines)
    return [
        Paragraph(
            f"Stages have {sizes} participants, fixed here; every participant gets any of the arms with the same "
            "probability. The lead of an arm a over an arm b is the noisy difference of their sums of outcomes (in [0, "
            f"1], larger being better) in all stages released so far, less {pivot} times the difference of their "
            f"numbers of participants. b is out under a once the lead reaches the stage's line: {lines}. An arm is "
            "recommended as soon as all others are out under it; the last line is 0, so that one always is."
        ),
        Paragraph(
            "The probability of a wrong recommendation is computed exactly for the worst that may happen: somebody "
            "who picks every participant's rates, knowing all that happened before, such that one arm is better than "
            "another by the smallest difference that matters. It is assumed that each coin falls with its stage's "
            "probabilities whatever the participant would do on each arm, and that nobody's outcome depends on the "
            "coin of anyone enrolled later. Constant means and independent participants are not assumed."
        ),
    ]


def _privacy(plan: Plan, design: Design) -> list[Block]:
    budget = design.privacy.budget
    if budget is None:
        return [Heading("Privacy"), Paragraph("This design makes no promise of privacy.")]
    noise = f"discrete Laplace noise, P(Z = z) proportional to exp(-{text_of(budget)} |z|) in units of one outcome"
    return [
        Heading("Privacy"),
        Paragraph(
            f"Model: {design.privacy.model}, {design.privacy.measure} = {text_of(budget)} for everything that is ever "
            "published, in all. For any two possible outcomes of one participant, the probability of anything that may "
            f"be published differs by a factor of at most exp({text_of(budget)}) = {math.exp(float(budget)):.3g}. "
            + (f"Every released sum carries {noise}, drawn once and exactly." if design.privacy.model == "pure" else "")
        ),
        Paragraph(
            "What is not promised: that somebody took part, and on which arm, is not protected; neither is "
            "anything that is published outside of this trial, or a result that holds for a whole group. Staff "
            "who enter outcomes see those they enter."
        ),
    ]


def _outcomes(plan: Plan, design: Design) -> list[Block]:
    follow_up = (
        f"An outcome counts if it is reported within {in_largest_unit(design.follow_up)} of the assignment; a stage is "
        "released when its last participant's follow-up is over, whether or not outcomes came in."
        if design.follow_up is not None
        else "An outcome counts whenever it is reported before its stage is released; a stage is released once every "
        "outcome in it is known. [Consider a follow-up: without one, somebody who never answers holds a release up.]"
    )
    missing = (
        f"A missing outcome is counted as {design.withdrawal.partition(':')[2]} on every arm, as fixed here. Everybody "
        "who was assigned stays in the analysis, on the arm they were assigned to."
        if design.withdrawal.startswith("impute")
        else "A missing outcome is counted against the finding: as the worst on the arm whose lead a stage is "
        "about, and as the best on its rivals. So nothing at all is assumed about who goes missing. Everybody "
        "who was assigned stays in the analysis, on the arm they were assigned to."
        if design.withdrawal == "against"
        else f"Missing outcomes: {design.withdrawal}."
    )
    life = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in plan.life.items())
    planned = f" Planned with: {life}." if life else ""
    return [Heading("Follow-up and missing outcomes"), Paragraph(f"{follow_up} {missing}{planned}")]


def _size(plan: Plan) -> list[Block]:
    days = plan.expected_days is not None
    head = ("design", "participants, on average", "9 in 10 within", *(("days",) if days else ()))
    own = (plan.expected_samples, plan.p90_samples)
    rows = [(f"this one ({plan.algorithm})", *map(_people, own), *((f"{plan.expected_days:,.0f}",) if days else ()))]
    for one in plan.alternatives:
        there = (_people(one.expected_samples), _people(one.most_samples))
        rows.append((one.name, *there, *((f"{one.expected_days or 0:,.0f}",) if days else ())))
    if plan.lower_bound_refined is not None:
        rows.append(
            ("no method can do with fewer than", _people(plan.lower_bound_refined), "–", *(("–",) if days else ()))
        )
    blocks: list[Block] = [
        Heading("Participants and operating characteristics"),
        Paragraph(
            f"By simulation ({plan.runs:,} trials, seed {plan.seed}), if the means are those planned with; "
            "designs beside it make the same promise."
        ),
        Table(head, tuple(rows)),
    ]
    if plan.scenarios is not None:
        table = plan.scenarios
        blocks += [
            Table(tuple(columns(table)), tuple(tuple(cells(table, row)) for row in table.rows)),
            Paragraph(caption(table) + "."),
            Items(tuple(f"{row.name}: {row.about}." for row in table.rows)),
        ]
    return blocks


def _people(value: float) -> str:
    return f"{math.ceil(value - 1e-9):,}"


def _publication(design: Design) -> list[Block]:
    when = "when it is due" if design.follow_up is not None else "once its outcomes are known"
    return [
        Heading("What is published, and when"),
        Items(
            (
                "this design, before the first participant",
                "each stage's weights when it opens, and each assignment's number, arm and time; no participant's name",
                f"each stage's noisy sums, {when}, with estimates and intervals computed from them alone",
                "the recommendation with its reason, in words and numbers, as soon as the rule gives one",
                "at the end the report, the ledger of privacy, and a public record from which anybody can check every "
                "decision (bestarm trial verify-public)",
            )
        ),
        Paragraph("No outcome of a participant and no exact sum is ever published."),
    ]


def _references(plan: Plan) -> list[Block]:
    wanted = [
        "problem",
        *(["evidence"] if plan.algorithm == "evidence" else []),
        *(["privacy"] if plan.private else []),
    ]
    wanted += ["fixed"] if plan.alternatives else []
    wanted += ["looks"] if any("O'Brien" in one.name for one in plan.alternatives) else []
    return [Heading("References"), Items(tuple(line for name in wanted for line in REFERENCES[name]))]


def _software(design: Design) -> list[Block]:
    algorithm = resolve(design.identity)
    rows = (
        ("software", f"bestarm {__version__}"),
        ("algorithm", design.identity),
        ("fingerprint", algorithm.fingerprint),
    )
    frozen = tuple((name, value) for name, value in design.in_words() if name != "algorithm")
    return [
        Heading("Software and frozen design"),
        Paragraph("The fingerprint names the very rules that decide; it changes with every edit of any of them."),
        Table(("", ""), (*rows, *frozen)),
    ]
