"""The API means what the library means."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from bestarm.service import create_app
from bestarm.service.access import Access
from bestarm.storage import open_store
from bestarm.trial.trial import Trial
from tests.service.conftest import DESIGN, Service


def test_a_trial_over_http_on_either_store(place: str) -> None:
    app = create_app(place)
    token = app.state.access.issue("token", "admin", "boss")[0]
    with TestClient(app) as http:
        http.headers["Authorization"] = f"Bearer {token}"
        made = http.post("/api/v1/trials", json={"name": "dose/a"} | DESIGN)
        assert made.status_code == 422
        made = http.post("/api/v1/trials", json={"name": "dose ä?#%"} | DESIGN)
        assert made.status_code == 201
        assert made.json()["design"]["epsilon"] == "1"
        base = "/api/v1/trials/dose%20%C3%A4%3F%23%25"
        asked = http.post(f"{base}/ask", json={"subject": "p-1"}).json()
        assert asked["arm"] in DESIGN["arms"]
        assert http.post(f"{base}/ask", json={"subject": "p-1"}).json() == asked
        told = {"assignment": asked["assignment"], "outcome": 1}
        assert http.post(f"{base}/tell", json=told).json() == {"status": "recorded"}
        assert http.post(f"{base}/tell", json=told).json() == {"status": "already recorded"}
        assert http.post(f"{base}/tell", json=told | {"outcome": 0}).status_code == 422
        status = http.get(f"{base}/status").json()
        assert status["releases"][0]["arms"] == [asked["arm"]]
        assert status["releases"][0]["sizes"] == [1]
        assert status["epsilon_spent"] == 1.0
        assert http.get(f"{base}/verdict").json() == {"verdict": None}
        assert "not the sum" in http.get(f"{base}/ledger").json()["why"]
        assert http.get(f"{base}/verify").json()["ok"] is True
    with Trial.open(place, name="dose ä?#%") as trial:
        assert trial.ask("p-1").id == asked["assignment"]


def test_many_at_once_and_open_assignments(service: Service) -> None:
    service.create()
    operator = service.token("operator")
    answer = service.call("POST", "/trials/dose/ask-many", operator, {"subjects": ["a", "b", "a"]})
    first, second, again = answer.json()["assignments"]
    assert first == again
    waiting = service.call("GET", "/trials/dose/open", operator).json()["assignments"]
    assert [one["assignment"] for one in waiting] == [first["assignment"], second["assignment"]]
    for page, there in (("start=1", waiting[1:]), ("most=1", waiting[:1]), ("start=1&most=5", waiting[1:])):
        assert service.call("GET", f"/trials/dose/open?{page}", operator).json()["assignments"] == there
    for page in ("start=-1", "most=0", "most=x", f"start={10**30}"):
        assert service.call("GET", f"/trials/dose/open?{page}", operator).status_code == 422
    bad = [{"assignment": first["assignment"], "outcome": 1}, {"assignment": "99-abcd", "outcome": 0}]
    assert service.call("POST", "/trials/dose/tell-many", operator, {"outcomes": bad}).status_code == 422
    assert len(service.call("GET", "/trials/dose/open", operator).json()["assignments"]) == 2
    good = [bad[0], {"assignment": second["assignment"], "outcome": "0"}]
    told = service.call("POST", "/trials/dose/tell-many", operator, {"outcomes": good})
    assert told.json() == {"statuses": ["recorded", "recorded"]}
    assert service.call("GET", "/trials/dose/open", operator).json() == {"assignments": []}


def test_correct_withdraw_pause_resume_end(service: Service) -> None:
    service.create(max_participants=50, algorithm="dp-se")
    admin = service.token("admin")

    def do(what: str, **body: Any) -> Any:
        return service.call("POST", f"/trials/dose/{what}", admin, body)

    first, second = (do("ask", subject=s).json()["assignment"] for s in ("a", "b"))
    do("tell", assignment=first, outcome=1)
    assert do("correct", assignment=first, outcome=0, reason="slip").json() == {"status": "corrected"}
    assert do("correct", assignment=first, outcome=0, reason="").status_code == 422
    assert do("withdraw", assignment=second).json() == {"status": "withdrawn"}
    assert do("pause", reason="stock").json() == {"status": "paused"}
    refused = do("ask", subject="c")
    assert refused.status_code == 409
    assert "paused" in refused.json()["detail"]
    assert do("resume").json() == {"status": "resumed"}
    assert do("end", reason="safety").json() == {"status": "stopped"}
    stopped = do("ask", subject="c").json()
    assert stopped["stopped"] is True
    ended = stopped["verdict"]
    assert ended == {"arm": None, "reason": "safety", "by": "ended", "caveat": None, "at": ended["at"]}
    assert ended["at"].endswith(":00:00+00:00"), "without a follow-up, the hour"
    actors = {event.actor for event in _events(service)}
    assert any(re.fullmatch(r"the admin #\d+", actor) for actor in actors)


def _events(service: Service) -> list[Any]:
    with service.app.state.trials.store.reading("dose") as reading:
        return list(reading.events())


def test_errors_are_problems_with_one_sentence(service: Service) -> None:
    service.create()
    admin = service.token("admin")
    cases = [
        ("POST", "/trials", {"name": "x"} | DESIGN | {"delta": "2"}, 422, "between 0 and 1"),
        ("POST", "/trials", {"name": "dose"} | DESIGN, 422, "already a trial"),
        ("POST", "/trials", {"name": "x"} | DESIGN | {"algorithm": "os:path"}, 422, "catalogue"),
        ("POST", "/plan", {"arms": 2, "gap": 0.2, "epsilon": 1.0, "algorithm": "this:s"}, 422, "no algorithm 'this:s'"),
        ("POST", "/trials", {"name": "x"} | DESIGN | {"colour": "red"}, 422, "colour is not known"),
        ("POST", "/trials", {"name": "x", "arms": ["a", "b"]}, 422, "delta is required"),
        ("GET", "/trials/none/status", None, 404, "no trial of this name"),
        ("POST", "/trials/dose/tell", {"assignment": "1-zzzz", "outcome": 1}, 422, "no assignment"),
        ("POST", "/bounds", {"means": [0.5, 0.5], "epsilon": 1, "delta": 0.1}, 422, "best"),
        ("GET", "/nowhere", None, 404, "nothing at this address"),
        ("PUT", "/trials", {}, 405, "does not take this method"),
    ]
    for method, path, body, status, said in cases:
        answer = service.call(method, path, admin, body)
        assert answer.status_code == status, (path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert said in problem["detail"], problem
        assert problem["status"] == status


def test_a_body_that_is_too_large_or_no_json(service: Service) -> None:
    service.create()
    headers = {"Authorization": f"Bearer {service.token('operator')}", "Content-Type": "application/json"}
    large = service.http.post("/api/v1/trials/dose/ask", headers=headers, content=b"x" * (2**21 + 1))
    assert large.status_code == 413
    broken = service.http.post("/api/v1/trials/dose/ask", headers=headers, content=b"{")
    assert broken.status_code == 422
    assert "JSON" in broken.json()["detail"]


def test_a_store_that_fails_is_not_described(service: Service, sqlite_place: str) -> None:
    service.create()
    operator = service.token("operator")
    store = service.app.state.trials.store
    with store.engine.connect() as connection:
        connection.exec_driver_sql("ALTER TABLE events RENAME TO gone")
        connection.commit()
    answer = service.call("POST", "/trials/dose/ask", operator, {"subject": "p-1"})
    assert answer.status_code == 503
    assert sqlite_place not in answer.text
    assert "events" not in answer.text


def test_report_holds_only_what_is_public(service: Service) -> None:
    service.create()
    viewer = service.token("viewer")
    data = service.call("GET", "/trials/dose/report", viewer).json()
    assert {"design", "status", "ledger", "head"} <= set(data)
    page = service.call("GET", "/trials/dose/report.html", viewer)
    assert page.headers["content-type"].startswith("text/html")
    assert "sha256-" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]


def test_bounds_algorithms_and_plan(service: Service) -> None:
    viewer = service.token("viewer")
    found = service.call("POST", "/bounds", viewer, {"means": [0.95, 0.9, 0.5], "epsilon": 0.1, "delta": 0.01}).json()
    assert found["lower_bound_refined"] >= found["lower_bound"] > 0
    assert {"t_kl", "allocation", "regime_epsilon"} <= set(found)
    names = [one["name"] for one in service.call("GET", "/algorithms", viewer).json()["algorithms"]]
    assert "adap-tt" in names
    question = {"arms": 2, "gap": 0.2, "epsilon": 1.0, "delta": 0.1, "algorithm": "dp-se"}
    for _ in range(100):
        answer = service.call("POST", "/plan", viewer, question)
        if answer.status_code == 200:
            break
        assert answer.status_code == 202
        assert answer.json() == {"state": "computing"}
        time.sleep(0.01)
    assert answer.json()["plan"]["by_epsilon"]
    assert service.call("POST", "/plan", viewer, question | {"gap": 1.5}).status_code == 422


def test_the_openapi_document_is_public_and_has_examples(service: Service) -> None:
    described = service.http.get("/openapi.json").json()
    assert all(path.startswith("/api/v1/") for path in described["paths"])
    schemas = described["components"]["schemas"]
    assert "HTTPValidationError" not in json.dumps(described)
    for name in ("NewTrial", "Ask", "Tell", "PlanRequest", "BoundsQuestion", "NewToken", "Problem"):
        text = json.dumps(schemas[name])
        assert "example" in text, name


def test_an_old_view_is_not_shown_after_a_change(service: Service) -> None:
    service.create()
    operator = service.token("operator")
    for number in range(3):
        service.call("POST", "/trials/dose/ask", operator, {"subject": f"p-{number}"})
        status = service.call("GET", "/trials/dose/status", operator).json()
        assert sum(status["assigned"].values()) == number + 1


def test_changes_by_another_process_are_seen(service: Service, sqlite_place: str) -> None:
    service.create()
    viewer = service.token("viewer")
    before = service.call("GET", "/trials/dose/status", viewer).json()
    with Trial.open(sqlite_place, name="dose") as trial:
        trial.ask("p-1")
    after = service.call("GET", "/trials/dose/status", viewer).json()
    assert sum(before["assigned"].values()) + 1 == sum(after["assigned"].values())


def test_secrets_are_not_kept(sqlite_place: str) -> None:
    store = open_store(sqlite_place, create=True)
    access = Access(store)
    token, link = access.issue("token", "admin", "boss")[0], access.first_link(always=True)
    session = access.sign_in(token)
    assert session is not None
    store.close()
    kept = b"".join(file.read_bytes() for file in Path(sqlite_place).parent.iterdir())
    assert b"boss" in kept
    for secret in (token, link, session[0]):
        assert secret is not None
        assert secret.encode() not in kept
        assert secret[8:30].encode() not in kept


@pytest.mark.parametrize("value", ["0.7", 0.7, "nan", "Infinity", "1e400", "", "one", 2, -1, "0_1", "١"])
def test_an_outcome_that_is_refused_is_not_repeated(service: Service, value: object) -> None:
    service.create()
    operator = service.token("operator")
    assignment = service.call("POST", "/trials/dose/ask", operator, {"subject": "p"}).json()["assignment"]
    body = {"assignment": assignment, "outcome": value}
    answer = service.call("POST", "/trials/dose/tell", operator, body)
    assert answer.status_code == 422
    assert answer.json()["detail"].endswith("an outcome of this trial is 0 or 1.")
