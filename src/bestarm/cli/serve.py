"""`bestarm serve`: the HTTP API and the web pages over a store of trials."""

from __future__ import annotations

import socket
from typing import Annotated, Final

import typer

from bestarm.cli.options import whole_option
from bestarm.cli.output import tell
from bestarm.errors import InputError, OperationError

MOST_WORKERS: Final = 64


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("serve")(serve)


def serve(
    store: Annotated[
        str, typer.Option("--store", metavar="STORE", help="A path (SQLite file) or a URL postgresql://...")
    ] = "bestarm.db",
    host: Annotated[
        str, typer.Option("--host", metavar="H", help="The address to listen at; by default this machine alone.")
    ] = "127.0.0.1",
    port: Annotated[int, whole_option("--port", metavar="P", help="The port to listen at.")] = 8000,
    new_link: Annotated[
        bool, typer.Option("--new-admin-link", help="Print a one-time link for an administrator, as on first start.")
    ] = False,
    proxies: Annotated[
        str,
        typer.Option(
            "--trust-proxy", metavar="IP", help="Believe the X-Forwarded headers of proxies at these addresses."
        ),
    ] = "127.0.0.1",
    webhooks: Annotated[
        bool, typer.Option("--webhooks", help="Let administrators have public events sent to addresses elsewhere.")
    ] = False,
    private_webhooks: Annotated[
        bool,
        typer.Option("--private-webhooks", help="Webhooks may also go to this machine and to private networks."),
    ] = False,
    workers: Annotated[
        int, whole_option("--workers", metavar="N", help="Processes that serve; several need a PostgreSQL store.")
    ] = 1,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            metavar="FILE",
            help="Serve /metrics for Prometheus to whoever sends the secret in this file as a bearer token.",
        ),
    ] = None,
) -> None:
    """Serve trials to a team: an HTTP API and web pages."""
    if not 1 <= port <= 65535:
        raise InputError(f"The port is {port}; it has to lie between 1 and 65535.")
    if not 1 <= workers <= MOST_WORKERS:
        raise InputError(f"The number of workers is {workers}; it has to lie between 1 and {MOST_WORKERS}.")
    try:
        from bestarm.service.metrics import secret_in
        from bestarm.service.server import Setup
        from bestarm.service.server import serve as run
    except ModuleNotFoundError as missing:
        raise InputError(
            f"The service needs {missing.name}; install it with: pip install 'bestarm[service]'"
        ) from missing
    secret = None if metrics is None else secret_in(metrics)
    _must_be_free(host, port)
    setup = Setup(store, host, port, proxies, webhooks or private_webhooks, private_webhooks, workers, secret)
    run(setup, new_link, tell)


def _must_be_free(host: str, port: int) -> None:
    # Asked first, so that the answer is one sentence and no link is made for a server that does not start.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise OperationError(f"Nothing can listen at {host}, port {port}: {error.strerror or error}.") from error
