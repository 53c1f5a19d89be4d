"""Fixtures of the service's tests: an application over a fresh store, and people with every role."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from bestarm.planning import Question
from bestarm.service import create_app
from bestarm.service.access import Access, Role
from bestarm.service.plans import Planner
from tests.service.running import DESIGN
from tests.service.wire import people, served
from tests.storage.places import place, postgres_place, postgres_server, sqlite_place
from tests.trial.people import arms_from

__all__ = ["DESIGN", "people", "place", "postgres_place", "postgres_server", "served", "sqlite_place"]


@pytest.fixture(autouse=True)
def arms_by_a_seed(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The coins for arms fall the same way in every run of a test."""
    arms_from(monkeypatch, request.node.name)


def quick_plan(question: Question) -> dict[str, Any]:
    """A plan of the right shape without a simulation."""
    point = {"standard_error": 1.0, "undecided": 0, "regime": "low-privacy"}
    curve = [
        {"epsilon": e, "expected_samples": 100 / e, "p90_samples": 150 / e, "lower_bound_refined": 40.0}
        | ({} if question.life.enrol is None else {"expected_days": 30 / e, "p90_days": 45 / e})
        | point
        for e in (0.01, 0.1, 1.0, 10.0)
    ]
    return {
        "means": [0.6, 0.4],
        "gap": question.gap,
        "delta": float(question.design.delta),
        "expected_samples": 100.0,
        "by_epsilon": curve,
        "without_privacy": 80.0,
        "sensitivity": [{"gap": 0.2, "expected_samples": 100.0}, {"gap": 0.1, "expected_samples": 390.0}],
    }


@dataclass
class Service:
    """An application and the tokens to use it."""

    app: FastAPI
    http: TestClient

    @property
    def access(self) -> Access:
        found: Access = self.app.state.access
        return found

    def token(self, role: Role, trial: str | None = None) -> str:
        """A new token."""
        return self.access.issue("token", role, f"the {role}", trial)[0]

    def call(self, method: str, path: str, token: str | None = None, body: Any = None) -> Any:
        """A request to the API."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.http.request(method, f"/api/v1{path}", headers=headers, json=body)

    def create(self, name: str = "dose", **changes: Any) -> None:
        """A trial."""
        answer = self.call("POST", "/trials", self.token("admin"), {"name": name} | DESIGN | changes)
        assert answer.status_code == 201, answer.text

    def browser(self, role: Role, trial: str | None = None) -> TestClient:
        """A browser that is signed in."""
        client = TestClient(self.app, base_url="http://testserver", follow_redirects=False)
        answer = client.post("/sign-in", data={"secret": self.token(role, trial)})
        assert answer.status_code == 303
        return client


@pytest.fixture
def service(sqlite_place: str) -> Iterator[Service]:
    """An application over an empty SQLite store."""
    app = create_app(sqlite_place, Planner(quick_plan))
    with TestClient(app, follow_redirects=False) as http:
        yield Service(app, http)
