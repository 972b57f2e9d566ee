"""One name for one thing: Python, the command, a service and an office file call alike what they are given; what only one of
them takes stands here."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pyarrow as pa
import pytest
from pydantic import BaseModel
from typer.main import get_command

import duotone
from duotone.cli.app import app
from duotone.cli.statement import written
from duotone.client.answers import RemoteAnswers, RemotePreview
from duotone.client.connect import Connection
from duotone.client.transport import Asked
from duotone.desk import office
from duotone.desk.operations import LIST
from duotone.graphs.document import document
from duotone.ledger.ledger import Ledger, open_ledger
from duotone.ledger.registration import Registered
from duotone.ledger.statement import ChargeRecord, Statement
from duotone.line.mechanism import LineMechanism
from duotone.line.noise import Margin
from duotone.line.three_way import ThreeWay
from duotone.line.which import Which
from duotone.model.accuracy import Accuracy, Clearness
from duotone.model.cost import AnsweredBefore, Charge, CloseCallCharge, Left, Quote, Receipt
from duotone.model.dataset import KEYS
from duotone.pages.asked_form import AskedForm
from duotone.pages.menus import Chosen
from duotone.privacy.renyi import RenyiDP
from duotone.tables.answers import Answers, Facts
from duotone.tables.ask import ask_all
from duotone.tables.billing import DefaultLedger
from duotone.tables.check_by_parts import prepare_by_parts
from duotone.tables.check_question import prepare, prepare_all, prepare_groups
from duotone.tables.parts.question import ByParts
from duotone.tables.prepared import Prepared
from support.offices import at_desk, make_office

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
PEOPLE = """[people.olga]
role = "owner"
[people.ana]
role = "analyst"
datasets = ["votes"]
"""
SERVICE = {"purpose", "request", "made_up", "approve"}
"""What a service is given besides, about requests."""
OFFICE = {"about", "rows", "seconds", "allowance", "approval", "approvers"}
"""What an office says of a dataset besides what is declared of its table."""


def parameters(function: Callable[..., Any]) -> set[str]:
    return {*inspect.signature(function).parameters} - {"self"}


GIVEN_UP = {"ratio", "eps", "cohort", "analyst", "user", "date_formats", "notion", "expected", "entry", "seq", "memory_mib"}
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
    """Every table of an office file and of `duotone.toml`; the settings of the service itself have names of their own."""
    tables = {name: one.model_fields.keys() for name, one in vars(office).items() if _is_table(one)}
    own = {name: {*keys} - PYTHON for name, keys in tables.items() if name not in SETTINGS}
    assert own.pop("Listed") - {"declared", "shared"} == OFFICE
    assert {name: keys for name, keys in own.items() if keys} == {"Population": {"allowance"}}
    assert inspect.signature(DefaultLedger).parameters.keys() - {"said_by"} <= PYTHON | {"place"}


def _is_table(one: object) -> bool:
    return isinstance(one, type) and issubclass(one, BaseModel) and bool(one.model_fields)


def test_names_that_were_given_up_do_not_come_back() -> None:
    """e^ε is `exp_epsilon`, and who asks is the `asker`; `ratio` is its name on disk alone, in ledgers and certificates."""
    every = PYTHON | {name for _, given in commands(get_command(app)) for name in given}
    every |= {name for operation in LIST if operation.takes is not None for name in operation.takes.model_fields}
    assert not every & GIVEN_UP


def keys(of: object) -> Iterator[str]:
    """Every key of a document that is a word: not a number of people, and none of the rows' own."""
    if isinstance(of, dict):
        yield from (key for key in of if isinstance(key, str) and key.isidentifier() and key not in OF_ROWS)
    for value in of.values() if isinstance(of, dict) else of if isinstance(of, list) else ():
        yield from keys(value)


OF_ROWS = {"town", "vote", "age", "ana"}
"""Names that the tables and the people of these tests have."""
VALUES: tuple[type, ...] = (
    Left, Receipt, Quote, Charge, CloseCallCharge, AnsweredBefore, Statement, ChargeRecord, Registered, Answers, Facts, ByParts,
    RemoteAnswers, RemotePreview, Accuracy, Clearness, Margin, duotone.ApproxDP, RenyiDP, ThreeWay, Which, LineMechanism,
)  # fmt: skip
ATTRIBUTES = {name for one in VALUES for name in [*dir(one), *getattr(one, "__dataclass_fields__", ())] if name[0] != "_"}
DOCUMENTS = {
    "error_by_margin", "certain_by_margin", "too_close_by_margin", "certain_from", "always_certain_from",
    "seldom_wrong", "curve", "needs", "waits_for", "may_decide", "decided_by", "assistant", "preview",
    "says", "question_privacy", "close_calls_left", "how_many_more", "this", "many", "wasted", "free_answers", "lifetime",
    "budgets", "allowances", "used", "count", "give_or_take", "kind", "engine", "size", "tick",
}  # fmt: skip
"""What documents say and Python calculates or shows otherwise."""
ON_DISK = {"ratio", "bits", "cap", "claims", "loss", "lowest", "optimal", "outcomes"}
"""Words of certificates, which the proved checker reads."""
SETTINGS = {"Member", "Server", "Limits", "Engine", "Ticks", "OpenId", "Office"}
PAGES = {"mode", "way", "epsilon_other", "flip", "missed", "alarm", "private", "instead"}
"""Fields of the page's form, whose choices are made of several fields, or say the same with menus."""
MENUS = {field.name for field in fields(Chosen)}


@pytest.fixture
def spent(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The documents of an answer that was previewed, planned, asked and charged: in a service, and by the command."""
    many = """[datasets.votes]
source = "votes.parquet"
version = "1"
rows = 1000
seconds = 0.05
bounds = { age = [0, 100] }
budget = { epsilon = 1, delta = "1e-6" }
account = "renyi"
answers = 100
"""
    with at_desk(make_office(tmp_path, many, people=PEOPLE)) as desk:
        ana, terms = desk.caller("ana"), {"question": "count(*) > 9", "wrong": "0.001", "people": 100}
        documents = {
            "preview": desk.now(desk.desk.preview(ana, "votes", terms))[1],
            "plan": desk.now(desk.desk.plan(ana, "votes", {**terms, "question": "count(*) > 8"}))[1],
            "ask": desk.ask("ana", "votes", **terms)[1],
        }
        documents |= {name: desk.now(getattr(desk.desk, name)(ana, "votes"))[1] for name in ("history", "budget", "dataset")}
        documents["show"] = json.loads(json.dumps(written(desk.desk.ledger.statement("votes"))))
        yield documents


def test_what_is_spent_is_told_in_the_same_words(spent: dict[str, Any]) -> None:
    """`ledger show` and the documents of a service: where two have a key, they say the same; names are those of Python."""
    for name, one in spent.items():
        assert {*keys(one)} - PYTHON - ATTRIBUTES - SERVICE - OFFICE <= DOCUMENTS, name
        assert not GIVEN_UP & {*keys(one)}, name
    show, history, budget, dataset = (spent[name] for name in ("show", "history", "budget", "dataset"))
    (shown,), (listed,) = show["charges"], history["charges"]
    assert shown.keys() & listed.keys() >= {"charge", "at", "asker", "question", "answers", "answer"}
    same = [key for key in shown.keys() & listed.keys() - {"at", "question"} if shown[key] != listed[key]]
    assert same == [], "one key, two meanings"
    assert shown["asker"] == spent["plan"]["asker"] == "ana"
    assert shown["charge"] == spent["ask"]["charge"]
    assert listed["price"] == spent["preview"]["ledger"]["price"]
    assert shown["privacy"] == listed["price"]["each"]
    assert {name: listed["price"][name] for name in ("share", "one_of")} == {name: shown[name] for name in ("share", "one_of")}
    assert show["left"] == history["left"] == budget["left"] == dataset["left"]
    assert show["wasted"] == history["wasted"] == budget["wasted"]
    assert (show["account"], show["answers"], show["version"]) == (dataset["account"], dataset["answers"], dataset["version"])
    assert dataset["dataset"] == spent["plan"]["dataset"] == "votes"


def test_close_calls_are_told_in_the_same_words(tmp_path: Path) -> None:
    votes, about = pa.table({"town": ["Ely"] * 900}), {"unit": "row", "neighbours": "add-remove", "version": "1"}
    question = ThreeWay(duotone.ApproxDP("0.05"))
    with open_ledger(tmp_path / "l") as ledger:
        ledger.register("votes", duotone.ApproxDP(1, "1e-6"), close_calls=question, **about)  # type: ignore[arg-type]
        answer = duotone.ask(votes, "count(*) > 9", ledger=ledger, dataset="votes").document()
        show = written(ledger.statement("votes"))
    for one in (answer, show):
        assert {*keys(one)} - PYTHON - ATTRIBUTES - SERVICE <= DOCUMENTS
        assert not GIVEN_UP & {*keys(one)}
    assert show["charges"][0]["charge"] == answer["ledger"]["charge"]
    assert show["close_calls"]["left"] == answer["ledger"]["close_calls_left"]
    assert show["close_calls"]["question_privacy"] == show["charges"][0]["privacy"]


def test_a_page_is_asked_by_the_same_names() -> None:
    """The fields of the page's form, which its addresses carry, but for those that are parts of one choice."""
    asked = {field.name for field in fields(AskedForm)}
    assert asked - MENUS - PYTHON - SERVICE == PAGES
    assert parse_qs(AskedForm(question="q", epsilon="1").query).keys() <= asked


def test_a_certificate_has_these_names_or_those_on_disk() -> None:
    votes, usual = pa.table({"x": [1] * 180}), duotone.ApproxDP(1, "1e-6")
    certificate = duotone.ask(votes, "count(*) > 9", usual).certificate()
    assert {*keys(certificate)} - PYTHON - ATTRIBUTES - DOCUMENTS - ON_DISK == set()


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
