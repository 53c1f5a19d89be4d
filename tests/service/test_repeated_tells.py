"""Telling again gives nothing away: not over HTTP, not on the desk, not by trying many values."""

from __future__ import annotations

from typing import Any

import pytest

from bestarm.trial.desk import MOST_REPEATS
from tests.service.conftest import Service
from tests.service.test_pages import send, words

DESK = "/trials/dose/desk"


@pytest.fixture
def told(service: Service) -> list[str]:
    """Assignments of another ward, whose outcomes are 0 and 1."""
    service.create(algorithm="dp-se")
    ward = service.token("operator")
    ids = []
    for number in range(2):
        asked = service.call("POST", "/trials/dose/ask", ward, {"subject": f"p-{number}"}).json()
        ids.append(asked["assignment"])
        service.call("POST", "/trials/dose/tell", ward, {"assignment": ids[-1], "outcome": number})
    return ids


def test_another_token_learns_nothing_by_guessing(service: Service, told: list[str]) -> None:
    answers = []
    for assignment in told:
        for guess in (0, 1):
            guesser = service.access.issue("token", "operator", "the operator")[0]
            body = {"assignment": assignment, "outcome": guess}
            one = service.call("POST", "/trials/dose/tell", guesser, body)
            many = service.call("POST", "/trials/dose/tell-many", guesser, {"outcomes": [body]})
            answers.append((one.status_code, one.json(), many.status_code, many.json()))
    assert answers == [(200, {"status": "already recorded"}, 200, {"statuses": ["already recorded"]})] * 4


def test_the_desk_answers_guesses_alike(service: Service, told: list[str]) -> None:
    pages = []
    for guess in "01":
        browser = service.browser("operator")
        page = send(browser, f"{DESK}/record", DESK, assignment=told[0], outcome=guess)
        pages.append((page.status_code, words(page)))
    assert pages[0] == pages[1]
    assert "Already recorded" in pages[0][1]


def test_guesses_run_out_whatever_they_are(service: Service, told: list[str]) -> None:
    def guesses(value: int) -> list[Any]:
        guesser = service.access.issue("token", "operator", "the operator")[0]
        body = {"assignment": told[0], "outcome": value}
        return [service.call("POST", "/trials/dose/tell", guesser, body).status_code for _ in range(MOST_REPEATS + 2)]

    assert guesses(0) == guesses(1) == [200] * MOST_REPEATS + [409, 409]


def test_every_guess_is_in_the_log(service: Service, told: list[str]) -> None:
    guesser = service.access.issue("token", "operator", "ward 9")[0]
    service.call("POST", "/trials/dose/tell", guesser, {"assignment": told[0], "outcome": 1})
    with service.app.state.trials.store.reading("dose") as reading:
        kept = [event.actor for event in reading.events() if event.kind == "retold"]
    assert len(kept) == 1
    assert kept[0].startswith("ward 9 #")


def test_ones_own_slip_is_said(service: Service) -> None:
    service.create(algorithm="dp-se")
    own = service.token("operator")
    asked = service.call("POST", "/trials/dose/ask", own, {"subject": "p"}).json()
    body = {"assignment": asked["assignment"], "outcome": 1}
    assert service.call("POST", "/trials/dose/tell", own, body).json() == {"status": "recorded"}
    assert service.call("POST", "/trials/dose/tell", own, body).json() == {"status": "already recorded"}
    slip = service.call("POST", "/trials/dose/tell", own, body | {"outcome": 0})
    assert slip.status_code == 422
    assert "different outcome" in slip.json()["detail"]
