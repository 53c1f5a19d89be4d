"""One type for each answer: what is sent can be read again, whatever it is, and the API's schema says the same."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.errors import InputError
from bestarm.service import schemas
from bestarm.trial.answers import Asked, RivalEvidence, Status, Verdict
from bestarm.trial.exchange import RowAnswer
from bestarm.trial.plain import Answer

PLAIN = st.dictionaries(st.text(), st.none() | st.text() | st.integers() | st.lists(st.text()))


def kinds(of: type[Answer] = Answer) -> Iterator[type[Answer]]:
    """Every type of answer there is."""
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


ALL = sorted(set(kinds()), key=lambda kind: kind.__name__)


def some(kind: type[Answer]) -> st.SearchStrategy[Answer]:
    """Any such answer whose numbers are finite; others become null, which has a test of its own."""
    return st.builds(kind, **({"design": PLAIN} if kind.__name__ == "Report" else {})).map(finite)


def finite(value: Any) -> Any:
    if isinstance(value, Answer):
        return replace(value, **{field.name: finite(getattr(value, field.name)) for field in fields(value)})
    if isinstance(value, tuple):
        return tuple(map(finite, value))
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    return 0.5 if isinstance(value, float) and not math.isfinite(value) else value


def test_all_are_here() -> None:
    assert {"Asked", "Ledger", "OpenAssignment", "Report", "RowAnswer", "Status", "Verdict", "Verification"} <= {
        kind.__name__ for kind in ALL
    }
    assert RowAnswer in ALL


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_answer_survives_the_way_there_and_back(kind: type[Answer]) -> None:
    @given(some(kind))
    @settings(max_examples=60, deadline=None, database=None, derandomize=True)
    def there_and_back(answer: Answer) -> None:
        sent = json.dumps(answer.to_json(), allow_nan=False)
        assert kind.from_json(json.loads(sent)) == answer
        schemas.schema_of(kind).model_validate_json(sent)
        assert set(json.loads(sent)) == set(schemas.schema_of(kind).model_fields)

    there_and_back()


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_no_field_is_dropped(kind: type[Answer]) -> None:
    @given(some(kind), some(kind))
    @settings(max_examples=60, deadline=None, database=None, derandomize=True)
    def told_apart(one: Answer, other: Answer) -> None:
        assert (one == other) == (one.to_json() == other.to_json())

    told_apart()


def test_what_a_newer_version_says_more_is_left_out() -> None:
    asked = Asked("1-aaaa", "a", told=False, withdrawn=True)
    assert Asked.from_json(asked.to_json() | {"colour": "red"}) == asked


def test_what_an_older_version_leaves_out_takes_its_default() -> None:
    sent = Asked("1-aaaa", "a", told=False).to_json()
    del sent["withdrawn"]
    assert Asked.from_json(sent) == Asked("1-aaaa", "a", told=False)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (Verdict, None),
        (Verdict, []),
        (Verdict, {}),
        (Verdict, {"arm": "a", "reason": "r", "by": "chance"}),
        (Verdict, {"arm": 1, "reason": "r", "by": "ended"}),
        (Asked, {"assignment": None, "arm": None, "told": 0}),
        (Asked, {"assignment": None, "arm": None, "told": False, "verdict": "a"}),
        (RowAnswer, {"line": True, "assignment": "1", "status": None}),
        (RivalEvidence, {"rival": "a", "value": True, "needed": 1.0}),
        (Status, {"trial": "t"}),
    ],
)
def test_what_is_no_answer_is_refused_in_a_sentence(kind: type[Answer], data: Any) -> None:
    with pytest.raises(InputError, match=r"This (is no|cannot be read).*\.$"):
        kind.from_json(data)


def test_numbers_that_are_not_finite_are_null() -> None:
    assert RivalEvidence("a", math.inf, math.nan).to_json() == {
        "rival": "a",
        "value": None,
        "needed": None,
        "claim": None,
    }
