"""What an attack on the service found, each closed: words that are no text, methods, echoes, and who is who."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from bestarm.service.trials import Trials
from tests.service.conftest import DESIGN, Service
from tests.service.test_pages import send, words

HALF = "\ud800"
"""Half of a surrogate pair: JSON can spell it, UTF-8 cannot."""


def spelled(body: Any) -> bytes:
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/trials", {"name": "x"} | DESIGN | {"arms": ["a" + HALF, "b"]}),
        ("/trials", {"name": HALF} | DESIGN),
        ("/trials", {"name": "x"} | DESIGN | {"follow_up": HALF}),
        ("/trials", {"name": "x"} | DESIGN | {"algorithm": HALF}),
        ("/trials", {"name": "x"} | DESIGN | {HALF: 1}),
        ("/trials/dose/ask", {"subject": HALF}),
        ("/trials/dose/ask-many", {"subjects": ["a", HALF]}),
        ("/trials/dose/tell", {"assignment": HALF, "outcome": 1}),
        ("/trials/dose/tell", {"assignment": "1-aaaa", "outcome": HALF}),
        ("/trials/dose/tell-many", {"outcomes": [{"assignment": HALF, "outcome": 1}]}),
        ("/trials/dose/withdraw", {"assignment": "1-aaaa", "reason": HALF}),
        ("/trials/dose/pause", {"reason": HALF}),
        ("/trials/dose/end", {"reason": HALF}),
        ("/tokens", {"role": "viewer", "label": HALF}),
        ("/view-links", {"trial": HALF, "label": "x"}),
        ("/plan", {"arms": 2, "gap": 0.2, "epsilon": 1.0, "algorithm": HALF}),
    ],
)
def test_text_that_is_none_is_bad_input(service: Service, path: str, body: Any) -> None:
    service.create()
    headers = {"Authorization": f"Bearer {service.token('admin')}", "Content-Type": "application/json"}
    answer = service.http.post(f"/api/v1{path}", headers=headers, content=spelled(body))
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_forms_with_text_that_is_none(service: Service) -> None:
    service.create()
    browser = service.browser("admin")
    page = browser.get("/trials/dose/desk").text
    found = re.search(r'name="csrf" value="(\w+)"', page)
    assert found is not None
    # The sender names the characters' encoding, and this one can spell what UTF-8 cannot.
    kind = {"Content-Type": "multipart/form-data; boundary=x; charset=unicode_escape"}

    def post(path: str, **fields: str) -> Any:
        parts = [f'--x\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in fields.items()]
        return browser.post(path, content="".join([*parts, "--x--\r\n"]).encode(), headers=kind)

    assert post("/trials/dose/desk/assign", csrf=found[1], subject="p\\ud800").status_code == 422
    assert post("/trials/dose/desk/assign", csrf="\\ud800", subject="p").status_code == 422
    assert post("/sign-in", secret="bat_\\ud800").status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/v1/trials", "GET, POST"),
        ("POST", "/api/v1/health", "GET"),
        ("GET", "/api/v1/trials/dose/tell", "POST"),
        ("PATCH", "/api/v1/tokens/1", "DELETE"),
        ("DELETE", "/sign-in", "GET, POST"),
        ("POST", "/static/style.css", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(service: Service, method: str, path: str, allowed: str) -> None:
    answer = service.http.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize("typed", ["0.736251849", "<i>", "1-zzzz"])
def test_what_was_typed_as_an_assignment_is_not_repeated(service: Service, typed: str) -> None:
    service.create()
    operator = service.token("operator")
    for what, more in (("tell", {"outcome": 1}), ("correct", {"outcome": 1, "reason": "x"}), ("withdraw", {})):
        answer = service.call("POST", f"/trials/dose/{what}", operator, {"assignment": typed} | more)
        assert answer.status_code == 422
        assert "no assignment of this id" in answer.json()["detail"]
        assert typed not in answer.text
    desk = "/trials/dose/desk"
    browser = service.browser("operator")
    for what in ("record", "correct", "withdraw"):
        page = send(browser, f"{desk}/{what}", desk, assignment=typed, outcome="1", reason="x")
        assert page.status_code == 422
        assert typed not in page.text


def actors(service: Service) -> list[str]:
    trials: Trials = service.app.state.trials
    with trials.store.reading("dose") as reading:
        return [event.actor for event in reading.events() if event.kind in ("assigned", "told")]


def test_two_tokens_of_one_label_are_two(service: Service) -> None:
    service.create(algorithm="dp-se")
    tokens = [service.access.issue("token", "operator", "ward 3")[0] for _ in range(2)]
    for number, token in enumerate(tokens):
        service.call("POST", "/trials/dose/ask", token, {"subject": f"p-{number}"})
    first, second = actors(service)
    assert first != second
    assert first.startswith("ward 3")
    assert second.startswith("ward 3")


def test_a_token_and_its_sessions_are_one(service: Service) -> None:
    service.create(algorithm="dp-se")
    token = service.access.issue("token", "operator", "ward 3")[0]
    service.call("POST", "/trials/dose/ask", token, {"subject": "p-1"})
    for subject in ("p-2", "p-3"):
        browser = TestClient(service.app, follow_redirects=False)
        assert browser.post("/sign-in", data={"secret": token}).status_code == 303
        send(browser, "/trials/dose/desk/assign", "/trials/dose/desk", subject=subject)
    assert len(actors(service)) == 3
    assert len(set(actors(service))) == 1


def test_sessions_of_two_links_are_two(service: Service) -> None:
    service.create(algorithm="dp-se")
    for subject in ("p-1", "p-2"):
        link = service.access.first_link(always=True)
        browser = TestClient(service.app, follow_redirects=False)
        assert browser.post("/sign-in", data={"secret": str(link)}).status_code == 303
        send(browser, "/trials/dose/desk/assign", "/trials/dose/desk", subject=subject)
    assert len(set(actors(service))) == 2


def test_the_desk_does_not_say_what_was_recorded(service: Service) -> None:
    service.create(algorithm="dp-se")
    operator = service.token("operator")
    assignment = service.call("POST", "/trials/dose/ask", operator, {"subject": "p"}).json()["assignment"]
    service.call("POST", "/trials/dose/tell", operator, {"assignment": assignment, "outcome": 1})
    desk = "/trials/dose/desk"
    browser = service.browser("operator")
    reviews = [words(send(browser, f"{desk}/review", desk, assignment=assignment, outcome=x)) for x in "01"]
    assert reviews[0].replace("Outcome no success (0)", "Outcome success (1)") == reviews[1]
    assert "is refused" not in reviews[0]
    again = words(send(browser, f"{desk}/record", desk, assignment=assignment, outcome="1"))
    assert "Already recorded" in again
    assert "this outcome" not in again
