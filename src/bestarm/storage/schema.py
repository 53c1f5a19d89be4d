"""The tables of a store. Every change here needs a migration in migrations/versions."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

metadata: Final = sa.MetaData()

trials: Final = sa.Table(
    "trials",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("design", sa.Text, nullable=False),
    sa.Column("key", sa.LargeBinary, nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
    sa.Column("public_seq", sa.BigInteger, nullable=False),
    sa.Column("public_head", sa.Text, nullable=False),
    sa.Column("book", sa.Text, nullable=False),
    sa.Column("books_seq", sa.BigInteger, nullable=False),
    sa.Column("joins_seq", sa.BigInteger, nullable=False),
)
"""`seq` and `head` are the last event's; the book and the rows in the tables below stand at `books_seq`, which may be a
little earlier (`bestarm.storage.behind`)."""

LONGEST_LOG: Final = 2**40
"""No trial has as many events."""

events: Final = sa.Table(
    "events",
    metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("secret", sa.Text),
    sa.Column("salt", sa.LargeBinary, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("public_seq", sa.BigInteger),
    sa.Column("public_hash", sa.Text),
)
"""The id is `LONGEST_LOG` times the trial's, plus `seq`. SQLite keeps a table in the order of such a number, so that an
event is written in one place; an index beside the table would be a second one, in every commit."""

assignments: Final = sa.Table(
    "assignments",
    metadata,
    sa.Column("trial", sa.Integer, sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("arm", sa.Integer, nullable=False),
    sa.Column("stage", sa.BigInteger, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text),
    sa.Column("value", sa.BigInteger),
    sa.Column("told_by", sa.Text),
    sa.Column("told_at", sa.BigInteger),
    sa.Index("assignments_by_subject", "trial", "subject"),
)

_awaited: Final = sa.text("state = 'open'")
open_assignments: Final = sa.Index(
    "assignments_open",
    *(assignments.c[name] for name in ("trial", "stage", "number")),
    sqlite_where=_awaited,
    postgresql_where=_awaited,
)
"""Whose outcomes are awaited, by stage."""

stages: Final = sa.Table(
    "stages",
    metadata,
    sa.Column("trial", sa.Integer, sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("weights", sa.Text, nullable=False),
    sa.Column("difference", sa.Boolean, nullable=False),
    sa.Column("champion", sa.Integer, nullable=False),
    sa.Column("planned", sa.BigInteger, nullable=False),
    sa.Column("extent", sa.BigInteger, nullable=False),
    sa.Column("people", sa.BigInteger, nullable=False),
    sa.Column("resolved", sa.BigInteger, nullable=False),
    sa.Column("size", sa.BigInteger),
    sa.Column("closed_at", sa.BigInteger),
    sa.Column("position", sa.BigInteger),
    sa.Column("released_at", sa.BigInteger),
    sa.Column("releases", sa.Text),
    sa.Column("terms", sa.Text),
    sa.Index("stages_by_position", "trial", "position"),
)

tallies: Final = sa.Table(
    "tallies",
    metadata,
    sa.Column("trial", sa.Integer, sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("stage", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("arm", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("assigned", sa.BigInteger, nullable=False),
    sa.Column("resolved", sa.BigInteger, nullable=False),
    sa.Column("total", sa.BigInteger, nullable=False),
    sa.Column("voided", sa.BigInteger, nullable=False),
)

state: Final = sa.Table(
    "state",
    metadata,
    sa.Column("trial", sa.Integer, sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("array", sa.Text, primary_key=True),
    sa.Column("bytes", sa.LargeBinary, nullable=False),
)

access: Final = sa.Table(
    "access",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("secret_hash", sa.Text, nullable=False, unique=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("trial", sa.Text),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("parent", sa.Integer, sa.ForeignKey("access.id")),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("ended_at", sa.BigInteger),
)
"""Who may use the service: tokens, sessions and links, none of them kept in the clear."""

halves: Final = sa.Table(
    "halves",
    metadata,
    sa.Column("trial", sa.Text, primary_key=True),
    sa.Column("assignment", sa.Text, primary_key=True),
    sa.Column("stage", sa.BigInteger, nullable=False),
    sa.Column("people", sa.BigInteger, nullable=False),
    sa.Column("epsilon", sa.Text, nullable=False),
    sa.Column("half", sa.Text, nullable=False),
    sa.Index("halves_by_stage", "trial", "stage"),
)
"""Halves of what people of other stores' trials sent; without the other server's half each is a random number."""

half_sums: Final = sa.Table(
    "half_sums",
    metadata,
    sa.Column("trial", sa.Text, primary_key=True),
    sa.Column("stage", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("assignments", sa.Text, nullable=False),
    sa.Column("sums", sa.Text, nullable=False),
)
"""What was answered for a stage, once and for all: whose halves were added up, and to what."""

hooks: Final = sa.Table(
    "hooks",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("trial", sa.Text),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("seen", sa.Text, nullable=False),
)
"""Webhooks, and how far into each trial's log each has been told."""

deliveries: Final = sa.Table(
    "deliveries",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("hook", sa.Integer, sa.ForeignKey("hooks.id"), nullable=False),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("next_at", sa.BigInteger, nullable=False),
)
"""Messages of webhooks that are still to be delivered."""
