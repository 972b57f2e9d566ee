"""Plain SQL about how many groups: the inner select is run as it is, and the groups of the public list that it has no row for
get the row of its aggregates over nothing. The outer select is then run on the listed groups of each made-up table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlglot
from sqlglot import exp

from duotone.tables.engines.stored_values import fresh, quoted
from duotone.tables.trial.made_up_tables import TABLE
from duotone.tables.trial.plain_sql import (
    COMPARED,
    Truths,
    Unknown,
    aliased,
    as_filters,
    by_table,
    decided,
    judged,
    keys_of,
    nearly_equal,
    of_nobody_in,
    renamed,
    ruled,
    select_of,
    sql_of,
    with_tables,
    written,
)

KEPT, FIT, CLOSE = "duotone: kept", "duotone: fit", "duotone: close"
"""Columns of a group beside its own."""
ROW, NUMBER, PLACE = '"duotone: row"', '"duotone: number"', '"duotone: place"'
OWN, NONE, EVERY = '"duotone: own"', '"duotone: nobody"', '"duotone: every"'
EMPTY = -1
"""The number of a made-up table in which nobody is."""
YES_NO = (*COMPARED, exp.And, exp.Or, exp.Not, exp.LogicalOr, exp.LogicalAnd, exp.Filter)


def truths_of_groups(
    connection: Any, text: str, tables: Mapping[str, str], checks: Sequence[str], *_: object, listed: Sequence[Sequence[Any]]
) -> Truths:
    """The truth in each made-up table; clipping is judged by the conditions alone."""
    outer = select_of(text)
    source = outer.args["from_"].this
    if outer.ctes or not isinstance(source, exp.Subquery):
        raise Unknown
    inner: exp.Select = source.this
    outer.set("from_", None)
    called, base = next(iter(tables.items()))
    columns = {row[0].lower() for row in connection.execute(f"describe {base}").fetchall()}
    keys = keys_of(inner, columns)
    made = _columns(inner, checks)
    names = [column.alias for column in made]
    inner.set("expressions", made)
    inner.set("having", None)
    inner.set("order", None)
    with_tables(inner, called)
    as_filters(inner, columns)
    renamed(inner, tables, called)
    nobody = of_nobody_in(inner)
    for each in list(inner.find_all(exp.Select)):
        by_table(each, outer=each is inner)
    inner.set("expressions", [*inner.expressions, *(aliased(key.copy(), f"duotone: key {i}") for i, key in enumerate(keys))])
    every = _every_group(connection, inner, nobody, names, len(keys), listed, base)
    return _of_outer(connection, outer, every, source.alias_or_name)


def _columns(inner: exp.Select, checks: Sequence[str]) -> list[exp.Expr]:
    """The group's aggregates by the stated rules, whether it is kept, whether all its rows can be judged, and whether rounding
    may decide a comparison."""
    close: list[str] = []
    made: list[exp.Expr] = []
    for each in inner.expressions:
        if each.alias and each.find(exp.AggFunc):
            made.append(aliased(_ruled(each.unalias(), close), each.alias))
    having = inner.args.get("having")
    kept = exp.true() if having is None else _ruled(having.this, close)
    fit = sqlglot.parse_one(f"bool_and({' and '.join(checks) or 'true'})", dialect="duckdb")
    near = sqlglot.parse_one(" or ".join(close) or "false", dialect="duckdb")
    return [*made, aliased(kept, KEPT), aliased(fit, FIT), aliased(near, CLOSE)]


def _ruled(node: exp.Expr, close: list[str]) -> exp.Expr:
    if isinstance(node.unnest(), YES_NO):
        return sqlglot.parse_one(decided(node, close), dialect="duckdb")
    return ruled(node)


def _every_group(
    connection: Any, inner: exp.Select, nobody: exp.Select, columns: Sequence[str], keys: int, listed: Any, base: str
) -> str:
    """A table with a row for each listed group of each made-up table."""
    own, empty, placed, every = fresh(), fresh(), fresh(), fresh()
    connection.execute(f"create temp table {own} as select row_number() over () as {ROW}, * from ({sql_of(inner)})")
    connection.execute(f"create temp table {empty} as {sql_of(nobody)}")
    named = ", ".join(quoted(f"duotone: key {i}") for i in range(keys))
    found = connection.execute(f"select {ROW}, {quoted(TABLE)}, {named} from {own}").fetchall()
    place = {(number, *map(written, key)): row for row, number, *key in found if None not in key}
    numbers = [EMPTY, *(n for (n,) in connection.execute(f"select distinct {quoted(TABLE)} from {base}").fetchall())]
    rows = [(n, place.get((n, *map(written, key)))) for n in numbers for key in listed]
    lists = [[n for n, _ in rows], [row for _, row in rows]]
    connection.execute(
        f"create temp table {placed} as select unnest($1::bigint[]) as {NUMBER}, unnest($2::bigint[]) as {PLACE}", lists
    )
    chosen = ", ".join(f"case when {PLACE} is null then {NONE}.{c} else {OWN}.{c} end as {c}" for c in map(quoted, columns))
    connection.execute(
        f"create temp table {every} as select {NUMBER}, {chosen} from {placed} left join {own} {OWN} on {PLACE} = {OWN}.{ROW} "
        f"cross join {empty} {NONE}"
    )
    return every


def _of_outer(connection: Any, outer: exp.Select, every: str, label: str) -> Truths:
    """The outer select's answer in each table."""
    if len(outer.expressions) != 1 or any(outer.args.get(clause) for clause in ("group", "having", "joins")):
        raise Unknown
    near = [each for node in outer.find_all(*COMPARED) if not node.find(exp.AggFunc) for each in nearly_equal(node)]
    answer, own = sql_of(judged(outer.expressions[0].unalias())), quoted(label or "g")
    here = f"{own}.{NUMBER} = {EVERY}.{NUMBER}"
    where = [quoted(KEPT), here, *([f"({sql_of(clause.this)})"] if (clause := outer.args.get("where")) else [])]
    rows = connection.execute(
        f"select {EVERY}.{NUMBER}, bool_and(coalesce({EVERY}.{quoted(FIT)}, true)), "
        f"bool_or(coalesce({EVERY}.{quoted(CLOSE)}, false)), "
        f"(select bool_or({' or '.join(near) or 'false'}) from {every} {own} where {here}), "
        f"(select {answer} from {every} {own} where {' and '.join(where)}) "
        f"from {every} {EVERY} group by {EVERY}.{NUMBER}"
    ).fetchall()
    said = {"yes": True, "no": False, None: None}
    answers = {
        (number,): said[verdict] if fits and not close and not nearly else None for number, fits, close, nearly, verdict in rows
    }
    return Truths(answers, answers.pop((EMPTY,)), {})
