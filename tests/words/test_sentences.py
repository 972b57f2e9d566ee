"""Every code has its sentence, every sentence its code, and the fields that it names."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import duotone
from duotone import DuotoneError
from duotone.errors import LedgerError
from duotone.model.notice import Notice, Refusal
from duotone.words.codes import SENTENCES
from duotone.words.sentences import Audience, fields_of, sentence

SOURCE = Path(duotone.__file__).parent
AUDIENCES: tuple[Audience, ...] = ("python", "command", "office", "analyst", "page")


def _raised() -> Iterator[tuple[str, set[str] | None, str]]:
    """Each code that is raised or noted, with the fields that it is given, None where they are in a mapping."""
    for file in SOURCE.rglob("*.py"):
        tree = ast.parse(file.read_text())
        for call in ast.walk(tree):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("Notice", "Refusal")):
                continue
            names = {keyword.arg for keyword in call.keywords}
            where = f"{file.name}:{call.lineno}"
            for code in _codes(call.args[0], tree) if call.args and not isinstance(call.args[0], ast.Starred) else ():
                yield code, None if None in names else {name for name in names if name is not None}, where


def _codes(node: ast.expr, tree: ast.Module) -> Iterator[str]:
    match node:
        case ast.Constant(str(code)):
            yield code
        case ast.IfExp():
            yield from _codes(node.body, tree)
            yield from _codes(node.orelse, tree)
        case ast.Name():
            for assigned in ast.walk(tree):
                if isinstance(assigned, ast.Assign) and [*map(ast.unparse, assigned.targets)] == [node.id]:
                    yield from _codes(assigned.value, tree)


def test_every_code_has_a_sentence_and_gets_the_fields_of_it() -> None:
    raised = list(_raised())
    assert len(raised) > 60
    for code, fields, where in raised:
        assert code in SENTENCES, where
        assert fields is None or fields == fields_of(code), (where, code)
    assert {code for code, _, _ in raised} == set(SENTENCES)


@pytest.mark.parametrize("code", SENTENCES)
def test_every_sentence_can_be_said_to_everybody(code: str) -> None:
    numbers = dict.fromkeys(("most", "size", "need", "have", "people", "epsilon", "delta", "groups"), 7)
    names: dict[str, object] = dict.fromkeys(("columns", "tables", "comparisons"), ("a", "b"))
    names["types"] = {"a": "number", "b": "yes/no"}
    fields = {name: {**numbers, **names}.get(name, "{x}") for name in fields_of(code)}
    said = {audience: sentence(Notice(code, **fields), audience) for audience in AUDIENCES}
    assert all(text or "list the groups" in code for text in said.values())
    assert "--" not in said["python"] + said["office"] + said["analyst"] + said["page"]
    assert str(Refusal(code, **fields)) == str(LedgerError(Notice(code, **fields))) == said["python"]


def test_a_refusal_goes_to_other_processes_with_its_code() -> None:
    again = pickle.loads(pickle.dumps(Refusal("bounds missing", what="variance", column="x")))
    assert (type(again), again.notice) == (Refusal, Notice("bounds missing", what="variance", column="x"))
    held = pickle.loads(pickle.dumps(LedgerError(Notice("asker missing", dataset="t"))))
    assert (type(held), held.args) == (LedgerError, (Notice("asker missing", dataset="t"),))


def test_a_reason_inside_a_refusal_is_said_to_the_same_audience() -> None:
    inside = Refusal("in a question", question="avg(x) > 1", why=Notice("max_rows missing", unit="guest"))
    assert sentence(inside, "command").endswith("(--max-rows)")
    assert sentence(inside, "analyst").startswith("avg(x) > 1: ")


def test_a_field_is_never_read_as_a_template() -> None:
    """A question or a column may have anything in it, also what looks like advice."""
    odd = '{o.unit}(bounds={"a"b": (low, high)}){0}'
    for audience in AUDIENCES:
        assert odd in sentence(Notice("per_unit of no numbers", column=odd), audience)
        assert sentence(DuotoneError(f"no column {odd}"), audience) == f"no column {odd}"
