"""From people's machines over two servers to a release: its noise is the central model's, and defects are seen."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from fractions import Fraction

import pytest

from bestarm.distributed import halves
from bestarm.privacy import samplers
from bestarm.privacy.shares import Splitter, centred
from tests.chance import CLEARLY, FALSE_ALARM, fits_weights

EPSILON = Fraction(1)
PLANNED, SENT, STAGES, REACH = 4, 3, 2500, 45
LAPLACE = [math.exp(-abs(z)) for z in range(-REACH, REACH + 1)]


@dataclass
class Row:
    people: int
    epsilon: str
    half: str


def release(key: int, told: int = PLANNED) -> int:
    """The noise on a sum of one stage whose people all had a 0; they were told that so many were planned."""
    splitter = Splitter(key.to_bytes(32, "big"), "t", EPSILON)
    rows: tuple[list[Row], list[Row]] = ([], [])
    for person in range(SENT):
        pair = splitter.split(person, splitter.numbers(person, Fraction(0), 0, 1, 1, told))
        for kept, half in zip(rows, pair, strict=True):
            kept.append(Row(PLANNED, "1", json.dumps(half)))
    return centred(sum(halves.added_up(kept)[0] for kept in rows))


@pytest.fixture(autouse=True)
def seeded_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the servers draw comes from a seed here, as everything else does."""
    below = random.Random(11).randrange
    monkeypatch.setattr(halves, "rest_of_noise", lambda e, part: samplers.laplace_part(below, 1 / e, part))


def test_a_release_has_the_central_models_noise() -> None:
    assert fits_weights([release(key) for key in range(STAGES)], -REACH, LAPLACE) > FALSE_ALARM


def test_people_who_were_told_of_more_people_would_be_noticed() -> None:
    assert fits_weights([release(key, 3 * PLANNED) for key in range(STAGES)], -REACH, LAPLACE) < CLEARLY


def test_a_server_that_adds_no_rest_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halves, "rest_of_noise", lambda e, part: 0)
    assert fits_weights([release(key) for key in range(STAGES)], -REACH, LAPLACE) < CLEARLY
