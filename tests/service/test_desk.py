"""A day at the desk: the phantom, the relabelled, the duplicate, the late correction, the overdue, what holds up."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from starlette.testclient import TestClient

from bestarm.trial.trial import Trial
from tests.service.conftest import Service
from tests.service.test_pages import send, words

DESK = "/trials/dose/desk"
DAY = 86400.0


def opened(service: Service, **design: Any) -> tuple[TestClient, Trial]:
    """A nurse's browser, and the trial behind it."""
    service.create(**({"algorithm": "uniform", "allocation": "fixed"} | design))
    found: Trial = service.app.state.trials.find("dose")
    return service.browser("operator"), found


def at_desk(browser: TestClient, what: str, **fields: str) -> Any:
    return send(browser, f"{DESK}/{what}", DESK, **fields)


def people(trial: Trial) -> int:
    return sum(trial.status()["assigned"].values())


def test_the_phantom_is_not_enrolled_by_a_slip(service: Service) -> None:
    nurse, trial = opened(service)
    at_desk(nurse, "assign", subject="P-001")
    asked = at_desk(nurse, "find", who="P-0O1")
    assert "New participant P-0O1?" in words(asked)
    assert "Is it one of these? p-001" in words(asked)
    assert "Nobody has been enrolled yet" in words(asked)
    assert people(trial) == 1
    known = words(at_desk(nurse, "find", who=" p-001"))
    assert "p-001 is in the trial and has 5 mg" in known
    assert "Outcome awaited" in known
    new = words(at_desk(nurse, "find", who="p-002"))
    assert "Is it one of these?" not in new, "the next number of a series is no slip"
    assert "with another number: p-001" in new
    assert people(trial) == 1


@pytest.mark.parametrize("who", ["", " ", "NaN", "none", "a\u200bb", "x" * 300])
def test_what_is_no_code_is_said_on_the_page(service: Service, who: str) -> None:
    nurse, trial = opened(service)
    for what, field in (("find", "who"), ("assign", "subject")):
        answer = at_desk(nurse, what, **{field: who})
        assert answer.status_code == 422
        assert "code" in words(answer)
    assert people(trial) == 0


def test_near_codes_are_for_staff_alone(service: Service) -> None:
    opened(service)
    viewer = service.browser("viewer")
    assert send(viewer, f"{DESK}/find", who="p-1").status_code == 403
    assert service.call("POST", "/trials/dose/look-up", service.token("viewer"), {"subject": "p"}).status_code == 403


def test_the_relabelled_on_the_page(service: Service) -> None:
    nurse, trial = opened(service)
    at_desk(nurse, "assign", subject="P-0O1")
    held = trial.look_up("p-0o1")[0]
    done = words(at_desk(nurse, "relabel", assignment=held.id, subject="P-001", reason="letter for digit"))
    assert "The code is put right" in done
    assert held.arm in done
    assert trial.look_up("p-001")[0].id == held.id
    assert "A code was mistyped and put right once" in words(nurse.get("/trials/dose"))
    refused = at_desk(nurse, "relabel", assignment=held.id, subject="p-7", reason="")
    assert refused.status_code == 422
    assert "needs a reason" in words(refused)
    assert held.id in refused.text, "the person stays on the page"


def test_the_duplicate_on_the_page(service: Service) -> None:
    nurse, trial = opened(service)
    at_desk(nurse, "assign", subject="P-001")
    at_desk(nurse, "assign", subject="P-0O1")
    first, twice = trial.look_up("p-001")[0], trial.look_up("p-0o1")[0]
    done = words(at_desk(nurse, "void", assignment=twice.id, duplicate_of="p-001", reason="entered twice"))
    assert "The second entry is void" in done
    assert first.id in done
    shown = words(at_desk(nurse, "find", who=twice.id))
    assert "Void : this was a second entry" in shown
    assert "Record the outcome" not in shown
    assert "has left the trial" in words(at_desk(nurse, "review", assignment=twice.id, outcome="1"))
    assert twice.id not in {one.id for one in trial.open_assignments()}


def test_a_correction_the_next_day_from_the_look_up(service: Service) -> None:
    nurse, trial = opened(service, algorithm="dp-se", allocation="random")
    at_desk(nurse, "assign", subject="p-1")
    held = trial.look_up("p-1")[0]
    at_desk(nurse, "record", assignment=held.id, outcome="1")
    trial._clock = lambda: time.time() + DAY
    shown = words(at_desk(nurse, "find", who="p-1"))
    assert "Outcome recorded" in shown
    assert "Correct the outcome" in shown
    done = words(at_desk(nurse, "correct", assignment=held.id, outcome="0", reason="read the wrong line"))
    assert "Corrected" in done
    left = words(at_desk(nurse, "withdraw", assignment=held.id, reason="consent withdrawn"))
    assert "has left the trial" in left
    assert "p-1 had" in words(at_desk(nurse, "find", who="p-1"))
    assert trial.verify().ok


def test_after_the_release_a_correction_is_not_offered(service: Service) -> None:
    nurse, trial = opened(service)
    for subject in ("p-1", "p-2"):
        at_desk(nurse, "assign", subject=subject)
        at_desk(nurse, "record", assignment=trial.look_up(subject)[0].id, outcome="1")
    assert trial.status()["releases"]
    shown = words(at_desk(nurse, "find", who="p-1"))
    assert "cannot be corrected any more" in shown
    assert "What happened The right code" not in shown


def test_the_overdue_person_is_named_and_dropped_with_the_release(service: Service) -> None:
    nurse, trial = opened(service, algorithm="dp-se", allocation="random", follow_up="7d")
    trial._clock = time.time
    at_desk(nurse, "assign", subject="p-1")
    now = time.time()
    trial._clock = lambda: now + 5 * DAY
    at_desk(nurse, "assign", subject="p-2")
    trial._clock = lambda: now + 8 * DAY
    page = words(nurse.get(DESK))
    assert "1 overdue" in page
    assert page.index("Overdue") < page.index(trial.look_up("p-2")[0].id)
    late = at_desk(nurse, "record", assignment=trial.look_up("p-1")[0].id, outcome="1")
    assert "too late to count" in words(late)
    assert "1 overdue" not in words(nurse.get(DESK))
    assert trial.staff_status().overdue == ()


def test_what_holds_a_release_up_is_for_staff(service: Service) -> None:
    nurse, trial = opened(service)
    for subject in ("p-1", "p-2", "p-3"):
        at_desk(nurse, "assign", subject=subject)
    now = time.time()
    trial._clock = lambda: now + 9.5 * DAY
    held = trial.look_up("p-1")[0]
    page = words(nurse.get(DESK))
    assert "What holds the next release up" in page
    assert "An outcome of stage 1 is missing since 9 days" in page
    assert held.id in page
    assert "Holds a release up" in page
    for reader in (nurse, service.browser("viewer")):
        public = words(reader.get("/trials/dose"))
        assert "holds" not in public
        assert held.id not in public
    staff = service.call("GET", "/trials/dose/staff", service.token("operator")).json()
    assert staff["hold_up"]["assignments"] == [held.id]
    assert service.call("GET", "/trials/dose/staff", service.token("viewer")).status_code == 403
    at_desk(nurse, "record", assignment=held.id, outcome="1")
    assert held.id not in words(nurse.get(DESK))


def test_the_awaited_list_is_paged_and_searched(service: Service) -> None:
    nurse, trial = opened(service, algorithm="dp-se", allocation="random")
    trial.ask_many([f"p-{number}" for number in range(45)])
    assert len(re.findall(r"aria-label=\"Record the outcome", nurse.get(DESK).text)) == 20
    last = at_desk(nurse, "awaited", page="3")
    assert "Page 3 of 3" in words(last)
    assert len(re.findall(r"aria-label=\"Record the outcome", last.text)) == 5
    found = at_desk(nurse, "awaited", search=" P-17 ")
    held = trial.look_up("p-17")[0]
    assert re.findall(r"Record the outcome of assignment (\S+)\"", found.text) == [held.id]
    assert "that fits this" in words(at_desk(nurse, "awaited", search="nobody"))
    assert at_desk(nurse, "awaited", page="x", search="\u200b").status_code == 200


def test_a_mistyped_participant_is_refused_before_the_review(service: Service) -> None:
    nurse, trial = opened(service)
    at_desk(nurse, "assign", subject="p-1")
    held = trial.look_up("p-1")[0]
    for wrong in ("9-0000", "p-9", held.id[:-1] + ("0" if held.id[-1] != "0" else "1")):
        refused = at_desk(nurse, "review", assignment=wrong, outcome="1")
        assert refused.status_code == 422
        assert "Nobody in this trial has this code or assignment" in words(refused)
        assert "Is this right?" not in words(refused)
    review = words(at_desk(nurse, "review", assignment="P-1", outcome="1"))
    assert "Outcome success (1)" in review
    assert held.id in review


@pytest.mark.parametrize(("typed", "shown"), [("3,5", "3.5"), (" 3.5 ", "3.5"), ("0,125", "0.125"), ("7", "7")])
def test_a_decimal_comma_is_understood(service: Service, typed: str, shown: str) -> None:
    nurse, _ = opened(service, outcomes="unit", high=10, what="pain after 30 minutes", lower_is_better=True)
    at_desk(nurse, "assign", subject="p-1")
    review = words(at_desk(nurse, "review", assignment="p-1", outcome=typed))
    assert f"Outcome {shown} from 0 to 10; less is better" in review
    assert "pain after 30 minutes" in review


def test_a_comma_that_may_mean_two_things_is_explained(service: Service) -> None:
    nurse, _ = opened(service, outcomes="unit", high=5000)
    at_desk(nurse, "assign", subject="p-1")
    refused = at_desk(nurse, "review", assignment="p-1", outcome="1,000")
    assert refused.status_code == 422
    assert "write 3.5" in words(refused)


def test_the_stopped_desk_cannot_be_mistaken_for_an_assignment(service: Service) -> None:
    nurse, trial = opened(service)
    at_desk(nurse, "assign", subject="p-1")
    trial.end("recalled")
    page = nurse.get(DESK)
    assert "nobody is assigned any more" in words(page)
    assert 'class="arm"' not in page.text
    asked = at_desk(nurse, "find", who="p-2")
    assert "Enrol p-2" not in words(asked)
    assert 'class="arm"' not in at_desk(nurse, "assign", subject="p-2").text
    assert "p-1 is in the trial and has" in words(at_desk(nurse, "find", who="p-1"))


def test_a_trial_that_enrolled_nobody_can_be_deleted(service: Service) -> None:
    opened(service)
    admin = service.browser("admin")
    assert "Delete the trial" in words(admin.get(DESK))
    made = send(admin, "/trials/dose/manage", DESK, what="delete")
    assert made.headers["location"] == "/?deleted=yes"
    assert admin.get("/trials/dose").status_code == 404
    service.create()
    service.app.state.trials.find("dose").ask("p-1")
    assert "Delete the trial" not in words(admin.get(DESK))
    refused = send(admin, "/trials/dose/manage", DESK, what="delete")
    assert "has enrolled people" in words(refused)
    assert service.call("DELETE", "/trials/dose", service.token("admin")).status_code == 422
