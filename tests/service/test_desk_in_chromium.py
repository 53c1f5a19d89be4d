"""What goes wrong at a desk, each by itself, mended in a real browser: on a desk, and on a phone of 360 pixels."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import bestarm as ba
from bestarm.client import RemoteTrial
from tests.service.browser import DESKTOP, PHONE, Watched, press_enter, running_chromium
from tests.service.running import Server

ARMS = ["placebo", "5 mg", "10 mg"]
DESIGN: dict[str, Any] = {"arms": ARMS, "epsilon": 1, "delta": 0.05, "outcomes": "binary", "algorithm": "dp-se"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as one:
        yield one


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("desk")
    one = Server(str(folder / "trials.db"), folder / "server.log")
    one.start()
    yield one
    one.stop()


class Ward:
    """A nurse at the desk of a trial of her own."""

    def __init__(self, server: Server, browser: Browser, name: str, size: dict[str, int], **design: Any) -> None:
        self.client = ba.Client(server.url, token=server.token("admin"))
        self.trial: RemoteTrial = self.client.create(name=name, **(DESIGN | design))
        self.watched = Watched(browser, server.url, size)
        self.page: Page = self.watched.page
        self.page.goto(f"{server.url}/sign-in")
        self.page.get_by_label("Token or one-time code").fill(server.token("operator", name))
        press_enter(self.page)
        self.page.wait_for_url("**/desk")

    def look_up(self, who: str) -> None:
        self.page.get_by_label("Participant", exact=True).fill(who)
        self.page.get_by_role("button", name="Look up").click()

    def enrol(self, who: str) -> None:
        self.look_up(who)
        self.page.get_by_role("button", name=f"Enrol {who}").click()
        expect(self.page.get_by_text(f"{who} gets")).to_be_visible()

    def unfold(self, summary: str) -> None:
        self.page.locator("summary", has_text=summary).click()

    def people(self) -> int:
        return sum(self.trial.status()["assigned"].values())

    def leave(self) -> None:
        """Nothing stuck out, nothing went wrong behind the page, and the log verifies."""
        assert self.watched.fits()
        assert self.watched.complaints == []
        assert self.trial.verify().ok
        self.watched.context.close()
        self.client.close()


MakeWard = Callable[..., Ward]


@pytest.fixture(params=["desktop", "phone"])
def ward(request: pytest.FixtureRequest, server: Server, browser: Browser) -> Iterator[MakeWard]:
    """Makes a ward; what holds for all of them is checked at the end."""
    made: list[Ward] = []

    def make(**design: Any) -> Ward:
        size = DESKTOP if request.param == "desktop" else PHONE
        made.append(Ward(server, browser, request.node.name.replace("[", " ").strip("]"), size, **design))
        return made[-1]

    yield make
    for one in made:
        one.leave()


def test_the_phantom(ward: MakeWard) -> None:
    desk = ward()
    desk.enrol("P-001")
    desk.look_up("P-0O1")
    near = desk.page.get_by_role("button", name="p-001", exact=True)
    expect(near).to_be_focused()
    expect(desk.page.get_by_text("Nobody has been enrolled yet.")).to_be_visible()
    near.click()
    expect(desk.page.get_by_text("p-001 is in the trial and has")).to_be_visible()
    desk.look_up("P-0O1")
    desk.page.get_by_role("link", name="I mistyped").click()
    expect(desk.page.get_by_label("Participant", exact=True)).to_be_focused()
    assert desk.people() == 1


def test_the_relabelled(ward: MakeWard) -> None:
    desk = ward()
    desk.enrol("P-0O1")
    arm = desk.page.locator(".given .arm").inner_text()
    desk.unfold("This entry is a mistake")
    desk.page.get_by_label("The right code").fill("P-001")
    desk.page.locator("#relabel-reason").fill("the letter for the digit")
    desk.page.get_by_role("button", name="Put the code right").click()
    expect(desk.page.get_by_text("The code is put right.")).to_be_visible()
    expect(desk.page.locator(".given .arm")).to_have_text(arm)
    desk.look_up("p-001")
    expect(desk.page.locator(".given .arm")).to_have_text(arm)
    assert desk.trial.status()["relabelled"] == 1
    assert desk.people() == 1


def test_the_duplicate(ward: MakeWard) -> None:
    desk = ward()
    desk.enrol("P-001")
    first = desk.page.locator(".given b.id").inner_text()
    desk.enrol("P-0O1")
    desk.unfold("This entry is a mistake")
    desk.page.get_by_label("The code they are in the trial with").fill("P-001")
    desk.page.locator("#void-reason").fill("entered twice")
    desk.page.get_by_role("button", name="Void this entry").click()
    expect(desk.page.get_by_text("The second entry is void.")).to_be_visible()
    expect(desk.page.locator(".given b.id")).to_have_text(first)
    expect(desk.page.locator("#awaited .count")).to_have_text("1")
    assert desk.trial.look_up("p-0o1") == []
    assert desk.people() == 2, "it keeps its place"


def test_the_late_correction(ward: MakeWard) -> None:
    desk = ward()
    desk.enrol("p-1")
    desk.trial.tell(subject="p-1", outcome=1)
    desk.look_up("p-1")
    expect(desk.page.get_by_text("Outcome recorded")).to_be_visible()
    desk.unfold("Correct the outcome")
    desk.page.locator(".given").get_by_role("radio", name="No success").check()
    desk.page.get_by_label("What happened").first.fill("read the wrong line")
    desk.page.get_by_role("button", name="Correct it").click()
    expect(desk.page.locator("#outcome").get_by_role("status")).to_contain_text("Corrected")
    desk.look_up("p-1")
    desk.unfold("Drops out of the trial")
    desk.page.get_by_role("button", name="p-1 drops out").click()
    desk.look_up("p-1")
    expect(desk.page.get_by_text("p-1 had")).to_be_visible()
    expect(desk.page.locator(".given.gone .arm")).to_have_css("text-decoration-line", "line-through")


def test_the_overdue(ward: MakeWard) -> None:
    desk = ward(follow_up="1s")
    desk.enrol("p-1")
    time.sleep(1.1)
    desk.page.goto(desk.page.url.partition("/desk")[0] + "/desk")
    expect(desk.page.locator("#awaited").get_by_text("1 overdue", exact=True)).to_be_visible()
    expect(desk.page.locator("#awaited li b")).to_contain_text("p-1")
    desk.page.locator("#awaited").get_by_role("link", name="Record the outcome").click()
    desk.page.get_by_role("radio", name="Success (1)").check()
    desk.page.get_by_role("button", name="Check and record").click()
    expect(desk.page.get_by_text("it is kept, but no longer counts")).to_be_visible()
    desk.page.get_by_role("button", name="Yes, record it").click()
    expect(desk.page.locator("#outcome").get_by_role("status")).to_contain_text("too late to count")


def test_codes_stay_in_the_browser_that_typed_them_until_it_signs_out(ward: MakeWard, server: Server) -> None:
    desk = ward()
    desk.enrol("zebra-4711")
    expect(desk.page.locator("#awaited li b")).to_contain_text("zebra-4711")
    kept = Path(server.store)
    assert all(b"zebra-4711" not in file.read_bytes() for file in kept.parent.glob(f"{kept.name}*"))
    desk.page.get_by_role("button", name="Sign out").click()
    desk.page.wait_for_url("**/sign-in")
    assert desk.page.evaluate("Object.keys(localStorage).length") == 0
