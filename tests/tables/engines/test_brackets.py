"""Generated SQL is read as it was meant: an operator within another one stands in brackets."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from duotone.tables.check_question import prepare
from duotone.tables.engines import engine
from duotone.tables.engines.any_ibis import bracketing
from duotone.tables.engines.engine import bracketed
from duotone.tables.engines.expressions import holds
from duotone.tables.sql.condition import Compare, Condition, IsNull, Joined, Known, Not, OneOf, Operand
from support.oracles import plain_duckdb
from support.running import examples, thinned
from support.small_questions import P
from test_forms import ROWS, TABLE, options

NEGATED = "select c, count(*) > 1 from (select p, not bool_or(b) as c from t group by p) group by c"
ANYBODY = pa.table({"p": [1, 1, 2, 3, 4, 5, 6], "b": [True, None, True, False, False, False, None]})


OPERATORS = (exp.Unary, exp.Binary, exp.Between, exp.In)


def shape(node: Any) -> Any:
    """The operators of a tree, each with its operands; brackets left out."""
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Not):  # x is not null, as Ibis writes it
        return shape(exp.Not(this=exp.Is(this=node.this.copy(), expression=node.expression.this.copy())))
    children = node.flatten() if isinstance(node, exp.Connector) else node.iter_expressions()
    inner = [part for child in children for part in _parts(child)]
    return (type(node).__name__, *inner) if isinstance(node, OPERATORS) else inner


def _parts(node: Any) -> list[Any]:
    own = shape(node.unnest())
    return [own] if isinstance(own, tuple) else own


def misread(meant: Any, text: str) -> str | None:
    """What is wrong with a text in DuckDB's dialect; None if sqlglot and DuckDB both parse it as meant."""
    if shape(sqlglot.parse_one(text, dialect="duckdb")) != shape(meant):
        return f"sqlglot reads another tree: {text}"
    everywhere = meant.copy()
    for node in list(everywhere.walk()):
        within = isinstance(node, OPERATORS) and isinstance(node.parent, OPERATORS) and not isinstance(node, exp.Paren)
        joined = isinstance(node, exp.Connector) and type(node) is type(node.parent)
        if within and not joined and not (isinstance(node.parent, exp.Is) and node.arg_key == "expression"):
            brackets = exp.Paren()
            node.replace(brackets)
            brackets.set("this", node)
    with plain_duckdb() as connection:
        trees = [
            connection.execute("select json_serialize_sql(?)", [sql]).fetchone() for sql in (text, everywhere.sql("duckdb"))
        ]
    plain = [_placeless(str(tree)) for tree in trees]
    return None if plain[0] == plain[1] and '"error":false' in plain[0] else f"DuckDB reads another tree: {text}"


def _placeless(tree: str) -> str:
    """The tree without positions in the text."""
    return re.sub(r'"query_location(_length)?":\d+', "", tree)


@pytest.mark.parametrize("listed", [{"max_groups": 1}, {"groups": [(True,), (False,)]}])
def test_a_negation_can_be_null(listed: dict[str, Any]) -> None:
    """Issue 27, point 13: `not b is null` was written for `(not b) is null`, and every group was lost."""
    with prepare(ANYBODY, NEGATED, P, unit="p", **listed) as prepared:
        keys, people, levels = prepared._levels()
    said = duckdb.execute(
        "select c::text, count(*) from (select p, not bool_or(b) c from ANYBODY group by p) where c is not null group by c"
    )
    assert {str(key[0]).lower(): int(n) for key, n in zip(keys, people, strict=True)} == dict(said.fetchall())
    assert sorted(levels.tolist()) == [0, 1]


def test_the_values_of_a_condition_can_be_listed() -> None:
    sql = "select count(*) > 1 from (select p, count(*) > 1 as c from t group by p) where c in (true)"
    with prepare(ANYBODY, sql, P, unit="p") as prepared:
        assert prepared._levels()[2].tolist() == [-1]


Row = dict[str, Any]
ROW_KINDS = [
    {"a": a, "b": b, "x": x} for a, b, x in itertools.product([True, False, None], [True, False, None], [-1, 0, 2, None])
]
NONE = Fraction(0)
A, B, X = Operand("a", "boolean"), Operand("b", "boolean"), Operand("x", "integer")
leaf: st.SearchStrategy[Condition] = st.sampled_from(
    [Compare(A, "=", True), Compare(B, "=", False), Compare(A, "<>", B), Compare(A, "<", B), IsNull(A), IsNull(X),
     Compare(X, ">", NONE), Compare(X, "<=", Fraction(-1)), OneOf(X, (NONE, Fraction(2))), OneOf(A, (True,))]
)  # fmt: skip
conditions: st.SearchStrategy[Condition] = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(Known, inner),
        st.builds(Joined, st.sampled_from(["and", "or"]), st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)
SIGNS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
}


def truth(condition: Any, row: Row) -> bool | None:
    """SQL's three-valued logic, written anew."""
    match condition:
        case Not():
            inner = truth(condition.part, row)
            return None if inner is None else not inner
        case Known():
            return truth(condition.part, row) is not None
        case Joined():
            parts = [truth(part, row) for part in condition.parts]
            decisive = condition.rule == "or"
            return decisive if decisive in parts else None if None in parts else not decisive
        case IsNull():
            return row[condition.operand.column] is None
    left = row[condition.operand.column]
    if isinstance(condition, OneOf):
        return None if left is None else left in condition.values
    right = row[condition.value.column] if isinstance(condition.value, Operand) else condition.value
    return None if left is None or right is None else SIGNS[condition.sign](left, right)


@pytest.mark.slow
@examples(120)
@given(st.lists(conditions, min_size=1, max_size=12))
def test_conditions_are_what_they_say_in_three_values(trees: list[Condition]) -> None:
    """Each alone; and tested for null, listed, negated and compared, as an inner select's column is."""
    rows = ibis.memtable(pa.Table.from_pylist([{"i": i, **row} for i, row in enumerate(ROW_KINDS)]))
    c = [holds(tree, rows) for tree in trees]
    columns = {f"r{n}": one for n, one in enumerate(c)} | {f"k{n}": one.notnull() for n, one in enumerate(c)}
    columns |= {f"n{n}": (~one).isnull() for n, one in enumerate(c)} | {f"l{n}": one.isin([True]) for n, one in enumerate(c)}
    columns |= {f"e{n}": (~one) < rows.b for n, one in enumerate(c)} | {
        f"s{n}": one.identical_to(rows.b) for n, one in enumerate(c)
    }
    plan = rows.select("i", **columns)
    backend = ibis.duckdb.connect()
    backend._run_pre_execute_hooks(plan)
    meant = backend.compiler.to_sqlglot(plan)
    text = bracketed(meant).sql("duckdb")
    assert misread(meant, text) is None
    said = backend.con.sql(f"select * from ({text}) order by i").to_arrow_table().to_pylist()
    for row, got in zip(ROW_KINDS, said, strict=True):
        for n, tree in enumerate(trees):
            true = truth(tree, row)
            less = None if true is None or row["b"] is None else (not true) < row["b"]
            wanted = [true, true is not None, true is None, true, less, true is row["b"]]
            assert [got[f"{name}{n}"] for name in "rknles"] == wanted, (tree, row)
    backend.disconnect()


ASKED = [row for row in ROWS if not row[2].startswith("refused")]


@pytest.mark.slow
def test_every_form_is_read_back_as_it_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both by sqlglot and by DuckDB's own parser."""
    seen: list[str] = []

    def checked(tree: Any) -> Any:
        made = bracketed(tree)
        wrong = misread(tree, made.sql("duckdb", copy=True))
        assert wrong is None, wrong
        seen.append(wrong or "")
        return made

    monkeypatch.setattr(engine, "bracketed", checked)
    for question, declared, _ in thinned(ASKED, 4):
        with prepare(TABLE, question, P, **options(declared)) as prepared:
            prepared._levels()
    assert len(seen) >= len(thinned(ASKED, 4))


def test_a_connection_of_ibis_is_left_as_it_is() -> None:
    backend = ibis.sqlite.connect()
    backend.con.execute("create table t (a boolean)")
    backend.con.execute("insert into t values (true), (null)")
    table = backend.table("t")
    plan = table.select(r=(~table.a).isnull())
    before = backend.compile(plan)
    assert backend.con.execute(bracketing(backend).compile(plan)).fetchall() == [(0,), (1,)]
    assert backend.compile(plan) == before
