"""Plain SQL: the truth of a question on made-up tables, from its own text and the engine's own aggregates.

Nothing of Duotone's parser is used here: sqlglot parses the text, each select gets the number of the made-up table as a
further group, and DuckDB runs it. Only the stated rules (docs/sql.md) that differ from SQL are written into the text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from duotone.model.dataset import Bounds, Grid
from duotone.tables.trial.made_up_tables import TABLE

COMPARED = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ, exp.Between, exp.In)
ORDER = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And)
"""What may stand before a further sign of order: SQL has no such chain, and the rules read it as pairs."""
DOUBLES = (exp.Avg, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)
ADDED = (exp.Sum, *DOUBLES)
COUNTS = (exp.Count, exp.CountIf, exp.LogicalOr, exp.LogicalAnd)
"""Aggregates of clipped values, and those that bounds do not affect."""
OTHERWISE: Mapping[str, type[exp.Expr]] = {"mean": exp.Avg, "every": exp.LogicalAnd}
CLOSE = 1e-9
"""Unequal numbers that differ by less than this fraction may differ by rounding alone: then there is no verdict."""
STRICT = "case when list_aggregate(map_values({h}), 'count') > 0 and len(list_filter(map_values({h}), " \
         "lambda \"duotone: rows\": \"duotone: rows\" = list_max(map_values({h})))) = 1 then {m} end"  # fmt: skip
"""A mode without ties; else null. No column has the name used here for a number of rows."""
ORDERED = (exp.ArgMax, exp.ArgMin, exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.AnyValue)
"""Among several first or last rows, the rules take the largest value, and SQL any."""
NEAR = range(1_000, 9_000)
"""Years from which a thousand years more or fewer stay within the years 1 to 9999."""
BY_VALUE = (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException)
"""Errors of the engine because of a value, which SQL raises and the rules do not."""
LOG = logging.getLogger("duotone.trial")


class Unknown(Exception):
    """Plain SQL has no answer here: the text means something else to the engine, or nothing."""


@dataclass(frozen=True)
class Truths:
    """Answers by the number of a made-up table and the keys of a group, and the answer without people; None if rounding
    or clipping may decide. Of several conditions an answer is the number of the first that holds, and of groups that of the
    one that leads."""

    by_table: Mapping[tuple[Any, ...], int | None]
    of_nobody: int | None
    rows: Mapping[tuple[Any, ...], int]
    """How many rows there are, which are people if plain SQL can judge."""


Judge = Callable[[Any, str, Mapping[str, str], Sequence[str], Mapping[str, Bounds], Sequence[str]], Truths]
"""What computes them."""


def truths(
    connection: Any,
    text: str,
    tables: Mapping[str, str],
    checks: Sequence[str],
    clips: Mapping[str, Bounds] = MappingProxyType({}),
    groups: Sequence[str] = (),
    judge: Judge | None = None,
) -> Truths:
    """Like `_truths`, or another `judge`; if that fails, plain SQL has no answer. A failure that no value explains is our
    mistake: its name is logged, which the test suite treats as a failure."""
    try:
        return (judge or _truths)(connection, text, tables, checks, clips, groups)
    except (Unknown, RecursionError, *BY_VALUE):  # a long chain of conditions exceeds Python's recursion limit
        raise Unknown from None
    except Exception as error:
        mistake = error
    LOG.warning("a question's own text was not run on made-up tables: %s", type(mistake).__name__, extra={"error": mistake})
    raise Unknown


def _truths(
    connection: Any,
    text: str,
    tables: Mapping[str, str],
    checks: Sequence[str],
    clips: Mapping[str, Bounds],
    groups: Sequence[str],
) -> Truths:
    """The truth in each made-up table. `tables` are their registered names, by the names that a question may use, the
    first for any other name; `checks` are conditions that exclude rounded rows, and clipped ones unless `clips` covers
    them. If it is asked which of some `groups` leads, the engine has their numbers, and the first of the largest leads."""
    select = select_of(text)
    if any(table.name.lower() == each.alias.lower() for each in select.ctes for table in each.find_all(exp.Table)):
        raise Unknown  # to the engine, a select named like its table is a circle
    leads = _as_groups(select) if groups else None
    columns = {row[0].lower() for row in connection.execute(f"describe {next(iter(tables.values()))}").fetchall()}
    keys = keys_of(select, columns)
    fit = " and ".join(checks) or "true"
    base = next(iter(tables))
    answer = judged(_clipped(_answer(select), clips)) if leads is None else _double(ruled(leads.measure))
    for clause in ("having", "order", "limit"):
        select.set(clause, None)
    with_tables(select, base)
    select.set(
        "expressions",
        [
            aliased(_bottom_up(sqlglot.parse_one(f"bool_and({fit})", dialect="duckdb")), "fit"),
            aliased(answer, "answer"),
            aliased(exp.Count(this=exp.Star()), "rows"),
        ],
    )
    as_filters(select, columns)
    renamed(select, tables, base)
    nobody = of_nobody_in(select)
    for each in list(select.find_all(exp.Select)):
        by_table(each, outer=each is select)
    select.set("expressions", [*select.expressions, *(key.copy() for key in keys)])
    ((_, of_nobody, _),) = connection.execute(nobody.sql(dialect="duckdb")).fetchall()
    rows = connection.execute(select.sql(dialect="duckdb")).fetchall()
    named = [
        ((number, *map(written, key)), fits, verdict, many) for fits, verdict, many, number, *key in rows if None not in key
    ]
    if leads is not None:
        return Truths(leads.of_all(named, groups), 0, {})
    answers = {key: _number(verdict) if fits else None for key, fits, verdict, _ in named}
    return Truths(answers, _number(of_nobody), {key: many for key, *_, many in named})


@dataclass(frozen=True)
class _Leads:
    """What orders groups, which of them is first, and whether an empty one has 0, as a count, or nothing."""

    measure: exp.Expr
    largest: bool
    counted: bool

    def of_all(self, named: Sequence[tuple[Any, ...]], groups: Sequence[str]) -> dict[tuple[Any, ...], int | None]:
        """The number of the group that leads, by made-up table, from each group's value."""
        tables: dict[int, dict[str, Any]] = {}
        unfit = {number for (number, _), fits, *_ in named if not fits}
        for (number, key), _, value, _ in named:
            tables.setdefault(number, {})[key] = value
        return {(n,): None if n in unfit else self._of([own.get(group) for group in groups]) for n, own in tables.items()}

    def _of(self, values: Sequence[float | None]) -> int | None:
        known = [0.0 if value is None and self.counted else value for value in values]
        there = [(value if self.largest else -value) for value in known if value is not None]
        if not there:
            return 0
        most = max(there)
        if any(value != most and abs(value - most) <= CLOSE * (1 + abs(value) + abs(most)) for value in there):
            return None
        return known.index(most if self.largest else -most)


def _as_groups(select: exp.Select) -> _Leads:
    """A question which group leads as one for the value of every group; a mode is a count by its operand."""
    order = select.args.get("order")
    if order is not None:
        (by,) = order.expressions
        return _Leads(by.this, bool(by.args.get("desc")), isinstance(by.find(exp.AggFunc), exp.Count))
    (asked,) = (e.unalias().unnest() for e in select.expressions)
    if isinstance(asked, exp.Filter):
        select.where(asked.expression.this, copy=False)
        asked = asked.this
    select.set("expressions", [asked.this.copy()])
    select.set("group", exp.Group(expressions=[asked.this.copy()]))
    return _Leads(exp.Count(this=exp.Star()), largest=True, counted=True)


def _number(verdict: str | None) -> int | None:
    """An answer as it is compared: yes is 1, no is 0, and one of several has its number."""
    return None if verdict is None else int(verdict == "yes") if verdict in ("yes", "no") else int(verdict)


def with_tables(select: exp.Select, base: str) -> None:
    """Name the table after from where a select leaves it out."""
    for each in [one for one in select.find_all(exp.Select) if one.args.get("from_") is None]:
        called = {column.table for column in each.find_all(exp.Column) if column.table}
        each.set("from_", exp.From(this=exp.table_(called.pop() if called else base, quoted=True)))


def as_filters(select: exp.Select, columns: Collection[str]) -> None:
    """Let inner selects that only filter keep every column, so also the number of the made-up table. One that gives a value the
    name of another of the table's `columns` is not judged."""
    for each, made in _filters_of(select):
        if each.find(exp.AggFunc) or any(value.alias.lower() in columns for value in made):
            raise Unknown
        each.set("expressions", [exp.Star(), *made])


def _filters_of(select: exp.Select) -> list[tuple[exp.Select, list[exp.Expr]]]:
    """Inner selects that are not grouped, each with the values that it makes."""
    inside = [one for one in select.find_all(exp.Select) if one is not select and one.args.get("group") is None]
    return [(one, [made for made in one.expressions if isinstance(made, exp.Alias)]) for one in inside]


def of_nobody_in(select: exp.Select) -> exp.Select:
    """The same select of all rows of empty tables."""
    nobody = select.copy()
    nobody.set("where", None)
    nobody.set("group", None)
    of_with = {each.alias.lower() for each in select.ctes}
    for table in [each for each in nobody.find_all(exp.Table) if each.name.lower() not in of_with]:
        rows = exp.select("*").from_(exp.to_table(table.name)).where(exp.false())
        table.replace(rows.subquery(exp.to_identifier(table.alias, quoted=True)))
    return nobody


def written(value: Any) -> str:
    """A key of a group as text: an integer, and a time at midnight, as the number and the day."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).removesuffix(" 00:00:00")


def on_grid(value: str, grid: Grid, *, clipped: bool = False) -> str:
    """SQL: a value is null, or within its bounds and a multiple of its grid; with `clipped`, clipping may move it
    there."""
    number = f"try_cast(({value}) as double)"
    low, high, step = (float(end * grid.step) for end in (grid.low, grid.high, 1))
    steps = f"({number} / ({step}))"
    within, whole = f"{number} between {low} and {high}", f"abs({steps} - round({steps})) < {CLOSE}"
    return f"coalesce({f'not {within} or' if clipped else f'{within} and'} {whole}, true)"


def within(value: str, bounds: Bounds) -> str:
    """SQL: a value is null, or within its bounds."""
    return f"coalesce(try_cast(({value}) as double) between {float(bounds.low)} and {float(bounds.high)}, true)"


def clipped(text: str, bounds: Mapping[str, Bounds]) -> Mapping[str, Bounds]:
    """The bounds to which plain SQL itself can clip: of values that are added up or averaged as they stand there, and
    are in no other aggregate but counts."""
    try:
        select = select_of(text)
        answer = _answer(select)
    except (Unknown, RecursionError, SqlglotError):
        return {}
    if any(made for _, made in _filters_of(select)):  # under whose names bounded values may be added up
        return {}
    own = {value: each for value, each in bounds.items() if columns_named(value)}
    for aggregate in answer.find_all(exp.AggFunc):
        if isinstance(aggregate, COUNTS):
            continue
        added = _bounded(aggregate.this, own) if isinstance(aggregate, ADDED) else None
        named = {column.name.lower() for column in aggregate.find_all(exp.Column)}
        own = {v: each for v, each in own.items() if v == added or not named & {name for _, name in columns_named(v)}}
    return own


def _bounded(value: exp.Expr, bounds: Mapping[str, Bounds]) -> str | None:
    """Which of some bounded values this is; a column is identified by its name."""
    for each in bounds:
        own = _bottom_up(sqlglot.parse_one(each, dialect="duckdb"))
        if own == value or (
            isinstance(own, exp.Column) and isinstance(value, exp.Column) and own.name.lower() == value.name.lower()
        ):
            return each
    return None


def _clipped(answer: exp.Expr, clips: Mapping[str, Bounds]) -> exp.Expr:
    for aggregate in list(answer.find_all(*ADDED)):
        if (value := _bounded(aggregate.this, clips)) is not None:
            number, ends = f"try_cast(({sql_of(aggregate.this)}) as double)", clips[value]
            low, high = float(ends.low), float(ends.high)
            case = f"case when {number} < {low} then {low} when {number} > {high} then {high} else {number} end"
            aggregate.set("this", sqlglot.parse_one(case, dialect="duckdb"))
    return answer


def _inexact_quotient(parsed: exp.Expr) -> bool:
    """Whether a number without an exact double is divided: plain SQL divides doubles, and the rules divide exactly."""
    quotients = [literal for quotient in parsed.find_all(exp.Div) for literal in quotient.find_all(exp.Literal)]
    return any(literal.is_int and abs(int(literal.this)) > 2**53 for literal in quotients)


def select_of(text: str) -> exp.Select:
    """A question as a select that never fails."""
    parsed = sqlglot.parse_one(selected(text), dialect="duckdb")
    if not isinstance(parsed, exp.Select) or parsed.find(*ORDERED) or _far_dates(parsed) or _inexact_quotient(parsed):
        raise Unknown
    return _bottom_up(parsed)  # type: ignore[return-value]


def selected(text: str) -> str:
    """A question's text as a select."""
    return text if text.lstrip().lower().startswith(("select", "with")) else f"select {text}"


def columns_named(value: str) -> set[tuple[str, str]]:
    """The columns that a value is computed from, each with its table, if that is named, in lower case; empty for a
    column whose name is not SQL."""
    try:
        parsed = sqlglot.parse_one(value, dialect="duckdb")
    except SqlglotError:
        return set()
    return {(column.table.lower(), column.name.lower()) for column in parsed.find_all(exp.Column)}


def _far_dates(select: exp.Select) -> bool:
    """Whether dates are moved, perhaps out of the years 1 to 9999, where the rules have null and plain SQL has
    dates."""
    texts = [literal.name for literal in select.find_all(exp.Literal) if literal.is_string]
    near = all(int(text[:4]) in NEAR for text in texts if re.match(r"[0-9]{4}-", text))
    spans = [literal.name for span in select.find_all(exp.Interval) for literal in span.find_all(exp.Literal)]
    sums = [side for node in select.find_all(exp.Add, exp.Sub) for side in (node.left, node.right)]
    years = sum(float(number) for text in spans for number in re.findall(r"[0-9]+", text))
    years += sum(float(side.name) / 365 for side in sums if isinstance(side, exp.Literal) and not side.is_string)
    return bool(years) and not (near and years < NEAR.start)


def keys_of(select: exp.Select, columns: Collection[str]) -> list[exp.Expr]:
    """The keys: columns, or selected expressions, by position or by a name that is not a column."""
    group, named = select.args.get("group"), {e.alias.lower(): e.unalias() for e in select.expressions if e.alias}
    named = {name: made for name, made in named.items() if name not in columns}
    keys = []
    for key in group.expressions if group else []:
        if isinstance(key, exp.Literal):
            key = select.expressions[int(key.name) - 1].unalias()
        keys.append(named.get(key.name.lower(), key) if isinstance(key, exp.Column) else key)
    if group:
        select.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return keys


def _never_failing(node: exp.Expr) -> exp.Expr:
    """Where SQL would fail, a value computed from a row is null, and so are divisions by zero, and NaN or infinite
    results: the logarithm of zero, the root of a negative number, a huge power."""
    match node:
        case exp.LT() | exp.LTE() | exp.GT() | exp.GTE() if isinstance(node.this, ORDER):  # a < b < c
            last = node.this.right if isinstance(node.this, exp.And) else node.this
            return exp.And(this=node.this, expression=type(node)(this=last.expression.copy(), expression=node.expression))
        case exp.Cast() if not isinstance(node, exp.TryCast):
            return exp.TryCast(this=node.this, to=node.args["to"])
        case exp.Div() if not (isinstance(node.expression, exp.Nullif)):
            return exp.Div(this=node.this, expression=exp.Nullif(this=node.expression, expression=exp.Literal.number(0)))
        case exp.Avg() if node.find_ancestor(exp.Subquery) is not None:  # DuckDB has no average of Booleans
            return exp.Avg(this=_double(node.this))
        case exp.Anonymous() if node.name.lower() in OTHERWISE and len(node.expressions) == 1:
            return OTHERWISE[node.name.lower()](this=node.expressions[0])
        case exp.Sqrt() | exp.Ln() | exp.Log():
            return sqlglot.parse_one(f"case when isfinite({sql_of(node)}) then {sql_of(node)} end", dialect="duckdb")
        case exp.Exp():
            return sqlglot.parse_one(
                f"case when {sql_of(node.this)} between -300 and 300 then {sql_of(node)} end", dialect="duckdb"
            )
    return node


def _bottom_up(node: exp.Expr) -> exp.Expr:
    for each in reversed(list(node.bfs())):
        made = _never_failing(each)
        if made is not each and each.parent is not None:
            each.replace(made)
        elif made is not each:
            node = made
    return node


def _answer(select: exp.Select) -> exp.Expr:
    """The answer: the one expression with an aggregate, or the condition of having."""
    having = select.args.get("having")
    asked = [e.unalias() for e in select.expressions if e.find(exp.AggFunc)] + ([having.this] if having is not None else [])
    if len(asked) != 1:
        raise Unknown
    found: exp.Expr = asked[0]
    return found


def aliased(expression: exp.Expr, name: str) -> exp.Alias:
    """An expression as a column of this name."""
    return exp.Alias(this=expression, alias=exp.to_identifier(name, quoted=True))


def by_table(select: exp.Select, *, outer: bool) -> None:
    """One more column and group: the number of the made-up table; with several joined tables, the first one's."""
    group, source = select.args.get("group"), select.args["from_"].this
    if not source.alias_or_name:
        source.set("alias", exp.TableAlias(this=exp.to_identifier("people_")))
    for join in select.args.get("joins") or []:
        if isinstance(join.this, exp.Subquery):  # the people of another private table: of the same made-up one
            if join.args.get("using"):
                join.append("using", exp.to_identifier(TABLE, quoted=True))
            else:
                sides = (exp.column(TABLE, table=each.alias_or_name, quoted=True) for each in (source, join.this))
                join.set("on", exp.and_(join.args["on"], exp.EQ(**dict(zip(("this", "expression"), sides, strict=True)))))
    column = exp.column(TABLE, table=exp.to_identifier(source.alias_or_name, quoted=True), quoted=True)
    if not outer and group is None:
        return  # it filters rows: the number is among its columns
    select.append("expressions", aliased(column, TABLE))
    select.set("group", exp.Group(expressions=[*(group.expressions if group else []), column.copy()]))


def renamed(select: exp.Select, tables: Mapping[str, str], base: str) -> None:
    """Name the tables as they are registered."""
    known, of_with = {name.lower(): held for name, held in tables.items()}, {each.alias.lower() for each in select.ctes}
    for table in list(select.find_all(exp.Table)):
        if table.name.lower() in of_with:
            continue
        alias = table.alias or table.name
        table.replace(exp.alias_(exp.to_table(known.get(table.name.lower(), tables[base])), alias, table=True, quoted=True))


def judged(asked: exp.Expr) -> exp.Expr:
    """'yes' or 'no', which also stands for unknown; the number of the first condition that holds; null if rounding may
    decide."""
    close: list[str] = []
    tests = _conditions(asked.unnest())
    if tests:
        whens = " ".join(f"when {decided(test, close)} then '{i}'" for i, test in enumerate(tests))
        verdict = f"case {whens} else '{len(tests)}' end"
    else:
        verdict = f"case when {decided(asked, close)} then 'yes' else 'no' end"
    return sqlglot.parse_one(f"case when not ({' or '.join(close)}) then {verdict} end" if close else verdict, dialect="duckdb")


def _conditions(node: exp.Expr) -> list[exp.Expr]:
    """The conditions of a case, or those of brackets from the last on; none of another expression."""
    match node:
        case exp.Case():
            return [part.this for part in node.args["ifs"]]
        case exp.If():
            return [node.this]
        case exp.Anonymous() if node.name.lower() == "bracket":
            value, *limits = node.expressions
            return [exp.GTE(this=value.copy(), expression=limit.copy()) for limit in reversed(limits)]
    return []


def decided(node: exp.Expr, close: list[str]) -> str:
    """A tree of comparisons as text; what rounding may decide is added to `close`."""
    match node:
        case exp.Paren():
            return f"({decided(node.this, close)})"
        case exp.Not():
            return f"(not {decided(node.this, close)})"
        case exp.And() | exp.Or():
            sign = "and" if isinstance(node, exp.And) else "or"
            return f"({decided(node.left, close)} {sign} {decided(node.right, close)})"
        case exp.EQ() | exp.NEQ() | exp.In() if (mode := node.find(exp.Mode)) is not None:  # a tie is known: nobody has won
            counted: exp.Expr = exp.Count(this=mode.this.copy())
            if isinstance(mode.parent, exp.Filter):
                counted = exp.Filter(this=counted, expression=mode.parent.expression.copy())
            won, sign = ruled(node), "not " if isinstance(node, exp.NEQ) else ""
            won = exp.EQ(this=won.this, expression=won.expression) if sign else won
            return f"(case when {sql_of(counted)} > 0 then {sign}coalesce({sql_of(won)}, false) end)"
    if not (isinstance(node, (*COMPARED, exp.Filter, exp.AggFunc))):
        raise Unknown
    if any(_vanishes(number) for number in node.find_all(exp.Literal)):
        raise Unknown
    by_rule = ruled(node)
    close += nearly_equal(node)
    return f"({sql_of(by_rule)})"


def nearly_equal(node: exp.Expr) -> Iterator[str]:
    """SQL: whether a comparison's sides differ, but by so little that rounding may have made the difference."""
    sides = [(node.this, node.args.get(name)) for name in ("expression", "low", "high")] if isinstance(node, COMPARED) else []
    for left, right in sides:
        if right is not None:
            a, b = (f"try_cast(({sql_of(ruled(side))}) as double)" for side in (left, right))
            yield f"coalesce({a} <> {b} and abs({a} - {b}) <= {CLOSE} * (1 + abs({a}) + abs({b})), false)"


def _vanishes(number: exp.Literal) -> bool:
    """Whether an added or subtracted number is so small that doubles may lose it."""
    return number.is_number and 0 < float(number.this) < CLOSE and number.find_ancestor(exp.Add, exp.Sub) is not None


def sql_of(node: exp.Expr) -> str:
    """Its text."""
    return node.sql(dialect="duckdb")


def ruled(node: exp.Expr) -> exp.Expr:
    """The same by the stated rules: numbers are added up and averaged as doubles, a median is the lower one, a mode is
    strictly first."""
    filtered = node.args.get("expression") if isinstance(node, exp.Filter) else None
    inner = node.this if isinstance(node, exp.Filter) else node

    def with_filter(aggregate: exp.Expr) -> exp.Expr:
        return aggregate if filtered is None else exp.Filter(this=aggregate, expression=filtered.copy())

    match inner:
        case exp.Sum():
            return with_filter(exp.Sum(this=_double(inner.this)))
        case exp.Median():
            return with_filter(exp.Quantile(this=inner.this.copy(), quantile=exp.Literal.number("0.5")))
        case exp.Mode():
            histogram, mode = (with_filter(f) for f in (exp.func("histogram", inner.this.copy()), inner.copy()))
            return sqlglot.parse_one(STRICT.format(h=sql_of(histogram), m=sql_of(mode)), dialect="duckdb")
    if isinstance(inner, DOUBLES):
        return with_filter(type(inner)(this=_double(inner.this)))
    if isinstance(inner, exp.AggFunc) or not isinstance(
        node, exp.Binary | exp.Unary | exp.Paren | exp.Between | exp.In | exp.Func
    ):
        return node.copy()
    made = node.copy()
    for name in ("this", "expression", "low", "high"):
        if isinstance(part := node.args.get(name), exp.Expr):
            made.set(name, ruled(part))
    return made


def _double(value: exp.Expr) -> exp.Expr:
    return exp.TryCast(this=value.copy(), to=exp.DataType.build("double"))
