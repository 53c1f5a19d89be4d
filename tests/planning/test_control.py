"""Plans of comparisons with control: the question, what stands beside it, its scenarios, and its text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from bestarm.cli import main
from bestarm.errors import InputError
from bestarm.planning import Question
from bestarm.planning.operating import SCENARIOS
from bestarm.release.laws import no_privacy, pure_law
from bestarm.theory.fixed_control import fixed_control_size, fixed_control_size_of_means
from bestarm.theory.group_sequential import crossing, group_sequential, obrien_fleming_constant


def test_control_has_the_base_rate_and_one_arm_leads() -> None:
    question = Question.ask(arms=3, control="placebo", difference=0.1, base=0.3, epsilon=1, delta=0.05)
    assert question.design.arms == ("placebo", "1", "2")
    assert (question.means, question.control, question.best) == ((0.3, 0.4, 0.3), 0, 1)
    assert (question.gap, question.margin) == (0.1, 0.1)
    assert question.warnings() == []
    margin = Question.ask(arms=2, control=1, difference=-0.1, base=0.6, epsilon=1)
    assert (margin.means, margin.control, margin.gap, margin.margin) == ((0.6, 0.6), 1, 0.0, 0.1)
    named = Question.ask(arms=3, labels=["a", "b", "c"], control="b", difference=0.1, base=0.3, epsilon=1)
    assert (named.means, named.best) == ((0.4, 0.3, 0.3), 0)


def test_odd_hopes_are_cautioned_and_impossible_ones_refused() -> None:
    assert "either way" in Question.ask([0.3, 0.35], control=0, difference=0.1, epsilon=1).warnings()[0]
    assert (
        "the right answer is then none" in Question.ask([0.3, 0.3], control=0, difference=0.1, epsilon=1).warnings()[0]
    )
    for control in ("7", -1):
        with pytest.raises(InputError, match="The control arm is"):
            Question.ask([0.3, 0.4], control=control, difference=0.1, epsilon=1)
    with pytest.raises(InputError, match="needs one other than 0"):
        Question.ask([0.3, 0.4], control=0, epsilon=1)
    with pytest.raises(InputError, match="1 arm given, but"):
        Question.ask(arms=1, difference=0.1, epsilon=1)


def test_scenarios_are_on_the_lines() -> None:
    question = Question.ask([0.3, 0.45, 0.4], control=0, difference=0.1, epsilon=1)
    made = {case.name: case.of(question, 1000.0) for case in SCENARIOS}
    assert made["nothing differs"].means == (0.3, 0.3, 0.3)
    assert made["least favourable"].means == (0.3, 0.4, 0.3)
    assert made["twice as good"].means == (0.3, 0.6, 0.4)
    assert made["one bad arm"].means == (0.3, 0.45, 0.2)
    margin = Question.ask([0.5, 0.5, 0.5], control=0, difference=-0.1, epsilon=1)
    made = {case.name: case.of(margin, 1000.0) for case in SCENARIOS}
    assert made["least favourable"].means == (0.5, 0.4, 0.4)
    assert made["a trend"].life.size == 0.1


@pytest.mark.parametrize("difference", [0.3, -0.3])
@pytest.mark.parametrize("risks", [(0.1, 0.2), (0.05, 0.05)])
def test_the_fixed_design_by_counting(difference: float, risks: tuple[float, float]) -> None:
    """Without noise, against sums over all counts: it keeps both promises, and one person fewer on an arm does not."""
    arms, base = 3, 0.4
    low, high = base + min(difference, 0.0), base + max(difference, 0.0)

    def keeps(people: int) -> bool:
        counts = np.arange(people + 1)
        control = binom.pmf(counts, people, base)
        for t in range(-people, people + 2):
            wrong = float(control @ binom.sf(counts + t - 1, people, low))
            missed = float(control @ binom.cdf(counts + t - 1, people, high))
            if (arms - 1) * wrong <= risks[0] and missed <= risks[1]:
                return True
        return False

    size = fixed_control_size(arms, base, difference, risks, no_privacy())
    assert keeps(size)
    assert not keeps(size - 1)
    assert size < fixed_control_size(arms, base, difference, risks, pure_law(0.2))
    variance = base * (1 - base)
    assert fixed_control_size_of_means(arms, (variance, variance), difference, risks) == pytest.approx(size, rel=0.3)


def test_the_group_sequential_design_has_level_and_power() -> None:
    found = group_sequential((0.2, 0.2), 0.1, 0.05, 0.2)
    boundary = obrien_fleming_constant(5, 0.1) * 5**0.5
    assert sum(crossing(5, boundary, 0.0).above) == pytest.approx(0.05, abs=1e-6)
    theta = 0.1 * (found.people / 10 / 0.4) ** 0.5
    assert 0.8 <= sum(crossing(5, boundary, theta).above) < 0.805
    assert found.expected < found.people


def test_a_plan_in_words_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the command line, with its table of scenarios and a protocol."""
    asked = ["plan", "--arms", "3", "--control", "placebo", "--difference", "0.4", "--base", "0.3", "--epsilon", "1"]
    asked += ["--delta", "0.1", "--delta-none", "0.2", "--runs", "4", "--protocol", str(tmp_path / "p.md")]
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["control"], found["delta_none"], found["regime"]) == ("placebo", 0.2, None)
    assert found["fixed_samples"] > found["fixed_samples_nonprivate"] > 0
    for row in found["scenarios"]:
        assert row["within_difference"] + row["wrong"] + row["undecided"] == pytest.approx(1)
        assert 0 <= row["none"] <= 1
    text = (tmp_path / "p.md").read_text(encoding="utf-8")
    for said in (
        "Is any arm better than placebo? The control is placebo.",
        "some arm that is no better than placebo for anybody is called better",
        "W(a|placebo)",
        "| an arm better | none |",
    ):
        assert said in text
    assert main(asked) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Question: Is any arm better than placebo?" in shown
    assert "that no arm is better than placebo by 40 percentage points" in shown
    assert "The fixed design with the same two promises needs" in shown
    assert main(["simulate", "--means", "0.3,0.7", "--control", "0", "--difference", "-0.4", "--epsilon", "1"]) == 0
    assert "no arm is as good as 0" in " ".join(capsys.readouterr().out.split())
