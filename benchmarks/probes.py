"""Probes of the service's authorisation: every address, by everybody, with every wrong key; who gets in who should not.

Run from the project's root: python -m benchmarks.probes [--only PART] [--failures]
Prints a table: what was probed, how many probes, how many were let in as they should be and how many turned away, and
how many were not answered as they should be. A probe that is turned away must also leave everything as it was: the
logs of all trials, the grants. Exit status 1 if anything was wrong.

- **tokens**: every endpoint of the API by every role, for its own trial, another one and one that is not there.
- **wrong tokens**: every endpoint by tokens that were taken back, expired, garbled or cut off, by the secrets of
  sessions, view links and one-time links, under another scheme, in the address.
- **pages**: every page by every role, for its own trial, another one and one that is not there.
- **wrong sessions**: every page with no session, one whose token was taken back, an expired one, a token or a view link
  in its place.
- **forged forms**: every form by an administrator's browser, but sent by another site, with no mark, with the mark of
  another session, with the mark in the address.
- **view links**: public views by good, garbled, withdrawn links, and tokens in the place of links.
- **methods**: every address by every method that it does not have.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fastapi.routing import APIRoute
from starlette.testclient import TestClient
from tests.service.conftest import Service, quick_plan
from tests.service.test_authorisation import ADMIN, BODIES, ENDPOINTS, EVERYBODY, NOBODY, OPERATOR, VIEWER, WHOLE

from bestarm.service import create_app
from bestarm.service.access import Access, csrf_token
from bestarm.service.guard import COOKIE
from bestarm.service.pages import access, create, desk, home, manage, outcomes, plan, sign_in, trial
from bestarm.service.plans import Planner

PAGES: Final[dict[tuple[str, str], str]] = {
    ("GET", "/sign-in"): NOBODY,
    ("POST", "/sign-in"): NOBODY,
    ("POST", "/sign-out"): VIEWER,
    ("GET", "/"): VIEWER,
    ("GET", "/figures.css"): NOBODY,
    ("GET", "/plan"): VIEWER,
    ("GET", "/plan/result"): VIEWER,
    ("GET", "/new-trial"): WHOLE,
    ("POST", "/new-trial"): WHOLE,
    ("POST", "/new-trial/create"): WHOLE,
    ("GET", "/trials/{trial}"): VIEWER,
    ("GET", "/trials/{trial}/live"): VIEWER,
    ("GET", "/trials/{trial}/report"): VIEWER,
    ("GET", "/trials/{trial}/report.json"): VIEWER,
    ("GET", "/trials/{trial}/desk"): OPERATOR,
    ("POST", "/trials/{trial}/desk/find"): OPERATOR,
    ("POST", "/trials/{trial}/desk/assign"): OPERATOR,
    ("POST", "/trials/{trial}/desk/relabel"): OPERATOR,
    ("POST", "/trials/{trial}/desk/void"): OPERATOR,
    ("POST", "/trials/{trial}/desk/awaited"): OPERATOR,
    ("POST", "/trials/{trial}/desk/review"): OPERATOR,
    ("POST", "/trials/{trial}/desk/record"): OPERATOR,
    ("POST", "/trials/{trial}/desk/correct"): OPERATOR,
    ("POST", "/trials/{trial}/desk/withdraw"): OPERATOR,
    ("POST", "/trials/{trial}/manage"): ADMIN,
    ("GET", "/access"): WHOLE,
    ("POST", "/access/tokens"): WHOLE,
    ("POST", "/access/views"): WHOLE,
    ("POST", "/access/links"): WHOLE,
    ("POST", "/access/webhooks"): WHOLE,
    ("POST", "/access/webhooks/end"): WHOLE,
    ("POST", "/access/end"): WHOLE,
}
"""The least that each page asks for; view links are another matter."""
VIEWS: Final = ("/view/{link}", "/view/{link}/live", "/view/{link}/report", "/view/{link}/report.json")
FORM: Final = {"subject": "p", "who": "p", "assignment": "1-zzzz", "outcome": "1", "reason": "slip", "what": "pause"}
FORM_ALSO: Final = {"role": "viewer", "label": "board", "name": "new", "trial": "dose", "id": "999999"}
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND")
OWN, OTHER, NOWHERE = "dose", "other", "no such trial"
TURNED_AWAY: Final = (401, 403, 404)


def page_routes() -> set[tuple[str, str]]:
    """Every page there is: method and path."""
    found = set()
    for module in (sign_in, home, plan, create, trial, desk, outcomes, manage, access):
        for route in module.router.routes:
            assert isinstance(route, APIRoute)
            found |= {(method, route.path) for method in route.methods or ()}
    return found


@dataclass
class Tried:
    """What came of the probes of one part."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def note(self, said: str, let_in: bool, answer: Any, changed: bool) -> None:
        """One probe: whether it should have been let in, how it was answered, and whether anything changed."""
        got_in = answer.status_code not in TURNED_AWAY and not _to_sign_in(answer)
        fine = got_in == let_in and answer.status_code < 500 and (let_in or not changed)
        self.counts["in" if got_in else "away"] += 1
        if not fine:
            self.counts["wrong"] += 1
            self.wrong.append(f"{said}: {answer.status_code}{', and something changed' if changed else ''}")


def _to_sign_in(answer: Any) -> bool:
    return bool(answer.status_code == 303 and answer.headers.get("location", "").startswith("/sign-in"))


@dataclass
class Place:
    """A service with two trials, and whatever can be held there."""

    service: Service
    now: float = 1_800_000_000.0

    @property
    def access(self) -> Access:
        """The grants."""
        return self.service.access

    def marks(self) -> Any:
        """What no probe may change that is turned away: the logs of both trials, and the grants."""
        store = self.service.app.state.trials.store
        heads = {}
        for name in store.names():
            with store.reading(name) as reading:
                heads[name] = reading.head
        return heads, [(grant.id, grant.kind) for grant in self.access.grants()]

    def tokens(self) -> dict[str, tuple[str | None, str, str | None]]:
        """Everybody with a good token, or none: the token, its role, and the one trial it is for."""
        found: dict[str, tuple[str | None, str, str | None]] = {NOBODY: (None, NOBODY, None)}
        for role, rank in (("viewer", VIEWER), ("operator", OPERATOR), ("admin", WHOLE)):
            for scope in (None, OWN, OTHER):
                secret = self.service.token(role, scope)  # type: ignore[arg-type]
                least = ADMIN if rank == WHOLE and scope is not None else rank
                found[f"{role} of {scope or 'all trials'}"] = (secret, least, scope)
        return found

    def wrong_tokens(self) -> dict[str, dict[str, str]]:
        """Headers with which nobody may get in."""
        good = self.service.token("admin")
        back, grant = self.access.issue("token", "admin", "gone", None)
        self.access.end(grant.id)
        late = self.access.issue("token", "admin", "late", None, seconds=1)[0]
        session = self.access.sign_in(good)
        link = self.access.first_link(always=True)
        view = self.access.issue("view", "viewer", "board", OWN)[0]
        assert session is not None
        assert link is not None
        self.now += 10
        bearer = {
            "taken back": back,
            "expired": late,
            "a session's secret": session[0],
            "a one-time link": link,
            "a view link": view,
            "garbled": good[:-1] + ("A" if good[-1] != "A" else "B"),
            "cut off": good[:-1],
            "one too long": good + "A",
            "in capitals": good.upper(),
            "of another kind": "bas_" + good[4:],
            "made up": "bat_" + "x" * 43,
            "nothing": "",
            "a quote": "bat_' OR 1=1 --",
            "long": "bat_" + "x" * 5000,
        }
        found = {name: {"Authorization": f"Bearer {secret}"} for name, secret in bearer.items()}
        found["another scheme"] = {"Authorization": f"Basic {good}"}
        found["no scheme"] = {"Authorization": good}
        found["in a cookie"] = {"Cookie": f"{COOKIE}={good}; token={good}"}
        found["a session in a cookie"] = {"Cookie": f"{COOKIE}={session[0]}"}
        found["another header"] = {"X-Authorization": f"Bearer {good}", "Token": good}
        return found

    def wrong_cookies(self) -> dict[str, str]:
        """Cookies with which nobody is signed in."""
        token, grant = self.access.issue("token", "admin", "gone", None)
        gone = self.access.sign_in(token)
        self.access.end(grant.id)
        late = self.access.issue("session", "admin", "late", None, seconds=1)[0]
        good = self.service.token("admin")
        signed_out = self.access.sign_in(good)
        assert gone is not None
        assert signed_out is not None
        self.access.end(signed_out[1].id, ("session",))
        self.now += 10
        return {
            "none": "",
            "its token was taken back": gone[0],
            "expired": late,
            "signed out": signed_out[0],
            "a token": good,
            "a view link": self.access.issue("view", "viewer", "board", OWN)[0],
            "made up": "bas_" + "x" * 43,
        }


@contextmanager
def place() -> Iterator[Place]:
    """A fresh service with two trials and somebody in each."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Path(folder) / "trials.db", Planner(quick_plan))
        with TestClient(app, follow_redirects=False, raise_server_exceptions=False) as http:
            found = Place(Service(app, http))
            found.access._clock = lambda: found.now
            for name in (OWN, OTHER):
                found.service.create(name)
                found.service.call("POST", f"/trials/{name}/ask", found.service.token("operator"), {"subject": "here"})
            yield found


def may(least: str, rank: str, scope: str | None, where: str, named: bool) -> bool:
    """Whether somebody of this rank, for all trials or one, gets in to an address that asks for so much."""
    if least == NOBODY:
        return True
    if named and where == NOWHERE:
        return False
    reached = not named or scope is None or scope == where
    return EVERYBODY.index(rank) >= EVERYBODY.index(least) and reached


def _wheres(path: str) -> tuple[str, ...]:
    return (OWN, OTHER, NOWHERE) if "{trial}" in path else (OWN,)


def _address(path: str, where: str) -> str:
    return path.format(trial=where, number=999999, link="x")


def _api(here: Place, method: str, path: str, where: str, headers: dict[str, str], query: str = "") -> Any:
    body = BODIES.get(path) if method == "POST" else None
    return here.service.http.request(method, _address(path, where) + query, headers=headers, json=body)


def probe(tried: Tried, here: Place, said: str, let_in: bool, call: Callable[[], Any]) -> Any:
    """Make one probe and note what came of it."""
    before = here.marks()
    here.service.http.cookies.clear()
    answer = call()
    tried.note(said, let_in, answer, here.marks() != before)
    return answer


def tokens(tried: Tried) -> None:
    """Every endpoint by every role, for its own trial, another one and one that is not there."""
    for (method, path), least in ENDPOINTS.items():
        with place() as here:
            for who, (secret, rank, scope) in here.tokens().items():
                headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
                answers = {}
                for where in reversed(_wheres(path)):
                    # What is not there, or cannot be asked for in this way, is no matter of who asks.
                    exists = "{number}" not in path
                    # Halves may be of a trial that lives on another server.
                    there = "elsewhere" if path.startswith("/api/v1/halves/") and where == NOWHERE else where
                    let_in = may(least, rank, scope, there, "{trial}" in path) and exists
                    answers[where] = probe(
                        tried,
                        here,
                        f"{method} {path} for {where} by {who}",
                        let_in,
                        lambda: _api(here, method, path, where, headers),  # noqa: B023
                    )
                if scope == OWN and OTHER in answers and answers[OTHER].json() != answers[NOWHERE].json():
                    tried.counts["wrong"] += 1
                    tried.wrong.append(f"{method} {path}: {who} can tell another trial from none")


def wrong_tokens(tried: Tried) -> None:
    """Every endpoint with keys that open nothing."""
    for (method, path), least in ENDPOINTS.items():
        with place() as here:
            for what, headers in here.wrong_tokens().items():
                said = f"{method} {path} with a token {what}"
                probe(tried, here, said, least == NOBODY, lambda: _api(here, method, path, OWN, headers))  # noqa: B023
            good = here.service.token("admin")
            query = f"?token={good}&access_token={good}"
            said = f"{method} {path} with a token in the address"
            probe(tried, here, said, least == NOBODY, lambda: _api(here, method, path, OWN, {}, query))  # noqa: B023


def _page(here: Place, method: str, path: str, where: str, cookie: str, mark: str | None, **headers: str) -> Any:
    sent = headers | ({"Cookie": f"{COOKIE}={cookie}"} if cookie else {})
    if method == "GET":
        return here.service.http.get(_address(path, where), headers=sent)
    form = FORM | FORM_ALSO | ({} if mark is None else {"csrf": mark})
    return here.service.http.post(_address(path, where), headers=sent, data=form)


def pages(tried: Tried) -> None:
    """Every page by every role, for its own trial, another one and one that is not there."""
    for (method, path), least in PAGES.items():
        if path == "/sign-in":
            continue
        with place() as here:
            for who, (secret, rank, scope) in here.tokens().items():
                session = None if secret is None else here.access.sign_in(secret)
                cookie = "" if session is None else session[0]
                for where in reversed(_wheres(path)):
                    let_in = may(least, rank, scope, where, "{trial}" in path)
                    if path == "/sign-out" and session is not None:
                        let_in = False  # it leads to the page of signing in
                    probe(
                        tried,
                        here,
                        f"{method} {path} for {where} by {who}",
                        let_in,
                        lambda: _page(here, method, path, where, cookie, csrf_token(cookie)),  # noqa: B023
                    )


def wrong_sessions(tried: Tried) -> None:
    """Every page with cookies that open nothing."""
    for (method, path), least in PAGES.items():
        if least == NOBODY:
            continue
        with place() as here:
            for what, cookie in here.wrong_cookies().items():
                said = f"{method} {path} with a session: {what}"
                probe(tried, here, said, False, lambda: _page(here, method, path, OWN, cookie, csrf_token(cookie)))  # noqa: B023


def forged_forms(tried: Tried) -> None:
    """Every form in an administrator's browser that our own pages did not send."""
    for (method, path), least in PAGES.items():
        if method != "POST":
            continue
        with place() as here:
            mine, theirs = (here.access.sign_in(here.service.token("admin")) for _ in range(2))
            assert mine is not None
            assert theirs is not None
            cookie, mark = mine[0], csrf_token(mine[0])
            forged: dict[str, tuple[str | None, dict[str, str]]] = {
                "by another site": (mark, {"Sec-Fetch-Site": "cross-site"}),
                "by a site of the same domain": (mark, {"Sec-Fetch-Site": "same-site"}),
                "from a foreign origin": (mark, {"Origin": "https://elsewhere.example"}),
                "from no origin": (mark, {"Origin": "null"}),
                "from another port": (mark, {"Origin": "http://testserver:8080"}),
            }
            if least != NOBODY:
                forged |= {
                    "with no mark": (None, {}),
                    "with an empty mark": ("", {}),
                    "with another session's mark": (csrf_token(theirs[0]), {}),
                    "with the session itself as mark": (cookie, {}),
                    "with a mark that is no text": ("é" * 20, {}),
                }
            for how, (sent, headers) in forged.items():
                said = f"{method} {path} {how}"
                probe(tried, here, said, False, lambda: _page(here, method, path, OWN, cookie, sent, **headers))  # noqa: B023
            if least != NOBODY:
                by_address = f"{path}?csrf={mark}"
                said = f"{method} {path} with the mark in the address"
                probe(tried, here, said, False, lambda: _page(here, method, by_address, OWN, cookie, None))  # noqa: B023


def view_links(tried: Tried) -> None:
    """Public views by links that are good, and by what is no link."""
    with place() as here:
        good = here.access.issue("view", "viewer", "board", OWN)[0]
        gone, grant = here.access.issue("view", "viewer", "board", OWN)
        here.access.end(grant.id)
        late = here.access.issue("view", "viewer", "board", OWN, seconds=1)[0]
        here.now += 10
        session = here.access.sign_in(here.service.token("admin"))
        assert session is not None
        links = {
            "good": good,
            "taken back": gone,
            "expired": late,
            "a token": here.service.token("admin"),
            "a session": session[0],
            "made up": "bav_" + "x" * 43,
            "cut off": good[:-1],
            "a trial's name": OWN,
        }
        for path in VIEWS:
            for what, link in links.items():
                address = path.format(link=link)
                probe(tried, here, f"GET {path}: {what}", what == "good", lambda: here.service.http.get(address))  # noqa: B023
            for method in ("POST", "PUT", "DELETE"):
                address = path.format(link=good)
                before = here.marks()
                answer = here.service.http.request(method, address)
                _no_such_method(tried, f"{method} {path}", answer, here.marks() != before)


def methods(tried: Tried) -> None:
    """Every address by every method that it does not have."""
    with place() as here:
        token = here.service.token("admin")
        session = here.access.sign_in(token)
        assert session is not None
        headers = {"Authorization": f"Bearer {token}", "Cookie": f"{COOKIE}={session[0]}"}
        routes = ENDPOINTS.keys() | PAGES.keys()
        for path in sorted({path for _, path in routes}):
            for method in METHODS:
                if (method, path) in routes:
                    continue
                before = here.marks()
                answer = here.service.http.request(method, _address(path, OWN), headers=headers)
                _no_such_method(tried, f"{method} {path}", answer, here.marks() != before)


def _no_such_method(tried: Tried, said: str, answer: Any, changed: bool) -> None:
    tried.counts["away" if answer.status_code == 405 else "in"] += 1
    if answer.status_code != 405 or "allow" not in answer.headers or changed:
        tried.counts["wrong"] += 1
        tried.wrong.append(f"{said}: {answer.status_code}{', and something changed' if changed else ''}")


PARTS: Final = (tokens, wrong_tokens, pages, wrong_sessions, forged_forms, view_links, methods)


def row(name: str, count: Counter[str]) -> str:
    """A line of the table."""
    return f"{name:20}{count['in'] + count['away']:>8}{count['in']:>8}{count['away']:>13}{count['wrong']:>8}"


def main() -> int:
    """Probe and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=[part.__name__ for part in PARTS], help="one part alone")
    parser.add_argument("--failures", action="store_true", help="name every probe that was answered wrongly")
    given = parser.parse_args()
    missing = page_routes() - PAGES.keys() - {("GET", path) for path in VIEWS}
    assert not missing, f"not probed: {missing}"
    total: Counter[str] = Counter()
    print(f"{'part':20}{'probes':>8}{'let in':>8}{'turned away':>13}{'wrong':>8}")
    for part in PARTS:
        if given.only not in (None, part.__name__):
            continue
        tried = Tried()
        part(tried)
        count = tried.counts
        print(
            f"{part.__name__:20}{count['in'] + count['away']:>8}{count['in']:>8}{count['away']:>13}{count['wrong']:>8}"
        )
        for line in tried.wrong if given.failures else ():
            print(f"    {line}")
        total += count
    print(row("all", total))
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
