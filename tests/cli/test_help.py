"""Help: every command has its reader and an example that parses; no noise."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from bestarm.cli import app, main
from bestarm.cli.help import EXAMPLES, PANELS, quiet


def commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its words."""
    for name, inner in command.commands.items():
        words = f"{path} {name}".strip()
        if hasattr(inner, "commands"):
            yield from commands(inner, words)
        else:
            yield words, inner


ROOT = quiet(typer.main.get_command(app))
ALL = dict(commands(ROOT))


@pytest.mark.parametrize("words", ALL)
def test_every_command_has_an_example_that_parses(words: str) -> None:
    for example in EXAMPLES[words]:
        arguments = shlex.split(example)
        assert " ".join(arguments[: len(words.split()) + 1]) == f"bestarm {words}"
        ALL[words].make_context(words, arguments[len(words.split()) + 1 :])


def test_no_example_or_panel_is_of_a_command_that_is_gone() -> None:
    to_come = {"replay", "qualify"}
    assert set(EXAMPLES) <= set(ALL)
    assert {name for names in PANELS.values() for name in names} <= {*ROOT.commands, *to_come}


def test_the_first_page_groups_commands_by_reader(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(panel in shown for panel in PANELS)
    assert "╭─ Commands" not in shown, "a command is in no panel"


@pytest.mark.parametrize("words", [["--help"], ["simulate", "-h"], ["trial", "list", "--help"]])
def test_help_has_no_noise(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "<bool>" not in shown
    assert "<str>" not in shown
    assert "-h" in shown
    assert words == ["--help"] or "Example:" in shown
