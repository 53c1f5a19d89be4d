"""The command works in any folder, on any console: algorithms from the current folder, paths with spaces, cp1252."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bestarm
from bestarm.instance import Instance
from bestarm.simulation import make_scenario

MINE = """
import bestarm as ba


def in_turn(state, constants, weights):
    least = 0
    for arm in range(constants.arms):
        if state.record.assigned[arm] < state.record.assigned[least]:
            least = arm
    return least


mine = ba.wrap("mine", in_turn, summary="Everyone in turn", source="a notebook")
"""


def run(folder: Path, *arguments: str, encoding: str = "utf-8") -> subprocess.CompletedProcess[bytes]:
    """`bestarm` as its console script runs it, in this folder: the script's own folder comes first, not this one."""
    source = str(Path(bestarm.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source, "PYTHONIOENCODING": encoding, "PYTHONSAFEPATH": "1"}
    environment.pop("PYTHONUTF8", None)
    call = [sys.executable, "-c", "import sys; from bestarm.cli import main; sys.exit(main())", *arguments]
    return subprocess.run(call, cwd=folder, env=environment, capture_output=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose name has a space and a letter that cp1252 lacks."""
    place = tmp_path / "my trials ε"
    place.mkdir()
    (place / "my_rules.py").write_text(MINE, encoding="utf-8")
    return place


def test_an_algorithm_of_the_current_folder_is_found_by_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ("--algorithm", "my_rules:mine", "--epsilon", "1")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(folder)
        scenario = make_scenario("my_rules:mine", Instance.bernoulli([0.9, 0.1]), epsilon=1.0)
        assert scenario.algorithm.name == "mine"
    made = run(folder, "trial", "create", "a trial.db", "--name", "t", "--arms", "a,b", "--delta", "0.1", *wanted)
    assert made.returncode == 0, made.stderr.decode()
    assert (folder / "a trial.db").exists()
    unknown = ("--means", "0.9,0.9", "--epsilon", "1")  # refused after the algorithm was found, before anything is run
    planned = run(folder, "plan", "--algorithm", "my_rules:mine", *unknown)
    assert planned.returncode == 2
    assert b"my_rules" not in planned.stderr
    refused = run(folder, "simulate", "--algorithm", "my_rules:yours", "--means", "0.9,0.1", "--epsilon", "1")
    assert (refused.returncode, b"no algorithm 'my_rules:yours'" in refused.stderr) == (2, True)


def test_a_file_in_the_current_folder_hides_no_library(folder: Path) -> None:
    (folder / "json.py").write_text("raise SystemExit(3)", encoding="utf-8")
    assert run(folder, "algorithms", "--json").returncode == 0


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_any_console_encoding_will_do(folder: Path, encoding: str) -> None:
    for words in (["--help"], ["bounds", "--means", "0.9,0.5", "--epsilon", "1", "--delta", "0.1"], ["algorithms"]):
        done = run(folder, *words, encoding=encoding)
        assert done.returncode == 0, done.stderr.decode(encoding, "replace")
        assert done.stdout.decode(encoding)
    refused = run(folder, "simulate", "--means", "0.9,ε", "--epsilon", "1", encoding=encoding)
    assert refused.returncode == 2
    assert refused.stderr.decode(encoding).startswith("bestarm: ")


def test_json_is_ascii_where_the_console_is(folder: Path) -> None:
    made = run(folder, "trial", "create", "t.db", "--name", "ε", "--arms", "a,ä", "--epsilon", "1", "--delta", "0.1")
    assert made.returncode == 0
    listed = run(folder, "trial", "list", "t.db", "--json", encoding="cp1252")
    assert (
        json.loads(listed.stdout.decode("cp1252"))["trials"][0] in ("ε", {"name": "ε"}) or b"\\u03b5" in listed.stdout
    )
