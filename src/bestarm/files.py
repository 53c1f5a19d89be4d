"""Files appear whole or not at all, and what is confidential is ours alone from its first byte."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

FOR_ALL: Final = 0o644
OURS_ALONE: Final = 0o600


@contextmanager
def replacing(path: Path, mode: int = FOR_ALL) -> Iterator[Path]:
    """Give a temporary path to write to; the file takes its place only when all went well.

    Until then nobody else can read it, and from then on those whom `mode` allows.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=f".{path.name}")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def claim_private(path: Path) -> None:
    """Make an empty file that nobody else can read, unless there is one: what a database writes then is never open.

    A file that is there is not even opened: closing it again would end the locks that this process holds on it. Where
    none can be made, whoever comes to write there says so.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OURS_ALONE))
