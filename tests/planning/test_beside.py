"""The difference that matters comes first: beside the fixed design, in days, in the outcome's own units."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from bestarm.cli import main
from bestarm.errors import InputError
from bestarm.instance import Beta, Empirical, TruncatedNormal
from bestarm.planning import Plan, Question, plan
from bestarm.planning.beside import alternatives, fixed_designs
from bestarm.planning.costs import Simulator
from bestarm.planning.inverse import smallest_difference
from bestarm.planning.laws import read_values
from bestarm.planning.words import in_words
from bestarm.release import no_privacy, pure_law
from bestarm.theory.fixed import fixed_people

FIXED: dict[str, Any] = {"algorithm": "fixed", "epsilon": 1.0, "delta": 0.05, "runs": 40}
"""The fixed design as the planned one: quick to simulate, and takes a difference."""


@pytest.fixture(scope="module")
def dated() -> Plan:
    return plan(arms=3, difference=0.2, base=0.3, enrol=10, follow_up="28d", **FIXED)


def test_the_gap_is_by_default_the_difference(dated: Plan) -> None:
    assert dated.means == (0.5, 0.3, 0.3)
    assert dated.gap == dated.difference == 0.2
    assert dated.lower_bound_refined is None


def test_the_fixed_design_is_beside_in_people_and_days(dated: Plan) -> None:
    private = fixed_people(3, 0.3, 0.2, 0.05, pure_law(1.0))
    assert dated.fixed_samples == private == dated.expected_samples
    assert dated.fixed_samples_nonprivate == fixed_people(3, 0.3, 0.2, 0.05, no_privacy())
    assert dated.fixed_samples_nonprivate < private
    assert dated.expected_days == pytest.approx((private - 1) / 10 + 28)
    names = [one.name for one in dated.alternatives]
    assert names == ["fixed design, same privacy", "fixed design"]
    assert dated.alternatives[0].expected_days == pytest.approx(dated.expected_days)
    words = " ".join(in_words(dated))
    assert "within 0.2 of the best, except with probability δ" in words
    assert "days on average" in words


def test_without_a_difference_nothing_is_comparable() -> None:
    question = Question.ask(arms=2, gap=0.1, epsilon=1)
    assert fixed_designs(question) == (None, None)
    assert alternatives(question) == ()


def test_two_arms_are_beside_obrien_and_fleming() -> None:
    question = Question.ask(arms=2, difference=0.1, epsilon=1, delta=0.05, enrol=10, follow_up="28d")
    looked = alternatives(question)[-1]
    assert looked.name.startswith("O'Brien-Fleming")
    fixed, plain = fixed_designs(question)
    assert fixed is not None
    assert plain is not None
    at_once = alternatives(Question.ask(arms=2, difference=0.1, epsilon=1, delta=0.05))[-1]
    # Equal sums are an error of the fixed design, sized exactly; normal laws know of none.
    assert at_once.expected_samples < 0.9 * plain < looked.most_samples
    # While an outcome is awaited another 280 come in.
    assert at_once.expected_samples < looked.expected_samples <= at_once.expected_samples + 280
    assert looked.expected_days is not None
    assert looked.expected_days < (plain - 1) / 10 + 28


def test_the_base_rate_leaves_room_for_the_difference() -> None:
    question = Question.ask([0.97, 0.95], difference=0.1, epsilon=1)
    fixed, _ = fixed_designs(question)
    assert fixed == fixed_people(2, 0.9, 0.1, 0.01, pure_law(1.0))


def test_outcomes_are_planned_in_their_own_units() -> None:
    pain: dict[str, Any] = {"outcomes": "unit", "low": 0, "high": 100, "lower_is_better": True}
    question = Question.ask([40, 48, 50], epsilon=1, difference=5, law="normal", sd=20, **pain)
    assert question.means == pytest.approx((0.6, 0.52, 0.5))
    assert all(isinstance(law, TruncatedNormal) for law in question.instance.laws)
    assert question.difference == 0.05
    assert question.lower_bound() is None
    fixed, plain = fixed_designs(question)
    assert fixed is not None
    assert plain is not None
    # Normal laws: n = 2 (z sd / g)^2 per arm and a little more for the second rival.
    assert plain / 3 == pytest.approx(2 * (2.33 * 19 / 5) ** 2, rel=0.25)
    found = plan([40, 60], difference=15, law="beta", sd=15, **pain, **FIXED)
    assert found.means == (40, 60)
    assert found.unit_means == (0.6, 0.4)
    assert found.gap == 20
    assert [row.gap for row in found.sensitivity] == [20, 15, 10]
    assert "the best has mean 40 and the others 60 (gap 20)" in " ".join(in_words(found))
    assert found.error_rate <= 0.2


def test_laws_move_to_other_means() -> None:
    for law in (Beta(2, 5), TruncatedNormal(0.4, 0.2), Empirical([0.1, 0.2, 0.9])):
        for mean in (0.25, 0.5, 0.7):
            moved = law.with_mean(mean)
            assert moved.mean == pytest.approx(mean, abs=1e-9)
            assert 0 < moved.variance <= mean * (1 - mean)
    assert Beta.of(0.3, 0.1).variance == pytest.approx(0.01)
    assert Empirical([0.0, 1.0]).variance == 0.25
    assert TruncatedNormal(0.5, 0.01).variance == pytest.approx(1e-4)
    with pytest.raises(InputError, match="No Beta law"):
        Beta.of(0.3, 0.6)
    with pytest.raises(InputError, match="No normal law"):
        TruncatedNormal.of(0.999, 0.5)


def values_file(folder: Path, text: str) -> Path:
    path = folder / "values.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_measured_values_are_a_law_for_every_arm_or_a_pilot_for_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels, values = read_values(values_file(tmp_path, "arm,outcome\na,10\nb,30\na,20\nb,40\n"))
    assert (labels, values) == (["a", "b"], [[10, 20], [30, 40]])
    question = Question.ask(values=values, labels=labels, epsilon=1, outcomes="unit", low=0, high=50, difference=10)
    assert question.means == pytest.approx((0.3, 0.7))
    assert question.design.arms == ("a", "b")
    pilot = values_file(tmp_path, "outcome\n" + "\n".join(str(x) for x in range(0, 101, 10)))
    command = ["plan", "--arms", "2", "--difference", "20", "--values", str(pilot), "--low", "0", "--high", "100"]
    command += ["--epsilon", "1", "--delta", "0.05", "--algorithm", "fixed", "--runs", "20", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["means"] == [70, 50]
    assert found["design"]["outcomes"] == "unit"
    assert found["fixed_samples"] > found["fixed_samples_nonprivate"]


def test_simulations_take_outcomes_on_a_scale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["simulate", "--algorithm", "fixed", "--epsilon", "1", "--delta", "0.1", "--runs", "20", "--json"]
    scale = ["--outcomes", "unit", "--high", "100", "--lower-is-better", "--difference", "20"]
    assert main([*command, *scale, "--means", "30,60", "--law", "beta", "--sd", "10"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["error_rate"] == 0
    assert found["within_difference"] == 1
    assert found["lower_bound_refined"] is None
    path = values_file(tmp_path, "arm,outcome\na,10\nb,90\na,20\nb,80\n")
    assert main([*command, "--values", str(path), "--high", "100", "--difference", "20"]) == 0
    assert json.loads(capsys.readouterr().out)["error_rate"] == 0
    assert main([*command, "--difference", "0.2"]) == 2
    assert "--means" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "no column named outcome"),
        ("arm,outcome\na,x\n", "line 2"),
        ("outcome\n", "holds no outcomes"),
        ("arm,outcome\na,1\n", "one arm only"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        read_values(values_file(tmp_path, text))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"outcomes": "unit"}, "need their spread"),
        ({"outcomes": "unit", "law": "beta"}, "need their spread"),
        ({"outcomes": "unit", "law": "gamma", "sd": 0.1}, "beta, normal"),
        ({"outcomes": "unit", "law": "beta", "sd": [0.1, 0.1, 0.1]}, "one an arm"),
        ({"law": "beta", "sd": 0.1}, "no spread"),
        ({"outcomes": "many"}, "unit, binary"),
        ({"values": [[0.1], [0.2]]}, "leave --means out"),
        ({"follow_up": "3d"}, "--enrol"),
        ({"difference": 1}, "below the outcome's range"),
        ({"means": [120, 3], "outcomes": "unit", "high": 100, "law": "beta", "sd": 3}, "between 0 and 100"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Question.ask(**{"means": [0.5, 0.3], "epsilon": 1.0, **change})


def test_odd_designs_are_cautioned_before_anything_is_simulated() -> None:
    odd = Question.ask([0.5, 0.4], difference=0.6, epsilon=20, delta=0.3)
    assert len(odd.warnings()) == 4
    assert Question.ask([0.5, 0.4], difference=0.1, epsilon=1).warnings() == []


class Knows(Simulator):
    """A simulator that knows the answer: people are enough from a given difference on."""

    def __init__(self, needed: float) -> None:
        super().__init__(1, None, 1)
        self.needed = needed

    def share_within(self, question: Question, participants: int, runs: int) -> float:
        assert question.gap == pytest.approx(question.difference)
        return 1.0 if question.difference >= self.needed else 0.5


@pytest.mark.parametrize("needed", [0.02, 0.11])
def test_the_smallest_difference_is_found_to_five_percent(needed: float) -> None:
    question = Question.ask([0.5, 0.3], difference=0.1, epsilon=1, runs=10)
    found = smallest_difference(Knows(needed), question, 2000)
    assert found is not None
    assert needed <= found <= needed * 1.06
    assert smallest_difference(Knows(math.inf), question, 2000) is None
    assert smallest_difference(Knows(needed), Question.ask([0.5, 0.3], epsilon=1, algorithm="dp-se"), 2000) is None


def test_participants_are_also_told_their_chance() -> None:
    found = plan(arms=2, difference=0.3, base=0.3, participants=100, **FIXED | {"runs": 3})
    assert found.chance_of_verdict is not None
    assert found.smallest_difference is not None
    assert found.chance_of_verdict == float(found.fixed_samples is not None and found.fixed_samples <= 100)
    assert "% of trials have their verdict within them" in " ".join(in_words(found))
