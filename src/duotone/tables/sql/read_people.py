"""One row per person first: an inner select, grouped by the unit, whose columns the outer one asks about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.tables.sql.condition import ALWAYS, NUMERIC, Columns, Condition, IsNull, Not, Operand, both
from duotone.tables.sql.constants import constant
from duotone.tables.sql.functions.function import as_floats
from duotone.tables.sql.names import column_name
from duotone.tables.sql.normal_form import normal_text
from duotone.tables.sql.question_tables import PRESENT, PeopleTable, PersonAggregate
from duotone.tables.sql.read_condition import is_condition, read_condition, read_operand, read_part
from duotone.tables.sql.read_groups import group_keys
from duotone.tables.sql.read_joins import join_tables


def read_people(
    select: exp.Select, columns: Columns, unit: str | None, name: str | None, public: Mapping[str, Columns]
) -> PeopleTable:
    """Read an inner select; whoever has no row in its where is not in it."""
    columns, joined, joins = join_tables(select, columns, name, public)
    select.set("order", None)  # which does not matter in a table
    having = select.args.get("having")
    person = _grouped_by(group_keys(select, columns), columns, unit)
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
        if expression.alias.lower() in (person.lower(), *map(str.lower, made)):  # case makes no difference in a question
            raise DuotoneError(f"the inner select has two columns called {expression.alias}")
        if expression.alias.lower() == PRESENT:
            raise DuotoneError(f"{expression.sql(dialect='duckdb')}: call this column of the inner select something else")
        made[expression.alias] = reader.column(expression.this)
    kept = reader.condition(having.this) if having is not None else ALWAYS
    normal = normal_text(select, of_people=True)
    return PeopleTable(person, rows, tuple(reader.aggregates), tuple(made.items()), kept, normal, joins)


BY_UNIT = "the inner select makes one row per person: it is grouped by the unit, and by nothing else"


def _grouped_by(keys: Sequence[exp.Expression], columns: Columns, unit: str | None) -> str:
    """The unit, if that is the only key: of anything else no row of each person is made."""
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
    """Reads columns of the inner select: aggregates of a person's rows, and what is computed from them."""

    def __init__(self, columns: Columns, rows: Condition) -> None:
        self.columns, self.rows = columns, rows
        self.aggregates: list[PersonAggregate] = []

    def column(self, node: exp.Expression) -> Operand | Condition:
        """One column: its aggregates are read first, and stand as columns in what is then computed."""
        text, copy = node.sql(dialect="duckdb"), exp.Paren(this=node.copy())
        _as_numbers(copy)
        _as_counts(copy)
        for column in copy.find_all(exp.Column):  # before the aggregates become columns, whose names are ours
            if column.find_ancestor(exp.AggFunc, exp.Filter) is None:
                raise DuotoneError(f"{text}: of a person's rows take count, sum, avg, min, max or arg_max of {column.name}")
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
        """Which people are kept."""
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
        text, inner, where = node.sql(dialect="duckdb"), node, self.rows
        if isinstance(node, exp.Filter):
            inner, where = node.this, both(self.rows, read_condition(node.expression.this, self.columns))
        match inner:
            case exp.Count() if isinstance(inner.this, exp.Star) or constant(inner.this) is not None:
                return PersonAggregate("count", where)
            case exp.Count() if isinstance(inner.this, exp.Distinct) and len(inner.this.expressions) == 1:
                return PersonAggregate("distinct", where, read_operand(inner.this.expressions[0], self.columns))
            case exp.Count() if not isinstance(inner.this, exp.Distinct):
                return PersonAggregate("count", both(where, Not(IsNull(read_operand(inner.this, self.columns)))))
            case exp.Sum() | exp.Avg():
                return PersonAggregate("sum" if isinstance(inner, exp.Sum) else "avg", where, self.number(inner.this, text))
            case exp.Min() | exp.Max() if not inner.expressions:
                return PersonAggregate("min" if isinstance(inner, exp.Min) else "max", where, self.ordered(inner.this, text))
            case exp.ArgMin() | exp.ArgMax() if not (inner.args.get("count") or inner.expressions):
                value, by = (self.ordered(part, text) for part in (inner.this, inner.expression))
                if value.kind == "boolean":
                    raise DuotoneError(f"{text}: take a number, a text or a time of that row, as in ({value.column})::int")
                return PersonAggregate("first" if isinstance(inner, exp.ArgMin) else "last", where, value, by)
        raise DuotoneError(f"{text}: of a person's rows take {TAKEN}")

    def ordered(self, node: exp.Expression, text: str) -> Operand:
        """What is larger or smaller."""
        value = read_operand(node, self.columns)
        if value.kind == "untyped":  # the least text is not the least number
            raise DuotoneError(f"{text}: say what {value.column} holds, as in {value.column}::double, ::date or ::text")
        return value

    def number(self, node: exp.Expression, text: str) -> Operand:
        """What is added up within a person."""
        value = read_operand(node, self.columns)
        if value.kind not in NUMERIC:
            raise DuotoneError(f"{text}: {value.column} does not hold numbers")
        return as_floats(value)


TAKEN = "count, count(distinct …), sum, avg, min or max, bool_or or bool_and, arg_min or arg_max"


def _as_numbers(node: exp.Expression) -> None:
    """Whether any of a person's rows is so, or all are: whether the largest, or the least, of ones and zeros is one."""
    for part in list(node.find_all(exp.LogicalOr, exp.LogicalAnd)):
        largest = exp.Max if isinstance(part, exp.LogicalOr) else exp.Min
        number = largest(this=exp.cast(exp.Paren(this=part.this.copy()), "int"))
        filtered = part.parent if isinstance(part.parent, exp.Filter) else None
        part.replace(number)
        aggregate: Any = filtered or number
        aggregate.replace(exp.Paren(this=exp.EQ(this=aggregate.copy(), expression=exp.Literal.number(1))))


def _as_counts(node: exp.Expression) -> None:
    """`count_if` is null, as a sum is, of a person in no row of whom the condition is known; else it counts rows."""
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
