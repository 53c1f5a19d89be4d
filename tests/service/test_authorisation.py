"""Who may do what, endpoint by endpoint and role by role."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.service.conftest import DESIGN, Service

NOBODY, VIEWER, OPERATOR, ADMIN, WHOLE = "nobody", "viewer", "operator", "admin of the trial", "admin"
EVERYBODY: Final = (NOBODY, VIEWER, OPERATOR, ADMIN, WHOLE)

ENDPOINTS: Final[dict[tuple[str, str], str]] = {
    ("GET", "/api/v1/health"): NOBODY,
    ("GET", "/api/v1/ready"): NOBODY,
    ("GET", "/api/v1/me"): VIEWER,
    ("GET", "/api/v1/algorithms"): VIEWER,
    ("POST", "/api/v1/bounds"): VIEWER,
    ("POST", "/api/v1/plan"): VIEWER,
    ("GET", "/api/v1/trials"): VIEWER,
    ("POST", "/api/v1/trials"): WHOLE,
    ("GET", "/api/v1/trials/{trial}"): VIEWER,
    ("DELETE", "/api/v1/trials/{trial}"): WHOLE,
    ("GET", "/api/v1/trials/{trial}/status"): VIEWER,
    ("GET", "/api/v1/trials/{trial}/verdict"): VIEWER,
    ("GET", "/api/v1/trials/{trial}/ledger"): VIEWER,
    ("GET", "/api/v1/trials/{trial}/report"): VIEWER,
    ("GET", "/api/v1/trials/{trial}/report.html"): VIEWER,
    ("POST", "/api/v1/trials/{trial}/ask"): OPERATOR,
    ("POST", "/api/v1/trials/{trial}/ask-many"): OPERATOR,
    ("POST", "/api/v1/trials/{trial}/tell"): OPERATOR,
    ("POST", "/api/v1/trials/{trial}/tell-many"): OPERATOR,
    ("POST", "/api/v1/trials/{trial}/correct"): OPERATOR,
    ("POST", "/api/v1/trials/{trial}/withdraw"): OPERATOR,
    ("GET", "/api/v1/trials/{trial}/open"): OPERATOR,
    ("GET", "/api/v1/trials/{trial}/staff"): OPERATOR,
    ("POST", "/api/v1/trials/{trial}/look-up"): OPERATOR,
    ("POST", "/api/v1/trials/{trial}/relabel"): OPERATOR,
    ("POST", "/api/v1/trials/{trial}/void"): OPERATOR,
    ("POST", "/api/v1/trials/{trial}/pause"): ADMIN,
    ("POST", "/api/v1/trials/{trial}/resume"): ADMIN,
    ("POST", "/api/v1/trials/{trial}/end"): ADMIN,
    ("GET", "/api/v1/trials/{trial}/verify"): ADMIN,
    ("GET", "/api/v1/trials/{trial}/gathering"): ADMIN,
    ("POST", "/api/v1/trials/{trial}/gather"): ADMIN,
    ("POST", "/api/v1/halves/{trial}"): OPERATOR,
    ("POST", "/api/v1/halves/{trial}/held"): ADMIN,
    ("POST", "/api/v1/halves/{trial}/add-up"): ADMIN,
    ("GET", "/api/v1/tokens"): WHOLE,
    ("POST", "/api/v1/tokens"): WHOLE,
    ("POST", "/api/v1/view-links"): WHOLE,
    ("DELETE", "/api/v1/tokens/{number}"): WHOLE,
    ("GET", "/api/v1/webhooks"): WHOLE,
    ("POST", "/api/v1/webhooks"): WHOLE,
    ("DELETE", "/api/v1/webhooks/{number}"): WHOLE,
}
"""The least that each endpoint asks for."""

BODIES: Final[dict[str, Any]] = {
    "/api/v1/bounds": {"means": [0.6, 0.4], "epsilon": 1.0, "delta": 0.1},
    "/api/v1/plan": {"arms": 2, "gap": 0.2, "epsilon": 1.0, "delta": 0.1, "algorithm": "dp-se"},
    "/api/v1/trials": {"name": "new"} | DESIGN,
    "/api/v1/trials/{trial}/ask": {"subject": "p"},
    "/api/v1/trials/{trial}/ask-many": {"subjects": ["p"]},
    "/api/v1/trials/{trial}/tell": {"assignment": "1-zzzz", "outcome": 1},
    "/api/v1/trials/{trial}/tell-many": {"outcomes": []},
    "/api/v1/trials/{trial}/correct": {"assignment": "1-zzzz", "outcome": 1, "reason": "slip"},
    "/api/v1/trials/{trial}/withdraw": {"assignment": "1-zzzz"},
    "/api/v1/trials/{trial}/look-up": {"subject": "p"},
    "/api/v1/trials/{trial}/relabel": {"assignment": "1-zzzz", "subject": "p", "reason": "slip"},
    "/api/v1/trials/{trial}/void": {"assignment": "1-zzzz", "duplicate_of": "p", "reason": "slip"},
    "/api/v1/trials/{trial}/pause": {},
    "/api/v1/trials/{trial}/resume": {},
    "/api/v1/trials/{trial}/end": {"reason": "safety"},
    "/api/v1/trials/{trial}/gather": {"stage": 1, "assignments": [], "sums": [0]},
    "/api/v1/halves/{trial}": {"assignment": "1-zzzz", "stage": 1, "people": 2, "epsilon": "1", "half": [5]},
    "/api/v1/halves/{trial}/held": {"stage": 1},
    "/api/v1/halves/{trial}/add-up": {"stage": 1, "assignments": []},
    "/api/v1/tokens": {"role": "viewer", "label": "board"},
    "/api/v1/webhooks": {"url": "https://example.org/"},
    "/api/v1/view-links": {"trial": "dose", "label": "board"},
}


def _tokens(service: Service) -> dict[str, str | None]:
    return {
        NOBODY: None,
        VIEWER: service.token("viewer"),
        OPERATOR: service.token("operator"),
        ADMIN: service.token("admin", "dose"),
        WHOLE: service.token("admin"),
    }


def _call(service: Service, method: str, path: str, token: str | None, trial: str = "dose") -> Any:
    address = path.removeprefix("/api/v1").format(trial=trial, number=999999)
    return service.call(method, address, token, BODIES.get(path) if method == "POST" else None)


def test_the_matrix_names_every_endpoint(service: Service) -> None:
    paths = service.app.openapi()["paths"]
    assert {(method.upper(), path) for path in paths for method in paths[path]} == set(ENDPOINTS)


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_each_role_is_let_in_or_turned_away(service: Service, method: str, path: str) -> None:
    service.create()
    least = EVERYBODY.index(ENDPOINTS[method, path])
    for place, (who, token) in enumerate(_tokens(service).items()):
        answer = _call(service, method, path, token)
        if place >= least:
            assert answer.status_code not in (401, 403), (who, answer.text)
            assert answer.status_code < 500, (who, answer.text)
        else:
            assert answer.status_code == (401 if who == NOBODY else 403), (who, answer.text)


@pytest.mark.parametrize(("method", "path"), [key for key in ENDPOINTS if "{trial}" in key[1]])
def test_a_token_for_one_trial_does_not_reach_or_find_another(service: Service, method: str, path: str) -> None:
    service.create()
    service.create("other")
    token = service.token("admin", "dose")
    there = _call(service, method, path, token, "other")
    nowhere = _call(service, method, path, token, "no such trial")
    assert there.status_code == nowhere.status_code == 404
    assert there.json() == nowhere.json()


def test_lists_show_only_what_the_token_reaches(service: Service) -> None:
    service.create()
    service.create("other")
    assert service.call("GET", "/trials", service.token("viewer", "dose")).json() == {"trials": ["dose"]}
    assert service.call("GET", "/trials", service.token("viewer")).json() == {"trials": ["dose", "other"]}


def test_subjects_are_the_same_to_those_who_may_not_know(service: Service) -> None:
    service.create()
    service.call("POST", "/trials/dose/ask", service.token("operator"), {"subject": "here"})
    for token in (None, service.token("viewer"), service.token("operator", "other")):
        known, unknown = (service.call("POST", "/trials/dose/ask", token, {"subject": s}) for s in ("here", "nobody"))
        assert known.status_code in (401, 403, 404)
        assert known.json() == unknown.json()


def test_secrets_of_other_kinds_are_no_tokens(service: Service) -> None:
    service.create()
    link = service.access.first_link(always=True)
    view = service.access.issue("view", "viewer", "board", "dose")[0]
    signed_in = service.access.sign_in(service.token("admin"))
    assert link is not None
    assert signed_in is not None
    for secret in (link, view, signed_in[0], "", "bat_", "bat_" + "x" * 43, "rubbish"):
        assert service.call("GET", "/me", secret).status_code == 401
    token = service.token("viewer")
    basic = service.http.get("/api/v1/me", headers={"Authorization": f"Basic {token}"})
    assert basic.status_code == 401
    assert basic.headers["www-authenticate"] == "Bearer"


def test_tokens_are_made_listed_and_taken_back(service: Service) -> None:
    service.create()
    admin = service.token("admin")
    made = service.call("POST", "/tokens", admin, {"role": "operator", "label": "ward 3", "trial": "dose"}).json()
    assert service.call("GET", "/me", made["secret"]).json() == {
        "role": "operator",
        "trial": "dose",
        "label": "ward 3",
    }
    listed = service.call("GET", "/tokens", admin).text
    assert "ward 3" in listed
    assert made["secret"] not in listed
    browser = service.http
    assert browser.post("/sign-in", data={"secret": made["secret"]}).status_code == 303
    assert browser.get("/").status_code == 200
    assert service.call("DELETE", f"/tokens/{made['id']}", admin).status_code == 204
    assert service.call("DELETE", f"/tokens/{made['id']}", admin).status_code == 404
    assert service.call("GET", "/me", made["secret"]).status_code == 401
    assert browser.get("/").status_code == 303, "a session ends with its token"
    assert service.call("POST", "/tokens", admin, {"role": "viewer", "label": "x", "trial": "none"}).status_code == 404


def test_the_first_link_works_once_and_only_where_no_administrator_is(service: Service) -> None:
    link = service.access.first_link()
    assert link is not None
    assert service.http.post("/sign-in", data={"secret": link}).status_code == 303
    assert service.http.get("/").status_code == 200
    service.http.cookies.clear()
    assert service.http.post("/sign-in", data={"secret": link}).status_code == 401
    assert service.access.first_link() is not None
    service.token("admin", "dose")
    assert service.access.first_link() is not None, "an administrator of one trial cannot run the service"
    service.token("admin")
    assert service.access.first_link() is None
    assert service.access.first_link(always=True) is not None


def test_links_and_sessions_expire(service: Service) -> None:
    now = 1_800_000_000.0
    service.access._clock = lambda: now
    link = service.access.first_link()
    token = service.token("viewer")
    session = service.access.sign_in(token)
    assert link is not None
    assert session is not None
    assert service.access.find(session[0]) is not None
    now += 3601
    assert service.access.sign_in(link) is None
    now += 12 * 3600
    assert service.access.find(session[0]) is None
    assert service.access.find(token) is not None
