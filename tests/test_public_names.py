"""What users may rely on: every public name is where it is said to be, has a docstring, and is in the reference."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bestarm

ROOT = Path(__file__).parents[1]
PACKAGE = Path(bestarm.__file__).parent
NAMES = [name for name in bestarm.__all__ if name != "__version__"]
ROOMS = [
    path.parent.name
    for path in sorted(PACKAGE.glob("*/__init__.py"))
    if re.search(r"^__all__", path.read_text(encoding="utf-8"), re.M)
]
"""Packages that say in `__all__` what the rest of the house uses of them."""


def undocumented(name: str, thing: Any) -> list[str]:
    """What lacks a docstring: the thing itself, or a public method or property that its class defines.

    A dataclass or a named tuple without one has its signature there, which says nothing that its fields do not.
    """
    said = inspect.getdoc(thing) or ""
    missing = [name] if not said or said.startswith(f"{name}(") else []
    if inspect.isclass(thing):
        for label, member in vars(thing).items():
            if not label.startswith("_") and (inspect.isroutine(member) or isinstance(member, property)):
                own = member.__func__ if isinstance(member, classmethod | staticmethod) else member
                missing += [] if inspect.getdoc(own) else [f"{name}.{label}"]
    return missing


def typed_imports(path: Path) -> dict[str, str]:
    """Where type checkers are told that each public name lives."""
    return {
        alias.name: str(node.module)
        for block in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(block, ast.If)
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_lazy_names_are_the_ones_that_type_checkers_see() -> None:
    assert set(bestarm._HOME) == set(NAMES)
    assert typed_imports(Path(bestarm.__file__)) == bestarm._HOME
    assert dir(bestarm) == sorted(bestarm.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    thing = getattr(bestarm, name)
    assert thing is getattr(import_module(bestarm._HOME[name]), name)
    assert undocumented(name, thing) == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_offers_what_it_names(room: str) -> None:
    package = import_module(f"bestarm.{room}")
    for name in package.__all__:
        thing = getattr(package, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert undocumented(name, thing) == []
    brought = {name for name, thing in vars(package).items() if not name.startswith("_")}
    own = {name for name in brought if not isinstance(getattr(package, name), ModuleType)} - {"annotations"}
    assert own == set(package.__all__) - {"__version__"}


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'trail'"):
        bestarm.trail  # noqa: B018


def test_the_reference_has_every_public_name_and_no_other() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    shown = re.findall(r"^::: (\S+)", page, re.M)
    assert sorted(path.rpartition(".")[2] for path in shown) == sorted(NAMES)


def test_the_check_would_notice() -> None:
    class Bare:
        def told(self) -> None:
            """Said."""

        def silent(self) -> None: ...

    assert undocumented("Bare", Bare) == ["Bare", "Bare.silent"]


def test_no_two_classes_share_a_name() -> None:
    places: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        room = str(path.relative_to(PACKAGE))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, set()).add(room)
    assert {name: rooms for name, rooms in places.items() if len(rooms) > 1} == {}
