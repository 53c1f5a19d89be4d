"""Protocols as files: Markdown, HTML, or Word by python-docx."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from bestarm.errors import InputError
from bestarm.files import replacing
from bestarm.planning.planner import Plan
from bestarm.planning.protocol import Block, Heading, Items, Paragraph, protocol_of

TITLE: Final = "Statistical analysis plan"
ENDINGS: Final = (".md", ".html", ".docx")


def check_name(path: Path) -> None:
    """Refuse a file that cannot be written before anything is simulated."""
    if path.suffix not in ENDINGS:
        raise InputError(f"The protocol {path} must have a name that ends in {', '.join(ENDINGS)}.")
    if path.suffix == ".docx":
        try:
            import docx  # noqa: F401
        except ImportError:
            raise InputError("A Word document needs python-docx: pip install 'bestarm[protocol]'.") from None


def write_protocol(plan: Plan, path: str | Path) -> None:
    """Write the plan's protocol, whole or not at all; the ending of the file's name says how."""
    target = Path(path)
    check_name(target)
    blocks = protocol_of(plan)
    with replacing(target) as temporary:
        if target.suffix == ".docx":
            _write_docx(blocks, temporary)
        else:
            text = markdown(blocks) if target.suffix == ".md" else html(blocks)
            temporary.write_text(text, encoding="utf-8")


def markdown(blocks: Sequence[Block]) -> str:
    """For a repository or a wiki."""
    parts = [f"# {TITLE}"]
    for block in blocks:
        if isinstance(block, Heading):
            parts.append(f"## {block.text}")
        elif isinstance(block, Paragraph):
            parts.append(block.text.strip())
        elif isinstance(block, Items):
            parts.append("\n".join(f"- {line}" for line in block.lines))
        else:
            rows = [block.head, *block.rows]
            lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
            parts.append("\n".join([lines[0], "|" + "---|" * len(block.head), *lines[1:]]))
    return "\n\n".join(parts) + "\n"


def html(blocks: Sequence[Block]) -> str:
    """A page of its own that prints well."""
    parts = []
    for block in blocks:
        if isinstance(block, Heading):
            parts.append(f"<h2>{escape(block.text)}</h2>")
        elif isinstance(block, Paragraph):
            parts.append(f"<p>{escape(block.text.strip())}</p>")
        elif isinstance(block, Items):
            parts.append("<ul>" + "".join(f"<li>{escape(line)}</li>" for line in block.lines) + "</ul>")
        else:
            head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in block.head)
            rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in block.rows)
            parts.append(f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>')
    style = "body{font-family:Georgia,serif;margin:2rem auto;max-width:56rem;line-height:1.5;padding:0 1rem}"
    style += "table{border-collapse:collapse;font-size:.85rem}th,td{border:1px solid #bbb;padding:.25rem .5rem;"
    style += "text-align:left}.wide{overflow-x:auto}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>'
        f"<style>{style}</style></head><body><h1>{TITLE}</h1>{''.join(parts)}</body></html>\n"
    )


def _write_docx(blocks: Sequence[Block], path: Path) -> None:
    import docx
    from docx.enum.section import WD_ORIENT
    from docx.shared import Pt

    document = docx.Document()
    page = document.sections[0]
    page.orientation = WD_ORIENT.LANDSCAPE  # the table of operating characteristics is wide
    page.page_width, page.page_height = page.page_height, page.page_width
    document.add_heading(TITLE, level=0)
    for block in blocks:
        if isinstance(block, Heading):
            document.add_heading(block.text, level=1)
        elif isinstance(block, Paragraph):
            document.add_paragraph(block.text.strip())
        elif isinstance(block, Items):
            for line in block.lines:
                document.add_paragraph(line, style="List Bullet")
        else:
            table = document.add_table(rows=0, cols=len(block.head), style="Light Grid Accent 1")
            for row in (block.head, *block.rows):
                for cell, text in zip(table.add_row().cells, row, strict=True):
                    cell.text = text
                    for run in cell.paragraphs[0].runs:
                        run.font.size = Pt(8 if len(block.head) > 6 else 10)
            document.add_paragraph("")
    with path.open("wb") as file:
        document.save(file)
