"""The pages with names and texts that try to be markup, scripts or directions; and forms of other sites."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Dialog

from duotone.errors import OfficeError
from support.offices import VOTES, Served, make_office, plain_client, serving
from support.pages import chromium, new_page

EVIL = "</title><img src=x onerror=alert(1)>'\"&{{7+7}}\u202eevil\u2066\u200f"
"""What an owner may have copied from somewhere."""
TEXT = EVIL + '<script>alert(1)</script>\x1b[31m\x00\x07\r\n" onfocus="alert(1)" autofocus="'
"""In what people write."""
TURNS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\u061c\x00\x07\x1b]")
NAME = EVIL.replace("/", "").partition("\u202e")[0]


def written(text: str) -> str:
    """A text in TOML."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder, name = tmp_path_factory.mktemp("office"), written(NAME)
    ana, olga = written(f"ana{NAME[:40]}"), written(f"olga{NAME[:40]}")
    people = f'[people.{olga}]\nrole = "owner"\n[people.iris]\nrole = "auditor"\n'
    people += f'[people.{ana}]\nrole = "analyst"\ndatasets = [{name}]\n'
    column = written(NAME)
    dataset = f"""
[datasets.{name}]
source = "votes.parquet"
about = {written(EVIL)}
version = "1"
rows = 1000
seconds = 0.05
bounds = {{ {column} = [0, 100] }}
groups = {{ {written("town")} = [{written(EVIL)}, "Wells"] }}
budget = {{ epsilon = 2, delta = "1e-4" }}
approval = true
"""
    made = make_office(folder, dataset, head='ledger = "l"\n[clock]\ntick = 0.02\n', people=people)
    pq.write_table(pa.table({NAME: [30, 50] * 500, "town": [EVIL, "Wells"] * 500}), folder / "votes.parquet")
    with serving(made) as office:
        yield office


@pytest.mark.parametrize("turn", ["\u202e", "\u2066", "\u200b", "\u2028", "\x85", "\x1b", "\n", "/", "\\"])
def test_no_name_of_the_office_turns_a_line(tmp_path: Path, turn: str) -> None:
    people = '[people.olga]\nrole = "owner"\n'
    evil = json.dumps(f"ana{turn}x", ensure_ascii=turn.isascii())
    for text in (f'[people.{evil}]\nrole = "auditor"\n{VOTES}', VOTES.replace("datasets.votes", f"datasets.{evil}")):
        with pytest.raises(OfficeError, match="characters that a name cannot have"):
            make_office(tmp_path, text, head='ledger = "l"\n', people=people)


@contextmanager
def logged_in(office: Served, who: str) -> Iterator[httpx2.Client]:
    with plain_client(office.url) as browser:
        answer = browser.post("/login", data={"token": office.token(who)}, headers={"Origin": office.url})
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        yield browser


class Page(HTMLParser):
    """Whether a page is what we wrote: no script but our files, nothing that runs or styles by itself, no other address."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.links, self.csrf, self.field = "", set[str](), "", False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values, self.field = dict(attrs), self.field or tag == "textarea"
        assert len(values) == len(attrs), attrs
        assert tag not in ("img", "iframe", "object", "embed", "base", "style", "marquee"), tag
        for name, value in attrs:
            assert not name.startswith("on"), attrs
            assert name not in ("style", "srcdoc"), attrs
            if name in ("href", "src", "action", "formaction", "hx-post", "hx-get"):
                assert re.match(r"[/#?][^/\\]|[/#?]?$", value or ""), value
        if tag == "script":
            assert (values.get("src") or "").startswith("/static/")
        if tag == "a":
            self.links.add(values.get("href") or "")
        if values.get("name") == "csrf":
            self.csrf = values.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        self.field = self.field and tag != "textarea"

    def handle_data(self, data: str) -> None:
        self.text += "" if self.field else data  # a field sends back what was written


def checked(answer: httpx2.Response) -> Page:
    assert answer.status_code < 500
    page = Page(answer.text)
    assert not TURNS.search(page.text)
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    return page


def people(office: Served) -> dict[str, str]:
    return {name.partition("<")[0]: name for name in office.desk.office.people}


@pytest.mark.slow
def test_every_page_shows_names_as_text(office: Served) -> None:
    """All pages that links lead to, for everybody; a name is on some, as one sees it."""
    shown = ""
    for who in people(office).values():
        with logged_in(office, who) as browser:
            waiting, seen = ["/ask", "/budget", "/requests", "/owner", "/studio"], set[str]()
            while waiting:
                link = waiting.pop().partition("#")[0]
                if not link or link in seen or link.startswith(("/static", "/logout")):
                    continue
                seen.add(link)
                answer = browser.get(link, follow_redirects=True)
                if answer.headers["content-type"].startswith("text/html"):
                    page = checked(answer)
                    waiting += page.links
                    shown += page.text
            assert len(seen) > 5
    assert "<img src=x onerror=alert(1)>'\"&{{7+7}}\\u202eevil" in shown


def test_what_people_write_is_shown_as_text(office: Served) -> None:
    """In the question, its purpose and every other field: on one's own page, and on that of who approves."""
    everybody = people(office)
    with logged_in(office, everybody["ana"]) as ana, logged_in(office, everybody["olga"]) as olga:
        start = ana.get("/ask", follow_redirects=True)
        here, csrf = start.url.raw_path.decode(), checked(start).csrf
        assert csrf
        fields = ("limit", "where", "where_value", "group", "question", "epsilon_other", "delta", "flip", "people",
                  "max_groups", "at_least", "missed", "purpose", "what", "comparison", "mode", "way")  # fmt: skip
        for do in ("ask", "sql", "made-up", ""):
            for part in ("", "/check"):
                for htmx in ({}, {"HX-Request": "true"}):
                    data = dict.fromkeys(fields, TEXT) | {"csrf": csrf, "do": do, "mode": "sql" if do else TEXT}
                    checked(ana.post(here + part, data=data, headers=htmx))
        checked(ana.get(here, params=dict.fromkeys(fields, TEXT)))
        column = '"' + NAME.replace('"', '""') + '"'
        good = {"mode": "sql", "question": f"avg({column}) > 38", "way": "epsilon", "epsilon": "0.1", "delta": "0"}
        answer = ana.post(here, data={**good, "purpose": TEXT, "csrf": csrf, "do": "ask"})
        assert "waits" in checked(answer).text or answer.status_code == 200
        for browser in (olga, ana):
            page = checked(browser.get("/requests"))
            assert "onerror=alert(1)" in page.text
        checked(olga.post(f"/owner{here.removeprefix('/ask')}/version", data={"version": TEXT, "csrf": csrf_of(olga)}))
        checked(olga.get("/owner"))


@pytest.mark.slow
def test_a_real_browser_runs_nothing_of_it(office: Served) -> None:
    """Names on every page, and a text in a question and its purpose, which also comes back by htmx and to who approves."""
    everybody, said = people(office), list[str]()

    def refuse(dialog: Dialog) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    with chromium() as browser:
        for who, paths in (("ana", ["/ask", "/budget", "/requests"]), ("olga", ["/owner", "/requests", "/budget"])):
            page = new_page(browser)
            page.on("dialog", refuse)
            page.on("request", lambda request: None if request.url.startswith(office.url) else said.append(request.url))
            page.add_init_script("addEventListener('securitypolicyviolation', e => window.violated = e.violatedDirective)")
            page.goto(f"{office.url}/login")
            page.fill("#token", office.token(everybody[who]))
            page.click("button[type=submit]")
            page.wait_for_url(re.compile(r"/(ask|owner)"))
            for path in paths:
                page.goto(office.url + path)
                if path == "/ask":
                    page.check("#by-sql")
                    page.fill("#question", TEXT.replace("\x00", ""))
                    page.fill("#purpose", TEXT.replace("\x00", ""))
                    page.get_by_role("button", name="Ask for approval").click()
                    page.wait_for_selector("#question-wrong:not(:empty)")
                assert page.evaluate("document.querySelectorAll('img, [onfocus], [onerror], script:not([src])').length") == 0
                assert page.evaluate("window.violated === undefined")
                assert "onerror=alert(1)" in page.inner_text("body")
            page.close()
    assert said == []


def csrf_of(browser: httpx2.Client) -> str:
    return Page(browser.get("/studio").text).csrf


@pytest.mark.slow
def test_the_studio_takes_any_text(office: Served) -> None:
    with logged_in(office, people(office)["ana"]) as ana:
        csrf = csrf_of(ana)
        names = ("edges", "blue", "places", "unit", "epsilon", "delta", "boundary", "value", "each", "example")
        graph = {"edges": f'a, b\nb, "{NAME.replace(chr(34), "")}"', "blue": "a", "epsilon": "2", "delta": "0.1"}
        long = {"edges": "\n".join(f"{i}, {i + 1}" for i in range(199)), "blue": ", ".join(map(str, range(100)))}
        hard = [
            dict.fromkeys(names, TEXT),
            graph,
            {**graph, "epsilon": "9" * 40},
            {**graph, "delta": "1e-400000000"},
            {**graph, "places": "[" * 10_000},
            {**graph, "places": '{"a": [1e999, 0], "b": ["x", null]}'},
            {**graph, "edges": "\n".join(f"{i}, {i + 1}" for i in range(20_000))},
            {**graph, "edges": '"' * 5001},
            {**graph, "boundary": "each", "each": "a=" + "1" * 5000},
            {**graph, "boundary": "each", "each": "a=-1, a=2"},
            {**graph, "boundary": "one", "value": "nan"},
            {**graph, **long, "epsilon": f"1.{'0' * 30}1", "delta": f"0.{'0' * 30}1"},
        ]
        for path in ("/studio", "/studio/result", "/studio/mechanism.json"):
            for data in hard:
                answer = ana.post(path, data={**data, "csrf": csrf})
                assert answer.status_code < 500, (path, data)
                if answer.headers["content-type"].startswith("text/html"):
                    checked(answer)
        for content in (b"<svg onload=alert(1)>", b"\x89PNG\r\n", b"\x00" * 1000, b"[" * 50_000, TEXT.encode(), b"PK\x03\x04"):
            for name in ("graph.csv", "graph.json", "graph.graphml", "../../x", "x.dot", ""):
                answer = ana.post("/studio/load", data={"csrf": csrf}, files={"file": (name or "x", content)})
                assert answer.status_code < 500, (name, content[:20])
                checked(answer)


@pytest.mark.parametrize(
    "path", ["/logout", "/ask/x", "/ask/x/check", "/budget/x/verify", "/requests/1", "/requests/1/ask", "/requests/assistant/x",
             "/owner/x/version", "/studio", "/studio/result", "/studio/load", "/studio/mechanism.json"]
)  # fmt: skip
def test_no_form_is_taken_from_another_site(office: Served, path: str) -> None:
    with logged_in(office, people(office)["olga"]) as olga:
        csrf = csrf_of(olga)
        for origin, sent in (("https://evil.example", csrf), (office.url, ""), (office.url, csrf[:-1]), ("null", csrf)):
            assert olga.post(path, data={"csrf": sent}, headers={"Origin": origin}).status_code == 403
        assert olga.post(path, data={"csrf": csrf}, headers={"Origin": office.url}).status_code != 403


def test_nobody_is_logged_in_by_another_site(office: Served) -> None:
    """Else one might ask as somebody else, who reads the history."""
    with plain_client(office.url) as browser:
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            answer = browser.post("/login", data={"token": office.token("iris")}, headers=headers)
            assert answer.status_code == 403
            assert "set-cookie" not in answer.headers


def test_a_wrong_token_is_not_shown_again(office: Served) -> None:
    with plain_client(office.url) as browser:
        answer = browser.post("/login", data={"token": f"duo_{TEXT}"})
        assert answer.status_code == 401
        assert "onerror" not in answer.text
        assert "set-cookie" not in answer.headers
        checked(answer)
