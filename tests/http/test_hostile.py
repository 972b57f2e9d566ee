"""The service under attack: strangers, people who want more than is theirs, and bytes that no client would send."""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from argon2 import PasswordHasher
from itsdangerous import URLSafeTimedSerializer
from sqlalchemy import text

from duotone.http.auth import SESSION
from duotone.http.tokens import Tokens
from support.offices import CALLS, PLAIN, STAYS, VOTES, Served, make_office, plain_client, remember_wrong_tokens, serving
from support.raw_http import request, send
from support.running import PATIENCE, wait_until

HEAD = """
ledger = "budget.ledger"
[clock]
tick = 0.02
[limits]
body = 65536
"""
HURRIED = f"{HEAD}seconds = 1.0\n"
"""An office that waits for no request longer than this."""
PEOPLE = """
[people.olga]
role = "owner"
[people.ana]
role = "analyst"
datasets = ["votes", "stays"]
[people.ben]
role = "analyst"
datasets = ["stays", "calls"]
[people.iris]
role = "auditor"
"""
QUESTION = {"question": "count(*) filter (where vote = 'Y') > 50", "epsilon": "0.01"}
ABOUT_STAYS = {"question": "avg(days) > 9", "epsilon": "0.01", "purpose": "to see"}
JSON = {"Content-Type": "application/json"}
REFUSED = {"error", "kind"}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = make_office(tmp_path_factory.mktemp("office"), VOTES, STAYS, CALLS, head=HEAD, people=PEOPLE)
    with serving(made) as office:
        yield office


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = make_office(tmp_path_factory.mktemp("office"), VOTES, STAYS, CALLS, head=HURRIED, people=PEOPLE)
    with serving(made) as office:
        yield office


@pytest.fixture(scope="module")
def routes(office: Served) -> list[tuple[str, str]]:
    """Every route of the interface for programs, with the parts of its path open."""
    with office.client(None) as client:
        described = client.get("/api/openapi.json").json()["paths"]
    return [(method.upper(), path) for path, methods in described.items() for method in methods]


def stranger(office: Served, token: str | None, last: int = 1) -> httpx2.Client:
    """From an address of their own, 127.0.1.last, as too many wrong tokens from one make it wait."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    transport = httpx2.HTTPTransport(local_address=f"127.0.1.{last}", **PLAIN)
    return plain_client(office.url, headers=headers, transport=transport)


def port(office: Served) -> int:
    return httpx2.URL(office.url).port or 0


def bearer(office: Served, who: str = "ana") -> dict[str, str]:
    return {"Authorization": f"Bearer {office.token(who)}"}


def path_of(template: str, name: str = "votes") -> str:
    return template.format(dataset=name, charge=1, request=1, session="0")


def body_of(method: str, template: str) -> Any:
    """One that the route would take."""
    if method in ("GET", "DELETE"):
        return None
    last = template.rpartition("/")[2]
    return {"version": {"version": "2"}, "assistant": {"epsilon": "0.1"}, "{request}": {"approve": True}}.get(last, QUESTION)


def call(client: httpx2.Client, method: str, template: str, name: str = "votes") -> httpx2.Response:
    return client.request(method, path_of(template, name), json=body_of(method, template))


# --- strangers ----------------------------------------------------------------------------------------------------------


def test_every_route_needs_a_token(office: Served, routes: list[tuple[str, str]]) -> None:
    assert len(routes) >= 15
    with stranger(office, None) as client:
        for method, template in routes:
            answer = call(client, method, template)
            assert (answer.status_code, answer.json()["kind"]) == (401, "bad token"), template
            assert answer.headers["www-authenticate"] == "Bearer"


def wrong_tokens(office: Served) -> dict[str, str]:
    good, revoked = office.token("ana"), office.tokens.add("ana")
    _, ident, secret = good.split("_", 2)
    office.tokens.revoke("ana", revoked.split("_")[1])
    return {
        "revoked": revoked,
        "of nobody": f"duo_{'0' * 16}_{secret}",
        "another's secret": f"duo_{ident}_{office.token('ben').split('_', 2)[2]}",
        "cut": good[:-1],
        "longer": f"{good}A",
        "in capitals": good.upper(),
        "the id alone": f"duo_{ident}_",
        "a hash": "$argon2id$v=19$m=19456,t=2,p=1$",
        "long": "A" * 20_000,
        "dots": "a.b.c",
    }


def test_wrong_tokens_are_refused_alike(office: Served) -> None:
    """The reply does not say what was wrong, nor repeat the token."""
    replies = set()
    for fault, token in wrong_tokens(office).items():
        with stranger(office, token, 2) as client:
            answer = client.get("/api/me")
            assert answer.status_code == 401, fault
            assert token[4:] not in answer.text
            replies.add(answer.text)
    assert len(replies) == 1


def test_wrong_tokens_do_not_cost_the_memory_hard_hash(office: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even with the public part of a token that is known: it is computed once for each right one, and for nothing else."""
    right, computed = office.tokens.add("ana"), list[str]()
    known = "_".join(right.split("_", 2)[:2])
    wrong = [*(f"{known}_{secrets.token_urlsafe(32)}" for _ in range(30)), *wrong_tokens(office).values()]
    verify = PasswordHasher.verify

    def counted(hasher: PasswordHasher, *given: str) -> bool:
        computed.append("verify")
        return verify(hasher, *given)

    monkeypatch.setattr(PasswordHasher, "verify", counted)
    monkeypatch.setattr(PasswordHasher, "hash", lambda *_: computed.append("hash"))
    for token in wrong:
        with stranger(office, token, 97) as client:
            assert client.get("/api/me").status_code in (401, 429)
    assert not computed
    for _ in range(3):
        with stranger(office, right, 97) as client:
            assert client.get("/api/me").status_code == 200
    assert computed == ["verify"]


def test_a_token_ends_when_it_was_said_to(office: Served, tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens")
    token = tokens.add("ana", days=1)
    assert tokens.verified(token) is not None
    written = json.loads((tmp_path / "tokens").read_text())
    written["tokens"][0]["expires"] = datetime.now(UTC).isoformat()
    (tmp_path / "tokens").write_text(json.dumps(written))
    assert tokens.verified(token) is None


@pytest.mark.parametrize("scheme", ["Basic", "Token", "Digest", ""])
def test_only_bearer_tokens_are_taken(office: Served, scheme: str) -> None:
    good = office.token("ana")
    with stranger(office, None, 3) as client:
        assert client.get("/api/me", headers={"Authorization": f"{scheme} {good}".strip()}).status_code == 401
        for place in (f"/api/me?token={good}", f"/api/me?access_token={good}"):
            assert client.get(place).status_code == 401


def test_a_guesser_has_to_wait_and_others_need_not(office: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither elsewhere, nor behind the same address, also with a token that nobody has shown before."""
    remember_wrong_tokens(monkeypatch)
    wrong, new = "duo_0000000000000000_" + "A" * 43, office.tokens.add("ana")
    with (
        stranger(office, wrong, 4) as guesser,
        stranger(office, office.token("ana"), 4) as known,
        stranger(office, new, 4) as late,
        office.client("ana") as elsewhere,
    ):
        assert known.get("/api/me").status_code == 200
        statuses = [guesser.get("/api/me").status_code for _ in range(25)]
        assert (statuses[0], statuses[-1]) == (401, 429)
        assert int(guesser.get("/api/me").headers["retry-after"]) > 0
        assert [client.get("/api/me").status_code for client in (known, elsewhere, late)] == [200, 200, 200]
        assert guesser.get("/api/me").status_code == 429


def test_who_is_guessing_cannot_say_that_they_are_many(office: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers of a proxy are believed only from a proxy that the office names."""
    remember_wrong_tokens(monkeypatch)
    with stranger(office, "duo_0000000000000000_" + "A" * 43, 5) as guesser:
        names = ("X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Client-IP")
        statuses = [
            guesser.get(
                "/api/me", headers={name: f"for=10.0.0.{i}" if name == "Forwarded" else f"10.0.0.{i}" for name in names}
            )
            for i in range(25)
        ]
        assert statuses[-1].status_code == 429


@pytest.mark.parametrize(
    "host",
    ["x/static/", "x/static/?", "127.0.0.1/healthz?", "x/api/openapi.json#", "x@y/static", "", "a b", "127.0.0.1:99999999"],
)
def test_a_host_header_opens_no_door(office: Served, host: str) -> None:
    """From which Starlette once made up the path that a request is for."""
    for path in ("/api/datasets", "/api/office"):
        assert send(port(office), request("GET", path, {"Host": host})).status in (400, 401)


@pytest.mark.parametrize(
    "path",
    ["/%61pi/me", "//api/me", "/api//me", "/./api/me", "/static/../api/me", "/static/%2e%2e/api/me", "/healthz/../api/me",
     "/API/me", "/api/me/", "/api;x/me", "/api/me%00", "/api/me%2f", "http://127.0.0.1/api/me", "/api\\me", "*"],
)  # fmt: skip
def test_a_path_written_otherwise_opens_no_door(office: Served, path: str) -> None:
    reply = send(port(office), request("GET", path))
    assert reply.status in (307, 400, 401, 404)
    assert b"analyst" not in reply.data


# --- people who want more than is theirs --------------------------------------------------------------------------------


def test_what_one_may_not_ask_about_does_not_exist(office: Served, routes: list[tuple[str, str]]) -> None:
    """Word for word as if there were no such dataset."""
    with office.client("ana") as ana:
        for method, template in (route for route in routes if "{dataset}" in route[1]):
            hidden, none = call(ana, method, template, "calls"), call(ana, method, template, "no-such")
            assert hidden.status_code == none.status_code == 404, template
            assert hidden.text == none.text
        assert [dataset["dataset"] for dataset in ana.get("/api/datasets").json()["datasets"]] == ["votes", "stays"]


def test_an_analyst_does_not_do_what_is_the_owners(office: Served) -> None:
    for who, assistant in (("ana", False), ("iris", False), ("ana", True)):
        with office.client(who, assistant=assistant) as client:
            assert client.post("/api/datasets/votes/version", json={"version": "2"}).status_code == 403
            assert client.get("/api/office").status_code == 403
    with office.client("ana") as ana:
        assert ana.get("/api/datasets/votes/ledger").status_code == 403


def test_only_analysts_ask(office: Served) -> None:
    for who, assistant in (("olga", False), ("iris", False), ("olga", True)):
        with office.client(who, assistant=assistant) as client:
            assert client.post("/api/datasets/votes/ask", json=QUESTION).status_code == 403
            assert client.put("/api/datasets/votes/assistant", json={"epsilon": "1"}).status_code == 403


def test_an_auditor_sees_no_answers(office: Served) -> None:
    with office.client("ana") as ana, office.client("iris") as iris:
        asked = ana.post("/api/datasets/votes/ask", json=QUESTION).json()
        assert asked["answer"] in ("yes", "no")
        seen = iris.get("/api/datasets/votes/history").json()
        assert seen["charges"]
        assert not any("answer" in charge for charge in seen["charges"])


def test_one_analyst_does_not_see_anothers_answers(office: Served) -> None:
    with office.client("ana") as ana, office.client("ben") as ben, office.client("olga") as olga:
        number = ana.post("/api/datasets/stays/ask", json={**ABOUT_STAYS, "question": "avg(days) > 8"}).json()["request"]
        assert olga.post(f"/api/requests/{number}", json={"approve": True}).status_code == 200
        assert "answer" in ana.post("/api/datasets/stays/ask", json={"request": number}).json()
        charges = ben.get("/api/datasets/stays/history").json()["charges"]
        assert charges
        assert not any("answer" in charge for charge in charges)


def test_nobody_approves_their_own_question(office: Served) -> None:
    with office.client("ana") as ana, office.client("ben") as ben, office.client("olga") as olga:
        number = ana.post("/api/datasets/stays/ask", json=ABOUT_STAYS).json()["request"]
        for client, status in ((ana, 403), (ben, 404)):
            assert client.post(f"/api/requests/{number}", json={"approve": True}).status_code == status
        none = ben.post("/api/requests/999999", json={"approve": True})
        assert none.status_code == 404
        assert ben.post("/api/datasets/stays/ask", json={"request": number}).status_code == 404
        assert ana.post("/api/datasets/stays/ask", json={"request": number}).status_code == 403
        assert ana.post("/api/datasets/votes/ask", json={"request": number}).status_code == 404
        assert not any(one["request"] == number for one in ben.get("/api/requests").json()["requests"])
        assert olga.post(f"/api/requests/{number}", json={"approve": True}).json()["state"] == "approved"
        assert olga.post(f"/api/requests/{number}", json={"approve": False}).status_code == 403
        assert ana.post("/api/datasets/stays/ask", json={"request": number}).status_code == 200
        assert ana.post("/api/datasets/stays/ask", json={"request": number}).status_code == 403


def test_what_was_approved_is_what_is_asked(office: Served) -> None:
    """Terms beside the number of a request do not replace what was approved."""
    with office.client("ana") as ana, office.client("olga") as olga:
        cheap = {**ABOUT_STAYS, "question": "avg(days) > 7"}
        number = ana.post("/api/datasets/stays/ask", json=cheap).json()["request"]
        assert olga.post(f"/api/requests/{number}", json={"approve": True}).status_code == 200
        for more in ({**ABOUT_STAYS, "epsilon": "1"}, {"made_up": True}, {"again": True}):
            assert ana.post("/api/datasets/stays/ask", json={**more, "request": number}).status_code == 422
        answer = ana.post("/api/datasets/stays/ask", json={"request": number})
        assert (answer.json()["question"], answer.json()["terms"]["epsilon"]) == ("avg(days) > 7", "0.01")


def test_an_assistant_decides_nothing(office: Served) -> None:
    with (
        office.client("ana", assistant=True) as assistant,
        office.client("ana") as ana,
        office.client("olga", assistant=True) as other,
    ):
        waiting = assistant.post("/api/datasets/votes/ask", json=QUESTION)
        assert (waiting.status_code, waiting.json()["state"]) == (202, "waiting")
        number = waiting.json()["request"]
        for client in (assistant, other):
            assert client.post(f"/api/requests/{number}", json={"approve": True}).status_code in (403, 404)
        assert assistant.post("/api/datasets/votes/ask", json={"request": number}).status_code == 403
        assert assistant.put("/api/datasets/votes/assistant", json={"epsilon": "1"}).status_code == 403
        assert other.post("/api/datasets/votes/version", json={"version": "2"}).status_code == 403
        assert ana.post(f"/api/requests/{number}", json={"approve": True}).json()["state"] == "approved"
        assert assistant.post("/api/datasets/votes/ask", json={"request": number}).status_code == 200


def test_an_assistants_door_is_no_other(office: Served) -> None:
    """Model Context Protocol: strangers, other sites, nonsense, and a person's own token, which does not help."""
    kinds = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    asked = {"name": "ask", "arguments": {"dataset": "votes", "request": 1}}
    with stranger(office, None, 6) as client:
        assert client.post("/mcp", json=listed, headers=kinds).status_code == 401
        cookie, csrf = session(office)
        assert client.post("/mcp", json=listed, headers={**kinds, **cookie}).status_code == 403
        evil = {**kinds, **cookie, "X-CSRF": csrf, "Origin": "https://evil.example"}
        assert client.post("/mcp", json=listed, headers=evil).status_code == 403
    with office.client("ana") as ana:
        calls: list[Any] = [{}, {"name": "none"}, {"name": "ask", "arguments": 1}, asked]
        bodies = [json.dumps({**listed, "method": "tools/call", "params": call}).encode() for call in calls]
        bodies += [b"", b"{", b"[]", b"null", b"[" * 60_000, b'{"jsonrpc": "2.0", "id": {}, "method": 1}', b"\xff"]
        for body in bodies:
            answer = ana.post("/mcp", content=body, headers=kinds)
            assert answer.status_code < 500, body[:60]
            assert "Traceback" not in answer.text
        assert ana.get("/api/me").status_code == 200


def test_one_persons_previews_do_not_keep_others_waiting(office: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty that take for ever: some wait, some are refused, and meanwhile others are served."""
    end, previewed = threading.Event(), office.desk._previewed
    monkeypatch.setattr(office.desk, "_previewed", lambda *words: (end.wait(PATIENCE), previewed(*words))[1])

    def preview(_: int) -> int:
        with office.client("ana") as ana:
            return ana.post("/api/datasets/votes/preview", json=QUESTION).status_code

    with ThreadPoolExecutor(30) as pool:
        try:
            statuses = [pool.submit(preview, i) for i in range(30)]
            wait_until(lambda: any(status.done() for status in statuses), "a refusal")
            with office.client("iris") as iris:
                assert iris.get("/api/datasets").status_code == 200
            assert not end.is_set()
        finally:
            end.set()
    assert {status.result() for status in statuses} == {200, 429}


# --- pages of other sites -----------------------------------------------------------------------------------------------


def session(office: Served, who: str = "ana") -> tuple[dict[str, str], str]:
    """The cookie of somebody who has logged in, and what their forms carry."""
    with plain_client(office.url) as browser:
        reply = browser.post("/login", data={"token": office.token(who)})
        cookie = {"Cookie": f"{SESSION}={reply.cookies[SESSION]}"}
        csrf = re.search(r'name="csrf" value="(\w+)"', browser.get("/studio", headers=cookie).text)
    assert csrf is not None
    return cookie, csrf[1]


def test_a_session_is_for_our_own_pages(office: Served) -> None:
    cookie, csrf = session(office)
    ours = {**cookie, "X-CSRF": csrf, "Origin": office.url, "Sec-Fetch-Site": "same-origin"}
    foreign: list[dict[str, str | None]] = [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"{office.url}.evil.example"},
        {"Origin": office.url.replace("http:", "https:")},
        {"Origin": office.url.replace("127.0.0.1", "localhost")},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": None, "Sec-Fetch-Site": "cross-site"},
        {"X-CSRF": None},
        {"X-CSRF": ""},
        {"X-CSRF": csrf[:-1]},
        {"X-CSRF": csrf * 100},
        {"X-CSRF": None, "Origin": None, "Sec-Fetch-Site": None},
    ]
    with office.client(None) as browser:
        for path, body in (("preview", QUESTION), ("ask", QUESTION), ("plan", QUESTION)):
            for change in foreign:
                headers = {name: value for name, value in {**ours, **change}.items() if value is not None}
                answer = browser.post(f"/api/datasets/votes/{path}", json=body, headers=headers)
                assert (answer.status_code, answer.json()["kind"]) == (403, "not allowed"), change
            assert browser.post(f"/api/datasets/votes/{path}", json=body, headers=ours).status_code == 200
        assert browser.get("/api/me", headers=cookie).json()["name"] == "ana"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
def test_a_form_that_another_site_could_send_is_refused(office: Served, kind: str) -> None:
    """Without a preflight, which nobody answers here: browsers then send these kinds of bodies alone."""
    cookie, _ = session(office)
    for body in (json.dumps(QUESTION).encode(), b"csrf=", b"csrf=a&csrf=b", b"--x\r\nbroken", b"--x", b"&" * 5000, b"\xff\xfe"):
        with office.client(None) as browser:
            answer = browser.post("/api/datasets/votes/ask", content=body, headers={**cookie, "Content-Type": kind})
            assert (answer.status_code, answer.json()["kind"]) == (403, "not allowed"), body
            asked = {**cookie, "Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
            preflight = browser.options("/api/datasets/votes/ask", headers=asked)
            assert not [name for name in preflight.headers if name.startswith("access-control")]


def test_a_session_cannot_be_made_up(office: Served) -> None:
    cookie, _ = session(office)
    good = cookie["Cookie"].partition("=")[2]
    other = session(office, "olga")[0]["Cookie"].partition("=")[2]
    signed = URLSafeTimedSerializer(office.desk.records.secret("sign-in"), salt="session").dumps({"person": "olga"})
    with office.desk.records.engine.connect() as connection:
        kept = connection.execute(text("select id from duotone_sessions")).scalars().all()
    assert kept  # what is kept of sessions opens none
    wrong = [good[:-1], f"{good}A", good.swapcase(), good[: len(good) // 2] + other[len(other) // 2 :], signed, *kept]
    with office.client(None) as browser:
        for value in [*wrong, "", "x", "....", "A" * 5000]:
            answer = browser.get("/api/me", headers={"Cookie": f"{SESSION}={value}"})
            assert answer.status_code == 401, value


def test_a_session_ends_with_its_token(office: Served) -> None:
    token = office.tokens.add("ana")
    with office.client(None) as browser:
        cookie = {"Cookie": f"{SESSION}={browser.post('/login', data={'token': token}).cookies[SESSION]}"}
        browser.cookies.clear()
        assert browser.get("/api/me", headers=cookie).status_code == 200
        office.tokens.revoke("ana", token.split("_")[1])
        assert browser.get("/api/me", headers=cookie).status_code == 401


# --- bodies that are wrong ----------------------------------------------------------------------------------------------


BODIES = {
    "no number": b'{"question": "count(*) > 1", "epsilon": NaN}',
    "infinite": b'{"question": "count(*) > 1", "epsilon": -Infinity}',
    "huge": b'{"question": "count(*) > 1", "epsilon": "1e999999999"}',
    "many digits": b'{"question": "count(*) > 1", "epsilon": ' + b"9" * 4200 + b"}",
    "too many digits": b'{"question": "count(*) > 1", "epsilon": ' + b"9" * 5000 + b"}",
    "by nothing": b'{"question": "count(*) > 1", "epsilon": "1/0"}',
    "below 0": b'{"question": "count(*) > 1", "epsilon": -1}',
    "true": b'{"question": "count(*) > 1", "epsilon": true}',
    "tiny": b'{"question": "count(*) > 1", "epsilon": "1e-300"}',
    "a NUL": b'{"question": "\\u0000count(*) > 1", "epsilon": 1}',
    "half a character": b'{"question": "\\ud800", "epsilon": 1}',
    "another encoding": '{"question": "count(*) > 1"}'.encode("utf-16"),
    "not UTF-8": b'{"question": "\xff", "epsilon": 1}',
    "deep": b"[" * 60_000,
    "deep SQL": b'{"question": "' + b"(" * 1900 + b"count(*)" + b")" * 1900 + b' > 1", "epsilon": 1}',
    "long SQL": b'{"question": "count(*) > 1' + b"+1" * 3000 + b'", "epsilon": 1}',
    "two statements": b'{"question": "count(*) > 1; drop table votes", "epsilon": 1}',
    "a file": b'{"question": "select count(*) > 1 from read_csv(\'/etc/passwd\')", "epsilon": 1}',
    "a setting": b'{"question": "set enable_external_access = true", "epsilon": 1}',
    "the owner's to say": b'{"question": "count(*) > 1", "epsilon": 1, "unit": "vote"}',
    "unknown bounds": b'{"question": "avg(age) > 38", "epsilon": 1, "bounds": {"age": [0, 1]}}',
    "unknown neighbours": b'{"question": "avg(age) > 38", "epsilon": 1, "neighbours": "replace"}',
    "keys twice": b'{"question": "count(*) > 1", "epsilon": 0.0, "epsilon": -1}',
    "a list": b"[]",
    "null": b"null",
    "nothing": b"",
    "no JSON": b"question=count(*)",
}


@pytest.mark.parametrize("fault", BODIES)
@pytest.mark.parametrize("route", ["preview", "ask"])
def test_a_bad_body_is_refused_in_a_sentence(office: Served, route: str, fault: str) -> None:
    with office.client("ana") as ana:
        answer = ana.post(f"/api/datasets/votes/{route}", content=BODIES[fault], headers=JSON)
    assert answer.status_code in (400, 413, 422)
    assert answer.json().keys() == REFUSED
    assert len(answer.text) < 1500
    assert "Traceback" not in answer.text
    assert str(office.desk.office.file.parent) not in answer.text


def test_a_certificate_that_would_fill_the_memory_is_not_sent(office: Served) -> None:
    """Of an answer that costs next to nothing: 160 thousand levels, and at a tenth of that price ten times as many."""
    with office.client("ana") as ana:
        charge = ana.post("/api/datasets/votes/ask", json={**QUESTION, "epsilon": "0.001"}).json()["charge"]
        answer = ana.get(f"/api/datasets/votes/certificates/{charge}")
        assert (answer.status_code, answer.json()["kind"]) == (413, "too large")
        assert len(answer.content) < 500


@pytest.mark.slow
def test_no_bad_body_was_charged(office: Served) -> None:
    with office.client("ana") as ana:
        before = ana.get("/api/datasets/votes/budget").json()["spent"]
        for body in BODIES.values():
            ana.post("/api/datasets/votes/ask", content=body, headers=JSON)
        assert ana.get("/api/datasets/votes/budget").json()["spent"] == before


# --- bytes by hand ------------------------------------------------------------------------------------------------------


def post(office: Served, *headers: tuple[str, str], body: bytes = b"", path: str = "/api/datasets/votes/preview") -> bytes:
    return request("POST", path, [*bearer(office).items(), *JSON.items(), *headers], body)


def test_a_body_is_measured_before_and_while_it_comes(office: Served) -> None:
    """Else it would be too slow, and not too large: the rest of it never comes."""
    one = b"10000\r\n" + b"A" * 0x10000 + b"\r\n"
    for pieces in (
        [post(office, ("Content-Length", "1000000000000"))],
        [post(office, ("Content-Length", "65537"))],
        [post(office, ("Transfer-Encoding", "chunked")), one, one],
    ):
        reply = send(port(office), *pieces)
        assert (reply.status, reply.document["kind"]) == (413, "too large")


def test_a_body_without_length_is_read_in_chunks(office: Served) -> None:
    text = json.dumps(QUESTION).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (text[:7], text[7:])) + b"0\r\n\r\n"
    assert send(port(office), post(office, ("Transfer-Encoding", "chunked"), body=chunks)).status == 200


@pytest.mark.parametrize(
    "pieces",
    [[b"{"] * 40, [b""], [b'{"question": "count(*) > 1", '], [b"1\r\n{\r\n"] * 40],
    ids=["drop by drop", "nothing", "the half of it", "chunk by chunk"],
)
def test_a_slow_body_is_given_up(hurried: Served, pieces: list[bytes]) -> None:
    length = ("Transfer-Encoding", "chunked") if b"\r\n" in pieces[0] else ("Content-Length", "60")
    reply = send(port(hurried), post(hurried, length), *pieces[:12], pause=0.05)
    assert reply.status in (408, 422)


@pytest.mark.parametrize("pieces", [[], [b"GET /api/me HTT"], [b"GET /api/me HTTP/1.1\r\nHost: x\r\n"] + [b"X-a: b\r\n"] * 12])
def test_a_slow_head_is_given_up(hurried: Served, pieces: list[bytes]) -> None:
    reply = send(port(hurried), *pieces, pause=0.05)
    assert reply.status in (None, 400, 408)


def test_the_second_request_of_a_connection_is_given_up_as_well(hurried: Served) -> None:
    first = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    reply = send(port(hurried), first, b"GET /healthz HTT", *[b"P"] * 12, pause=0.05)
    assert reply.status == 200


def test_a_request_that_is_cut_off_does_no_harm(office: Served) -> None:
    whole = post(office, ("Content-Length", "60"), body=b'{"question": "count(*)')
    for end in range(0, len(whole), 23):
        reply = send(port(office), whole[:end], finish=True)
        assert reply.status in (None, 400, 408, 422)
    with office.client("ana") as ana:
        assert ana.get("/api/me").status_code == 200


SMUGGLED: dict[str, list[tuple[str, str]]] = {
    "two lengths": [("Content-Length", "2"), ("Content-Length", "60")],
    "length and chunks": [("Content-Length", "5"), ("Transfer-Encoding", "chunked")],
    "a list of lengths": [("Content-Length", "2, 3")],
    "below 0": [("Content-Length", "-1")],
    "signed": [("Content-Length", "+2")],
    "no number": [("Content-Length", "0x10")],
    "another coding": [("Transfer-Encoding", "gzip, chunked")],
    "an unknown coding": [("Transfer-Encoding", "x")],
    "a space in a name": [("Content-Length ", "2")],
    "a line folded": [("X-A", "b\r\n Content-Length: 60")],
    "a NUL": [("X-A", "\0")],
    "a bare return": [("X-A", "b\rX-B: c")],
    "long": [("X-A", "b" * 200_000)],
    "many": [(f"X-{i}", "b" * 50) for i in range(5000)],
}


@pytest.mark.parametrize("fault", SMUGGLED)
def test_what_could_be_read_in_two_ways_is_refused(hurried: Served, fault: str) -> None:
    hidden = b"0\r\n\r\nGET /api/me HTTP/1.1\r\nHost: x\r\n\r\n"
    reply = send(port(hurried), post(hurried, *SMUGGLED[fault], body=hidden))
    assert reply.data.count(b"HTTP/1.1 ") <= 1
    assert reply.status in (None, 400, 408, 413, 422, 501)
    assert b'"name"' not in reply.data


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "DELETE", "PATCH", "PROPFIND", "X" * 5000, "HEAD", "OPTIONS"])
def test_other_methods_do_nothing(office: Served, method: str) -> None:
    reply = send(port(office), request(method, "/api/datasets/votes/ask", bearer(office)))
    assert reply.status in (400, 404, 405)
    assert not any(line.lower().startswith("access-control") for line in reply.headers)


@pytest.mark.parametrize(
    "path",
    ["/static/../office.toml", "/static/..%2foffice.toml", "/static/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/static//etc/passwd",
     "/static/..\\..\\etc\\passwd", "/static/%00", "/static/....//....//etc/passwd", "/static/%252e%252e/etc/passwd",
     "/static/%c0%ae%c0%ae/etc/passwd", "/../../../../etc/passwd", "/static/" + "a/" * 3000, "/static/" + "%2e%2e%2f" * 500],
)  # fmt: skip
def test_no_path_leads_out(office: Served, path: str) -> None:
    reply = send(port(office), request("GET", path))
    assert reply.status in (303, 307, 400, 401, 404, 405)
    assert b"root:" not in reply.data
    assert b"ledger =" not in reply.data


@pytest.mark.parametrize(
    "name", ["..%2Fvotes", "%2e%2e", "votes%00", "votes%0d%0aX-Evil:%201", "votes/../other", "a" * 300, "%ff"]
)
def test_no_name_of_a_dataset_leads_out(office: Served, name: str) -> None:
    """A name is looked up among those of the office, and never is a path."""
    for route in ("", "/history", "/certificates/1", "/made-up"):
        reply = send(port(office), request("GET", f"/api/datasets/{name}{route}", bearer(office)))
        assert reply.status in (400, 404, 422)
        assert not any(line.lower().startswith("x-evil") for line in reply.headers)


@pytest.mark.parametrize("charge", ["0", "-1", "1.5", "9" * 400, "1e3", "0x1", "١", "%31%00", "2147483648"])
def test_numbers_of_charges_are_numbers(office: Served, charge: str) -> None:
    with office.client("ana") as ana:
        answer = ana.get(f"/api/datasets/votes/certificates/{charge}")
        assert answer.status_code in (404, 422)
        assert ana.post(f"/api/requests/{charge}", json={"approve": True}).status_code in (404, 422)


def test_every_reply_has_the_headers_that_protect_a_browser(office: Served) -> None:
    with office.client("ana") as ana, office.client(None) as stranger:
        for answer in (ana.get("/api/me"), ana.get("/api/none"), stranger.get("/api/me"), stranger.get("/healthz")):
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"
            assert "server" not in {*answer.headers} or not re.search(r"\d", answer.headers["server"])
