"""One name for one thing: Python, the command, a service and an office file call alike what they are given; what only one of
them takes stands here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from typer.main import get_command

import duotone
from duotone.cli.app import app
from duotone.client.connect import Connection
from duotone.client.transport import Asked
from duotone.desk.office import AskedSo, Listed, Population, Privacy
from duotone.desk.operations import LIST
from duotone.graphs.document import document
from duotone.ledger.ledger import Ledger, open_ledger
from duotone.line.three_way import ThreeWay
from duotone.model.dataset import KEYS
from duotone.tables.ask import ask_all
from duotone.tables.check_by_parts import prepare_by_parts
from duotone.tables.check_question import prepare, prepare_all, prepare_groups
from duotone.tables.prepared import Prepared

FUNCTIONS: tuple[Callable[..., Any], ...] = (
    duotone.ApproxDP, ThreeWay, duotone.design, duotone.ask, duotone.share_test, ask_all, prepare, prepare_all, prepare_groups,
    prepare_by_parts, Prepared.charge, Prepared.preview, open_ledger, Ledger.register, Ledger.allow, Ledger.relabel,
    Ledger.verify, Ledger.accept_standbys,
)  # fmt: skip
COMMAND = {
    "ask": {"preview", "no_ledger", "as_json", "draw", "certificate"},
    "groups": {"no_ledger", "as_json", "certificate"},
    "test": {"no_ledger", "as_json", "draw", "certificate"},
    "inspect": {"as_json"},
    "declare": {"out", "force"},
    "budget": {"each_epsilon", "each_delta", "as_json", "draw"},
    "design": {"colour", "blue", "blue_from", "as_json", "draw", "certificate"},
    "line": {"blue", "red", "blue_at_boundary", "as_json", "draw", "certificate"},
    "check": {"mechanism", "as_json"},
    "audit": {"target", "left", "right", "draws", "confidence", "as_json", "draw"},
    "paper": {"folder", "as_json"},
    "serve": {"office", "check", "demo", "port", "processes", "behind_proxy"},
    "mcp": {"url", "insecure"},
    "ledger register": {"question_epsilon", "as_json"},
    "ledger allow": {"as_json"},
    "ledger close": {"as_json"},
    "ledger show": {"as_json"},
    "ledger plot": {"picture"},
    "ledger backup": {"file", "as_json"},
    "ledger verify": {"as_json"},
    "ledger keep-head": {"file"},
    "token add": {"name", "office", "assistant", "days"},
    "token list": {"office"},
    "token revoke": {"name", "office", "ident"},
}
"""What a command is given and no function: files, and how results are shown."""
SERVICE = {"purpose", "request", "made_up", "approve"}
"""What a service is given besides, about requests."""
OFFICE = {"about", "rows", "seconds", "allowance", "approval", "approvers"}
"""What an office says of a dataset besides what is declared of its table."""


def parameters(function: Callable[..., Any]) -> set[str]:
    return {*inspect.signature(function).parameters} - {"self"}


GIVEN_UP = {"ratio", "eps", "cohort", "analyst", "user", "date_formats"}
"""Names of things that have another one."""
PYTHON = set(KEYS).union(*map(parameters, FUNCTIONS))


def commands(group: Any, before: str = "") -> Iterator[tuple[str, set[str]]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", {parameter.name for parameter in command.params}


def test_a_command_takes_what_functions_take() -> None:
    """Each option is called by the name of its parameter, but for --json."""
    every = dict(commands(get_command(app)))
    assert {name: own for name, given in every.items() if (own := given - PYTHON)} == COMMAND
    whole: Any = get_command(app)
    for group in (whole, whole.commands["ledger"]):
        for command in group.commands.values():
            for option in getattr(command, "params", ()):
                flags = {flag.removeprefix("--") for flag in option.opts if flag.startswith("--")}
                assert flags <= {option.name.replace("_", "-"), "json", "help"}, (command.name, option.name)


def test_a_service_takes_what_functions_take() -> None:
    sent = {name for operation in LIST if operation.takes is not None for name in operation.takes.model_fields}
    assert sent - PYTHON == SERVICE
    assert set(Asked.__annotations__) | {"question", "by", "exp_epsilon"} <= PYTHON | SERVICE
    for method in (Connection.ask, Connection.preview, Connection.groups):
        assert parameters(method) - PYTHON == {"terms"}


def test_an_office_declares_what_functions_take() -> None:
    assert Listed.model_fields.keys() - PYTHON - {"declared", "shared"} == OFFICE
    assert Population.model_fields.keys() - PYTHON == {"allowance"}
    assert Privacy.model_fields.keys() | AskedSo.model_fields.keys() <= PYTHON


def test_names_that_were_given_up_do_not_come_back() -> None:
    """e^ε is `exp_epsilon`, and who asks is the `asker`; `ratio` is its name on disk alone, in ledgers and certificates."""
    every = PYTHON | {name for _, given in commands(get_command(app)) for name in given}
    every |= {name for operation in LIST if operation.takes is not None for name in operation.takes.model_fields}
    assert not every & GIVEN_UP


def keys(of: object) -> Iterator[str]:
    """Every key of a document."""
    if isinstance(of, dict):
        yield from of
    for value in of.values() if isinstance(of, dict) else of if isinstance(of, list) else ():
        yield from keys(value)


def test_what_is_printed_and_sent_has_these_names_too() -> None:
    """Documents of answers, groups, tests and mechanisms: no name that was given up, and the same budget everywhere."""
    votes = pa.table({"town": ["Ely"] * 90 + ["Bath"] * 90, "x": [1] * 180})
    usual = duotone.ApproxDP(1, "1e-6")
    graph = duotone.ColouredGraph([("a", "b")], {"a": "blue", "b": "red"})
    by_town = "select town, count(*) > 9 from t group by town"
    with prepare(votes, "count(*) > 9", usual) as asked:
        documents = [
            asked.facts.document(),
            asked.release().document("analyst"),
            duotone.ask(votes, by_town, usual).document(),
            duotone.select_groups(votes, "town", usual).document(),
            duotone.share_test(votes, "share(x > 0) = 0.5", usual).document(),
        ]
    assert all(one["privacy"].keys() >= {"exp_epsilon", "epsilon", "delta"} for one in documents)
    documents.append(document(duotone.design(graph, usual), usual))
    for one in documents:
        assert not GIVEN_UP & set(keys(one))
