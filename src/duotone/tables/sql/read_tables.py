"""Tables in a question: joins with public tables, inner selects of one row per person, and joins of these by the unit.

Guarantee: a public join gives a row the columns of the one public row with its key, or nulls, depending on the row
alone; rows without one are dropped by a condition on the row, like where. An inner select has at most one row per
person, made of that person's rows alone. So there is at most one joined row per person, and it depends only on that
person's rows, in all of the private tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.tables.sql.comparison import PRESENT, PeopleJoin, PeopleTable, PersonAggregate, PublicJoin
from duotone.tables.sql.condition import ALWAYS, Columns, Compare, Condition, IsNull, Not, Operand, both
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
from duotone.tables.sql.syntax import allowed_names, among, column_name, drop_names, find_column, no_column, same

Names = Sequence[Sequence[exp.Identifier]]
PUBLIC_JOINS = "a question may join only public tables, by = of a column of each, as in from t join zones using (zone)"


@dataclass(frozen=True)
class Tables:
    """What a question may be about: a table's columns, its unit and its name (None without one); the columns of
    `public` tables that may be joined, and `also` those of further private ones."""

    columns: Columns
    unit: str | None = None
    name: str | None = None
    public: Mapping[str, Columns] = field(default_factory=dict)
    also: Mapping[str, Columns] = field(default_factory=dict)


def join_tables(
    select: exp.Select, tables: Tables, only: str = PUBLIC_JOINS
) -> tuple[Columns, Condition, tuple[PublicJoin, ...]]:
    """The columns that a row then has, the condition of having a joined row, and the joins. Names of tables are removed
    from the select, and each column gets its name in the row. `only` says which joins are allowed."""
    clauses = select.args.get("joins") or []
    if not clauses:
        drop_names(select, tables.name, tables.columns)
        return tables.columns, ALWAYS, ()
    if not tables.public:
        raise Refusal("join with no public table", join=clauses[0].sql(dialect="duckdb", comments=False), joins=only)
    row = _Row(select, tables, only)
    for clause in clauses:
        row.join(clause)
    select.set("joins", None)
    select.set("from_", None)
    row.rename(select)
    return row.result()


@dataclass(frozen=True)
class _Link:
    """How a public table is joined: by which pairs of columns, and whether by their common names."""

    table: str
    keys: tuple[tuple[str, str], ...]
    left: bool
    using: bool


class _Row:
    """A row of the table, with the columns of the public tables joined to it so far."""

    def __init__(self, select: exp.Select, tables: Tables, only: str) -> None:
        self.columns, self.public, self.only = tables.columns, tables.public, only
        if select.args.get("from_") is None:
            raise DuotoneError("name the table that is asked about before join, as in from t join zones using (zone)")
        self.own = allowed_names(select, tables.name)
        self.joined: dict[str, _Link] = {}

    def join(self, clause: exp.Join) -> None:
        """Read one join, or refuse it with a reason."""
        text, target = clause.sql(dialect="duckdb", comments=False), clause.this
        kind = " ".join(str(clause.args.get(part) or "").upper() for part in ("method", "side", "kind")).split()
        if kind not in ([], ["INNER"], ["LEFT"], ["LEFT", "OUTER"]):
            raise DuotoneError(f"{text}: {self.only}, or left join")
        if not (isinstance(target, exp.Table) and isinstance(target.this, exp.Identifier) and len(target.parts) == 1):
            raise DuotoneError(f"{text}: {self.only}; a query is not a public table")
        table = _declared(target, self.public)
        if table is None:
            raise DuotoneError(f"{text}: {self.only}; public are {', '.join(self.public)}")
        label = target.alias or table
        if among([_plain(label)[0]], [*self.own, *map(_plain, self.joined)]):
            raise DuotoneError(f"{text}: two tables are called {label}: give one another name, as in join {table} as z")
        using, on = clause.args.get("using"), clause.args.get("on")
        if using:
            pairs = self._by_names(using, table)
        elif on is not None:
            pairs = self._by_equality(on, table, label, text)
        else:
            raise DuotoneError(f"{text}: {self.only}")
        self.joined[label] = _Link(table, tuple(pairs), "LEFT" in kind, bool(using))

    def _by_names(self, using: Sequence[exp.Expression], table: str) -> Iterator[tuple[str, str]]:
        for part in using:
            yield self._required(part, self.columns, "the table"), self._required(part, self.public[table], table)

    def _by_equality(self, on: exp.Expression, table: str, label: str, text: str) -> Iterator[tuple[str, str]]:
        """Pairs from `t.a = z.b and …`, in either order."""
        inside = on.unnest()
        for written in inside.flatten() if isinstance(inside, exp.And) else [inside]:
            part = written.unnest()
            if not (isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column)):
                raise DuotoneError(f"{text}: {self.only}")
            sides = [self._side(column, table, label) for column in (part.this, part.expression)]
            if {public for public, _ in sides} != {True, False}:
                raise DuotoneError(f"{text}: it must be a column of the table = a column of {label}")
            (_, own), (_, key) = sorted(sides)
            yield own, key

    def _side(self, column: exp.Column, table: str, label: str) -> tuple[bool, str]:
        """Whether a column is the public table's, and its name there."""
        before = _qualifier(column)
        if before:
            if among(before, [_plain(label)]):
                return True, self._required(column.this, self.public[table], label)
            if among(before, self.own):
                return False, self._required(column.this, self.columns, "the table")
            raise DuotoneError(f"{column.sql(dialect='duckdb')}: it must be joined to the table that is asked about")
        own, key = find_column(column.this, self.columns), find_column(column.this, self.public[table])
        others = [self.public[link.table] for link in self.joined.values()]
        if any(find_column(column.this, columns) is not None for columns in others):
            raise DuotoneError(f"{column.name} is a column of several tables: write its table before it")
        if (own is None) == (key is None):
            why = "is in neither table" if own is None else "is in both tables: write its table before it"
            raise DuotoneError(f"{column.name} {why}")
        return (True, key) if key is not None else (False, str(own))

    def _required(self, column: exp.Expression, columns: Columns, what: str) -> str:
        name = find_column(column, columns)
        if name is None:
            raise no_column(column.name, columns, what)
        return name

    def rename(self, select: exp.Select) -> None:
        """Give each column its name in the row."""
        for column in select.find_all(exp.Column):
            name = self._meant(column)
            if name is not None:
                column.set("this", exp.to_identifier(name, quoted=True))
            for part in ("table", "db", "catalog"):
                column.set(part, None)

    def _meant(self, column: exp.Column) -> str | None:
        """The name of a column in the row; None if no table has it."""
        before = _qualifier(column)
        if before and among(before, self.own):
            return self._required(column.this, self.columns, "the table")
        names = {label: find_column(column.this, self.public[link.table]) for label, link in self.joined.items()}
        if before:
            label = next((known for known in self.joined if among(before, [_plain(known)])), None)
            if label is None or names[label] is None:
                raise DuotoneError(f"{column.sql(dialect='duckdb')} is not a column of the tables that are joined")
            return self._name(label, str(names[label]))
        own = find_column(column.this, self.columns)
        there = [label for label, name in names.items() if name is not None]
        if own is not None:
            there = [label for label in there if not self._equal(label, own, str(names[label]))]
        if len(there) + (own is not None) > 1:
            tables = [*(["the table"] if own is not None else []), *there]
            raise DuotoneError(f"{column.name} is a column of {' and of '.join(tables)}: write its table before it")
        return self._name(there[0], str(names[there[0]])) if there else own

    def _equal(self, label: str, own: str, name: str) -> bool:
        """Whether the join makes the table's column equal to a public one of that name. Under left join … on they
        differ."""
        link = self.joined[label]
        return (own, name) in link.keys and (link.using or not link.left)

    def _name(self, label: str, column: str) -> str:
        """A public column's name in the row: its own, or prefixed by the table's if another table has the same."""
        others = [self.public[link.table] for other, link in self.joined.items() if other != label]
        known = {name.lower() for columns in (self.columns, *others) for name in columns}
        return f"{label}.{column}" if column.lower() in known else column

    def result(self) -> tuple[Columns, Condition, tuple[PublicJoin, ...]]:
        """The columns of a row, the condition of having a joined row, and the joins; refuses columns that differ only
        in case."""
        columns, joins = dict(self.columns), list[PublicJoin]()
        condition: Condition = ALWAYS
        for label, link in self.joined.items():
            public = self.public[link.table]
            named = tuple((self._name(label, column), column) for column in public)
            columns |= {name: public[column] for name, column in named}
            matched = f"a row of {label}"
            joins.append(PublicJoin(link.table, label, link.keys, named, matched, link.left))
            condition = condition if link.left else both(condition, Compare(Operand(matched, "boolean"), "=", True))
        names = [name.lower() for name in (*columns, *(join.matched for join in joins))]
        many = len(self.columns) + sum(1 + len(self.public[join.table]) for join in joins)
        if not len(set(names)) == len(names) == many:
            raise DuotoneError("the joined tables have columns whose names collide: rename one")
        return columns, condition, tuple(joins)


def _qualifier(column: exp.Column) -> list[exp.Identifier]:
    return [part for part in column.parts[:-1] if isinstance(part, exp.Identifier)]


def _plain(name: str) -> tuple[exp.Identifier]:
    return (exp.to_identifier(name),)


def read_people(select: exp.Select, tables: Tables) -> PeopleTable:
    """Read an inner select; people without a row in its where are left out."""
    columns, joined, joins = join_tables(select, tables)
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
                return PersonAggregate("min" if isinstance(inner, exp.Min) else "max", where, self.ordered(inner.this, text))
            case exp.ArgMin() | exp.ArgMax() if not (inner.args.get("count") or inner.expressions):
                value, by = (self.ordered(part, text) for part in (inner.this, inner.expression))
                if value.kind == "boolean":
                    raise DuotoneError(f"{text}: take a number, a text or a time of that row, as in ({value.column})::int")
                return PersonAggregate("first" if isinstance(inner, exp.ArgMin) else "last", where, value, by)
        raise DuotoneError(f"{text}: of a person's rows take {TAKEN}")

    def ordered(self, node: exp.Expression, text: str) -> Operand:
        """An ordered value."""
        value = read_operand(node, self.columns)
        if value.kind == "untyped":  # the least text is not the least number
            raise DuotoneError(f"{text}: say what {value.column} holds, as in {value.column}::double, ::date or ::text")
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


HOW = "from (select u, … from t group by u) a join (select u, … from s group by u) b using (u), where u is the unit"
TOGETHER = f"private tables are joined by inner selects, each with a row per person, as in {HOW}"


def refuse_bare(select: exp.Select, tables: Tables) -> None:
    """Refuse a further private table outside an inner select, and a public table in the place of the private one."""
    start, joins = select.args.get("from_"), select.args.get("joins") or []
    for table in (clause.this for clause in (start, *joins) if clause is not None):
        if isinstance(table, exp.Table) and table.name.lower() in map(str.lower, tables.also):
            raise DuotoneError(
                f"{table.name} is a further private table: {TOGETHER}; the table that is asked about comes first"
            )
    public = tables.public if tables.name is None or joins else ()
    if start is not None and isinstance(start.this, exp.Table) and start.this.name.lower() in map(str.lower, public):
        raise DuotoneError(
            f"{start.this.name} is public: name the table that is asked about after from, and join the public one"
        )


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
    table = _declared(start.this, also) if start is not None and isinstance(start.this, exp.Table) else None
    if table is None:
        said = start.this.sql(dialect="duckdb", comments=False) if start is not None else "nothing"
        if not also:
            raise Refusal("no private table of that name", table=said)
        raise Refusal("other private tables", table=said, tables=tuple(also))
    refuse_bare(exp.Select(joins=inner.args.get("joins")), tables)
    people = read_people(inner, replace(tables, columns=also[table], name=table))
    selects_unit(inner, people.unit, also[table])
    return table, people


def _declared(table: exp.Table, also: Iterable[str]) -> str | None:
    """The private table of a name, as declared."""
    if len(table.parts) != 1 or not isinstance(table.this, exp.Identifier):
        return None
    return next((known for known in also if same(table.this, exp.to_identifier(known))), None)


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


def group_keys(select: exp.Select, columns: Columns) -> list[exp.Expression]:
    """The keys of a select, none without group by. They are written out in the select too, so that its normal form is
    the same."""
    group = select.args.get("group")
    if group is None:
        return []
    if group.args.get("all"):
        raise DuotoneError("group by all: name the columns that it is grouped by")
    if any(value for name, value in group.args.items() if name != "expressions"):
        raise DuotoneError("group by takes columns and values computed from them, not rollup or cube")
    for key in list(group.expressions):
        if isinstance(key, exp.Rollup | exp.Cube | exp.GroupingSets):
            raise DuotoneError(f"group by {key.sql()}: group by columns and values computed from them")
        if isinstance(key, exp.Literal) and not key.is_string:
            key.replace(_selected(select, key.name))
        elif isinstance(key, exp.Column) and find_column(key.this, columns) is None:
            key.replace(_named(select, key))
    return [key.unnest() for key in group.expressions]


def _named(select: exp.Select, key: exp.Column) -> exp.Expression:
    """The selected expression of a name."""
    named = [e.this for e in select.expressions if isinstance(e, exp.Alias) and e.alias.lower() == key.name.lower()]
    if len(named) != 1:
        return key  # a name that the table does not have either
    selected: exp.Expression = named[0].copy()
    return selected


def _selected(select: exp.Select, place: str) -> exp.Expression:
    """The selected expression at a position, from 1 on."""
    chosen = [e.unalias() for i, e in enumerate(select.expressions, 1) if str(i) == place]
    if not chosen or chosen[0].find(exp.AggFunc) is not None:
        raise DuotoneError(f"group by {place}: give the position of a column in the select list, counted from 1, or its name")
    selected: exp.Expression = chosen[0].copy()
    return selected
