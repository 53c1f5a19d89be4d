"""The pages: sessions, forms that only our own pages can send, the content security policy, and each page's states."""

from __future__ import annotations

import re
import time
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from bestarm.planning import Question
from bestarm.service.middleware import POLICY
from tests.service.conftest import DESIGN, Service

PAGES = ("/", "/plan", "/new-trial", "/access", "/trials/dose", "/trials/dose/desk", "/sign-in", "/nowhere")


def mark_of(page: str) -> str:
    """The mark that the forms of a page carry."""
    found = re.search(r'name="csrf" value="(\w+)"', page)
    assert found is not None
    return found[1]


def send(browser: TestClient, path: str, referer: str = "/", **fields: str) -> Any:
    """A form, as a page of ours would send it."""
    csrf = mark_of(browser.get(referer).text)
    return browser.post(path, data={"csrf": csrf} | fields)


def words(answer: Any) -> str:
    """What a page says."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


@pytest.mark.parametrize("path", PAGES)
def test_every_page_has_a_strict_policy_and_keeps_to_it(service: Service, path: str) -> None:
    service.create()
    answer = service.browser("admin").get(path)
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert " style=" not in answer.text
    assert not re.search(r"<script(?![^>]*\bsrc=\"/static/)", answer.text)
    assert not re.search(r"\son\w+=", answer.text)
    assert not re.search(r"(src|href|action)=\"(https?:)?//", answer.text)


def test_pages_need_a_session(service: Service) -> None:
    service.create()
    for path in PAGES[:-2]:
        answer = service.http.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/sign-in")
    assert service.http.get("/trials/dose/live", headers={"HX-Request": "true"}).headers["hx-redirect"] == "/sign-in"
    token = service.token("admin")
    assert service.http.get("/", headers={"Authorization": f"Bearer {token}"}).status_code == 303


def test_the_session_cookie_is_kept_from_scripts_and_other_sites(service: Service) -> None:
    answer = service.http.post("/sign-in", data={"secret": service.token("viewer"), "next": "/plan"})
    assert answer.headers["location"] == "/plan"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "secure" not in cookie
    encrypted = TestClient(service.app, base_url="https://testserver", follow_redirects=False)
    answer = encrypted.post("/sign-in", data={"secret": service.token("viewer")})
    assert "secure" in answer.headers["set-cookie"].lower()


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:x"])
def test_signing_in_leads_nowhere_else(service: Service, target: str) -> None:
    answer = service.http.post("/sign-in", data={"secret": service.token("admin"), "next": target})
    assert answer.headers["location"] == "/"


def test_signing_out_ends_the_session_itself(service: Service) -> None:
    browser = service.browser("admin")
    cookie = browser.cookies["bestarm_session"]
    assert send(browser, "/sign-out").status_code == 303
    browser.cookies.set("bestarm_session", cookie)
    assert browser.get("/").status_code == 303


def test_forms_from_elsewhere_are_refused(service: Service) -> None:
    service.create()
    browser = service.browser("admin")
    good = mark_of(browser.get("/").text)
    others = mark_of(service.browser("admin").get("/").text)
    fields = {"role": "admin", "label": "intruder", "trial": ""}
    for csrf in ({}, {"csrf": ""}, {"csrf": "0" * 64}, {"csrf": others}, {"csrf": "ü"}):
        assert browser.post("/access/tokens", data=fields | csrf).status_code == 403
    for header in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        assert browser.post("/access/tokens", data=fields | {"csrf": good}, headers=header).status_code == 403
        refused = service.http.post("/sign-in", data={"secret": service.token("viewer")}, headers=header)
        assert refused.status_code == 403
    assert all(grant.label != "intruder" for grant in service.access.grants())
    own = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}
    assert browser.post("/access/tokens", data=fields | {"csrf": good}, headers=own).status_code == 200


def test_every_form_that_changes_something_checks_where_it_comes_from(service: Service) -> None:
    service.create()
    browser = service.browser("admin")
    paths = [
        "/new-trial",
        "/new-trial/create",
        "/access/tokens",
        "/access/views",
        "/access/end",
        "/access/links",
        "/access/webhooks",
        "/access/webhooks/end",
        "/sign-out",
        "/trials/dose/manage",
    ]
    paths += [
        f"/trials/dose/desk/{what}"
        for what in ("find", "assign", "review", "record", "correct", "withdraw", "relabel", "void", "awaited")
    ]
    for path in paths:
        assert browser.post(path, data={}).status_code == 403, path
        assert service.http.post(path, data={}).status_code == 303, path


def test_pages_by_role(service: Service) -> None:
    service.create()
    service.create("other")
    viewer, operator = service.browser("viewer"), service.browser("operator", "dose")
    assert viewer.get("/trials/dose").status_code == 200
    for path in ("/trials/dose/desk", "/access", "/new-trial"):
        assert viewer.get(path).status_code == 403
    assert operator.get("/trials/dose/desk").status_code == 200
    assert "Manage the trial" not in operator.get("/trials/dose/desk").text
    assert operator.get("/trials/other").status_code == operator.get("/trials/none").status_code == 404
    assert "other" not in words(operator.get("/"))
    refused = send(operator, "/trials/dose/manage", "/trials/dose/desk", what="end", reason="x")
    assert refused.status_code == 403
    refused = send(viewer, "/trials/dose/desk/assign", subject="p-1")
    assert refused.status_code == 403


def test_creating_a_trial_and_what_is_wrong_with_it(service: Service) -> None:
    browser = service.browser("admin")
    assert "No trial yet" in words(browser.get("/"))
    carried = browser.get("/new-trial?arms=a%0Ab&epsilon=0.5&delta=0.1&algorithm=adap-tt").text
    assert 'value="0.5"' in carried
    fields = {"name": "first", "arms": "a\nb, c", "epsilon": "0.5", "delta": "0.1", "algorithm": "adap-tt"}
    wrong = send(browser, "/new-trial", **fields | {"delta": "7"})
    assert wrong.status_code == 422
    assert "between 0 and 1" in words(wrong)
    assert 'value="first"' in wrong.text
    assert "whole number" in words(send(browser, "/new-trial", **fields | {"cap": "yes", "max_participants": "many"}))
    chosen = fields | {"after": "2", "unit": "w", "cap": "yes", "max_participants": "100", "missing": "value"}
    chosen |= {"imputed": "1", "what": "pain gone after 30 minutes"}
    read = send(browser, "/new-trial", **chosen)
    for said in (
        "Three arms are compared: a, b and c.",
        "An outcome is one of two: pain gone after 30 minutes. 1 is a success, 0 is none.",
        "in at most 10 of 100 such trials",
        "at most 1.65 times likelier",
        "An outcome is due 14 days after enrolment. Whoever has none by then, or drops out, counts as 1.",
        "At most 100 participants are enrolled",
        "Nothing has been created yet",
    ):
        assert said in words(read)
    assert service.app.state.trials.names() == []
    assert 'value="2"' in send(browser, "/new-trial", **chosen | {"change": "1"}).text
    kept = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', read.text))
    made = send(
        browser, "/new-trial/create", **{name: unescape(value) for name, value in kept.items() if name != "csrf"}
    )
    assert made.headers["location"] == "/trials/first?created=yes"
    design = service.app.state.trials.find("first").design
    assert design.arms == ("a", "b", "c")
    assert design.follow_up == 14 * 86400
    assert design.max_participants == 100
    assert design.withdrawal == "impute:1"
    assert "already a trial" in words(send(browser, "/new-trial", **fields))
    assert "already a trial" in words(send(browser, "/new-trial/create", **fields))


def test_a_hard_end_is_read_back(service: Service) -> None:
    browser = service.browser("admin")
    assert 'name="end_by"' in browser.get("/new-trial").text
    fields = {"name": "first", "arms": "a\nb", "epsilon": "2", "delta": "0.1", "difference": "0.2", "cap": "end"}
    assert "takes at least" in words(send(browser, "/new-trial", **fields | {"end_by": "9"}))
    assert "whole number" in words(send(browser, "/new-trial", **fields | {"end_by": "x"}))
    assert "smallest difference" in words(send(browser, "/new-trial", **fields | {"difference": "0"}))
    read = send(browser, "/new-trial", **fields | {"difference": "0.05", "lowest": "0.03", "highest": "0.12"})
    assert "lies between 0.03 and 0.12" in words(read)
    assert "The trial always ends with a recommendation, after at most" in words(send(browser, "/new-trial", **fields))
    assert send(browser, "/new-trial/create", **fields).status_code == 303
    assert service.app.state.trials.find("first").design.hard_end is not None
    asked = {"name": "x", "arms": ["a", "b"], "epsilon": "2", "delta": "0.1", "difference": "0.2", "hard_end": True}
    answer = service.call("POST", "/trials", service.token("admin"), asked | {"outcomes": "binary"})
    assert answer.status_code == 201
    design = service.app.state.trials.find("x").design
    assert design.max_participants == design.hard_end.people
    status = service.call("GET", "/trials/x/status", service.token("viewer")).json()
    assert "always ends with a recommendation" in status["hard_end"]


def test_a_trial_without_a_follow_up_is_warned_about(service: Service) -> None:
    browser = service.browser("admin")
    assert 'name="after" inputmode="numeric" value="30"' in browser.get("/new-trial").text
    carried = browser.get("/new-trial?follow_up=12h&max_participants=500&difference=0.1&expected=420&enough=600").text
    assert "about 420 participants on average; 600 are enough" in carried
    assert 'value="12"' in carried
    assert 'value="500"' in carried
    fields = {"name": "first", "arms": "a\nb", "algorithm": "dp-se", "due": "whenever"}
    assert "holds up every later release" in words(send(browser, "/new-trial", **fields))
    assert "holds up" not in words(send(browser, "/new-trial", **fields | {"due": "after"}))
    read = {"name": "x", "dry_run": True} | DESIGN
    answer = service.call("POST", "/trials", service.token("admin"), read).json()
    assert any("holds up" in said for said in answer["cautions"])
    assert service.app.state.trials.names() == []


def test_the_desk_assigns_reviews_records_and_corrects(service: Service) -> None:
    service.create(algorithm="dp-se")
    browser = service.browser("operator")
    desk = "/trials/dose/desk"
    given = send(browser, f"{desk}/assign", desk, subject="p-1")
    found = re.search(r'Assignment <b class="id">(\S+)</b>', given.text)
    assert found is not None
    assignment = found[1]
    assert "p-1 gets" in words(given)
    assert send(browser, f"{desk}/assign", desk, subject="p-1").text.count(assignment) >= 2
    review = send(browser, f"{desk}/review", desk, assignment=assignment, outcome="1")
    assert "Nothing has been recorded yet" in words(review)
    assert len(service.app.state.trials.find("dose").open_assignments()) == 1
    change = send(browser, f"{desk}/record", desk, assignment=assignment, outcome="1", change="1")
    assert "Check and record" in words(change)
    assert len(service.app.state.trials.find("dose").open_assignments()) == 1
    done = send(browser, f"{desk}/record", desk, assignment=assignment, outcome="1")
    assert "Recorded for assignment" in words(done)
    assert "No outcome is awaited" in words(done)
    again = send(browser, f"{desk}/record", desk, assignment=assignment, outcome="1")
    assert "Already recorded" in words(again)
    other = send(browser, f"{desk}/record", desk, assignment=assignment, outcome="0")
    assert "Another outcome is recorded for this participant already" in words(other)
    corrected = send(browser, f"{desk}/correct", desk, assignment=assignment, outcome="0", reason="slip")
    assert "Corrected" in words(corrected)
    assert "needs a reason" in words(send(browser, f"{desk}/correct", desk, assignment=assignment, outcome="0"))
    unknown = send(browser, f"{desk}/record", desk, assignment="7-0000", outcome="0")
    assert unknown.status_code == 422
    assert "no assignment" in words(unknown)
    send(browser, f"{desk}/assign", desk, subject="p-2")
    waiting = service.app.state.trials.find("dose").open_assignments()[0].id
    assert "has left the trial" in words(send(browser, f"{desk}/withdraw", desk, assignment=waiting))
    left = words(send(browser, f"{desk}/find", desk, who="p-2"))
    assert "p-2 had" in left
    assert "this participant dropped out" in left
    assert "Write the assignment down" not in left


def test_states_of_a_trial_are_told_apart(service: Service) -> None:
    service.create()
    browser = service.browser("admin")
    page = "/trials/dose"
    fresh = words(browser.get(page))
    assert "Recruiting now" in fresh
    assert "No total has been released yet" in fresh
    assert "Waiting for outcomes" not in fresh
    send(browser, f"{page}/desk/assign", f"{page}/desk", subject="a")
    send(browser, f"{page}/desk/assign", f"{page}/desk", subject="b")
    send(browser, f"{page}/manage", f"{page}/desk", what="pause", reason="stock")
    assert "Paused" in words(browser.get(page))
    assert "is paused" in words(send(browser, f"{page}/desk/assign", f"{page}/desk", subject="c"))
    assert "cannot be paused" in words(send(browser, f"{page}/manage", f"{page}/desk", what="pause"))
    send(browser, f"{page}/manage", f"{page}/desk", what="resume")
    send(browser, f"{page}/manage", f"{page}/desk", what="end", reason="the drug was withdrawn")
    ended = words(browser.get(page))
    assert "Ended without a recommendation" in ended
    assert "the drug was withdrawn" in ended
    assert "The trial has stopped" in words(browser.get(f"{page}/desk"))


def test_a_trial_that_waits(service: Service) -> None:
    service.create(max_participants=2)
    browser = service.browser("operator")
    for subject in ("a", "b"):
        send(browser, "/trials/dose/desk/assign", "/trials/dose/desk", subject=subject)
    assert "Waiting for outcomes" in words(browser.get("/trials/dose"))
    refused = send(browser, "/trials/dose/desk/assign", "/trials/dose/desk", subject="c")
    assert refused.status_code == 409
    assert "All 2 participants are enrolled" in words(refused)


def test_the_view_link_shows_the_public_view_and_nothing_else(service: Service) -> None:
    service.create()
    service.create("other")
    browser = service.browser("admin")
    made = send(browser, "/access/views", "/access", trial="dose", label="board")
    found = re.search(r'value="(http://testserver/view/bav_\S+)"', made.text)
    assert found is not None
    link = found[1]
    stranger = TestClient(service.app, follow_redirects=False)
    page = stranger.get(link)
    assert page.status_code == 200
    assert "Public view of a trial" in words(page)
    assert "Desk" not in words(page)
    assert stranger.get(f"{link}/report").headers["content-disposition"] == 'attachment; filename="dose-report.html"'
    assert stranger.get(f"{link}/report.json").json()["status"]["trial"] == "dose"
    assert stranger.get("/trials/dose").status_code == 303
    assert stranger.get("/view/bav_" + "x" * 43).status_code == 404
    assert link.rsplit("/", 1)[1] not in browser.get("/access").text
    grant = next(g for g in service.access.grants() if g.kind == "view")
    send(browser, "/access/end", "/access", id=str(grant.id))
    assert stranger.get(link).status_code == 404


def test_live_updates_come_only_when_something_public_changed(service: Service) -> None:
    service.create(algorithm="dp-se")
    browser = service.browser("operator")
    seen = re.search(r'hx-get="(/trials/dose/live\?mark=\w+)"', browser.get("/trials/dose").text)
    assert seen is not None
    assert browser.get(seen[1]).status_code == 204
    send(browser, "/trials/dose/desk/assign", "/trials/dose/desk", subject="a")
    changed = browser.get(seen[1])
    assert changed.status_code == 200
    assert "The trial is recruiting, with 0 releases." in words(changed)
    now = re.search(r"mark=(\w+)", changed.text)
    assert now is not None
    waiting = service.app.state.trials.find("dose").open_assignments()[0].id
    send(browser, "/trials/dose/desk/record", "/trials/dose/desk", assignment=waiting, outcome="1")
    told = browser.get(f"/trials/dose/live?mark={now[1]}")
    assert told.status_code == 204, "an outcome that no release shows does not move the page"


def test_the_plan_page_computes_then_shows(service: Service) -> None:
    browser = service.browser("admin")
    question = "arms=a%0Ab&gap=0.2&delta=0.1&algorithm=dp-se"
    for _ in range(100):
        page = browser.get(f"/plan/result?{question}&step=10")
        if "participants on average" in words(page):
            break
        assert "Simulating trials" in words(page)
        time.sleep(0.01)
    assert "at ε = 0.1" in words(page)
    assert "1,000" in words(page)
    assert "/new-trial?arms=a%0Ab&amp;epsilon=0.1&amp;delta=0.1" in page.text
    assert "200" in words(browser.get(f"/plan/result?{question}&step=17"))
    wrong = browser.get("/plan/result?arms=a&gap=0.2&delta=0.1&algorithm=dp-se")
    assert "at least two" in words(wrong)
    assert "has to be a number" in words(browser.get("/plan/result?arms=a%0Ab&gap=much&algorithm=dp-se"))
    assert "Create this trial" not in words(service.browser("viewer").get(f"/plan?{question}"))


def test_the_plan_page_asks_first_what_matters(service: Service) -> None:
    browser = service.browser("admin")
    assert "The smallest difference that matters" in words(browser.get("/plan"))
    question = "arms=a%0Ab&difference=0.1&base=0.3&delta=0.1&enrol=5&follow_up=28d&algorithm=evidence&step=20"
    for _ in range(100):
        page = browser.get(f"/plan/result?{question}")
        if "participants on average" in words(page):
            break
        time.sleep(0.01)
    assert "within 0.1 of the best, except with probability" in words(page)
    assert "takes the fixed design with the same promise" in words(page)
    assert "30 days on average; 45 are enough in 9 of 10 trials" in words(page)
    assert "no method can do with fewer" not in words(page)
    assert "difference=0.1&amp;follow_up=28d" in page.text
    assert "needs the number" in words(browser.get("/plan"))
    assert "--enrol" in words(browser.get("/plan/result?arms=a%0Ab&follow_up=28d"))


def test_the_plan_page_plans_a_hard_end_and_carries_it_over(service: Service) -> None:
    """At every epsilon the hard end that the design would have there; the form for the trial is filled in with it."""
    browser = service.browser("admin")
    assert 'name="cap" value="end"' in browser.get("/plan").text
    question = "arms=a%0Ab&difference=0.05&base=0.05&delta=0.1&algorithm=evidence&cap=end&lowest=0.03&highest=0.12"
    shown = []
    for step, epsilon in ((20, 1.0), (30, 10.0)):
        for _ in range(100):
            page = browser.get(f"/plan/result?{question}&step={step}")
            if "participants on average" in words(page):
                break
            time.sleep(0.01)
        asked: dict[str, Any] = {"arms": 2, "difference": 0.05, "base": 0.05, "delta": 0.1, "epsilon": epsilon}
        ending = Question.ask(**asked, hard_end=True, rates=("0.03", "0.12")).design.hard_end
        assert ending is not None
        shown.append(ending.people)
        assert f"{ending.people:,} is the hard end: by then every trial has ended" in words(page)
        assert "lies between 0.03 and 0.12" in words(page)
    assert shown[0] != shown[1]
    carried = unescape(re.findall(r'href="(/new-trial[^"]*)"', page.text)[0])
    form = browser.get(carried).text
    assert re.search(r'value="end" checked', form)
    assert 'name="lowest" inputmode="decimal" value="0.03"' in form
    for unsaid, sentence in {
        "difference=&gap=0.1&cap=end": "A hard end needs the smallest difference that matters: say it above.",
        "difference=": "Say the smallest difference that matters, or the gap that you hope for.",
    }.items():
        assert sentence in words(browser.get(f"/plan/result?arms=a%0Ab&{unsaid}"))
    assert "has to be a decimal number" in words(browser.get(f"/plan/result?{question}".replace("0.12", "x")))
    without = words(browser.get(f"/plan/result?{question}&step=20".replace("cap=end", "cap=")))
    assert "hard end" not in without


def test_names_and_labels_are_never_markup(service: Service) -> None:
    nasty = '<script>alert("x")</script>'
    service.create(nasty.replace("/", "|"), arms=[nasty, "b"])
    browser = service.browser("admin")
    made = send(browser, "/access/tokens", "/access", label=nasty, role="viewer", trial="")
    for page in (made, browser.get("/"), browser.get(f"/trials/{nasty.replace('/', '|')}")):
        assert page.status_code == 200
        assert "<script>alert" not in page.text


def test_a_trial_of_this_name_made_elsewhere_with_an_unknown_algorithm_is_listed(service: Service) -> None:
    service.create()
    store = service.app.state.trials.store
    with store.engine.connect() as connection:
        connection.exec_driver_sql("UPDATE trials SET design = replace(design, 'adap-tt', 'my-own')")
        connection.commit()
    service.app.state.trials._open.clear()
    assert "cannot be opened by this server" in words(service.browser("admin").get("/"))


def test_design_is_shown(service: Service) -> None:
    service.create(**DESIGN | {"follow_up": "30d"})
    page = words(service.browser("viewer").get("/trials/dose"))
    assert "follow up 30d" in page
    assert "released by the clock" in page


def test_a_comparison_with_control_from_plan_to_review(service: Service) -> None:
    """The plan page asks for control, carries it over, and the review reads both promises back."""
    browser = service.browser("admin")
    question = "arms=5mg%0Aplacebo&control=placebo&difference=0.2&base=0.3&delta=0.1&algorithm=evidence&step=20"
    for _ in range(100):
        page = browser.get(f"/plan/result?{question}")
        if "participants on average" in words(page):
            break
        time.sleep(0.01)
    assert "Is any arm better than placebo?" in words(page)
    assert "takes the fixed design with the same promise" in words(page)
    assert "regime" not in words(page)
    assert "&amp;control=placebo" in page.text
    assert "The control arm is" in words(browser.get(f"/plan/result?{question}".replace("l=placebo", "l=water")))
    fields = {"name": "c", "arms": "5mg\nplacebo", "control": "placebo", "difference": "-0.2", "delta_none": "0.2"}
    read = send(browser, "/new-trial", **fields)
    assert "5mg is compared with placebo, the control." in words(read)
    assert "With probability at most 0.2 the answer is none although one arm is at least as good" in words(read)
    assert "needs one other than 0" in words(send(browser, "/new-trial", **fields | {"difference": "0"}))
