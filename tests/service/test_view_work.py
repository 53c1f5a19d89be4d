"""A viewer's request does the same work whether or not an outcome came in: counted, not timed."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
import sqlalchemy as sa

from bestarm.service.pages.render import render
from bestarm.service.trials import FRESH_SECONDS
from bestarm.storage.sql_tables import Link
from bestarm.trial.trial import Trial
from tests.service.conftest import Service

PATHS = ("status", "verdict", "ledger", "report", "report.html")
PAGES = ("", "/live", "/report", "/report.json")


@pytest.fixture
def work(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """What the store is asked, and how often a view is made."""
    counted: Counter[str] = Counter()
    engine: sa.Engine = service.app.state.trials.store.engine

    def asked(_: Any, __: Any, statement: str, *rest: Any) -> None:
        counted[statement] += 1

    begun = Link.__init__

    def linked(self: Link, connection: Any, statements: Any) -> None:
        # A trial's own statements go straight to the driver.
        begun(self, connection, statements)
        direct = self.execute

        def execute(statement: str, *rest: Any) -> Any:
            counted[statement] += 1
            return direct(statement, *rest)

        self.execute = execute

    view = Trial.view

    def made(self: Trial) -> Any:
        counted["views made"] += 1
        return view(self)

    sa.event.listen(engine, "before_cursor_execute", asked)
    monkeypatch.setattr(Trial, "view", made)
    monkeypatch.setattr(Link, "__init__", linked)
    yield counted
    sa.event.remove(engine, "before_cursor_execute", asked)


def enrolled(service: Service, people: int = 8, **changes: Any) -> tuple[Trial, list[str]]:
    """A trial whose first batches are open, so that outcomes come in without a release."""
    service.create(algorithm="dp-se", **changes)
    trial: Trial = service.app.state.trials.find("dose")
    return trial, [str(asked.id) for asked in trial.ask_many([f"p-{n}" for n in range(people)])]


def requests(service: Service) -> list[Callable[[], Any]]:
    """Everything that a viewer can look at."""
    token = service.token("viewer")
    link = service.access.issue("view", "viewer", "board", "dose")[0]
    browser = service.browser("viewer")
    return [
        *(lambda p=path: service.call("GET", f"/trials/dose/{p}", token) for path in PATHS),
        *(lambda p=path: service.http.get(f"/view/{link}{p}") for path in PAGES),
        *(lambda p=path: browser.get(f"/trials/dose{p}") for path in PAGES),
        lambda: browser.get("/"),
    ]


def test_an_outcome_does_not_change_what_a_viewers_request_does(service: Service, work: Counter[str]) -> None:
    trial, ids = enrolled(service)
    looks = requests(service)

    def looked() -> list[Counter[str]]:
        found = []
        for look in looks:
            work.clear()
            assert look().status_code == 200
            found.append(Counter(work))
        return found

    looked()
    quiet = looked()
    steps: list[Callable[[], Any]] = [
        lambda: trial.tell(ids[0], 1),
        lambda: trial.tell_many([(ids[1], 0), (ids[2], 1)]),
        lambda: trial.correct(ids[0], 0, "slip"),
        lambda: trial.withdraw(ids[3]),
    ]
    for step in steps:
        with trial._store.reading("dose") as reading:
            before = reading.seq
        step()
        with trial._store.reading("dose") as reading:
            assert reading.seq > before
            assert reading.book.released == 0
        assert looked() == quiet
    assert not any(found["views made"] for found in quiet)
    assert all(any("trials" in asked for asked in found) for found in quiet), "what is asked of the store is counted"


@pytest.mark.parametrize("follow_up", [None, "30d"])
def test_every_single_call_is_the_same(
    service: Service, follow_up: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a follow-up, where every look after a while goes to the trial itself."""
    now = 0.0
    monkeypatch.setattr("bestarm.service.trials.time.monotonic", lambda: now)
    changes: dict[str, Any] = {} if follow_up is None else {"follow_up": follow_up}
    trial, ids = enrolled(service, **changes)
    trials = service.app.state.trials

    def calls() -> Counter[str]:
        nonlocal now
        now += 2 * FRESH_SECONDS
        found: Counter[str] = Counter()

        def called(frame: FrameType, what: str, _: Any) -> None:
            if what == "call":
                found[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1

        gc.disable()
        sys.setprofile(called)
        try:
            trials.view("dose")
        finally:
            sys.setprofile(None)
            gc.enable()
        return found

    calls()
    calls()
    quiet = calls()
    for number, assignment in enumerate(ids[:3]):
        trial.tell(assignment, number % 2)
        assert calls() == quiet


def test_public_events_are_seen_at_once(service: Service, work: Counter[str]) -> None:
    trial, _ = enrolled(service, people=2)
    view = service.app.state.trials.view
    assert sum(view("dose").assigned) == 2
    trial.ask("p-9")
    assert sum(view("dose").assigned) == 3
    trial.pause("stock")
    assert view("dose").state == "paused"
    trial.resume()
    assert view("dose").state == "recruiting"
    trial.end("enough")
    assert view("dose").verdict is not None


def test_a_release_is_seen_at_once(service: Service) -> None:
    service.create()
    trial: Trial = service.app.state.trials.find("dose")
    view = service.app.state.trials.view
    for person in range(6):
        asked = trial.ask(f"p-{person}")
        trial.tell(str(asked.id), 1)
        assert len(view("dose").releases) == len(trial.view().releases)
    assert view("dose").releases


def test_with_a_follow_up_the_clock_alone_decides(
    service: Service, work: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("bestarm.service.trials.time.monotonic", lambda: now)
    trial, ids = enrolled(service, follow_up="30d")
    view = service.app.state.trials.view

    def made(seconds: float) -> int:
        nonlocal now
        now += seconds
        work.clear()
        view("dose")
        return work["views made"]

    made(0.0)
    quiet = [made(step) for step in (0.1, 0.1, 2 * FRESH_SECONDS, 0.1)]
    assert quiet == [0, 0, 1, 0]
    told = []
    for assignment, step in zip(ids, (0.1, 0.1, 2 * FRESH_SECONDS, 0.1), strict=False):
        trial.tell(assignment, 1)
        told.append(made(step))
    assert told == quiet


def test_those_who_have_a_link_share_a_page(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    trial, ids = enrolled(service)
    made: list[str] = []

    def counted(request: Any, template: str, *rest: Any, **context: Any) -> Any:
        made.append(template)
        return render(request, template, *rest, **context)

    monkeypatch.setattr("bestarm.service.pages.trial.render", counted)
    links = [service.access.issue("view", "viewer", "board", "dose")[0] for _ in range(2)]
    pages_seen = [service.http.get(f"/view/{links[0]}").text for _ in range(3)]
    assert made == ["trial.html"]
    assert len(set(pages_seen)) == 1
    other = service.http.get(f"/view/{links[1]}").text
    assert made == ["trial.html"] * 2, "another link has addresses of its own"
    assert links[0] not in other
    assert links[1] not in pages_seen[0]
    trial.tell(ids[0], 1)
    assert service.http.get(f"/view/{links[0]}").text == pages_seen[0]
    assert made == ["trial.html"] * 2, "an outcome changes nothing"
    trial.ask("p-99")
    assert service.http.get(f"/view/{links[0]}").text != pages_seen[0]
    browser = service.browser("viewer")
    for _ in range(2):
        assert "Sign out" in browser.get("/trials/dose").text
    assert made == ["trial.html"] * 5, "who is signed in has a page of their own"
    assert "Sign out" not in service.http.get(f"/view/{links[0]}").text
