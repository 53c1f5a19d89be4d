"""What mkdocs is told beside mkdocs.yml: the pages of the repository's root, and that nothing comes from elsewhere.

README, CONTRIBUTING and CHANGELOG are pages of the site as they stand; only their links are turned to where the site
has what they point to. A link to something that the site does not have (the licence, say) becomes plain text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
FROM_THE_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
TO_THE_ROOT = re.compile(r"(\]\((?:\.\./)*)\.\./(README|CONTRIBUTING|CHANGELOG)\.md")
IMAGE = re.compile(r"(!\[[^\]]*\]\()docs/")
OUTSIDE = re.compile(
    r"""<(?:script|img|iframe|audio|video|source)\b[^>]*\ssrc=["']?(?:https?:)?//[^\s"'>]+"""
    r"""|<link\b[^>]*\shref=["']?(?:https?:)?//[^\s"'>]+"""
    r"""|url\(["']?(?:https?:)?//[^)]+"""
    r"""|@import\s+["'](?:https?:)?//[^"']+"""
)
"""Whatever a browser would fetch from another place when it shows a page; links to click on are none of it."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the repository's root."""
    for name, page in FROM_THE_ROOT.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=as_on_the_site(text)))
    return files


def as_on_the_site(text: str) -> str:
    """A page of the root with its links turned to the site's pages."""

    def turned(found: re.Match[str]) -> str:
        label, target = found[1], found[2]
        if target.startswith(("http:", "https:", "mailto:", "#")):
            return found[0]
        if target.startswith("docs/"):
            return f"[{label}]({target.removeprefix('docs/')})"
        return f"[{label}]({FROM_THE_ROOT[target]})" if target in FROM_THE_ROOT else label

    return IMAGE.sub(r"\1", LINK.sub(turned, text))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn links from docs/ to the repository's root to the same pages on the site."""
    return TO_THE_ROOT.sub(lambda found: found[1] + FROM_THE_ROOT[f"{found[2]}.md"], markdown)


def on_post_build(config: Any) -> None:
    """Refuse a site that would load anything from elsewhere when it is read."""
    for path in Path(config["site_dir"]).rglob("*"):
        if path.suffix in (".html", ".css"):
            found = OUTSIDE.search(path.read_text(encoding="utf-8"))
            if found:
                raise PluginError(f"{path} loads something from elsewhere: {found[0]}")
