"""What commands show: one JSON object for machines, tables and plain words for people, progress on stderr."""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any


def jsonable(value: Any) -> Any:
    """The same value as JSON can carry it: numbers that are not finite become null, arrays become lists."""
    if isinstance(value, Mapping):
        return {str(key): jsonable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(inner) for inner in value]
    if hasattr(value, "tolist"):  # numpy's arrays and scalars, without importing numpy
        return jsonable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def emit_json(payload: Mapping[str, Any]) -> None:
    """Write one JSON object to stdout, whole: it is complete before the first byte leaves."""
    plain = jsonable(payload)
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # a console that lacks a character must not change what machines read
        text = json.dumps(plain, ensure_ascii=True, allow_nan=False, indent=2)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def say(*paragraphs: str) -> None:
    """Plain sentences on stdout, wrapped to the terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    for paragraph in paragraphs:
        console.print(paragraph, markup=False)


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1, note: str | None = None
) -> None:
    """A table on stdout: the first `words` columns are text, the others numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        table.add_column(Text(column), justify="left" if position < words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(highlight=False)
    console.print(table)
    if note:
        console.print(note, markup=False, style="dim")


def count(value: float) -> str:
    """A number of people: rounded up, since nobody is half a participant."""
    if not math.isfinite(value):
        return "–"
    whole = math.ceil(value - 1e-9 * abs(value))
    return f"{whole:,}" if whole < 10**15 else f"{value:.3g}"


def number(value: float) -> str:
    """A quantity with four meaningful digits."""
    if not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def percent(share: float) -> str:
    """A share of people."""
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else "< 0.1 %"


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A callback (done, total) that draws a bar on stderr (nothing where stderr is no terminal) and obeys Ctrl-C."""
    with _interruptible() as check:
        if not sys.stderr.isatty():
            yield lambda done, total: check()
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
        with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=None)

            def show(done: int, total: int) -> None:
                check()
                bar.update(task, completed=done, total=total)

            yield show


@contextmanager
def _interruptible() -> Iterator[Callable[[], None]]:
    """A function that raises KeyboardInterrupt if Ctrl-C was pressed and nobody noticed.

    An interrupt that arrives while the simulator is being compiled is swallowed by the compiler's callbacks.
    """
    pressed = False

    def remember(signum: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield check
        return
    previous = signal.signal(signal.SIGINT, remember)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, previous)


def tell(message: str) -> None:
    """A message to the person at the terminal, on stderr."""
    print(message, file=sys.stderr)


def caution(sentences: Sequence[str]) -> None:
    """What is allowed, but odd, on stderr."""
    for sentence in sentences:
        tell(f"Caution: {sentence}")
