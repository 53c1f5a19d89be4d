"""A real Chromium, the system's own, that keeps an eye on what the pages do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    TimeoutError,
    expect,
    sync_playwright,
)

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ATTEMPTS = 3
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 780}
AXE = Path(__file__).parent / "vendored" / "axe.min.js"
"""axe-core, which finds what people who do not see, point or hear well stumble over; its licence stands beside it."""

expect.set_options(
    timeout=60_000
)  # a machine that is busy with other tests may take longer than Playwright's five seconds


def chromium() -> str:
    """The path of Chromium; where there is none the test is skipped, but in CI it fails."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        said = "There is no Chromium here; on Debian: apt-get install chromium."
        if os.environ.get("CI") == "true":
            pytest.fail(said)
        pytest.skip(said)
    return found


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """Chromium while the block runs."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def press_enter(page: Page) -> None:
    """Send a form with the keyboard. Chromium may drop a key that comes while a page is being drawn: then again."""
    page.wait_for_load_state("load")
    page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    for attempt in range(ATTEMPTS):
        try:
            with page.expect_navigation(timeout=20_000):
                page.keyboard.press("Enter")
            return
        except TimeoutError:
            if attempt == ATTEMPTS - 1:
                raise


class Watched:
    """A page, and everything about it that should not be."""

    def __init__(self, browser: Browser, home: str, size: dict[str, int] = DESKTOP, **options: Any) -> None:
        self._home = home
        self.context: BrowserContext = browser.new_context(viewport=size, accept_downloads=True, **options)  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.complaints: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self._home, "data:")):
            self.complaints.append(f"asked {request.url}")

    def fits(self) -> bool:
        """Whether nothing sticks out to the side."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))

    def sticking_out(self) -> list[str]:
        """What reaches beyond the right edge of the window."""
        found: list[str] = self.page.evaluate(
            """[...document.querySelectorAll('body *')].filter((one) =>
                one.getBoundingClientRect().right > window.innerWidth + 0.5 && !one.closest('.scroll, .wide'))
                .map((one) => `${one.tagName} ${one.className} ${one.textContent.trim().slice(0, 40)}`)"""
        )
        return found[:5]

    def squeezed(self) -> list[str]:
        """Text that has so little room that its words stand in pieces below each other."""
        found: list[str] = self.page.evaluate(
            """[...document.querySelectorAll('body *')].filter((one) => {
                const parts = [...one.childNodes].filter((part) => part.nodeType === 3);
                const text = parts.map((part) => part.textContent.trim()).join('');
                const box = one.getBoundingClientRect();
                return text.length > 4 && box.width > 1 && box.width < 56 && box.height > 60;
            }).map((one) => `${one.tagName} ${one.className} ${one.textContent.trim().slice(0, 40)}`)"""
        )
        return found[:5]

    def barriers(self) -> list[str]:
        """What axe-core calls serious or critical on the page as it is now, and where."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {one['help']} at {[node['target'] for node in one['nodes']][:3]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]

    def picture(self, name: str, whole: bool = True) -> None:
        """Keep a screenshot where the environment asks for them."""
        folder = os.environ.get("BESTARM_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=whole)
