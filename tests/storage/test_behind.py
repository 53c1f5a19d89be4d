"""Tables behind the log: whoever reads, writes, looks or takes over sees what the log says, and never less."""

from __future__ import annotations

import gc
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import sqlalchemy as sa

from bestarm.errors import BestArmError, OperationError
from bestarm.storage import behind, open_store
from bestarm.storage.behind import EVERY, MOST, Since
from bestarm.storage.contract import Books, Reading, Stage, Store, Writing
from bestarm.storage.drafts import Drafting, Known, RowsByKey
from bestarm.storage.effects import enter_assigned, enter_told, resolve
from bestarm.storage.events import next_event
from bestarm.storage.memory import MemoryStore
from bestarm.storage.sql import SQLStore
from bestarm.storage.sql_blocks import SQLRows
from bestarm.trial.trial import Trial
from tests.trial.people import ChosenNoise

KEY = b"k" * 32
PEOPLE = 40


def happen(writing: Writing, kind: str, body: dict[str, Any], secret: dict[str, Any] | None = None) -> None:
    """An event, and what it does to the books."""
    publicly, at = (writing.public_seq, writing.public_head), writing.book.at + 1
    salt = bytes(32)
    writing.append(next_event(writing.head, publicly, writing.seq + 1, at, "me", kind, body, secret, salt))
    enter: dict[str, Callable[..., Any]] = {"assigned": enter_assigned, "told": enter_told, "corrected": corrected}
    if kind in enter:
        enter[kind](writing, at, body, secret or {})
    writing.book.at = at


def corrected(books: Books, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
    """Another integer than before."""
    one = books.assignment(body["assignment"])
    assert one is not None
    resolve(books, one, secret["value"])


def open_two_stages(writing: Writing) -> None:
    """A trial with two stages of two arms, the first of them closed."""
    happen(writing, "created", {})
    for number in (1, 2):
        happen(writing, "opened", {"stage": number})
        closed = {"size": 9, "closed_at": 1, "position": 0} if number == 1 else {}
        writing.save_stage(Stage(number, [0.5, 0.5], True, 1, 9, 9, **closed))  # type: ignore[arg-type]
    writing.book.opened, writing.book.closed = 2, 1


def join(writing: Writing, subject: str, stage: int = 2) -> None:
    """One more person; nobody who is in the trial already."""
    if not writing.held_by(subject):
        number = writing.book.people + 1
        body = {"assignment": number, "arm": number % 2, "stage": stage, "replacing": False}
        happen(writing, "assigned", body, {"subject": subject})


def tell(writing: Writing, number: int) -> None:
    """An outcome of somebody whose outcome is awaited."""
    one = writing.assignment(number)
    if one is not None and one.state == "open":
        happen(writing, "told", {"assignment": number, "by": "me"}, {"outcome": str(number), "value": number})


def step(rng: random.Random, writing: Writing) -> None:
    """Something, mostly what may wait."""
    what = rng.random()
    if what < 0.48:
        join(writing, f"s{rng.randrange(3 * PEOPLE)}", stage=rng.choice((1, 2)))
    elif what < 0.99:
        tell(writing, rng.randint(1, max(1, writing.book.people)))
    elif writing.book.people:
        happen(writing, "corrected", {"assignment": 1}, {"value": rng.randint(0, 9)})


def seen(reading: Reading) -> dict[str, Any]:
    """Everything that can be asked of a trial."""
    people, subjects = reading.book.people, [f"s{n}" for n in range(0, 3 * PEOPLE, 2)]
    return {
        "heads": (reading.seq, reading.head, reading.public_seq, reading.public_head),
        "book": reading.book,
        "all": [list(rows()) for rows in (reading.assignments, reading.stages, reading.tallies)],
        "one by one": [reading.assignment(number) for number in range(people + 2)],
        "by subject": [reading.held_by(subject) for subject in subjects],
        "by any": reading.held_by_any(subjects),
        "open": [[one.number for one in reading.open_in(stage)] for stage in (1, 2, 3)],
        "counted": [reading.count_open(stage) for stage in (1, 2, 3)],
        "stages": [(reading.stage(number), reading.stage_at(number)) for number in range(4)],
        "tallies": [reading.tally(stage, arm) for stage in (1, 2, 3) for arm in (0, 1)],
    }


def marks(store: Store) -> tuple[int, int, int]:
    """The last event, the one that tables stand at, and the one they last stood at for a public reason."""
    assert isinstance(store, SQLStore)
    with store.engine.connect() as connection:
        found = connection.execute(sa.text("SELECT seq, books_seq, joins_seq FROM trials")).one()
    return tuple(found)


def walk(place: str, seed: int, steps: int = 160) -> int:
    """A trial that two processes write in turns, beside the same in memory: all that can be asked is the same. How far
    tables were behind."""
    stores: list[Store] = [open_store(place, create=True), open_store(place)]
    memory, rng, most = MemoryStore(), random.Random(seed), 0
    for store in (stores[0], memory):
        with store.add("t", {}, KEY) as writing:
            open_two_stages(writing)
    for _ in range(steps):
        turn, many = rng.choice((0, 0, 0, 1)), rng.choice((1, 1, 1, 4))
        before = rng.getstate()
        for store in (stores[turn], memory):
            rng.setstate(before)
            with store.writing("t") as writing:
                for _ in range(many):
                    step(rng, writing)
        if rng.random() < 0.3:
            with memory.reading("t") as right:
                expected = seen(right)
            fresh = open_store(place)
            for other in (stores[0], stores[1], fresh):
                with other.reading("t") as reading:
                    assert seen(reading) == expected
            with fresh.writing("t") as taken_over:
                assert seen(taken_over) == expected
            with fresh.reading("t", publicly=True) as public:
                assert public.book.people == expected["book"].people
                sizes = [(s.people, [public.tally(s.number, arm) for arm in (0, 1)]) for s in public.stages()]
                assert [(n, [t and t.assigned for t in pair]) for n, pair in sizes] == [
                    (s.people, [t and t.assigned for t in expected["tallies"][2 * s.number - 2 : 2 * s.number]])
                    for s in expected["all"][1]
                ]
            fresh.close()
        seq, books, joins = marks(stores[0])
        assert joins <= books <= seq <= books + MOST
        most = max(most, seq - books)
    for store in stores:
        store.close()
    return most


@pytest.mark.parametrize("seed", range(4))
def test_everybody_sees_what_the_log_says(place: str, seed: int) -> None:
    assert walk(place, seed) > 10


def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever joined since the tables were written is not found by code."""
    monkeypatch.setattr(Known, "behind", property(lambda self: _Nobody(self), lambda self, rows: None), raising=False)


class _Nobody:
    # Rows that nobody is found in by code, and that forget everything.
    def __init__(self, known: Known) -> None:
        self.assignments: dict[int, Any] = {}
        self.stages: dict[int, Any] = {}
        self.tallies: dict[tuple[int, int], Any] = {}
        self.positions: dict[int, int] = {}
        self.subjects: dict[str, tuple[int, ...]] = {}

    def enter_all(self, other: object) -> None:
        """Nothing."""


def unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer looks for codes in the tables alone."""
    monkeypatch.setattr(Drafting, "held_by", lambda self, subject: self._read_held(subject))


def miscounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader counts those who are awaited in the tables alone."""
    monkeypatch.setattr(SQLRows, "count_open", lambda self, stage: self._tables.count_open(stage))


def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes over enters who joined, and not what was told."""
    monkeypatch.setattr(behind, "enter_told", lambda *_: None)


def doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes over enters people twice into their stage."""

    def twice(books: Since, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        stage = enter_assigned(books, at, body, secret)
        stage.people += 1

    monkeypatch.setattr(behind, "enter_assigned", twice)


def unwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are said to stand at an event whose rows were not written."""
    monkeypatch.setattr("bestarm.storage.sql_blocks.SQLWriting._rows", lambda self: [])


def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is used although somebody else has written."""
    held = SQLStore._held
    monkeypatch.setattr(
        SQLStore, "_held", lambda self, link, name: self._kept.pop(name, None) or held(self, link, name)
    )


def unbounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables wait for as long as nothing else happens."""
    monkeypatch.setattr(behind, "passed", lambda block: False)
    monkeypatch.setattr(behind, "MOST", 10**9)


def seen_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks from outside counts those again whom the tables have already."""

    def counted(tables: Any, known: Known) -> Any:
        known.books_seq = known.joins_seq
        return joined(tables, known)

    joined = behind.joined_since
    monkeypatch.setattr("bestarm.storage.sql_blocks.joined_since", counted)


def walks(place: str) -> None:
    """Some long walks."""
    for seed in range(5):
        walk(f"{place}{seed}", seed, steps=400)


def astray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory goes on with what others wrote although they wrote the tables too."""
    right = behind.follow

    def followed(tables: Any, known: Known, marks: tuple[int, int, str, int]) -> bool:
        return right(tables, known, (*marks[:3], known.books_seq))

    monkeypatch.setattr("bestarm.storage.sql.follow", followed)


def half_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory goes on with what others wrote, and forgets that the tables lack it."""
    right = behind.follow

    def followed(tables: Any, known: Known, marks: tuple[int, int, str, int]) -> bool:
        lacking, known.behind = known.behind, RowsByKey()
        done = right(tables, known, marks)
        known.behind = lacking
        return done

    monkeypatch.setattr("bestarm.storage.sql.follow", followed)


DEFECTS = (
    *(forgetful, unasked, miscounted, unread, doubled, unwritten),
    *(trusting, unbounded, seen_by_all, astray, half_followed),
)


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_a_planted_defect_is_caught(
    defect: Callable[[pytest.MonkeyPatch], None], sqlite_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    defect(monkeypatch)
    with pytest.raises((AssertionError, BestArmError)):
        walks(sqlite_place)


PLAN: dict[str, Any] = {"arms": ["a", "b"], "epsilon": "0.01", "delta": "0.01", "outcomes": "binary"}


@pytest.fixture
def trial(place: str) -> Iterator[Trial]:
    """A trial whose first stage takes many people."""
    trial = Trial.create(place, name="t", noise=ChosenNoise(), **PLAN)
    trial.ask_many([f"early {n}" for n in range(EVERY * 5)])
    yield trial
    trial.close()


def test_somebody_who_took_over_enrols_nobody_twice(trial: Trial, place: str) -> None:
    asked = [trial.ask(f"p-{n}") for n in range(12)]
    seq, books, _ = marks(trial._store)
    assert seq > books
    with Trial.open(place, name="t") as other:
        assert [other.ask(f"p-{n}") for n in range(12)] == asked
        assert other.tell(str(asked[3].id), 1) == "recorded"
        assert [one.told for one in other.look_up("p-3")] == [True]
    assert trial.tell(str(asked[3].id), 1) == "already recorded"
    assert trial.ask("p-3").told
    assert trial.verify().ok


def test_a_process_that_died_after_its_commit_leaves_nothing_to_mend(trial: Trial, place: str) -> None:
    asked = [str(trial.ask(f"p-{n}").id) for n in range(9)]
    for number, one in enumerate(asked[:5]):
        trial.tell(one, number % 2)
    store = trial._store
    assert isinstance(store, SQLStore)
    store._kept.clear()  # committed, and gone before it could remember
    trial._head = None
    assert trial.tell(asked[5], 1) == "recorded"
    with Trial.open(place, name="t") as other:
        assert other.verify().ok
        assert other.staff_status().awaited == EVERY * 5 + 9 - 6
        other.withdraw(asked[6])  # writes all tables
        assert marks(other._store)[0] == marks(other._store)[1]
        assert other.verify().ok
    assert trial.tell(asked[7], 1) == "recorded"
    assert trial.verify().ok


def test_a_changed_tail_is_noticed(sqlite_place: str, tmp_path: Path) -> None:
    with Trial.create(sqlite_place, name="t", noise=ChosenNoise(), **PLAN) as trial:
        trial.ask_many([f"early {n}" for n in range(EVERY)])
        for number in range(6):
            trial.tell(str(trial.ask(f"p-{number}").id), 1)
        seq, books, _ = marks(trial._store)
    assert seq == books + 12
    changes = (
        f"UPDATE events SET body = 'garbled' WHERE seq = {seq}",
        f"UPDATE events SET secret = NULL WHERE seq = {seq}",
        f"UPDATE events SET kind = 'paused' WHERE seq = {seq}",
        f"DELETE FROM events WHERE seq = {seq - 1}",
        f"DELETE FROM events WHERE seq = {seq}",
        f"UPDATE trials SET books_seq = {books + 2}",
        f"UPDATE trials SET books_seq = {books - 1}, joins_seq = 1",
        f"UPDATE trials SET books_seq = {seq + 1}",
        f"UPDATE trials SET joins_seq = {books + 1}",
        "UPDATE trials SET books_seq = 'x'",
        "UPDATE assignments SET state = 'told' WHERE number = 1",
        "UPDATE tallies SET assigned = assigned + 1",
        "UPDATE stages SET people = people - 1",
        "SELECT 1",
    )
    for number, change in enumerate(changes):
        copy = tmp_path / f"{number}.db"
        with closing(sqlite3.connect(sqlite_place)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
            target.execute(change)
            target.commit()
        with Trial.open(copy, name="t") as changed:
            try:
                well = changed.verify().ok
            except OperationError:
                well = False
        assert well == (change == "SELECT 1"), change


def looked(trial: Trial) -> Counter[str]:
    """What of ours is called when somebody looks for the first time, or after something public."""
    found: Counter[str] = Counter()

    def called(frame: FrameType, what: str, _: Any) -> None:
        if what == "call" and "bestarm" in frame.f_code.co_filename:
            found[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1

    trial._shown = None
    gc.disable()
    sys.setprofile(called)
    try:
        trial.view()
    finally:
        sys.setprofile(None)
        gc.enable()
    return found


def looks_alike(trial: Trial) -> bool:
    """Whether looks are the same after every outcome, although outcomes had the tables written."""
    for number in range(10):
        trial.ask(f"p-{number}")
    awaited = [one.id for one in trial.open_assignments()]
    looked(trial)
    quiet, written, alike = looked(trial), set(), True
    for one in awaited:
        trial.tell(one, 1)
        written.add(marks(trial._store)[1])
        alike = alike and looked(trial) == quiet
    assert len(written) > 1
    return alike


def test_what_a_look_does_does_not_depend_on_outcomes(trial: Trial) -> None:
    assert looks_alike(trial)


def test_a_look_that_outcomes_make_shorter_is_caught(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestarm.storage.sql_blocks.for_all_to_know", lambda block: True)
    assert not looks_alike(trial)


def test_a_public_reading_knows_nobody(trial: Trial) -> None:
    trial.tell(str(trial.ask("p").id), 1)
    with trial._store.reading("t", publicly=True) as reading:
        assert reading.book.people == EVERY * 5 + 1
        for ask in (lambda: reading.assignment(1), lambda: reading.held_by("p"), lambda: reading.count_open(1)):
            with pytest.raises(OperationError, match="Single people"):
                ask()
