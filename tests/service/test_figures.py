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
