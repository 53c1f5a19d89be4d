"""Under local privacy the key of people's coins lies outside the store, so that the store undoes no answer."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bestarm.cli import main
from bestarm.errors import InputError, OperationError
from bestarm.privacy.coins import OUTCOME, PersonalCoins
from bestarm.privacy.mechanism import mechanism_of
from bestarm.privacy.noise import live_noise
from bestarm.storage import open_store
from bestarm.storage.keys import FOLDER, mark_of
from bestarm.trial.trial import Trial
from tests.trial.people import DAY, Clock

PLAN: dict[str, Any] = {"arms": ["a", "b"], "epsilon": 1, "delta": "0.1", "privacy": "local"}
PLAN |= {"algorithm": "fixed", "difference": "0.2", "base": "0.5", "outcomes": "binary"}


def made(store: str | Path, **changes: Any) -> Trial:
    return Trial.create(store, **({"name": "t"} | PLAN | changes))


def key_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.key"))


def test_the_key_has_a_file_of_its_own_which_the_first_event_commits_to(tmp_path: Path) -> None:
    trial = made(tmp_path / "t.db")
    (path,) = key_files(tmp_path)
    key = bytes.fromhex(path.read_text())
    assert len(key) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with trial._store.reading("t") as reading:
        first = next(iter(reading.events()))
    assert first.body["coins"] == mark_of(key)
    assert path.name == f"bestarm-{mark_of(key)[:16]}.key"
    assert trial.tell(str(trial.ask("p").id), 1) == "recorded"
    assert trial.verify().ok


def test_the_file_is_never_open_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    really = os.open

    def watched(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        handle = really(path, flags, mode, **more)
        if str(path).endswith(".key"):
            seen.append(stat.S_IMODE(os.fstat(handle).st_mode))
        return handle

    monkeypatch.setattr(os, "open", watched)
    before = os.umask(0)
    try:
        made(tmp_path / "t.db")
    finally:
        os.umask(before)
    assert seen == [0o600]


def test_whoever_reads_the_whole_store_cannot_undo_the_answers(tmp_path: Path) -> None:
    people = 60
    with made(tmp_path / "t.db") as trial:
        for person in range(people):
            trial.tell(str(trial.ask(f"p-{person}").id), 1)
    (path,) = key_files(tmp_path)
    secret = bytes.fromhex(path.read_text())
    everything = b"".join(file.read_bytes() for file in tmp_path.glob("t.db*"))
    assert secret not in everything
    assert secret.hex().encode() not in everything
    store = open_store(tmp_path / "t.db")
    with store.reading("t") as reading:
        key, answers = reading.key, {a.number: a.value for a in reading.assignments()}
    store.close()
    encode = mechanism_of(trial.design.per_outcome, trial.design.encoding, live_noise()).encode

    def undone(by: bytes) -> int:
        """How many answers the coins of this key give from the outcome that everybody had."""
        coins = [PersonalCoins(by, "t", number, OUTCOME) for number in answers]
        return sum(encode(Fraction(1), one) == answers[one.assignment] for one in coins)

    assert undone(secret) == people, "with the key of the coins every answer follows from its outcome"
    # Fair coins of another key agree with all 60 answers with probability below (p^2 + q^2)^60 < 1e-13.
    assert undone(key) < people


def test_trials_that_need_no_such_key_have_none(tmp_path: Path) -> None:
    for privacy in ("pure", "none"):
        made(tmp_path / "t.db", name=privacy, privacy=privacy)
    assert key_files(tmp_path) == []


def lost(path: Path) -> None:
    path.unlink()


def of_another(path: Path) -> None:
    path.write_text("00" * 32 + "\n")


def garbled(path: Path) -> None:
    path.write_bytes(b"\xff\xfe not hexadecimal")


def test_without_its_key_an_outcome_is_refused_and_its_neighbours_are_heard(tmp_path: Path) -> None:
    made(tmp_path / "t.db").close()
    (path,) = key_files(tmp_path)
    path.unlink()
    with Trial.open(tmp_path / "t.db", name="t") as trial:
        known = trial.ask("p")
        replies = trial.together([trial.asking(["q"]), trial.telling([(known.id, 1)]), trial.asking(["r"])])
        with pytest.raises(OperationError, match="not there"):
            replies[1].get()
        assert [replies[n].get()[0].arm in ("a", "b") for n in (0, 2)] == [True, True]


@pytest.mark.parametrize(
    ("harm", "says"), [(lost, "is not there"), (of_another, "is not the one"), (garbled, "is not the one")]
)
def test_without_its_key_a_trial_takes_no_outcome_and_says_so(
    tmp_path: Path, harm: Callable[[Path], None], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with made(tmp_path / "t.db") as trial:
        asked = str(trial.ask("p").id)
    (path,) = key_files(tmp_path)
    harm(path)
    with Trial.open(tmp_path / "t.db", name="t") as again:
        before = again.verify()
        assert before.ok == (harm is lost), "a key that is elsewhere is not missed, a wrong one is"
        for told in ([(asked, 1)], [(asked, 0)]):
            with pytest.raises(OperationError, match=f"{says}.*without it no outcome can be recorded"):
                again.tell_many(told)
        assert again.verify() == before, "nothing was written"
        assert again.ask("q").arm in ("a", "b")
        assert again.withdraw(asked) == "withdrawn", "what is imputed needs no secret"
        assert again.status()["state"] == "recruiting"
    command = ["trial", "tell", str(tmp_path / "t.db"), "--name", "t", "--outcome", "1", "--assignment"]
    with Trial.open(tmp_path / "t.db", name="t") as again:
        other = str(again.ask("r").id)
    assert main([*command, other]) == 1
    said = capsys.readouterr().err
    assert path.name in said
    assert said.count("\n") == 1


def test_releases_by_the_clock_need_no_key(tmp_path: Path) -> None:
    clock = Clock()
    coins = {"algorithm": "evidence", "difference": 0, "base": None}
    with made(tmp_path / "t.db", clock=clock, follow_up="7d", max_participants=4, **coins) as trial:
        asked = [str(trial.ask(f"p-{person}").id) for person in range(4)]
        trial.tell(asked[0], 1)
    key_files(tmp_path)[0].unlink()
    clock.move(8 * DAY)
    with Trial.open(tmp_path / "t.db", name="t", clock=clock) as again:
        assert again.status()["releases"]
        assert again.verify().ok


def test_a_backup_goes_on_where_its_key_is(tmp_path: Path) -> None:
    with made(tmp_path / "t.db") as trial:
        asked = str(trial.ask("p").id)
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(tmp_path / "t.db", tmp_path / "elsewhere" / "copy.db")
    with Trial.open(tmp_path / "elsewhere" / "copy.db", name="t") as restored:
        assert restored.verify().ok
        with pytest.raises(OperationError, match="is not there"):
            restored.tell(asked, 1)
        shutil.copy(key_files(tmp_path)[0], tmp_path / "elsewhere")
        assert restored.tell(asked, 1) == "recorded"


def test_the_folder_of_keys_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "keys"))
    with made(tmp_path / "t.db") as trial:
        assert trial.tell(str(trial.ask("p").id), 1) == "recorded"
    assert key_files(tmp_path) == []
    assert len(key_files(tmp_path / "keys")) == 1
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv(FOLDER, str(tmp_path / "a file"))
    with pytest.raises(OperationError, match="cannot be kept"):
        made(tmp_path / "u.db")
    assert open_store(tmp_path / "u.db").names() == []


def test_a_database_server_needs_that_folder(
    postgres_place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    with pytest.raises(InputError, match=f"must not lie in the database; set {FOLDER}"):
        made(postgres_place)
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with made(postgres_place) as trial:
        asked = [str(one.id) for one in trial.ask_many(["p", "q"])]
        assert trial.tell(asked[0], 1) == "recorded"
    monkeypatch.delenv(FOLDER)
    with Trial.open(postgres_place, name="t") as again, pytest.raises(OperationError, match="is not there"):
        again.tell(asked[1], 1)


def test_a_trial_that_is_not_made_or_is_deleted_leaves_no_key(tmp_path: Path) -> None:
    made(tmp_path / "t.db").close()
    with pytest.raises(InputError, match="already a trial"):
        made(tmp_path / "t.db")
    assert len(key_files(tmp_path)) == 1
    with Trial.open(tmp_path / "t.db", name="t") as trial:
        trial.delete()
    assert key_files(tmp_path) == []


def test_trials_of_one_store_have_keys_of_their_own(tmp_path: Path) -> None:
    for name in "abc":
        made(tmp_path / "t.db", name=name).close()
    keys = [path.read_text() for path in key_files(tmp_path)]
    assert all(one != other for one, other in itertools.combinations(keys, 2))
    assert len(keys) == 3
