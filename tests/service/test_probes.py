"""A sample of `python -m benchmarks.probes`, which can tell when somebody gets in who should not."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from benchmarks import probes
from benchmarks.probes import PAGES, VIEWS, Tried, page_routes, view_links

from bestarm.service import access
from tests.service.test_authorisation import ENDPOINTS


def test_every_page_is_probed() -> None:
    assert page_routes() == PAGES.keys() | {("GET", path) for path in VIEWS}


def test_halves_of_trials_elsewhere_are_for_those_who_may_see_all_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    halves = {place: least for place, least in ENDPOINTS.items() if "/halves/" in place[1]}
    monkeypatch.setattr(probes, "ENDPOINTS", halves)
    tried = Tried()
    probes.tokens(tried)
    assert tried.wrong == []
    assert tried.counts["in"] > 0
    assert tried.counts["away"] > 0


def test_view_links_open_what_they_should() -> None:
    tried = Tried()
    view_links(tried)
    assert tried.wrong == []
    assert tried.counts["in"] == len(VIEWS)


def test_a_link_that_never_ends_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_alive", lambda rows, now: sa.true())
    tried = Tried()
    view_links(tried)
    assert len(tried.wrong) == 2 * len(VIEWS)
    assert all("taken back" in said or "expired" in said for said in tried.wrong)
