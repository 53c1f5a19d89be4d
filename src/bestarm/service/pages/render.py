"""How pages are made: the templates, what every one of them knows, and the pages for when something is wrong."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from bestarm import __version__
from bestarm.exact import text_of
from bestarm.service.problems import TITLES, Refusal

MINUTE, HOUR, DAY = 60, 3600, 86400


def people(value: float | None) -> str:
    """A number of people, rounded up."""
    return "–" if value is None or not math.isfinite(value) else f"{math.ceil(value - 1e-9 * abs(value)):,}"


def short(value: float | None) -> str:
    """A number with three digits."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.3g}"


def span(seconds: float) -> str:
    """A length of time in its largest unit."""
    for unit, length in (("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
        count = int(seconds // length)
        if count:
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a minute"


def age(moment: str) -> str:
    """How long ago a time in ISO 8601 was."""
    return span(max(0.0, (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()))


def until(moment: str) -> str:
    """How long it is until a time in ISO 8601."""
    seconds = (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds()
    if seconds <= 0:
        return "past due"
    unit = next((length for length in (DAY, HOUR, MINUTE) if seconds >= length), MINUTE)
    return f"due in {span(unit * math.ceil(seconds / unit))}"


def listed(words: list[str]) -> str:
    """Words as a sentence lists them."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def capitalised(words: str) -> str:
    """The words as a sentence begins with them; `capitalize` would make the rest of them small."""
    return words[:1].upper() + words[1:]


def trial_path(name: str, rest: str = "") -> str:
    """The address of a trial's page."""
    return f"/trials/{quote(name, safe='')}{rest}"


_environment = Environment(
    loader=PackageLoader("bestarm.service"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters.update(
    people=people, short=short, age=age, until=until, listed=listed, exactly=text_of, capitalised=capitalised
)
_environment.globals.update(version=__version__, trial_path=trial_path)


def render(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """A page from its template."""
    state = request.state
    known = {
        "holder": getattr(state, "holder", None),
        "csrf": getattr(state, "csrf", ""),
        "path": request.url.path,
    }
    return HTMLResponse(_environment.get_template(template).render(known | context), status)


def error_page(request: Request, refusal: Refusal) -> Response:
    """What went wrong, in one sentence, and where to go from here."""
    title = TITLES.get(refusal.status, "Refused")
    page = render(request, "error.html", refusal.status, title=title, detail=refusal.detail, code=refusal.status)
    page.headers.update(refusal.headers)
    return page


async def to_sign_in(request: Request, _: Exception) -> Response:
    """Sends people who are not signed in to where they can; a page that updates itself is reloaded there."""
    if request.headers.get("hx-request"):
        return Response(status_code=204, headers={"HX-Redirect": "/sign-in"})
    target = request.url.path if request.method == "GET" and request.url.path != "/" else ""
    return RedirectResponse(f"/sign-in?next={quote(target)}" if target else "/sign-in", 303)
