"""Who may do what, and who is told: tokens, links and webhooks as they are sent and answered."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bestarm.service.schemas import Label, Said, Sent


class NewToken(Sent):
    """A token to be made."""

    role: Literal["viewer", "operator", "admin"]
    label: Label
    trial: str | None = Field(default=None, max_length=100, description="The one trial it is for; all if left out.")


class NewViewLink(Sent):
    """A public link to one trial's public view."""

    trial: str = Field(min_length=1, max_length=100)
    label: Label


class NewHook(Sent):
    """An address that is to be told of public events."""

    url: str = Field(min_length=1, max_length=500, examples=["https://example.org/trials"])
    trial: str | None = Field(default=None, max_length=100, description="The one trial it is for; all if left out.")


class GrantInfo(Said):
    """A token or a view link, without its secret."""

    id: int
    kind: Literal["token", "view"]
    role: Literal["viewer", "operator", "admin"]
    trial: str | None
    label: str
    created_at: str


class GrantList(Said):
    """The tokens and view links that are good now."""

    grants: list[GrantInfo]


class NewGrant(GrantInfo):
    """A new token or view link. Its secret is shown here and never again."""

    secret: str
    path: str | None = Field(description="Where a view link leads on this server.")


class HookInfo(Said):
    """A webhook, without its key."""

    id: int
    url: str
    trial: str | None
    created_at: str
    waiting: int = Field(description="Messages that are still to be delivered.")
    given_up: int = Field(description="Messages that could not be delivered within a day.")


class HookList(Said):
    """The webhooks there are."""

    webhooks: list[HookInfo]


class MadeHook(HookInfo):
    """A new webhook. The key of its signatures is shown here and never again."""

    key: str
