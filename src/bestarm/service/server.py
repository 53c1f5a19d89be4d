"""Runs the application: one process, one log on stderr, one link for the first administrator."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI

from bestarm.service.app import create_app
from bestarm.service.patience import Limits, protocol_within

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {
        "bestarm.service": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        "uvicorn.error": {"level": "WARNING"},
    },
}
"""uvicorn's own access log is off: it would write addresses, and with them the secrets of view links."""

log = logging.getLogger("bestarm.service")


def serve(
    store: str,
    host: str,
    port: int,
    new_link: bool,
    say: Callable[[str], None],
    proxies: str,
    webhooks: bool = False,
    private_webhooks: bool = False,
) -> None:
    """Serve until interrupted. `say` gets what the person at the terminal should read."""
    app = create_app(store, webhooks=webhooks, private_webhooks=private_webhooks)
    config = configured(app, host, port, proxies)
    address = f"http://{_shown(host)}:{port}"
    say(f"bestarm serves the trials in {_without_password(store)} at {address}")
    if not _is_loopback(host):
        say("This address can be reached by others and is not encrypted; put a proxy with TLS in front of it.")
    link = app.state.access.first_link(new_link)
    if link is not None:
        say(f"Sign in as administrator, once, within an hour: {address}/sign-in#{link}")
    say("Press Ctrl+C to stop.")
    uvicorn.Server(config).run()


def configured(
    app: FastAPI, host: str, port: int, proxies: str = "127.0.0.1", limits: Limits | None = None
) -> uvicorn.Config:
    """How the application is served."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=protocol_within(limits or Limits()),
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
