"""Delivers the messages of webhooks: signed, to addresses of the outside world alone, again until they arrive.

A host is resolved once, every one of its addresses has to be a public one, and the message goes to that very address:
a name that leads elsewhere on second thoughts cannot make the server talk to its own network.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from bestarm.errors import BestArmError
from bestarm.service.hooks import Delivery, Hooks

log = logging.getLogger("bestarm.service")

EVERY: Final = 5.0
"""Seconds between two looks at what happened."""
PATIENCE: Final = 10.0
"""Seconds that the other side has to answer."""


class Forbidden(Exception):
    """The address is one of this machine or of a private network."""


class Sender:
    """Looks for public events and delivers them, in a thread of its own while the server runs."""

    def __init__(self, hooks: Hooks, look: Callable[[], None], private: bool = False) -> None:
        self._hooks = hooks
        self._look = look
        self._private = private
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, if webhooks are on."""
        if self._hooks.enabled:
            self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End after the message that is being sent."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(2 * PATIENCE)

    def _run(self) -> None:
        while not self._over.wait(EVERY):
            try:
                self.tick()
            except BestArmError as error:
                log.error("webhooks: %s", type(error).__name__)

    def tick(self) -> None:
        """One look: make what is due, collect what happened, send what is waiting."""
        if not self._hooks.all():
            return
        self._look()
        self._hooks.collect()
        for delivery in self._hooks.due():
            if self._over.is_set():
                return
            if self._hooks.claim(delivery):
                self._hooks.settle(delivery, self._delivered(delivery))

    def _delivered(self, delivery: Delivery) -> bool:
        try:
            status = send(delivery, int(time.time()), self._private)
        except (OSError, http.client.HTTPException, Forbidden) as error:
            log.info("webhook %d: %s", delivery.id, type(error).__name__)
            return False
        log.info("webhook %d: %d", delivery.id, status)
        return 200 <= status < 300


def signature(key: str, moment: int, body: str) -> str:
    """What the header Bestarm-Signature says: the time, and the HMAC-SHA256 of time and body under the hook's key."""
    mark = hmac.new(key.encode(), f"{moment}.{body}".encode(), hashlib.sha256).hexdigest()
    return f"t={moment},v1={mark}"


def send(delivery: Delivery, moment: int, private: bool) -> int:
    """Send a message; the status that came back. Redirections are not followed."""
    parts = urlsplit(delivery.url)
    host = parts.hostname or ""
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    address = reachable(host, port, private)
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection: Any = kind(host, port, timeout=PATIENCE)
    # The certificate is checked for the host's name; the bytes go to the address that was looked at.
    connection._create_connection = lambda _, *rest: socket.create_connection((address, port), PATIENCE)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "bestarm",
        "Bestarm-Event": delivery.event,
        "Bestarm-Delivery": str(delivery.id),
        "Bestarm-Signature": signature(delivery.key, moment, delivery.body),
    }
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("POST", path, delivery.body.encode(), headers)
        return int(connection.getresponse().status)
    finally:
        connection.close()


def reachable(host: str, port: int, private: bool) -> str:
    """An address of the host; raises Forbidden if any of its addresses is loopback, private or otherwise special."""
    found = {str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    if not private and not all(_is_outside(address) for address in found):
        raise Forbidden(host)
    return sorted(found)[0]


def _is_outside(address: str) -> bool:
    known = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(known, "ipv4_mapped", None) or getattr(known, "sixtofour", None)
    return known.is_global and not known.is_multicast and (mapped is None or mapped.is_global)
