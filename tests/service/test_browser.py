"""The whole story in a real browser: plan, create, enrol, late outcomes, a restart, stop, report."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import bestarm as ba
from bestarm.client import RemoteTrial
from tests.service.browser import DESKTOP, PHONE, Watched, press_enter, running_chromium
from tests.service.running import Server

MEANS = {"placebo": 0.1, "5 mg": 0.3, "10 mg": 0.9}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as one:
        yield one


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    one = Server(str(tmp_path / "trials.db"), tmp_path / "server.log")
    one.start()
    yield one
    one.stop()


def plan(page: Page, watched: Watched) -> int:
    """Plan: the number of participants for the chosen epsilon."""
    page.get_by_role("link", name="Plan a trial").click()
    page.get_by_label("Arms, one a line").fill("\n".join(MEANS))
    page.get_by_label("Hoped-for gap").fill("0.4")
    expected = page.locator("#expected")
    expect(expected).to_be_visible(timeout=180_000)
    page.get_by_role("slider").focus()
    before = expected.inner_text()
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#result")).to_contain_text("at ε\u00a0=\u00a00.16")
    dearer = expected.inner_text()
    assert _whole(dearer) > _whole(before), "more privacy takes more participants"
    watched.picture("plan")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#result")).to_contain_text("at ε\u00a0=\u00a01")
    return _whole(expected.inner_text())


def _whole(text: str) -> int:
    return int(text.replace(",", ""))


def create(page: Page, watched: Watched) -> None:
    """Create: the plan's design is carried over."""
    page.get_by_role("link", name="Create this trial").click()
    expect(page.get_by_label("Arms, one a line")).to_have_value("\n".join(MEANS))
    expect(page.get_by_label("Privacy budget")).to_have_value("1")
    page.get_by_label("Risk of a wrong answer").fill("0.0000001")  # so that the verdict is not wrong by chance
    page.get_by_label("Name").fill("Pain relief")
    page.get_by_label("What is measured, in words").fill("pain gone after 30 minutes")
    page.get_by_role("radio", name="Whenever it comes").check()
    page.get_by_role("button", name="Read it back to me").click()
    expect(page.get_by_text("Three arms are compared: placebo, 5 mg and 10 mg.")).to_be_visible()
    expect(page.get_by_text("holds up every later release")).to_be_visible()
    page.get_by_role("button", name="Change something").click()
    expect(page.get_by_label("Arms, one a line")).to_have_value("\n".join(MEANS))
    page.get_by_role("button", name="Read it back to me").click()
    page.get_by_role("button", name="Create the trial").click()
    expect(page.get_by_text("The trial is created")).to_be_visible()
    expect(page.get_by_text("No total has been released yet")).to_be_visible()


def enrol_by_hand(page: Page, subject: str) -> tuple[str, str]:
    """Enrol one participant with the keyboard alone: assignment and arm."""
    look_up_by_hand(page, subject)
    enrol = page.get_by_role("button", name=f"Enrol {subject}")
    expect(enrol).to_be_focused()
    press_enter(page)
    expect(page.get_by_text(f"{subject} gets")).to_be_visible()
    return given(page)


def look_up_by_hand(page: Page, who: str) -> None:
    """Look somebody up with the keyboard alone."""
    page.get_by_label("Participant", exact=True).fill(who)
    press_enter(page)
    page.wait_for_url("**/desk/find*")


def given(page: Page) -> tuple[str, str]:
    """The assignment and the arm on the page."""
    return page.locator(".given b.id").inner_text(), page.locator(".given .arm").inner_text()


def record_by_hand(page: Page, assignment: str, outcome: str) -> None:
    """Record an outcome: look at it once more, then confirm."""
    page.get_by_label("Participant or assignment").fill(assignment)
    page.get_by_role("radio", name=outcome).check()
    page.get_by_role("button", name="Check and record").click()
    expect(page.get_by_text("Nothing has been recorded yet.")).to_be_visible()
    page.get_by_role("button", name="Yes, record it").click()


def enrol(trial: RemoteTrial, people: int, rng: random.Random) -> None:
    """People come, and answer late and out of order; until so many have come, or until the trial stops."""
    answers: list[tuple[str, int]] = []
    for person in range(people):
        if len(answers) > 5:
            trial.tell(*answers.pop(rng.randrange(len(answers))))
        try:
            asked = trial.ask(f"person {people} {person}")
        except ba.OperationError:  # every arm waits for outcomes
            trial.tell(*answers.pop())
            continue
        if asked.id is None or asked.arm is None:
            break
        answers.append((asked.id, int(rng.random() < MEANS[asked.arm])))
    trial.tell_many(answers)


def late_by_hand(page: Page, server: Server, client: ba.Client) -> None:
    """An outcome that comes after the end is kept, and said to be late."""
    short = client.create(name="Short", arms=list(MEANS), epsilon=1, delta=0.05, outcomes="binary")
    assignment = short.ask("p-900").id
    assert assignment is not None
    short.end("the drug was recalled")
    page.goto(f"{server.url}/trials/Short/desk")
    expect(page.get_by_text("the drug was recalled")).to_be_visible()
    record_by_hand(page, assignment, "No success")
    expect(page.locator("#outcome").get_by_role("status")).to_contain_text("too late to count")


def test_from_plan_to_report(server: Server, browser: Browser, tmp_path: Path) -> None:
    watched = Watched(browser, server.url)
    page = watched.page
    page.goto(f"{server.url}/sign-in")
    watched.picture("sign-in", whole=False)
    page.goto(server.link())
    expect(page.get_by_text("No trial yet")).to_be_visible()
    assert "bal_" not in page.url

    assert plan(page, watched) > 10
    create(page, watched)

    page.get_by_role("link", name="Desk", exact=True).click()
    first, arm = enrol_by_hand(page, "p-001")
    look_up_by_hand(page, "P-001 ")
    expect(page.get_by_text("is in the trial and has")).to_be_visible()
    assert given(page) == (first, arm), "looking up shows the same"
    second, _ = enrol_by_hand(page, "p-002")
    third, _ = enrol_by_hand(page, "p-003")
    expect(page.locator("#awaited .count")).to_have_text("3")
    page.get_by_label("Participant or assignment").fill(first)
    page.get_by_role("radio", name="Success (1)").check()
    page.get_by_role("button", name="Check and record").click()
    page.get_by_role("button", name="Change").click()
    expect(page.get_by_label("Participant or assignment")).to_have_value(first)
    record_by_hand(page, first, "Success (1)")
    expect(page.get_by_role("status")).to_contain_text("Recorded")

    server.kill()
    server.start()
    page.goto(f"{server.url}/trials/Pain relief/desk")
    expect(page.locator("#awaited .count")).to_have_text("2")
    look_up_by_hand(page, "p-001")
    assert given(page)[0] == first, "the restart forgot nothing"
    record_by_hand(page, first, "Success (1)")
    expect(page.locator("#outcome").get_by_role("status")).to_contain_text("Already recorded")

    page.get_by_role("link", name="Access").click()
    page.locator("#view-label").fill("ethics board")
    page.get_by_role("button", name="Make the link").click()
    link = page.locator("#made").input_value()
    board = Watched(browser, server.url, PHONE, device_scale_factor=2)
    board.page.goto(link)
    expect(board.page.get_by_text("Recruiting now")).to_be_visible()

    client = ba.Client(server.url, token=server.token("admin"))
    trial = client.open(name="Pain relief")
    trial.tell_many([(third, 1), (second, 0)])
    rng = random.Random(4)
    wave = 50
    while not trial.status()["releases"]:  # how large the first stage is follows from the plan's difference
        wave += 1
        enrol(trial, wave, rng)
    page.goto(f"{server.url}/trials/Pain relief")
    page.get_by_text("releases as a table").wait_for()
    enrol(trial, 10**6, rng)  # until it stops; wrongly with a chance of at most delta

    expect(page.get_by_role("heading", name="Recommended")).to_be_visible(timeout=15_000)
    expect(page.locator(".answer")).to_have_text("10 mg")
    expect(board.page.get_by_role("heading", name="Recommended")).to_be_visible(timeout=15_000)
    expect(board.page.locator(".answer")).to_have_text("10 mg")
    assert board.fits()

    late_by_hand(page, server, client)
    client.close()

    with board.page.expect_download() as download:
        board.page.get_by_role("link", name="Download the report").click()
    report = tmp_path / "report.html"
    download.value.save_as(report)
    assert "10 mg" in report.read_text()
    assert watched.complaints == []
    assert board.complaints == []


def test_every_page_fits_a_phone_and_can_be_reached_by_keyboard(server: Server, browser: Browser) -> None:
    with ba.Client(server.url, token=server.token("admin")) as client:
        long = "an arm with a name so long that it cannot possibly fit into one line of a telephone"
        trial = client.create(
            name="Supercalifragilistic", arms=[long, "x" * 60], epsilon=1, delta=0.1, outcomes="unit", follow_up="30d"
        )
        trial.ask_many([f"p-{n}" for n in range(12)])
    watched = Watched(browser, server.url, PHONE, device_scale_factor=2)
    page = watched.page
    page.goto(f"{server.url}/sign-in")
    page.keyboard.type(server.token("admin"))
    press_enter(page)
    page.wait_for_url(f"{server.url}/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    for path in ("/", "/plan", "/new-trial", "/access", "/trials/Supercalifragilistic", "/nowhere"):
        page.goto(f"{server.url}{path}")
        assert watched.fits(), path
    page.goto(f"{server.url}/trials/Supercalifragilistic/desk")
    assert watched.fits()
    page.keyboard.type("p-100")
    press_enter(page)
    expect(page.get_by_role("button", name="Enrol p-100")).to_be_focused()
    press_enter(page)
    expect(page.get_by_text("p-100 gets")).to_be_visible()
    page.get_by_label("Record the outcome of assignment 1-").press("Enter")
    expect(page.get_by_label("Outcome", exact=True)).to_be_focused()
    page.keyboard.type("0.5")
    press_enter(page)
    expect(page.get_by_role("button", name="Yes, record it")).to_be_focused()
    press_enter(page)
    expect(page.locator("#outcome").get_by_role("status")).to_contain_text("Recorded")
    assert page.locator("#outcome").get_by_role("status").is_visible()
    assert watched.complaints == []


def test_what_a_reader_unfolded_stays_unfolded(server: Server, browser: Browser) -> None:
    with ba.Client(server.url, token=server.token("admin")) as client:
        trial = client.create(name="dose", arms=["a", "b"], epsilon=1, delta=0.1, algorithm="adap-tt")
        watched = Watched(browser, server.url, DESKTOP)
        page = watched.page
        page.goto(f"{server.url}/sign-in")
        page.get_by_label("Token or one-time code").fill(server.token("viewer"))
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{server.url}/")
        page.goto(f"{server.url}/trials/dose")
        page.get_by_text("The design, fixed when the trial was created").click()
        expect(page.locator("#design table")).to_be_visible()
        trial.ask("p-1")
        expect(page.locator(".now .numbers b").first).to_have_text("1", timeout=15_000)
        expect(page.locator("#design table")).to_be_visible()
    assert watched.complaints == []
