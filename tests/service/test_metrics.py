"""What monitoring is told: counts and times of requests, to whoever has the secret; nothing of any trial."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bestarm.cli import main
from bestarm.service import create_app
from bestarm.service.metrics import BOUNDS, Metrics, added, secret_in
from tests.service.conftest import Service

SECRET = "a-long-enough-secret"
LINE = re.compile(r'(bestarm_\w+)\{method="(\w+)",route="([^"]+)"(?:,(?:status|le)="([^"]+)")?\} ([0-9.]+)')


@pytest.fixture
def watched(sqlite_place: str) -> Iterator[Service]:
    app = create_app(sqlite_place, metrics=Metrics(SECRET))
    with TestClient(app, follow_redirects=False) as http:
        yield Service(app, http)


def read(service: Service) -> dict[tuple[str, ...], float]:
    answer = service.http.get("/metrics", headers={"Authorization": f"Bearer {SECRET}"})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    said = [line for line in answer.text.splitlines() if not line.startswith("# ")]
    found = [LINE.fullmatch(line) for line in said]
    assert all(found), "every line is a sample"
    return {match.groups("")[:4]: float(match[5]) for match in found if match is not None}


def test_requests_are_counted_by_route_and_by_how_they_ended(watched: Service) -> None:
    watched.create(name="very secret name")
    token = watched.token("operator")
    path = "/trials/very secret name"
    asked = [watched.call("POST", f"{path}/ask", token, {"subject": f"p-{n}"}).json() for n in range(3)]
    watched.call("POST", f"{path}/tell", token, {"assignment": asked[0]["assignment"], "outcome": 1})
    watched.call("POST", f"{path}/tell", token, {"assignment": asked[1]["assignment"], "outcome": 7})
    watched.http.get("/static/style.css")
    watched.http.get("/nothing/here")
    watched.http.request("BREW", "/sign-in")
    found = read(watched)
    route = "/api/v1/trials/{trial}"
    assert found["bestarm_requests_total", "POST", f"{route}/ask", "2xx"] == 3
    assert found["bestarm_requests_total", "POST", f"{route}/tell", "2xx"] == 1
    assert found["bestarm_requests_total", "POST", f"{route}/tell", "4xx"] == 1
    assert found["bestarm_requests_total", "GET", "files", "2xx"] == 1
    assert found["bestarm_requests_total", "GET", "unknown", "4xx"] == 1
    assert found["bestarm_requests_total", "other", "/sign-in", "4xx"] == 1
    buckets = [found["bestarm_request_seconds_bucket", "POST", f"{route}/ask", f"{b:g}"] for b in BOUNDS]
    assert buckets == sorted(buckets)
    assert found["bestarm_request_seconds_bucket", "POST", f"{route}/ask", "+Inf"] == 3
    assert found["bestarm_request_seconds_count", "POST", f"{route}/ask", ""] == 3
    assert found["bestarm_request_seconds_sum", "POST", f"{route}/ask", ""] > 0
    assert found["bestarm_requests_total", "POST", "/api/v1/trials", "2xx"] == 1


def test_nothing_of_a_trial_is_in_it(watched: Service) -> None:
    watched.create(name="very secret name", arms=["placebo", "verum"])
    link = watched.access.issue("view", "viewer", "board", "very secret name")[0]
    token = watched.token("operator")
    watched.call("POST", "/trials/very secret name/ask", token, {"subject": "p-77"})
    watched.http.get(f"/view/{link}")
    said = watched.http.get("/metrics", headers={"Authorization": f"Bearer {SECRET}"}).text
    assert "/view/{link}" in said
    for secret in ("secret name", "placebo", "verum", "p-77", link, token, SECRET):
        assert secret not in said


def test_only_for_whoever_has_the_secret(watched: Service, service: Service) -> None:
    wrong = [{}, {"Authorization": SECRET}, {"Authorization": "Bearer "}, {"Authorization": f"Basic {SECRET}"}]
    wrong += [{"Authorization": f"Bearer {watched.token('admin')}"}, {"Authorization": b"Bearer \xff\xfe"}]  # type: ignore[dict-item]
    for headers in wrong:
        answer = watched.http.get("/metrics", headers=headers)
        assert answer.status_code == 401
        assert "bestarm_" not in answer.text
    assert service.http.get("/metrics", headers={"Authorization": f"Bearer {SECRET}"}).status_code == 404


def test_workers_counts_are_added_up(tmp_path: Path) -> None:
    workers = [Metrics(SECRET, tmp_path) for _ in range(3)]
    for number, worker in enumerate(workers):
        for _ in range(number + 1):
            worker.note("POST", "/ask", 200, 0.003)
        worker.keep()
    workers[0].note("POST", "/ask", 0, 100.0)
    said = {worker.text() for worker in workers[1:]}
    assert len(said) == 1
    assert 'bestarm_requests_total{method="POST",route="/ask",status="2xx"} 6' in said.pop()
    own = workers[0].text()  # its own counts are never late
    assert 'bestarm_requests_total{method="POST",route="/ask",status="none"} 1' in own
    assert 'bestarm_request_seconds_bucket{method="POST",route="/ask",le="10"} 6' in own
    assert 'bestarm_request_seconds_bucket{method="POST",route="/ask",le="+Inf"} 7' in own
    assert added([]) == {}


@pytest.mark.parametrize("text", ["short", "", "two words that are long", "ü" * 20])
def test_a_secret_that_is_none(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "secret"
    file.write_text(text, encoding="utf-8")
    assert main(["serve", "--store", str(tmp_path / "t.db"), "--metrics", str(file)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["serve", "--store", str(tmp_path / "t.db"), "--metrics", str(tmp_path / "none")]) == 2
    file.write_text(f"{SECRET}\n")
    assert secret_in(file) == SECRET


def test_health_and_readiness(service: Service) -> None:
    assert service.call("GET", "/health").json()["status"] == "ok"
    assert service.call("GET", "/ready").json() == {"status": "ready"}


def test_no_collector_of_the_machine_is_told_of_requests(service: Service) -> None:
    # Newer frameworks would describe every request, addresses with the secrets of view links included.
    telemetry = getattr(service.app, "_native_telemetry", None)
    if telemetry is None:
        pytest.skip("This framework has no telemetry of its own.")
    assert not telemetry.enabled()
