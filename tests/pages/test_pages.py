"""The pages against the real desk: what each role sees, what is asked through them, and that what comes in is text."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from duotone import prove
from duotone.desk import work
from duotone.desk.desk import Desk
from duotone.desk.workers import Queue
from duotone.http.app import open_desk, service
from duotone.http.tokens import Tokens
from duotone.tables.parts import question as by_parts
from duotone.tables.parts.isolation import Isolation
from support.offices import CALLS, PEOPLE, STAYS, VOTES, make_office
from support.pages import page_app

HOSTILE = "<b>\"x' &amp;"
ODD = f"""
[datasets.{json.dumps(HOSTILE)}]
source = "calls.parquet"
about = "<script>alert(1)</script> \\u202e and \\u0007"
version = "1"
rows = 1000
seconds = 0.05
budget = {{ epsilon = 1 }}
"""
MENU = {"mode": "menus", "what": "avg:age", "comparison": ">", "limit": "35", "epsilon": "0.5", "delta": "1e-6"}
SQL = {"mode": "sql", "question": "count(*) filter (where vote = 'Y') > 100", "epsilon": "0.5", "delta": "1e-6"}


class Browser:
    """Somebody who is logged in, whose forms carry what they must."""

    def __init__(self, app: object, token: str) -> None:
        self.client = TestClient(app, follow_redirects=False, base_url="http://testserver")  # type: ignore[arg-type]
        assert self.client.post("/login", data={"token": token}).headers["location"] == "/"
        found = re.search(r'name="csrf" value="([^"]+)"', self.get("/studio").text)
        assert found is not None
        self.csrf = found[1]

    def get(self, address: str) -> Any:
        return self.client.get(address)

    def post(self, address: str, data: dict[str, str] | None = None, *, part: bool = False) -> Any:
        headers = {"HX-Request": "true"} if part else {}
        return self.client.post(address, data={"csrf": self.csrf, **(data or {})}, headers=headers)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = open_desk(make_office(tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def app(desk: Desk) -> object:
    return service(desk)


def browser(desk: Desk, app: object, person: str) -> Browser:
    return Browser(app, Tokens(desk.office.tokens_place).add(person))


@pytest.fixture(scope="module")
def looking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Ana at a desk of which nothing is asked."""
    opened = open_desk(make_office(tmp_path_factory.mktemp("office")))
    yield browser(opened, service(opened), "ana")
    assert opened.ledger.statement("votes").charges == ()
    opened.close()


def test_the_door() -> None:
    client = TestClient(page_app(None, None), follow_redirects=False)
    page = client.get("/login").text
    assert re.search(r'type="password"', page)
    assert '<a class="button" href="/login/openid">Sign in with Example Login</a>' in page
    wrong = client.post("/login", data={"token": "no"})
    assert (wrong.status_code, "that token is not known here" in wrong.text) == (401, True)
    assert client.post("/login", data={"token": " the-token "}).status_code == 303
    assert TestClient(page_app(None), follow_redirects=False).get("/login").headers["location"] == "/"


def test_what_each_role_sees(desk: Desk, app: object) -> None:
    pages = ["/", "/ask", "/ask/votes", "/budget", "/budget/votes", "/budget/votes/download", "/requests", "/owner", "/studio"]
    seen = {}
    for person in ("ana", "ben", "iris", "olga"):
        one = browser(desk, app, person)
        seen[person] = [one.get(page).status_code for page in pages]
        assert one.get("/nowhere").status_code == 404
        assert "there is nothing here" in one.get("/nowhere").text
        assert "/owner" in one.get("/studio").text if person == "olga" else "/owner" not in one.get("/studio").text
    assert seen == {
        "ana": [303, 200, 200, 200, 200, 200, 200, 403, 200],
        "ben": [303, 303, 200, 303, 200, 200, 200, 403, 200],  # whose only dataset is opened at once
        "iris": [303, 200, 200, 200, 200, 200, 200, 403, 200],
        "olga": [303, 200, 200, 200, 200, 200, 200, 200, 200],
    }
    ben = browser(desk, app, "ben")
    assert ben.get("/ask/stays").status_code == 404
    assert ben.get("/ask/certificate/votes/99").status_code == 404
    assert ben.get(f"/ask/certificate/votes/{10**30}").status_code == 404
    assert ben.post("/requests/7", {"decision": "approve"}).status_code == 404
    assert ben.post(f"/requests/{10**30}", {"decision": "approve"}).status_code == 404
    assert ben.post("/requests/7", {"decision": "perhaps"}).status_code == 422
    assert ben.post("/budget/votes/verify").status_code == 403
    assert ben.post("/owner/votes/version", {"version": "2"}).status_code == 403
    assert 'id="asking"' not in browser(desk, app, "olga").get("/ask/votes").text
    assert browser(desk, app, "olga").post("/ask/votes", {**SQL, "do": "ask"}).status_code == 403


def test_who_is_revoked_while_logged_in_learns_why(desk: Desk, app: object) -> None:
    ana = browser(desk, app, "ana")
    assert ana.get("/ask/votes").status_code == 200
    assert Tokens(desk.office.tokens_place).revoke("ana") == 1
    assert ana.get("/ask/votes").headers["location"] == "/login"
    assert "its token was revoked" in ana.get("/login").text
    assert "its token was revoked" not in TestClient(app, base_url="http://testserver").get("/login").text  # type: ignore[arg-type]


def test_the_studio_takes_its_turn(desk: Desk, app: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who draws has no more threads than for anything else; where all of theirs are taken, that is said."""
    ana = browser(desk, app, "ana")
    monkeypatch.setattr(desk.workers, "looks", Queue(4, 0, 0))
    assert ana.post("/studio/result", {"edges": "a, b", "blue": "a"}, part=True).status_code == 429


def test_a_form_of_another_page_is_refused(desk: Desk, app: object) -> None:
    ana = browser(desk, app, "ana")
    for data, headers in (({}, {}), ({"csrf": "x"}, {}), ({"csrf": ana.csrf}, {"origin": "https://elsewhere.example"})):
        answer = ana.client.post("/ask/votes", data={**SQL, "do": "ask", **data}, headers=headers)
        assert (answer.status_code, "was not sent by a page of this service" in answer.text) == (403, True)
    assert desk.ledger.statement("votes").charges == ()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({}, "avg(age) &gt; 35"),
        ({"what": "share", "limit": "0.4", "where": "vote", "where_value": "Y"}, "count(*) filter (where vote = &#39;Y&#39;)"),
        ({"group": "town"}, "select town, avg(age) &gt; 35 from votes group by town"),
        ({"what": "groups", "group": "town"}, "people in the group"),
        ({"way": "error", "wrong": "1/100", "flip": "10"}, "ε 0.41"),
        ({"people": "1,000"}, "of 1,000 people"),
        ({"epsilon": "other", "epsilon_other": "1/3"}, "ε 0.3333"),
        ({"missed": "10"}, "ε 0.5"),
        ({"private": "yes", "group": "town", "again": "yes"}, "ε 0.5"),
        (SQL, "About 4 such questions can still be asked"),
        ({"limit": ""}, "Choose or write a question"),
        ({"mode": "sql", "question": " "}, "Choose or write a question"),
    ],
)
def test_a_preview_is_shown_at_once(looking: Browser, changed: dict[str, str], says: str) -> None:
    answer = looking.post("/ask/votes/check", {**MENU, **changed}, part=True)
    assert answer.status_code == 200
    assert says in answer.text
    assert "notice bad" not in answer.text
    assert "<html" not in answer.text


@pytest.mark.parametrize(
    ("changed", "field", "says"),
    [
        ({"limit": "many"}, "limit", "the limit must be a number, as 0.5, 50% or 1,000, got many"),
        ({"limit": "300"}, "limit", "the answer would be no on every table"),
        ({"limit": "38", "where": "age", "where_value": "old"}, "where_value", "the value of age must be a number"),
        ({"mode": "sql", "question": "avg(age)"}, "question", "is not a yes/no question"),
        ({"mode": "sql", "question": "avg(name) > 1"}, "question", "has no column name"),
        ({"epsilon": "other", "epsilon_other": "x"}, "epsilon_other", "the value of ε must be a number, as 0.5 or 1/3"),
        ({"epsilon_other": "3"}, "epsilon_other", "two values of ε are given"),
        ({"way": "error", "flip": "ten"}, "flip", "must be a whole number, got ten"),
        ({"way": "error", "wrong": "1/100", "flip": "10", "people": "500"}, "people", "empty this field, or give ε"),
        ({"way": "close"}, "limit", "say what the answer may cost"),
        ({"people": "-1"}, "people", "must be a whole number"),
        ({"missed": "worse"}, "missed", "the cost of a mistake must be a number"),
        ({"at_least": "5"}, "at_least", "groups that are selected privately"),
        ({"delta": "2"}, "delta", "the value of δ must be at least 0 and below 1, got 2"),
        ({"delta": "-1"}, "delta", "the value of δ must be at least 0 and below 1, got -1"),
    ],
)
def test_a_mistake_stands_beside_its_field(looking: Browser, changed: dict[str, str], field: str, says: str) -> None:
    """On an open page, and on one without scripts, where the field is marked, has the focus, and keeps what was entered."""
    part = html.unescape(looking.post("/ask/votes/check", {**MENU, **changed}, part=True).text)
    beside = re.findall(r'<p id="(\w+)-wrong" hx-swap-oob="innerHTML">([^<]+)</p>', part)
    page = looking.post("/ask/votes", {**MENU, **changed}).text
    ((where, said),) = beside
    assert (where, says in said) == (field, True)
    entry = re.search(rf'<(?:input|select|textarea)[^>]*name="{field}"[^>]*>', page)
    assert entry is not None
    assert f'aria-describedby="{field}-wrong' in entry[0]
    assert 'aria-invalid="true" autofocus' in entry[0]
    assert page.count("aria-invalid") == 1
    assert re.search(rf'<p class="wrong" id="{field}-wrong" data-field="{field}">[^<]', page)
    for name, value in changed.items():
        assert f'value="{value}"' in page or name in ("mode", "question", "way", "wrong")


def test_what_is_more_than_is_left_is_no_mistake_of_a_field(looking: Browser) -> None:
    said = looking.post("/ask/votes/check", {**MENU, "epsilon": "other", "epsilon_other": "7"}, part=True).text
    assert "Its ε is more than is left" in said
    assert not re.search(r'hx-swap-oob="innerHTML">\w[^<]*</p><p id="\w+-wrong', said)


def test_a_mistake_when_one_asks_comes_back_to_its_field(looking: Browser) -> None:
    for address, changed, field in (
        ("/ask/votes", {"limit": "many"}, "limit"),
        ("/ask/stays", {"what": "count", "limit": "5"}, "purpose"),
    ):
        asked = {**MENU, **changed, "do": "ask"}
        reply = looking.post(address, asked, part=True)
        assert reply.status_code == 422
        assert (reply.headers["HX-Retarget"], reply.headers["HX-Trigger-After-Settle"]) == ("#check", "mistaken")
        assert re.search(rf'<p id="{field}-wrong" hx-swap-oob="innerHTML">\w', reply.text)
        assert re.search(rf'name="{field}"[^>]* aria-invalid="true" autofocus', looking.post(address, asked).text)


def test_an_answer_its_certificate_and_spending_more(desk: Desk, app: object) -> None:
    ana = browser(desk, app, "ana")
    reply = ana.post("/ask/votes", {**SQL, "do": "ask"}, part=True)
    assert reply.status_code == 200
    assert '<p class="verdict yes">Yes</p>' in reply.text
    assert reply.headers["HX-Trigger-After-Swap"] == "asked"
    assert re.search(r'<p class="sure"><strong>Certain; there are about \d+ rows, give or take 6</strong></p>', reply.text)
    assert re.search(r"was answered yes, certain \(at least \d+ rows .*\), with differential privacy", reply.text)
    link = re.search(r'href="(/ask/certificate/votes/\d+)"', reply.text)
    assert link is not None
    saved = ana.get(link[1])
    assert saved.headers["content-disposition"] == f'attachment; filename="certificate-{link[1].split("/")[-1]}.json"'
    assert "private and optimal" in prove(saved.json())
    more = re.search(r'href="(/ask/votes\?[^"]+)">Spend more on this: ε 1<', reply.text)
    assert more is not None
    page = html.unescape(ana.get(html.unescape(more[1])).text)
    assert 'name="epsilon_other" type="text" inputmode="decimal" autocomplete="off" value="1"' in page
    assert "The same question at a higher price. It is a new charge" in re.sub("<[^>]+>", "", page)
    assert "Left then: ε 0.5" in page
    assert SQL["question"] in page
    assert "ε 1" in page
    again = ana.post("/ask/votes", {**SQL, "do": "ask"})  # without a script: the whole page, and free
    assert "It cost nothing." in again.text
    assert "<html" in again.text
    assert len(desk.ledger.statement("votes").charges) == 1


def test_groups_made_up_rows_and_going_on_in_sql(desk: Desk, app: object) -> None:
    ana = browser(desk, app, "ana")
    grouped = ana.post("/ask/votes", {**MENU, "group": "town", "do": "ask"}, part=True).text
    sure = r"(certain|p = [\d.e-]+)"
    assert re.search(rf'<th scope="row">Ely</th><td><span class="answer (yes|no)">\1</span></td><td>{sure}</td>', grouped)
    shown = ana.post("/ask/votes", {**MENU, "what": "groups", "group": "town", "do": "ask"}, part=True)
    assert shown.status_code == 200
    asked = ana.get("/budget/votes").text
    assert re.search(rf'<span class="pair">Ely: (yes|no) <small>{sure}</small></span>', asked)
    assert re.search(r'<span class="pair">Ely: count <small>about \d+, give or take \d+</small></span>', asked)
    before = len(desk.ledger.statement("votes").charges)
    rehearsed = ana.post("/ask/votes", {**MENU, "do": "made-up"}, part=True).text
    assert "Of made-up rows: it says nothing about anybody" in rehearsed
    assert "Certificate" not in rehearsed
    assert len(desk.ledger.statement("votes").charges) == before
    page = ana.post("/ask/votes", {**MENU, "do": "sql"}).text
    assert re.search(r"<textarea id=\"question\"[^>]*>\navg\(age\) &gt; 35</textarea>", page)
    for unfinished in ({"what": "groups", "group": "town"}, {"limit": ""}):
        page = ana.post("/ask/votes", {**MENU, **unfinished, "do": "sql"})
        assert (page.status_code, 'value="menus" checked' in page.text) == (422, True)
        assert re.search(
            r'class="wrong" id="(what|limit)-wrong"[^>]*>(choose another question|the limit must be given)', page.text
        )
        assert (
            re.search('value="avg:age"[^>]* selected', page.text) or "limit" not in unfinished
        )  # what stands in the menus is kept
    assert "avg(age) &gt; 35" in ana.post("/ask/votes", MENU).text  # without a script: to see the price
    rows = ana.get("/ask/votes/made-up")
    assert rows.text.startswith("vote,age,town")
    assert rows.headers["content-disposition"] == 'attachment; filename="made-up.csv"'


def test_running_out_of_budget(desk: Desk, app: object) -> None:
    ana = browser(desk, app, "ana")
    for limit in range(3):
        asked = {**MENU, "limit": str(30 + limit), "epsilon": "1", "do": "ask"}
        reply, plain = ana.post("/ask/votes", asked, part=True), ana.post("/ask/votes", {**asked, "limit": str(40 + limit)})
        assert (reply.status_code, plain.status_code) == ((200, 200) if limit == 0 else (409, 409))
    assert "does not fit into the budget of votes" in reply.text
    assert "1 answer at ε 1, δ 1e-06 does not fit into the budget of votes" in plain.text
    assert "(its ε is more than is left)" in plain.text
    assert "No such question is left" in ana.get("/budget/votes").text


def test_an_allowance_without_delta_is_asked_without_delta(tmp_path: Path) -> None:
    desk = open_desk(
        make_office(tmp_path, VOTES, people=PEOPLE.replace(', "stays", "calls"', "").replace(', delta = "1e-6" }', " }"))
    )
    try:
        ben = browser(desk, service(desk), "ben")
        assert re.search(r'id="delta"[^>]*value="0"', ben.get("/ask/votes").text)
        assert re.search(r'id="delta"[^>]*value="1e-6"', browser(desk, service(desk), "ana").get("/ask/votes").text)
        assert "Its δ is more than is left" in ben.post("/ask/votes/check", MENU, part=True).text
        refused = ben.post("/ask/votes", {**MENU, "do": "ask"}, part=True).text
        assert "does not fit into the allowance of ben for votes; left: ε 0.5, δ 0; nothing was charged" in refused
        assert "(its δ is more than is left)" in refused
    finally:
        desk.close()


def test_close_calls_and_too_close_to_call(desk: Desk, app: object) -> None:
    ana = browser(desk, app, "ana")
    check = ana.post("/ask/calls/check", {"mode": "sql", "question": "avg(x = 1) > 0.5", "way": "close"}, part=True).text
    assert "One close call, or nothing" in check
    clear = ana.post("/ask/calls", {"mode": "sql", "question": "count(*) > 10", "way": "close", "do": "ask"}, part=True).text
    assert "It cost nothing." in clear
    close = ana.post("/ask/calls", {"mode": "sql", "question": "avg(x = 1) > 0.5", "way": "close", "do": "ask"}, part=True).text
    assert '<p class="verdict close">Too close to call</p>' in close
    assert "Pay for a definite answer" not in close  # of which there is no budget
    assert 'value="error"' not in ana.get("/ask/calls").text
    budget = ana.get("/budget/calls").text
    assert re.search(r"\d+ close calls? left", budget)
    assert "1 used, 0 reserved" in budget
    assert re.findall(r'data-is="price">([^<]*)<', budget) == ["1 close call", "free"]


def test_a_definite_answer_where_one_can_be_bought(tmp_path: Path) -> None:
    definite = CALLS.replace('epsilon = "0.05" }', 'epsilon = "0.05", definite = { epsilon = "0.5", delta = "1e-7" } }')
    definite = definite.replace("epsilon = 1,", "epsilon = 2,")
    desk = open_desk(make_office(tmp_path, VOTES, definite, people=PEOPLE.replace('"stays", ', "")))
    try:
        ana = browser(desk, service(desk), "ana")
        close = ana.post("/ask/calls", {"mode": "sql", "question": "avg(x = 1) > 0.5", "do": "ask"}, part=True).text
        link = re.search(r'href="(/ask/calls\?[^"]+)">Pay for a definite answer', close)
        assert link is not None
        page = ana.get(html.unescape(link[1])).text
        assert 'name="way" value="epsilon" checked' in page
        bought = {"mode": "sql", "question": "avg(x = 1) > 0.5", "way": "epsilon", "epsilon": "0.1", "delta": "0", "do": "ask"}
        assert re.search(r'class="verdict (yes|no)"', ana.post("/ask/calls", bought, part=True).text)
    finally:
        desk.close()


def test_a_question_that_another_person_approves(desk: Desk, app: object) -> None:
    ana, olga = browser(desk, app, "ana"), browser(desk, app, "olga")
    asked = {"mode": "menus", "what": "count", "limit": "100", "epsilon": "0.2", "delta": "1e-6", "do": "ask"}
    assert "say what the answer is for" in ana.post("/ask/stays", asked, part=True).text
    waits = ana.post("/ask/stays", {**asked, "purpose": "to <i>plan</i> beds"}, part=True).text
    assert "Request 1 waits for another person." in waits
    page = ana.get("/requests").text
    assert "Approve" not in page
    assert ana.post("/requests/1", {"decision": "approve"}).status_code == 403
    assert ana.post("/requests/1/ask", {"dataset": "stays"}).status_code == 403
    page = olga.get("/requests").text
    assert "to &lt;i&gt;plan&lt;/i&gt; beds" in page
    assert "Request 1: waits for you" in page
    assert "Approve" not in page  # before it is looked at
    page = olga.get("/requests/1").text
    assert "to &lt;i&gt;plan&lt;/i&gt; beds" in page
    assert "Approve" in page
    seen = ana.post("/ask/stays/check", asked, part=True).text
    for said in (r"<p>The answer will say [^<]+</p>", r"(?s)<div class=.price.>.*?(?=<a)", r"(?s)<figure.*</figure>",
                 r"(?s)<table class=.chances.>.*?</table>", r"<p class=.protected.>.*?</p>"):  # fmt: skip
        found = re.search(said, seen)
        assert found is not None
        assert found[0] in page
    assert "Left then: ε 0.8, δ 9e-06" in page
    assert re.search(r"From \d+ people on: never wrong; from \d+ on: always certain\.", page)
    assert olga.post("/requests/1", {"decision": "approve"}).headers["location"] == "/requests?done=approve"
    assert "The request is approved." in olga.get("/requests?done=approve").text
    page = ana.get("/requests").text
    assert "Ask it now" in page
    assert "Request 1: approved by olga<" in page
    answer = ana.post("/requests/1/ask", {"dataset": "stays"})
    assert (answer.status_code, 'class="verdict' in answer.text) == (200, True)
    assert "Request 1: asked; approved by olga<" in ana.get("/requests").text  # who approved it did not ask it


def test_where_people_have_many_rows_the_page_asks_for_their_groups(looking: Browser) -> None:
    assert 'name="max_groups"' not in looking.get("/ask/votes").text  # where each row is a person, who is in one group
    page = looking.get("/ask/stays").text
    assert "Most groups in which one patient counts" in page
    assert page.index('name="max_groups"') < page.index("<summary>More</summary>")
    grouped = {"mode": "sql", "question": "select days, count(distinct patient) > 3 from stays group by days", "epsilon": "0.1"}
    said = looking.post("/ask/stays/check", grouped, part=True).text
    assert "say in how many groups one patient may count: the budget" in said
    assert "max_groups" not in re.sub("<[^>]*>", "", said)


def test_examples_are_questions_that_the_dataset_can_be_asked(looking: Browser) -> None:
    for name in ("votes", "stays", "calls"):
        shown = re.search(r"For example (.*?)</p>", looking.get(f"/ask/{name}").text, re.DOTALL)
        assert shown is not None
        examples = [html.unescape(example) for example in re.findall(r"<code>(.*?)</code>", shown[1])]
        assert examples
        way = "close" if name == "calls" else "epsilon"
        for question in examples:
            asked = {"mode": "sql", "question": question, "way": way, "epsilon": "0.1", "max_groups": "1" * (name == "stays")}
            assert "How accurate" in looking.post(f"/ask/{name}/check", asked, part=True).text, question


def test_an_assistants_allowance(desk: Desk, app: object) -> None:
    ana = browser(desk, app, "ana")
    assert ana.post("/requests/assistant/votes", {"epsilon": "0.5", "delta": "1e-6", "questions": "3"}).status_code == 303
    assert "now ε 0.5, δ 1e-06, 3 questions with close calls" in ana.get("/requests").text
    assert "Your assistant’s allowance is set." in ana.get("/requests?done=allow").text
    for bad, says in (
        ({"epsilon": "x"}, "the value of ε must be a number, as 0.5 or 1/3, got x"),
        ({"questions": "-3"}, "must be a whole number"),
    ):
        page = ana.post("/requests/assistant/votes", {"delta": "1e-7", **bad})
        assert 'name="delta" value="1e-7"' in page.text  # other entries stay
        assert re.search(rf'name="{next(iter(bad))}" [^>]*aria-invalid="true"', page.text)
        assert (page.status_code, says in page.text, "now ε 0.5" in page.text) == (422, True, True)


def test_the_budget_and_who_sees_answers(desk: Desk, app: object) -> None:
    ana, olga, iris = (browser(desk, app, person) for person in ("ana", "olga", "iris"))
    ana.post("/ask/votes", {**SQL, "do": "ask"}, part=True)
    page = ana.get("/budget/votes?epsilon=0.5").text
    assert "About 3 such questions left" in page
    assert re.search(r'class="tone-no" width="100.00".*?class="this" x="100.00" width="100.00"', page)
    assert "1 answer at ε 0.5, δ 1e-06" in page
    count = r'<span class="answer close">count</span> <small>about \d+, give or take 6</small>'
    yes = r'<span class="answer yes">yes</span> <small>certain</small>'
    for seen in (count, yes):
        pages = [who.get("/budget/votes").text for who in (ana, olga, iris)]
        assert [bool(re.search(seen, page)) for page in pages] == [True, True, False], seen
        ana.post(
            "/ask/votes", {**SQL, "question": SQL["question"].replace("100", "count(*) filter (where vote = 'N')"), "do": "ask"}
        )
    assert "answered" in iris.get("/budget/votes").text
    saved = ana.get("/budget/votes/download").json()
    assert saved["history"]["charges"][-1]["question"] == SQL["question"]
    assert saved["budget"]["spent"]["epsilon"] == 1.0
    verdict = iris.post("/budget/votes/verify")
    assert "The ledger is as it was written" in verdict.text
    wrong = ana.get("/budget/votes?epsilon=x&delta=3").text
    assert re.search(r'id="such-wrong"[^>]*>the value of ε must be a number', wrong)
    assert re.search(r'id="such-delta-wrong"[^>]*>the value of δ must be at least 0 and below 1', wrong)
    assert "such question" in ana.get("/budget/votes?epsilon=1/10").text
    assert olga.post("/owner/votes/version", {"version": "2"}).headers["location"] == "/owner?relabelled=votes"
    assert "votes now has the label 2." in olga.get("/owner?relabelled=votes").text
    assert "now 2" in olga.get("/owner").text
    for used in ("", "1"):
        page = olga.post("/owner/votes/version", {"version": used})
        beside = re.search(rf'name="version" value="{used}"[^>]*aria-invalid="true"', page.text)
        assert (page.status_code, beside is not None, "<h1>Owner</h1>" in page.text) == (422, True, True)


def test_what_comes_from_outside_is_text(tmp_path: Path) -> None:
    """A name and a text with HTML, quotes, control characters and marks of direction, on every page that shows them."""
    people = PEOPLE.replace('["votes", "stays", "calls"]', json.dumps(["votes", HOSTILE]))
    desk = open_desk(make_office(tmp_path, VOTES, ODD, people=people))
    try:
        app, name = service(desk), quote(HOSTILE, safe="")
        ana, olga = browser(desk, app, "ana"), browser(desk, app, "olga")
        asked = {"mode": "sql", "question": "count(*) filter (where x > -1) > 1 -- <i>\u202e\x07</i>", "epsilon": "0.1"}
        reply = ana.post(f"/ask/{name}", {**asked, "do": "ask"}, part=True)
        pages = [ana.get("/ask"), ana.get(f"/ask/{name}"), ana.post(f"/ask/{name}", asked), reply]
        pages += [ana.get(f"/budget/{name}"), olga.get("/owner"), olga.get("/budget"), ana.get("/ask/" + quote("<b>no\u202e"))]
        for page in pages:
            shown = re.sub(r"(?s)<textarea.*?</textarea>", "", page.text)
            assert not {"\u202e", "\x07"} & set(shown), page.url
            assert "<script>alert" not in shown
            assert "<b>" not in shown
            assert "<i>" not in shown
        assert "&lt;b&gt;&#34;x&#39; &amp;amp;" in pages[0].text
        assert "\\x07" in pages[1].text
    finally:
        desk.close()


def test_every_field_has_a_label_and_every_table_a_head(desk: Desk, app: object) -> None:
    ana, olga = browser(desk, app, "ana"), browser(desk, app, "olga")
    pages = [ana.get(at).text for at in ("/ask/votes", "/ask/stays", "/ask/calls", "/budget/votes", "/requests", "/studio")]
    for page in [*pages, olga.get("/owner").text, TestClient(page_app(None, None)).get("/login").text]:
        labels = set(re.findall(r'<label[^>]* for="([^"]+)"', page))
        for field in re.findall(r"<(?:input|select|textarea)\b[^>]*>", page):
            if 'type="hidden"' not in field:
                named = re.search(r'\bid="([^"]+)"', field)
                assert "aria-label=" in field or (named is not None and named[1] in labels), field
        identities = re.findall(r'\bid="([^"]+)"', page)
        assert len(identities) == len(set(identities))
        assert '<html lang="en">' in page
        assert 'href="#main"' in page
        assert not re.search(r'\bstyle="|\bon\w+="|<script>|<style', page)
        assert not re.search(r'(?:src|href|action)="(?:https?:)?//', page)


@pytest.mark.slow
def test_parts_are_offered_where_they_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_parts, "answers", lambda parts, _: (True for rows in parts))
    monkeypatch.setattr(by_parts, "tried", lambda *_: ("", Isolation(True, True, True, True)))
    monkeypatch.setattr(by_parts, "STARTING", -0.9)
    monkeypatch.setattr(work, "NURSERY", 0.0)
    votes = VOTES.replace("seconds = 0.05", "seconds = 0.05\nparts = 5")
    opened = open_desk(make_office(tmp_path, votes, STAYS, CALLS))
    ana = browser(opened, service(opened), "ana")
    assert 'name="parts"' in ana.get("/ask/votes").text
    assert 'name="parts"' not in ana.get("/ask/calls").text
    asked = {**SQL, "question": "corr(age, age) > 0.2", "parts": "3"}
    assert "and not more" in ana.post("/ask/votes/check", asked, part=True).text
    said = ana.post("/ask/votes", {**asked, "do": "ask"}).text
    assert re.search(r'class="verdict (yes|no)">(Yes|No), in most of 3 random parts of the rows<', said)
    assert "corr(age, age) &gt; 0.2 in most of 3 random parts" in ana.get("/budget/votes").text
    assert "a whole number" in ana.post("/ask/votes", {**asked, "parts": "many", "do": "ask"}).text
    opened.close()


def test_one_of_several_answers_is_a_word(desk: Desk, app: object) -> None:
    ana = browser(desk, app, "ana")
    asked = {**SQL, "question": "mode(vote) filter (where vote in ('Y', 'N'))"}
    assert "How accurate" in ana.post("/ask/votes/check", asked, part=True).text
    reply = ana.post("/ask/votes", {**asked, "do": "ask"}, part=True)
    assert '<p class="verdict which">Y</p>' in reply.text
    by_town = {**SQL, "question": "select town, bracket(avg(age), 20, 45) from votes group by town", "do": "ask"}
    assert '<span class="answer which">20 to below 45</span>' in ana.post("/ask/votes", by_town, part=True).text
