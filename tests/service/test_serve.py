"""The command `bestarm serve`: what it prints, and what it refuses."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from bestarm.cli import main
from tests.service.running import Server, free_port


def test_the_link_is_printed_until_there_is_an_administrator(tmp_path: Path) -> None:
    server = Server(str(tmp_path / "trials.db"), tmp_path / "server.log")
    server.start()
    server.stop()
    assert server.link().startswith(f"{server.url}/sign-in#bal_")
    assert f"bestarm serves the trials in {server.store} at {server.url}" in server.said
    server.token("admin")
    server.log.unlink()
    server.start()
    server.stop()
    assert "sign-in" not in server.said
    assert "Traceback" not in server.said


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http"])
def test_a_port_that_is_none(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", port]) == 2
    said = capsys.readouterr().err
    assert said.startswith("bestarm: ")
    assert said.count("\n") == 1


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["serve", "--store", str(tmp_path / "trials.db"), "--port", str(port)]) == 1
    assert f"port {port}" in capsys.readouterr().err
    assert not (tmp_path / "trials.db").exists()


def test_a_store_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--store", str(tmp_path / "no" / "trials.db"), "--port", str(free_port())]) == 2
    assert "cannot be a trial store" in capsys.readouterr().err


def test_without_the_service_installed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delitem(sys.modules, "bestarm.service.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve"]) == 2
    assert "bestarm[service]" in capsys.readouterr().err
