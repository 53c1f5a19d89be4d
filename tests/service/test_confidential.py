"""Outcomes and secrets do not get out: not into logs, not into error pages, not into answers."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest

import bestarm as ba
from bestarm.trial.trial import Trial
from tests.service.conftest import Service
from tests.service.running import Server
from tests.service.test_pages import send

TELLTALE = "0.736251849"
"""An outcome that nothing else looks like."""


def test_nothing_personal_gets_into_the_log(tmp_path: Path) -> None:
    server = Server(str(tmp_path / "trials.db"), tmp_path / "server.log")
    server.start()
    try:
        token = server.token("admin")
        with ba.Client(server.url, token=token) as client:
            trial = client.create(name="secret name", arms=["a", "b"], epsilon=1, delta=0.1, algorithm="adap-tt")
            asked = trial.ask("subject-4711")
            assert asked.id is not None
            trial.tell(asked.id, TELLTALE)
            for wrong in (f"9{TELLTALE}", f"x{TELLTALE}"):
                with pytest.raises(ba.InputError):
                    trial.tell(asked.id, wrong)
            with pytest.raises(ba.InputError):
                trial.tell(asked.id, "0.5")
    finally:
        server.stop()
    said = server.said
    assert "api.trials.tell 200" in said
    assert "api.trials.tell 422" in said
    for secret in (TELLTALE, "subject-4711", "secret name", asked.id, token):
        assert secret not in said


def test_an_error_inside_shows_neither_outcome_nor_traceback(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service.create(outcomes="unit")
    operator = service.token("operator")
    assignment = service.call("POST", "/trials/dose/ask", operator, {"subject": "p-1"}).json()["assignment"]

    def broken(self: Trial, outcomes: list[tuple[str, object]], *_: object, **__: object) -> list[str]:
        raise RuntimeError(f"could not keep {outcomes}")

    monkeypatch.setattr(Trial, "telling", broken)
    browser = service.browser("operator")
    with caplog.at_level(logging.DEBUG):
        fields = {"assignment": assignment, "outcome": TELLTALE}
        answers: list[Any] = [service.call("POST", "/trials/dose/tell", operator, fields)]
        answers.append(send(browser, "/trials/dose/desk/record", "/trials/dose/desk", **fields))
    assert answers[0].headers["content-type"] == "application/problem+json"
    assert answers[1].headers["content-type"].startswith("text/html")
    for answer in answers:
        assert answer.status_code == 500
        assert TELLTALE not in answer.text
        assert "RuntimeError" not in answer.text
        assert "Traceback" not in answer.text
    assert "RuntimeError at broken" in caplog.text
    assert TELLTALE not in caplog.text
    assert assignment not in caplog.text


def test_no_answer_of_the_api_or_the_pages_holds_an_outcome(service: Service) -> None:
    service.create(outcomes="unit")
    admin = service.token("admin")
    assignment = service.call("POST", "/trials/dose/ask", admin, {"subject": "p-1"}).json()["assignment"]
    browser = service.browser("admin")
    told = send(browser, "/trials/dose/desk/record", "/trials/dose/desk", assignment=assignment, outcome=TELLTALE)
    assert "Recorded" in told.text
    paths = [path for path, methods in service.app.openapi()["paths"].items() if "get" in methods]
    answers = [service.call("GET", p.removeprefix("/api/v1").format(trial="dose"), admin) for p in paths]
    answers += [browser.get(p) for p in ("/", "/trials/dose", "/trials/dose/desk", "/trials/dose/live", "/access")]
    answers += [browser.get(f"/trials/dose/{p}") for p in ("report", "report.json")]
    wrong = send(
        browser, "/trials/dose/desk/review", "/trials/dose/desk", assignment=assignment, outcome=f"7{TELLTALE}"
    )
    assert wrong.status_code == 422
    for answer in [*answers, told, wrong]:
        assert answer.status_code in (200, 422)
        assert TELLTALE not in answer.text
        assert TELLTALE[:6] not in re.sub(r"[0-9a-f]{32,}", "", answer.text)
