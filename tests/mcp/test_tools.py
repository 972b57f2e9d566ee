"""An assistant plans, and asks only what was approved: played by the `mcp` package's own client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from duotone import DuotoneError, connect
from duotone.desk.callers import Refused
from duotone.desk.operations import OfficeCall
from duotone.mcp.tools import BROKEN, TOOLS, assistant_server, mounted, office_of
from support.assistants import Assistant, Failed, in_memory, over_http, over_stdio, played
from support.fake_service import CERTIFICATE, TOKEN, Fake, served
from support.offices import plain_client
from support.running import PATIENCE

NAMES = [
    "list_datasets", "preview_question", "plan_question", "ask_planned", "history", "budget_left", "certificate", "list_plans",
]  # fmt: skip


@pytest.fixture
def fake() -> Fake:
    return Fake(assistant=True)


@pytest.fixture
def office(fake: Fake) -> Iterator[OfficeCall]:
    with served(fake.app()) as url, connect(url, token=TOKEN) as connection:
        yield office_of(connection)


async def whole_play(assistant: Assistant) -> None:
    """All that an assistant does, from the list of tools to what it may not."""
    tools = await assistant.tools()
    assert list(tools) == NAMES
    for name, tool in tools.items():
        assert len(tool.description) > 40
        assert tool.input_schema["additionalProperties"] is False, name
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.annotations.read_only_hint is (name not in ("plan_question", "ask_planned"))
    assert (await assistant.use("list_datasets"))["datasets"][0]["dataset"] == "chile"
    preview = await assistant.use("preview_question", dataset="chile", question="avg(age) > 38", epsilon=0.5, people=100)
    assert preview["certain_from"] == 27
    plan = await assistant.use("plan_question", dataset="chile", question="large", epsilon="0.5", purpose="a report")
    assert (plan["plan"], plan["state"]) == (1, "waiting")
    assert "request" not in plan
    assert "decide(1, True)" in plan["next"]
    with pytest.raises(Failed, match=r"^plan 1 cannot be asked: it waits for your person to approve it"):
        await assistant.use("ask_planned", plan=1)
    small = await assistant.use("plan_question", dataset="chile", question="small", wrong=0.01, people=10)
    assert (small["state"], small["next"]) == ("approved", "it may be asked: call ask_planned")
    answer = await assistant.use("ask_planned", plan=2)
    assert (answer["answer"], answer["quote"]) == ("yes", "In chile, …")
    with pytest.raises(Failed, match="asked already"):
        await assistant.use("ask_planned", plan=2)
    with pytest.raises(Failed, match="no plan 3"):
        await assistant.use("ask_planned", plan=3)
    assert [plan["state"] for plan in (await assistant.use("list_plans"))["plans"]] == ["waiting", "used"]
    assert (await assistant.use("budget_left", dataset="chile"))["how_many_more"] == 2
    assert (await assistant.use("history", dataset="chile"))["charges"]
    assert (await assistant.use("certificate", dataset="chile", charge=17)) == CERTIFICATE
    with pytest.raises(Failed, match=r"^epsilon 1 does not fit into the budget of chile"):
        await assistant.use("plan_question", dataset="chile", question="over", epsilon=1)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_in_memory(mode: str, office: OfficeCall, fake: Fake) -> None:
    played(in_memory(assistant_server(lambda _: office), mode), whole_play)
    sent = [body for method, path, body in fake.asked if path.endswith(("preview", "plan"))]
    assert sent[0] == {"question": "avg(age) > 38", "epsilon": 0.5, "people": 100}
    assert sent[1] == {"question": "large", "epsilon": "0.5", "purpose": "a report"}
    assert sent[2] == {"question": "small", "wrong": 0.01, "people": 10}


def test_by_the_command_over_standard_input_and_output(fake: Fake) -> None:
    with served(fake.app()) as url:
        played(over_stdio(url, TOKEN), whole_play)


def test_the_command_refuses_a_persons_own_token(fake: Fake) -> None:
    fake.assistant = False
    with served(fake.app()) as url, connect(url, token=TOKEN) as connection:
        with pytest.raises(DuotoneError, match="person's own"):
            office_of(connection)
        done = _command(url)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("duotone: this token is a person's own")
    assert TOKEN not in done.stderr


def _command(url: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DUOTONE_TOKEN": TOKEN}
    line = [sys.executable, "-m", "duotone", "mcp", url]
    return subprocess.run(line, capture_output=True, text=True, env=environment, input="", timeout=PATIENCE)


def app_of(offices: dict[str, OfficeCall], **options: Any) -> Starlette:
    """A service that has the tools at /mcp, for whoever a token speaks for."""

    def of_token(request: Request) -> OfficeCall:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in offices:
            raise HTTPException(401, "this token is not known here")
        return offices[token]

    tools = mounted(of_token, **options)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with tools.lifespan():
            yield

    return Starlette(routes=[Route("/mcp", tools, methods=["GET", "POST", "DELETE"])], lifespan=lifespan)


def test_over_http_each_request_is_its_own_callers(fake: Fake) -> None:
    others = Fake(assistant=True)
    others.plans[1] = {"request": 1, "state": "used", "dataset": "chile"}
    with ExitStack() as open_:
        one, two = (open_.enter_context(connect(open_.enter_context(served(f.app())), token=TOKEN)) for f in (fake, others))
        offices: dict[str, OfficeCall] = {"alice": office_of(one), "bob": office_of(two)}
        url = open_.enter_context(served(app_of(offices, hosts=["127.0.0.1:*"])))
        played(over_http(url, "alice"), whole_play)
        plans = played(over_http(url, "bob"), lambda assistant: assistant.use("list_plans"))
        assert [plan["plan"] for plan in plans["plans"]] == [1]
        client = open_.enter_context(plain_client(url))
        assert client.post("/mcp", json={}).status_code == 401
        headers = {"Authorization": "Bearer alice", "Accept": "application/json, text/event-stream"}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        for spoiled, status in (({"Host": "evil.example"}, 421), ({"Origin": "https://evil.example"}, 403), ({}, 200)):
            assert client.post("/mcp", json=hello, headers={**headers, **spoiled}).status_code == status
        large = {**hello, "params": {"x": "a" * 2**20}}
        assert client.post("/mcp", json=large, headers=headers).status_code == 413


async def broken(*given: object) -> Any:
    """An office in which everything goes wrong."""
    raise KeyError("a row: secret")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "dataset is missing"),
        ({"dataset": "a", "unit": "id"}, "unit cannot be given: the owner of the dataset declares it"),
        ({"dataset": "a", "eps": 1}, "eps is not known: epsilon is"),
        ({"dataset": "a", "max_groups": 0}, "max_groups must be at least 1"),
        ({"dataset": "a", "wrong": 0.1, "people": 0}, "people must be at least 1"),
    ],
)
def test_arguments_are_checked_before_anything_is_asked(arguments: Any, sentence: str) -> None:
    server = assistant_server(lambda _: broken)
    with pytest.raises(Failed, match=f"^{sentence}"):
        played(in_memory(server), lambda assistant: assistant.use("plan_question", **arguments))


def test_of_what_breaks_nothing_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    for name, given in (("list_datasets", {}), ("history", {"dataset": "a"}), ("ask_planned", {"plan": 1})):
        with pytest.raises(Failed) as raised:
            played(in_memory(assistant_server(lambda _: broken)), lambda one, n=name, g=given: one.use(n, **g))  # type: ignore[misc]
        assert str(raised.value) == BROKEN
    assert "secret" not in caplog.text
    with pytest.raises(Failed, match="there is no tool drop_tables; there are list_datasets"):
        played(in_memory(assistant_server(lambda _: broken)), lambda assistant: assistant.use("drop_tables"))


def test_an_offices_own_refusals_are_shown() -> None:
    async def strict(*given: object) -> Any:
        raise Refused("not allowed", "not today")

    with pytest.raises(Failed, match=r"^not today$"):
        played(in_memory(assistant_server(lambda _: strict)), lambda assistant: assistant.use("list_datasets"))


def test_schemas_have_no_words_for_programmers() -> None:
    for tool in TOOLS:
        assert "Arguments" not in json.dumps(tool.listed.input_schema)
        assert "title" not in tool.listed.input_schema
