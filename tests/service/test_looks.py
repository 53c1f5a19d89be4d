"""Every page and state in real Chromium, on a desk and at 360 pixels: nothing sticks out, nothing bars anybody's way.

With BESTARM_SCREENSHOTS set, each is also kept as a picture; those of docs/screenshots were made so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

import bestarm as ba
from bestarm.storage import open_store
from bestarm.storage.contract import Store
from bestarm.trial.trial import Trial
from tests.service.browser import DESKTOP, PHONE, Watched, press_enter, running_chromium
from tests.service.running import Server

LONG = "an arm with a name so long that it cannot possibly fit into one line of a telephone"
WORD = "Supercalifragilisticexpialidociously" * 2
MEANS = {"placebo": 0.3, "5 mg": 0.5, "10 mg": 0.9}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as one:
        yield one


class House:
    """A server over a store with a trial in every state."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.token = server.token("admin")
        self.voided = self.wide = ""
        self._fill(open_store(server.store))

    def _fill(self, store: Store) -> None:
        create = partial(Trial.create, store)
        plain: dict[str, Any] = {"epsilon": 1, "delta": 0.05, "outcomes": "binary"}
        pain = plain | {"arms": list(MEANS), "what": "pain gone after 30 minutes"}
        create(name="Empty", **pain | {"follow_up": "30d"})
        running = create(name="Pain relief", **pain | {"delta": "0.000001"})
        self._go_on(running)
        running.withdraw(subject="gone", reason="moved away")
        wrong = running.ask("p-0o5")
        running.void(str(wrong.id), "p-5", "entered twice")
        self.voided = str(wrong.id)
        wide = create(
            name=f"{WORD[:60]} and {LONG}"[:100].strip(),
            arms=[f"{LONG} {n}" for n in range(11)] + [WORD],
            algorithm="uniform",
            allocation="fixed",
            **plain,
        )
        self.wide = wide.name
        for one in wide.ask_many([f"w-{n}" for n in range(30)])[:24]:
            wide.tell(str(one.id), 1)
        late = create(name="Overdue", **plain | {"arms": ["a", "b"], "algorithm": "dp-se", "follow_up": "1s"})
        late.ask_many(["late", "later"])
        many = create(name="Crowded", **plain | {"arms": ["a", "b"], "algorithm": "dp-se", "follow_up": "30d"})
        many.ask_many([f"c-{n}" for n in range(45)])
        held = create(name="Held up", **plain | {"arms": ["a", "b"], "algorithm": "uniform"})
        held.ask_many(["h-1", "h-2", "h-3"])
        over = create(name="Over", **pain | {"epsilon": 5})
        self._run(over, 4000)
        assert over.verdict is not None
        ended = create(name="Ended", **pain)
        ended.ask("e-1")
        ended.end("the drug was recalled")
        paused = create(name="Paused", **pain)
        paused.pause("stock check")
        store.close()

    def _go_on(self, trial: Trial) -> None:
        """Until the first release, all arms alike; then seven more whose outcomes are missing."""
        number = 0
        while not trial.status()["releases"]:
            trial.tell(str(trial.ask(f"p-{number}").id), number % 2)
            number += 1
        trial.ask_many(["gone", "awaited", *(f"p-{more}" for more in range(number, number + 5))])

    def _run(self, trial: Trial, people: int) -> None:
        for number in range(people):
            asked = trial.ask(f"p-{number}")
            if asked.id is None or asked.arm is None:
                break
            trial.tell(asked.id, int((number * 37 % 100) < 100 * MEANS[asked.arm]))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("looks")
    server = Server(str(folder / "trials.db"), folder / "server.log")
    filled = House(server)
    server.start()
    yield filled
    server.stop()


def at(path: str) -> Callable[[Page, House], None]:
    """A page that is simply there."""
    return lambda page, house: go(page, house, path)


def go(page: Page, house: House, path: str) -> None:
    page.goto(house.server.url + path.replace("WIDE", quote(house.wide)))


def find(trial: str, who: str) -> Callable[[Page, House], None]:
    """Somebody looked up at a desk."""

    def steps(page: Page, house: House) -> None:
        go(page, house, f"/trials/{trial}/desk")
        page.get_by_label("Participant", exact=True).fill(house.voided if who == "VOIDED" else who)
        page.get_by_role("button", name="Look up").click()

    return steps


def unfold(before: Callable[[Page, House], None], *summaries: str) -> Callable[[Page, House], None]:
    """The same with these parts open."""

    def steps(page: Page, house: House) -> None:
        before(page, house)
        for summary in summaries:
            page.locator("summary", has_text=summary).first.click()

    return steps


def reviewed(page: Page, house: House) -> None:
    go(page, house, "/trials/Pain relief/desk")
    page.get_by_label("Participant or assignment").fill("awaited")
    page.get_by_role("radio", name="Success (1)").check()
    page.get_by_role("button", name="Check and record").click()
    expect(page.get_by_text("Nothing has been recorded yet.")).to_be_visible()


def refused(page: Page, house: House) -> None:
    go(page, house, "/trials/Pain relief/desk")
    page.get_by_label("Participant or assignment").fill("1-zzzz")
    page.get_by_role("radio", name="Success (1)").check()
    page.get_by_role("button", name="Check and record").click()
    expect(page.locator("#outcome").get_by_role("alert")).to_be_visible()


def filled(page: Page, house: House) -> None:
    go(page, house, "/new-trial")
    page.get_by_label("Name", exact=True).fill("Wound healing")
    page.get_by_label("Arms, one a line").fill("dressing A\ndressing B")
    page.get_by_label("What is measured, in words").fill("wound area left after 14 days, in percent")
    page.get_by_role("radio", name="A number").check()
    page.get_by_label("Highest number").fill("100")
    page.get_by_role("radio", name="Less").check()


def read_back(page: Page, house: House) -> None:
    filled(page, house)
    page.get_by_role("radio", name="Whenever it comes").check()
    page.get_by_role("button", name="Read it back to me").click()
    expect(page.get_by_text("Nothing has been created yet.")).to_be_visible()


def wrong_design(page: Page, house: House) -> None:
    filled(page, house)
    page.get_by_label("Risk of a wrong answer").fill("7")
    page.get_by_role("button", name="Read it back to me").click()
    expect(page.get_by_role("alert")).to_be_visible()


def signed_out(page: Page, house: House) -> None:
    page.context.clear_cookies()
    go(page, house, "/sign-in")
    page.get_by_label("Token or one-time code").fill("bat_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()


def made(form: str, label: str, button: str) -> Callable[[Page, House], None]:
    """Something that is shown once on the page Access."""

    def steps(page: Page, house: House) -> None:
        go(page, house, "/access")
        page.locator(form).fill(label)
        page.get_by_role("button", name=button).click()
        expect(page.locator("#made")).to_be_visible()

    return steps


def public(page: Page, house: House) -> None:
    go(page, house, f"/view/{house.server.view_link('Over')}")


STATES: dict[str, Callable[[Page, House], None]] = {
    "trials": at("/"),
    "plan-refused": at("/plan?arms=a"),
    "plan-hard-end": unfold(at("/plan?arms=placebo,drug&difference=&cap=end"), "More"),
    "new-trial-filled": filled,
    "new-trial-read-back": read_back,
    "new-trial-refused": wrong_design,
    "trial-created": at("/trials/Empty?created=yes"),
    "trial-recruiting": unfold(at("/trials/Pain relief"), "The same as a table", "as a table"),
    "trial-many-arms": at("/trials/WIDE"),
    "trial-paused": at("/trials/Paused"),
    "trial-decided": unfold(at("/trials/Over"), "The design, fixed"),
    "trial-ended": at("/trials/Ended"),
    "trial-waiting-for-outcomes": at("/trials/Held up"),
    "public-view": public,
    "desk-empty": at("/trials/Empty/desk"),
    "desk-new-participant": find("Pain relief", "p-900"),
    "desk-near-codes": find("Pain relief", "P-0O5"),
    "desk-awaited": find("Pain relief", "awaited"),
    "desk-mistake": unfold(find("Crowded", "c-3"), "This entry is a mistake"),
    "desk-recorded": find("Pain relief", "p-5"),
    "desk-withdrawn": find("Pain relief", "gone"),
    "desk-void": find("Pain relief", "VOIDED"),
    "desk-confirm": reviewed,
    "desk-refused": refused,
    "desk-held-up": at("/trials/Held up/desk"),
    "desk-overdue": at("/trials/Overdue/desk"),
    "desk-many-awaited": at("/trials/Crowded/desk"),
    "desk-many-arms": at("/trials/WIDE/desk"),
    "desk-paused": at("/trials/Paused/desk"),
    "desk-stopped": at("/trials/Over/desk"),
    "access-given": made("#label", "ward 3", "Make the token"),
    "access-view-link": made("#view-label", "ethics board", "Make the link"),
    "access-phone": made("#phone-label", "night shift", "Show a QR code"),
    "api": unfold(at("/docs"), "/look-up"),
    "nowhere": at("/nowhere"),
    "sign-in-refused": signed_out,
}


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_every_page_and_state(house: House, browser: Browser, size: str) -> None:
    time.sleep(1.1)  # until the follow-up of the overdue is over
    watched = Watched(browser, house.server.url, DESKTOP if size == "desktop" else PHONE)
    page = watched.page
    page.goto(f"{house.server.url}/sign-in")
    page.get_by_label("Token or one-time code").fill(house.token)
    press_enter(page)
    page.wait_for_url(f"{house.server.url}/")
    found: list[str] = []
    for name, steps in STATES.items():
        steps(page, house)
        page.wait_for_load_state("load")  # with its stylesheet
        if not watched.fits():
            found.append(f"{name} sticks out: {watched.sticking_out()}")
        found += [f"{name} squeezes {text}" for text in watched.squeezed()]
        if size == "phone":  # the same page either way, and more that scrolls
            found += [f"{name}, {barrier}" for barrier in watched.barriers()]
        watched.picture(f"{'phone-' if size == 'phone' else ''}{name}")
    assert found == []
    assert watched.complaints == []


def test_the_report_fits_and_prints_with_everything_open(house: House, browser: Browser, tmp_path: Path) -> None:
    with ba.Client(house.server.url, token=house.token) as client:
        paths = [
            client.open(name=name).report(tmp_path / str(n))["html"] for n, name in enumerate(("Over", house.wide))
        ]
    for size, kind in ((DESKTOP, "report"), (PHONE, "phone-report")):
        for number, path in enumerate(paths):
            watched = Watched(browser, f"file://{path}", size)
            page = watched.page
            page.goto(f"file://{path}")
            assert watched.fits(), watched.sticking_out()
            assert watched.barriers() == []
            if number == 0:
                watched.picture(kind)
            table = page.locator("details table").first
            assert not table.is_visible()
            page.emulate_media(media="print")
            assert table.is_visible()
            if number == 0 and size is DESKTOP:
                watched.picture("report-print")
            watched.context.close()
    printed = Watched(browser, house.server.url)
    page = printed.page
    page.goto(f"{house.server.url}/view/{house.server.view_link('Over')}")
    page.emulate_media(media="print")
    assert page.locator("#all-releases table").is_visible()
    assert not page.locator("header.top").is_visible()
    printed.picture("public-view-print")
