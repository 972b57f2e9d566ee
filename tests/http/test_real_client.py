"""The client and an assistant against the real service."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from duotone import OverBudget, ask, connect, prepare
from duotone.client.answers import RemoteAnswers, Waiting
from duotone.client.connect import Connection
from duotone.errors import ServiceError
from duotone.line.table import Outcome
from support.assistants import Assistant, Failed, over_http, over_stdio, played
from support.offices import Served, make_office, serving

ROOT = Path(__file__).parents[2]
MAJORITY = "count(*) filter (where vote = 'Y') > count(*) filter (where vote = 'N')"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(make_office(tmp_path)) as running:
        yield running


@pytest.fixture
def ana(served: Served) -> Iterator[Connection]:
    with connect(served.url, token=served.token("ana")) as connection:
        yield connection


def test_what_is_asked_there_is_what_would_be_asked_here(ana: Connection, tmp_path: Path) -> None:
    """The same answer, sentence, notes and errors as of the table itself."""
    table, about = tmp_path / "votes.parquet", {"bounds": {"age": (0, 100)}}
    for question, epsilon in ((MAJORITY, "0.5"), ("avg(age) > 35", "0.25")):
        there = ana.ask("votes", question, epsilon=epsilon, delta="1e-6")
        declared = about if "age" in question else {}
        here = ask(table, question, epsilon=epsilon, delta="1e-6", **declared)  # type: ignore[arg-type]
        assert isinstance(there, RemoteAnswers)
        assert (bool(there), str(there), dict(there.answers)) == (bool(here), str(here), dict(here.answers))
        assert there == True  # noqa: E712
        assert there.notes == here.notes
        assert unsure(there.quote().partition(", “")[2]) == unsure(here.quote().partition(", “")[2])
        certificate = {name: value for name, value in there.certificate().items() if name != "basis"}
        assert certificate == {name: value for name, value in here.certificate().items() if name != "basis"}
        preview = ana.preview("votes", question, epsilon=epsilon, delta="1e-6", people=1000)
        with prepare(table, question, epsilon=epsilon, delta="1e-6", **declared) as prepared:  # type: ignore[arg-type]
            assert [preview.error(m) for m in range(1, 40)] == pytest.approx(
                [prepared.error(m) for m in range(1, 40)], rel=1e-9
            )
            assert preview.certain == max(prepared.accuracy.never)
            assert preview.in_units == json.loads(json.dumps(prepared.preview(1000).document()))
        assert preview.price == "free, as recorded"


def unsure(quote: str) -> str:
    """A quote without how sure the answer is, which is drawn."""
    return re.sub(r"(?<=, )(certain|p = [\d.e-]+) \(.*?\)", "", quote)


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        (MAJORITY, {"epsilon": "1/2", "delta": "1e-6"}),
        (MAJORITY, {"epsilon": "0.3"}),  # noise without ends
        ("avg(age) > 39", {"epsilon": "0.7", "delta": "1e-5", "costs": (10, 1)}),
        ("select town, count(*) > 498 from votes group by town", {"epsilon": "0.5", "delta": "1e-6"}),
        ("select town, avg(age) > 40 from votes group by town", {"epsilon": "0.4", "delta": "1e-7", "costs": ("1/3", 1)}),
    ],
)
def test_how_sure_an_answer_is_is_as_the_service_says(
    ana: Connection, tmp_path: Path, question: str, terms: dict[str, Any]
) -> None:
    """The client makes the noise anew from the share of the budget: what it says is what the service says, and a local one."""
    there = ana.ask("votes", question, **terms)
    assert isinstance(there, RemoteAnswers)
    here = ask(tmp_path / "votes.parquet", question, **terms, bounds={"age": (0, 100)} if "age" in question else {},
               groups={"town": ["Ely", "Wells"]} if "town" in question else None)  # fmt: skip
    sent = there.document["margins"] if there.grouped else [there.document]
    said = [{name: own[name] for name in margin.numbers()} for own, margin in zip(sent, there.margins.values(), strict=True)]
    assert [margin.numbers() for margin in there.margins.values()] == said
    assert list(there.margins) == list(there.answers) == list(here.margins)
    for key, margin in there.margins.items():
        assert replace(margin.noise, cap=None) == replace(here.margins[key].noise, cap=None)  # which a count does not have
        assert margin.answer is there.answers[key]
    if not there.grouped:
        assert (there.margin, there.certain, there.p_value) == (said[0]["margin"], said[0]["certain"], said[0]["p_value"])
        assert there.how_sure in repr(there)
    recorded = ana.history("votes")["charges"][0]
    words = [word for _, word in recorded["answer"]] if there.grouped else [recorded["answer"]]
    if there.estimates:  # of a count, whatever its limit
        assert (
            list(there.estimates.values())
            == [own["estimate"] for own in recorded["margins"]]
            == [own["estimate"] for own in sent]
        )
        assert words == ["count"] * len(words)
    else:
        assert recorded["margins"] == said
        assert words == list(there.words.values())


def test_groups_and_everything_else(ana: Connection) -> None:
    by_town = ana.ask("votes", "select town, count(*) > 100 from votes group by town", epsilon="0.5")
    assert isinstance(by_town, RemoteAnswers)
    assert by_town.answers == {("Ely",): True, ("Wells",): True}
    shown = ana.groups("votes", "town", epsilon="0.5", delta="1e-6")
    assert isinstance(shown, RemoteAnswers)
    assert list(shown.answers) == [("Ely",), ("Wells",)]
    tried = ana.ask("votes", MAJORITY, epsilon="0.5", made_up=True)
    assert isinstance(tried, RemoteAnswers)
    assert "made-up" in str(tried)
    assert set(ana.datasets()) == {"votes", "stays", "calls"}
    table = ana.made_up("votes")
    assert table.column_names == ["vote", "age", "town"]
    assert table.num_rows == 1000
    history = ana.history("votes")
    assert len(history["charges"]) == 2
    assert ana.budget("votes")["left"]
    assert ana.me() == {"name": "ana", "role": "analyst", "assistant": False}
    with pytest.raises(OverBudget, match="does not fit into the budget of votes"):
        ana.ask("votes", MAJORITY, epsilon="1.5")
    with pytest.raises(ServiceError, match="no column name") as raised:
        ana.preview("votes", "count(name) > 3", epsilon=1)
    assert raised.value.kind == "bad question"
    with pytest.raises(ServiceError, match=r"needs bounds: .*; here the owner of the dataset declares that$"):
        ana.preview("calls", "avg(x) > 1/2")
    priced = ana.preview("votes", MAJORITY, wrong=0.01, people=10, delta="1e-6")
    assert 0 < priced.error(10) <= 0.01


def test_close_calls_and_approval(ana: Connection, served: Served) -> None:
    reply = ana.ask("calls", "avg(x = 1) > 1/2")
    assert isinstance(reply, RemoteAnswers)
    assert reply.answer is Outcome.TOO_CLOSE
    assert ana.ask("calls", "count(*) > 10") == True  # noqa: E712
    assert ana.preview("calls", "avg(x = 1) > 0.4").close_calls
    with pytest.raises(ServiceError, match="purpose"):
        ana.ask("stays", "avg(days) > 5", epsilon="0.5")
    waiting = ana.ask("stays", "avg(days) > 5", epsilon="0.5", purpose="a report")
    assert isinstance(waiting, Waiting)
    assert waiting.needs == "another person"
    with pytest.raises(ServiceError, match="still waits"):
        ana.ask("stays", request=waiting.request)
    with connect(served.url, token=served.token("olga")) as owner:
        assert owner.requests()[0]["may_decide"]
        assert owner.decide(waiting.request, True)["state"] == "approved"
    assert isinstance(ana.ask("stays", request=waiting.request), RemoteAnswers)


async def assistants_play(assistant: Assistant) -> None:
    """Lists tools, previews, plans and asks within the allowance, and is refused beyond it."""
    assert "ask_planned" in await assistant.tools()
    assert {one["dataset"] for one in (await assistant.use("list_datasets"))["datasets"]} == {"votes", "stays", "calls"}
    terms = {"dataset": "votes", "question": MAJORITY, "epsilon": "0.5", "delta": "1e-6"}
    preview = await assistant.use("preview_question", **terms)
    assert preview["ledger"]["fits"]
    plan = await assistant.use("plan_question", **terms)
    assert (plan["state"], plan["preview"]["terms"]["epsilon"]) == ("approved", "0.5")
    answer = await assistant.use("ask_planned", plan=plan["plan"])
    assert answer["answer"] == "yes"
    more = await assistant.use("plan_question", **{**terms, "question": "count(*) > 900"})
    assert more["state"] == "waiting"
    with pytest.raises(Failed, match=r"it waits for your person to approve it"):
        await assistant.use("ask_planned", plan=more["plan"])
    assert len((await assistant.use("history", dataset="votes"))["charges"]) == 1
    proof = await assistant.use("certificate", dataset="votes", charge=answer["charge"])
    check = [sys.executable, str(ROOT / "tools" / "check_certificate.py"), "/dev/stdin"]
    assert subprocess.run(check, input=json.dumps(proof), capture_output=True, text=True).returncode == 0
    assert (await assistant.use("budget_left", dataset="votes"))["left"]["epsilon"] == 1.5
    with pytest.raises(Failed, match="no column name"):
        await assistant.use("preview_question", **{**terms, "question": "count(name) > 3"})
    with pytest.raises(Failed, match="no such dataset"):
        await assistant.use("budget_left", dataset="other")
    with pytest.raises(Failed, match=r"^unit cannot be given"):
        await assistant.use("plan_question", **terms, unit="town")


@pytest.mark.parametrize("way", [over_http, over_stdio])
def test_an_assistant_asks_within_its_allowance_and_no_further(way: Any, ana: Connection, served: Served) -> None:
    ana.allow_assistant("votes", epsilon="0.5", delta="1e-6")
    token = served.token("ana", assistant=True)
    played(way(served.url, token), assistants_play)
    waiting = next(one for one in ana.requests() if one["state"] == "waiting")
    assert waiting["may_decide"]
    ana.decide(waiting["request"], True)
    answer = played(way(served.url, token), lambda assistant: assistant.use("ask_planned", plan=waiting["request"]))
    assert answer["answer"] == "yes"
    with connect(served.url, token=token) as own:
        with pytest.raises(ServiceError, match="cannot change its own allowance"):
            own.allow_assistant("votes", epsilon=1)
        with pytest.raises(ServiceError, match="not yours to decide"):
            own.decide(own.plan("votes", MAJORITY, epsilon="0.25")["request"], True)


def test_by_mcp_even_a_persons_own_token_is_an_assistants(served: Served) -> None:
    async def asked(assistant: Assistant) -> str:
        plan = await assistant.use("plan_question", dataset="votes", question=MAJORITY, epsilon="0.5")
        return str(plan["state"])

    assert played(over_http(served.url, served.token("ana")), asked) == "waiting"
    with served.client(None) as stranger:
        assert stranger.post("/mcp", json={}).status_code == 401
    with served.client("ana") as client:
        assert client.post("/mcp", json={}, headers={"Host": "evil.example"}).status_code == 421
        assert client.get("/mcp", headers={"Accept": "text/event-stream"}).status_code == 405  # no stream stays open
