"""Trials and tables: Series and DataFrames in, DataFrames out, and what a notebook shows of a trial.

Whatever goes out is made from the public status alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from bestarm.errors import InputError
from bestarm.trial.identity import Participant

if TYPE_CHECKING:
    import pandas as pd


def subjects_in(subjects: Any) -> list[object]:
    """Participants' codes from a list, a Series, or a DataFrame with a column `subject`; an empty cell is refused."""
    if hasattr(subjects, "columns"):
        subjects = _column(subjects, "subject")
    found = list(subjects)
    if hasattr(subjects, "dtype"):
        _refuse_missing(found, "code")
    return found


def outcomes_in(outcomes: Any) -> list[tuple[str | Participant, object]]:
    """Pairs of assignment and outcome: from pairs, a Series of outcomes by assignment, or a DataFrame with a column
    `outcome` and one of `assignment` and `subject`."""
    if hasattr(outcomes, "columns"):
        by_code = "assignment" not in outcomes.columns and "subject" in outcomes.columns
        who = list(_column(outcomes, "subject" if by_code else "assignment"))
        _refuse_missing(who, "code" if by_code else "assignment")
        told = list(_column(outcomes, "outcome"))
        people: list[Any] = [Participant(code) for code in who] if by_code else who
    elif hasattr(outcomes, "index") and hasattr(outcomes, "items") and hasattr(outcomes, "dtype"):
        people, told = list(outcomes.index), list(outcomes)
        _refuse_missing(people, "assignment")
    else:
        pairs: Iterable[tuple[str | Participant, object]] = outcomes
        return list(pairs)
    _refuse_missing(told, "outcome")
    return list(zip(people, told, strict=True))


def _column(frame: Any, name: str) -> Any:
    if name not in frame.columns:
        raise InputError(f"The table has no column {name!r}; it has: {', '.join(map(str, frame.columns))}.")
    return frame[name]


def _refuse_missing(values: list[Any], what: str) -> None:
    empty = [row for row, value in enumerate(values, start=1) if _is_missing(value)]
    if empty:
        rows = ", ".join(map(str, empty[:5])) + (", ..." if len(empty) > 5 else "")
        raise InputError(f"The {what} is missing in row {rows}; nothing was recorded.")


def _is_missing(value: Any) -> bool:
    # NaN and NaT are unequal to themselves; of NA, nobody can say. Asked without importing pandas, which takes a while.
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


class Tabled(ABC):
    """A trial, here or on a server, that gives its public status as tables and shows itself in a notebook."""

    name: str

    @abstractmethod
    def status(self, staff: bool = False) -> dict[str, Any]:
        """The public state as plain data."""

    def releases_frame(self) -> pd.DataFrame:
        """One row a release: stage, kind, arm, rival (of a difference), people, value, a sum's mean, epsilon."""
        return _releases(self.status())

    def estimates_frame(self) -> pd.DataFrame:
        """One row an arm: people assigned, estimated mean, and the ends of its interval."""
        return _estimates(self.status())

    def plot(self) -> Any:
        """A matplotlib figure of every arm's estimate with its interval, from releases alone."""
        return _figure(self.name, self.status())

    def _repr_html_(self) -> str:
        return _shown(self.name, self.status())


def _releases(status: dict[str, Any]) -> pd.DataFrame:
    """One row a release: stage, kind, arm, rival (of a difference), people, value, epsilon, and a sum's mean."""
    import pandas as pd

    names = ("stage", "kind", "arm", "rival", "people", "value", "mean", "epsilon")
    rows = []
    for one in status["releases"]:
        people = sum(one["sizes"])
        rival = one["arms"][1] if len(one["arms"]) > 1 else None
        mean = one["value"] / people if one["kind"] == "sum" and people else None
        rows.append((one["stage"], one["kind"], one["arms"][0], rival, people, one["value"], mean, one["epsilon"]))
    return pd.DataFrame(rows, columns=list(names))


def _estimates(status: dict[str, Any]) -> pd.DataFrame:
    """One row an arm: people assigned, estimated mean, and the ends of its interval."""
    import pandas as pd

    rows = [{"arm": e["arm"], "people": status["assigned"][e["arm"]], **e} for e in status["estimates"]]
    return pd.DataFrame(rows, columns=["arm", "people", "mean", "low", "high"])


def _shown(name: str, status: dict[str, Any]) -> str:
    """A trial in a notebook: its state, people, estimates, and how it ended."""
    rows = "".join(
        f"<tr><th scope='row'>{escape(e['arm'])}</th><td>{status['assigned'][e['arm']]:,}</td>"
        f"<td>{_number(e['mean'])}</td><td>{_number(e['low'])} to {_number(e['high'])}</td></tr>"
        for e in status["estimates"]
    )
    verdict = status["verdict"]
    end = (
        "" if verdict is None else f"<p>Verdict: <b>{escape(str(verdict['arm']))}</b>. {escape(verdict['reason'])}</p>"
    )
    return (
        f"<p>Trial <b>{escape(name)}</b>: {escape(status['state'])}, {sum(status['assigned'].values()):,} "
        f"participants, {len(status['releases'])} releases.</p><table><thead><tr><th>arm</th><th>participants</th>"
        f"<th>estimated mean</th><th>interval</th></tr></thead><tbody>{rows}</tbody></table>{end}"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _figure(name: str, status: dict[str, Any]) -> Any:
    """A matplotlib figure: every arm's estimate with its interval."""
    from matplotlib.figure import Figure as Canvas

    known = [e for e in status["estimates"] if e["mean"] is not None]
    drawn = Canvas(figsize=(7.0, 0.6 * len(status["estimates"]) + 1.4), layout="constrained")
    axes = drawn.subplots()
    labels = [e["arm"] for e in status["estimates"]]
    for e in known:
        place = labels.index(e["arm"])
        axes.plot([e["low"], e["high"]], [place, place], color="#0072B2", linewidth=3, alpha=0.45)
        axes.plot([e["mean"]], [place], marker="o", color="#0072B2")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlabel("estimated mean and interval, from releases alone")
    axes.set_title(f"{name}: {status['state']}, {sum(status['assigned'].values()):,} participants", fontsize=10.5)
    axes.spines[["top", "right"]].set_visible(False)
    return drawn
