"""Files in and out: outcomes from CSV, the public record for everybody, the confidential one for those who may."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestarm.errors import InputError
from bestarm.files import OURS_ALONE, replacing
from bestarm.storage.contract import Reading
from bestarm.trial.fold import Rules
from bestarm.trial.identity import assignment_id
from bestarm.trial.moments import moment
from bestarm.trial.plain import Answer
from bestarm.trial.public import PublicView, ledger_of, releases_of, status_of
from bestarm.trial.report import report_of, report_page

HEADERS = (["assignment", "outcome"], ["outcome", "subject"])
CHAIN = "chain.jsonl"
"""The public chain in a public export, an event a line."""
LIKE_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
A_NUMBER = re.compile(r"[+-]?[0-9.]+(?:/[0-9]+|e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class OutcomeLine:
    """One line of a file of outcomes."""

    line: int
    who: str
    """The assignment, or the participant's code."""
    outcome: str
    by_code: bool = False


@dataclass(frozen=True)
class RowAnswer(Answer):
    """What became of one line of a file of outcomes: its status, or what is wrong with it."""

    line: int
    assignment: str
    status: str | None
    problem: str | None = None


class RowsRefused(InputError):
    """At least one line of a file cannot be used, so none was; `answers` says for each line what is wrong."""

    def __init__(self, answers: list[RowAnswer]) -> None:
        self.answers = answers
        bad = [answer for answer in answers if answer.problem is not None]
        first = "; ".join(f"line {answer.line}: {answer.problem}" for answer in bad[:5])
        more = f"; and {len(bad) - 5} more" if len(bad) > 5 else ""
        super().__init__(f"Nothing was recorded, because of {len(bad)} of {len(answers)} lines: {first}{more}")


def read_outcomes(path: str | Path) -> list[OutcomeLine]:
    """The lines of a CSV file with the columns assignment and outcome, or subject and outcome."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The file {path} cannot be read: {error}.") from error
    reader = csv.reader(io.StringIO(text))
    header = next(reader, [])
    names = [name.strip().lower() for name in header]
    if sorted(names) not in HEADERS:
        raise InputError(
            "The file has to begin with a line that names its two columns: assignment,outcome or subject,outcome."
        )
    rows = []
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != 2:
            raise InputError(f"Line {reader.line_num} has {len(cells)} columns; it takes two.")
        found = dict(zip(names, cells, strict=True))
        by_code = "subject" in found
        who = found["subject" if by_code else "assignment"].strip()
        rows.append(OutcomeLine(reader.line_num, who, found["outcome"].strip(), by_code))
    return rows


def write_report(view: PublicView, head: str, folder: str | Path) -> dict[str, str]:
    """Write report.html and report.json into a folder; their paths."""
    place = Path(folder)
    page, data = place / "report.html", place / "report.json"
    _write(page, report_page(view, head))
    _write(data, _json(report_of(view, head).to_json()))
    return {"html": str(page), "json": str(data)}


def write_public(view: PublicView, reading: Reading, folder: str | Path) -> dict[str, str]:
    """Write everything public into a folder: releases and estimates as CSV, design, status and ledger as JSON, and the
    public chain, from which `bestarm trial verify-public` rechecks every decision and every other file."""
    place = Path(folder)
    texts = public_texts(view)
    for name, text in texts.items():
        _write(place / name, text)
    with replacing(place / CHAIN) as temporary, temporary.open("w", encoding="utf-8") as out:
        for event in reading.events():
            if event.public_seq is not None:
                line = {"seq": event.public_seq, "kind": event.kind, "body": event.body, "hash": event.public_hash}
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
    return {name: str(place / name) for name in (*texts, CHAIN)}


def public_texts(view: PublicView) -> dict[str, str]:
    """The files of a public export that follow from its chain: name and content."""
    releases = [
        line.to_json() | {"released_at": moment(r.at)} for line, r in zip(releases_of(view), view.releases, strict=True)
    ]
    status = status_of(view).to_json()
    columns = ["stage", "kind", "arm", "size", "rival", "rival_size", "value", "epsilon", "released_at"]
    return {
        "releases.csv": _csv(columns, [_apart(line) for line in releases]),
        "estimates.csv": _csv(["arm", "mean", "low", "high"], status["estimates"]),
        "design.json": _json(view.design.to_json()),
        "status.json": _json(status),
        "ledger.json": _json(ledger_of(view).to_json()),
    }


def write_confidential(rules: Rules, reading: Reading, folder: str | Path) -> dict[str, str]:
    """Write what nobody outside may see: every assignment with its outcome, and the whole log. Readable by us alone."""
    place = Path(folder)
    assignments, log = place / "assignments.csv", place / "events.jsonl"
    rows = (
        {
            "assignment": assignment_id(reading.key, a.number),
            "subject": a.subject,
            "arm": rules.design.arms[a.arm],
            "stage": a.stage,
            "assigned_at": moment(a.at),
            "state": a.state,
            "outcome": a.outcome,
        }
        for a in reading.assignments()
    )
    columns = ["assignment", "subject", "arm", "stage", "assigned_at", "state", "outcome"]
    with replacing(assignments, OURS_ALONE) as path:
        path.write_text(_csv(columns, rows), encoding="utf-8")
    with replacing(log, OURS_ALONE) as path, path.open("w", encoding="utf-8") as out:
        for event in reading.events():
            kept = event.as_dict() | {"salt": event.salt.hex()}
            out.write(json.dumps(kept, ensure_ascii=False) + "\n")
    return {"assignments.csv": str(assignments), "events.jsonl": str(log)}


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _apart(line: dict[str, Any]) -> dict[str, Any]:
    """A release with a column for each of its arms; a sum has no rival."""
    arms, sizes = [*line["arms"], None], [*line["sizes"], None]
    return line | {"arm": arms[0], "size": sizes[0], "rival": arms[1], "rival_size": sizes[1]}


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _csv(columns: list[str], rows: Iterable[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({column: inert(row.get(column)) for column in columns} for row in rows)
    return out.getvalue()


def inert(cell: Any) -> Any:
    """The cell such that no spreadsheet takes it for a formula: text that begins like one gets an apostrophe."""
    if isinstance(cell, str) and cell.startswith(LIKE_A_FORMULA) and not A_NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell
