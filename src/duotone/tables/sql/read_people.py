"""Inner selects of a question: one row per person, and joins of these by the unit.

Guarantee: an inner select has at most one row per person, made of that person's rows alone. So there is at most one
joined row per person, and it depends only on that person's rows, in all of the private tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.tables.sql.comparison import PRESENT, PeopleJoin, PeopleTable, PersonAggregate, PublicJoin
from duotone.tables.sql.condition import ALWAYS, Columns, Condition, IsNull, Not, Operand, both
from duotone.tables.sql.functions.function import types_needed, undeclared
from duotone.tables.sql.normal_form import normal_text
from duotone.tables.sql.read_condition import (
    constant,
    filtered,
    is_condition,
    read_condition,
    read_numbers,
    read_operand,
    read_part,
)
from duotone.tables.sql.read_joins import TOGETHER, Tables, join_tables, refuse_bare, table_of
from duotone.tables.sql.syntax import column_name, group_keys, yes_or_no_constants


def read_people(select: exp.Select, tables: Tables) -> PeopleTable:
    """Read an inner select; people without a row in its where are left out."""
    columns, joined, joins = join_tables(select, tables)
    yes_or_no_constants(select, columns)
    select.set("order", None)  # which does not matter in a table
    having = select.args.get("having")
    person = _grouped_by(group_keys(select, columns), columns, tables.unit)
    where = select.args.get("where")
    rows = read_condition(where.this, columns) if where is not None else ALWAYS
    if joins:
        rows = both(joined, rows)
    reader = _Reader(columns, rows)
    made: dict[str, Operand | Condition] = {}
    for expression in select.expressions:
        if isinstance(expression.unalias(), exp.Column) and column_name(expression.unalias(), columns) == person:
            continue
        if not isinstance(expression, exp.Alias):
            raise DuotoneError(f"{expression.sql(dialect='duckdb')}: name each column of the inner select, as in … as d")
        if expression.alias.lower() in (person.lower(), *map(str.lower, made)):  # case does not matter in a question
            raise DuotoneError(f"the inner select has two columns called {expression.alias}")
        if expression.alias.lower() == PRESENT:
            raise DuotoneError(f"{expression.sql(dialect='duckdb')}: call this column of the inner select something else")
        made[expression.alias] = reader.column(expression.this)
    kept = reader.condition(having.this) if having is not None else ALWAYS
    normal = normal_text(select, of_people=True)
    return PeopleTable(person, rows, tuple(reader.aggregates), tuple(made.items()), kept, normal, joins)


BY_UNIT = "the inner select makes one row per person: it is grouped by the unit, and by nothing else"


def _grouped_by(keys: Sequence[exp.Expression], columns: Columns, unit: str | None) -> str:
    """The unit, if it is the only key: other keys do not make one row per person."""
    if unit is None:
        raise Refusal("unit missing in an inner select")
    named = [column_name(key, columns) if isinstance(key, exp.Column) else None for key in keys]
    if unit not in named:
        raise DuotoneError(f"{BY_UNIT}; the unit is {unit}")
    for other in named:
        if other != unit:
            hint = "" if other is None else f"; of {other} take one value of each person, as in max({other}) as {other}"
            raise DuotoneError(f"{BY_UNIT}{hint}")
    return unit


class _Reader:
    """Reads columns of the inner select: aggregates of a person's rows, and values computed from them."""

    def __init__(self, columns: Columns, rows: Condition) -> None:
        self.columns, self.rows = columns, rows
        self.aggregates: list[PersonAggregate] = []

    def column(self, node: exp.Expression) -> Operand | Condition:
        """One column: its aggregates are read first, and are columns for the computed value."""
        text, copy = node.sql(dialect="duckdb"), exp.Paren(this=node.copy())
        _as_numbers(copy)
        _as_counts(copy)
        for column in copy.find_all(exp.Column):  # before the aggregates become columns, whose names are ours
            if column.find_ancestor(exp.AggFunc, exp.Filter) is None:
                raise DuotoneError(
                    f"{text}: take an aggregate of a person's rows: count, sum, avg, min, max or arg_max of {column.name}"
                )
        for inner in list(_aggregates(copy)):
            inner.replace(exp.column(self._place(inner), quoted=True))
        kinds = {str(i): aggregate.kind for i, aggregate in enumerate(self.aggregates)}
        if is_condition(copy.this, kinds):
            return read_condition(copy.this, kinds)
        part = read_part(copy.this, kinds)
        if not isinstance(part, Operand):
            raise DuotoneError(f"{text} is the same for everybody: leave it out")
        return part

    def condition(self, node: exp.Expression) -> Condition:
        """The condition on people."""
        made = self.column(node)
        if isinstance(made, Operand):
            raise DuotoneError(f"{node.sql(dialect='duckdb')} is not a condition: compare it with something")
        return made

    def _place(self, node: exp.Expression) -> str:
        aggregate = self.aggregate(node)
        if aggregate not in self.aggregates:
            self.aggregates.append(aggregate)
        return str(self.aggregates.index(aggregate))

    def aggregate(self, node: exp.Expression) -> PersonAggregate:
        """One aggregate of a person's rows."""
        text, (inner, where) = node.sql(dialect="duckdb"), filtered(node, self.rows, self.columns)
        match inner:
            case exp.Count() if isinstance(inner.this, exp.Star) or constant(inner.this) is not None:
                return PersonAggregate("count", where)
            case exp.Count() if isinstance(inner.this, exp.Distinct) and len(inner.this.expressions) == 1:
                return PersonAggregate("distinct", where, read_operand(inner.this.expressions[0], self.columns))
            case exp.Count() if not isinstance(inner.this, exp.Distinct):
                return PersonAggregate("count", both(where, Not(IsNull(read_operand(inner.this, self.columns)))))
            case exp.Sum() | exp.Avg():
                added = read_numbers(inner.this, self.columns, text)
                return PersonAggregate("sum" if isinstance(inner, exp.Sum) else "avg", where, added)
            case exp.Min() | exp.Max() if not inner.expressions:
                return PersonAggregate("min" if isinstance(inner, exp.Min) else "max", where, self.ordered(inner.this))
            case exp.ArgMin() | exp.ArgMax() if not (inner.args.get("count") or inner.expressions):
                value, by = (self.ordered(part) for part in (inner.this, inner.expression))
                if value.kind == "boolean":
                    raise DuotoneError(f"{text}: take a number, a text or a time of that row, as in ({value.column})::int")
                return PersonAggregate("first" if isinstance(inner, exp.ArgMin) else "last", where, value, by)
        raise DuotoneError(f"{text}: of a person's rows take {TAKEN}")

    def ordered(self, node: exp.Expression) -> Operand:
        """An ordered value."""
        value = read_operand(node, self.columns)
        if value.kind == "untyped":  # the least text is not the least number
            raise undeclared({value.column: "number"})
        return value


TAKEN = "count, count(distinct …), sum, avg, min or max, bool_or or bool_and, arg_min or arg_max"


def _as_numbers(node: exp.Expression) -> None:
    """Whether any, or all, of a person's rows satisfy a condition: the largest, or the least, of ones and zeros is
    1."""
    for part in list(node.find_all(exp.LogicalOr, exp.LogicalAnd)):
        largest = exp.Max if isinstance(part, exp.LogicalOr) else exp.Min
        number = largest(this=exp.cast(exp.Paren(this=part.this.copy()), "int"))
        filtered = part.parent if isinstance(part.parent, exp.Filter) else None
        part.replace(number)
        aggregate: Any = filtered or number
        aggregate.replace(exp.Paren(this=exp.EQ(this=aggregate.copy(), expression=exp.Literal.number(1))))


def _as_counts(node: exp.Expression) -> None:
    """`count_if` is null, like a sum, for a person for whom the condition is never known; else it counts rows."""
    for part in list(node.find_all(exp.CountIf)):
        holds = exp.Paren(this=part.this.copy())
        known = exp.Not(this=exp.Is(this=holds.copy(), expression=exp.Null()))
        filtered = part.parent if isinstance(part.parent, exp.Filter) else None
        outer = [] if filtered is None else [exp.Paren(this=filtered.expression.this.copy())]
        any_known = exp.GT(this=_rows(*outer, known), expression=exp.Literal.number(0))
        (filtered or part).replace(exp.Paren(this=exp.Case().when(any_known, _rows(*outer, holds))))


def _rows(*conditions: exp.Expression) -> exp.Filter:
    return exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=exp.and_(*conditions)))


def _aggregates(node: exp.Expression) -> Iterator[Any]:
    """The outermost aggregates in an expression, with their filters."""
    for part in node.find_all(exp.AggFunc):
        if part.find_ancestor(exp.AggFunc) is None:
            yield part.parent if isinstance(part.parent, exp.Filter) else part


def selects_unit(select: exp.Select, unit: str, columns: Columns) -> None:
    """Refuse an inner select that is joined by the unit but does not select it under its name."""
    for made in select.expressions:
        own = made.unalias()
        if isinstance(own, exp.Column) and made.alias_or_name.lower() == unit.lower() and column_name(own, columns) == unit:
            return
    raise DuotoneError(f"an inner select that is joined has the unit among its columns: select {unit}, …")


def join_people(select: exp.Select, first: PeopleTable, tables: Tables) -> tuple[Columns, Condition, tuple[PeopleJoin, ...]]:
    """The columns of a person, the condition of being on both sides, and the joins."""
    unit, start = first.unit, select.args.get("from_")
    unit_kind = {unit: tables.columns[unit]}
    made: dict[str, tuple[str, PeopleTable]] = {}
    for clause in select.args["joins"]:
        inner = clause.this.this if isinstance(clause.this, exp.Subquery) else None
        if not isinstance(inner, exp.Select):
            raise DuotoneError(
                f"{clause.sql(dialect='duckdb', comments=False)}: {TOGETHER}; a public table is joined inside one"
            )
        label = clause.this.alias
        if start is None or not label:
            raise DuotoneError("inner selects that are joined need names: write one after each, as in (select …) v")
        if label.lower() in (start.this.name.lower(), *map(str.lower, made)):
            raise DuotoneError(f"two inner selects are called {label}: give one another name")
        made[label] = _read(inner, tables)
        clause.set("this", exp.Table(this=exp.to_identifier(label)))
    beside = {label: {**people.kinds, **unit_kind} for label, (_, people) in made.items()}
    own = {**first.kinds, **unit_kind}
    columns, joined, joins = join_tables(select, Tables(own, public=beside), TOGETHER)
    if any(join.keys != ((unit, unit),) for join in joins):
        raise DuotoneError(f"{TOGETHER}; by nothing else")
    return _without_unit(select, unit, columns, joins), joined, tuple(_joined(join, unit, made) for join in joins)


def _read(inner: exp.Select, tables: Tables) -> tuple[str, PeopleTable]:
    """One of the other inner selects: its table's name, and its result for the people there."""
    start, also = inner.args.get("from_"), tables.also
    table = table_of(start.this, also) if start is not None and isinstance(start.this, exp.Table) else None
    if table is None:
        said = start.this.sql(dialect="duckdb", comments=False) if start is not None else "nothing"
        if not also:
            raise Refusal("no private table of that name", table=said)
        raise Refusal("other private tables", table=said, tables=tuple(also))
    refuse_bare(exp.Select(joins=inner.args.get("joins")), tables)
    try:
        people = read_people(inner, replace(tables, columns=also[table], name=table))
    except Refusal as error:
        if not (types := types_needed(error)):
            raise
        raise undeclared({f"{table}." * (column in also[table]) + column: one for column, one in types.items()}) from None
    selects_unit(inner, people.unit, also[table])
    return table, people


def _joined(join: PublicJoin, unit: str, made: Mapping[str, tuple[str, PeopleTable]]) -> PeopleJoin:
    columns = tuple((name, column) for name, column in join.columns if column != unit)
    return PeopleJoin(*made[join.label], replace(join, columns=columns))


def _without_unit(select: exp.Select, unit: str, columns: Columns, joins: Iterable[PublicJoin]) -> Columns:
    """The columns of a person without the unit, whose groups would be persons. A null unit of the other side shows who
    is not there."""
    units = {name: join.matched for join in joins for name, column in join.columns if column == unit}
    for node in select.find_all(exp.Is):
        if isinstance(node.this, exp.Column) and node.this.name in units and isinstance(node.expression, exp.Null):
            node.this.set("this", exp.to_identifier(units[node.this.name], quoted=True))
    kept = {name: kind for name, kind in columns.items() if name != unit and name not in units}
    return {**kept, **dict.fromkeys(units.values(), "boolean")}
