"""What whoever keeps a service running relies on: readiness, log rotation, audit lines, and counts that are kept apart."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from duotone.desk import approvals
from duotone.desk.callers import Caller
from duotone.desk.log import log_to
from duotone.desk.office import Office
from duotone.http import health
from duotone.http.app import service
from duotone.http.tokens import Tokens
from support.offices import PEOPLE, STAYS, VOTES, AtDesk, at_desk, lines_of, make_office

TERMS = {"question": "count(*) > 1", "epsilon": "0.01", "delta": "1e-9"}


@pytest.fixture(name="office")
def _office(tmp_path: Path) -> Office:
    return make_office(tmp_path, VOTES, STAYS, people=PEOPLE.replace(', "calls"', ""))


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Iterator[Path]:
    log_to(tmp_path / "log")
    yield tmp_path / "log"
    log_to(None)


@pytest.mark.parametrize(
    ("gone", "part"), [("budget.ledger", "ledger"), ("budget.ledger.office", "records"), ("votes.parquet", "tables")]
)
def test_a_service_without_what_it_needs_lives_and_is_not_ready(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str, part: str
) -> None:
    monkeypatch.setattr(health, "EVERY", 0.0)
    with at_desk(office) as opened:
        client = TestClient(service(opened.desk))
        assert client.get("/readyz").json() == {"status": "ready", "ledger": True, "records": True, "tables": True}
        for file in [tmp_path / gone, tmp_path / f"{gone}-wal", tmp_path / f"{gone}-shm"]:
            if file.exists():
                file.rename(f"{file}.away")
        reply = client.get("/readyz")
        assert reply.status_code == 503
        assert reply.json() == {"status": "not ready", "ledger": True, "records": True, "tables": True} | {part: False}
        assert client.get("/healthz").status_code == 200
        for file in tmp_path.glob("*.away"):
            file.rename(str(file).removesuffix(".away"))
        assert client.get("/readyz").status_code == 200


def test_one_look_serves_many(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger who asks all the time makes nobody open tables all the time."""
    looks, look = Counter[str](), health.Readiness._look

    def counted(self: health.Readiness) -> dict[health.Part, bool]:
        looks["look"] += 1
        return look(self)

    monkeypatch.setattr(health.Readiness, "_look", counted)
    with at_desk(office) as opened, TestClient(service(opened.desk)) as client:
        assert {client.get("/readyz").status_code for _ in range(20)} == {200}
    assert looks.total() == 1


def test_a_log_that_is_moved_away_is_made_anew(office: Office, log: Path) -> None:
    with at_desk(office) as opened:
        client = TestClient(service(opened.desk))
        client.get("/healthz")
        log.rename(f"{log}.1")
        client.get("/healthz")
        assert [len(lines_of(Path(name).read_text())) for name in (str(log), f"{log}.1")] == [1, 1]


def test_decisions_leave_lines(office: Office, log: Path) -> None:
    """Who approved, relabelled, allowed; which tokens came and went; and no question, purpose or secret."""
    tokens = Tokens(office.tokens_place)
    olgas = tokens.add("olga")
    with at_desk(office) as opened:
        client = TestClient(service(opened.desk))
        assert client.get("/api/me", headers={"authorization": f"Bearer {olgas}"}).status_code == 200
        anas = tokens.add("ana")
        assert client.get("/api/me", headers={"authorization": f"Bearer {anas}"}).status_code == 200
        first = opened.approved("ana", "stays", question="avg(days) > 3", epsilon="0.1", delta="1e-6")
        second = opened.ask("ana", "stays", question="avg(days) > 4", epsilon="0.1", delta="1e-6", purpose="secret aim")[1]
        opened.now(opened.desk.decide(opened.caller("otto"), second["request"], False))
        opened.now(opened.desk.relabel(opened.caller("olga"), "votes", "spring"))
        opened.now(opened.desk.allow_assistant(opened.caller("ana"), "votes", {"epsilon": "0.1"}))
        tokens.revoke("ana")
        assert client.get("/api/me", headers={"authorization": f"Bearer {anas}"}).status_code == 401
    text = log.read_text()
    lines = [
        {k: v for k, v in line.items() if k not in ("at", "level")} for line in lines_of(text) if line["what"] != "request"
    ]
    ident = [token.split("_")[1] for token in (olgas, anas)]
    assert lines == [
        {"what": "tokens at the start", "token": ident[:1]},
        {"what": "a token was added", "whose": "ana", "token": ident[1]},
        {"what": "a request was approved", "by": "olga", "whose": "ana", "request": first, "dataset": "stays"},
        {"what": "a request was refused", "by": "otto", "whose": "ana", "request": second["request"], "dataset": "stays"},
        {"what": "data was relabelled", "by": "olga", "dataset": "votes", "label": "spring"},
        {"what": "an assistant's allowance was set", "by": "ana", "dataset": "votes"},
        {"what": "a token was revoked", "whose": "ana", "token": ident[1]},
    ]
    assert not [secret for secret in (olgas, anas, "avg(days)", "secret aim") if secret in text]


def test_an_assistants_plans_do_not_keep_its_person_from_asking(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "MOST_WAITING", 3)
    with at_desk(office) as opened:
        ana = opened.caller("ana")
        helper = Caller(ana.person, assistant=True)
        planned = [_planned(opened, helper, "votes") for _ in range(4)]
        assert planned == [200, 200, 200, 429]
        assert [_planned(opened, ana, "stays") for _ in range(4)] == [200, 200, 200, 429]
        assert _planned(opened, helper, "votes") == 429


def _planned(opened: AtDesk, caller: Caller, dataset: str) -> int:
    about = {**TERMS, "question": "count(distinct patient) > 1"} if dataset == "stays" else TERMS
    status, document = opened.now(opened.desk.plan(caller, dataset, {**about, "purpose": "to see"}))
    assert status in (200, 429), json.dumps(document)
    return status
