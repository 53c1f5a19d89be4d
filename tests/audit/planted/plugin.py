"""A plugin for pytest that plants a defect for the whole run: `BESTARM_PLANTED="scale halved" pytest -p ...`."""

from __future__ import annotations

import os
from contextlib import ExitStack

import pytest

from tests.audit.planted import DEFECTS

_PLANTED = ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    """Plant it."""
    name = os.environ.get("BESTARM_PLANTED")
    if name is not None:
        _PLANTED.enter_context(DEFECTS[name].plant())


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take it out again."""
    _PLANTED.close()
