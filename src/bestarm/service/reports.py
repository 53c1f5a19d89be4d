"""The trial report as an answer. It carries its own style, which its policy names by hash, and nothing else."""

from __future__ import annotations

import base64
import hashlib
import re

from fastapi.responses import HTMLResponse


def report_response(page: str, filename: str | None = None) -> HTMLResponse:
    """The page, to be shown, or to be saved under a name."""
    styles = " ".join(f"'sha256-{_digest(style)}'" for style in re.findall(r"<style>(.*?)</style>", page, re.S))
    headers = {
        "Content-Security-Policy": f"default-src 'none'; style-src {styles}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }
    if filename is not None:
        headers["Content-Disposition"] = f'attachment; filename="{filename}"'
    return HTMLResponse(page, headers=headers)


def safe_filename(name: str, ending: str) -> str:
    """A file name that every system takes."""
    return (re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "trial") + ending


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
