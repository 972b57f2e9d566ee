"""Joins with public tables in a question: the columns of a row, and the condition of having a joined row.

Guarantee: a join gives a row the columns of the one public row with its key, or nulls, depending on the row alone; rows
without one are dropped by a condition on the row, like where.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.tables.sql.comparison import PublicJoin
from duotone.tables.sql.condition import ALWAYS, Columns, Compare, Condition, Operand, both
from duotone.tables.sql.syntax import allowed_names, among, drop_names, find_column, no_column, same

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

    @property
    def every(self) -> tuple[Columns, ...]:
        """The columns of each table."""
        return (self.columns, *self.public.values(), *self.also.values())

    def assuming(self, kinds: Columns) -> Tables:
        """The same, if columns without a declared type held values of these kinds."""

        def of(table: Columns, before: str = "") -> Columns:
            return {name: kinds.get(before + name, kind) if kind == "untyped" else kind for name, kind in table.items()}

        named = ({name: of(table, f"{name}.") for name, table in some.items()} for some in (self.public, self.also))
        return Tables(of(self.columns), self.unit, self.name, *named)

    def declared_as(self, column: str) -> str:
        """The key of a column without a declared type among a dataset's types: labs.value for one of another table."""
        if self.columns.get(column) == "untyped":
            return column
        own = column.partition(".")[2] or column  # behind the name that the question gives a joined table
        for table, columns in {**self.public, **self.also}.items():
            if column != f"{table}.{own}" and columns.get(own) == "untyped":
                return f"{table}.{own}"
        return column


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
        table = table_of(target, self.public)
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


def table_of(table: exp.Table, declared: Iterable[str]) -> str | None:
    """The declared table of this name, if there is one."""
    if len(table.parts) != 1 or not isinstance(table.this, exp.Identifier):
        return None
    return next((known for known in declared if same(table.this, exp.to_identifier(known))), None)
