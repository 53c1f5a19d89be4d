"""Every policy bears a live trial's life: many open assignments, answers late and out of order, the end in between."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from bestarm.errors import OperationError
from bestarm.policy.catalogue import CATALOGUE
from bestarm.privacy.mechanism import Mechanism, mechanism_of
from bestarm.privacy.noise import SeededNoise
from bestarm.storage.memory import MemoryBooks
from bestarm.trial.desk import Desk
from bestarm.trial.fold import Fold, Rules
from tests.trial.test_same_as_simulated import COINS, rules_for

MEANS = (0.15, 0.85, 0.3)


def door_for(rules: Rules, seed: int) -> Mechanism:
    design = rules.design
    return mechanism_of(design.per_outcome, design.encoding, SeededNoise(seed))


def models() -> list[tuple[str, str]]:
    return [(name, model) for name, algorithm in CATALOGUE.items() for model in algorithm.privacy]


@pytest.mark.parametrize(("name", "model"), models())
def test_answers_in_any_order_after_any_time(name: str, model: str) -> None:
    planned = {"difference": "0.4", "base": "0.4"} if CATALOGUE[name].needs_base else {}
    shuffled: dict[str, Any] = {"privacy_delta": "0.001", "group": 40} if model == "shuffle" else {}
    rules = rules_for(CATALOGUE[name], privacy=model, rho="0.5", **planned, **shuffled)
    rng = random.Random(11)
    books, log = MemoryBooks(), []

    def keep(kind: str, at: int, actor: str, body: dict[str, Any], secret: Any) -> None:
        log.append(kind)

    def pick(weights: Sequence[float]) -> int:
        return rng.choices(range(len(weights)), weights)[0]

    desk = Desk(Fold(rules, books, rules.fresh_state()), door_for(rules, 5), keep, 0, COINS, pick)
    waiting: list[int] = []
    for person in range(2500):
        try:
            assignment = desk.ask(str(person), "me")
        except OperationError:
            assert waiting  # nobody is turned away unless somebody's answer can change that
            assignment = None
        if books.book.state == "stopped":
            break
        if assignment is not None:
            waiting.append(assignment.number)
        while waiting and (assignment is None or len(waiting) > 60):
            number = waiting.pop(rng.randrange(len(waiting)))
            arm = books.assignments[number].arm
            desk.tell(number, Fraction(int(rng.random() < MEANS[arm])), "me")
            if assignment is None and rng.random() < 0.2:
                break
    for number in waiting:
        assert desk.tell(number, Fraction(0), "me") in ("recorded", "late")
    assert log.count("released") + log.count("merged") == books.book.released
    assert books.book.released >= 3 or books.book.verdict is not None
    if books.book.verdict is not None:
        assert books.book.verdict["arm"] == "b"
        assert log.count("stopped") == 1
