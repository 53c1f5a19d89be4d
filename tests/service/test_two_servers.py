"""Two servers, or two workers, on one PostgreSQL store: it does not matter which of them is asked."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from starlette.testclient import TestClient

from bestarm.service import create_app
from bestarm.service.hooks import CLAIM, Hooks
from bestarm.service.plans import Planner
from bestarm.service.sending import Sender
from bestarm.storage import open_store
from bestarm.trial.desk import MOST_REPEATS
from bestarm.trial.trial import Trial
from tests.service.conftest import Service, quick_plan
from tests.service.test_webhooks import PLAN, Listener
from tests.trial.people import ChosenNoise


@pytest.fixture
def pair(postgres_place: str) -> Iterator[tuple[Service, Service]]:
    apps = [create_app(postgres_place, Planner(quick_plan)) for _ in range(2)]
    with TestClient(apps[0], follow_redirects=False) as first, TestClient(apps[1], follow_redirects=False) as second:
        yield Service(apps[0], first), Service(apps[1], second)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What each gives, all of them called at the same time."""
    ready = threading.Barrier(len(calls))
    found: list[Any] = [None] * len(calls)

    def run(number: int) -> None:
        ready.wait()
        found[number] = calls[number]()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_sessions_are_good_and_end_everywhere(pair: tuple[Service, Service]) -> None:
    here, there = pair
    here.create()
    browser, other = here.browser("admin"), TestClient(there.app, follow_redirects=False)
    other.cookies = browser.cookies
    page = other.get("/trials/dose")
    assert page.status_code == 200
    token = here.token("operator")
    assert there.call("GET", "/me", token).json()["role"] == "operator"
    (grant,) = [g for g in here.access.grants() if g.role == "operator"]
    assert there.access.end(grant.id)
    assert here.call("GET", "/me", token).status_code == 401
    found = re.search(r'name="csrf" value="(\w+)"', page.text)
    assert found is not None
    assert other.post("/sign-out", data={"csrf": found[1]}).status_code == 303
    assert browser.get("/trials/dose").headers["location"].startswith("/sign-in")


def test_a_link_is_used_up_everywhere(pair: tuple[Service, Service]) -> None:
    for _ in range(10):
        form = {"secret": pair[0].access.issue("link", "operator", "phone", seconds=60)[0]}
        entered = at_once(*(partial(one.http.post, "/sign-in", data=form) for one in pair))
        assert sorted(answer.status_code for answer in entered) == [303, 401]


def test_repeated_tells_are_counted_together(pair: tuple[Service, Service]) -> None:
    here, there = pair
    here.create()
    admin, token = here.token("admin"), here.token("operator")
    asked = here.call("POST", "/trials/dose/ask", token, {"subject": "p-1"}).json()
    body = {"assignment": asked["assignment"], "outcome": 1}
    assert there.call("POST", "/trials/dose/tell", admin, body).json() == {"status": "recorded"}
    answers = [pair[n % 2].call("POST", "/trials/dose/tell", token, body).status_code for n in range(MOST_REPEATS + 2)]
    assert answers == [200] * MOST_REPEATS + [409] * 2


def test_live_pages_show_what_the_other_server_did(pair: tuple[Service, Service]) -> None:
    here, there = pair
    here.create()
    link = here.access.issue("view", "viewer", "board", "dose")[0]
    page = there.http.get(f"/view/{link}").text
    mark = re.search(r"/live\?mark=(\w+)", page)
    assert mark is not None
    assert there.http.get(f"/view/{link}/live?mark={mark[1]}").status_code == 204
    assert here.http.get(f"/view/{link}/live?mark={mark[1]}").status_code == 204, "both show the same"
    here.call("POST", "/trials/dose/ask", here.token("operator"), {"subject": "p-1"})
    changed = there.http.get(f"/view/{link}/live?mark={mark[1]}")
    assert changed.status_code == 200
    again = re.search(r"/live\?mark=(\w+)", changed.text)
    assert again is not None
    assert here.http.get(f"/view/{link}/live?mark={again[1]}").status_code == 204


def test_everybody_gets_one_assignment_whoever_is_asked(pair: tuple[Service, Service]) -> None:
    here, there = pair
    here.create()
    token = here.token("operator")

    def enrol(service: Service) -> list[str]:
        said = [service.call("POST", "/trials/dose/ask", token, {"subject": f"p-{n}"}).json() for n in range(25)]
        ids = [one["assignment"] for one in said]
        for number, who in enumerate(ids):
            body = {"assignment": who, "outcome": number % 2}
            assert service.call("POST", "/trials/dose/tell", token, body).status_code == 200
        return ids

    first, second = at_once(lambda: enrol(here), lambda: enrol(there))
    assert first == second
    assert len(set(first)) == 25
    trial: Trial = here.app.state.trials.find("dose")
    assert trial.verify().ok
    with trial._store.reading("dose") as reading:
        told = Counter(event.body["assignment"] for event in reading.events() if event.kind == "told")
    assert set(told.values()) == {1}
    assert len(told) == 25


def test_a_trial_that_was_deleted_and_made_anew_elsewhere(pair: tuple[Service, Service]) -> None:
    here, there = pair
    here.create()
    token, admin = here.token("operator"), here.token("admin")
    for service in pair:
        assert service.call("GET", "/trials/dose/status", token).status_code == 200
    assert here.call("DELETE", "/trials/dose", admin).status_code == 204
    gone = there.call("POST", "/trials/dose/ask", token, {"subject": "p-1"})
    assert gone.status_code == 404
    assert "postgres" not in gone.text
    here.create()
    assert there.call("GET", "/trials/dose/status", token).status_code == 200
    assert here.call("DELETE", "/trials/dose", admin).status_code == 204
    here.create(arms=["x", "y", "z"])
    for path, body in (("ask", {"subject": "p-1"}), ("ask-many", {"subjects": ["p-1"]})):
        # What is known of the old one is never used on the new one: the first to notice says so, the next is served.
        answers = [there.call("POST", f"/trials/dose/{path}", token, body) for _ in range(2)]
        assert answers[1].status_code == 200, answers[1].text
    assert there.call("GET", "/trials/dose", token).json()["design"]["arms"] == ["x", "y", "z"]
    assert there.app.state.trials.find("dose").verify().ok


def test_a_message_is_sent_by_one_of_them(postgres_place: str) -> None:
    listener = Listener()
    stores = [open_store(postgres_place, create=True) for _ in range(3)]
    hooks = [Hooks(store, enabled=True) for store in stores]
    senders = [Sender(one, lambda: None, private=True) for one in hooks]
    hooks[0].add(listener.url)
    trial = Trial.create(stores[0], name="t", noise=ChosenNoise(), **PLAN)
    try:
        for number in range(5):
            trial.pause(f"{number}")
            trial.resume()
            at_once(*(sender.tick for sender in senders))
            assert len(listener.heard) == number + 1
    finally:
        listener.close()
        for store in stores:
            store.close()


def test_what_somebody_died_with_is_sent_again(sqlite_place: str) -> None:
    now = 1000.0
    store = open_store(sqlite_place, create=True)
    first, second = (Hooks(store, enabled=True, clock=lambda: now) for _ in range(2))
    first.add("https://example.org/in")
    first.note_failed_verification("t")
    (delivery,) = first.due()
    assert first.claim(delivery)
    assert not second.claim(delivery)
    assert second.due() == []
    now += CLAIM
    assert second.due() == [delivery]
    assert second.claim(delivery)
    store.close()
