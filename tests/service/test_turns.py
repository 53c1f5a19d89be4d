"""Asking and telling the short way: the same answers as by the routes, and one commit for those who come together."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from bestarm.errors import OperationError
from bestarm.service.failures import AWAY
from bestarm.service.trials import Trials
from bestarm.trial.trial import Trial
from tests.service.conftest import Service

PATH = "/trials/dose"


def sent(service: Service, token: str | None, what: str, body: Any, path: str = PATH) -> tuple[int, Any, set[str]]:
    answer = service.call("POST", f"{path}/{what}", token, body)
    return answer.status_code, answer.json(), {name.lower() for name in answer.headers}


def by_the_routes(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> Any:
    """What is answered without the short way."""
    with monkeypatch.context() as patch:
        patch.setattr(Trials, "turns", lambda *_: None)
        return call()


def test_the_short_way_answers_as_the_routes_do(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.create()
    service.create(name="other")
    token, others, viewer = service.token("operator"), service.token("operator", "other"), service.token("viewer")
    admin = service.token("admin")
    _, first, _ = sent(service, token, "ask", {"subject": "p-0"})
    who = first["assignment"]
    assert sent(service, token, "tell", {"assignment": who, "outcome": 1})[1] == {"status": "recorded"}
    cases: list[tuple[str | None, str, Any, str]] = [
        (token, "ask", {"subject": "p-0"}, PATH),
        (token, "tell", {"assignment": who, "outcome": 1}, PATH),
        (token, "tell", {"subject": " P-0", "outcome": "1.0"}, PATH),
        (token, "tell", {"assignment": who, "outcome": 0}, PATH),
        (token, "tell", {"assignment": who, "outcome": 7}, PATH),
        (token, "tell", {"assignment": "9-nope", "outcome": 1}, PATH),
        (token, "tell", {"assignment": who, "subject": "p-0", "outcome": 1}, PATH),
        (token, "tell", {"assignment": who}, PATH),
        (token, "ask", {"subject": ""}, PATH),
        (token, "ask", {"subject": " "}, PATH),
        (token, "ask", {"subject": 7}, PATH),
        (token, "ask", {"subject": "p", "arm": "5 mg"}, PATH),
        (token, "ask", [], PATH),
        (None, "ask", {"subject": "p-0"}, PATH),
        ("bat_wrong", "ask", {"subject": "p-0"}, PATH),
        (viewer, "ask", {"subject": "p-0"}, PATH),
        (others, "ask", {"subject": "p-0"}, PATH),
        (token, "ask", {"subject": "p-0"}, "/trials/nowhere"),
    ]
    for holder, what, body, path in cases:
        short = sent(service, holder, what, body, path)
        assert short == by_the_routes(monkeypatch, partial(sent, service, holder, what, body, path)), (what, body)
    service.call("POST", f"{PATH}/pause", admin, {"reason": "stock"})
    paused = sent(service, token, "ask", {"subject": "p-9"})
    assert paused[0] == 409
    assert paused == by_the_routes(monkeypatch, lambda: sent(service, token, "ask", {"subject": "p-9"}))
    service.call("POST", f"{PATH}/end", admin, {"reason": "enough"})
    stopped = sent(service, token, "ask", {"subject": "p-9"})
    assert stopped[1]["stopped"]
    assert stopped == by_the_routes(monkeypatch, lambda: sent(service, token, "ask", {"subject": "p-9"}))


def test_bodies_that_are_none_are_left_to_the_routes(service: Service) -> None:
    service.create()
    token = service.token("operator")
    sent(service, token, "ask", {"subject": "p-0"})
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    for content in (b"", b"{", b"\xff", b"[" * 100_000, b'{"subject": "\\ud800"}'):
        answer = service.http.post(f"/api/v1{PATH}/ask", content=content, headers=headers)
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
    large = service.http.post(f"/api/v1{PATH}/ask", content=b" " * (3 * 2**20), headers=headers)
    assert large.status_code == 413


class Held:
    """A trial whose writer waits until all who are to come together are there."""

    def __init__(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        self.service = service
        service.create(algorithm="dp-se")
        self.token = service.token("operator")
        self.trial: Trial = service.app.state.trials.find("dose")
        self.commits: list[int] = []
        together = Trial.together

        def counting(trial: Trial, requests: Any) -> Any:
            self.commits.append(len(requests))
            return together(trial, requests)

        monkeypatch.setattr(Trial, "together", counting)

    def at_once(self, bodies: list[tuple[str, Any]], tokens: tuple[str, ...] = ()) -> list[tuple[int, Any, set[str]]]:
        """All of these requests while the trial is held, so that none is heard before all have come; by an operator, or
        by the holders of these tokens in turn."""
        holders = tokens or (self.token,)
        answers: list[Any] = [None] * len(bodies)

        def call(number: int) -> None:
            answers[number] = sent(self.service, holders[number % len(holders)], *bodies[number])

        turns = self.service.app.state.trials.turns("dose")
        threads = [threading.Thread(target=call, args=(number,)) for number in range(len(bodies))]
        with self.trial._lock:
            threads[0].start()
            while not self.commits:  # the first one is with the writer, which waits for the trial
                pass
            for thread in threads[1:]:
                thread.start()
            while len(turns._waiting) < len(bodies) - 1:
                pass
        for thread in threads:
            thread.join()
        return answers


def test_those_who_come_together_share_a_commit(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(service, monkeypatch)
    answers = held.at_once([("ask", {"subject": f"p-{n % 20}"}) for n in range(30)])
    assert held.commits == [1, 29]
    assert {status for status, _, _ in answers} == {200}
    assert len({said["assignment"] for _, said, _ in answers}) == 20
    for number in range(20):
        assert held.trial.ask(f"p-{number}").id == answers[number][1]["assignment"]
    assert held.trial.verify().ok


def test_one_that_is_refused_does_not_undo_its_neighbours(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(service, monkeypatch)
    known = held.trial.ask("p-0").id
    held.commits.clear()
    bodies: list[tuple[str, Any]] = [("ask", {"subject": "p-1"}), ("tell", {"assignment": known, "outcome": 1})]
    bodies += [("tell", {"assignment": "9-nope", "outcome": 1}), ("ask", {"subject": " "}), ("ask", {"subject": "p-2"})]
    answers = held.at_once(bodies)
    assert [status for status, _, _ in answers] == [200, 200, 422, 422, 200]
    assert held.commits[0] == 1
    assert sum(held.commits) == 4, "who could not be heard at all did not come so far"
    assert sum(held.trial.view().assigned) == 3
    assert len(held.trial.open_assignments()) == 2
    assert held.trial.verify().ok


def test_everybody_in_a_crowd_is_let_in_by_their_own_token(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(service, monkeypatch)
    tokens = (
        held.token,
        service.token("viewer"),
        service.token("admin"),
        "bat_wrong",
        service.token("operator", "other"),
    )
    answers = held.at_once([("ask", {"subject": f"p-{n}"}) for n in range(21)], tokens)
    assert [status for status, _, _ in answers] == [[200, 403, 200, 401, 404][n % 5] for n in range(21)]
    assert held.commits[-1] == 8, "those who came together share a commit"
    assert sum(held.trial.view().assigned) == 9


def test_a_commit_that_fails_belongs_to_all(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(service, monkeypatch)
    counting = Trial.together

    def failing(trial: Trial, requests: Any) -> Any:
        held.commits.append(len(requests))
        with trial._lock:
            raise OperationError("The store could not be used.") from sqlite3.OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(Trial, "together", failing)
        answers = held.at_once([("ask", {"subject": f"p-{n}"}) for n in range(5)])
    assert {(status, said["detail"]) for status, said, _ in answers} == {(503, AWAY)}
    assert Trial.together is counting
    assert sum(held.trial.view().assigned) == 0
    held.commits.clear()
    assert {status for status, _, _ in held.at_once([("ask", {"subject": f"p-{n}"}) for n in range(5)])} == {200}


def test_an_error_that_nobody_foresaw_is_answered_too(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.create()
    token = service.token("operator")
    sent(service, token, "ask", {"subject": "p-0"})
    with monkeypatch.context() as patch:
        patch.setattr(service.access, "find_all", lambda *_: 1 / 0)
        assert sent(service, token, "ask", {"subject": "p-0"})[0] == 500
    assert sent(service, token, "ask", {"subject": "p-0"})[0] == 200


def test_a_writer_ends_when_nobody_comes_and_another_begins(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestarm.service.turns.IDLE", 0.01)
    service.create()
    token = service.token("operator")
    others = set(threading.enumerate())  # writers of other tests, which are more patient
    for _ in range(3):
        assert sent(service, token, "ask", {"subject": "p-0"})[0] == 200
        writers = [thread for thread in threading.enumerate() if thread.name == "turns" and thread not in others]
        for writer in writers:
            writer.join(30)
            assert not writer.is_alive()


def test_a_token_that_was_taken_back_is_refused_at_once(service: Service) -> None:
    service.create()
    token = service.token("operator")
    assert sent(service, token, "ask", {"subject": "p-0"})[0] == 200
    (grant,) = [one for one in service.access.grants() if one.role == "operator"]
    service.access.end(grant.id)
    assert sent(service, token, "ask", {"subject": "p-0"})[0] == 401
