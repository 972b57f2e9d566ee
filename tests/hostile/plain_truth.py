"""The truth of a question by plain DuckDB: the user's own text on the same rows, clipped as declared.

Only stated rules that differ from SQL are written into the text: values within their bounds, lower medians, and a mode that no
other value shares. Null is a no. Where a rule says what becomes of a person's rows, tables that it changes are not judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from hostile.person_rules import by_person
from hostile.question_grammar import PUBLIC, Question, bounds_of
from support.oracles import plain_duckdb

BY_VALUE = (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException)
"""How the engine fails because of a value, where null is the rule."""
FLAGS = ("error_on_division_by_zero", "ieee_floating_point_ops")
Truths = list[list[bool | None]]


def plain(
    question: Question,
    content: Any,
    fits: Sequence[bool],
    held: Mapping[str, Sequence[Any]],
    rows: int | None,
    reduced: str | None,
) -> Truths:
    """By group, if there are any, then by table: the answer, or None where plain SQL has none. `held` are the values that a
    column can have; tables of people who count as other `rows` than they have, or are `reduced`, do not fit, and are judged
    where that can be written as SQL."""
    with plain_duckdb() as connection:
        connection.register("content", content)
        for name, table in PUBLIC.items():
            connection.register(name, table)
        for flag in FLAGS:
            connection.execute(f"set {flag} = false")
        connection.execute(
            "create temp table everything as select * replace (case when not isnan(y) then y end as y) from content"
        )
        sql = _ruled(_clipped(question.text), held)
        groups = question.options.get("groups")
        every: list[list[Any] | None] = []
        form = None if all(fits) else by_person(sql, rows, reduced, _ends(question.text))
        for d, fit in enumerate(fits):
            connection.execute(f"create or replace temp view t as select * from everything where d = {d}")
            try:
                every.append(connection.execute(sql).fetchall() if fit else None)
                if form is not None:
                    other = connection.execute(form).fetchall()
                    assert not fit or (other == [(True,)]) == (every[-1] == [(True,)]), (sql, form)
                    every[-1] = other
            except BY_VALUE:
                every.append(None)
        if groups is None:
            return [[None if rows is None else rows == [(True,)] for rows in every]]
        connection.execute("create or replace temp view t as select * from everything where false")
        nobody = connection.execute(_ruled(_clipped(question.ungrouped), held)).fetchone() == (True,)
        said = [None if rows is None else {_key(key): answer is True for key, answer in rows} for rows in every]
        return [[None if own is None else own.get(_key(key), nobody) for own in said] for (key,) in groups]


def _key(value: Any) -> str:
    """A key of a group as text: a time at midnight as its day."""
    return str(value).lower().removesuffix(" 00:00:00") if not isinstance(value, str) else value


def _ends(text: str) -> dict[str, tuple[int, int]]:
    """The bounds of what is added up, as it is clipped."""
    return {_clip(value): bounds_of(value[1]) for value in re.finditer("«(.*?)»", text)}


def _clip(value: re.Match[str]) -> str:
    low, high = bounds_of(value[1])
    return f"(case when ({value[1]}) is not null then greatest(least({value[1]}, {high}), {low}) end)"


def _clipped(text: str) -> str:
    """Values within their bounds; lower medians; and a select, if it is none."""
    text = re.sub(r"median\((«?\w»?)\)", r"quantile_disc(\1, 0.5)", text)
    text = re.sub("«(.*?)»", _clip, text)
    return text if text.startswith("select") else f"select {text} from t"


def _ruled(sql: str, held: Mapping[str, Sequence[Any]]) -> str:
    """A mode is strictly the most frequent of the values that a column can have; a tie has none, which is known."""
    if "mode(" not in sql:
        return sql

    def strict(node: exp.Expr) -> exp.Expr:
        mode = node.this.this if isinstance(getattr(node, "this", None), exp.Filter) else getattr(node, "this", None)
        if not isinstance(mode, exp.Mode):
            return node
        kept = f" and ({node.this.expression.this.sql('duckdb')})" if isinstance(node.this, exp.Filter) else ""
        column = mode.this.sql("duckdb")

        def votes(value: Any) -> str:
            return f"count(*) filter (where {column} = {exp.convert(value).sql('duckdb')}{kept})"

        def leads(constant: str) -> str:
            rivals = [votes(value) for value in held[column] if exp.convert(value).sql("duckdb") != constant]
            mine = f"count(*) filter (where {column} = {constant}{kept})"
            return f"({mine} > greatest({', '.join(rivals)}))"

        asked = node.expressions if isinstance(node, exp.In) else [node.expression]
        won = " or ".join(leads(constant.sql("duckdb")) for constant in asked)
        there = f"count(*) filter (where {column} is not null{kept}) > 0"
        sign = "not " if isinstance(node, exp.NEQ) else ""
        return sqlglot.parse_one(f"(case when {there} then {sign}({won}) end)", dialect="duckdb")

    return sqlglot.parse_one(sql, dialect="duckdb").transform(strict).sql("duckdb")
