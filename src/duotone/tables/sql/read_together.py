"""Several private tables about the same people: an inner select of each, joined by the unit.

Guarantee: each inner select has at most one row of a person, made of that person's rows alone; so there is at most one joined
row of a person, and it depends on that person's rows, in all of the tables, alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.tables.sql.condition import Columns, Condition
from duotone.tables.sql.names import column_name, same
from duotone.tables.sql.question_tables import PeopleJoin, PeopleTable, PublicJoin
from duotone.tables.sql.read_joins import join_tables
from duotone.tables.sql.read_people import read_people

HOW = "from (select u, … from t group by u) a join (select u, … from s group by u) b using (u), where u is the unit"
TOGETHER = f"private tables are joined by inner selects, each with a row per person, as in {HOW}"


def refuse_bare(select: exp.Select, also: Iterable[str], public: Iterable[str] = ()) -> None:
    """Refuse a private table that was declared besides where the one that is asked about, or a public one, must stand; and a
    public one in the place of a table that has no name of its own."""
    clauses = [select.args.get("from_"), *(select.args.get("joins") or [])]
    for table in (clause.this for clause in clauses if clause is not None):
        if isinstance(table, exp.Table) and table.name.lower() in map(str.lower, also):
            raise DuotoneError(
                f"{table.name} is a further private table: {TOGETHER}; the table that is asked about comes first"
            )
    start = select.args.get("from_")
    if start is not None and isinstance(start.this, exp.Table) and start.this.name.lower() in map(str.lower, public):
        raise DuotoneError(
            f"{start.this.name} is public: name the table that is asked about after from, and join the public one"
        )


def selects_unit(select: exp.Select, unit: str, columns: Columns) -> None:
    """Refuse an inner select that is joined by the unit, and does not have it under its name."""
    for made in select.expressions:
        own = made.unalias()
        if isinstance(own, exp.Column) and made.alias_or_name.lower() == unit.lower() and column_name(own, columns) == unit:
            return
    raise DuotoneError(f"an inner select that is joined has the unit among its columns: select {unit}, …")


def join_people(
    select: exp.Select,
    first: PeopleTable,
    unit_kind: Columns,
    public: Mapping[str, Columns],
    also: Mapping[str, Columns],
) -> tuple[Columns, Condition, tuple[PeopleJoin, ...]]:
    """The columns of a person, the condition of being on both sides, and the joins; `unit_kind` is the unit's column."""
    (unit,) = unit_kind
    start = select.args.get("from_")
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
        made[label] = _read(inner, unit, public, also)
        clause.set("this", exp.Table(this=exp.to_identifier(label)))
    beside = {label: {**people.kinds, **unit_kind} for label, (_, people) in made.items()}
    own = {**first.kinds, **unit_kind}
    columns, joined, joins = join_tables(select, own, None, beside, TOGETHER)
    if any(join.keys != ((unit, unit),) for join in joins):
        raise DuotoneError(f"{TOGETHER}; by nothing else")
    return _without_unit(select, unit, columns, joins), joined, tuple(_joined(join, unit, made) for join in joins)


def _read(inner: exp.Select, unit: str, public: Mapping[str, Columns], also: Mapping[str, Columns]) -> tuple[str, PeopleTable]:
    """One of the other inner selects: its table's name, and what it makes of the people there."""
    start = inner.args.get("from_")
    table = _declared(start.this, also) if start is not None and isinstance(start.this, exp.Table) else None
    if table is None:
        said = start.this.sql(dialect="duckdb", comments=False) if start is not None else "nothing"
        if not also:
            raise Refusal("no private table of that name", table=said)
        raise Refusal("other private tables", table=said, tables=tuple(also))
    refuse_bare(exp.Select(joins=inner.args.get("joins")), also)
    people = read_people(inner, also[table], unit, table, public)
    selects_unit(inner, unit, also[table])
    return table, people


def _declared(table: exp.Table, also: Iterable[str]) -> str | None:
    """The private table that is meant, by the name that it was declared under."""
    if len(table.parts) != 1 or not isinstance(table.this, exp.Identifier):
        return None
    return next((known for known in also if same(table.this, exp.to_identifier(known))), None)


def _joined(join: PublicJoin, unit: str, made: Mapping[str, tuple[str, PeopleTable]]) -> PeopleJoin:
    columns = tuple((name, column) for name, column in join.columns if column != unit)
    return PeopleJoin(*made[join.label], replace(join, columns=columns))


def _without_unit(select: exp.Select, unit: str, columns: Columns, joins: Iterable[PublicJoin]) -> Columns:
    """The columns of a person but for the unit, which would be a group of its own. That the unit of the other side is null
    tells who is not there."""
    units = {name: join.matched for join in joins for name, column in join.columns if column == unit}
    for node in select.find_all(exp.Is):
        if isinstance(node.this, exp.Column) and node.this.name in units and isinstance(node.expression, exp.Null):
            node.this.set("this", exp.to_identifier(units[node.this.name], quoted=True))
    kept = {name: kind for name, kind in columns.items() if name != unit and name not in units}
    return {**kept, **dict.fromkeys(units.values(), "boolean")}
