"""A five-arm dose-finding trial from plan to report, live on an embedded store, with simulated patients.

Patients come every day, answer days later, sometimes never, and now and then withdraw. In the middle the clinic's
process is killed outright and another takes over. Everything but the patients and the calendar is the real thing.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

from bestarm.errors import OperationError
from bestarm.files import replacing
from bestarm.trial.answers import Asked
from bestarm.trial.trial import Trial

NAME = "dose finding"
DOSES = {"placebo": 0.30, "5 mg": 0.42, "10 mg": 0.54, "20 mg": 0.78, "40 mg": 0.60}
"""The true response rates, which nobody in the trial knows."""
EPSILON = "1"
DELTA = "0.01"
FOLLOW_UP_DAYS = 7
MISSING = 0.08
"""Patients whose outcome never comes, or who withdraw; the design counts them as failures."""
PATIENTS_A_DAY = 12
CRASH_AFTER = 100
LONGEST = 2000
DAY = 86400.0
START = 1_767_225_600.0

Say: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Planned:
    """What is known before the first patient: expectations and the lower bound."""

    expected: float
    p90: float
    lower_bound: float
    paper: float
    """What the paper's Algorithm 2 needs on average."""


@dataclass(frozen=True)
class Demo:
    """How the demonstration went."""

    recommended: str | None
    reason: str
    participants: int
    days: int
    planned: Planned
    releases: int
    epsilon_spent: float | None
    recovered: bool
    """Whether every acknowledged patient had the same assignment after the crash, and the log verified."""
    verified: bool
    ledger: dict[str, Any]
    store: str
    report: str
    figure: str

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass
class Calendar:
    """The demonstration's clock: moved by the day."""

    day: int = 0

    def __call__(self) -> float:
        return START + self.day * DAY


@dataclass
class Clinic:
    """Enrols simulated patients and reports their outcomes, one day at a time."""

    trial: Trial
    calendar: Calendar
    seed: int
    patients: int = 0
    waiting: list[tuple[int, str, int]] = field(default_factory=list)
    """Outcomes still to come: the day, the assignment, the outcome."""

    def chance(self, patient: str) -> random.Random:
        """The patient's own fate, the same whoever asks."""
        return random.Random(f"{self.seed} {patient}")

    def enrol_today(self) -> dict[str, str]:
        """Enrol the day's patients while an arm recruits; the assignments that were acknowledged."""
        made = {}
        for _ in range(PATIENTS_A_DAY):
            patient = f"patient {self.patients + 1}"
            try:
                asked = self.trial.ask(patient)
            except OperationError:
                break  # the rest wait until outcomes that are due have come in
            if asked.id is None:
                break
            made[patient] = asked.id
            self.patients += 1
            self.expect(patient, asked)
        return made

    def expect(self, patient: str, asked: Asked) -> None:
        """Put the patient's answer into the calendar, if there will be one."""
        chance = self.chance(patient)
        if asked.id is None or asked.arm is None or asked.told or asked.withdrawn:
            return
        if chance.random() < MISSING:
            if chance.random() < 0.3:
                self.trial.withdraw(asked.id, "the patient moved away", actor="clinic")
            return
        day = self.calendar.day + chance.randint(1, FOLLOW_UP_DAYS - 1)
        self.waiting.append((day, asked.id, int(chance.random() < DOSES[asked.arm])))

    def answers_today(self) -> None:
        """Report the outcomes that come in today."""
        for day, assignment, outcome in self.waiting:
            if day <= self.calendar.day:
                self.trial.tell(assignment, outcome, actor="clinic")
        self.waiting = [one for one in self.waiting if one[0] > self.calendar.day]

    def take_over(self) -> None:
        """Begin where another clerk left off: asking again gives the same assignments."""
        while self.patients < sum(self.trial.view().assigned):
            self.patients += 1
            patient = f"patient {self.patients}"
            self.expect(patient, self.trial.ask(patient))


def run_demo(folder: str | Path, say: Say, seed: int = 7, crash: bool = True) -> Demo:
    """Plan, run, crash, recover, stop, report. `say` gets a line for each thing worth seeing."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    store = place / "trial.db"
    for leftover in place.glob("trial.db*"):
        leftover.unlink()
    planned = look_ahead(say)
    Trial.create(
        store,
        name=NAME,
        arms=list(DOSES),
        epsilon=EPSILON,
        delta=DELTA,
        outcomes="binary",
        follow_up=f"{FOLLOW_UP_DAYS}d",
        withdrawal="impute:0",
        clock=Calendar(),
    ).close()
    say(f"Trial created in {store}; outcomes are due after {FOLLOW_UP_DAYS} days, missing ones count as failures.")
    calendar, known = crash_in_the_middle(store, seed, say) if crash else (Calendar(), {})
    trial = Trial.open(store, name=NAME, clock=calendar)
    recovered = trial.verify().ok and all(trial.ask(who).id == assignment for who, assignment in known.items())
    if crash:
        say(f"Reopened: the {len(known)} acknowledged patients are as they were, and the log verifies: {recovered}.")
    clinic = Clinic(trial, calendar, seed)
    clinic.take_over()
    run_to_the_end(clinic, say)
    return conclude(trial, calendar, planned, recovered, place, say)


def look_ahead(say: Say) -> Planned:
    """What to expect, by simulation and by theory, if the doses did what is hoped."""
    from bestarm.simulation import simulate
    from bestarm.theory import bounds

    means = [rate * (1 - MISSING) for rate in DOSES.values()]
    epsilon, delta = float(EPSILON), float(DELTA)
    ours = simulate("evidence", means=means, epsilon=epsilon, delta=delta, runs=200, seed=1).summary()
    paper = simulate("adap-tt", means=means, epsilon=epsilon, delta=delta, runs=50, seed=1, max_samples=10**7).summary()
    bound = bounds(means, epsilon, delta).lower_bound_refined
    say(
        f"Planned: about {ours.mean_samples:,.0f} patients on average ({ours.p90_samples:,.0f} in nine trials of ten); "
        f"no method can do with fewer than {bound:,.0f}; the paper's algorithm needs about {paper.mean_samples:,.0f}."
    )
    return Planned(ours.mean_samples, ours.p90_samples, bound, paper.mean_samples)


def crash_in_the_middle(store: Path, seed: int, say: Say) -> tuple[Calendar, dict[str, str]]:
    """Run the clinic in another process and kill it when enough patients are in; the date, and who was acknowledged."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(str(store), seed, theirs), daemon=True)
    process.start()
    theirs.close()
    calendar, known = Calendar(), dict[str, str]()
    while len(known) < CRASH_AFTER:
        calendar.day, made = ours.recv()
        known |= made
        if made:
            say(f"Day {calendar.day}: {len(known)} patients enrolled.")
        ours.send("go on")
    time.sleep(0.02)
    process.kill()
    process.join()
    ours.close()
    say("The clinic's process is killed (SIGKILL), in the middle of its work.")
    return calendar, known


def work(store: str, seed: int, connection: Connection) -> None:
    """The clinic that will be killed: reports and enrols day by day, and says who was acknowledged."""
    calendar = Calendar()
    clinic = Clinic(Trial.open(store, name=NAME, clock=calendar), calendar, seed)
    while clinic.trial.verdict is None:
        clinic.answers_today()
        connection.send((calendar.day, clinic.enrol_today()))
        connection.recv()
        calendar.day += 1


def run_to_the_end(clinic: Clinic, say: Say) -> None:
    """Day by day until the trial stops."""
    said = len(clinic.trial.view().releases)
    while clinic.calendar.day < LONGEST and clinic.trial.verdict is None:
        clinic.enrol_today()
        clinic.answers_today()
        clinic.calendar.day += 1
        view = clinic.trial.view()
        if len(view.releases) > said:
            said = len(view.releases)
            say(f"Day {clinic.calendar.day}: {sum(view.assigned)} patients, {said} releases. {view.explanation}")


def conclude(trial: Trial, calendar: Calendar, planned: Planned, recovered: bool, place: Path, say: Say) -> Demo:
    """Verify, report, draw."""
    verdict = trial.verdict
    if verdict is None:
        raise OperationError(f"The demonstration did not stop within {LONGEST} days.")
    checked = trial.verify()
    say(f"The log of {checked.events} events verifies: {checked.ok}.")
    report = trial.report(place)["html"]
    view, ledger = trial.view(), trial.ledger()
    people = sum(view.assigned)
    figure = place / "demo.png"
    draw(trial, planned, people, figure)
    trial.close()
    return Demo(
        recommended=verdict.arm,
        reason=verdict.reason,
        participants=people,
        days=calendar.day,
        planned=planned,
        releases=len(view.releases),
        epsilon_spent=ledger["epsilon_spent"],
        recovered=recovered,
        verified=checked.ok,
        ledger={key: ledger[key] for key in ("promised", "why", "assumptions")},
        store=str(place / "trial.db"),
        report=report,
        figure=str(figure),
    )


def draw(trial: Trial, planned: Planned, people: int, path: Path) -> None:
    """A figure: what the trial found, and how many patients it took next to the bound and the paper's algorithm."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    found = [e for e in trial.view().estimates if e.mean is not None and e.low is not None and e.high is not None]
    labels = [trial.design.arms[e.arm] for e in found]
    means, lows, highs = ([float(getattr(e, key) or 0) for e in found] for key in ("mean", "low", "high"))
    left.hlines(range(len(found)), lows, highs, color="#0072B2", alpha=0.4, linewidth=5)
    left.plot(means, range(len(found)), "o", color="#0072B2", label="estimate and interval, from releases")
    truth = [DOSES[label] * (1 - MISSING) for label in labels]
    left.plot(
        truth, range(len(found)), "|", color="#D55E00", markersize=16, markeredgewidth=2, label="truth (simulated)"
    )
    left.set_yticks(range(len(found)), labels)
    left.invert_yaxis()
    left.set_xlim(0, 1)
    left.set_xlabel("response rate, missing counted as failure")
    left.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    names = ["lower bound\n(any method, average)", "this trial", "planned\n(average)", "paper's algorithm\n(average)"]
    counts = [planned.lower_bound, people, planned.expected, planned.paper]
    bars = right.bar(names, counts, color=["#999999", "#0072B2", "#56B4E9", "#CC79A7"])
    right.bar_label(bars, [f"{count:,.0f}" for count in counts])
    right.set_yscale("log")
    right.set_ylim(min(counts) / 3, max(counts) * 3)
    right.set_ylabel("patients")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    right.tick_params(axis="x", labelsize=8)
    figure.suptitle(
        f"Five doses, ε = {EPSILON}, δ = {DELTA}: recommended is {trial.verdict.arm if trial.verdict else '–'}"
    )
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=130, format="png")
