"""No module reads a sentence that another one of ours formats: with every sentence replaced by its code all is as before."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import pytest

import duotone
from duotone import ApproxDP, DuotoneError, OverBudget, ask, connect, open_ledger, prepare
from duotone.cli.app import main
from duotone.mcp.tools import assistant_server, office_of
from duotone.model.notice import Notice
from duotone.tables.ask import ask_all
from duotone.words import budgets, sentences
from support.assistants import in_memory, played
from support.offices import make_office, serving

SOURCE = Path(duotone.__file__).parent
READS = {
    "startswith",
    "endswith",
    "partition",
    "rpartition",
    "removeprefix",
    "removesuffix",
    "replace",
    "split",
    "find",
    "index",
}
SENTENCES = {"sentence", "notes", "notices", "remarks", "budget_notes", "hint", "hints"}
"""Attributes and functions whose values are sentences."""
OTHERS = {"duckdb.Error", "ImportError", "Exception", "OSError"}
"""Errors of others, which have nothing else to read."""


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda file: str(file.relative_to(SOURCE)))
def test_no_sentence_is_parsed(file: Path) -> None:
    assert [f"{file.name}:{line}" for line in parsed(file.read_text())] == []


@pytest.mark.parametrize(
    "reading",
    [
        "if 'budget' in str(error): pass",
        "if str(error) == 'no such table': pass",
        "told = str(error)\n    if told.startswith('no '): pass",
        "told = f'{error}'\n    re.search('no (.*)', told)",
        "told = '' if error is None else sentence(error, 'page') + '.'\n    told = told[:-1]",
        "code = error.args[0].split(':')",
        "left = words.left(numbers).partition(',')",
    ],
)
def test_whatever_parses_a_sentence_is_found(reading: str) -> None:
    code = f"from duotone.words import budgets as words\ntry:\n    work()\nexcept DuotoneError as error:\n    {reading}\n"
    assert len(parsed(code)) == 1
    others = code.replace("DuotoneError", "OSError").replace("duotone.words", "numbers").replace("sentence", "plain")
    assert parsed(others) == []


def parsed(code: str) -> list[int]:
    """The lines that look into a sentence."""
    tree = ast.parse(code)
    ours = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and not _others(node)}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom("duotone.words", names):
                ours |= {f"{name.asname or name.name}." for name in names}
    found = []
    scopes = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef)]
    for scope in scopes:
        kept: set[str] = set()
        for node in ast.walk(scope) if not isinstance(scope, ast.Module) or len(scopes) == 1 else ():
            match node:
                case ast.Assign([ast.Name(name)], value) | ast.NamedExpr(ast.Name(name), value) if _made_of(value, ours):
                    kept.add(name)
        for node in ast.walk(scope):
            for read in _read(node):
                if _made_of(read, ours, kept):
                    found.append(node.lineno)  # type: ignore[attr-defined]
    return sorted(set(found))


def _others(handler: ast.ExceptHandler) -> bool:
    return handler.type is not None and ast.unparse(handler.type) in OTHERS


def _read(node: ast.AST) -> Iterator[ast.AST]:
    """What is looked into as a text."""
    match node:
        case ast.Call(ast.Attribute(ast.Name("re")), [_, *texts]):
            yield from texts
        case ast.Call(ast.Attribute(text, str(method))) if method in READS | {"match", "search", "fullmatch", "sub"}:
            yield text
            yield from node.args if method in ("match", "search", "fullmatch", "sub") else ()
        case ast.Compare(_, [ast.In() | ast.NotIn()], [text]):
            yield text
        case ast.Compare(text, [ast.Eq() | ast.NotEq()], [ast.Constant(str())]) | ast.Subscript(text, ast.Slice()):
            yield text


def _made_of(node: ast.AST, ours: set[str | None], kept: Set[str] = frozenset()) -> bool:
    """Whether a text is a sentence, or has one in it: `ours` are errors of ours and modules of words, `kept` texts by name."""
    if _said(node, ours, kept):
        return True
    match node:
        case ast.Call(ast.Attribute(text)):
            return _made_of(text, ours, kept)
        case ast.Subscript(text) | ast.FormattedValue(text):
            return _made_of(text, ours, kept)
        case ast.IfExp() | ast.JoinedStr() | ast.BinOp() | ast.BoolOp() | ast.NamedExpr():
            return any(_made_of(part, ours, kept) for part in ast.iter_child_nodes(node))
    return False


def _said(node: ast.AST, ours: set[str | None], kept: Set[str]) -> bool:
    match node:
        case ast.Call(ast.Name("str"), [ast.Name(name)]) | ast.FormattedValue(ast.Name(name)):
            return name in ours or name in kept
        case ast.Attribute(ast.Name(name), "args"):
            return name in ours
        case ast.Call(ast.Attribute(ast.Name(name))) if f"{name}." in ours:
            return True
        case ast.Name(name):
            return name in kept
        case ast.Call(ast.Name(name)) | ast.Attribute(_, name):
            return name in SENTENCES
    return False


@pytest.fixture
def coded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sentence is its code; one without a code is the name of the error, or of the function that makes it."""

    def code_alone(code: str, fields: Mapping[str, Any], audience: str) -> str:
        return f"{code} ({', '.join(sorted(fields))})"

    def kind_alone(error: DuotoneError) -> str:
        return str(error.args[0]) if error.args and isinstance(error.args[0], Notice) else type(error).__name__

    monkeypatch.setattr(sentences, "_formatted", code_alone)
    monkeypatch.setattr(DuotoneError, "__str__", kind_alone)
    for name in ("each", "left", "price", "over_budget", "beyond", "answered_before"):
        monkeypatch.setattr(budgets, name, lambda *_, name=name, **__: name)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "stays.csv"
    file.write_text("guest,days\n" + "".join(f"{i % 300},{i % 9}\n" for i in range(900)))
    return file


QUESTION = "select avg(days) > 2 from stays"
OPTIONS: dict[str, Any] = {"types": {"days": "number"}, "unit": "guest", "per_unit": "avg", "bounds": {"days": (0, 30)}}


@pytest.mark.usefixtures("coded")
def test_questions_and_ledgers(rows: Path, tmp_path: Path) -> None:
    with pytest.raises(DuotoneError, match=r"^max_rows or per_unit missing \(unit\)$"):
        ask(rows, QUESTION, epsilon=5, unit="guest", types={"days": "number"}, bounds={"days": (0, 30)})
    with pytest.raises(DuotoneError, match=r"^per_unit unused"):
        ask(rows, "count(*) > 2", epsilon=5, unit="guest", per_unit="min")
    with pytest.raises(DuotoneError, match=r"^in a question \(question, why\)$"):
        ask_all(rows, [QUESTION, "avg(nothing) > 3"], epsilon=5, **OPTIONS)
    with open_ledger(tmp_path / "budget.ledger") as ledger:
        ledger.register("stays", ApproxDP(10, "1e-5"), unit="guest", neighbours="add-remove", version="1")
        with prepare(rows, QUESTION, epsilon=5, delta=1e-6, **OPTIONS) as question:
            first = question.charge(ledger, "stays")
            assert first.answer is True
            assert question.charge(ledger, "stays").receipt.free  # type: ignore[union-attr]
        with (
            prepare(rows, QUESTION, epsilon=8, delta=1e-6, **OPTIONS) as more,
            pytest.raises(OverBudget),
        ):
            more.charge(ledger, "stays")


@pytest.mark.usefixtures("coded")
def test_the_command(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        return int(ended.value.code or 0), *capsys.readouterr()

    ledger = str(tmp_path / "b.ledger")
    held = ("--types", "days=number", "--bounds", "days=0:30")
    about = ("--unit", "guest", "--per-unit", "avg", *held, "--epsilon", "5", "--delta", "1e-6")
    assert run("ledger", "register", ledger, "stays", "--version", "1", "--epsilon", "9", "--delta", "1e-5", *about[:2])[0] == 0
    code, out, _ = run("ask", str(rows), QUESTION, *about, "--ledger", ledger, "--json")
    document = json.loads(out)
    assert (code, document["answer"], document["ledger"]["free"]) == (0, "yes", False)
    assert [said.split(" (")[0] for said in document["notes"]] == ["clipped values"]
    code, _, err = run("ask", str(rows), QUESTION, *about[:2], *about[4:])
    assert (code, err) == (2, "duotone: max_rows or per_unit missing (unit)\n")
    assert run("ask", str(rows), "count(distinct guest) > 7", *about[:2], "--epsilon", "8", "--ledger", ledger)[0] == 2
    assert run("ledger", "verify", ledger)[0] == 0


@pytest.mark.slow
@pytest.mark.usefixtures("coded")
def test_a_service_its_client_and_an_assistant(tmp_path: Path) -> None:
    priced: dict[str, Any] = {"epsilon": "0.5", "delta": "1e-6"}
    with serving(make_office(tmp_path)) as own:
        status, answer = own.ask("ana", "votes", question="count(*) > 10", **priced)
        assert (status, answer["answer"]) == (200, "yes")
        assert own.ask("ana", "votes", question="avg(nothing) > 1", **priced)[0] == 422
        assert own.ask("ana", "stays", question="avg(days) > 3", **priced)[1] == {
            "error": "purpose missing (dataset)", "kind": "bad question",
        }  # fmt: skip
        status, waiting = own.ask("ana", "stays", question="avg(days) > 3", purpose="a report", **priced)
        assert (status, waiting["state"], waiting["waits_for"]) == (202, "waiting", ["other"])
        with own.client("olga") as olga, own.client("ana") as ana:
            assert ana.post("/api/datasets/votes/preview", json={"question": "count(*) > 3", **priced}).status_code == 200
            assert olga.post(f"/api/requests/{waiting['request']}", json={"approve": True}).json()["state"] == "approved"
        assert own.ask("ana", "stays", request=waiting["request"])[0] == 200
        with connect(own.url, token=own.token("ana")) as service:
            assert bool(service.ask("votes", "count(*) > 20", epsilon=0.3))
            with pytest.raises(OverBudget):
                service.ask("votes", "count(*) > 30", epsilon=100)
        with connect(own.url, token=own.token("ana", assistant=True)) as machine:
            plan = _as_assistant(machine, "plan_question", dataset="votes", question="count(*) > 9", **priced)
            assert plan["state"] == "waiting"
            assert "it waits for your person to approve it" in plan["next"]


def _as_assistant(connection: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    async def play(assistant: Any) -> dict[str, Any]:
        return dict(await assistant.use(tool, **arguments))

    return played(in_memory(assistant_server(lambda _: office_of(connection))), play)
