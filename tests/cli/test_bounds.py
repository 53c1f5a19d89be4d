"""The command line's manners, and its commands `bounds` and `threshold`."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import typer

import bestarm.cli
from bestarm.cli import app, main
from bestarm.cli.options import parse_means
from bestarm.cli.output import count, jsonable, number, percent, progress_bar
from bestarm.errors import InputError, OperationError

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "reference.json").read_text(encoding="utf-8"))
BOUNDS = ["bounds", "--means", "0.95,0.9,0.9,0.9,0.5", "--epsilon", "0.1", "--delta", "0.01"]
THRESHOLD = [
    "threshold",
    "--k1",
    "11",
    "--k2",
    "9",
    "--n",
    "512",
    "--m",
    "128",
    "--arms",
    "5",
    "--epsilon",
    "0.1",
    "--delta",
    "0.01",
]


def replaced(arguments: list[str], option: str, value: str) -> list[str]:
    changed = list(arguments)
    changed[changed.index(option) + 1] = value
    return changed


def test_bounds_as_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BOUNDS, "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    found = json.loads(shown.out)
    expected = next(row for row in REFERENCE["instances"][0]["by_epsilon"] if row["epsilon"] == 0.1)
    assert found["lower_bound_refined"] == pytest.approx(expected["lower_bound_refined"], rel=1e-9)
    assert found["regime"] == "low-privacy"
    assert {name: len(shares) for name, shares in found["allocation"].items()} == {
        "kl": 5,
        "tv": 5,
        "private": 5,
        "refined": 5,
    }


def test_beta_moves_the_rate_alone(capsys: pytest.CaptureFixture[str]) -> None:
    main([*BOUNDS, "--json"])
    half = json.loads(capsys.readouterr().out)
    main([*BOUNDS, "--json", "--beta", "0.3"])
    third = json.loads(capsys.readouterr().out)
    assert {name for name in half if half[name] != third[name]} == {"upper_bound_rate", "t_kl_beta_gaussian"}


def test_bounds_in_plain_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BOUNDS) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "No method can do with fewer than 4,194 participants on average." in text
    assert "Theorem 2" in text
    assert "38.8 %" in text
    assert main(replaced(BOUNDS, "--epsilon", "0.001")) == 0
    assert "privacy sets the price here" in " ".join(capsys.readouterr().out.split())


def test_threshold_matches_the_reference(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*THRESHOLD, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = next(row["value"] for row in REFERENCE["c_private"] if row["k1"] == 11)
    assert found["c_private"] == pytest.approx(expected, rel=1e-9)
    assert 0 < found["c_nonprivate"] < found["c_private"]
    assert main(THRESHOLD) == 0
    assert "197.2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (replaced(BOUNDS, "--means", "0.9"), "two arms"),
        (replaced(BOUNDS, "--means", "0.9,nan"), "between 0 and 1"),
        (replaced(BOUNDS, "--means", "0.9,1.5"), "between 0 and 1"),
        (replaced(BOUNDS, "--means", "-0.9,0.5"), "between 0 and 1"),
        (replaced(BOUNDS, "--means", "0.9,,0.5"), "not a number"),
        (replaced(BOUNDS, "--means", "0.9,0.9,0.1"), "tie for the best"),
        (replaced(BOUNDS, "--epsilon", "0"), "positive"),
        (replaced(BOUNDS, "--epsilon", "inf"), "finite"),
        (replaced(BOUNDS, "--epsilon", "much"), "--epsilon"),
        (replaced(BOUNDS, "--delta", "1"), "between 0 and 1"),
        ([*BOUNDS, "--beta", "0"], "between 0 and 1"),
        (BOUNDS[:-2], "--delta"),
        ([*BOUNDS, "--colour"], "--colour"),
        (["guess"], "guess"),
        (replaced(THRESHOLD, "--k1", "0"), "phases count from 1"),
        (replaced(THRESHOLD, "--n", "0"), "at least 1 outcome"),
        (replaced(THRESHOLD, "--m", "nan"), "at least 1 outcome"),
        (replaced(THRESHOLD, "--arms", "1"), "two arms"),
        (replaced(THRESHOLD, "--epsilon", "-1"), "positive"),
        (replaced(THRESHOLD, "--delta", "0"), "between 0 and 1"),
        ([*THRESHOLD, "--s", "1"], "above 1"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--json"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert words in shown.err


def raising(error: BaseException) -> Any:
    """The app's command with one more, which fails as told."""
    trial = typer.Typer(pretty_exceptions_enable=False)
    trial.callback()(lambda: None)

    @trial.command("fail")
    def fail() -> None:
        raise error

    return trial


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (InputError("This is wrong."), 2, "This is wrong."),
        (OperationError("This cannot\nbe done."), 1, "This cannot be done."),
        (KeyboardInterrupt(), 130, "Interrupted"),
        (PermissionError(13, "Permission denied", "plan.png"), 1, "Permission denied: plan.png."),
        (OSError("no space"), 1, "no space."),
    ],
)
def test_every_ending_has_its_status_and_one_line(
    error: BaseException, status: int, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bestarm.cli, "app", raising(error))
    assert main(["fail"]) == status
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert words in shown.err


def test_an_interrupt_that_somebody_swallows_is_obeyed_at_the_next_step() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), progress_bar("Waiting") as progress:  # noqa: PT012
        progress(0, 2)
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        progress(1, 2)
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_works_away_from_the_main_thread() -> None:
    seen = []

    def work() -> None:
        with progress_bar("Working") as progress:
            progress(1, 2)
            seen.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [1]


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"bestarm {bestarm.__version__}\n"
    assert main([]) == 0
    assert "bounds" in capsys.readouterr().out


def test_every_command_but_serve_takes_json() -> None:
    def commands(group: Any) -> list[Any]:
        return [
            leaf
            for command in group.commands.values()
            for leaf in (commands(command) if hasattr(command, "commands") else [command])
        ]

    for command in commands(typer.main.get_command(app)):
        if command.name != "serve":
            assert any("--json" in parameter.opts for parameter in command.params), command.name


def test_heavy_libraries_wait_until_they_are_needed() -> None:
    heavy = ["numpy", "scipy", "numba", "pandas", "matplotlib", "pyarrow", "joblib"]
    check = f"import sys, bestarm, bestarm.cli; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_the_module_runs_too() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "bestarm.cli", "bounds", "--means", "0.9,0.9", "--epsilon", "1", "--delta", "0.1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert "Traceback" not in answer.stderr


def test_parse_means_allows_spaces() -> None:
    assert parse_means("0.5, 0.25,1") == [0.5, 0.25, 1.0]


def test_json_has_no_nan_and_numbers_read_well() -> None:
    assert jsonable({"a": [1.0, math.nan, (math.inf, "x")], 3: None}) == {"a": [1.0, None, [None, "x"]], "3": None}
    assert count(1386.2) == "1,387"
    assert count(1386.0000000001) == "1,386"
    assert count(math.inf) == "–"
    assert number(0.03464542) == "0.03465"
    assert number(123456.7) == "123,457"
    assert percent(0.2) == "20.0 %"
    assert percent(0.0004) == "< 0.1 %"
