"""Questions which of several answers is true, from SQL: a case whose answers are constants, brackets of a number, and the
group with the most rows, or with the largest sum, average or quantile."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.build_comparison import MEASURES, compared, measure
from duotone.tables.sql.comparison import Aggregate, Choice, TopGroup, labelled, word_of
from duotone.tables.sql.condition import (
    ALWAYS,
    Compare,
    Condition,
    Joined,
    Kind,
    OneOf,
    Operand,
    Value,
    both,
    columns_of,
    possible,
)
from duotone.tables.sql.functions.numbers import as_whole
from duotone.tables.sql.read_comparison import Comparisons, bare
from duotone.tables.sql.read_condition import compare, constant, filtered, read_operand

LONGEST = 100
"""Most characters of an answer."""
BRACKET = "bracket"
CHOOSING = (exp.Case, exp.If, exp.Mode, exp.Filter, exp.Anonymous)
"""Expressions that may be which of several answers is true."""
KEYED: tuple[Kind, ...] = ("text", "integer", "boolean", "date", "untyped")
"""The kinds of keys."""
MADE: dict[Kind, str] = {"float": "::int", "decimal": "::int", "time": "::date"}
"""How keys are made of other kinds."""


def read_choice(node: exp.Expression, reader: Comparisons) -> Choice | TopGroup | None:
    """A case, brackets or a mode; None for another expression."""
    match node:
        case exp.Paren():
            return read_choice(node.this, reader)
        case exp.Case():
            return _case(node, [*node.args["ifs"]], node.args.get("default"), reader)
        case exp.If():
            return _case(node, [node], node.args.get("false"), reader)
        case exp.Anonymous() if node.name.lower() == BRACKET:
            return _brackets(node, reader)
        case exp.Mode() | exp.Filter() if isinstance(bare(node), exp.Mode):
            inner, where = filtered(node, reader.rows, reader.columns)
            key = read_operand(inner.this, reader.columns)
            key = as_whole(key) if key.made is not None else key  # floor(x / 10) is whole
            top = TopGroup(key, "count", where, voted=True, text=_text(node))
            return _listed(top)
    return None


def _case(node: exp.Expression, ifs: Sequence[exp.Expression], default: exp.Expression | None, reader: Comparisons) -> Choice:
    """The answer of the first condition that holds; one that is unknown does not."""
    text = _text(node)
    if node.this is not None and isinstance(node, exp.Case):
        raise DuotoneError(f"{text}: write a condition after each when, as in {_searched(node)}")
    if default is None or isinstance(default, exp.Null):
        raise DuotoneError(f"{text}: if no condition holds there is no answer: add else 'neither' before end")
    tests = [part.this for part in ifs]
    trees = tuple(reader.tree(test) for test in tests)
    labels = (*(_label(part.args["true"], text) for part in ifs), _label(default, text))
    answers = tuple(dict.fromkeys(labels))
    if len(answers) < 2:
        raise DuotoneError(f"{text}: every answer is {answers[0]}: name at least two")
    return Choice(trees, labels, answers, len(answers) == len(labels) and _in_order(tests))


def _searched(node: exp.Case) -> str:
    """The same case with conditions."""
    ifs = [
        exp.If(this=exp.EQ(this=node.this.copy(), expression=part.this), true=part.args["true"]) for part in node.args["ifs"]
    ]
    return _text(exp.Case(ifs=ifs, default=node.args.get("default")))


def _label(node: exp.Expression, text: str) -> str:
    value = constant(node)
    if value is None:
        raise DuotoneError(
            f"{text}: its answers are constants, as 'short', and {_text(node)} is none: an answer is one of several public "
            "words, never a number from the table; write bracket(avg(x), 3, 5, 8) for a number's range"
        )
    return _checked(word_of(value), text)


def _checked(answer: str, text: str) -> str:
    if not (answer.strip() and len(answer) <= LONGEST and answer.isprintable()):
        raise DuotoneError(f"{text}: an answer is a word of at most {LONGEST} characters, in one line")
    return answer


def _in_order(tests: Sequence[exp.Expression]) -> bool:
    """Whether all conditions compare the same value with limits that rise, or fall."""
    plain = [test.unnest() for test in tests]
    if not all(isinstance(test, exp.LT | exp.LTE | exp.GT | exp.GTE) for test in plain):
        return False
    limits: list[Any] = [constant(test.expression) for test in plain]
    if len({(type(test) in (exp.LT, exp.LTE), _text(test.this)) for test in plain}) > 1:
        return False
    if not all(isinstance(limit, Fraction) for limit in limits):
        return False
    up = isinstance(plain[0], exp.LT | exp.LTE)
    return all(a < b if up else a > b for a, b in pairwise(limits))


def _brackets(node: exp.Anonymous, reader: Comparisons) -> Choice:
    """bracket(x, a, b, …): below a, from a to below b, …; without a value, below a."""
    text, (value, *given) = _text(node), (*node.expressions, exp.Null()) if not node.expressions else node.expressions
    limits = [limit for each in given if isinstance(limit := constant(each), Fraction)]
    if not limits or len(limits) < len(given) or any(a >= b for a, b in pairwise(limits)):
        raise DuotoneError(f"{text}: write bracket(avg(x), 3, 5, 8), with limits that are numbers and rise")
    aggregate, alone = reader.expression(value), reader.unit is None
    trees = tuple(
        labelled(compared(aggregate, ">=", limit, text, alone=alone), f"{_text(value)} >= {word_of(limit)}")
        for limit in reversed(limits)
    )
    first, last = f"below {word_of(limits[0])}", f"{word_of(limits[-1])} or more"
    between = [f"{word_of(a)} to below {word_of(b)}" for a, b in pairwise(limits)]
    answers = (first, *between, last)
    return Choice(trees, answers[::-1], answers, ordered=True)


def read_top_group(
    select: exp.Select, keys: Sequence[Operand], others: Sequence[exp.Expression], reader: Comparisons
) -> TopGroup:
    """`select k from t group by k order by f(x) desc limit 1`; `others` are selected besides the keys."""
    order, limit = select.args.get("order"), select.args["limit"]
    example = "as in select ward from stays group by ward order by avg(days) desc limit 1"
    if constant(limit.args.get("expression") or limit.args.get("count") or exp.Null()) != 1 or order is None:
        raise DuotoneError(f"a question has no limit but limit 1, which asks for the group that leads an order: {example}")
    if len(keys) != 1:
        raise DuotoneError(f"which group leads is asked of groups by one key: {example}; join several as a || '/' || b")
    if others or len(select.expressions) != 1:
        by = _text(select.args["group"].expressions[0])
        raise DuotoneError(f"the answer is a group, and never its numbers: select {by} alone")
    if len(order.expressions) != 1:
        raise DuotoneError("which group leads is decided by one aggregate; of equal ones the group that is listed first leads")
    if select.args.get("having") is not None:
        raise DuotoneError("which group leads is asked of all listed groups: leave having out, and list fewer groups")
    ordered = order.expressions[0]
    if ordered.args.get("nulls_first"):
        raise DuotoneError("a group without a value never leads: leave nulls first out")
    return _listed(_measured(ordered.this, keys[0], bool(ordered.args.get("desc")), reader))


def _measured(node: exp.Expression, key: Operand, largest: bool, reader: Comparisons) -> TopGroup:
    text = _text(node)
    made = reader.expression(node)
    if not isinstance(made, Aggregate):
        raise DuotoneError(f"{text}: order the groups by one count, sum, avg, median, quantile, min or max")
    if made.kind == "count" and made.needs is not None:
        raise DuotoneError(f"{text} is null in a group without rows: write count(*) filter (where …)")
    top = TopGroup(key, "count", made.where, largest, made.value, text=f"{text} by {key.column}")
    match made.kind:
        case "count" | "people":
            return replace(top, measure=made.kind, value=None)
        case "sum" if isinstance(made.value, Operand):
            return replace(top, measure="sum")
        case "mean":
            return replace(top, measure="mean")
        case kind if kind in MEASURES:
            side = measure(made)
            return replace(top, measure="quantile", value=side.value, q=side.q)
    raise DuotoneError(f"{text}: order the groups by one count, sum, avg, median, quantile, min or max")


def _listed(top: TopGroup) -> TopGroup:
    """With the groups that the question itself lists, as in where ward in ('A', 'B'); else the dataset lists them."""
    if top.key.kind not in KEYED:
        holds = f"groups are of text, whole numbers, Booleans or dates, and {top.key.column} holds none"
        raise DuotoneError(f"{top.text}: {holds}; make them of it, as in {top.key.column}{MADE.get(top.key.kind, '::text')}")
    parts = top.where.parts if isinstance(top.where, Joined) and top.where.rule == "and" else (top.where,)
    own = next((p for p in parts if isinstance(p, OneOf) and p.operand.column == top.key.column), None)
    if own is None:
        return top
    rest: Condition = ALWAYS
    for part in parts:
        rest = rest if part is own else both(rest, part)
    return _among(replace(top, key=own.operand), own.values, rest)


def among(top: TopGroup, keys: Sequence[Any]) -> TopGroup:
    """The same question about listed groups, whose keys are as a dataset's list has them."""
    values = [_as_constant(key, top.key) for key in keys]
    tests = [compare(top.key, "=", value, top.text) for value in values]
    return _among(replace(top, key=tests[0].operand), [test.constant for test in tests], top.where)


def _among(top: TopGroup, values: Sequence[Value], where: Condition) -> TopGroup:
    if len(values) < 2:
        raise DuotoneError(f"{top.text}: which of several leads is asked of at least two groups")
    if top.key.column in columns_of(where):
        for value in values:
            if not possible(where, Compare(top.key, "=", value)):
                raise DuotoneError(f"{word_of(value)} can never lead, since no row of it takes part: leave it out")
    answers = {_checked(word_of(value), top.text) for value in values}
    if len(answers) < len(values):
        raise DuotoneError(f"{top.text}: two of its groups have the same name")
    return replace(top, values=tuple(values), where=where)


def _as_constant(key: Any, operand: Operand) -> Value:
    """A listed key as a constant of the question."""
    match operand.kind:
        case "integer":
            return Fraction(key)
        case "boolean":
            return bool(key == "true")
        case "date":
            return datetime.date.fromisoformat(key)
    return str(key)


def _text(node: exp.Expression) -> str:
    return node.sql(dialect="duckdb", comments=False, normalize_functions="lower")
