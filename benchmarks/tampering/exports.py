"""Edits of the files of a public export."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.tampering.edit import DEEP, Tampering, json_variants, said_of, with_other


def export_edits(folder: Path) -> Iterator[Tampering]:
    """Each file of a public export: lines, cells and entries changed, taken out, doubled, exchanged, cut off."""
    for path in sorted(folder.iterdir()):
        text = path.read_text(encoding="utf-8")
        whole = {
            "emptied": "",
            "garbled": text.replace(":", ";").replace(",", ";"),
            "cut off": text[: len(text) // 2],
            "deep": DEEP,
        }
        for kind, other in whole.items():
            yield _rewritten(path, kind, "", other)
        yield _rewritten(path, "not text", "", b"\xff\xfe")
        if path.suffix != ".json":
            lines = text.splitlines(keepends=True)
            for at in range(0, len(lines), max(1, len(lines) // 12)):
                variants = {
                    "left out": lines[:at] + lines[at + 1 :],
                    "doubled": lines[: at + 1] + lines[at:],
                    "cut off": lines[: at + 1],
                    "exchanged": [*lines[:at], *lines[at + 1 : at + 2], lines[at], *lines[at + 2 :]],
                }
                for kind, changed in variants.items():
                    if changed != lines:
                        yield _rewritten(path, kind, f"line {at + 1}", "".join(changed))
        if path.suffix == ".json":
            for said, data in json_variants(json.loads(text)):
                yield _rewritten(path, "in the JSON", said, json.dumps(data))
        elif path.suffix == ".csv":
            yield from _cell_edits(path, list(csv.reader(io.StringIO(text))))
        else:
            yield from _line_edits(path, text.splitlines())


def _rewritten(path: Path, kind: str, said: str, content: str | bytes) -> Tampering:
    def edit(folder: Path) -> None:
        (folder / path.name).write_bytes(content if isinstance(content, bytes) else content.encode())

    return Tampering(path.name, kind, "", said, edit)


def _cell_edits(path: Path, rows: list[list[str]]) -> Iterator[Tampering]:
    for at in range(0, len(rows), max(1, len(rows) // 8)):
        for column, cell in enumerate(rows[at]):
            for other in ("", "x", f"{cell}1", cell[::-1], "0.5", "-7", "nan"):
                if other != cell:
                    out = io.StringIO()
                    csv.writer(out, lineterminator="\n").writerows(with_other(rows, (at, column), other))
                    yield _rewritten(path, "another cell", f"{said_of(cell)} becomes {other!r}", out.getvalue())


def _line_edits(path: Path, lines: list[str]) -> Iterator[Tampering]:
    one_of_each = {json.loads(line)["kind"]: at for at, line in enumerate(lines)}
    for at in one_of_each.values():
        for said, data in json_variants(json.loads(lines[at])):
            changed = [*lines[:at], json.dumps(data, ensure_ascii=False), *lines[at + 1 :]]
            yield _rewritten(path, "in the JSON", f"line {at + 1}: {said}", "\n".join(changed) + "\n")
