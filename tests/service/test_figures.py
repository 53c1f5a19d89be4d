"""The pages and the report draw the same figures, in the same colours."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from bestarm.service.app import STATIC
from bestarm.trial import figures
from bestarm.trial.public import PublicView
from bestarm.trial.trial import Trial
from tests.service.conftest import Service


@pytest.fixture
def view(service: Service) -> PublicView:
    """A trial with releases and an arm whose label is markup."""
    service.create(arms=["5 mg", "<i>10 mg</i>"])
    trial: Trial = service.app.state.trials.find("dose")
    for person in range(40):
        trial.tell(str(trial.ask(f"p-{person}").id), person % 3 == 0)
    return trial.view()


def test_page_and_report_hold_the_very_same_figures(service: Service, view: PublicView) -> None:
    page = service.browser("viewer").get("/trials/dose").text
    report = service.call("GET", "/trials/dose/report.html", service.token("viewer")).text
    for draw in (figures.estimates_figure, figures.evidence_figure, figures.timeline_figure):
        drawn = draw(view)
        assert "<svg" in drawn
        assert "<i>" not in drawn
        assert drawn in page
        assert drawn in report
    assert figures.STYLE in report
    assert service.http.get("/figures.css").text == figures.STYLE


def test_colours_are_given_in_one_place() -> None:
    style = (STATIC / "style.css").read_text()
    assert "--arm:" not in style
    given = set(re.findall(r"(--[\w-]+):", figures.STYLE))
    assert not given & set(re.findall(r"(--[\w-]+):", style))
    used = set(re.findall(r"var\((--[\w-]+)\)", style + figures.STYLE))
    assert used <= given | set(re.findall(r"(--[\w-]+):", style))


def test_a_long_trial_is_not_drawn_in_full_and_says_so(view: PublicView) -> None:
    last = view.releases[-1]
    long: Any = replace(view, releases=[replace(last, stage=n) for n in range(1, figures.MOST_SHOWN + 8)])
    drawn = figures.timeline_figure(long)
    assert drawn.count("<circle") == figures.MOST_SHOWN
    assert "stage 8:" in drawn
    assert "stage 7:" not in drawn
    assert "first 7 are not drawn" in figures.timeline_said(long)
    assert "not drawn" not in figures.timeline_said(view)


def test_what_lies_outside_stands_hollow_at_the_edge(view: PublicView) -> None:
    last = replace(view.releases[-1], value=100.0 * view.releases[-1].sizes[0])
    drawn = figures.timeline_figure(replace(view, releases=[last]))
    assert re.search(r'cy="0\.00%".*class="dot arm-\d hollow"', drawn)
    assert "past the end of the scale" in figures.estimates_said(
        replace(view, estimates=[replace(view.estimates[0], mean=1.5)])
    )


def test_a_difference_has_no_mark_of_its_own(view: PublicView) -> None:
    difference = replace(view.releases[-1], kind="difference", arms=(0, 1), sizes=(5, 6))
    assert figures.timeline_figure(replace(view, releases=[*view.releases, difference])) == figures.timeline_figure(
        view
    )
    assert figures.timeline_figure(replace(view, releases=[difference])) == ""


def test_nothing_is_drawn_before_the_first_release(view: PublicView) -> None:
    unknown = [replace(estimate, mean=None, low=None, high=None) for estimate in view.estimates]
    empty = replace(view, releases=[], estimates=unknown, standings=[])
    assert figures.estimates_figure(empty) == figures.evidence_figure(empty) == figures.timeline_figure(empty) == ""


def test_an_estimate_past_the_end_of_the_scale_is_shown_at_that_end(view: PublicView) -> None:
    low = figures.estimates_figure(replace(view, estimates=[replace(view.estimates[0], mean=-0.2), view.estimates[1]]))
    assert "at most 0" in low
    assert "-0.2" not in low
    high = figures.estimates_figure(replace(view, estimates=[replace(view.estimates[0], mean=1.5), view.estimates[1]]))
    assert "at least 1" in high


def test_overlapping_bands_are_explained(view: PublicView) -> None:
    apart = [replace(e, low=0.4 * e.arm, high=0.4 * e.arm + 0.3) for e in view.estimates]
    assert "although one arm is shown to be better" not in figures.estimates_said(replace(view, estimates=apart))
    close = [replace(e, low=0.2 * e.arm, high=0.2 * e.arm + 0.3) for e in view.estimates]
    assert "although one arm is shown to be better" in figures.estimates_said(replace(view, estimates=close))


def test_evidence_is_a_share_and_its_nats_are_a_tooltip(view: PublicView) -> None:
    drawn = figures.evidence_figure(view)
    assert re.search(r'<span title="[^"]+ of [^"]+ nats">\d+ %</span>', drawn)
    assert "nats" not in re.sub(r'title="[^"]*"|aria-label="[^"]*"|<title>.*?</title>', "", drawn)


def test_the_next_arm_is_never_named(service: Service, view: PublicView) -> None:
    alone = replace(view, recruiting={1: 1.0}, state="recruiting")
    assert "recruiting" not in figures.estimates_figure(alone)
    assert "recruiting" in figures.estimates_figure(replace(view, recruiting={0: 0.5, 1: 0.5}))
    trial: Trial = service.app.state.trials.find("dose")
    page = service.browser("viewer").get("/trials/dose").text
    assert len(trial.view().recruiting) == 1, "a batch of one arm is being filled"
    assert "next participant gets this arm" not in page
    assert 'class="answer"' not in page
