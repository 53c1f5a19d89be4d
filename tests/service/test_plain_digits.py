"""Numbers over HTTP and on pages are written in the digits 0 to 9."""

from __future__ import annotations

import pytest

from tests.service.conftest import Service
from tests.service.test_pages import send, words


@pytest.mark.parametrize("number", ["1_0", "٣", "１"])
def test_other_digits_are_refused(service: Service, number: str) -> None:
    admin = service.token("admin")
    assert service.call("DELETE", f"/tokens/{number}", admin).status_code == 422
    service.create()
    asked = service.call("POST", "/trials/dose/ask", admin, {"subject": "p"}).json()["assignment"]
    told = service.call("POST", "/trials/dose/tell", admin, {"assignment": asked, "outcome": number})
    assert told.status_code == 422
    browser = service.browser("admin")
    design = {"name": "new", "arms": "a\nb", "epsilon": "1", "delta": "0.1", "outcomes": "binary"}
    design |= {"low": "0", "high": "1", "better": "more", "allocation": "random"}
    many = send(browser, "/new-trial", "/new-trial", cap="yes", max_participants=number, **design)
    assert many.status_code == 422
    assert "has to be a whole number" in words(many)
    late = send(browser, "/new-trial", "/new-trial", follow="yes", after=number, unit="d", **design)
    assert late.status_code == 422
    before = len(service.access.grants())
    send(browser, "/access/end", "/access", id=number)
    assert len(service.access.grants()) == before
