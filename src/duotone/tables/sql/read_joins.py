"""Joins with public tables: each row gets the columns of the one public row that has its key, or nulls.

Guarantee: which public row that is depends on the row alone, so that a person's rows still depend on that person alone. Rows
that have none are left out by a condition on the row, as where leaves rows out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.tables.sql.condition import ALWAYS, Columns, Compare, Condition, Operand, both
from duotone.tables.sql.names import allowed_names, among, drop_names, find_column, no_column, same
from duotone.tables.sql.question_tables import PublicJoin

Names = Sequence[Sequence[exp.Identifier]]
ONLY = "a question has no join but with a public table, by = of a column of each, as in from t join zones using (zone)"


def join_tables(
    select: exp.Select, columns: Columns, name: str | None, public: Mapping[str, Columns], only: str = ONLY
) -> tuple[Columns, Condition, tuple[PublicJoin, ...]]:
    """The columns that a row then has, the condition on a row of having joined, and the joins. What names tables is taken out
    of the select, and each column stands under its name in the row. `only` says which joins there are."""
    clauses = select.args.get("joins") or []
    if not clauses:
        drop_names(select, name, columns)
        return columns, ALWAYS, ()
    if not public:
        raise Refusal("join with no public table", join=clauses[0].sql(dialect="duckdb", comments=False), joins=only)
    tables = _Tables(select, columns, name, public, only)
    for clause in clauses:
        tables.join(clause)
    select.set("joins", None)
    select.set("from_", None)
    tables.rename(select)
    return tables.result()


@dataclass(frozen=True)
class _Link:
    """How a public table is joined: by which pairs of columns, and whether by their common names."""

    table: str
    keys: tuple[tuple[str, str], ...]
    left: bool
    using: bool


class _Tables:
    """The table that is asked about, and the public ones that were joined to it so far."""

    def __init__(
        self, select: exp.Select, columns: Columns, name: str | None, public: Mapping[str, Columns], only: str
    ) -> None:
        self.columns, self.public, self.only = columns, public, only
        if select.args.get("from_") is None:
            raise DuotoneError("name the table that is asked about before join, as in from t join zones using (zone)")
        first = select.args["from_"].this
        if among(first.parts, [_plain(table) for table in public]):
            raise DuotoneError(
                f"{first.name} is public: name the table that is asked about after from, and join the public one"
            )
        self.own = allowed_names(select, name)
        self.joined: dict[str, _Link] = {}

    def join(self, clause: exp.Join) -> None:
        """Read one join, or say why it is refused."""
        text, target = clause.sql(dialect="duckdb", comments=False), clause.this
        kind = " ".join(str(clause.args.get(part) or "").upper() for part in ("method", "side", "kind")).split()
        if kind not in ([], ["INNER"], ["LEFT"], ["LEFT", "OUTER"]):
            raise DuotoneError(f"{text}: {self.only}, or left join")
        if not (isinstance(target, exp.Table) and isinstance(target.this, exp.Identifier) and len(target.parts) == 1):
            raise DuotoneError(f"{text}: {self.only}; a query is none")
        table = next((known for known in self.public if same(target.this, exp.to_identifier(known))), None)
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
        """Pairs from `t.a = z.b and …`, either way round."""
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
        """Put each column under the name that it has in the row."""
        for column in select.find_all(exp.Column):
            name = self._meant(column)
            if name is not None:
                column.set("this", exp.to_identifier(name, quoted=True))
            for part in ("table", "db", "catalog"):
                column.set(part, None)

    def _meant(self, column: exp.Column) -> str | None:
        """The name in the row of a column; None where no table has it."""
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
        """Whether the table's column and a public one of that name are one by the join. Under left join … on they are two."""
        link = self.joined[label]
        return (own, name) in link.keys and (link.using or not link.left)

    def _name(self, label: str, column: str) -> str:
        """A public column's name in the row: its own, or after the table's where another table has the same."""
        others = [self.public[link.table] for other, link in self.joined.items() if other != label]
        known = {name.lower() for columns in (self.columns, *others) for name in columns}
        return f"{label}.{column}" if column.lower() in known else column

    def result(self) -> tuple[Columns, Condition, tuple[PublicJoin, ...]]:
        """The columns of a row, the condition of having joined, and the joins; refuses columns that look alike."""
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
