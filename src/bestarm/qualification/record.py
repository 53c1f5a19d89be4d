"""The record: every check with what was expected and found, as a table, a page and JSON."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from bestarm import __version__
from bestarm.files import replacing


@dataclass(frozen=True)
class Check:
    """One check: its name, what was expected, what was found, and whether that is the same."""

    name: str
    expected: str
    found: str
    passed: bool


@dataclass(frozen=True)
class Qualification:
    """The record of one installation."""

    version: str
    made_at: str
    python: str
    platform: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        about = {"version": self.version, "made_at": self.made_at, "python": self.python, "platform": self.platform}
        return {"passed": self.passed, **about, "checks": [asdict(check) for check in self.checks]}


def qualify(progress: Callable[[int, int], None] | None = None) -> Qualification:
    """Run every check. A check that breaks is one that has not passed, with its error as what was found."""
    from bestarm.qualification.checks import CHECKS

    found = []
    for number, (name, expected, check) in enumerate(CHECKS, start=1):
        try:
            said, passed = check()
        except Exception as error:  # whatever goes wrong here is what the record has to say
            said, passed = f"{type(error).__name__}: {error}", False
        found.append(Check(name, expected, said, passed))
        if progress is not None:
            progress(number, len(CHECKS))
    return Qualification(
        version=__version__,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        python=sys.version.split()[0],
        platform=platform.platform(),
        checks=tuple(found),
    )


def write_record(record: Qualification, folder: str | Path) -> dict[str, str]:
    """Write qualification.json and qualification.html into a folder; their paths."""
    target = Path(folder)
    paths = {"json": target / "qualification.json", "html": target / "qualification.html"}
    with replacing(paths["json"]) as temporary:
        temporary.write_text(json.dumps(record.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    with replacing(paths["html"]) as temporary:
        temporary.write_text(_page(record), encoding="utf-8")
    return {name: str(path) for name, path in paths.items()}


def _page(record: Qualification) -> str:
    head = "".join(f"<th scope='col'>{name}</th>" for name in ("check", "expected", "found", "result"))
    rows = "".join(
        f"<tr><th scope='row'>{escape(one.name)}</th><td>{escape(one.expected)}</td><td>{escape(one.found)}</td>"
        f"<td><b>{'pass' if one.passed else 'FAIL'}</b></td></tr>"
        for one in record.checks
    )
    result = "passed" if record.passed else "FAILED"
    style = (
        "body{font-family:sans-serif;margin:2rem;max-width:70rem}table{border-collapse:collapse}th,td{padding:.35rem "
    )
    style += ".7rem;border-bottom:1px solid #ccc;text-align:left;vertical-align:top}.sign{margin-top:3rem}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Installation qualification</title>'
        f"<style>{style}</style></head><body><h1>Installation qualification: {result}</h1>"
        f"<p>bestarm {escape(record.version)}, Python {escape(record.python)}, {escape(record.platform)}; "
        f"{escape(record.made_at)}.</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        "<p class='sign'>Reviewed by: ______________________ &nbsp; Date: ______________</p></body></html>\n"
    )
