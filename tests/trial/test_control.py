"""Live trials against control: an arm or none, said in plain words wherever a verdict is, and checked by anybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bestarm.cli import main
from bestarm.design import Design
from bestarm.errors import InputError
from bestarm.policy.catalogue import CATALOGUE
from bestarm.sentences import sentences
from bestarm.service.hooks import Hooks
from bestarm.storage import open_store
from bestarm.storage.contract import Store
from bestarm.trial.trial import Trial
from bestarm.trial.verify_public import verify_public
from tests.trial.people import ChosenNoise, enrol

PLAN: dict[str, Any] = {"arms": ["placebo", "10 mg", "20 mg"], "control": "placebo", "delta": "0.1", "epsilon": 2}
MEANS = {"placebo": 0.1, "10 mg": 0.1, "20 mg": 0.95}
NOTHING = {"placebo": 0.3, "10 mg": 0.3, "20 mg": 0.3}


def made(place: str | Path | Store, difference: str, means: dict[str, float], **changes: Any) -> Trial:
    """A trial that has ended."""
    options = PLAN | {"difference": difference, "outcomes": "binary", "noise": ChosenNoise()} | changes
    trial = Trial.create(place, name="t", **options)
    assert enrol(trial, means, 1500) < 1500
    return trial


@pytest.mark.parametrize(
    ("difference", "means", "arm", "said"),
    [
        ("0.4", MEANS, "20 mg", "20 mg is better than placebo."),
        ("0.4", NOTHING, "none", "No arm is better than placebo by 40 percentage points."),
        ("-0.4", {**MEANS, "placebo": 0.9}, "20 mg", "20 mg is not worse than placebo by 40 percentage points."),
        ("-0.4", {**NOTHING, "placebo": 0.95}, "none", "No arm is as good as placebo."),
    ],
)
def test_the_verdict_is_an_arm_or_none(
    tmp_path: Path, difference: str, means: dict[str, float], arm: str, said: str
) -> None:
    trial = made(tmp_path / "t.db", difference, means)
    verdict = trial.verdict
    assert verdict is not None
    assert (verdict.arm, verdict.by) == (arm, "evidence")
    assert verdict.reason.startswith(said)
    assert trial.verify().ok
    status = trial.status()
    assert status["explanation"].startswith(said)
    assert [(e["rival"], e["claim"] is not None) for e in status["evidence"]] == [
        ("10 mg", True),
        ("10 mg", True),
        ("20 mg", True),
        ("20 mg", True),
    ]
    reached = {e["claim"] for e in status["evidence"] if e["value"] >= e["needed"]}
    assert said[:-1] in reached or arm == "none"
    assert [(d["arm"], d["rival"]) for d in status["differences"]] == [("10 mg", "placebo"), ("20 mg", "placebo")]
    assert any("What is promised: With probability at most 0.1" in line for line in trial.ledger()["assumptions"])
    trial.report(tmp_path / "report")
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert f"<strong>{said[:-1]}</strong>" in page
    assert "How far ahead of placebo each arm is" in page
    trial.export_public(tmp_path / "public")
    assert verify_public(tmp_path / "public").ok


def test_another_verdict_is_found_out(tmp_path: Path) -> None:
    """Whoever writes an arm where the evidence says none, or none where it says an arm, is caught by either check."""
    trial = made(tmp_path / "t.db", "0.4", NOTHING)
    trial.export_public(tmp_path / "public")
    chain = next(path for path in (tmp_path / "public").iterdir() if '"stopped"' in path.read_text(encoding="utf-8"))
    text = chain.read_text(encoding="utf-8")
    assert text.count('"none"') == 1
    chain.write_text(text.replace('"none"', '"20 mg"'), encoding="utf-8")
    assert not verify_public(tmp_path / "public").ok


def test_webhooks_say_none(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "t.db"), create=True)
    hooks = Hooks(store, enabled=True)
    hooks.add("https://example.org/x")
    made(store, "0.4", NOTHING)
    hooks.collect()
    told = [json.loads(delivery.body) for delivery in hooks.due() if delivery.event == "stopped"]
    assert told[0]["body"]["arm"] == "none"
    assert told[0]["body"]["reason"].startswith("No arm is better than placebo by 40 percentage points.")
    store.close()


def test_the_design_is_frozen_and_read_back() -> None:
    design = Design.make(**PLAN, difference="0.05", delta_none="0.2", outcomes="binary")
    assert Design.from_json(design.to_json()) == design
    assert (design.to_json()["control"], design.to_json()["delta_none"]) == ("placebo", "0.2")
    text = " ".join(sentences(design))
    assert "10 mg and 20 mg are compared with placebo, the control." in text
    assert "Is any arm better than placebo?" in text
    assert "With probability at most 0.1 some arm that is no better than placebo for anybody is called better." in text
    assert (
        "With probability at most 0.2 the answer is none although one arm is better than placebo by 5 percentage points"
        in text
    )
    scores = Design.make(**PLAN, difference="-5", low=0, high=100)
    assert scores.comparison is not None
    assert scores.comparison.better("10 mg") == "10 mg is not worse than placebo by 5"
    assert "control" not in Design.make(arms=2, epsilon=1, delta="0.1").to_json()


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"control": "water"}, "The control arm is 'water', but the arms are: placebo, 10 mg, 20 mg."),
        ({"difference": "0"}, "needs one other than 0"),
        ({"difference": None}, "needs one other than 0"),
        ({"difference": "1"}, "smaller than the outcome's range"),
        ({"difference": "-1"}, "smaller than the outcome's range"),
        ({"delta_none": "1"}, "delta_none is 1"),
        ({"control": None, "delta_none": "0.1"}, "leave --delta-none out"),
        ({"control": None, "difference": "-0.1"}, "at least 0"),
        ({"arms": ["placebo", "None"]}, 'label "none"'),
    ],
)
def test_what_cannot_be_compared_is_refused(changes: dict[str, Any], wrong: str) -> None:
    with pytest.raises(InputError, match=wrong.replace("(", r"\(")):
        Design.make(**(PLAN | {"difference": "0.1"} | changes))


def test_algorithms_that_cannot_compare_say_so_in_a_sentence() -> None:
    refused = 0
    for algorithm in CATALOGUE.values():
        if not algorithm.supports_control:
            with pytest.raises(InputError, match="cannot compare arms with control"):
                Design.make(**PLAN, difference="0.1", algorithm=algorithm, privacy=algorithm.privacy[0])
            refused += 1
    assert refused == len(CATALOGUE) - 1


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "t.db")
    create = ["trial", "create", store, "--name", "t", "--arms", "placebo,10 mg", "--control", "placebo"]
    create += ["--difference", "-0.4", "--epsilon", "2", "--delta", "0.1", "--outcomes", "binary"]
    assert main([*create, "--dry-run"]) == 0
    assert "Is any arm not worse than placebo by 40 percentage points?" in " ".join(capsys.readouterr().out.split())
    assert main([*create, "--delta-none", "0.2", "--json"]) == 0
    design = json.loads(capsys.readouterr().out)["design"]
    assert (design["control"], design["delta_none"], design["difference"]) == ("placebo", "0.2", "-0.4")
    with Trial.open(store, name="t") as trial:
        enrol(trial, {"placebo": 0.95, "10 mg": 0.05}, 1500)
    assert main(["trial", "status", store, "--name", "t"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Evidence for each claim" in shown
    assert "Verdict: none. No arm is as good as placebo." in shown
    assert main(["trial", "verdict", store, "--name", "t", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"]["arm"] == "none"
    assert main(["trial", "verdict", store, "--name", "t"]) == 0
    assert capsys.readouterr().out.startswith("No arm is as good as placebo.")
