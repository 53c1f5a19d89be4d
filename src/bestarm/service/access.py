"""Who may do what: tokens, browser sessions, one-time links and public view links.

Each is a secret of 256 random bits that its holder sees once; the store keeps its SHA-256 alone, which is enough for
secrets that nobody can guess. Whatever a token let in ends with the token.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Set
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast

import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler

from bestarm.errors import InputError
from bestarm.service.problems import Refusal, no_such_trial
from bestarm.storage.contract import Store
from bestarm.storage.schema import access as table
from bestarm.storage.sql import SQLStore

Role = Literal["viewer", "operator", "admin"]
Kind = Literal["token", "session", "link", "view"]

ROLES: Final[tuple[Role, ...]] = ("viewer", "operator", "admin")
"""Each may do what the ones before it may."""
PREFIXES: Final[dict[str, Kind]] = {"bat_": "token", "bas_": "session", "bal_": "link", "bav_": "view"}
SESSION_SECONDS: Final = 12 * 3600
LINK_SECONDS: Final = 3600
LONGEST_LABEL: Final = 80
TRUSTED_SECONDS: Final = 1.0
"""How long the store is believed to be there once it answered."""


@dataclass(frozen=True)
class Grant:
    """What somebody may do, and by which secret."""

    id: int
    kind: Kind
    role: Role
    trial: str | None
    """The one trial it is for; None for all."""
    label: str
    """Who or what holds it."""
    created_at: int
    expires_at: int | None
    parent: int | None = None
    """The token or one-time link that let a session in."""

    @property
    def actor(self) -> str:
        """Who stands in the log. Two tokens of one label are two; a token and the sessions it let in are one."""
        return f"{self.label} #{self.id if self.parent is None else self.parent}"

    @property
    def created(self) -> str:
        """When it was made, as ISO 8601, UTC."""
        return datetime.fromtimestamp(self.created_at, UTC).isoformat()

    def may(self, role: Role) -> bool:
        """Whether it covers what this role may do."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def reaches(self, trial: str) -> bool:
        """Whether it is for this trial."""
        return self.trial is None or self.trial == trial

    @property
    def runs_everything(self) -> bool:
        """Whether it may create trials and hand out access."""
        return self.role == "admin" and self.trial is None


def good_token(grant: Grant | None) -> Grant:
    """The grant of a token, or a refusal that says what to send."""
    if grant is None or grant.kind != "token":
        raise Refusal(401, "This needs a token that is good: send the header Authorization: Bearer TOKEN.")
    return grant


def demand(holder: Grant, role: Role) -> Grant:
    """The holder, or a refusal that says what is needed."""
    if not holder.may(role):
        raise Refusal(403, f"This needs the role {role}; yours is {holder.role}.")
    return holder


def trial_reached(holder: Grant, trial: str, role: Role) -> None:
    """Refuse a holder who is less than this, or whose access is to another trial."""
    demand(holder, role)
    if not holder.reaches(trial):
        raise no_such_trial()


class Access:
    """The grants in a store."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        if not isinstance(store, SQLStore):
            raise InputError("The service needs a store in a database: a path, or a URL postgresql://...")
        self._store = store
        self._clock = clock
        self._answered = -TRUSTED_SECONDS
        self._queries: dict[int, SQLCompiler] = {}

    def try_store(self) -> None:
        """Raise OperationError unless the store answers. Anybody may ask, so a good answer holds for a second."""
        now = self._clock()
        if not 0 <= now - self._answered < TRUSTED_SECONDS:
            with self._store.transaction() as connection:
                connection.execute(sa.select(table.c.id).limit(1)).first()
            self._answered = now

    def issue(
        self,
        kind: Kind,
        role: Role,
        label: str,
        trial: str | None = None,
        seconds: int | None = None,
        parent: int | None = None,
    ) -> tuple[str, Grant]:
        """A new secret, shown here and never again, and what it grants."""
        if not label.strip() or len(label) > LONGEST_LABEL or not label.isprintable():
            raise InputError(f"A label of 1 to {LONGEST_LABEL} printable characters says who this is for.")
        with self._store.transaction() as connection:
            return self._insert(connection, kind, role, label.strip(), trial, seconds, parent)

    def find(self, secret: str) -> Grant | None:
        """What a secret grants now; None if it is unknown, ended, expired, or its token is."""
        return self.find_all({secret})[secret]

    def find_all(self, secrets: Set[str]) -> dict[str, Grant | None]:
        """What each of these secrets grants now, asked of the store in one go."""
        found: dict[str, Grant | None] = dict.fromkeys(secrets)
        hashes = {_hashed(secret): secret for secret in secrets if PREFIXES.get(secret[:4], "link") != "link"}
        if not hashes:
            return found
        for secret_hash, *row in self._store.rows(*self._asked(list(hashes))):
            secret, grant = hashes[secret_hash], Grant(*row)
            if PREFIXES[secret[:4]] == grant.kind:
                found[secret] = grant
        return found

    def _asked(self, hashes: list[str]) -> tuple[str, Any]:
        # The statement as the driver takes it, and its parameters. To put it together takes longer than to run it, so
        # it is kept: for one, two, four, ... secrets, the last of which may be named several times.
        count = 1 << (len(hashes) - 1).bit_length()
        query = self._queries.get(count)
        if query is None:
            compiled = found_by(count).compile(dialect=self._store.engine.dialect)
            query = self._queries[count] = compiled
        named = {f"hash_{place}": hashes[min(place, len(hashes) - 1)] for place in range(count)}
        given = query.construct_params(named | {"now": self._now()})
        order = query.positiontup
        return str(query), given if order is None else tuple(given[name] for name in order)

    def sign_in(self, secret: str) -> tuple[str, Grant] | None:
        """A session for a token, or for a one-time link, which is used up by this; None if neither is good."""
        if PREFIXES.get(secret[:4]) == "link":
            return self._redeem(secret)
        token = self.find(secret)
        if token is None or token.kind != "token":
            return None
        return self.issue("session", token.role, token.label, token.trial, SESSION_SECONDS, token.id)

    def _redeem(self, secret: str) -> tuple[str, Grant] | None:
        # The update is the test: of two that come at once only one changes the row.
        used = (
            sa.update(table)
            .where(table.c.secret_hash == _hashed(secret), table.c.kind == "link", _alive(table, self._now()))
            .values(ended_at=self._now())
            .returning(table)
        )
        with self._store.transaction() as connection:
            row = connection.execute(used).first()
            if row is None:
                return None
            return self._insert(connection, "session", row.role, row.label, row.trial, SESSION_SECONDS, row.id)

    def grants(self) -> list[Grant]:
        """All tokens and view links that are good now, oldest first."""
        query = (
            sa.select(table).where(table.c.kind.in_(("token", "view")), _alive(table, self._now())).order_by(table.c.id)
        )
        with self._store.transaction() as connection:
            return [_grant(row) for row in connection.execute(query)]

    def end(self, number: int, kinds: tuple[Kind, ...] = ("token", "view")) -> bool:
        """Take back a grant and all sessions it let in; False if there is none such."""
        mine = sa.and_(table.c.id == number, table.c.kind.in_(kinds), table.c.ended_at.is_(None))
        with self._store.transaction() as connection:
            changed = connection.execute(sa.update(table).where(mine).values(ended_at=self._now()))
            return changed.rowcount > 0

    def first_link(self, always: bool = False) -> str | None:
        """A one-time link for an administrator where nobody holds such a token yet, or `always`."""
        if not always and any(grant.kind == "token" and grant.runs_everything for grant in self.grants()):
            return None
        return self.issue("link", "admin", "administrator", seconds=LINK_SECONDS)[0]

    def _insert(
        self,
        connection: sa.Connection,
        kind: Kind,
        role: Role,
        label: str,
        trial: str | None,
        seconds: int | None,
        parent: int | None,
    ) -> tuple[str, Grant]:
        prefix = next(start for start, named in PREFIXES.items() if named == kind)
        secret = prefix + secrets.token_urlsafe(32)
        now = self._now()
        values = {
            "kind": kind,
            "secret_hash": _hashed(secret),
            "role": role,
            "trial": trial,
            "label": label,
            "parent": parent,
            "created_at": now,
            "expires_at": None if seconds is None else now + seconds,
        }
        row = connection.execute(sa.insert(table).values(values).returning(table)).one()
        return secret, _grant(row)

    def _now(self) -> int:
        return int(self._clock())


def _alive(rows: Any, now: Any) -> sa.ColumnElement[bool]:
    in_time = sa.or_(rows.c.expires_at.is_(None), rows.c.expires_at > now)
    return sa.and_(rows.c.ended_at.is_(None), in_time)


def found_by(count: int) -> sa.Select[Any]:
    """The grants of so many hashes that are good now, each behind its hash: the fields of `Grant`, in their order."""
    above = table.alias("above")
    now: sa.BindParameter[int] = sa.bindparam("now")
    hashes: list[sa.BindParameter[str]] = [sa.bindparam(f"hash_{place}") for place in range(count)]
    return (
        sa.select(table.c.secret_hash, *(table.c[one.name] for one in fields(Grant)))
        .outerjoin(above, table.c.parent == above.c.id)
        .where(sa.or_(*(table.c.secret_hash == one for one in hashes)), _alive(table, now))
        .where(sa.or_(above.c.id.is_(None), above.c.kind == "link", _alive(above, now)))
    )


def csrf_token(session_secret: str) -> str:
    """What a form must carry to show that it came from one of our own pages, for this session."""
    return hashlib.sha256(b"form\0" + session_secret.encode()).hexdigest()


def _hashed(secret: str) -> str:
    # What is no text is no secret of ours either, and is to be told so like any other.
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _grant(row: Any) -> Grant:
    return Grant(
        row.id,
        cast(Kind, row.kind),
        cast(Role, row.role),
        row.trial,
        row.label,
        row.created_at,
        row.expires_at,
        row.parent,
    )
