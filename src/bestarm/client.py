"""A client of the service with the interface of `Trial`: the same script runs against a file or a server.

Requests that are safe to repeat are repeated when the server does not answer, so that a restart of the server goes
unnoticed. Nothing but the standard library is needed.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from bestarm.codes import code_of
from bestarm.design import Design
from bestarm.errors import InputError, OperationError
from bestarm.exact import text_of
from bestarm.files import replacing
from bestarm.sentences import cautions
from bestarm.trial.answers import (
    Asked,
    Gathering,
    HeldAssignment,
    HeldHalves,
    Ledger,
    OpenAssignment,
    Report,
    StaffStatus,
    Status,
    Verdict,
    Verification,
)
from bestarm.trial.frames import Tabled, outcomes_in, subjects_in
from bestarm.trial.identity import Participant, no_such_participant

PAUSES = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds between attempts: half a minute in all, enough for a server to start again."""
TRYING_AGAIN_MAY_HELP = (502, 503, 504)


class Client:
    """A connection to a server: `Client("https://trials.example", token="bat_...")`."""

    def __init__(self, url: str, token: str, timeout: float = 60.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("The server's address begins with http:// or https:// and names a host.")
        self._parts = parts
        self._token = token
        self._timeout = timeout
        self._local = threading.local()
        self._connections: list[http.client.HTTPConnection] = []

    def trials(self) -> list[str]:
        """The names of the trials that the token reaches."""
        names: list[str] = self._get("/trials")["trials"]
        return names

    def create(
        self, *, name: str, arms: Sequence[str], delta: object, epsilon: object = None, **design: Any
    ) -> RemoteTrial:
        """Create a trial; the arguments are those of `Trial.create`, numbers as text where they have to be exact."""
        given = {"name": name, "arms": list(arms), "delta": delta, "epsilon": epsilon} | design
        body = {key: _sendable(value) for key, value in given.items() if value is not None}
        answer = self._request("POST", "/trials", body, repeat=False)
        return RemoteTrial(self, name, Design.from_json(answer["design"]))

    def open(self, *, name: str) -> RemoteTrial:
        """Find a trial."""
        return RemoteTrial(self, name, Design.from_json(self._get(_path(name))["design"]))

    def halves(self, name: str) -> RemoteHalves:
        """This server's halves of a trial with distributed noise, which may itself be elsewhere."""
        return RemoteHalves(self, name)

    def algorithms(self) -> list[dict[str, Any]]:
        """The server's algorithms."""
        found: list[dict[str, Any]] = self._get("/algorithms")["algorithms"]
        return found

    def bounds(self, means: Sequence[float], epsilon: float, delta: float, beta: float = 0.5) -> dict[str, Any]:
        """The bounds of a problem, as `ba.bounds(...).to_dict()`."""
        question = {"means": list(means), "epsilon": epsilon, "delta": delta, "beta": beta}
        return self._request("POST", "/bounds", question)

    def plan(self, means: Sequence[float] | None = None, **question: Any) -> dict[str, Any]:
        """A plan, as `ba.plan(...).to_dict()`; waits until the server has computed it."""
        asked = question | ({} if means is None else {"means": list(means)})
        while (answer := self._request("POST", "/plan", asked))["state"] == "computing":
            time.sleep(0.5)
        found: dict[str, Any] = answer["plan"]
        return found

    def close(self) -> None:
        """Let go of all connections; the next request makes a new one."""
        for connection in self._connections:
            connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get(self, path: str) -> dict[str, Any]:
        return self._request("GET", path)

    def _request(self, method: str, path: str, body: Any = None, repeat: bool = True) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._text(method, path, body, repeat))
        return found

    def _text(self, method: str, path: str, body: Any = None, repeat: bool = True) -> str:
        for pause in (*PAUSES, None) if repeat else (None,):
            try:
                status, text = self._once(method, path, body)
                if status not in TRYING_AGAIN_MAY_HELP or pause is None:
                    return _accepted(status, text)
            except (OSError, http.client.HTTPException) as error:
                self._connection().close()
                if pause is None:
                    place = f"{self._parts.scheme}://{self._parts.netloc}"
                    raise OperationError(f"The server {place} does not answer: {type(error).__name__}.") from error
            time.sleep(pause)
        raise AssertionError("the last attempt answers or raises")

    def _once(self, method: str, path: str, body: Any) -> tuple[int, str]:
        connection = self._connection()
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        payload = None
        if body is not None:
            payload = json.dumps(body, allow_nan=False).encode()
            headers["Content-Type"] = "application/json"
        connection.request(method, f"{self._parts.path.rstrip('/')}/api/v1{path}", payload, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def _connection(self) -> http.client.HTTPConnection:
        # One a thread, kept open between requests.
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
            connection = kind(self._parts.hostname or "", self._parts.port, timeout=self._timeout)
            self._local.connection = connection
            self._connections.append(connection)
        return connection


class RemoteTrial(Tabled):
    """One trial on a server. Who did what is known from the token, so nothing here takes an actor."""

    def __init__(self, client: Client, name: str, design: Design) -> None:
        self.name = name
        self.design = design
        self._client = client

    def ask(self, subject: object) -> Asked:
        """The subject's assignment: the one it holds, or a new one. Safe to repeat."""
        return Asked.from_json(self._post("ask", {"subject": self._code(subject)}))

    def ask_many(self, subjects: Any) -> list[Asked]:
        """Assignments for several subjects in one step, in this order; all or none. See `Trial.ask_many`."""
        answer = self._post("ask-many", {"subjects": [self._code(one) for one in subjects_in(subjects)]})
        return [Asked.from_json(one) for one in answer["assignments"]]

    def tell(
        self, assignment: str | Participant | None = None, outcome: object = None, *, subject: object = None
    ) -> str:
        """Record an outcome, by assignment or by `subject`: "recorded", "already recorded", or "late" (not used)."""
        return str(self._post("tell", self._who(assignment, subject) | _told(outcome))["status"])

    def tell_many(self, outcomes: Any) -> list[str]:
        """Record several outcomes in one step; all or none. See `Trial.tell_many`."""
        told = [self._who(who, None) | _told(outcome) for who, outcome in outcomes_in(outcomes)]
        statuses: list[str] = self._post("tell-many", {"outcomes": told})["statuses"]
        return statuses

    def correct(
        self,
        assignment: str | Participant | None = None,
        outcome: object = None,
        reason: str = "",
        *,
        subject: object = None,
    ) -> str:
        """Correct a recorded outcome: "corrected", or "late" (recorded, not used) once its stage is released."""
        body = self._who(assignment, subject) | _told(outcome) | {"reason": reason}
        return str(self._post("correct", body, repeat=False)["status"])

    def withdraw(self, assignment: str | Participant | None = None, reason: str = "", *, subject: object = None) -> str:
        """Take a subject out by the design's rule."""
        return str(self._post("withdraw", self._who(assignment, subject) | {"reason": reason})["status"])

    def relabel(self, assignment: str | Participant, subject: object, reason: str) -> str:
        """Put a mistyped code right; the assignment and its arm stay."""
        body = {"assignment": self._id(assignment), "subject": self._code(subject), "reason": reason}
        return str(self._post("relabel", body)["status"])

    def void(self, assignment: str | Participant, duplicate_of: object, reason: str) -> str:
        """Void a second entry of somebody who is in the trial; it keeps its place and counts as the worst outcome."""
        body = {"assignment": self._id(assignment), "duplicate_of": self._code(duplicate_of), "reason": reason}
        return str(self._post("void", body, repeat=False)["status"])

    def look_up(self, subject: object = None, *, assignment: str | None = None) -> list[HeldAssignment]:
        """The assignments that a subject holds, or the one of this id; none for a code nobody has."""
        found = self._post("look-up", self._who(assignment, subject))["assignments"]
        return [HeldAssignment.from_json(one) for one in found]

    def near(self, subject: object) -> list[str]:
        """Codes much like this one that are in the trial; none if it is there itself."""
        found: list[str] = self._post("look-up", {"subject": self._code(subject)})["near"]
        return found

    def delete(self) -> None:
        """Delete the trial; only one that never enrolled anybody can be."""
        self._client._text("DELETE", _path(self.name), repeat=False)

    def pause(self, reason: str = "") -> str:
        """Enrol nobody until `resume`."""
        return str(self._post("pause", {"reason": reason}, repeat=False)["status"])

    def resume(self, reason: str = "") -> str:
        """Enrol again."""
        return str(self._post("resume", {"reason": reason}, repeat=False)["status"])

    def end(self, reason: str) -> str:
        """Stop the trial for good without a recommendation."""
        return str(self._post("end", {"reason": reason}, repeat=False)["status"])

    def gathering(self) -> Gathering | None:
        """With distributed noise: the stage whose halves are to be added up next; None if none is."""
        due = self._read("gathering")["gathering"]
        return None if due is None else Gathering.from_json(due)

    def gather(self, stage: int, assignments: Sequence[str], sums: Sequence[int]) -> str:
        """With distributed noise: what both servers' halves of these people came to, which releases the stage."""
        body = {"stage": stage, "assignments": list(assignments), "sums": list(sums)}
        return str(self._post("gather", body, repeat=False)["status"])

    @property
    def verdict(self) -> Verdict | None:
        """How the trial ended; None while it runs."""
        answer = self._read("verdict")["verdict"]
        return None if answer is None else Verdict.from_json(answer)

    def status(self, staff: bool = False) -> dict[str, Any]:
        """The public state as plain data; for `staff` also what is not public: what holds releases up."""
        shown = Status.from_json(self._read("status")).to_json()
        return shown | {"staff": self.staff_status().to_json()} if staff else shown

    def warnings(self) -> list[str]:
        """What is allowed, but should have been thought over before the design was frozen, in sentences."""
        return cautions(self.design)

    def staff_status(self) -> StaffStatus:
        """What staff have to do: how many outcomes are awaited, who is overdue, and what holds a release up."""
        return StaffStatus.from_json(self._read("staff"))

    def ledger(self) -> dict[str, Any]:
        """The privacy ledger as plain data."""
        return Ledger.from_json(self._read("ledger")).to_json()

    def report(self, out: str | Path) -> dict[str, str]:
        """Write the report (report.html, report.json) into a folder; the paths."""
        place = Path(out)
        paths = {"html": place / "report.html", "json": place / "report.json"}
        page = self._client._text("GET", _path(self.name, "report.html"))
        data = json.dumps(Report.from_json(self._read("report")).to_json(), indent=2, ensure_ascii=False) + "\n"
        for path, text in ((paths["html"], page), (paths["json"], data)):
            with replacing(path) as temporary:
                temporary.write_text(text, encoding="utf-8")
        return {kind: str(path) for kind, path in paths.items()}

    def open_assignments(self, start: int = 0, most: int | None = None) -> list[OpenAssignment]:
        """The assignments whose outcomes are awaited, the most urgent first. Of a long list a page: `most` of them at
        most, without the first `start`."""
        page = f"open?start={start}" + ("" if most is None else f"&most={most}")
        return [] if most == 0 else [OpenAssignment.from_json(one) for one in self._read(page)["assignments"]]

    def verify(self) -> Verification:
        """Let the server replay the log and compare."""
        return Verification.from_json(self._read("verify"))

    def close(self) -> None:
        """Let go of the connection; the end of a `with` block does so too."""
        self._client.close()

    def __enter__(self) -> RemoteTrial:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _code(self, subject: object) -> str:
        return code_of(subject, self.design.codes)

    def _who(self, assignment: str | Participant | None, subject: object) -> dict[str, Any]:
        if (assignment is None) == (subject is None):
            raise InputError("Say who it is: by the assignment or by the participant's code, one of the two.")
        if isinstance(assignment, Participant):
            subject, assignment = assignment.code, None
        return {"subject": self._code(subject)} if assignment is None else {"assignment": assignment}

    def _id(self, who: str | Participant) -> str:
        if isinstance(who, str):
            return who
        held = self.look_up(who.code)
        if not held:
            raise no_such_participant()
        return held[-1].id

    def _post(self, what: str, body: dict[str, Any], repeat: bool = True) -> dict[str, Any]:
        return self._client._request("POST", _path(self.name, what), body, repeat)

    def _read(self, what: str) -> dict[str, Any]:
        return self._client._get(_path(self.name, what))


class RemoteHalves:
    """One server's halves of a trial: a `bestarm.distributed.HalfServer`."""

    def __init__(self, client: Client, trial: str) -> None:
        self._client = client
        self._address = f"/halves/{quote(trial, safe='')}"

    def put(self, assignment: str, stage: int, people: int, epsilon: str, half: Sequence[int]) -> str:
        """Keep a person's half: "recorded" or "already recorded". Safe to repeat."""
        body = {"assignment": assignment, "stage": stage, "people": people, "epsilon": epsilon, "half": list(half)}
        return str(self._client._request("POST", self._address, body)["status"])

    def held(self, stage: int) -> HeldHalves:
        """Whose halves are there, and whose were added up."""
        return HeldHalves.from_json(self._client._request("POST", f"{self._address}/held", {"stage": stage}))

    def add_up(self, stage: int, assignments: Sequence[str]) -> list[int]:
        """The sums of these people's halves; once for a stage, and the same again."""
        body = {"stage": stage, "assignments": list(assignments)}
        sums: list[int] = self._client._request("POST", f"{self._address}/add-up", body)["sums"]
        return sums


def _path(name: str, what: str = "") -> str:
    return f"/trials/{quote(name, safe='')}" + (f"/{what}" if what else "")


def _sendable(value: Any) -> Any:
    # Exact numbers travel as decimal text; floats by their shortest form, as everywhere.
    if isinstance(value, Fraction):
        return text_of(value)
    return value.item() if hasattr(value, "item") else value


def _told(outcome: object) -> dict[str, Any]:
    value = _sendable(outcome)
    if isinstance(value, bool):
        value = int(value)
    return {"outcome": value if isinstance(value, int | float | str) else str(value)}


def _accepted(status: int, text: str) -> str:
    if 200 <= status < 300:
        return text
    try:
        said = str(json.loads(text)["detail"])
    except (ValueError, KeyError, TypeError):
        said = f"The server answered with status {status}."
    raise InputError(said) if 400 <= status < 500 and status != 409 else OperationError(said)
