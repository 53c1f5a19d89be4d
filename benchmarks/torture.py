"""A thousand kills on each store: nothing acknowledged is lost, nothing doubled, no release drawn twice.

    python -m benchmarks.torture [--kills 1000] [--store sqlite|postgres|both] [--by service|library|both]

By the service: two servers on one store, whose requests share commits, are killed (SIGKILL) at random moments while
twelve clerks ask, tell and tell again through them, in young trials of the default algorithm, so that stages are
released all the while (`tests.service.torture`). By the library: three clerks that use the store themselves are killed
(`tests.trial.torture`), a hundred times in each of so many trials, which then go on to their verdict. Everything that
was acknowledged before a kill is compared with the logs at the end, and every log is verified.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from tests.storage.database import Database

ROOT = Path(__file__).parents[1]
SERVERS, CLERKS, WRITERS, EACH = 2, 12, 3, 100
RELEASES = 200
"""Seen at least over a thousand kills, of servers or of clerks; on a slow machine that takes more kills."""


def told(command: list[str]) -> dict[str, Any]:
    """What a torture says at its end."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return {"problems": [done.stderr[-500:]]}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def by_service(place: str, kills: int) -> bool:
    """Servers killed."""
    found = told(["tests.service.torture", place, str(kills), str(SERVERS), str(CLERKS), "7", str(RELEASES)])
    print(f"  by the service: {json.dumps(found)}", flush=True)
    bad = found["problems"] or found["lost"] or found["redrawn"] or found["doubled"]
    return not bad and found["verified"] == found["trials"]


def by_library(fresh: Callable[[], str], kills: int) -> bool:
    """Clerks killed, in one trial after the other."""
    total = {"kills": 0, "acknowledged": 0, "releases_seen": 0, "lost": 0, "doubled": 0, "redrawn": 0, "verified": 0}
    problems: list[str] = []
    each, least = min(kills, EACH), RELEASES * kills // 1000
    runs = 0
    while total["kills"] < kills or (total["releases_seen"] < least and not problems):
        found = told(["tests.trial.torture", fresh(), str(each), str(WRITERS), str(runs), "10", "{}"])
        runs += 1
        problems += found["problems"]
        total["kills"] += each
        for name in ("acknowledged", "releases_seen", "doubled", "verified"):
            total[name] += int(found.get(name, 0))
        total["lost"] += len(found.get("lost", ()))
        total["redrawn"] += len(found.get("redrawn", ()))
    print(f"  by the library, {runs} trials: {json.dumps(total | {'problems': problems})}", flush=True)
    return not (problems or total["lost"] or total["redrawn"] or total["doubled"]) and total["verified"] == runs


def main() -> int:
    """Run the tortures; 1 if anything was lost, doubled or drawn twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--by", choices=("service", "library", "both"), default="both")
    given = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)  # the database may run as another user

        def tortured(name: str, fresh: Callable[[], str]) -> bool:
            print(f"{name}: {given.kills} kills", flush=True)
            well = given.by == "library" or by_service(fresh(), given.kills)
            return (given.by == "service" or by_library(fresh, given.kills)) and well

        if given.store != "postgres":
            good &= tortured("SQLite", lambda: str(folder / f"{uuid.uuid4().hex}.db"))
        if given.store != "sqlite":
            database = Database(folder / "postgres")

            def fresh() -> str:
                name = f"t{uuid.uuid4().hex}"
                with psycopg.connect(database.url, autocommit=True) as connection:
                    connection.execute(f"CREATE DATABASE {name}".encode())
                return sa.make_url(database.url).set(database=name).render_as_string(hide_password=False)

            try:
                good &= tortured("PostgreSQL", fresh)
            finally:
                database.close()
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
