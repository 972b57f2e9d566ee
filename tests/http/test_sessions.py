"""Sessions end: by logging out, by revocation, by removal from the office file, by time, by the owner, by the provider."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from duotone.desk.log import log_to
from duotone.desk.office import Office
from duotone.http import auth as members
from duotone.http.app import open_desk, service
from duotone.http.auth import SESSION
from duotone.http.tokens import DAYS, Tokens
from support.identity_provider import IdentityProvider, claims_now, forged
from support.identity_provider import running as running_provider
from support.offices import HEAD, PEOPLE, VOTES, AtDesk, at_desk, lines_of, make_office

ONLY_VOTES = PEOPLE.replace(', "stays", "calls"', "")
OPENID = """
[openid]
issuer = "{issuer}"
client_id = "ES256"
"""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The office file is looked at with every request, so that no test waits a second."""
    monkeypatch.setattr(members, "EVERY", 0.0)


@pytest.fixture(name="office")
def _office(tmp_path: Path) -> Office:
    return make_office(tmp_path, VOTES, people=ONLY_VOTES)


@contextmanager
def opened(office: Office) -> Iterator[tuple[AtDesk, TestClient]]:
    with at_desk(office) as desk:
        yield desk, TestClient(service(desk.desk), follow_redirects=False)


def cookie_of(browser: TestClient, token: str) -> dict[str, str]:
    """Of somebody who logs in with this token, from now on without the browser's help: as a thief would use it."""
    reply = browser.post("/login", data={"token": token})
    browser.cookies.clear()
    assert "httponly" in reply.headers["set-cookie"].lower()
    return {"cookie": f"{SESSION}={reply.cookies[SESSION]}"}


def status(browser: TestClient, cookie: dict[str, str]) -> int:
    return browser.get("/api/me", headers=cookie).status_code


def csrf_of(browser: TestClient, cookie: dict[str, str]) -> str:
    field = re.search(r'name="csrf" value="(\w+)"', browser.get("/studio", headers=cookie).text)
    assert field is not None
    return field[1]


def test_a_cookie_is_of_no_use_after_logging_out(office: Office) -> None:
    token = Tokens(office.tokens_place).add("ana")
    with opened(office) as (_, browser):
        mine, other = cookie_of(browser, token), cookie_of(browser, token)
        assert browser.post("/logout", headers=mine).status_code == 403  # another site's form
        assert status(browser, mine) == 200
        reply = browser.post("/logout", headers=mine, data={"csrf": csrf_of(browser, mine)})
        assert (reply.status_code, reply.headers["location"]) == (303, "/login")
        assert [status(browser, mine), status(browser, other)] == [401, 200]


def test_whoever_is_taken_out_of_the_office_file_is_out(office: Office) -> None:
    """With a session and with a token, without a restart; put back, only the token counts, from the next start on."""
    token, olgas = (Tokens(office.tokens_place).add(name) for name in ("ana", "olga"))
    with opened(office) as (_, browser):
        cookie, bearer, owner = cookie_of(browser, token), {"authorization": f"Bearer {token}"}, cookie_of(browser, olgas)
        assert [status(browser, who) for who in (cookie, bearer, owner)] == [200, 200, 200]
        without = re.sub(r"\[people\.ana\]\n.*\n.*\n", "", office.text)
        office.file.write_text(without, encoding="utf-8")
        assert [status(browser, who) for who in (cookie, bearer, owner)] == [401, 401, 200]
        office.file.write_text(office.text, encoding="utf-8")
        assert [status(browser, who) for who in (cookie, bearer, owner)] == [401, 200, 200]


def test_what_the_office_file_takes_away_is_gone_and_what_it_gives_waits(office: Office) -> None:
    token = {name: {"authorization": f"Bearer {Tokens(office.tokens_place).add(name)}"} for name in ("ana", "iris")}
    with opened(office) as (_, browser):
        assert [browser.get("/api/datasets/votes", headers=token[who]).status_code for who in token] == [200, 200]
        promoted = office.text.replace('role = "auditor"', 'role = "owner"') + '[people.zoe]\nrole = "owner"\n'
        office.file.write_text(promoted.replace(ONLY_VOTES.partition("[people.ben]")[0], PEOPLE.partition("[people.ben]")[0]))
        assert status(browser, token["ana"]) == 200  # a mistake in the file: ana is to ask what is not there
        Tokens(office.tokens_place).add("zoe")
        office.file.write_text(promoted, encoding="utf-8")
        assert status(browser, token["iris"]) == 401  # a new role counts from the next start
        zoes = Tokens(office.tokens_place).add("zoe")
        assert status(browser, {"authorization": f"Bearer {zoes}"}) == 401


@pytest.mark.parametrize("bad", ["", "no = toml = at all", "[people.olga]\nrole = 'none'\n", None])
def test_a_bad_office_file_ends_nobody_and_is_logged(office: Office, tmp_path: Path, bad: str | None) -> None:
    token = Tokens(office.tokens_place).add("ana")
    log_to(tmp_path / "log")
    with opened(office) as (_, browser):
        cookie = cookie_of(browser, token)
        if bad is None:
            office.file.unlink()
        else:
            office.file.write_text(bad, encoding="utf-8")
        assert [status(browser, cookie) for _ in range(3)] == [200, 200, 200]
    log_to(None)
    errors = [line for line in lines_of((tmp_path / "log").read_text()) if line["level"] == "error"]
    assert [line["what"] for line in errors] == ["the office file cannot be used: its people stay who they were"]


def test_a_session_ends_after_twelve_hours_and_with_its_token(office: Office) -> None:
    tokens = Tokens(office.tokens_place)
    token = tokens.add("ana", days=1)
    with opened(office) as (desk, browser):
        cookie = cookie_of(browser, token)
        reply = browser.post("/login", data={"token": token})
        browser.cookies.clear()
        assert "Max-Age=43200" in reply.headers["set-cookie"]
        for hours, expected in ((11.9, 200), (12.1, 401)):
            with desk.desk.records.engine.begin() as connection:
                moved = {"made": int(time.time() - hours * 3600)}
                connection.execute(text("update duotone_sessions set made = :made, expires = :made + 43200"), moved)
            assert status(browser, cookie) == expected
        cookie = cookie_of(browser, token)
        kept = json.loads(office.tokens_place.read_text())
        kept["tokens"][0]["expires"] = "2026-01-01T00:00:00+00:00"
        office.tokens_place.write_text(json.dumps(kept))
        assert status(browser, cookie) == 401


def test_the_owner_lists_and_ends_sessions(office: Office, tmp_path: Path) -> None:
    tokens = {who: Tokens(office.tokens_place).add(who) for who in ("ana", "olga")}
    helper = {"authorization": f"Bearer {Tokens(office.tokens_place).add('olga', assistant=True)}"}
    log_to(tmp_path / "log")
    with opened(office) as (_, browser):
        cookies = [cookie_of(browser, tokens["ana"]) for _ in range(3)]
        owner = {"authorization": f"Bearer {tokens['olga']}"}
        listed = browser.get("/api/sessions", headers=owner).json()["sessions"]
        assert [(one["person"], one["token"]) for one in listed] == [("ana", tokens["ana"].split("_")[1])] * 3
        assert all(cookie["cookie"].partition("=")[2] not in json.dumps(listed) for cookie in cookies)
        first = f"/api/sessions/{listed[0]['session']}"
        for stranger in ({"authorization": f"Bearer {tokens['ana']}"}, helper):
            replies = browser.get("/api/sessions", headers=stranger), browser.delete(first, headers=stranger)
            assert [reply.status_code for reply in replies] == [403, 403]
        assert browser.delete(first, headers=owner).json()["ended"] is True
        assert browser.delete(first, headers=owner).status_code == 404
        assert sorted(status(browser, cookie) for cookie in cookies) == [200, 200, 401]
        mine = cookie_of(browser, tokens["olga"])  # the page
        page, second = browser.get("/owner", headers=mine).text, f"/owner/sessions/{listed[1]['session']}/end"
        assert second in page
        assert first.rpartition("/")[2] not in page
        assert browser.post(second, headers=mine, data={"csrf": csrf_of(browser, mine)}).headers["location"] == "/owner"
        assert sorted(status(browser, cookie) for cookie in cookies) == [200, 401, 401]
    log_to(None)
    lines = [line for line in lines_of((tmp_path / "log").read_text()) if line["what"] == "a session ended"]
    ended = {listed[0]["session"], listed[1]["session"]}
    assert {(line["by"], line["whose"], line["session"]) for line in lines} == {("olga", "ana", one) for one in ended}


def share_sessions(office: Office) -> None:
    token = Tokens(office.tokens_place).add("ana")
    desks = [open_desk(office) for _ in range(2)]
    one, two = (TestClient(service(desk), follow_redirects=False) for desk in desks)
    cookie, other = cookie_of(one, token), cookie_of(two, token)
    assert [status(client, each) for client in (one, two) for each in (cookie, other)] == [200] * 4
    two.post("/logout", headers=cookie, data={"csrf": csrf_of(two, cookie)})
    assert [status(client, each) for client in (one, two) for each in (cookie, other)] == [401, 200, 401, 200]
    assert [one.get("/readyz").status_code, two.get("/readyz").status_code] == [200, 200]
    for desk in desks:
        desk.close()


def test_processes_share_sessions(office: Office) -> None:
    """One that begins in one process holds in the other, and ends in both."""
    share_sessions(office)


@pytest.mark.slow
def test_processes_share_sessions_on_postgres(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_URL", database)
    head = HEAD.replace('"budget.ledger"', '"env:LEDGER_URL"')
    share_sessions(make_office(tmp_path, VOTES, head=head, people=ONLY_VOTES))


def test_a_token_ends_by_itself(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens")
    tokens.add("ana")
    (kept,) = json.loads((tmp_path / "tokens").read_text())["tokens"]
    days = (time.mktime(time.strptime(kept["expires"][:10], "%Y-%m-%d")) - time.time()) / 86400
    assert DAYS - 2 < days < DAYS + 1


# --- signed in elsewhere ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", name="identity")
def _identity() -> Iterator[IdentityProvider]:
    with running_provider() as identity:
        yield identity


def logout_token(identity: IdentityProvider, key: str = "ec", typ: str = "logout+jwt", **changes: object) -> str:
    event: dict[str, object] = {"http://schemas.openid.net/event/backchannel-logout": {}}
    about = {"email": None, "email_verified": None, "events": event, "jti": "1", **changes}
    return forged(claims_now(identity.issuer, "ES256", **about), identity.keys[key], alg="ES256", kid=key, typ=typ)


@pytest.mark.slow
def test_sessions_of_a_sign_in_elsewhere_end(identity: IdentityProvider, tmp_path: Path) -> None:
    """When the provider says so, with the person's subject in the office file, and after an hour."""
    people = ONLY_VOTES.replace("[people.ben]", 'subject = "ada@example.org"\n[people.ben]')
    office = make_office(tmp_path, VOTES, people=people + OPENID.format(issuer=identity.issuer))
    now = time.time()
    with opened(office) as (desk, browser):

        def signed_in(sid: str, **others: object) -> dict[str, str]:
            claims = claims_now(identity.issuer, "ES256", **{"sid": sid, "exp": int(now) + 7200, **others})
            return cookie_of(browser, forged(claims, identity.keys["ec"], alg="ES256", kid="ec"))

        def says(token: str) -> int:
            return browser.post("/login/openid/logout", data={"logout_token": token}).status_code

        one, two = signed_in("a"), signed_in("b")
        assert [status(browser, one), status(browser, two)] == [200, 200]
        claims = claims_now(identity.issuer, "ES256", sid="a")
        wrong = {
            "an ID token": forged(claims, identity.keys["ec"], alg="ES256", kid="ec"),
            "another client's": logout_token(identity, aud="office", sid="a"),
            "of another issuer": logout_token(identity, iss="https://a.example", sid="a"),
            "old": logout_token(identity, iat=int(now) - 1000, sid="a"),
            "expired": logout_token(identity, exp=int(now) - 100, sid="a"),
            "without an end": logout_token(identity, exp=None, sid="a"),
            "with a nonce": logout_token(identity, nonce="1", sid="a"),
            "about nobody": logout_token(identity, sub=None),
            "about an empty session": logout_token(identity, sub=None, sid=""),
            "of another event": logout_token(identity, events={"other": {}}, sid="a"),
            "not signed": forged(claims, None, alg="none"),
            "nothing": "",
        }
        for fault, token in wrong.items():
            assert says(token) == 401, fault
        assert [status(browser, one), status(browser, two)] == [200, 200]
        assert says(logout_token(identity, sub=None, sid="a")) == 200
        assert [status(browser, one), status(browser, two)] == [401, 200]
        assert says(logout_token(identity)) == 200
        assert status(browser, two) == 401
        short = signed_in("c", exp=int(now) + 600)
        expiries = [one["expires"] for one in browser.get("/api/sessions", headers=_owner(office)).json()["sessions"]]
        assert expiries == [time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(int(now) + 600))]
        assert status(browser, short) == 200
        with desk.desk.records.engine.connect() as connection:
            assert connection.execute(text("select count(*) from duotone_sessions where expires - made > 3600")).scalar() == 0
        office.file.write_text(office.text.replace("ada@example.org", "eve@example.org"), encoding="utf-8")
        assert status(browser, short) == 401


def _owner(office: Office) -> dict[str, str]:
    return {"authorization": f"Bearer {Tokens(office.tokens_place).add('olga')}"}
