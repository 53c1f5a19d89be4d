"""The commands of `bestarm trial`: what is typed and what comes back, as the contract has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bestarm.cli import main

DESIGN = ["--arms", "5mg,10mg,20mg", "--epsilon", "0.5", "--delta", "0.0001", "--algorithm", "uniform"]
"""With so small a risk noise alone does not end a trial of six people; at 0.1 it did in 4 of 3,000,000."""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs `bestarm trial ...`: its exit status, its JSON (or text), its stderr."""

    def command(*arguments: str, plain: bool = False) -> tuple[int, Any, str]:
        status = main(["trial", *arguments] + ([] if plain else ["--json"]))
        out, err = capsys.readouterr()
        return status, (out if plain else json.loads(out) if out.strip() else None), err

    return command


def test_a_trial_from_the_command_line(run: Any, place: str, tmp_path: Path) -> None:
    named = [place, "--name", "dose"]
    status, made, _ = run("create", *named, *DESIGN)
    assert status == 0
    assert made["trial"] == "dose"
    assert made["design"]["epsilon"] == "0.5"
    assert made["design"]["arms"] == ["5mg", "10mg", "20mg"]
    ids = []
    for n in range(6):
        status, asked, _ = run("ask", *named, "--subject", f"p-{n}")
        assert (status, asked["told"], asked["stopped"]) == (0, False, False)
        ids.append(asked["assignment"])
    assert run("ask", *named, "--subject", "p-0")[1]["assignment"] == ids[0]
    assert run("tell", *named, "--assignment", ids[0], "--outcome", "0.5")[1] == {"status": "recorded"}
    assert run("tell", *named, "--assignment", ids[0], "--outcome", "0.50")[1] == {"status": "already recorded"}
    file = tmp_path / "outcomes.csv"
    file.write_text("assignment,outcome\n" + "".join(f"{who},1\n" for who in ids[1:5]))
    assert [r["status"] for r in run("tell-csv", *named, "--file", str(file))[1]["rows"]] == ["recorded"] * 4
    assert [o["id"] for o in run("open", *named)[1]["open"]] == [ids[5]]
    assert run("withdraw", *named, "--assignment", ids[5], "--reason", "moved")[1] == {"status": "withdrawn"}
    found = run("status", *named)[1]
    assert found["state"] == "recruiting"
    assert len(found["releases"]) == 6
    assert set(found["releases"][0]) == {"stage", "kind", "arms", "sizes", "voided", "value", "epsilon"}
    assert [set(e) for e in found["estimates"]] == [{"arm", "mean", "low", "high"}] * 3
    assert [set(e) for e in found["evidence"]] == [{"rival", "value", "needed", "claim"}] * 2
    assert (found["epsilon_spent"], found["verdict"]) == (0.5, None)
    ledger = run("ledger", *named)[1]
    assert (len(ledger["releases"]), ledger["epsilon_spent"]) == (6, 0.5)
    assert run("verdict", *named)[1]["verdict"] is None
    assert run("pause", *named)[1] == {"status": "paused"}
    assert run("ask", *named, "--subject", "new")[0] == 1
    assert run("resume", *named)[1] == {"status": "resumed"}
    assert run("list", place)[1] == {"trials": ["dose"]}
    files = run("report", *named, "--out", str(tmp_path / "report"))[1]["files"]
    assert all(Path(path).stat().st_size > 1000 for path in files.values())
    assert Path(run("export-public", *named, "--out", str(tmp_path / "p"))[1]["files"]["releases.csv"]).exists()
    secret = Path(run("export-confidential", *named, "--out", str(tmp_path / "c"))[1]["files"]["assignments.csv"])
    assert secret.stat().st_mode & 0o077 == 0
    status, checked, _ = run("verify", *named)
    assert (status, checked["ok"], checked["first_bad"]) == (0, True, None)
    assert run("end", *named, "--reason", "harm")[1] == {"status": "stopped"}
    status, asked, _ = run("ask", *named, "--subject", "new")
    assert (status, asked["stopped"], asked["verdict"]["reason"]) == (0, True, "harm")
    for words in ("status", "ledger", "verdict", "verify", "open"):
        status, text, _ = run(words, *named, plain=True)
        assert status == 0
        assert text.strip()


def test_an_odd_design_is_frozen_with_a_caution(run: Any, sqlite_place: str) -> None:
    given = ["--arms", "a,b", "--delta", "0.05", "--high", "100", "--what", "pain"]
    given += ["--algorithm", "tests.test_design:ABLE", "--follow-up", "30d"]
    status, made, said = run(
        "create", sqlite_place, "--name", "odd", "--epsilon", "12.5", "--indifference", "60", *given
    )
    assert status == 0
    assert [line.partition(":")[0] for line in said.splitlines()] == ["Caution", "Caution"]
    design = made["design"]
    assert (design["difference"], design["what"], design["epsilon"]) == ("60", "pain", "12.5")
    assert design["algorithm"] == "tests.test_design:ABLE@4"
    status, _, said = run("create", sqlite_place, "--name", "usual", "--epsilon", "1", "--difference", "5", *given)
    assert (status, said) == (0, "")


def test_verify_fails_with_status_one(run: Any, sqlite_place: str) -> None:
    import sqlite3

    run("create", sqlite_place, "--name", "t", *DESIGN)
    with sqlite3.connect(sqlite_place) as connection:
        connection.execute("UPDATE events SET actor = 'somebody else'")
    connection.close()
    status, found, _ = run("verify", sqlite_place, "--name", "t")
    assert (status, found["ok"], found["first_bad"]) == (1, False, 1)


def test_a_public_export_is_rechecked_without_the_store(run: Any, sqlite_place: str, tmp_path: Path) -> None:
    named, out = [sqlite_place, "--name", "t"], tmp_path / "out"
    run("create", *named, *DESIGN)
    for person in range(3):
        asked = run("ask", *named, "--subject", f"p-{person}")[1]
        run("tell", *named, "--assignment", asked["assignment"], "--outcome", "1")
    chain = Path(run("export-public", *named, "--out", str(out))[1]["files"]["chain.jsonl"])
    Path(sqlite_place).unlink()
    lines = chain.read_text().splitlines()
    status, found, _ = run("verify-public", str(out))
    assert (status, found["ok"], found["first_bad"], found["events"]) == (0, True, None, len(lines))
    assert found["head"] == json.loads(lines[-1])["hash"]
    status, text, _ = run("verify-public", str(out), plain=True)
    assert status == 0
    assert found["head"] in text
    chain.write_text("\n".join([*lines[:3], *lines[4:]]))
    status, found, _ = run("verify-public", str(out))
    assert (status, found["ok"], found["first_bad"]) == (1, False, 5)
    status, text, _ = run("verify-public", str(out), plain=True)
    assert status == 1
    assert "Event 5 does not fit: Public event 4 is missing." in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify-public", "nowhere/at/all"],
        ["status", "STORE", "--name", "no such trial"],
        ["status", "nowhere/at/all.db", "--name", "t"],
        ["create", "STORE", "--name", "t", *DESIGN],
        ["create", "STORE", "--name", "u", "--arms", "a", "--epsilon", "1", "--delta", "0.1", "--algorithm", "uniform"],
        ["create", "STORE", "--name", "u", *DESIGN[:-1], "nonsense"],
        ["create", "STORE", "--name", "u", "--arms", "a,b", "--delta", "0.1", "--algorithm", "uniform"],
        ["ask", "STORE", "--name", "t", "--subject", " "],
        ["tell", "STORE", "--name", "t", "--assignment", "1-abcd", "--outcome", "1"],
        ["tell", "STORE", "--name", "t", "--assignment", "1-abcd"],
        ["tell-csv", "STORE", "--name", "t", "--file", "no such file.csv"],
        ["resume", "STORE", "--name", "t"],
    ],
    ids=" ".join,
)
def test_bad_input_gets_one_sentence(run: Any, sqlite_place: str, arguments: list[str]) -> None:
    run("create", sqlite_place, "--name", "t", *DESIGN)
    status, out, err = run(*(sqlite_place if a == "STORE" else a for a in arguments))
    assert (status, out) == (2, None)
    assert err.startswith("bestarm: ")
    assert len(err.strip().splitlines()) == 1


def test_a_dry_run_reads_the_design_back_and_creates_nothing(run: Any, tmp_path: Path) -> None:
    store = tmp_path / "trials.db"
    asked = ["create", str(store), "--name", "dose", "--arms", "a,b", "--epsilon", "1", "--delta", "0.05"]
    status, found, _ = run(*asked, "--dry-run")
    assert status == 0
    assert found["dry_run"]
    assert found["design"]["arms"] == ["a", "b"]
    assert found["sentences"][0] == "Two arms are compared: a and b."
    assert any("no follow-up" in said for said in found["cautions"])
    assert not store.exists()
    assert run(*asked)[0] == 0
    assert run(*asked, "--dry-run")[0] == 2, "the name is taken"
    assert run("delete", str(store), "--name", "dose")[1] == {"status": "deleted"}
    assert run(*asked)[0] == 0
    run("ask", str(store), "--name", "dose", "--subject", "p-1")
    assert run("delete", str(store), "--name", "dose")[0] == 2


def test_wrong_codes_from_the_command_line(run: Any, tmp_path: Path) -> None:
    named = [str(tmp_path / "trials.db"), "--name", "dose"]
    design = ["--arms", "a,b", "--epsilon", "1", "--delta", "0.05", "--outcomes", "binary", "--algorithm", "uniform"]
    assert run("create", *named, *design, "--allocation", "fixed")[0] == 0
    first = run("ask", *named, "--subject", "P-001")[1]
    assert run("look-up", *named, "--subject", "p-0O1")[1] == {"assignments": [], "near": ["p-001"]}
    assert run("look-up", *named, "--subject", " p-001")[1]["assignments"][0]["assignment"] == first["assignment"]
    twice = run("ask", *named, "--subject", "p-0O1")[1]["assignment"]
    void = ["void", *named, "--assignment", twice, "--duplicate-of", "p-001", "--reason", "entered twice"]
    assert run(*void)[1] == {"status": "voided"}
    assert run(*void)[0] == 2
    wrong = run("ask", *named, "--subject", "p-2x")[1]["assignment"]
    relabel = ["relabel", *named, "--assignment", wrong, "--subject", "p-2", "--reason", "mistyped"]
    assert run(*relabel)[1] == {"status": "relabelled"}
    assert run("tell", *named, "--subject", "P-2", "--outcome", "1")[1] == {"status": "recorded"}
    assert run("tell", *named, "--outcome", "1")[0] == 2
    staff = run("status", *named, "--staff")[1]["staff"]
    assert staff["hold_up"]["assignments"] == [first["assignment"]]
    assert "staff" not in run("status", *named)[1]
    file = tmp_path / "outcomes.csv"
    file.write_text("subject,outcome\np-001,0\n")
    assert run("tell-csv", *named, "--file", str(file))[1]["rows"][0]["status"] == "recorded"
    assert run("status", *named, "--staff")[1]["staff"]["hold_up"] is None
    assert run("verify", *named)[0] == 0
