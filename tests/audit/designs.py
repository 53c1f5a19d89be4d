"""The designs in which defects are planted, and small audits of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bestarm.design import resolve
from bestarm.privacy.noise import LiveNoise
from bestarm.storage.memory import MemoryStore
from bestarm.trial.audit import audited_design, black_box, people_for, short_rules
from bestarm.trial.audit.replay import replay
from bestarm.trial.fold import Rules
from tests.chance import FALSE_ALARM

DRAWS = 8000
"""For every planted defect: the hardest, noise half as wide on odd sums, has p-values around 1e-24 with so many."""
SURELY = 1 - FALSE_ALARM
"""At 99.9% an audit of what is right fails once in a thousand times; in tests it may once in ten million."""
REPLAYS = 8
"""So many at most until a replay finds something; a follow-up stage released early takes two or three."""


def rules_of(given: Mapping[str, Any]) -> Rules:
    """The rules of an audited design."""
    rest = dict(given)
    algorithm, epsilon = rest.pop("algorithm", "evidence"), rest.pop("epsilon", None)
    return Rules.of(audited_design(algorithm, epsilon, **rest), resolve(algorithm))


def said_of_noise(rules: Rules, draws: int = DRAWS, noise: LiveNoise | None = None) -> list[str]:
    """What the black box has against the noise."""
    return [look.says for look in black_box(rules, draws, 1, noise, SURELY)[0] if not look.passed]


def said_of_replays(rules: Rules, times: int = REPLAYS) -> list[str]:
    """What the first replay says that finds anything."""
    short = short_rules(rules)
    for number in range(times):
        found = replay(short, people_for(short), 100 * number, None, number % 2 == 1, 1.0, MemoryStore).found
        if found:
            return found
    return []
