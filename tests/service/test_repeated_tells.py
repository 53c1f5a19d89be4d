"""Telling again gives nothing away: not over HTTP, not on the desk, not by trying many values."""

from __future__ import annotations

import time
from typing import Any

import pytest

from bestarm.trial.desk import MOST_REPEATS, SLIP
from bestarm.trial.fold import HOUR, MICROSECONDS
from bestarm.trial.trial import Trial
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


def test_a_slip_is_ones_own_for_a_while_only(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.create(algorithm="dp-se")
    trial: Trial = service.app.state.trials.find("dose")
    late = 0.0
    monkeypatch.setattr(trial, "_clock", lambda: time.time() + late)
    own = service.token("operator")
    answers = []
    for outcome in (0, 1):
        asked = service.call("POST", "/trials/dose/ask", own, {"subject": f"p-{outcome}"}).json()
        body = {"assignment": asked["assignment"], "outcome": outcome}
        service.call("POST", "/trials/dose/tell", own, body)
        late += SLIP / MICROSECONDS + 1
        answers += [
            service.call("POST", "/trials/dose/tell", own, body | {"outcome": guess}).json() for guess in (0, 1)
        ]
    assert answers == [{"status": "already recorded"}] * 4


def test_guesses_come_back_after_an_hour(service: Service, told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    trial: Trial = service.app.state.trials.find("dose")
    late = 0.0
    monkeypatch.setattr(trial, "_clock", lambda: time.time() + late)
    guesser = service.access.issue("token", "operator", "the operator")[0]
    body = {"assignment": told[0], "outcome": 1}

    def guess() -> int:
        return int(service.call("POST", "/trials/dose/tell", guesser, body).status_code)

    assert [guess() for _ in range(MOST_REPEATS + 1)] == [200] * MOST_REPEATS + [409]
    late = HOUR / MICROSECONDS + 1
    assert guess() == 200


def test_nobody_else_sees_that_something_was_told_again(service: Service, told: list[str]) -> None:
    viewer = service.token("viewer")

    def seen() -> list[Any]:
        paths = ("status", "ledger", "report", "report.html")
        return [service.call("GET", f"/trials/dose/{path}", viewer).text for path in paths]

    before = seen()
    guesser = service.access.issue("token", "operator", "the operator")[0]
    for outcome in (0, 1):
        service.call("POST", "/trials/dose/tell", guesser, {"assignment": told[0], "outcome": outcome})
    asked = service.call("POST", "/trials/dose/ask", guesser, {"subject": "p-0"}).json()
    reason = {"assignment": asked["assignment"], "outcome": 1, "reason": "slip"}
    assert service.call("POST", "/trials/dose/correct", guesser, reason).json() == {"status": "corrected"}
    assert seen() == before
    service.call("POST", "/trials/dose/ask", guesser, {"subject": "p-9"})
    assert [now != then for now, then in zip(seen(), before, strict=True)] == [True, False, True, True]
