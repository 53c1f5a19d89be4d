"""The sources of live noise that are installed here: our own always, OpenDP's as an extra."""

from __future__ import annotations

import pytest

from bestarm.errors import InputError
from bestarm.privacy.noise import LiveNoise, OpenDPNoise, SystemNoise


def sources() -> list[LiveNoise]:
    """Every source there is."""
    try:
        return [SystemNoise(), OpenDPNoise()]
    except InputError:
        return [SystemNoise()]


every_source = pytest.mark.parametrize("source", sources(), ids=lambda source: type(source).__name__)
needs_opendp = pytest.mark.skipif(len(sources()) < 2, reason="OpenDP is an extra")
