"""The wall between what is confidential and what is public, as a rule about imports."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import bestarm

ROOT = Path(bestarm.__file__).parent

PUBLIC = (
    *("policy", "release", "theory", "simulation", "planning"),
    *("checks", "design", "durations", "errors", "exact", "instance", "outcomes"),
)
"""Decides and computes from releases and public constants; may know nothing of outcomes or of where they are kept."""
CONFIDENTIAL = ("privacy", "storage", "trial", "service", "distributed")

HANDLES_OUTCOMES = ("trial.trial", "trial.desk", "trial.audit", "distributed", "qualification.checks")
"""Only these may turn outcomes into releases, or try the noise."""

RENDERING = ("trial.public", "trial.report", "trial.figures", "trial.estimates")
"""What people see of a trial is made here, from the public view alone."""
OUT_OF_SIGHT = ("storage", "privacy", "trial.fold", "trial.desk", "trial.outlook")


def modules() -> dict[str, Path]:
    """Every module of the package by its name without the leading `bestarm.`."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path) -> set[str]:
    """Everything of the package that a module imports, at its top or inside its functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            module = node.module or ""
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.removeprefix("bestarm.") for name in found if name.startswith("bestarm.")}


def inside(name: str, rooms: tuple[str, ...]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


@pytest.mark.parametrize("name", [name for name in modules() if inside(name, PUBLIC)])
def test_the_public_wing_does_not_import_the_confidential_one(name: str) -> None:
    assert not {seen for seen in imports(modules()[name]) if inside(seen, CONFIDENTIAL)}


@pytest.mark.parametrize("name", RENDERING)
def test_what_people_see_is_made_without_outcomes_in_reach(name: str) -> None:
    assert not {seen for seen in imports(modules()[name]) if inside(seen, OUT_OF_SIGHT)}


def test_few_reach_for_the_noise() -> None:
    outside = {name: path for name, path in modules().items() if not inside(name, ("privacy",))}
    reaching = {name for name, path in outside.items() if any(inside(seen, ("privacy",)) for seen in imports(path))}
    assert all(any(inside(name, (room,)) for name in reaching) for room in HANDLES_OUTCOMES)
    assert all(inside(name, HANDLES_OUTCOMES) for name in reaching)


def test_the_confidential_wing_stands_below_the_trial() -> None:
    for name, path in modules().items():
        if inside(name, ("privacy", "storage")):
            assert not {seen for seen in imports(path) if inside(seen, ("trial", "service", "cli", "simulation"))}, name


def test_the_rule_would_notice() -> None:
    assert inside("privacy.noise", CONFIDENTIAL)
    assert "privacy.noise" in imports(modules()["trial.trial"])
    assert not inside("policy.evidence", CONFIDENTIAL)
