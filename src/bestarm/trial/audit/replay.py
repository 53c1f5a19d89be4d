"""Replay: everything public has to be a function of the releases, the design, the clock and coins.

A trial is run on a table of people and its releases are noted. Then the same script runs again with the same releases
forced: on a neighbouring table (one person's outcomes replaced), on a table in which everybody's are, and, with a
follow-up, with other reports (later, or never). Whatever anybody may see has to come out the same, at every step; and
on the neighbouring table the sums may differ by that person's outcomes alone. No chance is involved: one difference is
a way around the noise.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from zlib import crc32

from bestarm.errors import InputError, OperationError
from bestarm.privacy.noise import LiveNoise
from bestarm.storage.contract import Store
from bestarm.storage.events import canonical
from bestarm.trial.audit import script
from bestarm.trial.audit.accounts import Accounts
from bestarm.trial.audit.script import ASK, CORRECT, GUESS, LOOK, PAUSE, RESUME, TELL, VOID, WITHDRAW, Act, Table
from bestarm.trial.audit.watched import START, Drawn, MovedClock, WatchedTrial
from bestarm.trial.fold import Rules
from bestarm.trial.identity import KEY_BYTES, assignment_number
from bestarm.trial.verify_public import verify_public

OTHER_WARD: Final = "other ward"
ASKED_FOR: Final = 0.25
"""How often status and ledger are asked for."""
PUBLIC_STEPS: Final = (ASK, LOOK, PAUSE, RESUME)


@dataclass(frozen=True)
class Step:
    """What could be seen after one act: the public things by name, and the answer that whoever acted got."""

    act: Act
    public: dict[str, str]
    answer: str


@dataclass
class Transcript:
    """One run: everything public, step by step, and for the auditor alone the accounts."""

    steps: list[Step] = field(default_factory=list)
    chain: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    drawn: list[Drawn] = field(default_factory=list)
    accounts: Accounts | None = None
    found: list[str] = field(default_factory=list)
    """What is wrong with this run by itself."""


@dataclass(frozen=True)
class Chances:
    """What is the same in all runs of a replay: coins for arms, the trial's key, and how often somebody looks."""

    seed: int
    key: bytes
    looks: float = 1.0


class Run:
    """One trial, served from a script."""

    def __init__(
        self,
        rules: Rules,
        store: Store,
        chances: Chances,
        noise: LiveNoise | None = None,
        forced: Sequence[int] | None = None,
    ) -> None:
        self.design = rules.design
        self._rules = rules
        self.clock = MovedClock()
        self.trial = WatchedTrial.begin(store, rules, chances.key, noise, self.clock, chances.seed)
        self.trial.watched.forced = forced
        self.accounts = Accounts(self.design)
        self.transcript = Transcript(accounts=self.accounts)
        self._chances = chances
        self._held: dict[tuple[int, int], tuple[str, str]] = {}

    def of(self, acts: Sequence[Act], table: Table, alone: bool = False) -> Transcript:
        """Run the script on a table. With `alone`, also look whether a report by itself changes anything public."""
        for act in acts:
            self.clock.now = START + act.when
            reporting = act.what in script.REPORTS
            if reporting:
                self._settle()
            watching = self._watching(act) or act.order == script.LAST
            before = self._public(act) if alone and watching and reporting else None
            turns = self.accounts.turns
            answer = self._do(act, table)
            self._settle()
            if watching:
                public = self._public(act)
                news = self.accounts.turns > turns
                if before is not None and not self._may_show(act, news):
                    self.transcript.found += [
                        f"The {name} changes when an outcome comes in."
                        for name in before
                        if before[name] != public[name]
                    ]
                self.transcript.steps.append(Step(act, public, answer))
        self._finish()
        return self.transcript

    def _watching(self, act: Act) -> bool:
        return self._luck(act) < self._chances.looks

    def _luck(self, act: Act, what: str = "") -> float:
        # The same for the same act in every run of a replay, whatever else happens in it.
        return crc32(f"{self._chances.seed} {act} {what}".encode()) / 2**32

    def _may_show(self, act: Act, news: bool) -> bool:
        # Without a follow-up the last outcome of a stage lets it be released, and who withdraws may free a place.
        return (news and self.design.follow_up is None) or (act.what == WITHDRAW and self.design.replaces)

    def _settle(self) -> None:
        if self.design.follow_up is not None:  # else nothing is left to the clock
            self.trial.advance()
        self.accounts.look(self.trial.watched, self.trial.chain(), self.clock.now)

    def _public(self, act: Act) -> dict[str, str]:
        # Status and ledger are made from the view, which is compared each time; they are asked for now and then.
        trial = self.trial
        seen = {"public view": repr(trial.view()), "head of the public chain": trial.public_head()}
        if self._luck(act, "status") < ASKED_FOR or act.order == script.LAST:
            seen |= {"status": canonical(trial.status()), "ledger": canonical(trial.ledger())}
        return seen

    def _do(self, act: Act, table: Table) -> str:
        try:
            if act.broken:
                self.trial.broken(lambda: self._request(act, table))
            return self._request(act, table)
        except (InputError, OperationError) as refusal:
            return str(refusal)

    def _request(self, act: Act, table: Table) -> str:
        if act.what == ASK:
            return self._ask(act)
        if act.what == PAUSE:
            return self.trial.pause("audit")
        if act.what == RESUME:
            return self.trial.resume("audit")
        if act.what == LOOK or (act.person, act.visit) not in self._held:
            return ""
        return self._report(act, table)

    def _ask(self, act: Act) -> str:
        asked = self.trial.ask(f"person {act.person}")
        if asked.id is None or asked.arm is None:
            return "stopped"
        if all(self._held.get((act.person, visit), ("", ""))[0] != asked.id for visit in range(act.visit)):
            self._held[act.person, act.visit] = asked.id, asked.arm
        self.accounts.joined(assignment_number(self.trial.key, asked.id), act.person, self.clock.now)
        return f"{asked.id} {asked.arm}"

    def _report(self, act: Act, table: Table) -> str:
        who, label = self._held[act.person, act.visit]
        number = assignment_number(self.trial.key, who)
        row, arm = table[act.person][act.visit], self.design.arms.index(label)
        if act.what == GUESS:
            return self.trial.tell(who, self.design.outcomes.high, OTHER_WARD, guarded=True)
        if act.what == TELL:
            answer = self.trial.tell(who, row.outcomes[arm])
        elif act.what == CORRECT:
            answer = self.trial.correct(who, row.corrected[arm], "audit")
        elif act.what == VOID:
            answer = self.trial.void(who, "person 0", "audit")
        else:
            answer = self.trial.withdraw(who, "audit")
        self._enter(number, answer)
        return answer

    def _enter(self, number: int, answer: str) -> None:
        # The accounts read what passed the door first; a release that this very report brought comes after it.
        self.accounts.note(self.trial.watched)
        if answer in ("recorded", "corrected"):
            self.accounts.counts(number)
        elif answer == "withdrawn":
            self.accounts.withdrawn(number)
        elif answer == "voided":
            self.accounts.voided(number)

    def _finish(self) -> None:
        self.transcript.chain = self.trial.chain()
        self.transcript.drawn = list(self.trial.watched.drawn)
        self.transcript.found += self.accounts.found
        with TemporaryDirectory() as folder:
            paths = {**self.trial.report(folder), **self.trial.export_public(folder)}
            self.transcript.files = {name: Path(path).read_text(encoding="utf-8") for name, path in paths.items()}
            checked = verify_public(folder, algorithm=self._rules.algorithm)
        self.trial.close()
        if not checked.ok:
            self.transcript.found.append(f"Decisions do not follow from what is public: {checked.problem}")


def compare(first: Transcript, other: Transcript, table: str, all_steps: bool = True) -> list[str]:
    """What anybody can see that differs between two runs with the same releases."""
    found = []
    steps, elsewhere = (
        [step for step in run.steps if all_steps or step.act.what in PUBLIC_STEPS] for run in (first, other)
    )
    for one, two in zip(steps, elsewhere, strict=False):
        found += [f"The {name} differs {table}." for name in one.public if one.public[name] != two.public[name]]
        if one.answer != two.answer and (all_steps or one.act.what != ASK):
            found.append(f"The answer to {one.act.what} differs {table}.")
    for (kind, body), (kind_elsewhere, body_elsewhere) in zip(first.chain, other.chain, strict=False):
        if (kind, body) != (kind_elsewhere, body_elsewhere):
            found.append(f"The public event {kind} differs {table}.")
            break
    found += [
        f"The public file {name} differs {table}." for name in first.files if first.files[name] != other.files[name]
    ]
    if len(first.chain) != len(other.chain) or len(steps) != len(elsewhere):
        found.append(f"The course of the trial differs {table}.")
    return found


def sums_apart(first: Transcript, other: Transcript, most: int) -> list[str]:
    """Whether one person's outcomes moved the sums by more than `most` outcomes' worth of steps in all."""
    apart = [abs(one.total - two.total) for one, two in zip(first.drawn, other.drawn, strict=False)]
    if sum(apart) > most:
        return [f"One person's outcomes moved the sums by {sum(apart)} steps, {most} are allowed."]
    return []


@dataclass(frozen=True)
class Replayed:
    """What one replay found, and the releases of its first run if their noise was drawn by the trial."""

    found: list[str]
    natural: list[Drawn]
    people: int
    releases: int


def replay(
    rules: Rules,
    people: int,
    seed: int,
    noise: LiveNoise | None,
    chosen: bool,
    looks: float,
    store: Callable[[], Store],
) -> Replayed:
    """Run one trial, and again with the same releases on other tables and with other reports.

    With `chosen` the releases of the first run are chosen by the seed rather than drawn, far apart, so that the trial
    comes to its end soon.
    """
    design, rng = rules.design, random.Random(seed)
    table = script.table_of(design, people, rng)
    prompt = rng.random() < 0.5
    acts = script.script_of(design, people, random.Random(seed + 1), random.Random(seed + 2), prompt)
    chances = Chances(seed, secrets.token_bytes(KEY_BYTES), looks)
    far = [rng.randrange(-60, 61) * rules.grid for _ in range(10 * people)] if chosen else None

    def run(
        rows: Table, releases: Sequence[int] | None, script_now: list[Act] = acts, alone: bool = False
    ) -> Transcript:
        return Run(rules, store(), chances, noise, releases).of(script_now, rows, alone)

    first = run(table, far, alone=True)
    forced = [one.value for one in first.drawn]
    changed = rng.randrange(people)
    neighbour = run([script.turned(design, r) if n == changed else r for n, r in enumerate(table)], forced)
    stranger = run([script.turned(design, r) for r in table], forced)
    found = [*first.found, *neighbour.found, *stranger.found]
    found += compare(first, neighbour, "when one person's outcomes do")
    found += compare(first, stranger, "when outcomes do")
    found += sums_apart(first, neighbour, script.visits_of(design) * rules.grid)
    if design.follow_up is not None:
        late = script.script_of(design, people, random.Random(seed + 1), random.Random(seed + 3), not prompt)
        other = run(table, forced, late)
        found += [*other.found, *compare(first, other, "when reports come at other times", all_steps=False)]
    natural = [] if chosen or first.accounts is None else first.accounts.published
    return Replayed(list(dict.fromkeys(found)), natural, people, len(forced))
