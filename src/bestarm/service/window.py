"""The short way for the two requests that come in crowds: asking and telling, for one person.

It does what the routes `ask` and `tell` of `bestarm.service.api.trials` do, without what a web framework does around
them: it reads the body, checks it with the same schema, and takes a turn at the trial's writer (`turns`). Whatever is
out of the ordinary (a body that is no such request, a trial that was not opened yet) is left to the routes, which know
what to say of it. What a request is and how it is answered is said here once (`Kind`), for the application under any
server (`Window`) and for the connections of our own (`short_way`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Final

from pydantic import ValidationError
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bestarm.errors import BestArmError
from bestarm.service import schemas
from bestarm.service.api.trials import ask, tell
from bestarm.service.problems import Refusal
from bestarm.service.trials import Trials, checked_outcome, recording
from bestarm.service.turns import Make
from bestarm.trial.answers import Asked
from bestarm.trial.identity import Participant

PREFIX: Final = "/api/v1"
ADDRESS: Final = re.compile(rf"{PREFIX}/trials/([^/]{{1,100}})/(ask|tell)")
JSON: Final = (b"content-type", b"application/json")
SAYING: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
"""As the framework writes answers."""
LETTER: Final = rb"[ !#-\[\]-~]"
"""What stands for itself between the quotes of JSON, and is ASCII."""

Refuse = Callable[[HTTPRequest, Exception], Coroutine[Any, Any, Response]]


@dataclass(frozen=True)
class Kind:
    """One of the two: its route, the schema of its body, its request and its answer."""

    route: Any
    endpoint: Callable[..., Any]
    body: type[schemas.Ask] | type[schemas.Tell]
    plain: re.Pattern[bytes]
    """Bodies as clients write them: what it finds in one is what the schema would take from it."""
    asked: Callable[..., Make]
    """The request, from what was found in a body."""
    fields: Callable[[Any], tuple[Any, ...]]
    """The same, from a body that the schema has read."""
    answer: Callable[[Any], bytes]
    """The body of the answer."""

    def read(self, text: bytes) -> Make | None:
        """The request that a body is; None for whatever the routes have to say something about."""
        found = self.plain.fullmatch(text)
        if found is not None:
            return self.asked(*found.groups())
        try:
            return self.asked(*self.fields(self.body.model_validate(json.loads(text))))
        except (ValidationError, ValueError, RecursionError):
            return None


def _asking(subject: str | bytes) -> Make:
    code = subject if isinstance(subject, str) else subject.decode()
    return lambda trial, holder: trial.asking([code], holder.actor)


def _telling(who: str | bytes | Participant, outcome: object) -> Make:
    meant = who.decode() if isinstance(who, bytes) else who
    told = int(outcome) if isinstance(outcome, bytes) else outcome
    return lambda trial, holder: recording(trial, [(meant, checked_outcome(trial.design, told))], holder)


def _asked(answer: list[Asked]) -> bytes:
    return SAYING.encode(answer[0].to_json()).encode()


@lru_cache(maxsize=64)
def _status(status: str) -> bytes:
    return SAYING.encode({"status": status}).encode()


KINDS: Final = {
    "ask": Kind(
        SimpleNamespace(path=f"{PREFIX}/trials/{{trial}}/ask"),
        ask,
        schemas.Ask,
        re.compile(rb'\{"subject": ?"(%b{1,200})"\}' % LETTER),
        _asking,
        lambda body: (body.subject,),
        _asked,
    ),
    "tell": Kind(
        SimpleNamespace(path=f"{PREFIX}/trials/{{trial}}/tell"),
        tell,
        schemas.Tell,
        re.compile(rb'\{"assignment": ?"(%b{1,60})", ?"outcome": ?([01])\}' % LETTER),
        _telling,
        lambda body: (body.who, body.outcome),
        lambda answer: _status(answer[0]),
    ),
}


class Window:
    """In front of the routes: serves what is ordinary, hands on the rest."""

    def __init__(self, app: ASGIApp, trials: Trials, refuse: Refuse) -> None:
        self._app = app
        self._trials = trials
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        found = ADDRESS.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        kind, turns = KINDS[found[2]], self._trials.turns(found[1])
        heard: list[Message] = []
        make = None if turns is None or JSON not in scope["headers"] else await _read(kind, receive, heard)
        if turns is None or make is None:
            await self._app(scope, _once_more(heard, receive), send)
            return
        scope["route"], scope["endpoint"] = kind.route, kind.endpoint
        try:
            answer = await turns.take(secret_in(scope["headers"]), make)
        except (BestArmError, Refusal) as error:
            await (await self._refuse(HTTPRequest(scope), error))(scope, receive, send)
            return
        said = kind.answer(answer)
        headers = [(b"content-length", b"%d" % len(said)), JSON]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": said})


async def _read(kind: Kind, receive: Receive, heard: list[Message]) -> Make | None:
    text = b""
    while True:
        message = await receive()
        heard.append(message)
        if message["type"] != "http.request":
            return None
        text += message.get("body", b"")
        if not message.get("more_body", False):
            return kind.read(text)


def _once_more(heard: list[Message], receive: Receive) -> Receive:
    # What was heard already, and then the rest.
    again = iter(heard)

    async def repeated() -> Message:
        message = next(again, None)
        return await receive() if message is None else message

    return repeated


def secret_in(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The token that a request came with; nothing if it came with none."""
    for name, value in headers:
        if name == b"authorization":
            scheme, _, secret = value.decode("latin-1").partition(" ")
            return secret.strip() if scheme.lower() == "bearer" else ""
    return ""
