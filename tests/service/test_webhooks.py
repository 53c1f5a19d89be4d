"""Webhooks: public events alone, signed, again until they arrive, and never into the server's own network."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from bestarm.errors import InputError, OperationError
from bestarm.service.hooks import MOST_TRIES, Hooks, checked_url
from bestarm.service.sending import Forbidden, Sender, reachable
from bestarm.storage import open_store
from bestarm.storage.events import PUBLIC_KINDS
from bestarm.trial.trial import Trial
from tests.service.conftest import Service
from tests.service.test_pages import send, words
from tests.trial.people import ChosenNoise, Clock

PLAN: dict[str, Any] = {"arms": ["a", "b"], "epsilon": 1, "delta": 0.1, "algorithm": "uniform", "allocation": "fixed"}


class Listener:
    """Takes messages, and answers with a status that tests choose."""

    def __init__(self) -> None:
        self.heard: list[tuple[dict[str, str], str]] = []
        self.status = 200
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                outer.heard.append((dict(self.headers), body))
                self.send_response(outer.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/in?x=1"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def listener() -> Iterator[Listener]:
    one = Listener()
    yield one
    one.close()


def test_public_events_are_sent_signed_and_nothing_else(place: str, listener: Listener) -> None:
    store = open_store(place, create=True)
    before = Trial.create(store, name="old", noise=ChosenNoise(), **PLAN)
    before.pause("before anybody listened")
    hooks = Hooks(store, enabled=True)
    key, hook = hooks.add(listener.url)
    sender = Sender(hooks, lambda: None, private=True)
    trial = Trial.create(store, name="new", noise=ChosenNoise(), **PLAN)
    for subject in ("p-1", "p-2"):
        trial.tell(str(trial.ask(subject).id), 1)
    trial.pause("stock")
    trial.resume("back")
    trial.end("recalled")
    sender.tick()
    said = [json.loads(body) for _, body in listener.heard]
    assert [one["event"] for one in said] == ["released", "released", "paused", "stopped"]
    assert {one["trial"] for one in said} == {"new"}
    with store.reading("new") as reading:
        public = {e.public_seq: (e.kind, e.body, e.public_hash) for e in reading.events() if e.kind in PUBLIC_KINDS}
    for one in said:
        assert set(one) == {"event", "trial", "seq", "hash", "body"}
        assert public[one["seq"]] == (one["event"], one["body"], one["hash"])
    for headers, body in listener.heard:
        moment, mark = (part.partition("=")[2] for part in headers["Bestarm-Signature"].split(","))
        assert mark == hmac.new(key.encode(), f"{moment}.{body}".encode(), hashlib.sha256).hexdigest()
    sender.tick()
    assert len(listener.heard) == 4, "each is told once"
    assert hooks.remove(hook.id)
    assert hooks.all() == []
    store.close()


def test_what_does_not_arrive_is_tried_again_later_each_time(sqlite_place: str, listener: Listener) -> None:
    clock = Clock()
    store = open_store(sqlite_place, create=True)
    trial = Trial.create(store, name="t", **PLAN)
    hooks = Hooks(store, enabled=True, clock=clock)
    hooks.add(listener.url, "t")
    sender = Sender(hooks, lambda: None, private=True)
    trial.pause("stock")
    for status in (500, 302, 404):
        listener.status = status
        sender.tick()
        sender.tick()  # too early
        assert hooks.all()[0].waiting == 1
        clock.move(10 * 2 ** (len(listener.heard) - 1))
    assert len(listener.heard) == 3, "and redirections are not followed"
    listener.status = 204
    sender.tick()
    assert hooks.all()[0].waiting == 0
    trial.resume("back")
    trial.pause("again")
    listener.status = 500
    for _ in range(MOST_TRIES + 3):
        sender.tick()
        clock.move(3601)
    assert (hooks.all()[0].waiting, hooks.all()[0].given_up) == (0, 1)
    assert len(listener.heard) == 4 + MOST_TRIES
    store.close()


def test_a_hook_for_one_trial_hears_of_no_other(sqlite_place: str, listener: Listener) -> None:
    store = open_store(sqlite_place, create=True)
    hooks = Hooks(store, enabled=True)
    hooks.add(listener.url, "mine")
    for name in ("mine", "other"):
        Trial.create(store, name=name, **PLAN).pause("stock")
    hooks.note_failed_verification("other")
    hooks.note_failed_verification("mine")
    Sender(hooks, lambda: None, private=True).tick()
    assert sorted(json.loads(body)["event"] for _, body in listener.heard) == ["paused", "verify-failed"]
    assert {json.loads(body)["trial"] for _, body in listener.heard} == {"mine"}
    store.close()


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "0.0.0.0", "::1", "fe80::1",
     "fd00::1", "::ffff:127.0.0.1", "100.64.0.1", "224.0.0.1", "2130706433", "0x7f.1"],
)  # fmt: skip
def test_the_own_machine_and_private_networks_are_refused(host: str) -> None:
    with pytest.raises((Forbidden, OSError)):
        reachable(host, 80, private=False)


def test_one_private_address_among_others_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, 1, 6, "", (address, 80)) for address in ("93.184.216.34", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    with pytest.raises(Forbidden):
        reachable("two-faced.example", 80, private=False)
    assert reachable("two-faced.example", 80, private=True)


def test_without_the_flag_nothing_reaches_this_machine(sqlite_place: str, listener: Listener) -> None:
    store = open_store(sqlite_place, create=True)
    hooks = Hooks(store, enabled=True)
    hooks.add(listener.url)
    Trial.create(store, name="t", **PLAN).pause("stock")
    Sender(hooks, lambda: None).tick()
    assert listener.heard == []
    assert hooks.all()[0].waiting == 1
    store.close()


@pytest.mark.parametrize(
    "url",
    ["", "ftp://example.org", "example.org", "https://", "https://a:b@example.org", "https://example.org/#x",
     "https://exa mple.org", "https://example.org:99999", "https://" + "x" * 600, "https://exämple.org", "http://[::1"],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError):
        checked_url(url)


def test_webhooks_are_off_unless_turned_on(service: Service) -> None:
    admin = service.token("admin")
    refused = service.call("POST", "/webhooks", admin, {"url": "https://example.org/"})
    assert refused.status_code == 409
    assert "--webhooks" in refused.json()["detail"]
    assert service.call("GET", "/webhooks", admin).json() == {"webhooks": []}
    assert 'id="webhooks"' not in service.browser("admin").get("/access").text
    with pytest.raises(OperationError):
        service.app.state.hooks.add("https://example.org/")


def test_webhooks_are_made_listed_and_taken_back(service: Service) -> None:
    service.create()
    service.app.state.hooks.enabled = True
    admin = service.token("admin")
    made = service.call("POST", "/webhooks", admin, {"url": "https://example.org/in", "trial": "dose"})
    assert made.status_code == 201
    assert made.json()["key"].startswith("bah_")
    assert service.call("POST", "/webhooks", admin, {"url": "https://x.org", "trial": "none"}).status_code == 404
    listed = service.call("GET", "/webhooks", admin).json()["webhooks"]
    assert [(one["url"], one["trial"], one["waiting"]) for one in listed] == [("https://example.org/in", "dose", 0)]
    assert "key" not in listed[0]
    browser = service.browser("admin")
    page = send(browser, "/access/webhooks", "/access", url="https://example.org/two", trial="")
    assert "bah_" in page.text
    assert "bah_" not in browser.get("/access").text
    assert "names a host" in words(send(browser, "/access/webhooks", "/access", url="nowhere", trial=""))
    assert service.call("DELETE", f"/webhooks/{listed[0]['id']}", admin).status_code == 204
    assert service.call("DELETE", f"/webhooks/{listed[0]['id']}", admin).status_code == 404
    number = service.call("GET", "/webhooks", admin).json()["webhooks"][0]["id"]
    send(browser, "/access/webhooks/end", "/access", id=str(number))
    assert service.call("GET", "/webhooks", admin).json() == {"webhooks": []}


def test_a_failed_verification_is_told_without_its_place(service: Service) -> None:
    service.create()
    service.app.state.hooks.enabled = True
    admin = service.token("admin")
    service.call("POST", "/webhooks", admin, {"url": "https://example.org/in"})
    service.call("POST", "/trials/dose/ask", admin, {"subject": "p-1"})
    assert service.call("GET", "/trials/dose/verify", admin).json()["ok"]
    with service.app.state.trials.store.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE assignments SET arm = 1 - arm")
    assert not service.call("GET", "/trials/dose/verify", admin).json()["ok"]
    waiting = service.app.state.hooks.due()
    assert [json.loads(one.body) for one in waiting] == [{"event": "verify-failed", "trial": "dose"}]


def test_a_phone_is_signed_in_by_a_qr_code_once(service: Service) -> None:
    service.create()
    browser = service.browser("admin")
    page = send(browser, "/access/links", "/access", role="operator", label="night shift", trial="dose")
    assert '<div class="qr" role="img"' in page.text
    assert "<svg" in page.text
    assert " style=" not in page.text
    found = re.search(r"/sign-in#(bal_[\w-]+)", page.text)
    assert found is not None
    entered = service.http.post("/sign-in", data={"secret": found[1]})
    assert entered.headers["location"] == "/trials/dose/desk"
    assert service.http.post("/sign-in", data={"secret": found[1]}).status_code == 401
    assert "The role is one of" in words(send(browser, "/access/links", "/access", role="king", label="x", trial=""))


def test_the_page_of_the_api_names_every_request(service: Service) -> None:
    page = service.http.get("/docs")
    assert page.status_code == 200
    for path in service.app.openapi()["paths"]:
        assert f"<code>{path}</code>" in page.text
    assert "<script" not in page.text.replace('<script src="/static/', "")
    assert "Your own id of the person" in words(page)
