"""Numbers on the command line are written in the digits 0 to 9: 1_0 and the digits of other scripts are slips."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
import typer

from bestarm.cli import app, main
from bestarm.cli.options import number_option, whole_option
from bestarm.durations import duration
from bestarm.errors import InputError
from bestarm.exact import kept


def commands(group: typer.Typer) -> Iterator[Callable[..., Any]]:
    for command in group.registered_commands:
        assert command.callback is not None
        yield command.callback
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from commands(inner.typer_instance)


def numbers(command: Callable[..., Any]) -> Iterator[tuple[str, type, Any]]:
    """The options of a command that take a number: name, type, and what was declared of it."""
    for name, hint in get_type_hints(command, include_extras=True).items():
        if get_origin(hint) is Annotated:
            kind, declared = get_args(hint)[:2]
            for number in {int, float} & {kind, *get_args(kind)}:
                yield name, number, declared


OPTIONS = [(f.__name__, *one) for f in commands(app) for one in numbers(f)]


def test_every_number_is_parsed_by_us() -> None:
    assert len(OPTIONS) > 20
    for command, name, kind, declared in OPTIONS:
        assert declared.parser is not None, f"--{name} of {command} takes {kind.__name__} by Python's rules"
        for slip in ("1_0", "٣", "１", "", "x"):
            with pytest.raises(typer.BadParameter, match="digits 0 to 9"):
                declared.parser(slip)
        assert declared.parser("10") == 10
        assert type(declared.parser("10")) is kind


def test_whole_numbers_are_whole() -> None:
    assert whole_option("--n").parser("-3") == -3
    assert number_option("--x").parser("1e-3") == 1e-3
    with pytest.raises(typer.BadParameter, match=r"'1\.5' is not a whole number"):
        whole_option("--n").parser("1.5")


@pytest.mark.parametrize("runs", ["1_0", "٣", "１２"])
def test_one_sentence_says_so(runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--means", "0.9,0.1", "--epsilon", "1", "--runs", runs]) == 2
    said = capsys.readouterr().err
    assert f"{runs!r} is not a whole number in the digits 0 to 9" in said
    assert said.count("\n") == 1
    assert main(["bounds", "--means", "0.9,٠", "--epsilon", "1", "--delta", "0.1"]) == 2


@pytest.mark.parametrize("text", ["٣d", "1_0d", "３h", " 5d5", "5"])
def test_durations_too(text: str) -> None:
    with pytest.raises(InputError, match="a number with a unit"):
        duration(text)
    assert duration(" 5d ") == 5 * 86400


@pytest.mark.parametrize("text", ["٣", "1_0", "", "0x1", "1e5", "1/0", "9" * 500, "--1"])
def test_numbers_that_were_kept_are_read_as_they_are_written(text: str) -> None:
    with pytest.raises(InputError, match="not written as a number is here"):
        kept(text, "delta")
    for number in ("-0.25", "1/3", "12", "007.50"):
        assert kept(number, "delta") == Fraction(number)
