"""A store that is full, cannot be written, or goes away: clients get a sentence, and may safely try again."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

import bestarm as ba
from bestarm.service import create_app
from bestarm.service.failures import AWAY, FULL, READ_ONLY
from bestarm.storage.sqlite import SQLiteStore
from bestarm.trial.trial import Trial
from tests.service.conftest import DESIGN, Service
from tests.service.running import Server
from tests.storage.database import Database


class Confined:
    """A SQLite store that tests can fill up or close to writers, with a service over it."""

    def __init__(self, place: str) -> None:
        self._store = SQLiteStore(place, create=True)
        self._pragma = ""
        sa.event.listen(self._store.engine, "connect", self._confine)
        self.app = create_app(self._store)

    def _confine(self, connection: Any, _: Any) -> None:
        if self._pragma:
            connection.execute(f"PRAGMA {self._pragma}")

    def confine(self, pragma: str) -> None:
        """From now on every connection begins with this."""
        self._pragma = pragma
        self._store.engine.dispose()

    def pages(self) -> int:
        """How many pages the file has."""
        with self._store.transaction() as connection:
            return int(connection.exec_driver_sql("PRAGMA page_count").scalar_one())


@pytest.fixture
def confined(sqlite_place: str) -> Iterator[tuple[Confined, Service]]:
    one = Confined(sqlite_place)
    with TestClient(one.app, follow_redirects=False) as http:
        yield one, Service(one.app, http)


def fill(service: Service, token: str, kept: dict[str, str]) -> Any:
    """Ask until nothing more goes in; the answer that said so."""
    for _ in range(5000):
        subject = f"p-{len(kept)}"
        answer = service.call("POST", "/trials/dose/ask", token, {"subject": subject})
        if answer.status_code != 200:
            return answer
        kept[subject] = answer.json()["assignment"]
    raise AssertionError("the store never filled up")


def check_kept(service: Service, token: str, kept: dict[str, str]) -> None:
    """Everything acknowledged is there, once, and the log fits."""
    said = service.call("POST", "/trials/dose/ask-many", token, {"subjects": list(kept)}).json()
    assert [one["assignment"] for one in said["assignments"]] == list(kept.values())
    trial: Trial = service.app.state.trials.find("dose")
    assert trial.verify().ok
    assert sum(trial.view().assigned) == len(kept)


def test_a_full_disk(confined: tuple[Confined, Service], caplog: pytest.LogCaptureFixture) -> None:
    one, service = confined
    service.create(algorithm="dp-se")
    token = service.token("operator")
    kept: dict[str, str] = {}
    kept["p-0"] = service.call("POST", "/trials/dose/ask", token, {"subject": "p-0"}).json()["assignment"]
    one.confine(f"max_page_count={one.pages() + 3}")
    for _ in range(3):
        refused = fill(service, token, kept)
        assert refused.status_code == 503
        assert refused.json()["detail"] == FULL
        assert refused.headers["retry-after"] == "1"
    assert "the store: SQLITE_FULL" in caplog.text
    assert service.call("GET", "/trials/dose/status", token).status_code == 200, "it can still be looked at"
    one.confine("")
    check_kept(service, token, kept)
    assert service.call("POST", "/trials/dose/ask", token, {"subject": f"p-{len(kept)}"}).status_code == 200


def test_a_file_that_can_only_be_read(confined: tuple[Confined, Service], caplog: pytest.LogCaptureFixture) -> None:
    one, service = confined
    service.create(algorithm="dp-se")
    token = service.token("operator")
    first = service.call("POST", "/trials/dose/ask", token, {"subject": "p-0"}).json()
    one.confine("query_only=ON")  # what SQLite says then is what it says of a file that is closed to writers
    for path, body in (
        ("ask", {"subject": "p-1"}),
        ("tell", {"assignment": first["assignment"], "outcome": 1}),
        ("withdraw", {"assignment": first["assignment"]}),
    ):
        refused = service.call("POST", f"/trials/dose/{path}", token, body)
        assert refused.status_code == 503
        assert refused.json()["detail"] == READ_ONLY
    assert "the store: SQLITE_READONLY" in caplog.text
    assert service.call("GET", "/trials/dose/status", token).status_code == 200
    one.confine("")
    check_kept(service, token, {"p-0": first["assignment"]})
    assert service.call("POST", "/trials/dose/ask", token, {"subject": "p-1"}).status_code == 200


def test_a_page_says_so_too(confined: tuple[Confined, Service]) -> None:
    one, service = confined
    one.confine("query_only=ON")
    answer = service.http.post("/sign-in", data={"secret": "bal_" + "x" * 43})
    assert answer.status_code == 503
    assert READ_ONLY in answer.text


@pytest.fixture
def database() -> Iterator[Database]:
    folder = tempfile.mkdtemp(prefix="bestarm-postgres-")  # pytest's own is closed to the user the server runs as
    try:
        one = Database(Path(folder))
    except Exception as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"No PostgreSQL server can be started here: {error!r}")
    yield one
    one.close()


def test_a_database_that_goes_away_and_comes_back(database: Database, tmp_path: Path) -> None:
    server = Server(database.url, tmp_path / "server.log")
    server.start()
    try:
        admin = server.token("admin")
        with ba.Client(server.url, token=admin) as client:
            trial = client.create(name="dose", **DESIGN | {"algorithm": "dp-se"})
            first = trial.ask("p-0")
            database.stop()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("bestarm.client.PAUSES", ())
                with pytest.raises(ba.OperationError) as refused:
                    trial.ask("p-1")
                assert str(refused.value) == AWAY
            answers: list[Any] = []
            waiting = threading.Thread(target=lambda: answers.append(trial.ask("p-1")))
            waiting.start()
            time.sleep(0.5)
            database.start()
            waiting.join(60)
            assert answers[0].id is not None, "who was patient was served"
            assert trial.ask("p-0") == first
            assert trial.ask("p-1") == answers[0]
            assert trial.verify().ok
            assert len(trial.open_assignments()) == 2
    finally:
        server.stop()
    assert "Traceback" not in server.said
