"""Every operation is declared once: HTTP, its description, the desk, the client and the tools are held against the list."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from duotone import DuotoneError, connect
from duotone.client.connect import Connection
from duotone.client.transport import Asked
from duotone.desk.callers import Caller
from duotone.desk.desk import Desk
from duotone.desk.operations import LIST, OPERATIONS, Operation
from duotone.desk.terms import Terms
from duotone.errors import ServiceError
from duotone.http.app import open_desk, service
from duotone.mcp.tools import TOOLS
from support.offices import Served, at_desk, make_office, serving, told

GIVEN: dict[str, Any] = {"dataset": "votes", "charge": 10**6, "request": 10**6, "session": "none"}
BODIES: dict[str, Any] = {
    "preview": {"question": "count(*) > 1", "epsilon": "0.01"},
    "plan": {"question": "count(*) > 1", "epsilon": "0.01"},
    "ask": {"question": "count(*) > 1", "epsilon": "0.01"},
    "allow_assistant": {"epsilon": "0.01"},
    "decide": True,
    "relabel": "2",
}
PEOPLE = ("olga", "ana", "iris")


def given(operation: Operation) -> list[Any]:
    """What a desk or a connection is given."""
    return [GIVEN[place] for place in operation.places] + ([] if operation.takes is None else [BODIES[operation.name]])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with serving(make_office(tmp_path_factory.mktemp("office"))) as running:
        yield running


def test_openapi_has_the_list_and_nothing_else(tmp_path: Path) -> None:
    desk = open_desk(make_office(tmp_path))
    described = service(desk)._app.openapi()["paths"]  # type: ignore[attr-defined]
    desk.close()
    found = {(path, method.upper()): route for path, methods in described.items() for method, route in methods.items()}
    assert set(found) == {(f"/api{operation.path}", operation.method) for operation in LIST}
    for operation in LIST:
        route = found[f"/api{operation.path}", operation.method]
        assert (route["summary"], route["description"]) == (operation.summary, operation.about)
        assert [parameter["name"] for parameter in route.get("parameters", ())] == operation.places
        shape = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}).get("$ref", "")
        assert shape.rpartition("/")[2] == ("" if operation.takes is None else operation.takes.__name__)
        assert ("202" in route["responses"]) is operation.may_wait


def test_a_desk_and_a_connection_do_each_of_them() -> None:
    assert set(OPERATIONS) == {name for name in OPERATIONS if inspect.iscoroutinefunction(getattr(Desk, name))}
    assert set(OPERATIONS) <= {name for name, _ in inspect.getmembers(Connection, inspect.isfunction)}


def test_what_a_connection_may_be_asked_is_what_terms_are() -> None:
    assert {"question", "by", *Asked.__annotations__} == set(Terms.model_fields) - {"exp_epsilon"}  # which privacy may be


def test_the_tools_are_those_of_the_list() -> None:
    listed = {operation.tool.name: operation for operation in LIST if operation.tool is not None}
    described = {tool.listed.name: tool.listed for tool in TOOLS}
    assert list(described) == list(listed)
    for name, tool in described.items():
        operation = listed[name]
        assert operation.tool is not None
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is operation.reads_only
        terms = {term: about for term, about in tool.input_schema["properties"].items() if term in Terms.model_fields}
        assert set(terms) == set(operation.tool.terms)
        assert all(about["description"] == Terms.model_fields[term].description for term, about in terms.items())


@pytest.mark.parametrize("operation", LIST, ids=lambda operation: operation.name)
def test_who_may_is_said_once(tmp_path: Path, operation: Operation) -> None:
    """Of a desk, whoever may is not told that they may not; of an assistant, and of everybody else, what the list says."""
    with at_desk(make_office(tmp_path)) as desk:
        for who in PEOPLE:
            for assistant in (False, True):
                caller = Caller(desk.caller(who).person, assistant)
                allowed = (not operation.roles or caller.person.role in operation.roles) and not (
                    operation.persons_own and assistant
                )
                status, document = desk.loop.run(told(desk.desk.call(caller, operation.name, *given(operation))))
                if allowed:
                    assert "this is for the" not in str(document)
                else:
                    assert (status, document["kind"]) == (403, "not allowed")


@pytest.mark.parametrize("operation", LIST, ids=lambda operation: operation.name)
def test_over_http_it_is_the_same(served: Served, operation: Operation) -> None:
    """A connection and the desk itself give the same document, or refuse in the same sentence."""
    for who in PEOPLE:
        person = served.desk.office.person(who)
        assert person is not None
        with connect(served.url, token=served.token(who)) as connection:
            try:
                there = connection.call(operation.name, *given(operation))
            except ServiceError as error:
                there = {"error": str(error), "kind": error.kind}
        if operation.name in ("relabel", "plan", "decide") and "error" not in there:
            continue  # it cannot be done twice
        here = _by_hand(served, operation, Caller(person))
        assert there == (here["csv"] if operation.gives == "csv" and "csv" in here else here) or operation.name == "ask"


def _by_hand(served: Served, operation: Operation, caller: Caller) -> Any:
    with served.client(caller.name) as client:
        takes = given(operation)
        path = operation.path.format(**dict(zip(operation.places, takes, strict=False)))
        sent = {} if operation.takes is None else {"json": operation.body(takes[-1])}
        reply = client.request(operation.method, f"/api{path}", **sent)
        return {"csv": reply.text} if reply.headers["content-type"].startswith("text/csv") else reply.json()


def test_a_name_that_leads_elsewhere_is_refused(served: Served) -> None:
    with connect(served.url, token=served.token("ana")) as connection, pytest.raises(DuotoneError, match="name a dataset"):
        connection.history("..")
