"""The audit finds every planted defect, by that half of it that has to, and nothing where there is nothing."""

from __future__ import annotations

import pytest

from tests.audit.designs import rules_of, said_of_noise, said_of_replays
from tests.audit.planted import DEFECTS, LISTED
from tests.audit.planted.defect import NOISE, REPLAY

SEEN_BY = {part: [name for name, one in DEFECTS.items() if one.seen_by == part] for part in (NOISE, REPLAY)}
DESIGNS = {str(dict(one.design)): one.design for one in DEFECTS.values()}


def test_all_twenty_are_planted() -> None:
    assert len(LISTED) == 20
    assert len(DEFECTS) > 20


@pytest.mark.parametrize("name", SEEN_BY[NOISE])
def test_the_black_box_finds_what_is_wrong_with_the_noise(name: str) -> None:
    one = DEFECTS[name]
    with one.plant():
        assert said_of_noise(rules_of(one.design))


@pytest.mark.parametrize("name", SEEN_BY[REPLAY])
def test_replays_find_ways_around_the_noise(name: str) -> None:
    one = DEFECTS[name]
    with one.plant():
        assert said_of_replays(rules_of(one.design))


@pytest.mark.parametrize("design", DESIGNS)
def test_nothing_is_found_where_nothing_is_planted(design: str) -> None:
    rules = rules_of(DESIGNS[design])
    assert said_of_noise(rules, 2000) == []
    assert said_of_replays(rules, 2) == []
