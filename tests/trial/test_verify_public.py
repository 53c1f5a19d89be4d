"""From a public export alone: what happened is accepted, and whatever was changed in it is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bestarm.errors import InputError
from bestarm.policy.catalogue import CATALOGUE
from bestarm.storage.events import GENESIS, chained_publicly
from bestarm.trial.exchange import CHAIN
from bestarm.trial.trial import Trial
from bestarm.trial.verify_public import verify_public
from tests.trial.people import DAY, ChosenNoise, Clock, enrol

MEANS = {"a": 0.02, "b": 0.5, "c": 0.98}
DECIDED_WITHIN = 2000
Line = dict[str, Any]


def made(place: str | Path, **changes: Any) -> Trial:
    plan: dict[str, Any] = {"name": "t", "arms": list(MEANS), "epsilon": 2, "delta": 0.1, "algorithm": "uniform"}
    return Trial.create(place, **(plan | {"outcomes": "binary", "noise": ChosenNoise()} | changes))


def with_follow_up(place: Path, algorithm: str = "uniform") -> Trial:
    """A day for everybody, so that stages are released by the clock, some long after they were due."""
    clock = Clock()
    trial = made(place, follow_up="7d", clock=clock, algorithm=algorithm)
    for person in range(30):
        asked = trial.ask(f"p-{person}")
        if person % 3:
            trial.tell(str(asked.id), person % 2)
        clock.move(DAY / 2 if person % 5 else 9.3 * DAY)
    trial.advance()
    assert trial.view().releases
    return trial


def without_follow_up(place: Path, algorithm: str = "uniform") -> Trial:
    trial = made(place, algorithm=algorithm)
    enrol(trial, MEANS, 60)
    assert trial.view().releases
    return trial


def with_replacing(place: Path) -> Trial:
    trial = made(place, withdrawal="replace")
    enrol(trial, MEANS, 20)
    asked = [str(one.id) for one in trial.ask_many(["p", "q", "r"])]
    trial.withdraw(asked[0])
    trial.tell(asked[1], 1)
    trial.withdraw(asked[1])
    enrol(trial, MEANS, 12, first=100)
    return trial


def paused(place: Path) -> Trial:
    trial = without_follow_up(place)
    trial.pause("stock")
    trial.resume()
    enrol(trial, MEANS, 7, first=100)
    trial.pause("stock again")
    return trial


def decided(place: Path, algorithm: str = "ttucb-published") -> Trial:
    trial = made(place, algorithm=algorithm)
    enrol(trial, MEANS, DECIDED_WITHIN)
    assert trial.verdict is not None
    assert trial.verdict.arm == "c"
    return trial


def ended(place: Path) -> Trial:
    trial = without_follow_up(place)
    trial.end("harm")
    return trial


def used_up(place: Path) -> Trial:
    trial = made(place, max_participants=12)
    enrol(trial, dict.fromkeys(MEANS, 0.5), 12)
    assert trial.verdict is not None
    assert trial.verdict.by == "participants"
    return trial


def empty(place: Path) -> Trial:
    return made(place)


def in_fixed_order(place: Path) -> Trial:
    trial = made(place, allocation="fixed")
    enrol(trial, MEANS, 31)
    return trial


KINDS = [with_follow_up, without_follow_up, with_replacing, paused, decided, ended, used_up, empty, in_fixed_order]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_sound_export_verifies(kind: Callable[[Path], Trial], tmp_path: Path) -> None:
    trial = kind(tmp_path / "t.db")
    trial.export_public(tmp_path / "out")
    found = verify_public(tmp_path / "out")
    assert found.listed == ()
    with trial._store.reading("t") as reading:
        assert (found.ok, found.events, found.head) == (True, reading.public_seq, reading.public_head)
    report = json.loads(Path(trial.report(tmp_path / "report")["json"]).read_text())
    assert report["head"] == found.head


@pytest.mark.parametrize("kind", [with_follow_up, without_follow_up, decided], ids=lambda kind: kind.__name__)
def test_a_sound_export_of_a_trial_with_coins_verifies(kind: Callable[..., Trial], tmp_path: Path) -> None:
    trial = kind(tmp_path / "t.db", algorithm="evidence")
    trial.export_public(tmp_path / "out")
    found = verify_public(tmp_path / "out")
    assert (found.ok, found.listed) == (True, ())


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One export that is decided, one that goes on by the clock, one where people are replaced."""
    folder = tmp_path_factory.mktemp("exports")
    for kind in (decided, with_follow_up, with_replacing):
        kind(folder / f"{kind.__name__}.db").export_public(folder / kind.__name__)
    return {kind.__name__: folder / kind.__name__ for kind in (decided, with_follow_up, with_replacing)}


def chain_of(folder: Path) -> list[Line]:
    return [json.loads(line) for line in (folder / CHAIN).read_text(encoding="utf-8").splitlines()]


def write(folder: Path, chain: list[Line]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in chain)
    (folder / CHAIN).write_text(text, encoding="utf-8")


def whole(chain: list[Line]) -> list[Line]:
    """The chain with numbers and hashes that fit: what a forger would publish."""
    head, found = GENESIS, []
    for seq, line in enumerate(chain, 1):
        head = chained_publicly(head, seq, line["kind"], line["body"])
        found.append(line | {"seq": seq, "hash": head})
    return found


def nth(chain: list[Line], kind: str, number: int = 0) -> int:
    """The index of an event of this kind."""
    return [at for at, line in enumerate(chain) if line["kind"] == kind][number]


@pytest.fixture
def copy(exports: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    def copied(kind: str) -> Path:
        shutil.copytree(exports[kind], tmp_path / kind)
        return tmp_path / kind

    return copied


@pytest.mark.parametrize("kind", ["created", "opened", "assigned", "released", "stopped"])
def test_a_changed_line_breaks_the_chain_there(copy: Callable[[str], Path], kind: str) -> None:
    folder = copy("decided")
    chain = chain_of(folder)
    at = nth(chain, kind)
    chain[at]["body"]["time"] = "2031-01-01T00:00:00+00:00"
    write(folder, chain)
    found = verify_public(folder)
    assert (found.ok, found.first_bad) == (False, at + 1)
    assert any("hash does not fit" in misfit.problem for misfit in found.listed if misfit.event == at + 1)


def test_a_dropped_line_is_missed(copy: Callable[[str], Path]) -> None:
    folder = copy("decided")
    chain = chain_of(folder)
    del chain[7]
    write(folder, chain)
    found = verify_public(folder)
    assert (found.ok, found.first_bad, found.problem) == (False, 9, "Public event 8 is missing.")


def edited(kind: str, number: int, **values: Any) -> Callable[[list[Line]], int]:
    def forge(chain: list[Line]) -> int:
        at = nth(chain, kind, number)
        chain[at] = chain[at] | {"body": chain[at]["body"] | values}
        return at + 1

    return forge


def dropped(kind: str, number: int) -> Callable[[list[Line]], int]:
    def forge(chain: list[Line]) -> int:
        at = nth(chain, kind, number)
        del chain[at]
        return at + 1

    return forge


def released_early(chain: list[Line]) -> int:
    at = nth(chain, "released", 2)
    before = nth(chain, "opened", [line["kind"] for line in chain[:at]].count("opened") - 1)
    chain.insert(before, chain.pop(at))
    return before + 1


def released_before_it_was_due(chain: list[Line]) -> int:
    at = nth(chain, "released", 1)
    chain[at] = chain[at] | {"body": chain[at]["body"] | {"time": chain[at - 1]["body"]["time"]}}
    return at + 1


def another_verdict(chain: list[Line]) -> int:
    at = nth(chain, "stopped")
    chain[at] = chain[at] | {"body": chain[at]["body"] | {"arm": "a"}}
    return at + 1


def nobody_left(chain: list[Line]) -> int:
    del chain[nth(chain, "vacated")]
    return next(at for at, line in enumerate(chain, 1) if line["body"].get("replacing"))


def one_more_after_the_end(chain: list[Line]) -> int:
    chain.append(chain[nth(chain, "assigned", -1)])
    return len(chain)


def turned_back(chain: list[Line]) -> int:
    at = nth(chain, "assigned", 5)
    chain[at] = chain[at] | {"body": chain[at]["body"] | {"time": "2020-01-01T00:00:00+00:00"}}
    return at + 1


@pytest.mark.parametrize(
    ("export", "forge", "says"),
    [
        ("decided", edited("opened", 4, planned=10**6), "not the one that the algorithm plans"),
        ("decided", edited("opened", 4, weights=[0.5, 0.5, 0.0]), "not the one that the algorithm plans"),
        ("decided", edited("assigned", 3, arm=7), "open stage of that arm"),
        ("decided", edited("assigned", 3, assignment=9), "numbered in order"),
        ("decided", edited("released", 3, sizes=[999]), "another stage's turn"),
        ("decided", edited("released", 3, values=[0.5]), "whole number of steps"),
        ("decided", edited("released", 3, values=[1, 2]), "whole number of steps"),
        ("decided", edited("opened", 1, champion=2), "not recruiting|not the one that the algorithm plans"),
        ("decided", dropped("opened", 3), "open stage of that arm"),
        ("decided", dropped("assigned", 3), "No stage was to be released yet"),
        ("decided", dropped("created", 0), "begins with the trial's creation"),
        ("decided", released_early, "No stage was to be released yet"),
        ("decided", another_verdict, "The evidence speaks for c"),
        ("decided", one_more_after_the_end, "The trial was stopped"),
        ("decided", turned_back, "older than the one before"),
        ("decided", edited("created", 0, design={}), "not a design"),
        ("decided", edited("created", 0, time=[]), "cannot be read"),
        ("with_follow_up", released_before_it_was_due, "not made when it was due"),
        ("with_follow_up", dropped("released", 0), "had to be released|another stage's turn"),
        ("with_replacing", nobody_left, "filled first"),
        ("with_replacing", edited("vacated", 0, stage=77), "nobody to replace"),
    ],
)
def test_forgeries_with_a_whole_chain(
    copy: Callable[[str], Path], export: str, forge: Callable[[list[Line]], int], says: str
) -> None:
    folder = copy(export)
    chain = chain_of(folder)
    bad = forge(chain)
    write(folder, whole(chain))
    found = verify_public(folder)
    assert not found.ok
    assert found.first_bad == bad
    assert any(says_one in str(found.problem) for says_one in says.split("|"))


def test_a_release_that_would_have_decided_otherwise_is_noticed(copy: Callable[[str], Path]) -> None:
    folder = copy("decided")
    chain = chain_of(folder)
    for line in chain:
        if line["kind"] == "released" and line["body"]["stage"] % 3 == 1:
            line["body"]["values"] = [2**20 * line["body"]["sizes"][0]]
    assert chain != chain_of(folder)
    write(folder, whole(chain))
    found = verify_public(folder)
    assert not found.ok
    assert found.first_bad is not None


def test_a_verdict_that_was_left_out_is_missed(copy: Callable[[str], Path]) -> None:
    folder = copy("decided")
    chain = chain_of(folder)
    assert chain.pop()["kind"] == "stopped"
    write(folder, chain)
    found = verify_public(folder)
    assert (found.ok, found.first_bad, found.problem) == (
        False,
        None,
        "The chain ends where the trial had to be stopped.",
    )


@pytest.mark.parametrize("text", ["{", "[1]", "null", '{"seq": 5}', '{"seq": NaN}', "[" * 5000, '"' + "x" * 99])
def test_garbled_lines_are_named(copy: Callable[[str], Path], text: str) -> None:
    folder = copy("with_replacing")
    lines = (folder / CHAIN).read_text(encoding="utf-8").splitlines()
    for at in (0, 4):
        (folder / CHAIN).write_text("\n".join([*lines[:at], text, *lines[at + 1 :]]), encoding="utf-8")
        found = verify_public(folder)
        assert (found.ok, found.first_bad) == (False, at + 1)
        assert "cannot be read" in str(found.problem)


ARM = '"arm": "c"'


def with_another(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("releases.csv", "sum,a,1", "sum,a,2"),
        ("releases.csv", "sum,a", "sum,b"),
        ("estimates.csv", "c,", "b,"),
        ("status.json", ARM, '"arm": "a"'),
        ("status.json", '"trial": "t"', '"trial": "u"'),
        ("status.json", '"trial": "t"', '"trial": "u", "trial": "t"'),
        ("ledger.json", '"epsilon_spent": 2.0', '"epsilon_spent": 1.0'),
        ("ledger.json", '"sampler"', '"simpler"'),
        ("design.json", '"delta": "0.1"', '"delta": "0.2"'),
        ("design.json", "{", "["),
    ],
)
def test_files_beside_the_chain_say_what_follows_from_it(
    copy: Callable[[str], Path], file: str, old: str, new: str
) -> None:
    folder = copy("decided" if old == ARM else "with_replacing")
    path = folder / file
    path.write_text(with_another(path.read_text(encoding="utf-8"), old, new), encoding="utf-8")
    found = verify_public(folder)
    assert (found.ok, found.misfits, found.first_bad) == (False, 1, None)
    assert found.problem == f"{file} does not say what follows from the chain."


def test_a_chain_cut_off_does_not_fit_the_files(copy: Callable[[str], Path]) -> None:
    folder = copy("with_replacing")
    write(folder, chain_of(folder)[:-1])
    assert "status.json does not say" in str(verify_public(folder).problem)
    for path in folder.iterdir():
        if path.name != CHAIN:
            path.unlink()
    assert verify_public(folder).ok, "a chain by itself, shorter than it was, is told by its head alone"


def test_digits_after_the_sixth_may_differ_in_files(copy: Callable[[str], Path]) -> None:
    folder = copy("decided")
    path = folder / "estimates.csv"
    lines = path.read_text().splitlines()
    arm, mean, low, high = lines[3].split(",")
    path.write_text("\n".join([*lines[:3], f"{arm},{mean},{float(low) * (1 + 1e-9)!r},{high}", ""]))
    assert verify_public(folder).ok
    (folder / "ledger.json").write_bytes(b"\xff")
    (folder / "status.json").unlink()
    (folder / "status.json").mkdir()
    assert [one.problem for one in verify_public(folder).listed] == [
        "status.json cannot be read.",
        "ledger.json cannot be read.",
    ]


@pytest.mark.parametrize("number", ["1e9999999999", "1/0", "1e-3", " 1", "٣", [1], None, True, 1.5])
def test_a_design_from_anybody_cannot_ask_for_endless_numbers(copy: Callable[[str], Path], number: Any) -> None:
    folder = copy("decided")
    chain = chain_of(folder)
    chain[0]["body"]["design"]["delta"] = number
    write(folder, whole(chain))
    found = verify_public(folder)
    assert (found.ok, found.first_bad) == (False, 1)
    assert "delta" in str(found.problem)


def test_a_line_that_says_more_is_noticed(copy: Callable[[str], Path]) -> None:
    folder = copy("decided")
    chain = chain_of(folder)
    chain[3]["note"] = "the verdict is a"
    write(folder, chain)
    assert verify_public(folder).first_bad == 4


def test_an_empty_chain_is_none(copy: Callable[[str], Path]) -> None:
    folder = copy("decided")
    (folder / CHAIN).write_text("")
    found = verify_public(folder)
    assert (found.ok, found.events, found.problem) == (False, 0, "The chain is empty.")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_folder_without_a_chain_is_bad_input(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / CHAIN).write_bytes(content)
    with pytest.raises(InputError, match="no public chain"):
        verify_public(tmp_path)


def test_an_export_does_not_choose_what_code_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    made(tmp_path / "t.db").export_public(folder)
    chain = chain_of(folder)
    chain[0]["body"]["design"]["algorithm"] = "planted:algorithm@1"
    write(folder, whole(chain))
    (tmp_path / "planted.py").write_text("raise SystemExit('run')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="if you trust its code"):
        verify_public(folder)
    with pytest.raises(InputError, match="not uniform"):
        verify_public(folder, "uniform")
    with pytest.raises(SystemExit, match="run"):
        verify_public(folder, "planted:algorithm")


def test_an_algorithm_of_ones_own_is_given_again(tmp_path: Path) -> None:
    own = replace(CATALOGUE["uniform"], name="own")
    trial = made(tmp_path / "t.db", algorithm=own)
    enrol(trial, MEANS, 20)
    trial.export_public(tmp_path / "out")
    assert verify_public(tmp_path / "out", own).ok
    assert "no algorithm 'own'" in str(verify_public(tmp_path / "out").problem)
    with pytest.raises(InputError, match="not own@9"):
        verify_public(tmp_path / "out", replace(own, revision=9))
