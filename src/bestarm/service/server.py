"""Runs the application: one process or several, one log on stderr, one link for the first administrator."""

from __future__ import annotations

import gc
import ipaddress
import logging
import logging.config
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import uvicorn
from fastapi import FastAPI

from bestarm.errors import InputError
from bestarm.service.access import Access
from bestarm.service.app import create_app
from bestarm.service.metrics import Metrics
from bestarm.service.patience import Limits, protocol_within
from bestarm.service.workers import Workers
from bestarm.storage import open_store
from bestarm.storage.postgres import PostgresStore


class EachLine(logging.Formatter):
    """Begins each line of a message with the time and the level: what a crowd was answered is written in one go."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The message, line by line."""
        begin = f"{record.asctime} {record.levelname} "
        return begin + record.message.replace("\n", f"\n{begin}")

    def usesTime(self) -> bool:
        """Yes."""
        return True


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"()": EachLine}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {
        "bestarm.service": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        "uvicorn.error": {"level": "WARNING"},
    },
}
"""uvicorn's own access log is off: it would write addresses, and with them the secrets of view links."""

log = logging.getLogger("bestarm.service")

SWITCH_SECONDS: Final = 0.0005
"""How long a thread may compute while another one waits. Whoever sends an answer waits so long each time a trial's
writer is at work; with Python's own five milliseconds a crowd is served half as fast."""


GARBAGE_AFTER: Final = 20_000
"""New objects after which they are searched for garbage. Hardly any is found: what a request leaves behind goes at
once. With Python's own 700 the search takes an eighth of what a crowd takes the processor."""


@dataclass(frozen=True)
class Setup:
    """What is served, and how; every worker makes its own application of it."""

    store: str
    host: str = "127.0.0.1"
    port: int = 8000
    proxies: str = "127.0.0.1"
    webhooks: bool = False
    private_webhooks: bool = False
    workers: int = 1
    metrics_secret: str | None = None
    """What opens /metrics; None if there is none such."""
    metrics_folder: Path | None = None
    """Where workers leave their counts for each other."""

    @property
    def address(self) -> str:
        """Where it is found, as browsers take it."""
        return f"http://{_shown(self.host)}:{self.port}"

    def app(self) -> FastAPI:
        """The application, for this process."""
        sys.setswitchinterval(SWITCH_SECONDS)
        metrics = None if self.metrics_secret is None else Metrics(self.metrics_secret, self.metrics_folder)
        app = create_app(self.store, webhooks=self.webhooks, private_webhooks=self.private_webhooks, metrics=metrics)
        # What there is now lasts as long as the process. To look through all of it for garbage again and again takes a
        # tenth of a second each time, in which nobody is answered.
        gc.collect()
        gc.freeze()
        gc.set_threshold(GARBAGE_AFTER, *gc.get_threshold()[1:])
        return app


def serve(setup: Setup, new_link: bool, say: Callable[[str], None]) -> None:
    """Serve until interrupted. `say` gets what the person at the terminal should read."""
    store = open_store(setup.store, create=True)
    try:
        if setup.workers > 1 and not isinstance(store, PostgresStore):
            raise InputError("Several workers need a store that they can share: a URL postgresql://..., not a file.")
        say(f"bestarm serves the trials in {_without_password(setup.store)} at {setup.address}")
        if not _is_loopback(setup.host):
            say("This address can be reached by others and is not encrypted; put a proxy with TLS in front of it.")
        link = Access(store).first_link(new_link)
    finally:
        store.close()
    if link is not None:
        say(f"Sign in as administrator, once, within an hour: {setup.address}/sign-in#{link}")
    say("Press Ctrl+C to stop.")
    if setup.workers == 1:
        uvicorn.Server(configured(setup.app(), setup.host, setup.port, setup.proxies)).run()
        return
    logging.config.dictConfig(LOGGING)
    with tempfile.TemporaryDirectory(prefix="bestarm-") as folder, _listening(setup) as listening:
        shared = replace(setup, metrics_folder=Path(folder))
        Workers(setup.workers, partial(_work, shared), listening).run()


def _work(setup: Setup, listening: socket.socket, over: threading.Event) -> None:
    # One of several workers, in a process of its own.
    server = uvicorn.Server(configured(setup.app(), setup.host, setup.port, setup.proxies))

    def end() -> None:
        over.wait()
        server.should_exit = True

    threading.Thread(target=end, name="end", daemon=True).start()
    server.run(sockets=[listening])


def _listening(setup: Setup) -> socket.socket:
    family = socket.AF_INET6 if ":" in setup.host else socket.AF_INET
    return socket.create_server((setup.host, setup.port), family=family, backlog=2048)


def configured(
    app: FastAPI, host: str, port: int, proxies: str = "127.0.0.1", limits: Limits | None = None
) -> uvicorn.Config:
    """How the application is served."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=protocol_within(limits or Limits(), app.state.counter),
        ws="none",
        log_config=LOGGING,
        access_log=False,
        server_header=False,
        forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=10,
    )


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _without_password(store: str) -> str:
    if "://" not in store:
        return store
    import sqlalchemy as sa

    return sa.make_url(store).render_as_string(hide_password=True)
