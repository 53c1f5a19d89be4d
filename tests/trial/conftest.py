"""Fixtures of the trial tests."""

from __future__ import annotations

import pytest

from tests.storage.places import place, postgres_place, postgres_server, sqlite_place
from tests.trial.people import arms_from

__all__ = ["place", "postgres_place", "postgres_server", "sqlite_place"]


@pytest.fixture(autouse=True)
def arms_by_a_seed(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The coins for arms fall the same way in every run of a test: verdicts and checks of coins do not cry wolf."""
    arms_from(monkeypatch, request.node.name)
