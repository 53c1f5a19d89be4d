"""A live trial that always ends: what it freezes, what it says, and that everybody can check it."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bestarm import design as design_module
from bestarm.cli import main
from bestarm.design import Design
from bestarm.ending import Ending
from bestarm.errors import InputError
from bestarm.release.models import Privacy
from bestarm.sentences import sentences
from bestarm.trial.trial import Trial
from bestarm.trial.verify_public import verify_public
from tests.trial.people import ChosenNoise, enrol

ASKED: dict[str, Any] = {
    "arms": ["a", "b"],
    "epsilon": "2",
    "delta": "0.1",
    "difference": "0.2",
    "outcomes": "binary",
    "hard_end": True,
}


def made(**changes: Any) -> Design:
    return Design.make(**(ASKED | changes))


def naive_verdict(trial: Trial) -> tuple[str | None, int]:
    """Who is recommended, and after how many stages, from the public releases and the design alone."""
    ending = trial.design.hard_end
    assert ending is not None
    lead = Fraction(0)
    for look, release in enumerate(trial.view().releases):
        sizes = dict(zip(release.arms, release.sizes, strict=True))
        lead += Fraction(release.value) - ending.pivot * (sizes[0] - sizes[1])
        line = ending.lines[look]
        if abs(lead) >= line:
            return trial.design.arms[0 if lead >= 0 else 1], look + 1
    return None, len(trial.view().releases)


@pytest.mark.parametrize(("seed", "means"), [(1, (0.5, 0.5)), (2, (0.9, 0.2)), (3, (0.5, 0.7))])
def test_from_the_first_person_to_the_verdict(tmp_path: Path, seed: int, means: tuple[float, float]) -> None:
    noise = ChosenNoise([1, -2, 0, 3, -1])
    with Trial.create(tmp_path / "t.db", name="t", noise=noise, **ASKED | {"difference": "0.15"}) as trial:
        ending = trial.design.hard_end
        assert ending is not None
        assert trial.design.max_participants == ending.people
        enrolled = enrol(trial, dict(zip("ab", means, strict=True)), 10**4, seed)
        assert trial.verdict is not None
        assert (trial.verdict.arm, len(trial.view().releases)) == naive_verdict(trial)
        assert enrolled <= ending.people
        assert enrolled == sum(ending.stages[: len(trial.view().releases)])
        assert trial.verify().ok
        status = trial.status()
        assert f"at most {ending.people:,} participants" in status["hard_end"]
        assert status["evidence"][0]["value"] >= status["evidence"][0]["needed"]
        assert any("Nothing is assumed about the arms' rates" in said for said in trial.ledger()["assumptions"])
        trial.export_public(tmp_path / "public")
        trial.report(tmp_path / "report")
    assert verify_public(tmp_path / "public").ok
    assert "always ends with a recommendation" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")


def test_an_unsound_design_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever lowers a line is caught from the store, and from the public export alone."""
    sound = made(difference="0.15").hard_end
    assert sound is not None
    assert len(sound.lines) > 1
    low = replace(sound, lines=(Fraction(1), *(Fraction(0) for _ in sound.lines[1:])))
    monkeypatch.setattr(design_module, "plan_ending", lambda *given: low)
    with Trial.create(tmp_path / "t.db", name="t", noise=ChosenNoise(), **ASKED | {"difference": "0.15"}) as trial:
        assert not trial.design.sound
        enrol(trial, {"a": 0.5, "b": 0.5}, 40)
        found = trial.verify()
        trial.export_public(tmp_path / "public")
    assert not found.ok
    assert found.first_bad == 1
    public = verify_public(tmp_path / "public")
    assert (public.ok, public.first_bad) == (False, 1)


@pytest.mark.parametrize("voids", [0, 1])
def test_voids_may_leave_nobody(tmp_path: Path, voids: int) -> None:
    """Second entries count against both arms, so a tie may then end without a recommendation; it is said."""
    with Trial.create(tmp_path / "t.db", name="t", noise=ChosenNoise(), **ASKED | {"difference": "0.4"}) as trial:
        ending = trial.design.hard_end
        assert ending is not None
        held = [trial.ask(f"p-{n}") for n in range(ending.people)]
        twice = [next(one for one in held[:0:-1] if one.arm == arm) for arm in "ab"] if voids else []
        lead = 0.0
        for one in twice:
            trial.void(str(one.id), duplicate_of="p-0", reason="entered twice")
            lead += -0.5 if one.arm == "a" else 0.5
        for one in (one for one in held if one not in twice):
            sign = 1 if one.arm == "a" else -1
            outcome = int((lead > 0) == (sign < 0))
            lead += sign * (outcome - 0.5)
            trial.tell(str(one.id), outcome)
        assert abs(lead) <= 0.5
        assert trial.verdict is not None
        assert (trial.verdict.arm is None) == bool(voids)
        assert ("voided" in trial.verdict.reason) == bool(voids)
        assert trial.verify().ok


def test_what_is_frozen() -> None:
    design = made()
    assert Design.from_json(json.loads(json.dumps(design.to_json()))) == design
    assert design.sound
    assert "hard_end" not in made(hard_end=False).to_json()
    ending = design.hard_end
    assert ending is not None
    assert design.max_participants == ending.people
    assert ("hard end", f"by {ending.people:,} participants") in design.in_words()
    said = " ".join(sentences(design))
    assert f"always ends with a recommendation, after at most {ending.people:,} participants" in said
    assert "no arm is recommended" not in said
    with pytest.raises(InputError, match="as its stages hold"):
        replace(design, max_participants=ending.people + 1)


def test_a_band_is_named_as_an_assumption() -> None:
    narrow = made(difference="0.05", rates=["0.03", "0.12"])
    wide = made(difference="0.05")
    assert narrow.hard_end is not None
    assert wide.hard_end is not None
    assert narrow.hard_end.people < 0.5 * wide.hard_end.people
    assert "lies between 0.03 and 0.12" in " ".join(sentences(narrow))
    assert ("rates assumed", "0.03 to 0.12") in narrow.in_words()
    assert narrow.sound
    assert Design.from_json(narrow.to_json()) == narrow
    # Deaths from 3 to 12 in a hundred are survivals from 88 to 97: the same problem.
    assert made(difference="0.05", rates=["0.88", "0.97"], lower_is_better=True).hard_end == replace(
        narrow.hard_end, rates=(Fraction("0.88"), Fraction("0.97"))
    )
    needless = made(rates=["0.1", "0.9"]).hard_end
    assert needless is not None
    assert needless.rates is None


def test_other_designs_that_follow_from_it() -> None:
    """Another budget or difference has its own stages and lines; without a difference there is no hard end."""
    design = made()
    private = design.with_privacy(Privacy.of("pure", "0.1"))
    assert private.hard_end is not None
    assert private.hard_end.people > design.hard_end.people  # type: ignore[union-attr]
    assert private.sound
    larger = design.with_difference(Fraction("0.4"))
    assert larger.hard_end is not None
    assert larger.sound
    assert larger.max_participants == larger.hard_end.people
    silent = design.with_difference(Fraction(0))
    assert (silent.hard_end, silent.max_participants) == (None, None)


@pytest.mark.parametrize("privacy", ["pure", "zcdp", "local", "none", "shuffle"])
def test_every_privacy_model(privacy: str) -> None:
    changes: dict[str, dict[str, Any]] = {
        "zcdp": {"rho": "0.5", "epsilon": None},
        "none": {"epsilon": None},
        "shuffle": {"privacy_delta": "0.000001"},
    }
    for arms in (2, 3):
        design = made(privacy=privacy, arms=arms, outcomes="unit", **changes.get(privacy, {}))
        assert design.encoding == "coin"
        assert design.sound
        assert design.hard_end is not None
        assert min(design.hard_end.stages) >= design.law.group
    assert any("by a coin that keeps its mean" in said for said in sentences(design))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"difference": None}, "needs the smallest difference"),
        ({"withdrawal": "against"}, "cannot count against the finding"),
        ({"algorithm": "dp-se", "difference": None}, "has no hard end"),
        ({"max_participants": 10}, "takes at least"),
        ({"distributed": True, "follow_up": "7d"}, "distributed noise"),
        ({"hard_end": False, "rates": [0.1, 0.5]}, "add --hard-end"),
        ({"rates": [0.5, 0.1]}, "upwards"),
        ({"rates": [0.5]}, "two numbers"),
        ({"rates": "0.1,0.5"}, "two numbers"),
        ({"rates": [0.5, 1.5]}, "between"),
        ({"rates": [0.5, 0.6]}, "at least as wide"),
        ({"rates": ["x", 0.6]}, "number"),
    ],
)
def test_bad_input(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=rf"^[A-Z].*{said}.*\.$"):
        made(**changes)


@pytest.mark.parametrize(
    "ending",
    [
        {"stages": [3, 3], "lines": ["1"], "pivot": "0.5", "rates": None},
        {"stages": [3], "lines": ["1"], "pivot": "0.5", "rates": None},
        {"stages": [0], "lines": ["0"], "pivot": "0.5", "rates": None},
        {"stages": [3, 3], "lines": ["0.3", "0"], "pivot": "0.5", "rates": None},
        {"stages": [3, 3], "lines": ["1", "0"], "pivot": "0.3", "rates": None},
        {"stages": [], "lines": [], "pivot": "0.5", "rates": None},
    ],
)
def test_garbled_endings_are_refused(ending: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="hard end"):
        Ending.from_json(ending)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create = ["trial", "create", str(tmp_path / "t.db"), "--name", "t", "--arms", "a,b", "--epsilon", "2"]
    create += ["--delta", "0.1", "--outcomes", "binary", "--hard-end"]
    assert main([*create, "--difference", "0.2", "--dry-run", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    least = answer["design"]["max_participants"]
    assert sum(answer["design"]["hard_end"]["stages"]) == least
    assert any("always ends" in said for said in answer["sentences"])
    assert main([*create, "--difference", "0.2", "--max-participants", "10"]) == 2
    assert "a hard end takes at least" in capsys.readouterr().err
    assert main([*create]) == 2
    assert main([*create, "--difference", "0.05", "--rates", "0.03,0.12"]) == 0
    assert "rates assumed" in capsys.readouterr().out
    assert main(["trial", "status", str(tmp_path / "t.db"), "--name", "t"]) == 0
    assert "lies between 0.03 and 0.12" in " ".join(capsys.readouterr().out.split())
