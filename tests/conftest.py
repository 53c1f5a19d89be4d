"""What holds for the whole suite: where lines are not counted."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
NOT_COUNTED = (
    "audit/",
    "cli/test_anywhere",
    "planning/test_beside",
    "planning/test_control",
    "planning/test_operating",
    "planning/test_plan",
    "policy/",
    "privacy/test_attack",
    "privacy/test_reach",
    "privacy/test_samplers",
    "release/",
    "reproduction/",
    "service/test_attacks",
    "service/test_authorisation",
    "service/test_browser",
    "service/test_client",
    "service/test_desk_in_chromium",
    "service/test_failures",
    "service/test_looks",
    "service/test_openapi",
    "service/test_torture",
    "service/test_turns",
    "service/test_workers",
    "simulation/",
    "split/",
    "test_docs",
    "test_notebook",
    "test_qualification",
    "theory/",
    "trial/test_answers",
    "trial/test_demo",
    "trial/test_durability",
    "trial/test_same_in_time",
    "trial/test_staged",
    "trial/test_tampering",
    "trial/test_verify",
)
"""Tests that mostly compile, repeat themselves thousands of times, or run in other processes.

Counting lines would make them half as slow again, and show hardly a line that quicker tests do not.
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Pause the counting for those."""
    if config.pluginmanager.has_plugin("_cov"):
        for item in items:
            if str(item.path.relative_to(TESTS)).startswith(NOT_COUNTED):
                item.add_marker("no_cover")
