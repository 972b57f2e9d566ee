"""The trial: before it is charged, a question is tested on made-up small tables.

Its compiled form is run on all of them in one statement, one group per table. Neighbours' levels may differ by at most
1; the sign must be the truth by plain SQL; and if levels are called distances, they must be the distances that a search
finds. A failing question is refused. This is a second line of defence: a failed trial still means a mistake in Duotone.
"""

from __future__ import annotations

import datetime
import os
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from threading import Lock
from typing import Any

import ibis
import ibis.expr.operations as ops

from duotone.errors import FailedTrial
from duotone.line.table import Reach
from duotone.model.dataset import Bounds, at_once
from duotone.tables.compile_question import Compiled, compile_question, levels_of
from duotone.tables.declared import one_row_each, shaped
from duotone.tables.engines.duckdb import DuckDB, connected
from duotone.tables.engines.engine import Source, closed_on_error
from duotone.tables.engines.open import Others
from duotone.tables.engines.public_tables import PublicTable, typed
from duotone.tables.engines.query import People
from duotone.tables.engines.stored_values import TYPES, Columns, fresh, quoted
from duotone.tables.listed_groups import ListedGroups
from duotone.tables.sql.comparison import (
    CountsComparison,
    DistinctThreshold,
    LinearThreshold,
    MeanDifference,
    ModeIs,
    OfGroups,
    PeopleTable,
    PersonAggregate,
    PublicJoin,
    QuantileThreshold,
    TopGroup,
    VarianceThreshold,
)
from duotone.tables.sql.condition import ALWAYS, Compare, Kind, OneOf, Operand, columns_read, parts_of
from duotone.tables.trial.checks import REACH, Asked, Checks, Levels, judged, standings
from duotone.tables.trial.made_up_tables import (
    PERSON,
    TABLE,
    Constants,
    Layout,
    MadeUp,
    Values,
    full_groups,
    made_up_tables,
    rows_of,
    values_of,
)
from duotone.tables.trial.plain_groups import truths_of_groups
from duotone.tables.trial.plain_sql import Unknown, clipped, columns_named, on_grid, selected, truths, within, written

CROWDS, CROWD = range(2, 101), 6
"""Constants of this size are taken for numbers of people, and some made-up tables have about that many; else CROWD."""
NEAR, WHOLE = 10**6, ("integer", "float", "text", "boolean")
"""Most constants and kinds whose neighbours are all among the critical values, so that distances can be searched
for."""
CLIPPED = LinearThreshold, MeanDifference, VarianceThreshold, TopGroup
AS_THEY_ARE = Compare, OneOf, QuantileThreshold, ModeIs, DistinctThreshold
"""Parts of a question that use values within their bounds as well as those beyond."""
GROUPS = 3
"""Most groups of which it is tried which one leads."""
KEPT = 10_000
"""Questions whose trials are remembered."""
_PASSED: dict[str, None] = {}
_LOCK = Lock()
_IDLE: list[tuple[DuckDB, Callable[[], None]]] = []
"""The engine that the last trial left: opening one takes a third of a trial."""
os.register_at_fork(after_in_child=_IDLE.clear)  # it belongs to the parent


def require_trial(asked: Asked) -> None:
    """Refuse a question that fails its trial.

    Guarantee: what happens here depends on the question, the declarations and the tables' columns, and on no row.
    """
    key = asked.key
    if key in _PASSED:
        return
    seed = int(key[:16], 16)
    failed = None
    try:
        _tried(asked, seed)
    except FailedTrial:
        raise
    except Exception as error:
        failed = type(error).__name__
    if failed is not None:
        raise FailedTrial(failed, f"{seed:x}")
    with _LOCK:
        while len(_PASSED) >= KEPT:
            _PASSED.pop(next(iter(_PASSED)))
        _PASSED[key] = None


def _tried(asked: Asked, seed: int) -> None:
    draw = random.Random(seed)
    asked = _of_few_groups(asked)
    constants = Constants.of(asked.question)
    clips = _clips(asked)
    layout = _layout(asked, constants, clips)
    sizes = [abs(int(n)) for n in (*constants.limits, *constants.numbers) if abs(n) in CROWDS][:2] or [CROWD]
    tables = [*made_up_tables(layout, sizes, draw, share=_share(asked)), *_full_groups(asked, layout, sizes[0], draw)]
    with _empty_engine() as engine:
        made = rows_of(layout, tables)
        private = {name: _private_source(engine, layout.columns[name], made[name]) for name in layout.columns}
        public = {name: _public_source(engine, name, columns, asked, layout, draw) for name, columns in asked.public.items()}
        compiled, levels = _levels(asked, private, public)
        checks = Checks(asked, compiled, tables, levels, seed)
        checks.neighbours()
        if compiled.exact and not asked.grouped:
            checks.distances()
        for number in _some(tables, draw):
            checks.alone(number, _levels(asked, private, public, number)[1])
        with suppress(Unknown):  # what plain SQL cannot judge is left to the others
            registered = {name: _plain_rows(source, asked, tables) for name, source in private.items()}
            registered |= {name: table.source.name for name, table in public.items()}
            fit = _unclipped(asked, compiled, layout, clips)
            groups = asked.question.answers if isinstance(asked.question.tree, TopGroup) else ()
            judge = partial(truths_of_groups, listed=asked.listed or ()) if asked.question.of_groups else None
            checks.plain(truths(engine.connection.con, asked.question.text, registered, fit, clips, groups, judge))


@contextmanager
def _empty_engine() -> Iterator[DuckDB]:
    """The embedded engine without tables. What a trial makes there is undone, and the next trial uses it; one that
    fails closes it."""
    try:
        engine, close = _IDLE.pop()
    except IndexError:
        engine, close = connected()
    with closed_on_error(close):
        engine.connection.con.execute("begin")
        yield engine
        engine.connection.con.execute("rollback")
    if _IDLE:
        close()  # another thread's trial was faster
    else:
        _IDLE.append((engine, close))


def _of_few_groups(asked: Asked) -> Asked:
    """The same question which group leads, with fewer groups: each is compared with each other alike."""
    tree = asked.question.tree
    if not isinstance(tree, TopGroup):
        return asked
    return replace(asked, question=replace(asked.question, tree=replace(tree, values=tree.values[:GROUPS])))


def _full_groups(asked: Asked, layout: Layout, size: int, draw: random.Random) -> list[MadeUp]:
    """Tables with people in every listed group, for a question how many of them say yes."""
    question, first = asked.question, next(iter(layout.columns.values()))
    groups = asked.listed if question.of_groups and all(column in first for column in question.by) else None
    keys = [{c: _stored(value, first[c]) for c, value in zip(question.by, key, strict=True)} for key in groups or ()]
    limits = [part.at_least(len(keys)) for part in parts_of(question.tree) if isinstance(part, OfGroups)]
    enough = [n for limit in limits for n in (limit - 1, limit) if 0 <= n <= len(keys)]
    return full_groups(layout, keys, size, enough, asked.most, replaced=asked.declared.replaced, draw=draw)


def _stored(key: Any, kind: Kind) -> Any:
    """A listed key as a column holds it; None if it cannot."""
    return key if kind in ("text", "untyped") else typed(written(key), kind)


def _clips(asked: Asked) -> Mapping[str, Bounds]:
    """The bounds to which plain SQL clips by itself, where a name alone identifies a column, and not one of a joined
    table."""
    if asked.question.joins or asked.question.beside or asked.question.of_groups:
        return {}
    return clipped(asked.question.text, {_as_sql(asked, value): bounds for value, bounds in asked.declared.bounds.items()})


def _as_sql(asked: Asked, value: str) -> str:
    """A bounded value as SQL; None for a column whose name is not SQL."""
    people, (first, *_) = asked.question.people, asked.private.values()
    return quoted(value) if value.lower() in {c.lower() for c in (first if people is None else people.kinds)} else value


def _unclipped(asked: Asked, compiled: Compiled, layout: Layout, clips: Collection[str]) -> list[str]:
    """Conditions under which bounds and grids change no value, except for bounds to which plain SQL clips; also for a
    comparison that these settle, which is left out. Columns that the question does not read are in no made-up table,
    and have none. If a name does not determine which of two columns is bounded, plain SQL cannot judge."""
    many = Counter(c.lower() for c in _outer_columns(asked, layout))
    grids = {c: grid for comparison in compiled.comparisons for c, grid in comparison.grids.items()}
    own = {c for c in {**asked.declared.bounds, **grids} if _as_sql(asked, c) in clips}
    checks = {c: partial(within, bounds=bounds) for c, bounds in asked.declared.bounds.items() if c not in own}
    checks |= {c: partial(on_grid, grid=grid, clipped=c in own) for c, grid in grids.items()}
    conditions = []
    for value, check in checks.items():
        if many[value.lower()] == 1:
            conditions.append(check(quoted(value)))
            continue
        columns = columns_named(value)
        if columns and all(many[name] for _, name in columns):
            if any(many[name] > 1 and not table for table, name in columns):
                raise Unknown
            conditions.append(check(value))
    return conditions


def _outer_columns(asked: Asked, layout: Layout) -> list[str]:
    """The names of the columns that the question's outermost select can use, some repeatedly if tables are joined."""
    question = asked.question
    if question.people is not None:
        return [c for people in (question.people, *(o.people for o in question.beside)) for c in people.kinds]
    joined = (c for join in question.joins for c, kind in asked.public[join.table].items() if kind != "other")
    return [*next(iter(layout.columns.values())), *joined]


def _share(asked: Asked) -> float:
    """Fewer tables if levels are searched for."""
    slow = MeanDifference | VarianceThreshold | CountsComparison | TopGroup
    return 0.5 if any(isinstance(part, slow) for part in parts_of(asked.question.tree)) else 1.0


def _layout(asked: Asked, constants: Constants, clips: Collection[str]) -> Layout:
    """The columns that the question reads, with their critical values."""
    declared, question = asked.declared, asked.question
    joins = (*question.joins, *(join for other in question.beside for join in other.people.joins))
    named = columns_read(question) | {*question.by, declared.unit} | {own for join in joins for own, _ in join.keys}
    in_text = {name for _, name in columns_named(selected(question.text))}  # also in settled parts: plain SQL reads them
    private = list(asked.private)[:1] + [other.table for other in question.beside]
    columns = {
        table: {c: kind for c, kind in asked.private[table].items() if (c in named or c.lower() in in_text) and kind != "other"}
        for table in private
    }
    compared, clipped = (
        {c for part in parts_of(question) if isinstance(part, kinds) for c in columns_read(part)}
        for kinds in (AS_THEY_ARE, CLIPPED)
    )
    every = question.people is not None or declared.per_unit in ("avg", "sum")
    bounds = {c: ends for c, ends in declared.bounds.items() if every or c in clipped}
    values = {
        table: {
            c: values_of(kind, constants, bounds.get(c), compared=c in compared, clipped=_as_sql(asked, c) in clips)
            for c, kind in own.items()
        }
        for table, own in columns.items()
    }
    for i, column in enumerate(question.by):
        for table, own in values.items():
            if asked.listed and column in own:
                kind = columns[table][column]  # a value that it cannot hold does not occur
                held = (_stored(key[i], kind) for key in asked.listed[:3])
                keys = dict.fromkeys(key for key in held if key is not None)
                own[column] = Values((None, *keys), own[column].odd)
    first = next(iter(values.values()))
    if isinstance(question.tree, TopGroup) and (held_by := first.get(question.tree.key.column)) is not None:
        listed = [int(value) if isinstance(value, Fraction) else value for value in question.tree.values]
        others = [value for value in held_by.usual if value is not None and value not in listed]
        first[question.tree.key.column] = Values((None, *listed, *others[:1]), held_by.odd)
    rows = 1 if declared.max_rows is None else declared.max_rows
    stored = all(o.made is None and o.reading is None for o in parts_of(question) if isinstance(o, Operand))
    ends = [end for bounds in declared.bounds.values() for end in (bounds.low, bounds.high)]
    near = all(abs(number) <= NEAR and number.denominator <= NEAR for number in (*constants.numbers, *constants.limits, *ends))
    near &= all(kind in WHOLE for own in columns.values() for kind in own.values())
    return Layout(columns, values, declared.unit, rows, stored and near)


def _levels(
    asked: Asked, private: Others, public: Mapping[str, PublicTable], number: int | None = None
) -> tuple[Compiled, Levels]:
    """The compiled question's levels in all made-up tables, from one statement; or in one of them, by its `number`,
    from the very statement that will ask the question."""
    question, declared = asked.question, asked.declared
    if number is not None:
        private = {name: _of_one_table(source, number) for name, source in private.items()}
    elif question.people is not None:
        question = replace(question, people=_kept(question.people))
        question = replace(question, beside=tuple(replace(o, people=replace(o.people, unit=PERSON)) for o in question.beside))
    first, *_ = private.values()
    source, question = shaped(first, private, public, question, everybody=declared.replaced)
    if question.people is not None:
        declared = one_row_each(declared, at_once)
    of_groups = asked.question.of_groups
    groups = ListedGroups.of(asked.question, declared, asked.listed, asked.most) if of_groups else None
    compiled = compile_question(asked.question, declared, Reach(REACH, REACH), source, groups)
    by = question.by if number is not None else (TABLE, *question.by)
    population = People(source, compiled.rows, declared.unit, by, asked.most, asked.listed, trial=number is None)
    keys, people, (levels,) = levels_of(population, [(question, compiled)])
    numbered = keys if number is None else ((number, *key) for key in keys)
    both = zip(people.tolist(), standings(levels), strict=True)
    return compiled, {(n, *map(written, key)): each for (n, *key), each in zip(numbered, both, strict=True)}


def _some(tables: Sequence[MadeUp], draw: random.Random) -> list[int]:
    """Two made-up tables: one of the largest, and any other."""
    largest = max(range(len(tables)), key=lambda n: tables[n].people)
    return [largest, draw.randrange(len(tables))]


def _kept(people: PeopleTable) -> PeopleTable:
    """The same inner select, for made-up people, with the number of the made-up table as a further column."""
    number = PersonAggregate("max", ALWAYS, Operand(TABLE, "integer"))
    column = (TABLE, Operand(str(len(people.aggregates)), "integer"))
    return replace(people, unit=PERSON, aggregates=(*people.aggregates, number), columns=(*people.columns, column))


PUBLIC = 8
"""Rows of a made-up public table."""
SQL: Mapping[Kind, str] = {
    "integer": "bigint", "float": "double", "decimal": "decimal(22, 4)", "text": "varchar", "boolean": "boolean",
    "date": "date", "time": "timestamp", "untyped": "varchar", "other": "varchar",
}  # fmt: skip
USUAL: Mapping[Kind, Any] = {"integer": 7, "boolean": True, "date": datetime.date(2025, 1, 31)}


def _private_source(engine: DuckDB, kinds: Mapping[str, Kind], rows: Mapping[str, list[Any]]) -> Source:
    """Made-up rows as a table of the embedded engine, with a name of its own. Lists are passed directly: Arrow would
    load pandas for them."""
    held = fresh()
    own: dict[str, Kind] = {c: kinds.get(c, "integer" if c == TABLE else "text") for c in rows}
    columns = ", ".join(f"unnest(${i}::{SQL[kind]}[]) as {quoted(c)}" for i, (c, kind) in enumerate(own.items(), 1))
    engine.connection.con.execute(f"create temp table {held} as select {columns}", list(rows.values()))
    table = _table(engine.connection, held, {c: TYPES[kind] for c, kind in own.items()})
    return Source(engine, held, Columns(own, lambda chosen: table.select(*chosen)), named=False)


def _of_one_table(source: Source, number: int) -> Source:
    """The rows of one made-up table."""
    made = source.reading.table
    kept = [c for c in source.columns if c not in (TABLE, PERSON)]

    def table(chosen: Sequence[str]) -> Any:
        rows = made([*dict.fromkeys([*chosen, TABLE])])
        return rows.filter(rows[TABLE] == number).drop(TABLE) if chosen else rows.filter(rows[TABLE] == number)

    return replace(source, reading=Columns({c: source.columns[c] for c in kept}, table))


def _table(connection: Any, name: str, types: Mapping[str, str]) -> Any:
    decimal = {c: "decimal(22, 4)" if held.startswith("decimal") else held for c, held in types.items()}
    return ops.DatabaseTable(name, ibis.schema(decimal), connection, ops.Namespace(catalog="temp", database="main")).to_expr()


def _public_source(
    engine: DuckDB, name: str, columns: Mapping[str, Kind], asked: Asked, layout: Layout, draw: random.Random
) -> PublicTable:
    """A made-up public table: keys that made-up rows may have, each once."""
    question = asked.question
    joins = [j for j in (*question.joins, *(j for o in question.beside for j in o.people.joins)) if j.table == name]
    constants = Constants.of(question)
    kinds = {c: kind for c, kind in columns.items() if kind != "other"}
    usual = {c: [v for v in values_of(kind, constants).usual if v is not None] for c, kind in kinds.items()}
    keys = _keys(joins, layout, kinds)
    rows: list[dict[str, Any]] = []
    for i in range(PUBLIC):
        row = {
            c: draw.choice([None, *usual[c]] if i or not usual[c] else usual[c][:1]) for c in kinds
        }  # one key has all values
        row |= {c: values[i % len(values)] for c, values in keys.items()}
        if tuple(row[c] for c in keys) not in {tuple(other[c] for c in keys) for other in rows}:
            rows.append(row)
    return PublicTable(_private_source(engine, kinds, {c: [row[c] for row in rows] for c in kinds}))


def _keys(joins: Sequence[PublicJoin], layout: Layout, kinds: Mapping[str, Kind]) -> dict[str, list[Any]]:
    """The values of made-up rows in the join columns of a public table, as that table holds them."""
    keys: dict[str, list[Any]] = {}
    for join in joins:
        for own, key in join.keys:
            found = [values[own] for values in layout.values.values() if own in values]
            every = [v for values in found for v in values.usual if v is not None]
            keys[key] = [_held(v, kinds[key]) for v in every] or [_held("other", kinds[key])]
    return keys


def _held(value: Any, kind: Kind) -> Any:
    """A value as a column of this kind holds it, or another one that it may hold."""
    text = written(value)
    held = text if kind in ("text", "untyped") else typed(text, kind)
    return USUAL.get(kind) if held is None else held


def _plain_rows(source: Source, asked: Asked, tables: Sequence[MadeUp]) -> str:
    """The rows of the made-up tables that plain SQL can judge; rows without a unit are left out."""
    unit = asked.declared.unit
    numbers = ", ".join(str(n) for n, made in enumerate(tables) if judged(asked, made)) or "-1"
    where = f"{quoted(TABLE)} in ({numbers})" + (f" and {quoted(unit)} is not null" if unit is not None else "")
    if asked.question.people is None and asked.declared.max_rows is not None:  # if rows are all alike, any of them
        where += f" qualify row_number() over (partition by {quoted(TABLE)}, {quoted(PERSON)}) <= {asked.declared.max_rows}"
    made_of = fresh()
    source.engine.connection.con.execute(f"create temp table {made_of} as select * from {source.name} where {where}")
    return made_of
