"""The normal form: mirrored comparisons are one question, and no two questions with different answers are."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import duckdb
import pytest
import sqlglot

from duotone.errors import DuotoneError
from duotone.tables.sql.comparison import BoolOp, Choice, Settled, Tree
from duotone.tables.sql.normal_form import normal_text
from duotone.tables.sql.read_question import read_question
from support.running import thinned

COLUMNS = {"x": "integer", "y": "integer", "f": "boolean", "town": "text", "u": "integer"}
SIGNS = ("<", "<=", ">", ">=", "=", "<>")
MIRROR = dict(zip(SIGNS, (">", ">=", "<", "<=", "=", "<>"), strict=True))


def form(text: str) -> str:
    return normal_text(sqlglot.parse_one(f"select {text}", dialect="duckdb"))  # type: ignore[arg-type]


def parts(tree: Tree | Choice) -> object:
    """A tree in which it does not matter which of two comparisons stands first."""
    match tree:
        case BoolOp("not", (part,)):
            return "not", parts(part)
        case BoolOp():
            return tree.rule, tree.exact, sorted(map(repr, map(parts, tree.parts)))
        case Settled():
            return "settled", tree.answer  # and why, in the words of the question
    return tree


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize(
    ("value", "constant"),
    [
        ("count(*)", "1000"),
        ("sum(x)", "-3"),
        ("avg(x)", "2 + 1"),
        ("count(*) filter (where x > 1)", "5"),
        ("median(x)", "2"),
        ("2 * count(*) - 1", "7"),
        ("count(*) filter (where f)", "0.5 * 3"),
    ],
)
def test_mirrored_comparisons_are_one_question(value: str, constant: str, sign: str) -> None:
    plain, mirrored = f"{value} {sign} {constant}", f"{constant} {MIRROR[sign]} {value}"
    assert form(mirrored) == form(plain)
    assert form(plain) == sqlglot.parse_one(f"select {plain}", dialect="duckdb").sql(dialect="duckdb", normalize=True)


def test_questions_that_are_read_have_it_in_every_part() -> None:
    pairs = [
        ("1000 < count(*)", "count(*) > 1000"),
        ("count(*) filter (where 3 >= x) > 2", "count(*) filter (where x <= 3) > 2"),
        ("select 'Ely' = mode(town)", "select mode(town) = 'Ely'"),
        ("select count(*) > 5 where 'Ely' = town and 2 < x", "select count(*) > 5 where town = 'Ely' and x > 2"),
        ("2 < count(*) filter (where 3 < x)", "count(*) filter (where x > 3) > 2"),
        ("1 < count(*) or 5 >= sum(x)", "count(*) > 1 or sum(x) <= 5"),
        (
            "select 3 < count(*) from (select u, sum(x) as s from t group by u having 2 <= count(*)) p where 1 = s",
            "select count(*) > 3 from (select u, sum(x) as s from t group by u having count(*) >= 2) p where s = 1",
        ),
    ]
    for one, other in pairs:
        first, second = (read_question(text, COLUMNS, "u" if "group by u" in text else None, "t") for text in (one, other))  # type: ignore[arg-type]
        assert first.normal == second.normal
        assert (first.tree, first.where) == (second.tree, second.where)


def test_an_ordered_quantile_is_read_as_it_is_written() -> None:
    first = read_question("percentile_disc(0.25) within group (order by x) > 2", COLUMNS)  # type: ignore[arg-type]
    assert read_question(first.normal, COLUMNS) == first  # type: ignore[arg-type]
    for text in ("quantile_disc(x, 0.25 order by y) > 2", "quantile_disc(x, 0.25 order by x desc) > 2"):
        with pytest.raises(DuotoneError):
            read_question(text, COLUMNS)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["{:,}", "[:", "{'a':", "x[", "case"])
def test_what_the_parser_breaks_on_is_no_sql(text: str) -> None:
    with pytest.raises(DuotoneError, match="not SQL that can be read"):
        read_question(text, COLUMNS)  # type: ignore[arg-type]


@pytest.mark.slow
def test_what_is_mirrored_is_read_the_same_of_every_kind_of_column() -> None:
    """Or one would be answered by the record of another: each kind, compared with each constant, in each place."""
    kinds = ("boolean", "integer", "float", "decimal", "text", "untyped", "date", "time")
    constants = ("3", "-1.5", "'3'", "'b'", "date '2020-01-02'", "true", "2 * 3", "'2020-01-02'::date", "null")
    places = ("count(*) filter (where {}) > 2", "select count(*) > 2 where not ({})", "any_value({}) > 2", "bool_or({})")
    ranked = ("max(c)", "median(c)", "avg(c)", "mode(c)", "count(distinct c)")
    read = 0
    for kind, constant, sign in thinned(product(kinds, constants, SIGNS), 5):
        pairs = [(place.format(f"c {sign} {constant}"), place.format(f"{constant} {MIRROR[sign]} c")) for place in places]
        pairs += [(f"{r} {sign} {constant}", f"{constant} {MIRROR[sign]} {r}") for r in ranked]
        for texts in pairs:
            questions = []
            for text in texts:
                with suppress(DuotoneError):
                    questions.append(read_question(text, {"c": kind}))  # type: ignore[dict-item]
            if len(questions) == 2 and questions[0].normal == questions[1].normal:
                assert questions[0].where == questions[1].where, texts
                assert parts(questions[0].tree) == parts(questions[1].tree), texts
                read += 1
    assert read > 100


def test_no_two_questions_with_different_answers_are_one() -> None:
    """Every small expression, by its normal form: DuckDB must give all of one form the same value, on every row."""
    atoms = ["x", "1", "2", "f", "true", "not f", "-x", "(x < 2)", "x + 1", "1 + 1", "null", "x < 2", "1 = 2", "(1 = 2)"]
    texts = [f"{a} {s} {b}" for a, s, b in product(atoms, SIGNS, atoms)]
    some = product(["x", "1", "f"], SIGNS[::2], ["x", "2"], SIGNS[::3], ["1", "x"])
    texts += [f"{a} {s} {b} {t} {c}" for a, s, b, t, c in some]
    forms: dict[str, list[str]] = {}
    for text in texts:
        forms.setdefault(form(text), []).append(text)
    shared = [same for same in forms.values() if len(same) > 1]
    assert len(shared) > 100
    with duckdb.connect() as connection:
        connection.execute("create table t as select x, f from range(-1, 4) a(x), (values (true), (false), (null)) b(f)")
        connection.execute("insert into t values (null, true)")
        compared = 0
        for same in shared:
            values = []
            for text in same:
                try:
                    rows = connection.execute(f"select {text} from t order by x, f").fetchall()
                except duckdb.Error:
                    continue
                values.append(str(rows))
            assert len(set(values)) <= 1, same
            compared += len(values) > 1
    assert compared > 100
